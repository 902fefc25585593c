"""Runs are exported, imported and moved from the command line.

spec: @run_files
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from driving import DONE, script
from engine_cli import database, engine, on_terminal

import engine as library


@pytest.fixture
def model(folder: Path, tmp_path: Path) -> str:
    """The model of a run `demo` in the folder's database."""
    name = script(tmp_path, '<set path="known://a">One</set>' + DONE, DONE)
    assert engine(folder, "run", "--run", "demo", "--model", name, "Hi").returncode == 0
    return name


def runs(path: Path) -> list[str]:
    with library.open(path, read_only=True) as db:
        return [row.run for row in db.runs()]


@pytest.mark.usefixtures("model")
def test_a_run_is_exported_to_a_file_or_stdout(folder: Path) -> None:
    assert "demo: exported to demo.jsonl" in engine(folder, "runs", "export", "demo").stdout
    text = (folder / "demo.jsonl").read_bytes()
    told = json.loads(engine(folder, "runs", "export", "demo", "again.jsonl", "--json").stdout)
    assert told == {
        "run": "demo",
        "file": "again.jsonl",
        "sha256": hashlib.sha256(text).hexdigest(),
        "bytes": len(text),
    }
    assert engine(folder, "runs", "export", "demo", "-").stdout.encode() == text
    assert engine(folder, "runs", "export", "nobody").returncode == 2
    (folder / "notes.md").write_text("mine")
    assert engine(folder, "runs", "export", "demo", "notes.md").returncode == 1


@pytest.mark.usefixtures("model")
def test_an_import_that_would_act_is_asked_about_or_needs_trust(folder: Path) -> None:
    engine(folder, "runs", "export", "demo")
    refused = engine(folder, "runs", "import", "demo.jsonl", "--db", "two.db")
    assert (refused.returncode, "asks the model 'scripted:" in refused.stderr) == (1, True)
    assert not (folder / "two.db").exists()
    assert engine(folder, "runs", "import", "demo.jsonl", "--db", "two.db", "--trust").stdout == "demo\n"
    assert (
        engine(folder, "runs", "import", "demo.jsonl", "--db", "two.db", "--trust", "--name", "other").stdout
        == "other\n"
    )
    assert on_terminal(folder, "runs", "import", "demo.jsonl", "--db", "two.db", typed="n\n")[0] == 1
    code, said = on_terminal(folder, "runs", "import", "demo.jsonl", "--db", "two.db", typed="y\n")
    assert (code, "Import it?" in said) == (0, True)
    assert runs(folder / "two.db") == ["demo-2", "other", "demo"]


def test_a_damaged_file_is_refused_in_one_line(folder: Path, model: str) -> None:
    engine(folder, "runs", "export", "demo")
    text = (folder / "demo.jsonl").read_bytes()
    (folder / "cut.jsonl").write_bytes(text[:-100])
    refused = engine(folder, "runs", "import", "cut.jsonl", "--trust")
    assert (refused.returncode, "ends" in refused.stderr, refused.stderr.count("\n")) == (2, True, 1)
    assert engine(folder, "runs", "import", "nothing.jsonl").returncode == 2


@pytest.mark.usefixtures("model")
def test_a_run_is_moved_to_a_new_database(folder: Path) -> None:
    assert engine(folder, "runs", "move", "demo", "archive.db").stdout == "demo: moved to archive.db\n"
    assert runs(folder / "archive.db") == ["demo"]
    assert runs(database(folder)) == []
    assert "One" in engine(folder, "entry", "get", "demo", "known://a", "--db", "archive.db").stdout
    assert engine(folder, "runs", "move", "demo", "archive.db").returncode == 2
