"""A disk that is full at any write: the error is one line, nothing that was stored is lost, and a resume goes on.

The disk is full where a file would grow beyond a limit of the process. The limits go through the growth of its log.

spec: @crash_safety
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from audit import audit

import engine

POINTS = int(os.environ.get("ENGINE_CAMPAIGN", "2"))
_LEAST_LOG, _LOG = 64_000, 400_000
"""Bytes of the log of a run, and by how much it grows at least."""
LONG = " ".join(str(number) for number in range(6000))
ANSWERS = [
    '<get path="notes.md"/><update status="102">read</update>',
    f'<set path="long.txt">{LONG}\n</set><update status="102">long</update>',
    '<set path="notes.md"><<SEARCH\n8080\nSEARCH\n<<REPLACE\n9090\nREPLACE</set>'
    '<sh>echo x >> ran</sh><update status="102">on</update>',
    '<set path="known://a">one</set><update status="102">on</update>',
    '<update status="200">Changed.</update>',
]


def command(folder: Path, *words: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """The ended process of `engine WORDS` in a folder, in which no file may grow beyond `limit` bytes."""

    def fill() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit) if limit is not None else (-1, -1))

    return subprocess.run(
        [sys.executable, "-m", "engine", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=fill,
    )


def lay_out(folder: Path) -> list[str]:
    """Make the folder; returns the words of the command that runs the script in it."""
    folder.mkdir()
    (folder / "notes.md").write_text("The port is 8080.\n", encoding="utf-8")
    script = folder.parent / f"{folder.name}.jsonl"
    script.write_text("".join(json.dumps(answer) + "\n" for answer in ANSWERS), encoding="utf-8")
    return ["run", "--yolo", "--run", "demo", "--model", f"scripted:{script}", "Go"]


def told(folder: Path) -> dict[str, Any]:
    with engine.open(folder / ".engine" / "engine.db") as db:
        found = {
            "loops": db.rows("select status, answer from loops"),
            "turns": db.rows("select sequence, status, response from turns"),
            "commands": db.rows("select turn_id, ordinal, action, state, outcome from commands order by id"),
        }
    return {**found, "files": {path.name: path.read_text("utf-8") for path in folder.iterdir() if path.is_file()}}


def test_a_full_disk_is_told_in_a_line_and_a_resume_goes_on(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    assert command(whole, *lay_out(whole)).returncode == 0
    expected = told(whole)
    engine.open(tmp_path / "empty.db").close()
    half, most = (tmp_path / "empty.db").stat().st_size // 2, 0
    # first while the file is made, then while its log grows
    for limit in (half, *(_LEAST_LOG + number * _LOG // POINTS for number in range(POINTS))):
        folder = tmp_path / str(limit)
        words = lay_out(folder)
        if limit != half:
            (folder / ".engine").mkdir()
            engine.open(folder / ".engine" / "engine.db").close()
        full = command(folder, *words, limit=limit)
        if full.returncode == 0:
            continue
        most += 1
        *_, line = full.stderr.splitlines()
        assert full.returncode == 1, full.stderr
        assert line.startswith("engine: "), full.stderr
        assert "Traceback" not in full.stderr, full.stderr
        went_on = command(folder, "resume", "demo")
        if went_on.returncode != 0:
            assert went_on.returncode in (2, 7), went_on.stderr
            assert (
                "there is no such run" in went_on.stderr or "no database" in went_on.stderr or went_on.returncode == 7
            )
            assert command(folder, *words).returncode == 0
        audit(folder / ".engine" / "engine.db")
        found = told(folder)
        shells = [row for row in found["commands"] if row["action"] == "sh"]
        if shells[0]["outcome"] == "interrupted":
            assert found["files"].get("ran", "") in ("", "x\n"), "never run twice"
            continue
        assert found == expected, limit
    assert most >= 2, "the disk was full now and then"


def test_a_disk_without_any_room_is_told_and_leaves_nothing_half(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    words = lay_out(folder)
    full = command(folder, *words, limit=0)
    assert (full.returncode, full.stdout) == (1, "")
    assert full.stderr.splitlines()[-1].startswith("engine: ")
    assert command(folder, *words).returncode == 0
    assert told(folder)["loops"] == [{"status": 200, "answer": "Changed."}]
