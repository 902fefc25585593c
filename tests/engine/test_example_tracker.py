"""The tracker of tests/examples/tracker: its tables stand in the engine's file and are written in one transaction with it.

It is a plugin of its process, so it runs in one of its own.

spec: @embedding @plugins @trust
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from audit import audit
from driving import DONE, GO_ON, script

import engine

TRACKER = Path(__file__).parent.parent / "examples" / "tracker" / "tracker.py"
PROGRAM = """
import json, runpy, sys
main = runpy.run_path(sys.argv[1])["main"]
for command in json.loads(sys.argv[2]):
    sys.argv[1:] = command
    main()
"""
EDIT = '<set path="notes.md"><<SEARCH\n8080\nSEARCH\n<<REPLACE\n9090\nREPLACE</set>' + GO_ON
BOARD = "select id, state, files, comment from ticket_board order by id"


@pytest.fixture
def folder(tmp_path: Path, workspace_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with notes; the model of the tracker changes one of them and takes a no for an answer."""
    monkeypatch.setenv("ENGINE_MODEL", script(tmp_path, EDIT, DONE))
    return workspace_dir


def tracker(folder: Path, *commands: list[str], said: str = "") -> str:
    """What the tracker prints for some commands, where a person says what `said` has."""
    environment = {**os.environ, "PYTHONPATH": str(TRACKER.parents[3])}
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, str(TRACKER), json.dumps(commands)],
        cwd=folder,
        env=environment,
        input=said,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(folder: Path, query: str) -> list[tuple[object, ...]]:
    """The rows of a query, as Python's own `sqlite3` reads them."""
    with closing(sqlite3.connect(f"file:{folder / 'tracker.db'}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def test_tickets_are_worked_on_and_decided(folder: Path) -> None:
    by = ["--by", "Ada"]
    one, other = (["add", "Wrong port", "The port is 9090.", *by], ["add", "Wrong too", "It is 9091.", *by])
    tracker(folder, one, other, ["work"])
    assert read(folder, BOARD) == [(1, "to decide", None, None), (2, "to decide", None, None)]
    shown = tracker(folder, ["decide", "1", "--by", "Ben"], ["decide", "2"], ["board"], said="\nit is 9090\n")
    assert "+The port is 9090." in shown
    assert (folder / "notes.md").read_text().splitlines()[2] == "The port is 9090."
    assert read(folder, BOARD) == [(1, "done", "notes.md", "Done."), (2, "done", None, "Done.")]
    assert read(folder, "select ticket, author, text from comments order by id") == [
        (1, "Ben", "accepted"),
        (1, "agent", "Done."),
        (2, "somebody", "rejected: it is 9090"),
        (2, "agent", "Done."),
    ]
    assert read(folder, "select distinct decided_by from decisions") == [("Ben",), ("somebody",)]
    audit(folder / "tracker.db")


def test_a_program_without_the_tracker_keeps_its_rows(folder: Path) -> None:
    tracker(folder, ["add", "Wrong port", "The port is 9090."], ["work"])
    with engine.open(folder / "tracker.db") as db:
        assert db.value("select count(*) from sqlite_schema where name in ('ticket_board', 'tickets__comment')") == 0
        assert db.sql("select title, run from tickets") == [{"title": "Wrong port", "run": "ticket_1"}]
    assert tracker(folder, ["board"]) == "1  to decide  Wrong port  []  \n"


def test_the_trigger_of_an_app_that_is_no_plugin_has_to_be_trusted(folder: Path) -> None:
    with engine.open(folder / "tracker.db") as db:
        db.execute("create table tickets (id integer primary key, run text)")
        db.execute(
            "create trigger own after insert on tickets begin update tickets set run = 'x' where id = new.id; end"
        )
        db.insert("tickets", id=1)
    with engine.open(folder / "tracker.db") as db:
        assert db.value("select run from tickets") == "x", "its tables are its own business"
        db.execute("create trigger planted after update of status on loops begin delete from tickets; end")
    with pytest.raises(engine.PermissionDenied, match="trigger 'planted' on 'loops'"):
        engine.open(folder / "tracker.db")
    with engine.open(folder / "tracker.db", trust=True) as db:
        db.execute("drop trigger planted")
