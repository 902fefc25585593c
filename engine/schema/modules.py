"""The SQL files of a build by modules: a core, and modules that a file takes in when it first uses them.

A folder of `sql/` is a module if its first file has a line `-- needs: …` in its head: the modules that it cannot do
without, or `nothing`. All other folders are the core, which names no module. The core asks modules at points: a view `P`
of the core has the rows of the views `P__M` of all modules `M` besides its own.

spec: @modules
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple

import apsw

_NEEDS = re.compile(r"^-- needs: (.+)$", re.MULTILINE)
_OFFER = re.compile(r"^\d+_\w+_offer\.sql$")
_NOTHING = "nothing"
_ROWS, _AND = "select * from {}", "\nunion all\n"
_PARTS = r"\nunion all\nselect \* from \w+__\w+"
"""Where the parts begin in the text of a point."""
_ONLY_PARTS = re.compile(r" as\nselect \* from \w+__\w+\Z")
"""The end of a point that has no rows of its own, before its second part."""
_NO_ROWS = "where false"
"""The end of a point that has no rows of its own."""

_OBJECT = re.compile(
    r"^\s*create (?:unique |virtual )?(?:table|view|trigger|index) (?:if not exists )?(\w+)",
    re.MULTILINE | re.IGNORECASE,
)
MODULES_TABLE = "engine_modules (name text primary key) strict, without rowid"
"""The table of a file's modules, as it is made."""
MADE = f"CREATE TABLE {MODULES_TABLE}"
"""The same, as SQLite keeps it."""

Files = tuple[tuple[str, str], ...]
"""Names and texts of SQL files in their order."""
Steps = tuple[tuple[int, str], ...]
"""The versions of tables, each with the SQL that leads to it."""


class Module(NamedTuple):
    """A part of the engine that a file can do without.

    `title` is the sentence at the head of its first file, `needs` are the modules that it cannot do without. `offers` are
    the files that are run with the core, so that a file that lacks the module has something to name. `migrations` are those
    of its tables, as (version, SQL).
    """

    name: str
    title: str
    needs: tuple[str, ...]
    files: Files
    offers: Files = ()
    migrations: Steps = ()
    of_plugin: bool = False


def module_of(name: str, files: Files) -> Module | None:
    """The module that has these files and that name; None if they are a part of the core."""
    offers = tuple(file for file in files if _OFFER.search(file[0]))
    files = tuple(file for file in files if file not in offers)
    head = files[0][1].partition("\n\n")[0] if files else ""
    found = _NEEDS.search(head)
    if not found:
        return None
    needs = () if found[1] == _NOTHING else tuple(found[1].split(", "))
    return Module(name, head.partition("\n")[0].removeprefix("-- "), needs, files, offers)


def in_order(modules: Mapping[str, Module], wanted: Iterable[str]) -> tuple[Module, ...]:
    """The wanted modules and all that they need, each behind its needs, otherwise by the numbers of their files.

    The order of two modules is the same whatever else is wanted: by it a file is told from that of another build.
    """
    ordered: dict[str, Module] = {}
    needed: set[str] = set()

    def take(name: str) -> None:
        if name not in ordered:
            for each in sorted(modules[name].needs, key=lambda each: modules[each].files[0]):
                take(each)
            ordered[name] = modules[name]

    def need(name: str) -> None:
        needed.add(name)
        for each in modules[name].needs:
            need(each)

    for name in sorted(modules, key=lambda each: modules[each].files[0]):
        take(name)
    for name in wanted:
        need(name)
    return tuple(module for name, module in ordered.items() if name in needed)


def point_of(part: str, views: Container[str]) -> tuple[str, str]:
    """The point and the module of a part; ('', '') for a view that is none. A part of a view for people begins with '_'."""
    point, separator, module = part.partition("__")
    if not separator:
        return "", ""
    return (point if point in views else point.removeprefix("_")), module


def compose(connection: apsw.Connection, modules: Iterable[Module]) -> None:
    """Write the points anew: each view has the rows of its parts, in the order of the modules.

    A view of which the file has no part keeps the text that it has.
    """
    rows = connection.execute("select name, sql from sqlite_schema where type = 'view'")
    views = {str(name): str(sql) for name, sql in rows}
    owners = [module.name for module in modules]
    parts: dict[str, list[str]] = {}
    for name in views:
        point, owner = point_of(name, views)
        if owner in owners and point in views:
            parts.setdefault(point, []).append(name)
    for point, names in parts.items():
        names.sort(key=lambda name: owners.index(point_of(name, views)[1]))
        connection.execute(f'drop view "{point}"').fetchall()
        connection.execute(_composed(point, views[point], names)).fetchall()


def _composed(point: str, text: str, parts: list[str]) -> str:
    """The text of a point with those parts. One without rows of its own is its parts alone, which SQLite sees through."""
    own, rows = re.split(_PARTS, text, maxsplit=1)[0], [_ROWS.format(part) for part in parts]
    if own.endswith(_NO_ROWS) or _ONLY_PARTS.search(own):
        return f"create view {point} as\n" + _AND.join(rows)
    return _AND.join([own, *rows])


def present(connection: apsw.Connection) -> frozenset[str]:
    """The names of the modules that a file says it has; nothing of the file runs but for a look into that table."""
    made = connection.execute(
        "select cast(sql as text) from main.sqlite_schema where type = 'table' and name = 'engine_modules'"
    ).get
    if made != MADE:  # not the engine's: it may compute its columns
        return frozenset()
    return frozenset(str(name) for (name,) in connection.execute("select name from main.engine_modules"))


def note_modules(connection: apsw.Connection, modules: Iterable[Module]) -> None:
    """Write down in a file which modules it has."""
    connection.executemany(
        "insert into engine_modules (name) values (?) on conflict do nothing", [(module.name,) for module in modules]
    )


class Size(NamedTuple):
    """What a module takes in a file: the number of its objects; the bytes of their texts, and of the pages of its tables."""

    objects: int
    bytes: int


def sizes(connection: apsw.Connection, modules: Iterable[Module]) -> dict[str, Size]:
    """What each of the modules takes in a file that has them, by name. Tables that are not the file's count for nothing."""
    found = {module.name: Size(0, 0) for module in modules}
    owner = owners(modules)
    told = "ENABLE_DBSTAT_VTAB" in apsw.compile_options
    pages = "select coalesce(sum(pgsize), 0) from dbstat where name = ?"
    objects: list[Any] = connection.execute(
        "select lower(cast(name as text)), lower(cast(tbl_name as text)), rootpage, coalesce(length(sql), 0)"
        " from main.sqlite_schema where name is not null and tbl_name is not null"
    ).fetchall()
    for name, table, root, text in objects:
        own = owner.get(name)
        # indexes that SQLite makes are their table's, and tables of a virtual one begin with its name
        of = own or owner.get(table) or owner.get(table.rpartition("_")[0])
        if of in found:
            stored: Any = connection.execute(pages, (name,)).get if root and told else 0
            found[of] = Size(found[of].objects + (own is not None), found[of].bytes + stored + text)
    return found


def owners(modules: Iterable[Module]) -> dict[str, str]:
    """The module of each object that the modules make, by its name in small letters."""
    return {
        name.lower(): module.name for module in modules for _, text in module.files for name in _OBJECT.findall(text)
    }
