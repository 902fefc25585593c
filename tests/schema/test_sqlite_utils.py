"""sqlite-utils, where it is installed: it lists the file, counts every table, and counts and reads every public view.

Its `views --counts` ends at the first view behind an underscore that calls a function of the engine: SQLite compiles what
it counts.

spec: @people_views @file_format
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from people import PEOPLES_VIEWS, file_of_real_runs

sqlite_utils = pytest.importorskip("sqlite_utils", reason="sqlite-utils is not installed")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return file_of_real_runs(tmp_path_factory.mktemp("utils"))


@pytest.fixture
def stock(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        yield connection


def test_the_command_counts_every_table(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sqlite_utils", "tables", "--counts", path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    counts = {row["table"]: row["count"] for row in json.loads(done.stdout)}
    assert counts["runs"] == 3
    assert counts["turns"] > 5


def test_every_public_view_is_counted_and_read(stock: sqlite3.Connection) -> None:
    file = sqlite_utils.Database(stock)
    public = [name for name in file.view_names() if not name.startswith("_")]
    assert set(PEOPLES_VIEWS) <= set(public)
    counts = {name: file[name].count for name in public}
    assert [name for name in PEOPLES_VIEWS if counts[name] == 0] == []
    for name in public:
        assert len(list(file[name].rows_where(limit=3))) == min(counts[name], 3)
