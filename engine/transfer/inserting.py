"""Puts the rows of a run's file into the tables of a file.

What the rows mean was asked before, in a file of their own (`importing`). A number becomes an id behind those that the
tables have, a clock one behind the last event.

spec: @run_files
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from engine.packets.parts import runs_of
from engine.packets.store import digest, key_of

from .exporting import IMPORTED
from .plan import CLOCKS, DROPPED, MARKS, NAMED, SCOPES, Plan, Table
from .reading import Line, RunFile, bytes_of

Names = Callable[[int, str], str]
"""The name that run number N gets, which has this name in its file."""


def insert_run(connection: apsw.Connection, file: RunFile, names: Names) -> list[str]:
    """Insert the rows of a run's file, in the transaction that is open; returns the names of the runs.

    Raises `ValidationError` (400) for a row that the tables do not take.
    """
    with _without_triggers(connection):
        connection.execute("pragma defer_foreign_keys = on").fetchall()
        inserter = _Inserter(connection, file, names)
        for number, row in file.rows():
            try:
                inserter.insert(row)
            except (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, OverflowError) as error:
                raise file.wrong(number, f"is refused by the tables ({error})") from None
            except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError):
                raise file.wrong(number, "is not a row of an exported run") from None
        inserter.finish()
    return inserter.runs


@contextmanager
def _without_triggers(connection: apsw.Connection) -> Iterator[None]:
    """While nothing follows from a row: what followed from these is among them."""
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    try:
        yield
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)


class _Inserter:
    def __init__(self, connection: apsw.Connection, file: RunFile, names: Names) -> None:
        self._connection, self._file, self._names = connection, file, names
        self._tables = Plan.of(connection).tables
        self._base = {
            name: int(connection.execute(f'select coalesce(max(id), 0) from "{name}"').get)  # noqa: S608 - names of ours
            for name in [*(name for name, table in self._tables.items() if table.numbered), "chunk_lists"]
        }
        self._clock = self._last = self._base["events"]
        self._count = dict.fromkeys(self._base, 0)
        self._chunks: list[int] = []
        self._statements: dict[str, str] = {}
        self._shared_project: int | None = None
        self.runs: list[str] = []

    def insert(self, row: Line) -> None:
        name = row.pop("in")
        if name == "chunks":
            self._chunks.append(self._chunk(**row))
        elif name == "chunk_lists":
            self._stretch(**row)
        else:
            self._row(self._tables[name], row)

    def finish(self) -> None:
        """Tell what was imported, in an event behind all clocks of the runs."""
        run = self._id("runs", self._file.run)
        if self._shared_project is not None:
            self._connection.execute(
                "insert into run_scopes (run_id, scope, kind) select id, ?, 'inherited' from runs where id > ?",
                (f"project:{self._shared_project}", self._base["runs"]),
            ).fetchall()
        self._connection.execute(
            "insert into events (id, at, run_id, kind, detail) values (?, now(), ?, ?, ?)",
            (self._last + 1, run, IMPORTED, json.dumps({"runs": self.runs, "sha256": self._file.sha256()})),
        ).fetchall()

    def _row(self, table: Table, row: Line) -> None:
        searched = row.pop("searched", 0) if table.name == "contents" else 0
        if unknown := row.keys() - set(table.kept):
            raise KeyError(unknown)
        values = {column: self._value(table, column, row.get(column), row) for column in table.kept}
        values |= {column: value for (name, column), value in DROPPED.items() if name == table.name}
        if table.numbered and table.name != "events":
            self._count[table.name] += 1
            values["id"] = self._base[table.name] + self._count[table.name]
        if table.name == "runs":
            values["alias"] = self._names(self._count["runs"], row["alias"])
            self.runs.append(values["alias"])
        elif table.name == "projects":
            values["name"] = self._project_name()
        elif table.name == "workflows":
            values["project_id"] = self._id("projects", 1)
        self._connection.execute(self._statement(table.name, tuple(values)), tuple(values.values())).fetchall()
        if searched:
            self._connection.execute(
                "insert into content_search (rowid, body) values (?, ?)", (values["id"], values["body"])
            ).fetchall()

    def _statement(self, name: str, columns: tuple[str, ...]) -> str:
        if name not in self._statements:
            texts = ", ".join(f'"{each}"' for each in columns)
            places = ", ".join("?" * len(columns))
            self._statements[name] = f'insert into "{name}" ({texts}) values ({places})'  # noqa: S608 - names of ours
        return self._statements[name]

    def _value(self, table: Table, column: str, value: Any, row: Line) -> Any:
        place = (table.name, column)
        if value is None:
            return None
        if column in table.blobs:
            return bytes_of(value)
        if place in CLOCKS:
            self._last = max(self._last, self._clock + _number(value))
            return self._clock + value
        if place == ("entries", "scope") and value == "global":
            return f"project:{self._shared()}"
        if place in SCOPES:
            return self._scope(value)
        if place == ("packets", "parts"):
            return json.dumps([self._id("chunk_lists", each) for each in json.loads(value)], separators=(",", ":"))
        if place == ("children", "lineage"):
            return "/" + "".join(f"{self._id('runs', int(each))}/" for each in value.split("/") if each)
        if place == ("events", "detail") and row["kind"].startswith("job."):
            return self._detail(value)
        if place in MARKS:
            return self._base.get(MARKS[place], 0) + _number(value)
        if target := table.references.get(column):
            return self._named(target, value) if isinstance(value, str) else self._id(target, value)
        return value

    def _id(self, table: str, number: Any) -> int:
        return self._base[table] + _number(number)

    def _named(self, table: str, name: str) -> int:
        column, condition = NAMED[table]
        sql = f"select id from {table} where {column} = ? and {condition}"  # noqa: S608 - names of ours
        found = self._connection.execute(sql, (name,)).get
        if found is None:
            raise KeyError(name)
        return int(found)

    def _scope(self, scope: str) -> str:
        kind, _, number = scope.partition(":")
        return (
            scope
            if kind == "global"
            else f"{kind}:{self._id({'run': 'runs', 'project': 'projects'}[kind], int(number))}"
        )

    def _detail(self, text: str) -> str:
        detail = json.loads(text)
        if detail["effect"] is not None:
            detail["effect"] = self._id("effects", detail["effect"])
        return json.dumps(detail, ensure_ascii=False, separators=(",", ":"))

    def _shared(self) -> int:
        """The project whose scope holds what was global in the file of the run: what is global here is another's."""
        if self._shared_project is None:
            self._connection.execute(
                "insert into projects (name, created_at) values (?, now())", (self._project_name(),)
            ).fetchall()
            self._shared_project = self._connection.last_insert_rowid()
        return self._shared_project

    def _project_name(self) -> str:
        """A name for a project without a folder."""
        names = {name for (name,) in self._connection.execute("select name from projects")}
        return free_name("imported", names)

    def _chunk(self, text: str, layer: str | None = None, source: str | None = None) -> int:
        """The part of packets that has this text; its key is made here, so that no part can pass for another one."""
        name = key_of(text) if layer is None else digest("\0".join((layer, source or "", text)))[:16]
        found = self._connection.execute("select id from chunks where hash = ?", (name,)).get
        if found is None:
            self._connection.execute(
                "insert into chunks (hash, head, layer, source) values (?, ?, ?, ?)", (name, text, layer, source)
            ).fetchall()
            found = self._connection.last_insert_rowid()
        return int(found)

    def _stretch(self, chunks: list[int]) -> None:
        self._count["chunk_lists"] += 1
        ids = [self._chunks[_number(each) - 1] for each in chunks]
        self._connection.execute(
            "insert into chunk_lists (id, chunks) values (?, ?)",
            (self._base["chunk_lists"] + self._count["chunk_lists"], json.dumps(runs_of(ids), separators=(",", ":"))),
        ).fetchall()


def free_name(name: str, taken: set[str]) -> str:
    """`name`, or with -2, -3, … the first that is not taken."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(value)
    return value
