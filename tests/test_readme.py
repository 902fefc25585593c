"""The README's commands work: those after ``$ `` in `console` blocks run, in order, in a copy of the project.

A block right below ``<!-- not run -->`` is left alone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- not run -->\n)?^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
SECONDS = 300


def commands(text: str) -> list[str]:
    """The commands to run in `text`; a line that ends in a backslash goes on in the next."""
    return [
        command.replace("\\\n", " ")
        for not_run, block in BLOCK.findall(text)
        if not not_run
        for command in re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, re.MULTILINE)
    ]


def test_blocks_not_to_be_run_are_skipped() -> None:
    text = "```console\n$ a \\\n  b\nshown\n$ c\n```\n\n<!-- not run -->\n```console\n$ d\n```\n"
    assert commands(text) == ["a    b", "c"]


def test_the_readme_is_short_enough_to_read() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) < 150


def test_a_failed_venv_is_made_anew_at_the_next_try(tmp_path: Path) -> None:
    """Without ensurepip, venv leaves a Python without pip, which was then taken for a finished one."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nmkdir -p .venv/bin && ln -sf /bin/sh .venv/bin/python && exit 1\n", encoding="utf-8")
    python.chmod(0o755)
    for _ in range(2):
        done = subprocess.run(
            ["make", "-f", str(ROOT / "Makefile"), f"PYTHON={python}", ".venv/bin/python"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 2, done.stdout
        assert "Creating .venv" in done.stdout
        assert not Path(tmp_path, ".venv/bin/python").is_symlink()


def test_clean_keeps_the_runs_of_the_person(tmp_path: Path) -> None:
    folder = tmp_path / ".engine"
    folder.mkdir()
    for name in ("engine.db", "demo.db", "demo.db-wal"):
        (folder / name).touch()
    subprocess.run(["make", "-f", str(ROOT / "Makefile"), "clean"], cwd=tmp_path, check=True, timeout=SECONDS)
    assert [path.name for path in folder.iterdir()] == ["engine.db"]


def test_every_command_of_the_readme_works(tmp_path: Path) -> None:
    project = Path(shutil.copytree(ROOT, tmp_path / "project", ignore=LEFT_OUT))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "HOME": str(tmp_path), "NO_COLOR": "1"}
    listed = commands(README.read_text(encoding="utf-8"))
    assert listed
    for command in listed:
        if command.startswith("sqlite3 ") and not shutil.which("sqlite3"):
            continue  # the shell is optional; that the file opens in Python's sqlite3 is part of every audit
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
