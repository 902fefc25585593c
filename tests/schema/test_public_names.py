"""What a stock tool meets in a file without modules: tables and views to be read, and doors that are told by their names.

spec: @people_views @surfaces
"""

from __future__ import annotations

import engine
from engine.db.view_list import views

MOST = 65
"""Views without an underscore, doors included."""


def public_views(db: engine.Database) -> set[str]:
    return {name for (name,) in db.tuples("select name from sqlite_schema where type = 'view' and name not glob '_*'")}


def doors(db: engine.Database) -> set[str]:
    """The views that can be written to."""
    return {
        name
        for (name,) in db.tuples(
            "select tbl_name from sqlite_schema where type = 'trigger' and sql like '%instead of insert%'"
        )
    }


def test_a_file_without_modules_has_about_sixty_views_for_people() -> None:
    with engine.open(":memory:") as bare:
        assert 40 < len(public_views(bare)) <= MOST


def test_a_door_begins_with_verb_or_an_underscore(db: engine.Database) -> None:
    public = public_views(db)
    assert {name for name in public if name.startswith("verb_")} == public & doors(db)


def test_a_view_to_be_read_says_what_it_shows(db: engine.Database) -> None:
    assert [view.name for view in views(db) if not view.promise] == []
