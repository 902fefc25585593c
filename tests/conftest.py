"""What every test shares: `.test` files are collected, databases are fresh, all end in the same audit."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# tests/engine would hide the package `engine` if this folder stood before the project's on the path.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from audit import audit
from campaign import CAMPAIGN
from fresh import fresh
from sqltest import SqlFile

import engine

# Commits wait for the disk, and what tests write is thrown away: it lies in memory, if there is room and nobody says where.
MEMORY, ROOM = Path("/dev/shm"), 2 << 30
if "TMPDIR" not in os.environ and MEMORY.is_dir() and os.access(MEMORY, os.W_OK):
    _memory = os.statvfs(MEMORY)
    if _memory.f_bavail * _memory.f_frsize > ROOM and not _memory.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# What the engine notes of the files that it made is of one user for all tests, and thrown away with them.
_state = tempfile.TemporaryDirectory(prefix="engine-state-")
os.environ["XDG_STATE_HOME"] = _state.name

# Processes that tests start keep what they compile, which takes longer than most of what they do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Whether models are told of the tool search depends on what is installed; tests that are about it say so themselves.
os.environ["ENGINE_SEARCH"] = "none"

# What hypothesis measures by the clock on the wall says more of what else the machine does. An ordinary run draws the same
# examples each time, so that none is red by chance; a campaign draws others.
settings.register_profile(
    "any machine", deadline=None, derandomize=not CAMPAIGN, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SqlFile | None:
    """Collect `.test` files."""
    return SqlFile.from_parent(parent, path=file_path) if file_path.suffix == ".test" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest, so that at the end no process is left alone with one of them."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """Let Python look for garbage among what tests make only, not among the thousands of tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def db(request: pytest.FixtureRequest) -> Iterator[engine.Database]:
    """A fresh database, audited when the test ends; of a test that uses `in_folder`, ``tmp_path / "t.db"``."""
    if "in_folder" not in request.fixturenames:
        with fresh() as database:
            yield database
        return
    path = request.getfixturevalue("tmp_path") / "t.db"
    database = engine.open(path)
    try:
        yield database
    finally:
        database.close()
    audit(path)


@pytest.fixture
def in_folder() -> None:
    """For tests that ask where `db` lies, or open it in their own way: it lies in `tmp_path` and was just opened."""


@pytest.fixture
def workspace_dir(tmp_path: Path) -> Path:
    """A folder ``tmp_path / "workspace"`` with five small files: notes, settings, two of code, one binary."""
    root = tmp_path / "workspace"
    (root / "src").mkdir(parents=True)
    (root / "notes.md").write_text("# Notes\n\nThe port is 8080.\nThe owner is Ada.\n", encoding="utf-8")
    (root / "settings.ini").write_text("[server]\nport = 8080\nhost = localhost\n", encoding="utf-8")
    (root / "src" / "main.py").write_text('def main() -> None:\n    print("hello")\n', encoding="utf-8")
    (root / "src" / "util.py").write_text("LIMIT = 10\n", encoding="utf-8")
    (root / "logo.bin").write_bytes(b"\x89\x00\x01\x02")
    return root
