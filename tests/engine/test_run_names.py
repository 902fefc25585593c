"""Names, titles and labels of runs, and archived ones, from the command line and from Python.

spec: @run_names
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from delegating import DONE, Cast, gives
from driving import begin
from engine_cli import database, engine, script
from hypothesis import given
from hypothesis import strategies as st

import engine as library
from engine.driving.run_names import MOST, words_of


def told(folder: Path, *words: str) -> Any:
    done = engine(folder, *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def runs(folder: Path, tmp_path: Path) -> Path:
    """A folder with the runs one and two."""
    model = script(tmp_path / "s.jsonl", [DONE] * 4)
    for name in ("one", "two"):
        assert engine(folder, "run", "--run", name, "--model", model, f"Prompt of {name}\nwith more").returncode == 0
    return folder


def test_a_run_is_renamed_and_goes_on(runs: Path) -> None:
    done = engine(runs, "runs", "rename", "one", "billing")
    assert (done.returncode, done.stdout) == (0, "one: is now called billing\n")
    assert engine(runs, "run", "--run", "billing", "More").returncode == 0
    assert [row["loop"] for row in told(runs, "show", "billing")["prompts"]] == [1, 2]
    assert engine(runs, "show", "one").returncode == 2
    taken = engine(runs, "runs", "rename", "two", "billing")
    assert (taken.returncode, "billing" in taken.stderr) == (1, True)
    wrong = engine(runs, "runs", "rename", "two", "a/b")
    assert (wrong.returncode, "letters, digits" in wrong.stderr) == (2, True)


def test_lists_show_titles_and_filter_by_label(runs: Path) -> None:
    assert [row["title"] for row in told(runs, "runs")] == ["Prompt of two", "Prompt of one"]
    assert told(runs, "runs", "label", "one", "urgent", "q3", "--title", "The invoices") == {
        "run": "one",
        "title": "The invoices",
        "labels": ["q3", "urgent"],
        "label": "q3",
        "archived_at": None,
    }
    assert "[q3] [urgent] The invoices" in engine(runs, "runs").stdout
    assert [row["run"] for row in told(runs, "runs", "--label", "q3")] == ["one"]
    assert "no such runs" in engine(runs, "runs", "--label", "nothing").stderr
    assert told(runs, "runs", "label", "one", "--rm", "q3", "--title", "")["labels"] == ["urgent"]
    assert engine(runs, "runs", "label", "one").stdout == "one: [urgent] Prompt of one\n"
    with library.open(database(runs)) as db:
        assert [(run.title, run.labels) for run in db.runs()] == [("Prompt of two", ()), ("Prompt of one", ("urgent",))]


def test_archived_runs_are_left_out_until_they_are_prompted(runs: Path) -> None:
    assert engine(runs, "runs", "archive", "two").returncode == 0
    assert [row["run"] for row in told(runs, "runs")] == ["one"]
    assert [row["run"] for row in told(runs, "runs", "--archived")] == ["two", "one"]
    assert told(runs, "show")["run"] == "one"
    assert told(runs, "show", "two")["archived_at"] is not None
    assert "(archived)" in engine(runs, "show", "two").stdout
    assert engine(runs, "run", "--run", "two", "Again").returncode == 0
    assert [row["run"] for row in told(runs, "runs")] == ["two", "one"]
    assert engine(runs, "runs", "archive", "one", "two").returncode == 0
    assert engine(runs, "runs", "archive", "one", "nobody", "--undo").returncode == 2
    assert told(runs, "runs") == []
    assert engine(runs, "runs", "archive", "one", "--undo").returncode == 0
    assert [row["run"] for row in told(runs, "runs")] == ["one"]


def test_a_tree_keeps_its_names_while_it_is_driven_and_follows_afterwards(db: library.Database) -> None:
    refused: list[str] = []

    def event(told: Any) -> None:
        if told["type"] == "command" and not refused:
            with pytest.raises(library.Conflict, match="a process works on it"):
                db.rename("demo", "other")
            refused.append("yes")

    cast = Cast({"demo": [gives("part"), DONE]})
    assert db.run("Give it away", run="demo", model=cast, max_depth=1, on_event=event).status == 200
    assert refused
    db.rename("demo", "top")
    db.rename("demo-1", "below")
    assert db.rows("select run, level from tree_runs where top = 'top' order by level") == [
        {"run": "top", "level": 0},
        {"run": "below", "level": 1},
    ]
    assert db.run("More", run="top", model=Cast({"top": [DONE]})).status == 200


def test_a_rewind_keeps_title_and_labels(db: library.Database, workspace_dir: Path) -> None:
    model = Cast({"demo": [DONE, DONE]})
    db.run("First of all", run="demo", model=model, root=workspace_dir)
    db.run("Second", run="demo", model=model)
    db.describe("demo", labels=["kept"])
    db.rewind("demo", 2)
    row = db.row("select title, labels from run_overview where run = 'demo'")
    assert row == {"title": "First of all", "labels": '["kept"]'}
    db.rename("demo", "line")
    db.undo("line")
    assert db.value("select count(*) from loop_list where run = 'line'") == 2


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ({"title": "a\x1b[31m"}, "one line"),
        ({"title": "x" * 201}, "one line"),
        ({"labels": ["\x00"]}, "a label is one line"),
        ({"labels": [" "]}, "a label is one line"),
        ({"labels": ["x" * 41]}, "a label is one line"),
    ],
)
def test_what_is_no_title_or_label_changes_nothing(db: library.Database, wrong: Any, meant: str) -> None:
    begin(db, "demo")
    with pytest.raises(library.ValidationError, match=meant):
        db.describe("demo", **wrong)
    assert db.row("select title, labels from runs") == {"title": None, "labels": None}


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("Rename the port", "rename-the-port"),
        ("  # Fix: `tests/a.py`!\n\nIt fails.", "fix-tests-a-py-it-fails"),
        ("Which port does the server listen on?", "which-port-does-the"),
        ("Don't größer, Çe n'est naïve", "dont-grosser-ce-nest"),
        ("x" * 100, "x" * 24),
        ("42", "run-42"),
        ("修复测试", "run"),
        ("修复 test_a", "test-a"),
        ("../../etc/passwd; rm -rf $HOME", "etc-passwd-rm-rf-home"),
        ("' or 1=1 --\x00\x1b[2J", "or-1-1-2j"),
        ("\ud800 lone", "lone"),
    ],
)
def test_a_new_run_is_called_by_the_words_of_its_prompt(prompt: str, name: str) -> None:
    """spec: @default_names"""
    assert words_of(prompt) == name


@given(st.text(max_size=600))
def test_whatever_the_prompt_a_name_is_short_and_plain(prompt: str) -> None:
    """spec: @default_names"""
    name = words_of(prompt)
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name)
    assert len(name) <= MOST + len("run-")
    assert not name.isdigit()


def test_a_name_that_is_taken_gets_a_free_number(tmp_path: Path) -> None:
    """spec: @default_names"""
    model = f"scripted:{script(tmp_path / 's.jsonl', [DONE] * 3).partition(':')[2]}"
    with library.open(tmp_path / "t.db") as db:
        names = [db.run("Rename the port", model=model).run for _ in range(12)]
        assert names == ["rename-the-port", *(f"rename-the-port-{number}" for number in range(2, 13))]
        assert db.fork(names[0]) == "rename-the-port-fork"
        assert db.fork(names[0]) == "rename-the-port-fork-2"
        db.purge(names[1])
        assert db.run("Rename the port!", model=model).run == names[1]
