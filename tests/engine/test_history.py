"""The past of a run: random operations against an oracle that notes at each turn what was in view.

spec: @context_at @history @fork
"""

from __future__ import annotations

import json
from typing import Any

from campaign import examples
from driving import begin
from fresh import fresh
from hypothesis import given
from hypothesis import strategies as st

import engine

View = dict[str, tuple[str, str]]

PATHS = st.sampled_from(["known://a", "known://b", "known://c", "unknown://q", "notes.md"])
VISIBILITIES = st.sampled_from(["visible", "summarized", "archived"])
BODY = st.sampled_from(["", "one", "two\nlines", "x" * 700])
OPERATIONS = st.one_of(
    st.tuples(st.just("set"), PATHS, BODY),
    st.tuples(st.just("rm"), PATHS, st.just("")),
    st.tuples(st.just("hide"), PATHS, VISIBILITIES),
    st.tuples(st.just("copy"), PATHS, st.sampled_from(["known://c", "known://d"])),
    st.tuples(st.just("move"), PATHS, st.sampled_from(["known://c", "known://d"])),
    st.tuples(st.just("tag"), PATHS, st.sampled_from(["one", "two,three"])),
    st.tuples(st.just("flip"), st.sampled_from(["known://*", "**", "log://**"]), VISIBILITIES),
    st.tuples(st.just("sweep"), st.sampled_from(["known://*", "unknown://**"]), st.just("")),
    st.tuples(st.just("disk"), st.just("notes.md"), BODY),
)
TURNS = st.lists(
    st.tuples(st.lists(OPERATIONS, max_size=3), st.lists(OPERATIONS, max_size=3), st.booleans()), min_size=1, max_size=6
)
SEEN = """
select path, visibility, body from known_entries
where run = ? and visibility <> 'archived' and state <> 'proposed' and category <> 'audit'
"""


# all that a view of a run's own entries is, now and as it was at a turn
OF_CHILD = """
select path, visibility, state, outcome, attributes, body, turn as written from known_entries
where run = ? and visibility <> 'archived' and category <> 'audit' and path <> 'notes.md' order by path
"""
OF_PARENT = """
select path, visibility, state, outcome, attributes, coalesce(body, '') as body, written from context_at
where run = ? and turn = ? and path <> 'notes.md' order by path
"""


def seen_by(db: engine.Database, run: str) -> View:
    return {row["path"]: (row["visibility"], row["body"]) for row in db.rows(SEEN, (run,))}


def seen_at(db: engine.Database, run: str, turn: int) -> View:
    rows = db.rows(
        "select path, visibility, coalesce(body, '') as body from context_at where run = ? and turn = ?", (run, turn)
    )
    return {row["path"]: (row["visibility"], row["body"]) for row in rows}


def by_client(db: engine.Database, run: str, operation: tuple[str, str, str]) -> None:
    """Do `operation` as an app does it; what is refused changes nothing."""
    name, path, argument = operation
    try:
        if name == "set" and "://" in path:
            db.insert("verb_set", run=run, path=path, body=argument)
        elif name == "rm" and "://" in path:
            db.insert("verb_rm", run=run, path=path)
        elif name == "hide":
            db.insert("verb_get", run=run, path=path, visibility=argument)
        elif name == "copy":
            db.insert("verb_cp", run=run, path=path, to=argument)
        elif name == "move" and "://" in path:
            db.insert("verb_mv", run=run, path=path, to=argument)
        elif name == "tag" and "://" in path:
            db.insert("verb_set", run=run, path=path, attributes=json.dumps({"tags": argument}))
        elif name == "flip":
            db.insert("verb_set", run=run, path=path, visibility=argument)
        elif name == "sweep":
            db.insert("verb_rm", run=run, path=path)
        elif name == "disk":
            write_file(db, argument)
    except engine.EngineError:
        pass


def by_model(operation: tuple[str, str, str]) -> str:
    """`operation` in the words of a model."""
    name, path, argument = operation
    words = {
        "set": f'<set path="{path}">{argument}</set>' if "://" in path else "<think>not now</think>",
        "rm": f'<rm path="{path}"/>' if "://" in path else "<think>nor now</think>",
        "hide": f'<get path="{path}" visibility="{argument}"/>',
        "copy": f'<cp path="{path}" to="{argument}"/>',
        "move": f'<mv path="{path}" to="{argument}"/>' if "://" in path else "<think>or ever</think>",
        "tag": f'<set path="{path}" tags="{argument}"/>' if "://" in path else "<think>soon</think>",
        "flip": f'<set path="{path}" visibility="{argument}"/>',
        "sweep": f'<rm path="{path}"/>',
        "disk": "<think>hm</think>",
    }
    return words[name]


