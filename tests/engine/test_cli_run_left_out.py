"""Which run a command means: the latest that fits, or the only one whose name begins so.

spec: @run_left_out
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_cli import engine, script

EDITS = ['<set path="known://plan">first</set><set path="{}.md">x\n</set><update status="200">Done.</update>']


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which `billing` wrote a file, then `birds` one, and `cats` none."""
    for name in ("billing", "birds"):
        model = script(tmp_path / f"{name}.jsonl", [each.format(name) for each in EDITS])
        assert engine(tmp_path, "run", "--yolo", "--model", model, "--run", name, "Go").returncode == 0
    model = script(tmp_path / "cats.jsonl", ['<update status="200">Miau.</update>'])
    engine(tmp_path, "run", "--model", model, "--run", "cats", "Go")
    return tmp_path


def test_the_beginning_of_a_name_is_enough_if_one_run_has_it(folder: Path) -> None:
    assert engine(folder, "show", "bil").stdout.startswith("billing: done")
    several = engine(folder, "show", "bi")
    assert (several.returncode, several.stderr) == (
        2,
        "engine: run 'bi': several runs have names that begin like this: birds, billing\n",
    )
    engine(folder, "runs", "rename", "cats", "bi")
    assert engine(folder, "show", "bi").stdout.startswith("bi: done"), "the whole name wins"
    assert engine(folder, "show", "x").returncode == 2


def test_the_latest_run_that_fits_is_meant(folder: Path) -> None:
    assert engine(folder, "log").stdout.rstrip().endswith("Miau.")
    assert json.loads(engine(folder, "undo", "--diff", "--json").stdout)["files"][0]["path"] == "birds.md"
    assert json.loads(engine(folder, "abort", "--json").stdout)["run"] == "cats"
    assert json.loads(engine(folder, "fork", "--json").stdout)["parent"] == "cats"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["entry", "set", "known://note", "text"], "added known://note"),
        (["entry", "cp", "billing", "known://plan", "known://b"], "added known://b"),
        (["entry", "get", "known://none"], "run 'cats': known://none not found"),
        (["context", "known://none"], "run 'cats': 'known://none' is not in the context"),
        (["runs", "output", "sh://turn_1/x"], "run 'cats'"),
        (["runs", "rename", "dogs"], "cats: is now called dogs"),
        (["packet", "1"], "turn 1, system"),
        (["diff", "1"], "cats: no file was changed by turn 1"),
        (["rewind", "1", "--diff"], "rewind to turn 1"),
        (["rewind", "cats"], "Missing argument 'N'"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_a_path_or_a_turn_alone_is_of_the_latest_run(folder: Path, words: list[str], told: str) -> None:
    done = engine(folder, *words)
    assert told in done.stdout + done.stderr


def test_help_says_that_it_may_be_left_out(folder: Path) -> None:
    assert engine(folder, "entry", "get", "-h").stdout.startswith("Usage: engine entry get [OPTIONS] [RUN] {PATH}")
