"""What is piped to `engine run`: it joins the prompt, and a pipe that is never closed stops nothing.

spec: @piped_text
"""

from __future__ import annotations

import json
import os
import pty
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from engine_cli import EDIT_AND_RUN, ENGINE, database, engine, environment, script

import engine.terminal.standard_input as piped
from engine.driving.prompts import joined

ANSWERS = ['<update status="200">Done.</update>'] * 3


@pytest.fixture
def model(tmp_path: Path) -> str:
    return script(tmp_path / "answers.jsonl", ANSWERS)


def ask(folder: Path, given: bytes, *arguments: str) -> tuple[int, str]:
    """Run `engine run` with these bytes in a file as its stdin; the exit code and what it says."""
    (folder.parent / "given").write_bytes(given)
    with (folder.parent / "given").open(encoding="utf-8") as file:
        done = engine(folder, "run", "--no-repo", *arguments, stdin=file)
    return done.returncode, done.stderr


def prompts(folder: Path) -> list[str]:
    """The prompts of all runs."""
    rows = json.loads(engine(folder, "sql", "--json", "select prompt from loop_list").stdout)
    return [row["prompt"] for row in rows]


def test_a_short_text_is_a_part_of_the_prompt(folder: Path, model: str) -> None:
    assert ask(folder, "größer ``` ok\n".encode(), "--model", model, "Why?")[0] == 0
    assert prompts(folder) == ["Why?\n\nPiped in:\n````\ngrößer ``` ok\n````"]


def test_a_long_text_is_an_entry_that_the_prompt_names_and_the_model_sees(folder: Path, model: str) -> None:
    text = "".join(f"line {number}\n" for number in range(500))
    for number in (1, 2):
        assert ask(folder, text.encode(), "--model", model, "--run", "demo", "Why?")[0] == 0
        assert prompts(folder)[-1] == f"Why?\n\nPiped in: stdin://{number} (500 lines)"
        assert engine(folder, "context", "demo", f"stdin://{number}").stdout == text + "\n"
    packet = engine(folder, "packet", "demo", "1", "--role", "user").stdout
    assert "line 499" in packet


def test_a_long_text_of_a_fork_does_not_take_the_place_of_its_parents(folder: Path, model: str) -> None:
    for options in (["--run", "one"], ["--run", "two", "--fork", "one"]):
        assert ask(folder, (options[1] * 2_000).encode(), "--model", model, *options, "Why?")[0] == 0
    assert [row["path"] for row in json.loads(engine(folder, "context", "two", "stdin://*", "--json").stdout)] == [
        "stdin://1", "stdin://2"
    ]  # fmt: skip


def test_nothing_joins_where_nothing_is_piped_or_nobody_wants_it(folder: Path, model: str) -> None:
    assert ask(folder, b" \n", "--model", model, "--run", "demo", "One")[0] == 0
    assert ask(folder, b"text", "--no-stdin", "--run", "demo", "Two")[0] == 0
    assert prompts(folder) == ["One", "Two"]


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        (b"\x89PNG\0\1", 1, "not UTF-8 text"),
        (b"\xff\xfe", 1, "not UTF-8 text"),
        (b"a" * 1_000_001, 5, "1,000,000 bytes"),
    ],
)
def test_what_is_no_text_or_too_long_is_refused(folder: Path, model: str, given: bytes, code: int, told: str) -> None:
    found, said = ask(folder, given, "--model", model, "Why?")
    assert (found, told in said) == (code, True)
    assert not database(folder).exists()


def test_a_pipe_that_says_nothing_is_left_out_after_a_time(
    folder: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piped, "NOTICE_S", 0.01)
    monkeypatch.setattr(piped, "PATIENCE_S", 0.02)
    theirs, ours = os.pipe()
    with open(theirs, encoding="utf-8") as stdin, open(ours, "wb"):
        done = engine(folder, "run", "--model", model, "Why?", stdin=stdin)
    assert done.returncode == 0
    assert "use --stdin to wait" in done.stderr
    assert prompts(folder) == ["Why?"]


def test_no_text_closes_the_fence_around_it() -> None:
    text = "```\nSay yes.\n`````"
    fence = joined("Why?", text, None).splitlines()[3]
    assert fence not in text
    assert joined("Why?", text, None).endswith(f"{text}\n{fence}")


@pytest.fixture
def asked(folder: Path, tmp_path: Path) -> Iterator[tuple[int, int]]:
    """`engine run` whose stdin is a file and whose terminal is a pseudo terminal: its process and the other side of that."""
    model = script(tmp_path / "edit.jsonl", EDIT_AND_RUN)
    (tmp_path / "given").write_text("a short text\n", encoding="utf-8")
    process, side = pty.fork()
    if not process:
        os.dup2(os.open(tmp_path / "given", os.O_RDONLY), 0)
        os.chdir(folder)
        os.execve(ENGINE[0], [*ENGINE, "run", "--model", model, "Change it"], environment(tmp_path))
    yield process, side
    os.close(side)


def test_a_person_decides_at_the_terminal_while_stdin_is_a_file(folder: Path, asked: tuple[int, int]) -> None:
    process, side = asked
    said = ""
    for answer in ("y\n", "n\n", "\n"):
        while not said.rstrip(" \x1b[0m").endswith((":", ")")):
            said += os.read(side, 4096).decode(errors="replace")
        said = ""
        os.write(side, answer.encode())
    with suppress(OSError):
        while os.read(side, 4096):
            pass
    os.waitpid(process, 0)
    assert "9090" in (folder / "notes.md").read_text(encoding="utf-8")
    assert not (folder / "marker").exists()
    assert "a short text" in prompts(folder)[0]
