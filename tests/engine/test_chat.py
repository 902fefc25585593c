"""A chat at a real pseudo terminal: prompts, commands, approvals, Ctrl-C, and going on after a restart.

spec: @chat @chat_together
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from chat_terminal import READY, Chat, OpenChat
from driving import GO_ON
from engine_cli import EDIT_AND_RUN, READ_AND_ANSWER, database, engine, run_command, script
from timing import wait_until

import engine as library

Rows = Callable[[str], list[dict[str, Any]]]
SLOW: list[str | Mapping[str, Any]] = [{"text": '<update status="200">Late.</update>', "delay_s": 3600}]
DONE: list[str | Mapping[str, Any]] = ['<update status="200">Done.</update>']


@pytest.fixture
def chat(folder: Path) -> Iterator[OpenChat]:
    """Opens a chat in the folder; it is closed when the test ends."""
    opened: list[Chat] = []

    def start(*arguments: str, **extra: str) -> Chat:
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


def test_prompts_are_answered_in_one_run(chat: OpenChat, tmp_path: Path, rows: Rows) -> None:
    at = chat("--run", "demo", "--new", "--model", script(tmp_path / "s.jsonl", [*READ_AND_ANSWER, *DONE]))
    at.enter("Which port?", ": done (2 turns")
    at.enter("First line\\\rsecond line", ": done (1 turn")
    assert at.leave() == "The port is 8080.\nDone.\n"
    assert rows("select prompt from loop_list") == [{"prompt": "Which port?"}, {"prompt": "First line\nsecond line"}]


def test_it_goes_on_with_the_run_that_was_active_last(chat: OpenChat, folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", DONE * 4)
    for name in ("one", "two"):
        assert engine(folder, "run", "--ask", "--run", name, "--model", model, f"Prompt of {name}").returncode == 0
    at = chat()
    at.expect("run two, ")
    at.expect("last: Prompt of two")
    at.enter("/run one", "run one, ")
    at.enter("And more", "one: done")
    at.enter("/new three", "run three, ")
    at.enter("/quit")
    assert at.end()[0] == 0
    at = chat()
    at.expect("run one, ")
    at.leave()


def test_ctrl_c_stops_the_turn_and_another_prompt_takes_its_place(chat: OpenChat, tmp_path: Path, rows: Rows) -> None:
    at = chat("--new", "--run", "demo", "--model", script(tmp_path / "s.jsonl", SLOW))
    at.enter("Too slow", "thinking")
    at.interrupt()
    at.expect("/resume continues it, a new prompt replaces it")
    at.enter("/effort low", "effort: low")
    at.enter("/model local", "model: local")
    at.enter("Refused", "has no effort levels")  # which ends nothing
    at.enter("\x15/effort none", "effort: none")  # it stands in the line again
    assert rows("select status from loop_list") == [{"status": 102}]
    at.enter(f"/model {script(tmp_path / 't.jsonl', DONE)}", "model: scripted:")
    at.enter("Quick", ": done (")
    assert at.leave() == "Done.\n"
    told = rows("select prompt, status from loop_list")
    assert told == [{"prompt": "Too slow", "status": 499}, {"prompt": "Quick", "status": 200}]


def test_a_stopped_prompt_is_resumed_also_after_a_restart(chat: OpenChat, tmp_path: Path, rows: Rows) -> None:
    at = chat("--new", "--run", "demo", "--model", script(tmp_path / "s.jsonl", SLOW))
    at.enter("Too slow", "thinking")
    at.interrupt()
    at.leave()
    script(tmp_path / "s.jsonl", DONE)
    at = chat()
    at.expect("its last prompt was stopped")
    at.enter("/resume", ": done (")
    at.enter("/resume", "nothing to resume")
    assert at.leave() == "Done.\n"
    assert rows("select status from loop_list") == [{"status": 200}]


def test_a_decision_is_asked_for_and_may_wait(chat: OpenChat, folder: Path, tmp_path: Path) -> None:
    at = chat("--new", "--run", "demo", "--model", script(tmp_path / "s.jsonl", EDIT_AND_RUN))
    at.enter("Move it", "e edit")
    at.type("y")
    at.expect("$ echo done > marker")
    at.type("q")
    at.expect("it waits for a decision; /resume asks again")
    at.enter("/proposals", "decide with")
    at.enter("/resume")
    at.until(lambda shown: "$ echo done > marker" in shown.rpartition("/resume")[2], "it is not asked again")
    at.type("y")
    at.expect(": done (")
    assert "echo done > marker" in at.leave()
    assert (folder / "marker").read_text() == "done\n"


def test_commands_of_the_command_line_get_the_run(chat: OpenChat, folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", [*READ_AND_ANSWER, *DONE])
    for name in ("demo", "other"):
        assert engine(folder, "run", "--run", name, "--model", model, f"Which port, {name}?").returncode == 0
    at = chat("--run", "demo", "--db", str(database(folder)))
    for command, told in (
        ("/status", "context "),
        ("/mode ask", "mode: ask"),
        ("/mode fast", "type /mode act"),
        ("/mdel", "did you mean model?"),
        ("/log --turn 9", "there is no turn 9"),
        ("/help", "Commands"),
        ("undo", "/undo"),
        ("\x15/clear", "\x1b[2J"),
        ("/entry get 'open", "no closing quotation"),
        ("/run nobody", "there is no such run"),
        ("/rewind", "Go back to before"),
        ("/help log", ""),
        ("/log", ""),
        ("/context --diff 1 2", ""),
        ("/rules list", ""),
    ):
        at.enter(command, told)
        if command == "/rewind":
            at.type("\x1b")
    printed = at.leave()
    assert "Usage: engine log" in printed
    assert "Which port, demo?" in printed
    assert "Which port, other?" not in printed
    assert "appeared" in printed
    assert "Traceback" not in at.said + printed


def test_the_session_follows_its_run(chat: OpenChat, folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", DONE * 4)
    at = chat("--run", "demo", "--model", model)
    at.enter("/log", "there is no run yet")
    at.enter("/new nothing", "run nothing")
    at.enter("One", "nothing: done")
    at.enter("/new nothing", "already exists")
    at.enter("/runs rename kept", "")
    at.enter("/runs label --title 'My title'", "")
    at.enter("/status", "My title")
    at.enter("More", "kept: done")
    at.enter("/effort hard", "the effort must be one of none, minimal")
    at.enter("/reasoning low", "effort: low")
    at.enter("/status", "effort low")
    at.enter("/runs purge --yes", "the run no longer exists")
    at.enter("Another", "another: done")
    at.leave()


def test_what_begins_with_a_path_is_a_prompt(chat: OpenChat, tmp_path: Path, rows: Rows) -> None:
    at = chat("--new", "--run", "demo", "--model", script(tmp_path / "s.jsonl", DONE * 2))
    for prompt in ("/etc/hosts is what?", " /help me"):
        at.enter(prompt, ": done (")
    at.leave()
    assert [row["prompt"] for row in rows("select prompt from loop_list")] == ["/etc/hosts is what?", " /help me"]


def test_words_are_completed(chat: OpenChat, folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", DONE)
    assert engine(folder, "run", "--run", "a-name-that-is-long", "--model", model, "One").returncode == 0
    at = chat("--new")
    at.begin()
    for typed, completed in (
        ("/prop", "› /proposals"),
        ("/skills sear", "› /skills search"),
        ("/run a-na", "› /run a-name-that-is-long"),
        ("/mode as", "› /mode ask"),
        ("look at @no", "› look at @notes.md"),
    ):
        at.type(typed)
        at.expect(f"› {typed}")
        at.type("\t")
        at.expect(completed)
        at.type("\x03")
    at.leave()


def test_earlier_prompts_come_back(chat: OpenChat, folder: Path, tmp_path: Path, rows: Rows) -> None:
    model = script(tmp_path / "s.jsonl", DONE * 2)
    assert engine(folder, "run", "--run", "demo", "--model", model, "Of before").returncode == 0
    at = chat()
    at.expect(READY)
    at.type("\x1b[A")
    at.expect("Of before")
    at.type(" again\r")
    at.expect(": done (")
    at.leave()
    assert rows("select prompt from loop_list")[1] == {"prompt": "Of before again"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_at_the_prompt_and_in_a_turn(
    chat: OpenChat, tmp_path: Path, number: signal.Signals, rows: Rows
) -> None:
    model = script(tmp_path / "s.jsonl", SLOW)
    at = chat("--new", "--run", "demo", "--model", model)
    at.expect("ask for something")
    at.interrupt(number)
    assert at.end()[0] == 130
    assert at.said.count("\x1b[?2004l") == at.said.count(READY) > 0  # the terminal is as it was before
    at = chat("--new", "--run", "demo", "--model", model)
    at.enter("Too slow", "thinking")
    at.interrupt(number)
    assert at.end()[0] == 130
    assert rows("select status from loop_list") == [{"status": 102}]


def test_a_window_that_is_closed_leaves_the_prompt_to_be_resumed(chat: OpenChat, tmp_path: Path, rows: Rows) -> None:
    at = chat("--new", "--run", "demo", "--model", script(tmp_path / "s.jsonl", SLOW))
    at.enter("Too slow", "thinking")
    assert at.hang_up() == 130
    assert rows("select status from loop_list") == [{"status": 102}]


def test_a_window_that_is_closed_at_the_prompt_ends_the_session(chat: OpenChat, tmp_path: Path, rows: Rows) -> None:
    at = chat("--run", "demo", "--model", script(tmp_path / "s.jsonl", DONE))
    at.enter("One", ": done (")
    wait_until(lambda: rows("select 1 from loop_list where status = 200"))
    assert at.hang_up() == 130


def test_commands_that_were_kept_end_with_the_session(chat: OpenChat, tmp_path: Path) -> None:
    keeps = '<sh background keep>sleep 3600</sh><update status="200">It runs.</update>'
    at = chat("--run", "demo", "--yolo", "--model", script(tmp_path / "s.jsonl", [keeps, *DONE]))
    at.enter("Start it", ": done (")
    at.enter("And now?", ": done (")
    at.leave()
    assert "kept: sh://turn_1/" in at.said
    assert "was ended" in at.said


def test_another_process_that_drives_the_run_is_told_of(chat: OpenChat, tmp_path: Path, folder: Path) -> None:
    model = script(tmp_path / "s.jsonl", SLOW)
    first = chat("--run", "demo", "--model", model)
    first.enter("Slow", "thinking")
    second = chat("--run", "demo")
    second.expect("another process works on it")
    second.enter("Mine", "another process works on this run; you see its work here")
    second.interrupt()
    second.expect("another process works on it")
    second.leave()
    first.interrupt()
    first.leave()
    with library.open(database(folder), read_only=True) as db:
        assert [row["status"] for row in db.rows("select status from loop_list")] == [102, 100]


def test_two_sessions_on_one_run_show_each_answer_under_its_prompt(
    chat: OpenChat, tmp_path: Path, folder: Path, rows: Rows
) -> None:
    """The first drives both prompts, the second follows live."""
    waits = f'<sh timeout="600">until [ -e go ]; do sleep 0.05; done</sh>{GO_ON}'
    answers = [f'<update status="200">Answer to {name}.</update>' for name in "AB"]
    first = chat("--run", "demo", "--yolo", "--model", script(tmp_path / "s.jsonl", [waits, *answers]))
    first.enter("Prompt A", "run demo, ")
    wait_until(lambda: rows("select 1 from processes where state = 'started'"))
    second = chat("--run", "demo")
    second.enter("Prompt B", "you see its work here")
    (folder / "go").touch()
    for at in (first, second):
        at.expect(": done (")
        at.expect("another session: Prompt B" if at is first else ": done (")
    first.expect(": done (")
    assert first.leave() == "Answer to A.\nAnswer to B.\n"
    assert second.leave() == "Answer to A.\nAnswer to B.\n"
    shown = second.text()
    assert shown.index("another session: Prompt A") < shown.index("Answer to A.") < shown.index("Answer to B.")
    assert [row["prompt"] for row in rows("select prompt from loop_list")] == ["Prompt A", "Prompt B"]


def test_a_session_that_was_killed_drives_its_run_no_longer(chat: OpenChat, tmp_path: Path, rows: Rows) -> None:
    """It is seen at once, and not when its lease expires."""
    first = chat("--new", "--run", "demo", "--model", script(tmp_path / "s.jsonl", SLOW))
    first.enter("Too slow", "thinking")
    first.interrupt(signal.SIGKILL)
    first.wait()
    second = chat("--run", "demo")
    second.expect("its last prompt was stopped; /resume continues it")
    second.enter(f"/model {script(tmp_path / 't.jsonl', DONE)}", "model: scripted:")
    second.enter("Quick", ": done (")
    second.leave()
    assert "another process" not in second.said
    assert [row["status"] for row in rows("select status from loop_list")] == [499, 200]


def test_a_session_that_is_killed_is_replaced_at_once_by_the_one_that_waits(
    chat: OpenChat, tmp_path: Path, folder: Path, rows: Rows
) -> None:
    """A lease that nobody gives back would be waited for."""
    assert engine(folder, "config", "lease_seconds=600").returncode == 0
    waits = f'<sh timeout="600">until [ -e go ]; do sleep 0.05; done</sh>{GO_ON}'
    answers = [f'<update status="200">Answer to {name}.</update>' for name in "AB"]
    first = chat("--run", "demo", "--yolo", "--model", script(tmp_path / "s.jsonl", [waits, *answers]))
    first.enter("Prompt A", "run demo, ")
    wait_until(lambda: rows("select 1 from processes where state = 'started'"))
    second = chat("--run", "demo", "--yolo")
    second.enter("Prompt B", "you see its work here")
    first.interrupt(signal.SIGKILL)
    first.wait()
    (folder / "go").touch()
    second.expect(": done (")
    second.leave()
    assert [row["status"] for row in rows("select status from loop_list")] == [200, 200]


def test_a_long_paste_is_one_prompt(chat: OpenChat, tmp_path: Path, rows: Rows) -> None:
    text = "".join(f"line {number} of what somebody pasted\r" for number in range(2_000))
    at = chat("--run", "demo", "--model", script(tmp_path / "s.jsonl", DONE))
    at.expect(READY)
    at.type_all(f"\x1b[200~{text}\x1b[201~")
    at.enter_now(": done (")
    at.leave()
    assert rows("select length(prompt) as n from loop_list")[0]["n"] > 60_000


def test_leaving_at_once_leaves_no_file(chat: OpenChat, folder: Path) -> None:
    chat().leave()
    assert not database(folder).exists()


def test_hostile_input_harms_nothing(chat: OpenChat, folder: Path, tmp_path: Path, rows: Rows) -> None:
    model = script(tmp_path / "s.jsonl", DONE * 3)
    assert engine(folder, "run", "--run", "demo", "--model", model, "Red \x1b[31m\x1b]0;title\x07").returncode == 0
    at = chat()
    at.expect("last: Red \\u{1b}[31m")
    at.expect(READY)
    at.type("\x1b[A")  # the history holds it
    at.expect("title")
    at.type("\x03")
    at.enter("/" + "x" * 3_000, "no such command")
    at.expect(READY)
    os.write(at.descriptor, b"bytes \xff\xfe that are no text\r")
    at.expect(": done (")
    at.enter("\x1b[200~pasted\rtwo lines\x1b[201~", ": done (")
    at.leave()
    assert "\x1b[31m\x1b]0" not in at.said
    assert rows("select prompt from loop_list")[2] == {"prompt": "pasted\ntwo lines"}


def test_only_this_command_imports_the_library(folder: Path) -> None:
    lines = "main(['runs']); main(['chat', '--help']); print('prompt_toolkit' in sys.modules)"
    program = f"import sys; from engine.cli.main import main; {lines}"
    assert run_command(folder, sys.executable, "-c", program).stdout.endswith("False\n")


@pytest.mark.parametrize("waits", ["at the prompt", "in a turn"])
def test_a_terminal_that_is_gone_before_its_signal_ends_the_session_as_that_does(
    chat: OpenChat, tmp_path: Path, rows: Rows, waits: str
) -> None:
    """The session has read that the terminal is gone, or could not write to it, when SIGHUP came, and died of that."""
    steps = [f"<sh>until [ -e go ]; do sleep 0.05; done; echo out</sh>{GO_ON}"]
    at = chat("--new", "--run", "demo", "--yolo", "--model", script(tmp_path / "s.jsonl", [*steps, *DONE]))
    if waits == "in a turn":
        at.enter("Go", "run demo, ")
        wait_until(lambda: rows("select 1 from processes where state = 'started'"))
        at.close_terminal()
        (tmp_path / "workspace" / "go").touch()
    else:
        at.expect(READY)
        at.close_terminal()
    assert at.wait() == 130
    if waits == "in a turn":
        assert rows("select status from loop_list") == [{"status": 102}]
