"""DuckDB, where it and its extension for SQLite are installed: `sqlite_scan` answers every view for people.

Neither is a dependency: together they take 90 MB, and DuckDB fetches the extension by itself (`install sqlite`).

spec: @people_views
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from people import PEOPLES_VIEWS, file_of_real_runs

pytest.importorskip("duckdb", reason="DuckDB is not installed")

# In a process of its own: two SQLite libraries in one process break each other's locks.
SCAN = """
import duckdb, json, sys
path, *views = sys.argv[1:]
connection = duckdb.connect()
try:
    connection.execute("load sqlite")
except duckdb.Error:
    sys.exit(77)
scan = f"select count(*) from (select * from sqlite_scan('{path}', '%s'))"
print(json.dumps({view: connection.execute(scan % view).fetchone()[0] for view in views}))
"""
NO_EXTENSION = 77


def test_duckdb_scans_every_view_for_people(tmp_path: Path) -> None:
    path = file_of_real_runs(tmp_path)
    done = subprocess.run([sys.executable, "-c", SCAN, path, *PEOPLES_VIEWS], capture_output=True, text=True)
    if done.returncode == NO_EXTENSION:
        pytest.skip("DuckDB has no extension for SQLite here; 'install sqlite' fetches it")
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert [view for view in PEOPLES_VIEWS if counts[view] == 0] == []
