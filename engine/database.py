"""Opens an engine file and talks to it: rows out, rows in, transactions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import apsw

from . import schema as schemas
from .errors import Conflict, EngineError, ValidationError
from .registration import Clock, register, system_clock

if TYPE_CHECKING:
    from .loop import Driver, OnEvent, OnProposal
    from .runs import OnDriver, Result

Bindings = Sequence[Any] | Mapping[str, Any]
Row = dict[str, Any]

Synchronous = Literal["FULL", "NORMAL"]

BUSY_TIMEOUT_MS = 5_000


def open(  # noqa: A001 - engine.open reads like builtins.open
    path: str | PathLike[str],
    *,
    synchronous: Synchronous = "FULL",
    read_only: bool = False,
    clock: Clock = system_clock,
) -> Database:
    """Open the engine file at `path`, creating, migrating and rebuilding it as needed.

    `synchronous` FULL survives a power cut with every commit, NORMAL may lose the last ones and is faster. `clock` tells
    the Unix time in milliseconds. Raises `ValidationError` (400) for what is no database, `Conflict` (409) for a file of
    another application, of a newer engine, or locked by another process, and `EngineError` for a damaged or unwritable one.
    """
    file = Path(path)
    schemas.check_header(file)
    if not file.parent.is_dir():
        raise EngineError(f"{file.parent}: no such folder; create it first", 404)
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    with _clear_errors(file):
        connection = apsw.Connection(str(file), flags=flags, statementcachesize=128)
    try:
        with _clear_errors(file):
            _configure(connection, synchronous, read_only, clock)
    except BaseException:
        connection.close()
        raise
    return Database(connection, file, synchronous, clock)


def attach(connection: apsw.Connection, path: str | PathLike[str], schema: str = "engine") -> None:
    """Attach the engine file at `path` to an app's own apsw connection under the name `schema`, ready to be written.

    The file is created if it is missing. Two attached files in WAL mode commit one after the other, not atomically
    together: after a power cut one may have a transaction that the other has not. Raises like `open`.
    """
    if not schema.isidentifier():
        raise ValidationError(f"schema {schema!r}: is not a name")
    open(path).close()
    register(connection)
    connection.execute(f'attach database ? as "{schema}"', (str(path),))


def _configure(connection: apsw.Connection, synchronous: str, read_only: bool, clock: Clock) -> None:
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    # without it SQLite looks at bound values when it plans, and prepares a statement again at every new value
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    register(connection, clock)
    if read_only:
        connection.execute("pragma query_only = on")
        return
    if connection.pragma("application_id") != schemas.APPLICATION_ID:
        # before WAL, so that the mark stands in the header of the file itself
        connection.execute(f"pragma application_id = {schemas.APPLICATION_ID}")
    connection.execute("pragma journal_mode = wal").fetchall()
    connection.execute(f"pragma synchronous = {synchronous}").fetchall()
    for pragma in ("temp_store = memory", "cache_size = -16000", "wal_autocheckpoint = 4000"):
        connection.execute(f"pragma {pragma}").fetchall()
    schemas.prepare(connection)


@contextmanager
def _clear_errors(file: Path) -> Iterator[None]:
    """Turn what SQLite says of a file into what happened, to what, and what to do next."""
    try:
        yield
    except apsw.NotADBError as error:
        raise ValidationError(f"{file}: is not a database; it is left as it is") from error
    except apsw.CorruptError as error:
        raise EngineError(
            f"{file}: is damaged ({error}); restore a copy, or save what is left with '.recover'"
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise Conflict(f"{file}: is locked by another process; wait for it or stop it") from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise EngineError(
            f"{file}: cannot be written; check the permissions of the file and its folder", 403
        ) from error
    except apsw.CantOpenError as error:
        raise EngineError(f"{file}: cannot be opened; check the permissions of the file and its folder", 403) from error
    except apsw.FullError as error:
        raise EngineError(f"{file}: the disk is full; nothing was written", 500) from error
    except apsw.IOError as error:
        raise EngineError(f"{file}: cannot be read or written ({error})", 500) from error


class Database:
    """An open engine file. One connection, used by one thread at a time."""

    def __init__(self, connection: apsw.Connection, path: Path, synchronous: Synchronous, clock: Clock) -> None:
        self.connection = connection
        self.path = path
        self.synchronous = synchronous
        self.clock = clock

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """All rows of a statement, each a dict from column name to value."""
        with _clear_errors(self.path):
            cursor = self.connection.execute(sql, bindings)
            try:
                names = [column[0] for column in cursor.get_description()]
            except apsw.ExecutionCompleteError:
                return []
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def row(self, sql: str, bindings: Bindings = ()) -> Row | None:
        """The first row of a statement, or None."""
        found = self.rows(sql, bindings)
        return found[0] if found else None

    def value(self, sql: str, bindings: Bindings = ()) -> Any:
        """The first column of the first row of a statement, or None."""
        with _clear_errors(self.path):
            found = self.connection.execute(sql, bindings).fetchone()
        return found[0] if found else None

    def execute(self, sql: str, bindings: Bindings = ()) -> None:
        """Run a statement for what it does."""
        with _clear_errors(self.path):
            self.connection.execute(sql, bindings).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One transaction, begun as a writer; an error rolls all of it back. Inside another one it is part of that."""
        if self.connection.in_transaction:
            yield
            return
        self.execute("begin immediate")
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("rollback")
            raise
        self.execute("commit")

    def insert(self, target: str, **columns: Any) -> None:
        """Insert one row into a table or a door of the engine."""
        names = ", ".join(f'"{name}"' for name in columns)
        places = ", ".join(f":{name}" for name in columns)
        self.execute(f"insert into {target} ({names}) values ({places})", columns)  # noqa: S608 - names are ours

    def run(
        self,
        prompt: str,
        *,
        run: str | None = None,
        on_event: OnEvent | None = None,
        on_proposal: OnProposal | None = None,
        on_driver: OnDriver | None = None,
        **options: Any,
    ) -> Result:
        """Give `prompt` to a run, a new one unless `run` names one, and drive it until it ends or waits.

        `options` are the fields of `engine.runs.Options`: model, root, mode, yolo, … `on_event` is told what happens (see
        `engine.progress`), `on_proposal` decides on proposals, `on_driver` gets the driver, whose `stop()` aborts the loop
        from another thread. Raises `EngineError`s for what keeps it from starting; how the run itself went stands in the
        result.
        """
        from . import runs

        alias, loop = runs.prompt(self, prompt, run, runs.Options(**options))
        runs.drive(self, alias, on_event=on_event, on_proposal=on_proposal, on_driver=on_driver)
        return runs.result(self, alias, loop)

    async def run_async(self, prompt: str, **options: Any) -> Result:
        """`run` for asyncio, in a thread over a connection of its own; cancelling it aborts the loop."""
        return await self._in_thread(lambda db, watch: db.run(prompt, on_driver=watch, **options))

    def resume(
        self,
        run: str,
        *,
        on_event: OnEvent | None = None,
        on_proposal: OnProposal | None = None,
        on_driver: OnDriver | None = None,
    ) -> Result:
        """Drive a run that a kill or a decision left, from where it stood; raises `Conflict` (409) while it is driven."""
        from . import runs

        runs.drive(self, run, on_event=on_event, on_proposal=on_proposal, on_driver=on_driver)
        return runs.result(self, run)

    async def resume_async(self, run: str, **options: Any) -> Result:
        """`resume` for asyncio; cancelling it aborts the loop."""
        return await self._in_thread(lambda db, watch: db.resume(run, on_driver=watch, **options))

    def abort(self, run: str, reason: str = "aborted") -> None:
        """Stop what `run` is doing, at 499; queued prompts stay."""
        from . import runs

        runs.abort(self, run, reason)

    def resolve(
        self,
        run: str,
        path: str | None = None,
        *,
        accept: bool,
        body: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Accept or reject the proposal under `path`, or all that are open; see `engine.runs.resolve`."""
        from . import runs

        runs.resolve(self, run, path, accept, body=body, reason=reason)

    def fork(self, run: str, alias: str | None = None, at: int | None = None) -> str:
        """Fork a run as it is, or as its turn `at` was sent; returns the child's name."""
        from . import runs

        return runs.fork(self, run, alias, at)

    def sql(self, query: str, bindings: Bindings = ()) -> list[Row]:
        """The rows of one read-only statement; raises `PermissionDenied` (403) for one that would change anything."""
        from .query import read_only_rows

        return read_only_rows(self, query, bindings)

    async def _in_thread(self, work: Callable[[Database, OnDriver], Result]) -> Result:
        import asyncio

        drivers: list[Driver] = []
        cancelled = threading.Event()

        def watch(driver: Driver) -> None:
            drivers.append(driver)
            if cancelled.is_set():
                driver.stop()

        def run_it() -> Result:
            with open(self.path, synchronous=self.synchronous, clock=self.clock) as db:
                return work(db, watch)

        driving = asyncio.ensure_future(asyncio.to_thread(run_it))
        try:
            return await asyncio.shield(driving)
        except asyncio.CancelledError:
            cancelled.set()
            for driver in drivers:
                driver.stop()
            await asyncio.wait([driving])
            raise

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self.connection.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


__all__ = ["BUSY_TIMEOUT_MS", "Database", "attach", "open"]
