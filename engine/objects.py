"""The objects of a file (tables, indexes, views, triggers), held against those that this build would make.

Nothing of the file runs here: its schema is read as text. A rule is a view or a trigger.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import apsw

_TOKEN = re.compile(
    r"""(?P<gap>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<string>'(?:[^']|'')*')
    |"(?P<plain>[A-Za-z_]\w*)"
    |(?P<other>"(?:[^"]|"")*"|`[^`]*`|\[[^]]*\]|\w+|.)""",
    re.VERBOSE | re.DOTALL,
)


class Object(NamedTuple):
    """A row of `sqlite_schema`: `table` is what a trigger or an index stands on."""

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


def objects_of(connection: apsw.Connection) -> list[Object]:
    """The objects in the main file of a connection, without what SQLite makes by itself (`sqlite_…`)."""
    rows = connection.execute(
        "select cast(type as text), cast(name as text), cast(tbl_name as text), cast(coalesce(sql, '') as text) "
        "from main.sqlite_schema "
        "where not (type = 'index' and sql is null) "
        "and not (type = 'table' and name in ('sqlite_sequence', 'sqlite_stat1', 'sqlite_stat4'))"
    )
    return [Object(*row) for row in rows]


def normalized(sql: str) -> str:
    """The SQL of an object without comments, white space and quotes that say nothing; `alter table` changes these."""
    return " ".join(
        found["string"] or found["plain"] or found["other"] for found in _TOKEN.finditer(sql) if found["gap"] is None
    )


@dataclass(frozen=True)
class Comparison:
    """How the objects of a file stand to those that are expected in it.

    `foreign` are those that bear a name of the engine's without being its own, and those that stand on its tables and
    views or are set off by them; `absent` says whether one that is expected is not there.
    """

    found: tuple[Object, ...]
    foreign: tuple[Object, ...]
    absent: bool


def compare(connection: apsw.Connection, expected: Mapping[str, Object], names: Iterable[str]) -> Comparison:
    """Hold the objects of a file against those expected; both `expected` and `names` go by names in small letters.

    `names` are all names of the engine's: a file of an older version may hold none of those that came later.
    """
    found = objects_of(connection)
    strange = set(found) - set(expected.values())
    strange -= {each for each in strange if _is_same_table(each, expected.get(each.name.lower()))}
    engines = frozenset(names)
    followers = _followers(connection, found, engines) if strange else frozenset()
    foreign = tuple(
        each
        for each in sorted(strange)
        if each.name.lower() in engines
        or (each.type in ("trigger", "index") and each.table.lower() in engines)
        or (each.type == "trigger" and each.table.lower() in followers)
    )
    present = {each.name.lower() for each in found if each not in strange or not each.is_rule}
    return Comparison(tuple(found), foreign, absent=not present >= expected.keys())


def digest(objects: Iterable[Object]) -> str:
    """The SHA-256 (hex) of what objects say."""
    return hashlib.sha256(json.dumps(sorted(objects)).encode()).hexdigest()


def _is_same_table(found: Object, expected: Object | None) -> bool:
    """Whether a table or an index is the one expected, but for how it is written."""
    return (
        expected is not None
        and not found.is_rule
        and (found.type, found.table.lower()) == (expected.type, expected.table.lower())
        and normalized(found.sql) == normalized(expected.sql)
    )


def _followers(connection: apsw.Connection, found: Iterable[Object], engines: frozenset[str]) -> frozenset[str]:
    """The tables of others in which a change of the engine's rows changes rows, by the action of a foreign key."""
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
