"""One handle for many: threads and asyncio share its connections.

spec: @python_contract
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

from engine.db.connections import MEMORY
from engine.errors import Conflict, ValidationError
from engine.handle import Handle

if TYPE_CHECKING:
    from os import PathLike

    from engine.api.asyncio_handles import Handles
    from engine.api.database import Database
    from engine.api.pool import Pool


class SharedHandle(Handle):
    """An open file with a pool of connections, for drivers in other threads and for asyncio."""

    _pool: Pool | None = None
    _asyncio_handles: Handles | None = None
    _pool_closed = False
    sends_traces = False
    """Whether the tracer ends with this handle."""
    _ends_kept_jobs = True
    """Whether the commands that were kept end with this handle, and not with the one that it comes from."""

    def close(self) -> None:
        """Close the file; closing twice is harmless. Raises `Conflict` (409) while a run is driven through this handle.

        Commands in the background that were kept beyond their runs are ended, which takes some seconds at most. What asyncio
        awaits has a handle of its own: a run that is driven goes on to its end, one that is followed raises `Conflict`.
        """
        super().close()
        if self._ends_kept_jobs:
            self.kept_jobs.close()
            if self.tracer is not None and self.sends_traces:
                self.tracer.close()
            if self.app_tools is not None and self._pool is None:
                self.app_tools.close()
        if self._asyncio_handles is not None:
            self._asyncio_handles.close()
        with self._pooling:
            self._pool_closed = True
            if self._pool is not None:
                self._pool.close()

    async def close_async(self) -> None:
        """`close` for asyncio."""
        from engine.system.in_thread import in_thread

        await in_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close_async()

    def again(self, *, tools: bool = True) -> Database:
        """Another handle on the same file, for another thread; close it there. Models call its functions with `tools`."""
        from engine.api.database import Database

        if str(self.path) == MEMORY:
            raise ValidationError("a database in memory has only one handle; to use several threads, open a file")
        db = Database(
            self.path,
            synchronous=self.synchronous,
            read_only=self.read_only,
            clock=self.clock,
            trust=self.trust,
            config=self.config,
        )
        db.app_models, db.keys = self.app_models, self.keys
        db.kept_jobs, db._ends_kept_jobs = self.kept_jobs, False
        db.app_context, db.tracer = self.app_context, self.tracer
        if tools:
            db.use_tools(self.app_tools)
        return db

    def elsewhere(self, path: str | PathLike[str]) -> Database:
        """A handle on a copy of the file, with the keys, models and tools of this one; close it."""
        from engine.api.database import Database

        db = Database(path, synchronous="NORMAL", read_only=False, clock=self.clock, trust=True)
        db.app_models, db.keys, db.app_context = self.app_models, self.keys, self.app_context
        # they belong to the handle that this one comes from
        db.kept_jobs, db._ends_kept_jobs = self.kept_jobs, False
        db.use_tools(self.app_tools)
        return db

    def shared(self) -> Database:
        """A handle for a driver in another thread, which borrows a connection when it needs one; close it there.

        Raises `Conflict` (409) where this one was closed, `ValidationError` (400) for a database in memory.
        """
        from engine.api.borrowing import Borrower
        from engine.api.pool import Pool

        if str(self.path) == MEMORY:
            raise ValidationError("a database in memory has only one handle; to use several threads, open a file")
        with self._pooling:
            if self._pool_closed:
                raise Conflict(f"{self.path}: is closed; open it again")
            if self._pool is None or self._pool.moved():
                last, self._pool = self._pool, Pool(self)
                if last is not None:
                    last.close()
            return Borrower(self._pool)

    @property
    def _pooling(self) -> threading.Lock:
        """Held by who makes a pool, or closes it for good."""
        lock: threading.Lock = self.__dict__.setdefault("_pool_lock", threading.Lock())
        return lock

    @property
    def _handles(self) -> Handles:
        from engine.api.asyncio_handles import Handles

        with self._pooling:
            if self._asyncio_handles is None:
                self._asyncio_handles = Handles(cast("Database", self))
            return self._asyncio_handles
