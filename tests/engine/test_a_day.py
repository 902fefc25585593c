"""A whole day at the terminal against a server on loopback: a newcomer's first commands, a change, a look back, a failure.

spec: @init @model_addresses @live_progress @list_of_runs @diff_of_files
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from engine_cli import ENGINE, SECONDS, database, engine, environment, on_terminal, screen, script
from fresh import stays_open
from loopback import saying, serving
from terminal import Terminal

DRAFT = "# Ports\n\nThe port is in notes.md."
CHANGE = "<<SEARCH\nThe port is 8080.\nSEARCH\n<<REPLACE\nThe port is 9090.\nREPLACE"
ANSWERS = [
    f'<update status="200">{DRAFT}</update>',
    '<get path="notes.md"/>',
    '<update status="200">The server listens on port 8080.</update>',
    f'<set path="notes.md">{CHANGE}</set><update status="102">Changed.</update>',
    '<update status="200">The port is 9090 now.</update>',
]
NUMBER = re.compile(r"(?<![\d,.:])(100|102|200|202|403|499)(?![\d,.])")
"""The number of a status where people read a word."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "project"
    root.mkdir()
    (root / "notes.md").write_text("# Notes\n\nThe port is 8080.\n", encoding="utf-8")
    with stays_open(database(root)):
        yield root


def shown(folder: Path, *words: str, code: int = 0, columns: int = 80) -> str:
    """What the screen shows in the end; no line is longer than the screen is wide, and no status is a number."""
    ended, said = on_terminal(folder, *words, columns=columns, PAGER="cat")
    text = "\n".join(screen(said))
    assert ended == code, text
    assert not NUMBER.search(text), NUMBER.search(text)
    return text


def asked(folder: Path, *words: str, answers: list[tuple[str, str]]) -> str:
    """What a command says that asks: each answer is typed when its question is there."""
    terminal = Terminal(folder, *words)
    try:
        for question, answer in answers:
            terminal.expect(question)
            terminal.type(answer)
        code, stdout = terminal.end()
        assert code == 0, terminal.said
        return terminal.said + stdout
    finally:
        terminal.close()


def test_times_are_local_and_utc_on_demand(folder: Path) -> None:
    model = script(folder.parent / "m.jsonl", ['<update status="200">Done.</update>'])
    assert engine(folder, "run", "--run", "demo", "--model", model, "Go").returncode == 0
    zone = {"TZ": "Etc/GMT-5"}
    created = json.loads(run(folder, "show", "demo", "--json"))["created_at"]
    there = (datetime.fromisoformat(created[:19]) + timedelta(hours=5)).strftime("%Y-%m-%d %H:%M")
    for words in (["show", "demo"], ["log", "demo"], ["events", "demo"]):
        assert there in run(folder, *words, **zone), words
        assert created[:16] in run(folder, *words, "--utc", **zone), words


def test_a_label_needs_no_run(folder: Path) -> None:
    model = script(folder.parent / "m.jsonl", ['<update status="200">Done.</update>'])
    for name in ("first", "second"):
        assert engine(folder, "run", "--run", name, "--model", model, "Go").returncode == 0
    assert "second" in run(folder, "runs", "label", "urgent", "q3")
    assert "first" in run(folder, "runs", "label", "first", "q3")
    labels = {row["run"]: sorted(row["labels"]) for row in json.loads(run(folder, "runs", "--json"))}
    assert labels == {"first": ["q3"], "second": ["q3", "urgent"]}
    assert run(folder, "runs", "move", "../other.db").startswith("second: moved to ../other.db")


def test_a_list_that_is_longer_than_the_screen_is_paged(folder: Path) -> None:
    model = script(folder.parent / "m.jsonl", ['<update status="200">Done.</update>'])
    for number in range(6):
        assert engine(folder, "run", "--run", f"run{number}", "--model", model, "Go").returncode == 0
    pager = folder.parent / "pager"
    pager.write_text("#!/bin/sh\necho PAGED; cat\n")
    pager.chmod(0o755)
    for lines, is_paged in (("5", True), ("50", False)):
        _, said = on_terminal(folder, "runs", PAGER=str(pager), LINES=lines)
        assert ("PAGED" in said) is is_paged
        assert said.count("run") >= 6
    assert "PAGED" not in run(folder, "runs")


def run(folder: Path, *words: str, **variables: str) -> str:
    done = subprocess.run(
        [*ENGINE, *words],
        cwd=folder,
        env=environment(folder.parent, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_day(folder: Path) -> None:
    with serving(*(saying(answer) for answer in ANSWERS)) as server:
        assert "for all your runs" in shown(
            folder, "models", "add", "house", "tiny", "--base-url", server.url, "--user"
        )
        assert "house" in shown(folder, "models")
        asked(folder, "init", "--draft", answers=[("Write it? [y/N]: ", "y\n"), ("to AGENTS.md? [y/N]: ", "y\n")])
        assert (folder / "AGENTS.md").read_text() == DRAFT + "\n"

        told = shown(folder, "run", "Which port does the server listen on?")
        assert "The server listens on port 8080." in told
        assert "which-port-does-the" in told
        changed = asked(folder, "run", "--run", "port", "Use port 9090", answers=[("[y]es", "y\n")])
        assert "The port is 9090 now." in changed
        assert "The port is 9090." in (folder / "notes.md").read_text()

        assert "+The port is 9090." in shown(folder, "diff", "port")
        for columns in (40, 80, 120):
            runs = shown(folder, "runs", columns=columns)
            assert "port" in runs
            assert "done" in runs
            assert "done" in shown(folder, "show", "port", columns=columns)
        story = shown(folder, "log", "port")
        assert "Use port 9090" in story
        assert story.index("Use port 9090") < story.index("The port is 9090 now.")
        shown(folder, "undo", "port", "--yes")
        assert "The port is 8080." in (folder / "notes.md").read_text()
        shown(folder, "costs")
        assert server.answers
    gone = shown(folder, "run", "--run", "later", "Are you there?", code=1, columns=120)
    assert "nobody listens there" in " ".join(gone.split())
    assert "try 2" not in gone
