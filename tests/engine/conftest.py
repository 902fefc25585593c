"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from audit import audit
from engine_cli import database
from fresh import stays_open
from terminal import OpenTerminal, Terminal


@pytest.fixture
def folder(workspace_dir: Path) -> Iterator[Path]:
    """A folder with files; the default database that the test leaves in it is audited.

    The commands of a test that this process runs have one opening of that database in common.
    """
    with stays_open(database(workspace_dir)):
        yield workspace_dir
    if database(workspace_dir).exists():
        audit(database(workspace_dir))


@pytest.fixture
def open_terminal(folder: Path) -> Iterator[OpenTerminal]:
    """Opens a terminal in the folder; it is closed when the test ends."""
    opened: list[Terminal] = []

    def start(*arguments: str, **extra: str) -> Terminal:
        opened.append(Terminal(folder, *arguments, **extra))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()
