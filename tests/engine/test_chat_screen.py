"""What a chat shows and what its keys do, at an emulated terminal.

spec: @chat_screen @chat_keys @chat_decisions @chat_status @chat_notify
"""

from __future__ import annotations

import os
import re
import signal
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_terminal import Chat, OpenChat
from driving import GO_ON
from engine_cli import EDIT_AND_RUN, QUESTION, database, engine, script
from timing import wait_until

import engine as library
from engine.chat.worker import Worker

Rows = Callable[[str], list[dict[str, Any]]]
WAITS = f'<sh timeout="600">until [ -e go ]; do sleep 0.05; done</sh>{GO_ON}'
DONE = '<update status="200">Done.</update>'
ESCAPE = "\x1b"


@pytest.fixture
def chat(folder: Path) -> Iterator[OpenChat]:
    """Opens a chat in the folder; it is closed when the test ends."""
    opened: list[Chat] = []

    def start(*arguments: str, **extra: Any) -> Chat:
        opened.append(Chat(folder, *arguments, **extra))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.fixture
def rows(folder: Path) -> Rows:
    """Asks the folder's database."""

    def ask(query: str) -> list[dict[str, Any]]:
        with library.open(database(folder), read_only=True) as db:
            return db.rows(query)

    return ask


def bottom(at: Chat) -> str:
    """The last line that is shown."""
    return [line for line in at.shown() if line][-1]


def test_what_is_typed_while_the_model_works_waits_in_line(
    chat: OpenChat, folder: Path, tmp_path: Path, rows: Rows
) -> None:
    at = chat("--run", "demo", "--yolo", "--model", script(tmp_path / "s.jsonl", [WAITS, DONE, DONE, DONE]))
    at.enter("First", "› First")
    wait_until(lambda: rows("select 1 from processes where state = 'started'"))
    at.enter("Second", "queued Second")
    at.enter("Third", "queued Third")
    assert "2 queued" in bottom(at)
    at.type("\x1b[A")  # Up takes the last one back
    at.expect("› Third")
    at.until(lambda shown: "queued Third" not in shown and "1 queued" in shown, "it is still in line")
    at.type("\x15")
    (folder / "go").touch()
    at.expect("demo: done (2 turns")
    at.expect("› Second")
    at.expect("demo: done (1 turn")
    at.leave()
    told = [(row["prompt"], row["status"]) for row in rows("select prompt, status from loop_list order by loop")]
    assert told == [("First", 200), ("Second", 200), ("Third", 499)]


def test_ctrl_c_stops_the_turn_and_gives_the_queue_back(chat: OpenChat, tmp_path: Path, rows: Rows) -> None:
    at = chat("--run", "demo", "--yolo", "--model", script(tmp_path / "s.jsonl", [WAITS, DONE]))
    at.enter("First", "› First")
    wait_until(lambda: rows("select 1 from processes where state = 'started'"))
    at.enter("Second", "queued Second")
    at.type("\x03")
    at.expect("› Second")
    at.expect("its last prompt was stopped; /resume continues it")
    assert "queued" not in bottom(at)
    at.type("\x03")  # clears the line
    at.expect("ask for something")
    at.type("\x03\x03")
    assert at.end()[0] == 0
    assert [row["status"] for row in rows("select status from loop_list order by loop")] == [102, 499]


def test_modes_go_round_and_edits_are_accepted_in_theirs(
    chat: OpenChat, folder: Path, tmp_path: Path, rows: Rows
) -> None:
    at = chat("--run", "demo", "--model", script(tmp_path / "s.jsonl", EDIT_AND_RUN))
    at.begin()
    for mode in ("accept-edits", "ask", "act", "accept-edits"):
        at.type("\x1b[Z")
        at.until(lambda shown, mode=mode: shown.rstrip().rpartition("\n")[2].startswith(mode), mode)
    at.enter("Move it", "$ echo done > marker")
    assert "9090" in (folder / "notes.md").read_text()
    at.type("y")
    at.expect("demo: done")
    at.leave()
    deciders = rows("select decided_by from decisions order by proposal_id")
    assert deciders[0] == {"decided_by": "accept_edits"}
    assert chat("--run", "demo").expect("accept-edits") is None  # the mode of the last prompt


def test_a_no_has_its_reason_in_the_same_line(chat: OpenChat, folder: Path, tmp_path: Path, rows: Rows) -> None:
    at = chat("--run", "demo", "--model", script(tmp_path / "s.jsonl", [EDIT_AND_RUN[0], DONE]))
    at.enter("Move it", "3 + The port is 9090.")
    at.type("n")
    at.expect("no, because:")
    at.type(" use ValueError\r")
    at.expect("demo: done")
    at.leave()
    assert "8080" in (folder / "notes.md").read_text()
    assert rows("select decision, reason from decisions") == [{"decision": "reject", "reason": "use ValueError"}]


