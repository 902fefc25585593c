"""Packets: the figures in them are true, what is kept is what was sent, and two of them are read as prose.

After a change that is meant, `UPDATE_GOLDEN=1 pytest tests/engine/test_packet.py` writes the golden ones anew.

spec: @packets @packet_structure @token_accounting @budget_enforcement @compact_profile
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from campaign import examples
from driving import DONE, GO_ON, Clock, begin, script
from fresh import fresh
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine import plugins
from engine.models.protocol import Completion, Message, Request, Usage
from engine.packets.rendering import Renderer

GOLDEN = Path(__file__).parent.parent / "golden"


class Listener:
    """A model that keeps what it was sent and answers from a list; `as_plugin` makes the engine find it."""

    def __init__(self, *answers: str) -> None:
        self.answers = answers
        self.heard: list[tuple[Message, ...]] = []

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: Event | None = None,
    ) -> Completion:
        self.heard.append(request.messages)
        return Completion(self.answers[request.position], "", Usage(prompt_tokens=1000), "stop")

    @plugins.hookimpl
    def engine_model(self, name: str) -> Listener | None:
        return self if name == "listener" else None


@pytest.fixture
def listener() -> Iterator[Listener]:
    model = Listener(
        '<set path="known://a">one\ntwo</set><set path="known://\N{SNOWMAN}">ä\t€</set>' + GO_ON,
        '<get path="known://none"/>' + GO_ON,
        "<think>x</think>" + GO_ON,
        DONE,
    )
    plugins.manager().register(model)
    yield model
    plugins.manager().unregister(model)


def test_what_is_kept_is_what_the_model_was_sent(db: engine.Database, listener: Listener) -> None:
    db.run("Look\nat this", model="listener", run="demo")
    db.execute("update tools set doc = 'another text'")
    db.execute("delete from packet_sections")
    db.insert("verb_set", run="demo", path="known://a", body="changed")
    assert len(listener.heard) == 4
    for number, messages in enumerate(listener.heard, 1):
        rows = db.rows("select role, body, sha256 from packet_texts where turn = ? order by ordinal", (number,))
        assert [(row["role"], row["body"]) for row in rows] == [(m.role, m.content) for m in messages]
        assert [row["sha256"] for row in rows] == [
            hashlib.sha256(message.content.encode()).hexdigest() for message in messages
        ]


def test_the_system_text_is_kept_once(db: engine.Database, listener: Listener, workspace_dir: Path) -> None:
    db.run("Go", model="listener", run="demo", root=workspace_dir)
    assert db.value("select count(distinct sha256) from packets where role = 'system'") == 1
    assert db.value("select count(*) from packets where role = 'system'") == 4


def test_what_changes_stands_last(db: engine.Database, listener: Listener) -> None:
    db.run("Go", model="listener", run="demo")
    before, after = (messages[1].content for messages in listener.heard[2:4])
    kept = before[: before.index("</log>")]
    assert "</summary>" in kept
    assert after.startswith(kept), "a turn that only adds to the log leaves a provider's cached prefix as it was"


def budget(text: str) -> dict[str, int]:
    """The figures of the `<budget>` of a packet."""
    found = re.search(
        r'<budget tokenUsage="(\d+)" tokensFree="(\d+)" *>.*'
        r"^Summarized: \d+ entr(?:y|ies), (\d+) tokens? \(\d+% of budget\)\.\n"
        r"System: (\d+) tokens \(\d+% of budget\)\. *\nTotal: (\d+) visible \+ (\d+) summarized entr(?:y|ies); "
        r"tokenUsage (\d+) / ceiling (\d+)\. (\d+) tokens free\. *$",
        text,
        re.DOTALL | re.MULTILINE,
    )
    assert found, text
    names = ("usage", "free", "floor", "system", "visible", "summarized", "usage_again", "ceiling", "free_again")
    return dict(zip(names, map(int, found.groups()), strict=True))


def premiums_of(text: str) -> list[int]:
    """The tokens of the lines of the table in the `<budget>` of a packet, one a scheme."""
    return [
        int(tokens)
        for tokens in re.findall(r"^\| \S+ \| \d+ \| (\d+) \| \d+ \|$", text[text.rindex("<budget ") :], re.MULTILINE)
    ]


ODD = ["", "\n", "\t", "a\r\nb\r\n" * 200, "\tx\n\n" * 300, "</visible>\n:::known://0\n" * 40, "字\U0001f389" * 30_000]
BODIES = st.text(st.characters(exclude_categories=["Cs"]), max_size=900) | st.sampled_from(ODD)
SHORT = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(["known://{}", "unknown://{}", "skill://{}", "https://example.org/{}", "sh://{}", "odd://{}é"]),
        BODIES,
        st.sampled_from(["visible", "summarized", "archived"]),
        st.builds(lambda tags, summary: json.dumps({"tags": tags, "summary": summary}), SHORT, SHORT),
    ),
    max_size=7,
)


def write_entries(db: engine.Database, entries: list[tuple[str, str, str, str]]) -> None:
    for number, (pattern, body, visibility, attributes) in enumerate(entries):
        db.execute(
            "insert into _write_entry (run_id, path, body, visibility, attributes, writer) values (1, ?, ?, ?, ?, 'plugin')",
            (pattern.format(number), body, visibility, attributes),
        )


@examples(8)
@given(
    entries=ENTRIES,
    prompt=BODIES.filter(str.strip),
    limit=st.sampled_from([None, 5000, 9000, 32768, 500_000]),
    reported=st.none() | st.integers(300, 9000),
)
def test_the_figures_of_the_budget_are_those_of_the_packet(
    entries: list[tuple[str, str, str, str]], prompt: str, limit: int | None, reported: int | None
) -> None:
    with tempfile.TemporaryDirectory() as folder, fresh() as db:
        usage = {"usage": {"prompt_tokens": reported}} if reported else {}
        model = script(Path(folder), {"text": GO_ON, **usage}, DONE, DONE)
        options: dict[str, Any] = {"model": model, "context_limit": limit}
        begin(db, "demo", prompt, **{key: value for key, value in options.items() if value})
        write_entries(db, entries)
        db.resume("demo")
        db.run(prompt, run="demo")
        rows = db.rows(
            "select id, sequence, chars_per_token, context_tokens, context_chars from turns where seen_at > 0"
        )
        for row in rows:
            texts = db.rows("select body from packet_texts where turn = ? order by ordinal", (row["sequence"],))
            chars = sum(len(text["body"]) for text in texts)
            figures = budget(texts[-1]["body"])
            assert (
                figures["usage"]
                == figures["usage_again"]
                == row["context_tokens"]
                == math.ceil(chars / row["chars_per_token"])
            )
            premiums = premiums_of(texts[-1]["body"])
            assert figures["floor"] + sum(premiums) + figures["system"] == figures["usage"], (
                "as it is read, to the token"
            )
            assert min(premiums) >= 0
            assert figures["floor"] > 0
            assert figures["system"] > 500, "our own words are the rest"
            assert chars == row["context_chars"]
            assert figures["free"] == figures["free_again"] == max(figures["ceiling"] - figures["usage"], 0)
            assert figures["usage"] <= figures["ceiling"], "what does not fit is not sent"


@pytest.mark.parametrize("first", [1, 2])
def test_the_figures_of_the_prompt_are_those_of_the_packet(db: engine.Database, tmp_path: Path, first: int) -> None:
    def ask_for_figures(event: dict[str, Any]) -> None:
        if event["type"] == "turn":
            db.execute("update settings set value = '1' where name = 'prompt_figures'")

    if first == 1:
        ask_for_figures({"type": "turn"})
    model = script(tmp_path, f"<set path='known://a'>{'x' * 300}</set>{GO_ON}", GO_ON, DONE)
    assert db.run("Go", model=model, run="demo", on_event=ask_for_figures).status == 200
    for row in db.rows("select sequence, context_tokens from turns where sequence >= ?", (first,)):
        texts = db.rows("select body from packet_texts where turn = ? order by ordinal", (row["sequence"],))
        figures = budget(texts[-1]["body"])
        stated = f'<prompt mode="act" tokenUsage="{row["context_tokens"]}" tokensFree="{figures["free"]}"'
        assert texts[-1]["body"].startswith(stated)
        assert figures["usage"] == row["context_tokens"] == math.ceil(sum(len(text["body"]) for text in texts) / 2)


@examples(5)
@given(entries=ENTRIES)
def test_the_counts_of_the_budget_are_those_of_the_context(entries: list[tuple[str, str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, fresh() as db:
        begin(db, "demo", "Go", model=script(Path(folder), DONE), context_limit=500_000)
        write_entries(db, entries)
        db.resume("demo")
        figures = budget(db.value("select body from packet_texts where role = 'user'"))
        seen = [row["visibility"] for row in db.rows("select visibility from context_at where turn = 1")]
        assert (figures["visible"], figures["summarized"]) == (seen.count("visible"), seen.count("summarized"))


def test_an_entry_states_what_it_costs(db: engine.Database) -> None:
    begin(db, "demo")
    db.insert("verb_set", run="demo", path="known://a", body="x" * 400)
    db.insert("_begin_turn", run="demo")
    text = db.value("select text from _packet_visible where turn_id = 1")
    stated = re.search(r'"tokens":(\d+)\}', text)
    assert stated
    assert abs(int(stated[1]) - math.ceil(len(text) / 2)) <= 10


SECTIONS = ("_packet_summary", "_packet_visible", "_packet_log", "_packet_unknowns")


def rendered_entries(db: engine.Database, turn_id: int) -> int:
    """Characters of all that the open packet shows of entries: their rows, a line feed each, and the text of the prompt."""
    rows = [row for view in SECTIONS for row in db.rows(f"select text from {view} where turn_id = ?", (turn_id,))]
    prompt = db.rows("select text from _packet_prompt where turn_id = ?", (turn_id,))
    return sum(len(row["text"]) + 1 for row in rows) + sum(len(row["text"]) for row in prompt)


@examples(8)
@given(entries=ENTRIES, logged=BODIES, prompts=st.lists(BODIES.filter(str.strip), min_size=1, max_size=2))
def test_what_an_entry_costs_is_what_its_text_measures(
    entries: list[tuple[str, str, str, str]], logged: str, prompts: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder, fresh() as db:
        begin(db, "demo", "First", model=script(Path(folder), f"<get path='known://none'>{logged}</get>", DONE))
        db.resume("demo")
        for prompt in prompts:
            begin(db, "demo", prompt)
        entries += [("log://turn_9/x/{}", logged, "visible", "{}"), ("log://turn_9/y/{}", "", "summarized", "{}")]
        write_entries(db, entries)
        db.insert("_begin_turn", run="demo")
        turn_id = db.value("select id from turns where phase = 'assembling'")
        costs = db.rows("select * from _context_costs")
        whole = rendered_entries(db, turn_id)
        assert whole == sum(c["summarized"] + (c["visibility"] == "visible") * c["expansion"] for c in costs)
        floor, expansion = (db.value(f"select sum({name}) from _packet_schemes") for name in ("floor", "expansion"))
        assert whole == floor + expansion
        show = "update run_views set visibility = ?, since = (select max(id) + 1 from events) where entry_id = ?"
        for cost in costs:
            other = "summarized" if cost["visibility"] == "visible" else "visible"
            db.execute(show, (other, cost["entry_id"]))
            sign = 1 if other == "visible" else -1
            assert rendered_entries(db, turn_id) == whole + sign * cost["expansion"], cost
            db.execute(show, (cost["visibility"], cost["entry_id"]))


def show(db: engine.Database, turn: int) -> str:
    rows = db.rows("select role, body from packet_texts where turn = ? order by ordinal", (turn,))
    return "".join(f"======== {row['role']} ========\n{row['body']}\n" for row in rows)


def compare(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"read the difference to {path.name}, then UPDATE_GOLDEN=1"


def test_the_full_packet_reads_as_it_did(tmp_path: Path, workspace_dir: Path) -> None:
    with fresh(clock=Clock()) as db:
        db.insert("verb_set", run="demo", path="run://demo", attributes=json.dumps({"root": str(workspace_dir)}))
        model = script(
            tmp_path,
            f'<get path="notes.md"/><set path="known://port" tags="network,port">The port is 8080.</set>{GO_ON}',
            '<set path="unknown://host">Which host?</set><get path="src/nothing.py"/><think>Hm.</think>',
            '<set path="settings.ini"><<SEARCH\nport = 8080\nSEARCH\n<<REPLACE\nport = 9090\nREPLACE</set>'
            '<set path="notes.md" visibility="summarized"/><update status="102">moved the port</update>',
            DONE,
        )
        result = db.run("Move the port to 9090.\nKeep the rest.", run="demo", model=model, yolo=True)
        assert result.status == 200
        compare("full_packet.txt", show(db, 4))


def test_the_compact_packet_reads_as_it_did(tmp_path: Path, workspace_dir: Path) -> None:
    with fresh(clock=Clock()) as db:
        model = script(tmp_path, '<get path="notes.md"/>' + GO_ON, DONE)
        db.execute(
            "insert into models (alias, actual, profile, context_length, created_at) "
            "values ('small', ?, 'compact', 4096, 0)",
            (model,),
        )
        assert db.run("Who is the owner?", model="small", root=workspace_dir).status == 200
        compare("compact_packet.txt", show(db, 2))


CHANGES = st.lists(
    st.tuples(
        st.integers(0, 119),
        st.sampled_from(["body", "tags", "summarized", "visible", "archived", "remove", "loop"]),
    ),
    min_size=1,
    max_size=6,
)


@examples(6)
@given(changes=CHANGES)
def test_a_packet_of_remembered_rows_is_the_one_that_is_read_anew(changes: list[tuple[int, str]]) -> None:
    with fresh() as db:
        begin(db, "demo", "Go", context_limit=500_000)
        write_entries(db, [("known://{}", f"{number} {'x' * 600}", "visible", "{}") for number in range(120)])
        db.insert("_begin_turn", run="demo")
        renderer = Renderer(db)
        for step, (number, change) in enumerate([(0, "none"), *changes]):
            path = f"known://{number}"
            if change == "body":
                db.insert("verb_set", run="demo", path=path, body=f"new {step}")
            elif change == "tags":
                db.insert("verb_set", run="demo", path=path, attributes=json.dumps({"tags": f"t{step}"}))
            elif change == "remove":
                db.insert("verb_rm", run="demo", path=path)
            elif change == "loop":
                renderer.offer(db.value("select id from turns where phase = 'assembling'"), None)
                db.execute("update turns set response = ? where phase = 'asking'", (DONE,))
                db.insert("_dispatch", run="demo")
                begin(db, "demo", f"Go on {step}", context_limit=500_000)
                db.insert("_begin_turn", run="demo")
            elif change != "none":
                db.insert("verb_set", run="demo", path=path, visibility=change)
            turn_id = db.value("select id from turns where phase = 'assembling'")
            assert [m.content for m in renderer.render(turn_id)] == [m.content for m in Renderer(db).render(turn_id)]


def test_a_scheme_that_is_hidden_leaves_the_packet(tmp_path: Path) -> None:
    model = script(tmp_path, '<set path="unknown://who">Who?</set>' + GO_ON, GO_ON, GO_ON, DONE)
    texts = "select body from packet_texts where run = 'demo' and turn = ? and role = 'user'"
    with engine.open(tmp_path / "t.db") as db:

        def hide(event: dict[str, Any]) -> None:
            if (event["type"], event.get("turn")) == ("command", 2):  # packet 3 is there by then
                db.execute("update schemes set model_visible = 0 where name in ('unknown', 'prompt')")

        db.run("Ask", run="demo", model=model, on_event=hide)
        shown = [[part in db.value(texts, (turn,)) for part in ("<unknowns>", "<prompt mode")] for turn in (3, 4)]
    assert shown == [[True, True], [False, False]]


def test_a_time_stamp_stands_behind_all_that_a_provider_caches(tmp_path: Path) -> None:
    """spec: @time_stamps"""
    texts: dict[str, list[str]] = {}
    for setting in ("0", "1"):
        clock = Clock()
        with fresh(clock=clock) as db:
            db.execute("update settings set value = ? where name = 'time_stamps'", (setting,))

            def pass_time(event: dict[str, Any], clock: Clock = clock) -> None:
                clock.now += 3_600_000 * (event["type"] == "turn")

            model = script(tmp_path, f"<set path='known://a'>{'x' * 300}</set>{GO_ON}", GO_ON, DONE)
            assert db.run("Go", model=model, run="demo", on_event=pass_time).status == 200
            rows = db.rows("select group_concat(body, '') as body from packet_texts where role = 'user' group by turn")
            texts[setting] = [row["body"] for row in rows]
            sizes = db.rows("select sum(length(body)) as n, turn from packet_texts group by turn order by turn")
            told = [row["context_tokens"] for row in db.rows("select context_tokens from turns order by sequence")]
            assert told == [math.ceil(row["n"] / 2) for row in sizes]
    stamps = [re.findall(r"^Time: (.*) UTC\.$", text, re.MULTILINE) for text in texts["1"]]
    assert stamps == [[f"2026-01-01 0{hour}:00"] for hour in range(3)]
    for plain, stamped in zip(texts["0"], texts["1"], strict=True):
        assert "Time:" not in plain
        assert stamped.partition("<budget token")[0] == plain.partition("<budget token")[0]
        assert stamped.partition("<budget token")[2].count("Time: ") == 1


def test_a_time_stamp_names_the_second_and_the_step(tmp_path: Path) -> None:
    """spec: @time_stamps @step_budget"""
    with fresh(clock=Clock()) as db:
        db.execute("update settings set value = '2' where name = 'time_stamps'")
        db.run("Go", model=script(tmp_path, GO_ON, DONE), run="demo", max_turns=8)
        texts = [row["body"] for row in db.rows("select body from packet_texts where role = 'user' order by turn")]
    assert [text.count("[2026-01-01T00:00:00Z] [Step ") for text in texts] == [1, 1]
    assert ["[Step 1/8]\nTurns: 8 of 8 left" in texts[0], "[Step 2/8]\nTurns: 7 of 8 left" in texts[1]] == [True, True]
