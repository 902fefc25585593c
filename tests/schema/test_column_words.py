"""One word for one thing in the columns of the views that people read.

spec: @people_views
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from people import file_of_real_runs

import engine
from engine.db.view_list import views
from engine.schema.build import installed

WORDS = {
    "text": "body",
    "content": "body",
    "at": "created_at",
    "time": "created_at",
    "date": "created_at",
    "since": "created_at",
    "added_at": "created_at",
    "finished_at": "ended_at",
    "reasons": "reason",
    "why": "reason",
    "alias": "run",
    "prompt_id": "loop",
    "by": "decided_by",
    "scheme_name": "scheme",
}
"""What a column is not called, and the word for it."""
OWN = {("model_sights", "alias"), ("thread_log", "by")}
"""The alias of a model is no run; a thread requests an event and decides on nothing."""
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with runs, and with all modules."""
    path = file_of_real_runs(tmp_path_factory.mktemp("words"))
    with engine.open(path) as db:
        db.install(*(module.name for module in installed().offered))
    return path


def columns(path: Path) -> dict[str, list[str]]:
    """The columns of each view that is there to be read."""
    with engine.open(path, read_only=True) as db:
        names = [view.name for view in views(db)]
    with closing(sqlite3.connect(path)) as connection:
        return {name: [row[1] for row in connection.execute(f"pragma table_info({name})")] for name in names}


def test_a_column_is_called_by_the_word_for_it(path: Path) -> None:
    found = columns(path)
    assert len(found) > 80
    others = {(view, column): WORDS[column] for view, names in found.items() for column in names if column in WORDS}
    assert {place: word for place, word in others.items() if place not in OWN} == {}


def test_a_column_with_a_time_ends_in_at(path: Path) -> None:
    times = set()
    with closing(sqlite3.connect(path)) as connection:
        for view, names in columns(path).items():
            for row in connection.execute(f"select * from {view} limit 200"):
                times |= {(view, name) for name, value in zip(names, row, strict=True) if TIME.fullmatch(str(value))}
    assert len(times) > 20
    assert {place for place in times if not place[1].endswith("_at")} == set()