def test_one_key_accepts_all_edits_of_a_prompt_and_none_of_the_next(
    chat: OpenChat, folder: Path, tmp_path: Path, rows: Rows
) -> None:
    edits = [f'<set path="{name}.md">new\n</set>{GO_ON}' for name in "abc"]
    at = chat("--run", "demo", "--model", script(tmp_path / "s.jsonl", [*edits[:2], DONE, edits[2], DONE]))
    at.enter("Write two", "a all edits of this prompt")
    at.type("a")
    at.expect("demo: done")
    assert (folder / "b.md").read_text() == "new\n"
    at.enter("Write a third", "set c.md  +1 -0")
    assert not (folder / "c.md").exists()
    at.type("y")
    at.expect("demo: done")
    at.leave()
    assert "grant" in str(rows("select decided_by from decisions order by proposal_id")[1])


def test_several_proposals_are_one_list_and_a_pattern_is_edited(
    chat: OpenChat, folder: Path, tmp_path: Path, rows: Rows
) -> None:
    patch = '<set path="docs/a.md">new\n</set>'
    at = chat("--run", "demo", "--model", script(tmp_path / "s.jsonl", [patch + GO_ON, DONE]))
    at.enter("Write", "p always in this project")
    at.type("p")
    at.expect("always: docs/**")
    at.type("\x15**/*.md\r")
    at.expect("demo: done")
    at.leave()
    assert rows("select kind, target from granted") == [{"kind": "file_write", "target": "**/*.md"}]


def test_a_question_is_answered_by_a_number(chat: OpenChat, tmp_path: Path, rows: Rows) -> None:
    at = chat("--run", "demo", "--model", script(tmp_path / "s.jsonl", QUESTION))
    at.enter("Ask me", "2. 2026")
    at.type("2")
    at.expect("demo: done")
    at.leave()
    assert rows("select body from decisions") == [{"body": "2026"}]


def test_what_a_person_gives_besides_joins_the_run(chat: OpenChat, folder: Path, tmp_path: Path, rows: Rows) -> None:
    at = chat("--run", "demo", "--model", script(tmp_path / "s.jsonl", [DONE]))
    at.enter("!echo one; echo two >&2; exit 3", "exit 3")
    at.enter("# the staging port is 9", "noted known://the_staging_port_is_9")
    at.enter("Look at @notes.md please", "demo: done")
    at.type("\x0f")  # Ctrl-O: all of it, in the pager
    at.expect("Look at @notes.md please")
    at.leave()
    found = rows(
        "select path, body from known_entries where run = 'demo' and path glob '*://*' and scheme in ('known', 'stdin')"
    )
    bodies = {row["path"]: row["body"] for row in found}
    assert bodies["known://the_staging_port_is_9"] == "the staging port is 9"
    assert bodies["stdin://1"] == "$ echo one; echo two >&2; exit 3\none\ntwo\nexit 3\n"
    assert rows("select visibility from known_entries where run = 'demo' and path = 'notes.md'") == [
        {"visibility": "visible"}
    ]


def test_earlier_prompts_runs_and_turns_are_found(chat: OpenChat, folder: Path, tmp_path: Path, rows: Rows) -> None:
    model = script(tmp_path / "s.jsonl", [DONE] * 6)
    for name in ("alpha", "beta"):
        assert engine(folder, "run", "--run", name, "--model", model, f"Prompt of {name}").returncode == 0
    at = chat("--new")
    at.enter("/runs", "Runs · Enter")
    at.type("alph")
    at.expect("1 match")
    at.type("\r")
    at.expect("run alpha")
    at.type("\x12")  # Ctrl-R
    at.expect("Earlier prompts")
    at.type("beta\r")
    at.expect("› Prompt of beta")
    at.type("\x15")
    at.expect("ask for something")
    at.type(ESCAPE * 2)
    at.expect("Go back to before")
    at.type("\r")
    at.expect("› Prompt of alpha")
    at.type("\x15")
    at.leave()
    assert rows("select count(*) as n from loop_list where run = 'alpha'") == [{"n": 0}]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_status_line_fits_any_width(chat: OpenChat, folder: Path, tmp_path: Path, columns: int) -> None:
    at = chat("--run", "demo", "--model", script(tmp_path / "s.jsonl", [DONE]), columns=columns)
    at.enter("One", "demo: done")
    last = bottom(at)
    assert last.startswith("act")
    assert "%" in last
    assert ("workspace" in last) == (columns > 80)
    at.resize(30, 12)
    at.until(lambda shown: all(len(line) <= 30 for line in shown.split("\n")[-12:]), "a line is too long")
    at.type("more")
    at.expect("› more")
    at.type("\x15")
    at.leave()


