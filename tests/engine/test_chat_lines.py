"""`engine chat` without a terminal: a prompt or a command a line.

spec: @chat_lines
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_cli import ENGINE, database, engine, engine_process, run_command, script

import engine as library


@pytest.fixture
def model(tmp_path: Path) -> str:
    return script(tmp_path / "s.jsonl", ["one", "two", "three"])


def prompts(folder: Path) -> list[str]:
    with library.open(database(folder)) as db:
        return [prompt for (prompt,) in db.tuples("select prompt from loop_list order by loop")]


def test_each_line_is_a_prompt_for_the_same_run(folder: Path, model: str) -> None:
    done = engine(folder, "chat", "--run", "demo", "--model", model, stdin="First\n\n  \nSecond")
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n"), done.stderr
    assert prompts(folder) == ["First", "Second"]
    more = engine(folder, "chat", stdin="Third\n")
    assert (more.returncode, more.stdout) == (0, "three\n"), more.stderr
    assert [row["loops"] for row in json.loads(engine(folder, "runs", "--json").stdout)] == [3]


def test_a_backslash_goes_on_with_the_next_line(folder: Path, model: str) -> None:
    assert engine(folder, "chat", "--model", model, stdin="a\\\nb\\\n\nc\\").returncode == 0
    assert prompts(folder) == ["a\nb\n", "c\n"]


def test_commands_are_performed_and_quit_ends(folder: Path, model: str) -> None:
    done = engine(folder, "chat", "--model", model, stdin="First\n/runs\n/clear\n/quit\nSecond\n")
    assert done.returncode == 0, done.stderr
    assert "First" in done.stdout.partition("title")[2]
    assert prompts(folder) == ["First"]


@pytest.mark.parametrize(
    ("line", "code"), [("/nope", 2), ('/run "x', 2), ("/run none", 2), ("/log --turn 99", 2), ("/sql delete", 2)]
)
def test_the_exit_code_is_that_of_the_first_line_that_failed(folder: Path, model: str, line: str, code: int) -> None:
    done = engine(folder, "chat", "--model", model, stdin=f"First\n{line}\nSecond\n")
    assert (done.returncode, done.stdout) == (code, "one\ntwo\n"), done.stderr


def test_a_run_that_needs_a_decision_waits_and_a_line_decides(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "w.jsonl", ['<set path="a.txt">x</set>', "done"])
    path = "log://turn_1/set/a.txt"
    waiting = engine(folder, "chat", "--run", "demo", "--model", model, stdin="Write it\n")
    assert waiting.returncode == 6
    assert "waits for a decision" in waiting.stderr
    done = engine(folder, "chat", "--run", "demo", stdin=f"/accept {path} --continue\n")
    assert done.returncode == 0, done.stderr
    assert (folder / "a.txt").read_text() == "x\n"


def test_no_line_at_all_is_wrong_usage(folder: Path) -> None:
    done = engine_process(folder, "chat", stdin="\n")
    assert (done.returncode, "stdin has no prompt" in done.stderr) == (2, True)
    assert not database(folder).exists()


def test_a_line_without_end_is_refused(folder: Path, model: str) -> None:
    done = engine(folder, "chat", "--model", model, stdin="x" * 1_000_001)
    assert (done.returncode, "a line is longer than 1,000,000 characters" in done.stderr) == (5, True)


def test_it_works_without_the_library_for_terminals(folder: Path, model: str) -> None:
    hidden = "import sys; sys.modules['prompt_toolkit'] = None; from engine.cli.main import main; sys.exit(main())"
    done = run_command(folder, ENGINE[0], "-c", hidden, "chat", "--model", model, stdin="First\n")
    assert (done.returncode, done.stdout) == (0, "one\n"), done.stderr
