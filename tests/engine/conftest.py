"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from audit import audit
from engine_cli import database


@pytest.fixture
def folder(workspace_dir: Path) -> Iterator[Path]:
    """A folder with files; the default database that the test leaves in it is audited."""
    yield workspace_dir
    if database(workspace_dir).exists():
        audit(database(workspace_dir))
