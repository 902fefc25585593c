"""Collects `.test` files: SQL behaviour in sqllogictest form, each file against a fresh database.

A file is a header of ``# key: value`` lines (`description` and `spec` are required) and records
parted by blank lines. A record is ``statement ok``, ``statement error`` or ``query``, then SQL on
one or more lines, then, except for ``statement ok``, ``----`` and what is expected: text that the
first line of the error contains, or one line a row, its values parted by two spaces. A lone
``# stdlib`` in the header runs the file through Python's own `sqlite3` as well, a lone ``# threads`` has behavioural
threads told of what happens.

``turn RUN [chars N] [STEP ...]`` takes the steps of a turn that it names (`begin`, `offer` a packet
of N characters, `store` the response, `dispatch`), or all four; the lines below it are the response.
Where it has a ``----``, an error is expected, as in ``statement error``.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise, takewhile
from pathlib import Path
from typing import Any

import apsw
import pytest
from audit import audit
from fresh import fresh, take_in_all

import engine
from engine.errors import EngineError
from engine.threads.joining import hang_in

KINDS = ("statement ok", "statement error", "query")
RULE = "----"
# The steps of a turn, and the door that each goes through. `:run`, `:chars` and `:response` are put in as literals.
STEPS = {
    "begin": "insert into _begin_turn (run) values (:run)",
    "offer": "insert into _submit_packet (turn_id, chars)\n"
    "select t.id, :chars from turns as t join runs as r on r.id = t.run_id where r.alias = :run and t.phase <> 'judged'",
    "store": "update turns set response = :response\n"
    "where phase <> 'judged' and run_id = (select id from runs where alias = :run)",
    "dispatch": "insert into _dispatch (run) values (:run)",
}
PACKET_CHARS = 100
# All that Python's sqlite3 tells of an error raised by a registered function.
STDLIB_HIDES = "user-defined function raised exception"

Execute = Callable[[str], list[tuple[Any, ...]]]


class BadTestFile(Exception):
    """A `.test` file that is not written as this module's docstring says; the text names the line."""


class RecordFailed(Exception):
    """A record whose outcome is not the expected one; the text names file, line and both outcomes."""


@dataclass(frozen=True)
class Record:
    """One record: what `kind` it is, the `line` (from 1) it starts at, its `statements` and the `expected` lines.

    A `turn` has become one of the other kinds, with a statement for each of its steps.
    """

    kind: str
    line: int
    statements: tuple[str, ...]
    expected: tuple[str, ...]


@dataclass(frozen=True)
class Script:
    """A parsed file: its header (`key` to text, flags to the empty text) and its records in order."""

    header: dict[str, str]
    records: tuple[Record, ...]


def parse_script(text: str) -> Script:
    """Parse the `text` of a `.test` file; raise `BadTestFile` where it is malformed."""
    header: dict[str, str] = {}
    records: list[Record] = []
    for block in _blocks(text):
        comments = [line for _, line in takewhile(lambda item: item[1].startswith("#"), block)]
        if not records:
            header.update(_header(comments))
        if lines := block[len(comments) :]:
            records.append(_record(lines))
    for key in ("description", "spec"):
        if not header.get(key):
            raise BadTestFile(f"the header has no '# {key}: ...'")
    if not records:
        raise BadTestFile("there is no record in it")
    return Script(header, tuple(records))


def _blocks(text: str) -> Iterator[list[tuple[int, str]]]:
    numbered = enumerate(text.splitlines(), 1)
    for filled, group in groupby(numbered, key=lambda item: bool(item[1].strip())):
        if filled:
            yield list(group)


def _header(comments: list[str]) -> dict[str, str]:
    pairs = (comment.lstrip("# ").partition(":") for comment in comments)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _record(lines: list[tuple[int, str]]) -> Record:
    number, kind = lines[0]
    body = [line for _, line in lines[1:]]
    if kind.split()[0] == "turn":
        return _turn_record(number, kind, body)
    if kind not in KINDS:
        raise BadTestFile(f"line {number}: {kind!r} is none of {', '.join(KINDS)}, turn")
    if RULE in body and kind == "statement ok":
        raise BadTestFile(f"line {number}: 'statement ok' expects nothing, yet there is a {RULE}")
    if RULE not in body and kind != "statement ok":
        raise BadTestFile(f"line {number}: {kind!r} has no {RULE} with what is expected")
    cut = body.index(RULE) if RULE in body else len(body)
    sql, expected = "\n".join(body[:cut]), tuple(body[cut + 1 :])
    if not sql.strip():
        raise BadTestFile(f"line {number}: there is no SQL")
    if kind == "statement error" and len(expected) != 1:
        raise BadTestFile(f"line {number}: 'statement error' expects one line of message")
    return Record(kind, number, (sql,), expected)