def write_file(db: engine.Database, text: str) -> None:
    db.insert(
        "_report_file",
        project_id=1,
        path="notes.md",
        kind="text",
        size=len(text),
        mtime_ns=0,
        sha256=f"of {text}",
        text=text,
    )


def one_turn(db: engine.Database, run: str, response: str, too_large: bool) -> tuple[int, View]:
    """Take one turn; returns its number and what was in view when its packet was taken."""
    db.insert("_begin_turn", run=run)
    row: Any = db.row(
        "select t.id, t.sequence from turns as t join runs as r on r.id = t.run_id "
        "where r.alias = ? and t.phase = 'assembling'",
        (run,),
    )
    if too_large:
        db.insert("_submit_packet", turn_id=row["id"], chars=1_000_000)
    db.insert("_submit_packet", turn_id=row["id"], chars=10)
    seen = seen_by(db, run)
    db.execute("update turns set response = ? where id = ? and phase = 'asking'", (response, row["id"]))
    if db.value("select phase = 'answered' from turns where id = ?", (row["id"],)):
        db.insert("_dispatch", run=run)
    return row["sequence"], seen


def play(db: engine.Database, turns: list[Any], run: str = "demo") -> dict[int, View]:
    """Play `turns` and return what each one saw."""
    past: dict[int, View] = {}
    for before, during, too_large in turns:
        if db.value("select step = 'end' from _next_steps where run = ?", (run,)):
            begin(db, run, "Go on")
        for operation in before:
            by_client(db, run, operation)
        number, seen = one_turn(db, run, "".join(map(by_model, during)) + '<update status="102">on</update>', too_large)
        past[number] = seen
        if db.value("select status from runs where alias = ?", (run,)) == 202:
            db.abort(run)
    return past


def start(db: engine.Database) -> None:
    begin(db, "demo")
    write_file(db, "first text")
    db.execute(
        "insert into run_views (run_id, entry_id, visibility, state, writer, turn, last_used_turn, since) "
        "select 1, id, 'archived', 'resolved', 'system', 0, 0, (select max(id) + 1 from events) "
        "from entries where path = 'notes.md'"
    )


@examples(8)
@given(turns=TURNS)
def test_each_turn_is_remembered_as_it_was(turns: list[Any]) -> None:
    with fresh() as db:
        start(db)
        past = play(db, turns)
        seen = db.rows("select sequence from turns where seen_at is not null")
        for number in (row["sequence"] for row in seen):
            assert seen_at(db, "demo", number) == past[number], f"turn {number}"


@examples(6)
@given(turns=TURNS, later=TURNS, data=st.data())
def test_a_fork_of_any_turn_sees_what_it_saw_and_the_two_part(
    turns: list[Any], later: list[Any], data: st.DataObject
) -> None:
    with fresh() as db:
        start(db)
        past = play(db, turns)
        sent = [row["sequence"] for row in db.rows("select sequence from turns where seen_at is not null")]
        if not sent:
            return
        number = data.draw(st.sampled_from(sent))
        child = db.fork("demo", "child", at=number)
        heads = {"notes.md"}
        assert own(seen_by(db, child), heads) == own(past[number], heads)
        assert db.rows(OF_CHILD, (child,)) == db.rows(OF_PARENT, ("demo", number))
        before = seen_by(db, "demo")
        begin(db, child, "Try it differently")
        play(db, later, child)
        assert own(seen_by(db, "demo"), heads) == own(before, heads)
        for turn in sent:
            assert seen_at(db, "demo", turn) == past[turn], "the parent's past is untouched"
        for turn in db.rows("select turn from past_turns where run = ? and seen_at is not null", (child,)):
            grandchild = db.fork(child, at=turn["turn"])
            assert db.rows(OF_CHILD, (grandchild,)) == db.rows(OF_PARENT, (child, turn["turn"]))


def own(view: View, shared: set[str]) -> View:
    """`view` without the entries that follow a shared head."""
    return {path: what for path, what in view.items() if path not in shared}
