"""What nobody should be able to do with the names of runs: a model renames none, two at once leave one, texts are texts.

spec: @run_names
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, begin, script, turn

import engine

RENAMES = "import sys, engine\nwith engine.open(sys.argv[1]) as db:\n    db.rename('demo', sys.argv[2])\n"


def test_of_renames_at_once_one_holds(tmp_path: Path) -> None:
    with engine.open(tmp_path / "t.db") as db:
        begin(db, "demo")
    names = [f"name-{number}" for number in range(6)]
    started = [
        subprocess.Popen([sys.executable, "-c", RENAMES, tmp_path / "t.db", name], stderr=subprocess.DEVNULL)
        for name in names
    ]
    codes = [process.wait(300) for process in started]
    with engine.open(tmp_path / "t.db") as db:
        found = db.value("select alias from runs")
        assert codes.count(0) == 1
        assert found == names[codes.index(0)]
        assert db.value("select count(*) from events where kind = 'run.renamed'") == 1


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "../x", "a/b", "a'b", "a;b", "ä", "a\nb", "a\0b", "\x1b[31m", "x" * 201]
)
def test_what_is_no_name_changes_nothing(db: engine.Database, name: str) -> None:
    begin(db, "demo")
    with pytest.raises(engine.ValidationError, match="use only letters"):
        db.rename("demo", name)
    assert db.rows("select alias from runs") == [{"alias": "demo"}]


def test_no_answer_of_a_model_names_a_run(db: engine.Database, tmp_path: Path) -> None:
    for said in (
        '<mv path="run://demo" to="run://mine"/>',
        '<cp path="run://demo" to="run://mine"/>',
        '<set path="run://demo" summary="mine" tags="x">mine</set>',
        '<set path="run://mine">go</set>',
        '<rename run="demo" name="mine"/>',
    ):
        begin(db, "demo")
        turn(db, "demo", said + DONE)
        db.abort("demo")
    assert db.rows("select alias, title, labels, archived_at from runs") == [
        {"alias": "demo", "title": None, "labels": None, "archived_at": None}
    ]


def test_titles_and_labels_are_data(db: engine.Database) -> None:
    begin(db, "demo")
    odd: list[Any] = ["'; drop table runs; --", "{{ 7 * 7 }}", '"', "\\", "<update>", "%s", "日本"]
    db.describe("demo", "'||(select 1)||'", labels=odd)
    row = db.row("select title, labels from run_overview")
    assert row is not None
    assert row["title"] == "'||(select 1)||'"
    assert set(db.runs()[0].labels) == set(odd)


def test_a_prompt_of_megabytes_has_a_short_title(db: engine.Database) -> None:
    begin(db, "demo", "x" * 3_000_000)
    begin(db, "blank", " \t\n" * 1_000 + "a" + "\r\n" * 10)
    assert db.value("select length(title) from run_overview where run = 'demo'") == 60
    assert db.value("select title from run_overview where run = 'blank'") == "a"


def test_a_run_that_was_renamed_goes_on_in_the_process_that_knew_the_old_name(tmp_path: Path) -> None:
    with engine.open(tmp_path / "t.db") as one, engine.open(tmp_path / "t.db") as other:
        model = script(tmp_path, DONE, DONE)
        one.run("First", run="demo", model=model)
        other.rename("demo", "new")
        with pytest.raises(engine.NotFound):
            one.result("demo")
        assert one.run("Second", run="new", model=model).status == 200
        assert one.value("select count(*) from runs") == 1
