"""The engine in Python: open a file, run, resume, abort, decide, fork and ask it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any

import apsw

from .database import Bindings, Row, Store, Synchronous
from .errors import ValidationError
from .registration import Clock, register, system_clock
from .schema import Trust

if TYPE_CHECKING:
    from .loop import Driver, OnEvent, OnProposal
    from .runs import OnDriver, Result


def open(  # noqa: A001 - engine.open reads like builtins.open
    path: str | PathLike[str],
    *,
    synchronous: Synchronous = "FULL",
    read_only: bool = False,
    trust: Trust = False,
    clock: Clock = system_clock,
) -> Database:
    """Open the engine file at `path`, creating, migrating and rebuilding it as needed.

    `synchronous` FULL survives a power cut with every commit, NORMAL may lose the last ones and is faster. `read_only`
    neither rebuilds nor writes, whatever build made the file: `differs` of the result says what is not as here. `trust`
    True lets triggers and other objects on the engine's tables act that neither the engine nor an installed plugin made;
    their digest lets these act and no others. `clock` tells the Unix time in milliseconds.

    Raises `ValidationError` (400) for what is no database, `PermissionDenied` (403) for objects that would have to be
    trusted, `Conflict` (409) for a file of another application, of a newer engine, or locked by another process, and
    `EngineError` for a damaged or unwritable one.
    """
    return Database(path, synchronous=synchronous, read_only=read_only, clock=clock, trust=trust)


def attach(
    connection: apsw.Connection, path: str | PathLike[str], schema: str = "engine", *, trust: Trust = False
) -> None:
    """Attach the engine file at `path` to an app's own apsw connection under the name `schema`, ready to be written.

    The file is created if it is missing. Two attached files in WAL mode commit one after the other, not atomically
    together: after a power cut one may have a transaction that the other has not. Raises like `open`.
    """
    if not schema.isidentifier():
        raise ValidationError(f"schema {schema!r}: is not a name")
    open(path, trust=trust).close()
    register(connection)
    connection.execute(f'attach database ? as "{schema}"', (str(path),))


class Database(Store):
    """An open engine file and what can be done with its runs. Opened by `engine.open`."""

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

        self.expect_no_transaction()
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

    def purge(self, run: str) -> int:
        """Remove a run for good, with all that nobody else refers to; see `engine.purging.purge`."""
        from .purging import purge

        return purge(self, run)

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
            with open(self.path, synchronous=self.synchronous, clock=self.clock, trust=self.trust) as db:
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
