"""Plans: in packets while they are worked down, at the terminal, and read as a plain program would read them.

1. A run ticks its plan over several turns, and each packet shows what is left. 2. A plan survives what archives the rest.
3. `engine plan` draws the tree. 4. The steps of any text are those that a reader written in Python finds.

spec: @plans @plan_section
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from audit import audit
from driving import GO_ON, begin, script
from engine_cli import database, engine
from engine_cli import script as cli_script
from fresh import fresh
from hypothesis import given, settings
from hypothesis import strategies as st

import engine as library

STATUS = {"x": "done", "X": "done", "-": "skipped", "/": "in_progress", ">": "in_progress", "~": "in_progress"}
STEP = re.compile(r"(?:[-*+]|[0-9]{1,2}[.)]) \[(.)\] (.+)", re.DOTALL)
TICK = "<<SEARCH\n- [ ] {0}\nSEARCH\n<<REPLACE\n- [x] {0}\nREPLACE"


def read(body: str) -> list[tuple[int, str, str]]:
    """Line, number and status of each step, in the plainest way: a list of those that the next one may belong to."""
    steps: list[tuple[int, str, str]] = []
    above: list[tuple[int, list[int]]] = []
    roots = 0
    code = False
    for line, text in enumerate(body.split("\n"), 1):
        if text.lstrip(" ").startswith(("```", "~~~")):
            code = not code
            continue
        found = STEP.fullmatch(text.strip(" \t\r"))
        if code or not found:
            continue
        spaced = text.rstrip("\r").replace("\t", "    ")
        indent = len(spaced) - len(spaced.lstrip(" "))
        last: list[int] = []
        while above and above[-1][0] >= indent:
            last = above.pop()[1]
        if above:
            number = [*above[-1][1], last[-1] + 1 if last else 1]
        else:
            roots += 1
            number = [roots]
        above.append((indent, number))
        steps.append((line, ".".join(map(str, number)), STATUS.get(found[1], "pending")))
    return steps


LINES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", " ", "  ", "    ", "\t", "      "]),
    st.sampled_from(["- ", "* ", "1. ", "12) ", "```", "~~~", ""]),
    st.sampled_from(["[ ] ", "[x] ", "[-] ", "[/] ", "[?] ", "[", ""]),
    st.text(st.sampled_from('ab\\n"[]é\t '), max_size=5),
)


@pytest.fixture(scope="module")
def shared() -> Iterator[library.Database]:
    """A database with a run, whose plan the examples write anew."""
    with library.open(":memory:") as db:
        begin(db, "demo")
        yield db


@settings(max_examples=60, deadline=None)
@given(body=st.lists(LINES, max_size=15).map("\n".join))
def test_steps_are_those_that_a_plain_reader_finds(shared: library.Database, body: str) -> None:
    shared.insert("verb_set", run="demo", path="plan://task", body=body)
    assert shared.tuples("select line, number, status from plan_steps order by line") == read(body)


def test_a_plan_is_ticked_over_several_turns(tmp_path: Path) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    answers = [
        '<set path="plan://task"># Port\n- [ ] read\n- [ ] write</set>' + GO_ON,
        f'<set path="plan://task">{TICK.format("read")}</set><get path="notes.md"/>' + GO_ON,
        GO_ON,
        f'<set path="plan://task">{TICK.format("write")}</set><update status="200">8080</update>',
    ]
    (root / "notes.md").write_text("The port is 8080.\n", encoding="utf-8")
    with fresh() as db:
        model = script(tmp_path, *answers)
        assert db.run("Which port?", run="demo", root=root, model=model, max_turns=9).status == 200
        packets = db.tuples("select body from packet_texts where run = 'demo' and role = 'user' order by turn")
        plans = [re.findall(r"<plan>\n(.*?)\n</plan>", text, re.DOTALL) for (text,) in packets]
        assert plans[0] == []
        assert "- [ ] read\n- [ ] write\n" in plans[1][0]
        assert all("- [x] read\n- [ ] write\n" in plan[0] and '"settled":1,"steps":2' in plan[0] for plan in plans[2:])
        assert all("plan://task" not in text.split("<log>")[0] for (text,) in packets)
        assert db.row("select status, is_shown from plans") == {"status": "done", "is_shown": 0}
        # done: the next packet has none; taken back: it has
        assert db.run("And now?", run="demo", model=script(tmp_path, *answers, GO_ON, "Nothing.")).status == 200
        assert "<plan>" not in db.value("select body from packet_texts where role = 'user' order by turn desc limit 1")
        fork = db.run("Again", run="again", fork="demo", at=4, model=script(tmp_path, *answers[:3], "x"))
        assert fork.status == 200
        assert db.value("select status from plans where run = 'again'") == "in_progress"
        assert "- [ ] write" in db.value(
            "select body from packet_texts where run = 'again' and role = 'user' order by turn desc limit 1"
        )


def test_a_plan_stays_where_the_rest_is_archived(tmp_path: Path) -> None:
    answers = [
        '<set path="plan://task">- [ ] keep me</set>' + GO_ON,
        *(f'<set path="known://{i}">{"fact " * 90}</set>' + GO_ON for i in range(30)),
        '<update status="200">done</update>',
    ]
    with fresh() as db:
        result = db.run("Go", run="demo", model=script(tmp_path, *answers), context_limit=8_000)
        assert result.status == 200
        assert db.value("select count(*) from known_entries where visibility = 'archived' and scheme = 'known'") > 0
        last = db.value("select body from packet_texts where role = 'user' order by turn desc limit 1")
        assert "- [ ] keep me" in last
        assert db.value("select count(*) from plans where is_shown and visibility = 'visible'") == 1


def test_the_tree_is_drawn(tmp_path: Path) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    plan = '<set path="plan://task"># Ship\n- [x] one\n  - [/] two\x1b[31m\n- [-] three\n- [ ] four</set>'
    engine(root, "run", "--run", "demo", "--model", cli_script(tmp_path / "s.jsonl", [plan, "Done."]), "Go")
    told = engine(root, "plan")
    assert told.stdout.splitlines()[0] == "plan://task  Ship  2 of 4"
    lines = told.stdout.splitlines()[1:]
    assert [line[: line.index("]") + 1] for line in lines] == ["  [x]", "    [/]", "  [-]", "  [ ]"]
    assert "\x1b" not in told.stdout
    found = json.loads(engine(root, "plan", "demo", "--json").stdout)
    assert [(step["number"], step["status"]) for step in found[0]["steps"]] == [
        ("1", "done"),
        ("1.1", "in_progress"),
        ("2", "skipped"),
        ("3", "pending"),
    ]
    missing = engine(root, "plan", "demo", "plan://nope")
    assert missing.returncode == 2
    assert "has no plan 'plan://nope'" in missing.stderr
    audit(database(root))