def test_hostile_output_draws_in_its_place(chat: OpenChat, tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;title\x07\x1b[10;10Hhere \u202egnp.exe \x9b31m \u200b\u2066x"
    answers = [f"<env>printf 'a\\033[2J\\033[9;9Hb\\n'</env>{GO_ON}", f'<update status="200">{evil}</update>']
    at = chat("--run", "demo", "--yolo", "--model", script(tmp_path / "s.jsonl", answers))
    at.enter(f"Prompt \x1b[200~{evil}\x1b[201~", "demo: done")
    at.leave()
    for sent in ("\x1b[2J", "\x1b]0;", "\x1b[10;10H", "\x1b[9;9H", "\u202e", "\x9b", "\u2066"):
        assert sent not in at.said, repr(sent)


def test_a_kill_leaves_a_terminal_that_can_be_used(chat: OpenChat, tmp_path: Path, rows: Rows) -> None:
    """No other screen, no mouse, a visible cursor: what is left switched is what a shell switches at its prompt."""
    at = chat("--run", "demo", "--yolo", "--model", script(tmp_path / "s.jsonl", [WAITS]))
    at.enter("First", "› First")
    wait_until(lambda: rows("select 1 from processes where state = 'started'"))
    terminal = os.open(at.name, os.O_RDWR | os.O_NOCTTY)
    before = termios.tcgetattr(terminal)[3]
    at.interrupt(signal.SIGKILL)
    at.wait()
    wait_until(lambda: termios.tcgetattr(terminal)[3] & termios.ECHO)
    os.close(terminal)
    assert not before & termios.ECHO
    at.expect("\x1b[?2004l")
    assert not re.search(r"\x1b\[\?(1049|47|1000|1002|1003|1006)h", at.said)
    assert at.said.rfind("\x1b[?25h") > at.said.rfind("\x1b[?25l")
    assert at.said.rfind("\x1b[?2026l") > at.said.rfind("\x1b[?2026h")


def test_a_person_who_looks_elsewhere_is_told(chat: OpenChat, folder: Path, tmp_path: Path) -> None:
    assert engine(folder, "config", "notify=touch told", env={}).returncode != 0  # a file names no command
    command = f'printf "%s" "$0" > {tmp_path}/told; true'
    assert engine(folder, "config", "--user", f"notify={command}").returncode == 0
    at = chat("--run", "demo", "--model", script(tmp_path / "s.jsonl", EDIT_AND_RUN))
    at.enter("Move it", "e edit")
    wait_until(lambda: (tmp_path / "told").exists() and (tmp_path / "told").read_text())
    assert (tmp_path / "told").read_text() == "demo: waits for your decision"
    at.type("q")
    at.leave()


def test_compact_says_what_it_shows_in_short(chat: OpenChat, folder: Path, tmp_path: Path, rows: Rows) -> None:
    (folder / "long.md").write_text("A line about ports.\n" * 60)
    (folder / "other.md").write_text("A line about owners.\n" * 60)
    reads = f'<get path="long.md"/><get path="other.md"/>{GO_ON}'
    at = chat("--run", "demo", "--model", script(tmp_path / "s.jsonl", [reads, DONE]))
    at.enter("/compact", "there is no run yet")
    at.enter("Read them", "demo: done")
    at.enter("/compact owners", "stays in full")
    at.leave()
    shown = {
        row["path"]: row["visibility"] for row in rows("select path, visibility from known_entries where run = 'demo'")
    }
    assert (shown["long.md"], shown["other.md"]) == ("summarized", "visible")


def test_whatever_ends_the_driving_is_told_and_the_line_stays(folder: Path) -> None:
    """A thread that ended with an error of Python's left a chat that seemed to work for ever."""
    with library.open(folder.parent / "t.db") as db:
        db.start("Go", run="demo", model=script(folder.parent / "s.jsonl", [DONE]))

        def wake() -> None:
            if worker.told and not broken:
                broken.append(1)
                raise RuntimeError("the screen is gone")

        broken: list[int] = []

        worker = Worker(db, wake, yolo=False)
        worker.go("demo", 1)
        wait_until(lambda: worker.failed)
        assert "the screen is gone" in worker.failed[0].message
        wait_until(lambda: not worker.is_busy)
        worker.close()
