"""Compares the objects of a file (tables, indexes, views, triggers) with those that a build makes.

The schema of the file is read as text; none of it runs. A rule is a view or a trigger.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import apsw

_TOKEN = re.compile(
    r"""(?P<gap>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<string>'(?:[^']|'')*')
    |"(?P<plain>[A-Za-z_]\w*)"
    |(?P<other>"(?:[^"]|"")*"|`[^`]*`|\[[^]]*\]|\w+|.)""",
    re.VERBOSE | re.DOTALL,
)

_EXPRESSION = -2
"""What stands for the number of a column where an index has an expression."""

_COLLATIONS = ("BINARY", "NOCASE", "RTRIM")
"""The collations that are SQLite's own."""


class Object(NamedTuple):
    """A row of `sqlite_schema`; `table` is the table or view of a trigger or an index."""

    type: str
    name: str
    table: str
    sql: str

    def __str__(self) -> str:
        return f"{self.type} {self.name!r}" + (f" on {self.table!r}" if self.type in ("trigger", "index") else "")

    @property
    def is_rule(self) -> bool:
        """Whether this is a view or a trigger."""
        return self.type in ("view", "trigger")


_Row = tuple[Any, ...]
"""The fields of an object, all of them texts."""


def objects_of(connection: apsw.Connection) -> list[Object]:
    """The objects in the main file of a connection, without those that SQLite makes itself (`sqlite_…`)."""
    return [Object(*row) for row in rows_of(connection)]


def rows_of(connection: apsw.Connection) -> tuple[_Row, ...]:
    """The fields of these objects, where there is no need of more."""
    rows = connection.execute(
        "select cast(type as text), cast(name as text), cast(tbl_name as text), cast(coalesce(sql, '') as text) "
        "from main.sqlite_schema "
        "where not (type = 'index' and sql is null) "
        "and not (type = 'table' and name in ('sqlite_sequence', 'sqlite_stat1', 'sqlite_stat4'))"
    )
    return tuple(rows)


def normalized(sql: str) -> str:
    """The SQL of an object without comments, needless quotes and white space, which `alter table` changes."""
    return " ".join(
        found["string"] or found["plain"] or found["other"] for found in _TOKEN.finditer(sql) if found["gap"] is None
    )


class Comparison(NamedTuple):
    """The objects of a file, compared with the expected ones.

    `foreign` are objects that the engine did not make and that have one of its names, are on its tables or views, or run
    when its rows change. `indexes` are those of others on its tables that can only speed up reading; these are not foreign.
    `absent` says whether an expected object is missing.
    """

    found: tuple[Object, ...]
    foreign: tuple[Object, ...]
    indexes: tuple[Object, ...]
    absent: bool


def compare(connection: apsw.Connection, expected: Mapping[str, Object], names: Iterable[str]) -> Comparison:
    """Compare the objects of a file with the expected ones; `expected` and `names` use names in small letters.

    `names` are all names of the engine's, those of later versions included: nobody else may use them.
    """
    found = objects_of(connection)
    strange = set(found) - set(expected.values())
    strange -= {each for each in strange if _is_same_table(each, expected.get(each.name.lower()))}
    engines = frozenset(names)
    followers = _followers(connection, found, engines) if strange else frozenset()
    indexes = tuple(
        each
        for each in sorted(strange)
        if each.type == "index"
        and each.table.lower() in engines
        and each.name.lower() not in engines
        and _only_speeds_up(connection, each)
    )
    foreign = tuple(
        each
        for each in sorted(strange - set(indexes))
        if each.name.lower() in engines
        or (each.type in ("trigger", "index") and each.table.lower() in engines)
        or (each.type == "trigger" and each.table.lower() in followers)
    )
    present = {each.name.lower() for each in found if each not in strange or not each.is_rule}
    return Comparison(tuple(found), foreign, indexes, absent=not present >= expected.keys())


def digest(objects: Iterable[Object]) -> str:
    """The SHA-256 (hex) of objects with their SQL, whatever their order."""
    return hashlib.sha256(json.dumps(sorted(objects)).encode()).hexdigest()


@lru_cache(maxsize=1)
def fingerprint(rows: tuple[_Row, ...]) -> str:
    """The SHA-256 (hex) of the fields of objects, whatever their order; made in half the time of a digest.

    That of the rows of before is remembered: the files that a process opens mostly have the same objects.
    """
    found = hashlib.sha256()
    for kind, name, table, sql in sorted(rows):
        lengths = f"{len(kind)} {len(name)} {len(table)} {len(sql)} "
        found.update(f"{lengths}{kind}{name}{table}{sql}".encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _is_same_table(found: Object, expected: Object | None) -> bool:
    """Whether a table or an index is the expected one, apart from white space, quotes and comments."""
    return (
        expected is not None
        and not found.is_rule
        and (found.type, found.table.lower()) == (expected.type, expected.table.lower())
        and normalized(found.sql) == normalized(expected.sql)
    )


def _only_speeds_up(connection: apsw.Connection, index: Object) -> bool:
    """Whether an index holds columns alone. Any other may call functions, and a unique one may make writes fail."""
    kind = connection.execute(
        'select "unique", partial from pragma_index_list(?) where name = ?', (index.table, index.name)
    ).fetchone()
    parts = connection.execute("select cid, coll from pragma_index_xinfo(?)", (index.name,)).fetchall()
    return kind == (0, 0) and all(
        column != _EXPRESSION and str(collation).upper() in _COLLATIONS for column, collation in parts
    )


def _followers(connection: apsw.Connection, found: Iterable[Object], engines: frozenset[str]) -> frozenset[str]:
    """The tables of others whose rows change when the engine's rows do, by `on update` or `on delete` of a foreign key."""
    parents = {
        each.name.lower(): {
            str(table).lower()
            for (table,) in connection.execute(
                'select "table" from pragma_foreign_key_list(?) '
                "where on_update not in ('NO ACTION', 'RESTRICT') or on_delete not in ('NO ACTION', 'RESTRICT')",
                (each.name,),
            )
        }
        for each in found
        if each.type == "table" and each.name.lower() not in engines and "references" in each.sql.lower()
    }
    followers: set[str] = set()
    while more := {name for name, above in parents.items() if name not in followers and above & (engines | followers)}:
        followers |= more
    return frozenset(followers)


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'
