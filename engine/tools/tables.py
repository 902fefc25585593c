"""`context.db`: what a tool reads of the file, and what it writes into the app's tables together with its result.

While the tool works nothing is locked. What it writes is tried at once, in a transaction that is rolled back, and kept.
When the result is stored, all of it is done in that transaction, in the same order. What the tool was told of the app's
tables has to be the same then: else somebody has changed them meanwhile, and nothing is stored.

spec: @context_db
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.errors import Conflict, EngineError, Overflow

if TYPE_CHECKING:
    from engine.db.database import Bindings, Row, Store
    from engine.db.own_tables import OwnTables

_MOST_STEPS = 1_000
_LOOK_SECONDS = 0.01
_OVER = "context.db: the call of this tool is over; nothing is stored any more"


class Changed(Exception):  # noqa: N818 - an outcome, not a defect
    """What a tool was told of the app's tables is not so any more, so what it wrote is not stored.

    `varying` is the first statement of the tool that takes the time or chance, if it has one: that may be the reason.
    """

    def __init__(self, varying: str | None) -> None:
        self.varying = varying


class _Undone(BaseException):
    """What was tried is rolled back; `rows` is what came of it."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows


class _Step(NamedTuple):
    """A statement that a tool has run, with the values of one row or of several; `told` is a digest of what came of it."""

    sql: str
    values: tuple[Bindings, ...]
    writes: bool
    varies: bool
    told: bytes | None = None

    def run(self, db: Store) -> list[Row]:
        rows: list[Row] = []
        for bindings in self.values:
            rows += db.rows(self.sql, bindings)
        return rows


class ToolTables:
    """The app's tables, as a tool sees them that has not ended yet. Any thread may use it until the tool has its result."""

    def __init__(self, db: Store, own: OwnTables) -> None:
        self._db = db
        self._own = own
        self._steps: list[_Step] = []
        self._lock = threading.Lock()
        self._is_over = False
        self._is_running = False

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """The rows of one statement, each a dict: of a select, or of an insert, update or delete that has returning.

        It sees what this call has written before. Raises `PermissionDenied` (403) for what would write anything but the
        app's tables, `ValidationError` (400) for what SQLite or a constraint refuses, `Conflict` (409) after the call, and
        `Overflow` (413) after 1,000 statements.
        """
        return self._add(sql, (_kept(bindings),), tells=True)

    def row(self, sql: str, bindings: Bindings = ()) -> Row | None:
        """The first row of a statement, or None."""
        found = self.rows(sql, bindings)
        return found[0] if found else None

    def value(self, sql: str, bindings: Bindings = ()) -> Any:
        """The first column of the first row of a statement, or None."""
        found = self.row(sql, bindings)
        return None if found is None else next(iter(found.values()))

    def execute(self, sql: str, bindings: Bindings = ()) -> None:
        """Write: one statement. It is stored with the result of the tool, or not at all. Raises like `rows`."""
        self._add(sql, (_kept(bindings),), tells=False)

    def execute_many(self, sql: str, rows: Iterable[Bindings]) -> None:
        """Write: one statement for each of several rows of values, which count as one."""
        if values := tuple(map(_kept, rows)):
            self._add(sql, values, tells=False)

    @property
    def has_written(self) -> bool:
        """Whether there is something to store."""
        return any(step.writes for step in self._steps)

    def end(self) -> None:
        """Take nothing more: the tool has a result, or will have none. A statement that still runs is ended."""
        self._is_over = True
        while self._is_running:
            self._db.connection.interrupt()
            time.sleep(_LOOK_SECONDS)

    def store(self) -> None:
        """Do what the tool has done, in the transaction that is open; raises `Changed`."""
        with self._lock:
            for step in self._steps:
                try:
                    rows = step.run(self._db)
                except EngineError as error:  # whatever status a trigger of the app gives it
                    raise Changed(self._varying) from error
                if step.told is not None and step.told != _digest(rows):
                    raise Changed(self._varying)

    @property
    def _varying(self) -> str | None:
        return next((step.sql for step in self._steps if step.varies), None)

    def _add(self, sql: str, values: tuple[Bindings, ...], *, tells: bool) -> list[Row]:
        with self._turn():
            use = self._own.use(self._db, sql, values[0])
            step = _Step(sql, values, use.writes, use.varies)
            rows = self._try(step) if use.writes or self.has_written else self._run(step)
            if use.writes or use.reads_own:
                told = _digest(rows) if tells else None
                self._steps.append(step._replace(told=told))
            return rows

    def _try(self, step: _Step) -> list[Row]:
        try:
            with self._db.transaction():
                for before in self._steps:
                    if before.writes:
                        self._run(before)
                raise _Undone(self._run(step))
        except _Undone as undone:
            return undone.rows

    def _run(self, step: _Step) -> list[Row]:
        self._is_running = True
        try:
            if self._is_over:
                raise Conflict(_OVER)
            return step.run(self._db)
        finally:
            self._is_running = False

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self._lock:
            if self._is_over:
                raise Conflict(_OVER)
            if self._db.in_transaction:
                raise Conflict("context.db: a transaction is open; use context.db outside of it")
            if len(self._steps) >= _MOST_STEPS:
                raise Overflow(f"context.db: {_MOST_STEPS:,} statements at most; write several rows by execute_many")
            yield


def _kept(bindings: Bindings) -> Bindings:
    """The values as they are now."""
    if isinstance(bindings, Mapping):
        return {name: _fixed(value) for name, value in bindings.items()}
    return tuple(map(_fixed, bindings))


def _fixed(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


def _digest(rows: list[Row]) -> bytes:
    return hashlib.sha256(repr([tuple(row.items()) for row in rows]).encode("utf-8", "surrogatepass")).digest()