def _turn_record(number: int, head: str, body: list[str]) -> Record:
    match = re.fullmatch(r"turn (\S+)(?: chars (\d+))?((?: \w+)*)", head)
    if match is None:
        raise BadTestFile(f"line {number}: {head!r} is not 'turn RUN [chars N] [STEP ...]'")
    run, chars, words = match.groups()
    steps = tuple(words.split()) or tuple(STEPS)
    order = [list(STEPS).index(step) if step in STEPS else -1 for step in steps]
    if -1 in order or any(after != before + 1 for before, after in pairwise(order)):
        raise BadTestFile(f"line {number}: the steps of a turn are {', '.join(STEPS)}, in this order")
    cut = body.index(RULE) if RULE in body else len(body)
    response, expected = "\n".join(body[:cut]), tuple(body[cut + 1 :])
    if response and "store" not in steps:
        raise BadTestFile(f"line {number}: there is a response, yet 'store' is not among the steps")
    if RULE in body and len(expected) != 1:
        raise BadTestFile(f"line {number}: a turn expects one line of message below {RULE}")
    statements = turn_statements(run, response, int(chars or PACKET_CHARS), steps)
    return Record("statement error" if expected else "statement ok", number, statements, expected)


def turn_statements(
    run: str, response: str = "", chars: int = PACKET_CHARS, steps: Iterable[str] = tuple(STEPS)
) -> tuple[str, ...]:
    """The statements that take `steps` of a turn of `run`: a packet of `chars` characters, `response` as the answer."""
    values = {"run": _literal(run), "chars": str(chars), "response": _literal(response)}
    return tuple(re.sub(r":(\w+)", lambda name: values[name[1]], STEPS[step]) for step in steps)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def shown(value: object) -> str:
    """`value` of a column as a `.test` file writes it: ``NULL``, ``(empty)``, ``x'00ff'``, one line."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t") or "(empty)"


def run_record(record: Record, execute: Execute) -> None:
    """Run one record through `execute`; raise `RecordFailed` if it does not come out as expected."""
    try:
        rows = [row for statement in record.statements for row in execute(statement)]
    except (apsw.Error, sqlite3.Error, EngineError) as error:
        message = (str(error).splitlines() or [""])[0]
        if record.kind != "statement error":
            raise RecordFailed(f"{record.kind}: error: {message}") from error
        if record.expected[0] not in message and message != STDLIB_HIDES:
            raise RecordFailed(f"expected error: {record.expected[0]}\n     got error: {message}") from error
        return
    if record.kind == "statement error":
        raise RecordFailed(f"expected error: {record.expected[0]}\nbut it succeeded")
    got = tuple("  ".join(map(shown, row)) for row in rows)
    if record.kind == "query" and got != record.expected:
        raise RecordFailed("\n".join(["expected:", *record.expected, "got:", *got]))


class SqlFile(pytest.File):
    """A `.test` file: one item for apsw and, where its header asks for it, one for the standard library."""

    def collect(self) -> Iterator[SqlItem]:
        """Yield the items; raise `BadTestFile` for a malformed file."""
        script = parse_script(self.path.read_text(encoding="utf-8"))
        yield SqlItem.from_parent(self, name="apsw", script=script)
        if "stdlib" in script.header:
            yield SqlItem.from_parent(self, name="stdlib", script=script)


class SqlItem(pytest.Item):
    """All records of one file, in order, against a fresh database, audited at the end."""

    def __init__(self, *, script: Script, **given: Any) -> None:
        super().__init__(**given)
        self.script = script

    def runtest(self) -> None:
        """Run the records with the driver that the item is named after, then audit the file."""
        {"apsw": self._with_apsw, "stdlib": self._with_stdlib}[self.name]()

    def _with_apsw(self) -> None:
        with fresh() as db:
            if "threads" in self.script.header:
                hang_in(db)
            self._run(lambda sql: db.connection.execute(sql).fetchall())

    def _with_stdlib(self) -> None:
        with tempfile.TemporaryDirectory(prefix="sqltest-") as folder:
            path = Path(folder) / "t.db"
            with engine.open(path) as db:
                take_in_all(db)
            connection = sqlite3.connect(path, isolation_level=None)
            try:
                engine.register(connection)
                self._run(lambda sql: connection.execute(sql).fetchall())
            finally:
                connection.close()
            audit(path)

    def _run(self, execute: Execute) -> None:
        for record in self.script.records:
            try:
                run_record(record, execute)
            except RecordFailed as failure:
                sql = ";\n".join(record.statements)
                raise RecordFailed(f"{self.path.name}:{record.line}\n{sql}\n\n{failure}") from failure

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The plain text of a failed record or audit; anything else as pytest shows it."""
        if excinfo.errisinstance((RecordFailed, AssertionError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the item stands and what it claims: its description."""
        return self.path, 0, f"{self.name}: {self.script.header['description']}"
