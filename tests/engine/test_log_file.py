"""A reader that never ends lets the log of a database grow: who looks is told how much waits, and for whom.

spec: @kept_log
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from engine_cli import engine

import engine as library
from engine.db.log_file import LONG, log_of

READER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("begin")
db.execute("select count(*) from runs").fetchall()
print("reading", flush=True)
sys.stdin.read()
"""
WRITER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("create table if not exists app (text)")
for _ in range(100):
    db.execute("insert into app values (?)", ("x" * 200_000,))
"""


def test_a_reader_that_never_ends_is_named_and_a_log_that_is_moved_is_not_told_of(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    place = folder / "t.db"
    with library.open(place):
        pass
    assert log_of(place).waiting == 0
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        subprocess.run([sys.executable, "-c", WRITER, str(place)], check=True)
        found = log_of(place)
        assert found.waiting > LONG
        assert found.size >= found.waiting
        assert found.is_held_back
        if sys.platform == "linux":
            assert found.readers == (reader.pid,)
        shown = engine(folder, "status", "--db", "t.db")
        assert "cannot be moved into the file" in shown.stdout + shown.stderr
        said = engine(folder, "doctor", "--db", "t.db").stdout
        assert "cannot be moved into the file" in said
        assert str(reader.pid) in said or sys.platform != "linux"
    finally:
        reader.communicate("")
    with closing(sqlite3.connect(place)) as db:
        db.execute("pragma wal_checkpoint(passive)").fetchall()
        # the log keeps its size, and nothing waits in it; a process that has the file open reads nothing beside it
        found = log_of(place)
        assert not found.is_held_back or found.waiting == found.size
    assert "cannot be moved" not in engine(folder, "doctor", "--db", "t.db").stdout
