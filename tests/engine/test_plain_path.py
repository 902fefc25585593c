"""The plain path leaves what the long way leaves.

1. The same turns, with the plain path and without it, leave the same rows. 2. What is plain is neither refused nor faulted.
3. A body without a mark is the new text, whatever is there. 4. Plugins hear of plain commands.

spec: @plain_path
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from campaign import examples
from driving import Clock, begin, turn
from fresh import fresh
from hypothesis import example, given
from hypothesis import strategies as st

import engine
from engine.functions.edits.bodies import edit_apply, edit_has_marks
from engine.functions.edits.patches import patch_parse

TABLES = {
    "commands": "select * from commands order by id",
    "entries": "select * from entries order by id",
    "run_views": "select * from run_views order by run_id, entry_id",
    "run_view_versions": "select * from run_view_versions order by run_id, entry_id, began",
    "contents": "select * from contents order by id",
    "_entry_metadata": "select * from _entry_metadata order by id",
    "events": "select * from events order by id",
    "loops": "select * from loops order by id",
    "turns": "select * from turns order by id",
    "votes": "select * from votes order by turn_id, voter",
    "effects": "select * from effects order by id",
    "proposals": "select * from proposals order by id",
}

PATHS = st.sampled_from(
    [
        "known://a",
        "known://a/b c",
        "KNOWN://a",
        "unknown://q",
        "log://turn_1/x",
        "run://demo",
        "a.py",
        "other://x",
        "skill://s",
        "known://*",
        "known://[a-z]",
        "http://h/p?q=1",
        "known://",
        "",
        "\t",
        "update://u",
        "weather://b",
        "/etc/passwd",
    ]
)
BODIES = st.one_of(
    st.sampled_from(
        ["", "text", "x" * 600, "x" * 1200, "s/a/b/", "<<NEW\nb\nNEW", "a\r\nb", "@@ -1 +1 @@\n-a\n+b\n", "a\0b"]
    ),
    st.text(max_size=20),
)
ATTRIBUTES = st.sampled_from(
    [
        "",
        ' tags="one,two"',
        ' summary="s"',
        ' visibility="archived"',
        ' visibility="odd"',
        ' manifest="1"',
        ' to="known://c"',
    ]
)
COMMANDS = st.one_of(
    st.builds(lambda p, a, b: f'<set path="{p}"{a}>{b}</set>', PATHS, ATTRIBUTES, BODIES),
    st.builds(lambda b: f"<think>{b}</think>", BODIES),
    st.builds(
        lambda s, b: f'<update status="{s}">{b}</update>',
        st.sampled_from(["", "102", "200", "204", "422", "500", "x"]),
        BODIES,
    ),
    st.builds(lambda p: f'<get path="{p}"/>', PATHS),
    st.just("<sh>ls</sh>"),
)


# whether the next turn can begin: a page that is fetched keeps a turn open, a question the run
READY = """select exists (select 1 from loops where status in (100, 102))
    and not exists (select 1 from runs where status = 202)
    and not exists (select 1 from turns where phase <> 'judged')"""


def without_plain_path(db: engine.Database) -> None:
    """Make no command plain, so that each goes the long way."""
    db.execute("drop view _plain_commands")
    db.execute("create view _plain_commands as select id as command_id from commands where false")


def rows_after(responses: list[str], writes: list[dict[str, Any]], plain: bool, mode: str) -> dict[str, list[Any]]:
    """What is in the tables after these turns of the model and writes of an app."""
    with fresh(clock=Clock()) as db:
        if not plain:
            without_plain_path(db)
        begin(db, "demo", mode=mode)
        for write in writes:
            try:
                db.insert("verb_set", run="demo", **write)
            except engine.EngineError:
                db.execute("select 1")
        for response in responses:
            if not db.value(READY):
                break
            turn(db, "demo", response)
        rows = {name: db.rows(query) for name, query in TABLES.items()}
        if not plain:
            db.execute("drop view _plain_commands")
    return rows


@examples(12)
@given(
    responses=st.lists(st.lists(COMMANDS, min_size=1, max_size=4).map("\n".join), min_size=1, max_size=3),
    writes=st.lists(
        st.fixed_dictionaries(
            {"path": PATHS, "body": st.one_of(st.none(), BODIES)},
            optional={
                "visibility": st.sampled_from(["visible", "archived"]),
                "attributes": st.just('{"tags": "x", "odd": null}'),
                "state": st.sampled_from(["resolved", "failed"]),
                "append": st.just(1),
                "request_id": st.just("again"),
            },
        ),
        max_size=3,
    ),
    mode=st.sampled_from(["act", "ask"]),
)
@example(responses=['<set path="known://a">one</set><update status="102">on</update>'] * 3, writes=[], mode="act")
@example(
    responses=["<sh></sh><set path='known://a'>one</set><update status='200'>done</update>"], writes=[], mode="act"
)
def test_the_plain_path_leaves_what_the_long_way_leaves(
    responses: list[str], writes: list[dict[str, Any]], mode: str
) -> None:
    plain, long = (rows_after(responses, writes, each, mode) for each in (True, False))
    for name in TABLES:
        assert plain[name] == long[name], name


def corpus() -> list[str]:
    """The answers of the corpus of what models write."""
    folder = Path(__file__).parent.parent / "corpus"
    return [path.read_text("utf-8") for path in sorted(folder.rglob("*.txt"))]


def test_what_is_plain_is_neither_refused_nor_faulted() -> None:
    seen = 0
    with fresh() as db:
        begin(db, "demo", max_turns=10_000)
        for answer in corpus():
            db.insert("_begin_turn", run="demo")
            db.execute(
                "insert into _submit_packet (turn_id, chars) select id, 10 from turns where phase = 'assembling'"
            )
            db.execute("update turns set response = ? where phase = 'asking'", (answer,))
            db.insert("_dispatch", run="demo", only=0)
            for row in db.rows(
                "select p.command_id, r.refusal, f.fault from _plain_commands as p "
                "join _refusals as r on r.command_id = p.command_id "
                "left join _faults as f on f.command_id = p.command_id and f.fault not like 'not_found%'"
            ):
                seen += 1
                assert (row["refusal"], row["fault"]) == (None, None)
            db.insert("verb_set", run="demo", path="run://demo", state="cancelled")
            begin(db, "demo", max_turns=10_000)
    assert seen > 50


@given(current=st.one_of(st.none(), BODIES), body=BODIES)
def test_a_body_without_a_mark_is_the_new_text(current: str | None, body: str) -> None:
    if not edit_has_marks(body):
        made = json.loads(edit_apply(current, body) or "")
        assert (made["state"], made["body"], made["warnings"]) == ("resolved", body, [])
        assert json.loads(patch_parse(body) or "{}").get("form") is None


@pytest.mark.parametrize("answer", corpus())
def test_no_edit_of_the_corpus_lacks_a_mark(answer: str) -> None:
    made = json.loads(edit_apply("some text\n", answer) or "")
    if made["state"] == "failed" or made["body"] != answer:
        assert edit_has_marks(answer)


def test_plugins_hear_of_plain_commands(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with engine.open(path) as db:
        db.execute("create table heard (path text)")
        db.execute(
            "create trigger commands__hear after update of state on commands when new.state = 'performing' "
            "begin insert into heard (path) values (new.path); end"
        )
        begin(db, "demo")
        turn(db, "demo", '<set path="known://a">one</set><update status="200">done</update>')
        assert db.rows("select path from heard where path is not 'run://demo'") == [
            {"path": "known://a"},
            {"path": None},
        ]
