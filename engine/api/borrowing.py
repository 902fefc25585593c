"""A handle for a driver that has no connection of its own: it borrows one for each statement, or for each transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.api.database import Database
from engine.db.alone import Alone
from engine.db.clear_errors import ClearErrors
from engine.db.database import Bindings, Row, Store
from engine.db.onlooker import Onlooker
from engine.errors import Conflict

if TYPE_CHECKING:
    import apsw

    from engine.api.pool import Pool
    from engine.tools.app_tools import AppTools


class Borrower(Database):
    """A handle on the file of a pool; only inside a transaction, or a `with` of `held`, it has a connection, for the thread
    that is in it. What belongs to a run is here or in the file, never on a connection.
    """

    _ends_kept_jobs = False

    def __init__(self, pool: Pool) -> None:
        pool.enter()
        owner = pool.owner
        self.path, self.place, self.line = owner.path, owner.place, owner.line
        self.synchronous, self.read_only, self.trust = owner.synchronous, owner.read_only, owner.trust
        self.clock, self.rights, self.config, self.keys = owner.clock, owner.rights, owner.config, owner.keys
        self.app_models, self.app_tools = owner.app_models, owner.app_tools
        self.app_context, self.tracer, self.recorded = owner.app_context, owner.tracer, owner.recorded
        self.kept_jobs, self.onlooker = owner.kept_jobs, Onlooker()
        self.identity = pool.identity
        self.clear_errors = ClearErrors(owner.path)
        self._leaves_log = True
        self._own = Alone(owner.place)
        self._lender = pool
        self._wires: tuple[str, ...] = ()
        self._holds = False
        self._closed = False

    def make_room_for_tools(self) -> AppTools:
        """That of the handle that the connections are like; they are given it when they are borrowed."""
        owner = self._lender.owner
        with owner._pooling:
            self.app_tools = owner.make_room_for_tools()
        return self.app_tools

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """All rows, read with a connection that is borrowed for them."""
        with self.held():
            return super().rows(sql, bindings)

    def tuples(self, sql: str, bindings: Bindings = ()) -> list[tuple[Any, ...]]:
        """The same, as tuples."""
        with self.held():
            return super().tuples(sql, bindings)

    def value(self, sql: str, bindings: Bindings = ()) -> Any:
        """The first column of the first row, or None."""
        with self.held():
            return super().value(sql, bindings)

    def execute(self, sql: str, bindings: Bindings = ()) -> None:
        """Run a statement for what it does; a power cut does not undo it."""
        self.execute_ahead(sql, bindings)
        if not self._holds:
            self._lender.sync()

    def execute_ahead(self, sql: str, bindings: Bindings = ()) -> None:
        """`execute` without waiting for the disk: the transaction that follows does."""
        with self._borrowed(partial(self._lender.writing, self._wires)):
            super().execute(sql, bindings)
            if self.connection.in_transaction and not self._own.is_in_transaction:
                raise Conflict(
                    f"{self.path}: {sql.split()[0]}: is not allowed here; use 'with db.transaction():' instead"
                )

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open; outside of one there is no connection."""
        if self._own.is_kept:
            return False
        with self._own.lock:
            return self._holds and super().in_transaction

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One transaction with one connection; a power cut does not undo it."""
        if self.in_transaction:
            yield
            return
        with self._borrowed(partial(self._lender.writing, self._wires)), super().transaction():
            yield
        self._lender.sync()

    def held(self) -> AbstractContextManager[Any]:
        """While all that is read is read with one connection."""
        return self._borrowed(self._lender.reading)

    @contextmanager
    def looking(self) -> Iterator[tuple[apsw.Connection, bool]]:
        """One that only reads, so that the statements of the one that writes stay compiled; in a transaction that of it."""
        if self.in_transaction:
            yield self.connection, True
            return
        with self._borrowed(self._lender.looking):
            yield self.connection, True

    @contextmanager
    def working(self) -> Iterator[None]:
        """While it is the turn of this thread to write, for several statements."""
        with self._borrowed(partial(self._lender.writing, self._wires)):
            yield
        if not self._holds:
            self._lender.sync()

    def add_wires(self, *triggers: str) -> None:
        """Have what is written from now on written with a connection that has these triggers."""
        self._wires = triggers

    def beside(self) -> Store:
        """Another one of the same pool."""
        return self.shared()

    def shared(self) -> Database:
        """Another one of the same pool."""
        return Borrower(self._lender)

    def close(self) -> None:
        """Give up the handle; closing twice is harmless."""
        super().close()
        if not self._closed:
            self._closed = True
            self.onlooker.close()
            self._lender.leave()

    @contextmanager
    def _borrowed(self, lender: Callable[[], AbstractContextManager[apsw.Connection]]) -> Iterator[None]:
        """While this handle has a connection; the one that it has already, where it has one."""
        with self._own.alone():
            if self._holds:
                yield
                return
            with self._lent(lender):
                yield

    @contextmanager
    def _lent(self, lender: Callable[[], AbstractContextManager[apsw.Connection]]) -> Iterator[None]:
        if self._closed:
            raise Conflict(f"{self.path}: is closed; open it again")
        with self.clear_errors:  # raises in a process that was forked, where nobody gives a connection back
            pass
        with lender() as connection:
            self.connection, self._holds = connection, True
            self.identity = self._lender.identity  # a file that was removed is made when the first connection is opened
            try:
                yield
            finally:
                self._holds = False
                del self.connection
