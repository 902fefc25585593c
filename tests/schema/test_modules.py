"""The core and its modules: who names whom, how a module is told from the core, and how points are composed.

1. No file of the core names an object of a module, and no module one of a module that it does not need. 2. The needs of
modules have no circle. 3. A point has the rows of the parts of the modules in a file.

spec: @modules
"""

from __future__ import annotations

import re
from functools import cache

import apsw
import pytest

import engine
from engine.schema.build import installed
from engine.schema.modules import Module, compose, in_order, point_of

OBJECT = re.compile(r"^create (?:unique |virtual )?(?:table|view|trigger|index) (?:if not exists )?(\w+)", re.MULTILINE)
WORD = re.compile(r"\b\w+\b")


@cache
def owners() -> dict[str, str]:
    """The module of each object; '' of the core."""
    return {name: owner for owner, text in texts() for name in OBJECT.findall(text)}


def texts() -> list[tuple[str, str]]:
    """The SQL of each file, with the name of its module."""
    build = installed()
    core = [("", text) for _, text in build.sources]
    return core + [(module.name, text) for module in build.modules for _, text in module.files]


def named(text: str) -> set[str]:
    """The objects that a text names; not what it makes, what stands in a comment, or a word of a longer text."""
    bare = re.sub(
        r"--[^\n]*|'((?:[^']|'')*)'", lambda found: found[1] if (found[1] or "").startswith("_") else "", text
    )
    return set(WORD.findall(bare)) & owners().keys()


def allowed(owner: str) -> set[str]:
    """The modules whose objects a module may name."""
    if not owner:
        return {""}
    modules = {module.name: module for module in installed().modules}
    return {"", *(module.name for module in in_order(modules, [owner]))}


@pytest.mark.parametrize("owner", ["", *(module.name for module in installed().modules)])
def test_a_file_names_only_what_its_module_needs(owner: str) -> None:
    found = {name for each, text in texts() if each == owner for name in named(text)}
    strange = {name for name in found if owners()[name] not in allowed(owner)}
    assert not strange, sorted(f"{owners()[name]}: {name}" for name in strange)


def test_each_module_says_what_it_is_for() -> None:
    for module in installed().modules:
        assert module.title.endswith("."), module.name
        assert ":" in module.title


def test_a_module_stands_behind_what_it_needs() -> None:
    before: set[str] = set()
    for module in installed().modules:
        assert before.issuperset(module.needs), module.name
        before.add(module.name)
    some = {
        "a": Module("a", "", ("b",), (("3", ""),)),
        "b": Module("b", "", (), (("9", ""),)),
        "c": Module("c", "", (), (("1", ""),)),
    }
    assert [module.name for module in in_order(some, ["a", "c"])] == ["c", "b", "a"]
    assert [module.name for module in in_order(some, ["a"])] == ["b", "a"]
    names = [module.name for module in installed().offered]
    for module in installed().offered:
        found = [each.name for each in in_order({each.name: each for each in installed().offered}, [module.name])]
        assert found == [name for name in names if name in found]


def test_a_point_has_the_rows_of_the_parts_that_are_there() -> None:
    connection = apsw.Connection(":memory:")
    first, second = (Module(name, "", (), ((name, ""),)) for name in ("first", "second"))
    connection.execute("create view findings as select 1 as a, 'core' as b").fetchall()
    connection.execute("create view findings__second as select 2, 'second'").fetchall()
    compose(connection, [first, second])
    assert connection.execute("select * from findings").fetchall() == [(1, "core"), (2, "second")]
    connection.execute("create view findings__first as select 3, 'first'").fetchall()
    compose(connection, [first, second])
    assert connection.execute("select * from findings").fetchall() == [(1, "core"), (3, "first"), (2, "second")]
    compose(connection, [])
    assert connection.execute("select count(*) from findings").get == 3


def test_a_part_has_the_columns_of_its_point(db: engine.Database) -> None:
    modules = {module.name for module in installed().modules}
    views = [row["name"] for row in db.rows("select name from sqlite_schema where type = 'view'")]
    parts = [name for name in views if name.partition("__")[2] in modules]
    assert len(parts) > 5
    for part in parts:
        columns = [
            [row["name"] for row in db.rows("select name from pragma_table_info(?)", (name,))]
            for name in (part, point_of(part, views)[0])
        ]
        assert columns[0] == columns[1], part
