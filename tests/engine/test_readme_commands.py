"""Every `engine` command that the README shows is one that the command line takes, those that no test runs included."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from engine_cli import engine

README = Path(__file__).parent.parent.parent / "README.md"
SHOWN = re.findall(r"^\$ (?:\w+=\S+ )?engine (.+)$", README.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("line", [line for line in SHOWN if not line.startswith("models install")])
def test_a_command_of_the_readme_is_understood(tmp_path: Path, line: str) -> None:
    # without a database, a model and a key nothing happens; wrong usage is told all the same
    folder = tmp_path / "work"
    (folder / "tests" / "examples" / "office").mkdir(parents=True)
    done = engine(folder, *shlex.split(line, comments=True))
    assert not done.stderr.startswith("Usage:"), done.stderr
    assert "'engine models' lists the aliases" not in done.stderr
