"""The rows that go with some runs, as they lie in their file.

spec: @run_files
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import apsw

from .plan import NAMED, SCOPES, Plan, Table

Values = dict[str, Any]
"""A row by its columns."""

_BODIES = ("contents", "_entry_metadata", "pictures")
"""The tables of which only the ids are read here: what is written of them is read row by row."""
_SCOPED = {"run": "runs", "project": "projects"}


class Rows:
    """The rows of runs, by table; `ids` are those of the tables whose rows have one.

    A row whose run, turn or command is not among them goes as it would with that run's purge: it is left out if it cannot
    be without, otherwise the reference becomes null.
    """

    def __init__(self, connection: apsw.Connection, plan: Plan, runs: Iterable[int]) -> None:
        self._connection, self._plan = connection, plan
        self.of: dict[str, list[Values]] = {}
        self.ids: dict[str, set[int]] = {}
        self.named: dict[str, dict[int, str]] = {
            name: dict(self._select(f"select id, {column} from {name} where {condition}"))  # noqa: S608 - names of ours
            for name, (column, condition) in NAMED.items()
            if name in plan.tables
        }
        self._keep("runs", self._found("runs", "id", runs))
        self._take_owned()
        self._keep("projects", self._found("projects", "id", self._named("projects")))
        self._keep("entries", [*self._in_scopes("entries"), *self._found("entries", "id", self._named("entries"))])
        if "nodes" in plan.tables:
            self._keep("nodes", self._in_scopes("nodes"))
        if "workflows" in plan.tables:
            self._keep("workflows", self._found("workflows", "id", self._named("workflows")))
        self._take_owned()
        for name in _BODIES:
            if name in plan.tables:
                self.ids[name] = set(self._named(name))
        self._drop_orphans()

    def _select(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, bindings).fetchall()

    def _found(self, name: str, column: str, values: Iterable[Any]) -> list[Values]:
        columns = self._plan.tables[name].columns
        texts = ", ".join(f'"{each}"' for each in columns)
        rows = self._select(
            f'select {texts} from "{name}" where "{column}" in (select value from json_each(?))',  # noqa: S608 - ours
            (json.dumps(sorted(values)),),
        )
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def _in_scopes(self, name: str) -> list[Values]:
        return self._found(name, "scope", [f"run:{run}" for run in self.ids["runs"]])

    def _keep(self, name: str, rows: list[Values]) -> None:
        """Keep the rows of a table, in the order of their keys, each once."""
        table = self._plan.tables[name]
        found = {tuple(row[column] for column in table.key) or tuple(row.values()): row for row in rows}
        self.of[name] = [found[key] for key in sorted(found)] if table.numbered else [*found.values()]
        if table.numbered:
            self.ids[name] = {row["id"] for row in self.of[name]}

    def _take_owned(self) -> None:
        """Read the tables whose owners have been read."""
        grows = True
        while grows:
            grows = False
            for table in self._plan.tables.values():
                owner = self._owner_of(table)
                if table.owner is None or table.name in self.of or owner not in self.ids:
                    continue
                self._keep(table.name, self._found(table.name, table.owner, self.ids[owner]))
                grows = True

    def _owner_of(self, table: Table) -> str:
        return table.references.get(table.owner or "", "")

    def _named(self, target: str) -> set[int]:
        """The ids of a table that the rows name that were read so far."""
        return {
            row[column]
            for name, rows in self.of.items()
            for column, to in self._plan.tables[name].references.items()
            if to == target
            for row in rows
            if row[column] is not None
        }

    def _drop_orphans(self) -> None:
        for name, table in self._plan.tables.items():
            if name not in self.of:
                continue
            kept = [row for row in self.of[name] if self._stands(table, row)]
            if len(kept) < len(self.of[name]):
                self._keep(name, kept)

    def _stands(self, table: Table, row: Values) -> bool:
        """Whether all that a row cannot be without goes with it; what it can be without becomes null."""
        for column, target in table.references.items():
            value = row[column]
            if value is None or value in self.ids.get(target, ()) or value in self.named.get(target, ()):
                continue
            if column in table.needed:
                return False
            row[column] = None
        return table.name == "entries" or all(
            self._is_of_these(row[column]) for name, column in SCOPES if name == table.name
        )

    def _is_of_these(self, scope: str) -> bool:
        kind, _, number = scope.partition(":")
        return kind not in _SCOPED or int(number) in self.ids[_SCOPED[kind]]
