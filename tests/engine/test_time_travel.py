"""The past can be asked: what differed between turns, what was sent, and a fork that starts where a turn stood.

spec: @time_travel @fork @packets
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script
from engine_cli import ENGINE, environment
from engine_cli import engine as command
from jinja2 import FunctionLoader

import engine
from engine import plugins
from engine.packets import layout
from engine.terminal.diffs import difference
from engine.terminal.exit_codes import FAILED, exit_code

pytestmark = pytest.mark.usefixtures("in_folder")

NOT_FOUND = exit_code(404)
TURNS = (
    '<set path="known://a">one</set><set path="known://b">bee</set><set path="known://d" visibility="archived">dee</set>'
    + GO_ON,
    '<set path="known://a">two</set><set path="known://b" visibility="summarized"/>' + GO_ON,
    '<get path="known://b"/><get path="known://d"/><set path="known://c">sea</set>' + GO_ON,
    '<rm path="known://c"/>' + DONE,
)


def user(db: engine.Database, run: str, turn: int) -> str:
    return str(db.value("select body from packet_texts where run = ? and turn = ? and role = 'user'", (run, turn)))


def seen(db: engine.Database, run: str, turn: int) -> list[dict[str, Any]]:
    return db.rows(
        "select path, visibility, state, body, outcome, written from context_at where run = ? and turn = ? order by path",
        (run, turn),
    )


def drive(db: engine.Database, folder: Path) -> None:
    """Two prompts of `demo`: turns 1 to 4 and turn 5."""
    model = script(folder, *TURNS, DONE)
    db.run("Keep notes", run="demo", model=model)
    db.run("And now?", run="demo")


# forks


@pytest.mark.parametrize(("at", "prompt"), [(1, "Keep notes"), (5, "And now?")])
def test_a_fork_given_its_parents_prompt_sends_its_parents_packet(
    db: engine.Database, tmp_path: Path, at: int, prompt: str
) -> None:
    drive(db, tmp_path)
    db.insert("verb_set", run="demo", path="known://a", body="later")
    db.run(prompt, run="child", fork="demo", at=at, model=script(tmp_path, DONE))
    assert user(db, "child", at) == user(db, "demo", at)
    assert seen(db, "child", at) == seen(db, "demo", at)


@pytest.mark.parametrize("at", [2, 3, 4])
def test_a_fork_in_the_middle_of_a_loop_sees_what_its_parent_saw(db: engine.Database, tmp_path: Path, at: int) -> None:
    drive(db, tmp_path)
    db.run("Another way", run="child", fork="demo", at=at, model=script(tmp_path, DONE))
    own = f"prompt://{at}"
    assert [row for row in seen(db, "child", at) if row["path"] != own] == seen(db, "demo", at)
    of_parent, of_child = (user(db, run, at).split("</log>")[0] for run in ("demo", "child"))
    new, old = of_child.index("<summary>\n"), of_parent.index("<summary>\n")
    assert of_child[new : of_child.index("<log>\n")] == of_parent[old : of_parent.index("<log>\n")]
    # the parent's prompt is one of those before now
    lines = of_child[of_child.index("<log>\n") :].splitlines()
    assert [line for line in of_parent[of_parent.index("<log>\n") :].splitlines() if line not in lines] == []
    assert "\tKeep notes" in lines


def test_a_fork_of_a_fork_sees_what_was_seen_before_either(db: engine.Database, tmp_path: Path) -> None:
    drive(db, tmp_path)
    db.run("Keep notes", run="child", fork="demo", at=1, model=script(tmp_path, TURNS[0], DONE))
    db.run("Keep notes", run="grandchild", fork="child", at=1, model=script(tmp_path, DONE))
    assert user(db, "grandchild", 1) == user(db, "demo", 1)


def test_a_fork_does_not_see_a_file_that_is_gone_since(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    model = script(tmp_path, '<get path="notes.md"/>' + GO_ON, DONE)
    db.run("Read", run="demo", root=workspace_dir, model=model)
    (workspace_dir / "notes.md").unlink()
    db.run("And now?", run="demo", model=script(tmp_path, "said", "said", DONE))
    assert [row["body"][:7] for row in seen(db, "demo", 2) if row["path"] == "notes.md"] == ["# Notes"]
    db.run("Read", run="child", fork="demo", at=2, no_repo=True, model=script(tmp_path, DONE))
    assert ":::notes.md" not in user(db, "child", 2)


# packets


class Other:
    """A plugin with other texts for all templates."""

    @plugins.hookimpl
    def engine_templates(self) -> FunctionLoader:
        return FunctionLoader(lambda name: f"another text of {name}\n")


@pytest.fixture
def other_templates() -> Iterator[None]:
    plugin = Other()
    plugins.manager().register(plugin)
    layout.environment.cache_clear()
    layout.tool_document.cache_clear()
    yield
    plugins.manager().unregister(plugin)
    layout.environment.cache_clear()
    layout.tool_document.cache_clear()


@pytest.fixture
def sent(db: engine.Database, tmp_path: Path) -> Path:
    """The folder of a database with the run `demo`, which is `t.db`."""
    drive(db, tmp_path)
    return tmp_path


def test_packets_hold_after_every_template_was_edited(
    db: engine.Database, sent: Path, request: pytest.FixtureRequest
) -> None:
    before = db.rows("select * from packet_texts")
    request.getfixturevalue("other_templates")
    db.run("Once more", run="demo", model=script(sent, *["said"] * 5, DONE))
    assert user(db, "demo", 6) != user(db, "demo", 5)
    assert "another text of sections/" in user(db, "demo", 6)
    assert db.rows("select * from packet_texts where turn <= 5") == before
    told = command(sent, "verify", "demo", "--db", "t.db")
    assert (told.returncode, told.stdout.startswith("demo: 6 turns as sealed")) == (0, True)


def test_a_packet_that_was_tampered_with_is_found(db: engine.Database, sent: Path) -> None:
    guard = db.value("select sql from sqlite_schema where name = 'chunks__keep_fixed'")
    db.execute("drop trigger chunks__keep_fixed")
    changing = "update chunks set head = replace(head, ?, ?) where head like '<prompt%'"
    db.execute(changing, ("Keep notes", "Keep quiet"))
    db.execute(guard)
    told = command(sent, "verify", "demo", "--db", "t.db")
    assert told.returncode == FAILED
    assert "demo, turn 1: " in told.stderr
    assert [fault.turn for fault in db.verify("demo").faults] == [1, 2, 3, 4]
    db.execute("drop trigger chunks__keep_fixed")
    db.execute(changing, ("Keep quiet", "Keep notes"))
    db.execute(guard)


@pytest.mark.parametrize(
    ("options", "which"), [(["9"], " for turn 9"), (["--role", "tool"], " as tool")], ids=["turn", "role"]
)
def test_packets_that_were_not_sent_are_not_printed(sent: Path, options: list[str], which: str) -> None:
    told = command(sent, "packet", "demo", *options, "--db", "t.db")
    assert (told.returncode, told.stdout) == (NOT_FOUND, "")
    assert told.stderr == f"engine: run 'demo': no packet was sent{which}; see 'engine show'\n"


def test_packets_of_two_turns_are_compared(sent: Path) -> None:
    told = command(sent, "packet", "demo", "2", "--diff", "1", "--db", "t.db").stdout
    assert told.startswith("--- turn 1, user\n+++ turn 2, user\n@@ ")
    assert "\n+<summary>\n" in told
    assert "\n-</prompt>\n" not in told
    as_json = json.loads(command(sent, "packet", "demo", "2", "--diff", "1", "--json", "--db", "t.db").stdout)
    assert as_json == {"from": 1, "to": 2, "role": "user", "diff": told.removesuffix("\n")}
    # in a run without a folder the documents of what was called have come in
    system = command(sent, "packet", "demo", "3", "--diff", "3", "--role", "system", "--db", "t.db")
    assert (system.stdout, system.stderr) == ("", "turn 3, system and turn 3, system are the same\n")
    assert command(sent, "packet", "demo", "2", "--diff", "9", "--db", "t.db").returncode == NOT_FOUND


# contexts


def test_entries_that_differ_between_turns_are_listed(sent: Path) -> None:
    told = command(sent, "context", "demo", "--diff", "2", "3", "--db", "t.db").stdout.splitlines()
    assert told[0].split() == ["change", "visibility", "path"]
    assert [line.split() for line in told if "known" in line and "log" not in line] == [
        ["changed", "visible", "known://a"],
        ["moved", "visible", "→", "summarized", "known://b"],
    ]
    rows = json.loads(command(sent, "context", "demo", "--diff", "3", "2", "--json", "--db", "t.db").stdout)
    changed = next(row for row in rows if row["path"] == "known://a")
    assert (changed["body_before"], changed["body"]) == ("two", "one")


def test_turns_that_saw_the_same_are_said_to(sent: Path) -> None:
    told = command(sent, "context", "demo", "--diff", "3", "3", "--db", "t.db")
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "demo: turns 3 and 3 saw the same\n")


def test_a_turn_that_sent_nothing_has_nothing_to_compare(sent: Path) -> None:
    told = command(sent, "context", "demo", "--diff", "1", "7", "--db", "t.db")
    assert told.returncode == NOT_FOUND
    assert "run 'demo': no packet was sent for turn 7" in told.stderr


def test_the_context_of_a_past_turn_is_listed(sent: Path) -> None:
    rows = json.loads(command(sent, "context", "demo", "--at", "2", "--json", "--db", "t.db").stdout)
    assert {row["path"]: row["body"] for row in rows if row["path"].startswith("known")} == {
        "known://a": "one",
        "known://b": "bee",
    }


# one entry


def test_an_entry_is_printed_as_a_turn_saw_it(sent: Path) -> None:
    assert command(sent, "context", "demo", "known://a", "--at", "2", "--db", "t.db").stdout == "one\n"
    assert command(sent, "context", "demo", "known://a", "--at", "3", "--db", "t.db").stdout == "two\n"
    rows = json.loads(command(sent, "context", "demo", "known://*", "--at", "4", "--json", "--db", "t.db").stdout)
    assert sorted(row["path"] for row in rows) == [f"known://{name}" for name in "abcd"]
    for at, path in (("1", "known://a"), ("2", "known://d"), ("2", "nowhere")):
        told = command(sent, "context", "demo", path, "--at", at, "--db", "t.db")
        assert (told.returncode, told.stdout) == (NOT_FOUND, "")
        assert f"{path!r} is not in the context of turn {at}; 'engine context demo --at {at}'" in told.stderr


def test_how_an_entry_changed_is_printed(sent: Path) -> None:
    told = command(sent, "context", "demo", "known://*", "--diff", "2", "3", "--db", "t.db").stdout
    assert told.splitlines() == [
        "diff known://a (changed)",
        "--- turn 2, known://a",
        "+++ turn 3, known://a",
        "@@ -1 +1 @@",
        "-one",
        "+two",
        "diff known://b (moved)",
        "old visibility visible",
        "new visibility summarized",
    ]
    gone = command(sent, "context", "demo", "known://c", "--diff", "4", "5", "--db", "t.db").stdout
    assert gone.splitlines()[:3] == ["diff known://c (disappeared)", "--- turn 4, known://c", "+++ /dev/null"]
    same = command(sent, "context", "demo", "known://a", "--diff", "3", "4", "--db", "t.db")
    assert (same.returncode, same.stdout, same.stderr) == (0, "", "demo: turns 3 and 4 saw known://a the same\n")
    assert command(sent, "context", "demo", "nowhere", "--diff", "1", "5", "--db", "t.db").returncode == NOT_FOUND


def test_a_difference_is_coloured_at_a_terminal_alone(sent: Path) -> None:
    arguments = ["context", "demo", "known://a", "--diff", "2", "3", "--db", "t.db"]
    ours, theirs = pty.openpty()
    environ = environment(sent.parent, TERM="xterm")
    subprocess.run([*ENGINE, *arguments], cwd=sent, env=environ, stdout=theirs, check=True, timeout=300)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):
        while data := os.read(ours, 4096):
            said += data
    os.close(ours)
    assert b"\x1b[31m-one" in said
    assert b"\x1b[32m+two" in said
    assert "\x1b" not in command(sent, *arguments).stdout


def test_a_turn_that_sent_nothing_has_no_context(sent: Path) -> None:
    told = command(sent, "context", "demo", "--at", "9", "--json", "--db", "t.db")
    assert (told.returncode, told.stdout) == (NOT_FOUND, "")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("a\n", "a", ["-a", "+a", "\\ No newline at end of file"]),
        ("a", "b", ["-a", "+b"]),
        ("a\u2028b\r\n", "a\u2028c\r\n", ["-a\u2028b\r", "+a\u2028c\r"]),
        ("", "a", ["+a"]),
        ("a", "a", []),
    ],
)
def test_a_difference_is_that_of_lines(before: str, after: str, told: list[str]) -> None:
    assert difference(before, after, "old", "new")[3:] == told


# what a fork inherited


def test_a_fork_is_asked_for_turns_that_it_inherited(db: engine.Database, sent: Path) -> None:
    db.run("Another way", run="child", fork="demo", at=3, model=script(sent, DONE))
    assert seen(db, "child", 2) == seen(db, "demo", 2) != []
    assert seen(db, "child", 4) == []
    own = command(sent, "packet", "demo", "2", "--db", "t.db").stdout
    assert command(sent, "packet", "child", "2", "--db", "t.db").stdout == own
    db.fork("demo", "second")
    assert (
        command(sent, "packet", "second", "--db", "t.db").stdout
        == command(sent, "packet", "--db", "t.db", "demo").stdout
    )
    third = db.run("A third way", fork="demo", model=script(sent, *["said"] * 5, DONE))
    assert third.run == "a-third-way"
    assert command(sent, "verify", "child", "--db", "t.db").returncode == 0
    told = command(sent, "context", "child", "known://a", "--diff", "2", "3", "--db", "t.db").stdout
    assert told.endswith("-one\n+two\n")
    assert db.rows("select turn, source from past_turns where run = 'child' order by turn") == [
        {"turn": 1, "source": "demo"},
        {"turn": 2, "source": "demo"},
        {"turn": 3, "source": "child"},
    ]


def test_a_fork_of_an_inherited_turn_comes_from_the_run_that_took_it(db: engine.Database, sent: Path) -> None:
    db.run("Another way", run="child", fork="demo", at=3, model=script(sent, DONE))
    db.run("Keep notes", run="grandchild", fork="child", at=1, model=script(sent, DONE))
    assert user(db, "grandchild", 1) == user(db, "demo", 1)
    assert db.value("select parent from run_overview where run = 'grandchild'") == "demo"
    told = command(sent, "fork", "child", "--at", "2", "--as", "other", "--json", "--db", "t.db").stdout
    assert json.loads(told) == {"run": "other", "parent": "demo", "at": 2}
    with pytest.raises(engine.NotFound, match="404 run child: has no turn 4; its last turn is 3"):
        db.fork("child", at=4)
