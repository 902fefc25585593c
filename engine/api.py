"""The Python API: open an engine file; start, resume, abort, fork and purge runs; decide on proposals; query."""

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
    """Open the engine file at `path`; create it, migrate its tables and rebuild its views and triggers where needed.

    With `synchronous` FULL a power cut loses no commit; NORMAL is faster and may lose the last ones. With `read_only` the
    file is neither rebuilt nor written, whichever build made it; `differs` of the result says how it differs from this
    build. `trust` is about objects on the engine's tables that neither the engine nor an installed plugin made, such as
    triggers: True allows all of them, a digest allows the objects with this digest. `clock` returns the Unix time in
    milliseconds.

    Raises `ValidationError` (400) for a file that is no database, `PermissionDenied` (403) for objects that are not
    trusted, `Conflict` (409) for a file of another application, of a newer engine, or locked by another process, and
    `EngineError` for a file that is damaged or cannot be written.
    """
    return Database(path, synchronous=synchronous, read_only=read_only, clock=clock, trust=trust)


def attach(
    connection: apsw.Connection, path: str | PathLike[str], schema: str = "engine", *, trust: Trust = False
) -> None:
    """Attach the engine file at `path`, under the name `schema`, to an app's own apsw connection, which may write to it.

    The file is created if it is missing. Two attached files in WAL mode are committed one after the other: after a power
    cut a transaction may be in one and not in the other. Raises like `open`.
    """
    if not schema.isidentifier():
        raise ValidationError(f"schema {schema!r}: is not a name")
    open(path, trust=trust).close()
    register(connection)
    connection.execute(f'attach database ? as "{schema}"', (str(path),))


class Database(Store):
    """An open engine file, with methods for its runs. `engine.open` makes it."""

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

        `options` are the fields of `engine.runs.Options`: model, root, mode, yolo, … `on_event` gets the events that
        `engine.progress.Progress` lists. `on_proposal` gets each open proposal, a row of `open_proposals`, and returns True
        to accept it, False to reject it, a text to answer with, or None to leave it open. `on_driver` gets the driver,
        whose `stop()` aborts the loop from another thread.

        Raises an `EngineError` where the run cannot be started or driven: `NotFound` (404) for an unknown model or folder,
        `ValidationError` (400) for an empty prompt, `Conflict` (409) while the run is driven or inside a transaction. A loop
        that fails raises nothing; its status is in the result.
        """
        from . import runs

        self.expect_no_transaction()
        alias, loop = runs.prompt(self, prompt, run, runs.Options(**options))
        runs.drive(self, alias, on_event=on_event, on_proposal=on_proposal, on_driver=on_driver)
        return runs.result(self, alias, loop)

    async def run_async(self, prompt: str, **options: Any) -> Result:
        """`run` for asyncio: it works in a thread, with a connection of its own; cancelling it aborts the loop."""
        return await self._in_thread(lambda db, watch: db.run(prompt, on_driver=watch, **options))

    def resume(
        self,
        run: str,
        *,
        on_event: OnEvent | None = None,
        on_proposal: OnProposal | None = None,
        on_driver: OnDriver | None = None,
    ) -> Result:
        """Drive a run on from its next step, after a kill, an interruption or a decision.

        The callbacks are those of `run`. Raises `NotFound` (404) for an unknown run, `Conflict` (409) while another process
        drives it.
        """
        from . import runs

        runs.drive(self, run, on_event=on_event, on_proposal=on_proposal, on_driver=on_driver)
        return runs.result(self, run)

    async def resume_async(self, run: str, **options: Any) -> Result:
        """`resume` for asyncio; cancelling it aborts the loop."""
        return await self._in_thread(lambda db, watch: db.resume(run, on_driver=watch, **options))

    def abort(self, run: str, reason: str = "aborted") -> None:
        """End the active loop of `run` with status 499; queued prompts stay. Raises `NotFound` (404) for an unknown run."""
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
        """Accept or reject the proposals under `path`, or all open ones of the run; see `engine.runs.resolve`."""
        from . import runs

        runs.resolve(self, run, path, accept, body=body, reason=reason)

    def fork(self, run: str, alias: str | None = None, at: int | None = None) -> str:
        """Fork a run as it is now, or as it was when its turn `at` was sent; returns the child's name."""
        from . import runs

        return runs.fork(self, run, alias, at)

    def purge(self, run: str) -> int:
        """Remove a run for good and return the bytes that the file shrank by; see `engine.purging.purge`."""
        from .purging import purge

        return purge(self, run)

    def sql(self, query: str, bindings: Bindings = ()) -> list[Row]:
        """The rows of one read-only statement, as dicts; raises `PermissionDenied` (403) for one that would write."""
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
