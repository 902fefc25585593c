"""Writes a run as text: one line a row, the same lines wherever it lies.

Ids become the numbers of the rows in the text, clocks their order. What is the same in content, such as two equal bodies, is
written once.

spec: @run_files
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

import apsw

from engine.errors import Conflict, NotFound
from engine.schema.build import VERSION, installed

from .plan import CLOCKS, MARKS, SCOPES, Plan, Table
from .rows import Rows, Values

FORMAT, FORM = "engine run", 1
"""What the first line says."""
IMPORTED = "run.imported"
"""The kind of the events that tell of an import; they stay in their file."""

_LINE = (
    "with recursive line (id) as (select id from runs where alias = ?1 union "
    "select r.parent_run_id from line as l join runs as r on r.id = l.id where r.parent_run_id is not null union "
    "select c.parent_run_id from line as l join children as c on c.run_id = l.id), "
    "below (id) as (select id from runs where alias = ?1 union "
    "select c.run_id from below as b join children as c on c.parent_run_id = b.id) "
    "select id from line union select id from below order by 1"
)
"""A run, those that it came from, and those below it."""


def lines_of(connection: apsw.Connection, run: str) -> Iterator[bytes]:
    """The lines of a run's file, each with its end. The caller holds a transaction, so that all are of one moment.

    Raises `NotFound` (404) for an unknown run, `Conflict` (409) while it is driven or a command of it is kept.
    """
    whole = hashlib.sha256()
    for line in _lines(connection, run):
        whole.update(line)
        yield line
    yield _line({"end": whole.hexdigest()})


def _lines(connection: apsw.Connection, run: str) -> Iterator[bytes]:
    runs = [int(str(number)) for (number,) in connection.execute(_LINE, (run,))]
    if not runs:
        raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
    _refuse_driven(connection, runs)
    plan = Plan.of(connection)
    rows = Rows(connection, plan, runs)
    rows.of["events"] = [row for row in rows.of["events"] if row["kind"] != IMPORTED]
    written = _Written(connection, plan, rows)
    names = [row["alias"] for row in rows.of["runs"]]
    yield _line(
        {"format": FORMAT, "form": FORM, "tables": VERSION, "modules": _modules(rows), "run": names.index(run) + 1}
    )
    yield from written.lines()


def _modules(rows: Rows) -> list[str]:
    """The modules that rows need: those of their tables, and those that seed what an outcome says."""
    build = installed()
    tables = [name.lower() for found in (rows.ids, rows.of) for name in found if found[name]]
    outcomes = {str(row.get("outcome")).partition(":")[0] for found in rows.of.values() for row in found}
    seeding = {
        module.name
        for module in build.offered
        for _, text in module.files
        if any(f"('{outcome}', " in text for outcome in outcomes)
    }
    return sorted({build.owners[name] for name in tables if name in build.owners} | seeding)


def _refuse_driven(connection: apsw.Connection, runs: Iterable[int]) -> None:
    numbers = json.dumps([*runs])
    busy = connection.execute(
        "select alias from runs where id in (select value from json_each(?1)) and (id in (select run_id from "
        "_leases_in_force) or id in (select run_id from _kept_processes)) order by id limit 1",
        (numbers,),
    ).get
    if busy is not None:
        raise Conflict(f"run {busy}: it or one of its commands still works; stop it first: engine abort {busy}")


class _Written:
    """The rows of runs with numbers in place of ids."""

    def __init__(self, connection: apsw.Connection, plan: Plan, rows: Rows) -> None:
        self._connection, self._plan, self._rows = connection, plan, rows
        self._numbers: dict[str, dict[int, int]] = {
            name: {row["id"]: number for number, row in enumerate(found, 1)}
            for name, found in rows.of.items()
            if plan.tables[name].numbered
        }
        clocks = {row[column] for name, column in CLOCKS if name in rows.of for row in rows.of[name]} - {None}
        self._clocks = {clock: number for number, clock in enumerate(sorted(clocks), 1)}
        self._numbers["events"] = self._clocks
        self._lists: dict[int, int] = {}

    def lines(self) -> Iterator[bytes]:
        """All rows, table by table: bodies and parts of packets first, because others name them."""
        for name in ("contents", "_entry_metadata", "pictures"):
            if name in self._plan.tables:
                yield from self._distinct(self._plan.tables[name])
        yield from self._parts()
        for name, table in self._plan.tables.items():
            if name in self._rows.of:
                yield from self._table(table)

    def _distinct(self, table: Table) -> Iterator[bytes]:
        """The rows of a table that are the same in content are one."""
        columns = ", ".join(f'"{each}"' for each in table.kept)
        more = ", id in (select id from content_search_docsize)" if table.name == "contents" else ", 0"
        seen: dict[bytes, int] = {}
        numbers = self._numbers.setdefault(table.name, {})
        for number in sorted(self._rows.ids[table.name]):
            found = self._connection.execute(
                f'select {columns}{more} from "{table.name}" where id = ?',  # noqa: S608 - names of ours
                (number,),
            )
            values = found.fetchall()[0]
            row, searched = dict(zip(table.kept, values[:-1], strict=True)), values[-1]
            line = _line({"in": table.name} | _written(table, row) | ({"searched": 1} if searched else {}))
            key = hashlib.sha256(line).digest()
            if key not in seen:
                seen[key] = len(seen) + 1
                yield line
            numbers[number] = seen[key]

    def _parts(self) -> Iterator[bytes]:
        """The parts of packets by their texts, and the stretches that they form, as they first appear."""
        chunks: dict[int, int] = {}
        lists: dict[tuple[int, ...], int] = {}
        for row in self._rows.of["packets"]:
            for stretch in json.loads(row["parts"]):
                if stretch in self._lists:
                    continue
                text = self._connection.execute("select chunks from chunk_lists where id = ?", (stretch,)).get
                ids = [*_expanded(json.loads(str(text)))]
                for chunk in ids:
                    if chunk not in chunks:
                        chunks[chunk] = len(chunks) + 1
                        yield self._chunk(chunk)
                key = tuple(chunks[chunk] for chunk in ids)
                if key not in lists:
                    lists[key] = len(lists) + 1
                    yield _line({"in": "chunk_lists", "chunks": key})
                self._lists[stretch] = lists[key]

    def _chunk(self, number: int) -> bytes:
        row = self._connection.execute(
            "select t.text, k.layer, k.source from chunks as k join _chunk_texts as t on t.id = k.id where k.id = ?",
            (number,),
        ).fetchone()
        text, layer, source = row or ("", None, None)
        named = {"layer": layer, "source": source} if layer is not None else {}
        return _line({"in": "chunks", "text": text} | named)

    def _table(self, table: Table) -> Iterator[bytes]:
        lines = [
            _line({"in": table.name} | _written(table, {each: self._value(table, each, row) for each in table.kept}))
            for row in self._rows.of[table.name]
        ]
        yield from lines if table.numbered else sorted(lines)

    def _value(self, table: Table, column: str, row: Values) -> Any:
        """What a column of a row means outside of its file."""
        place, value = (table.name, column), row[column]
        if place == ("events", "detail"):
            return self._detail(row)
        if value is None:
            return None
        if place in CLOCKS:
            return self._clocks[value]
        if place in SCOPES:
            return self._scope(value)
        if place == ("packets", "parts"):
            return json.dumps([self._lists[each] for each in json.loads(value)])
        if place == ("children", "lineage"):
            return "/" + "".join(f"{self._numbers['runs'][int(each)]}/" for each in value.split("/") if each)
        if place in MARKS:
            return bisect_right(sorted(self._numbers.get(MARKS[place], {})), value)
        if target := table.references.get(column):
            return self._numbers.get(target, {}).get(value) or self._rows.named[target][value]
        return value

    def _scope(self, scope: str) -> str:
        """A scope by numbers. The global scope of a file is that of another project where a run was imported."""
        kind, _, number = scope.partition(":")
        found = self._numbers[{"run": "runs", "project": "projects"}[kind]].get(int(number)) if number else None
        return "global" if found is None else f"{kind}:{found}"

    def _detail(self, row: Values) -> Any:
        """The detail of an event; that of a background command names its effect."""
        if row["detail"] is None or not row["kind"].startswith("job."):
            return row["detail"]
        detail = json.loads(row["detail"])
        detail["effect"] = self._numbers["effects"].get(detail["effect"])
        return json.dumps(detail, ensure_ascii=False, separators=(",", ":"))


def _expanded(stretch: list[int | list[int]]) -> Iterator[int]:
    for each in stretch:
        if isinstance(each, list):
            yield from range(each[0], each[1] + 1)
        else:
            yield each


def _written(table: Table, row: Values) -> Values:
    """A row as its line has it: nothing that is null, bytes as base64."""
    return {
        column: b64encode(value).decode() if column in table.blobs else value
        for column, value in row.items()
        if value is not None
    }


def _line(value: Values) -> bytes:
    return (json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n").encode()
