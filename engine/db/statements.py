"""The statements of an open engine file: rows out, writes, transactions, modules taken in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import apsw

from engine.errors import NeedsModule, NotFound
from engine.functions.limits import Allowance
from engine.schema.build import installed
from engine.schema.install import install

from .alone import Alone
from .clear_errors import ClearErrors
from .lines import Line
from .missing import run_with

Bindings = Sequence[Any] | Mapping[str, Any]
Row = dict[str, Any]
Result = TypeVar("Result")


def _dicts(cursor: apsw.Cursor) -> list[Row]:
    """The rows of a statement as dicts."""
    try:
        names = [column[0] for column in cursor.get_description()]
    except apsw.ExecutionCompleteError:
        return []
    return [dict(zip(names, row, strict=True)) for row in cursor]


class Statements:
    """What an open file does statement by statement. Each statement has the one connection to itself, in any thread."""

    connection: apsw.Connection
    """What the methods use; called directly, it raises errors of apsw."""
    clear_errors: ClearErrors
    line: Line
    _own: Alone

    def _run(self, sql: str, bindings: Bindings, take: Callable[[apsw.Cursor], Result]) -> Result:
        """What `take` reads of a statement. What it names of a module that the file does not have is there for it."""

        def run() -> Result:
            cursor = self.connection.execute(sql, bindings)
            try:
                return take(cursor)
            finally:
                cursor.close(True)  # who keeps an error would keep what is read as it is now

        with self._own.alone(), self.clear_errors:
            try:
                return run()
            except apsw.SchemaChangeError:  # another process took a module in at this moment; nothing was done
                return run()
            except (apsw.SQLError, NeedsModule) as error:
                return run_with(self.connection, sql, run, error)

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """All rows of a statement, each a dict from column name to value."""
        return self._run(sql, bindings, _dicts)

    def tuples(self, sql: str, bindings: Bindings = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement as tuples, where there are many."""
        return self._run(sql, bindings, apsw.Cursor.fetchall)

    def row(self, sql: str, bindings: Bindings = ()) -> Row | None:
        """The first row of a statement, or None."""
        found = self.rows(sql, bindings)
        return found[0] if found else None

    def value(self, sql: str, bindings: Bindings = ()) -> Any:
        """The first column of the first row of a statement, or None."""
        found = self._run(sql, bindings, apsw.Cursor.fetchone)
        return found[0] if found else None

    def execute(self, sql: str, bindings: Bindings = ()) -> None:
        """Run a statement for what it does; the patterns in it have the allowance of one statement."""
        # in this order: who waits for the file keeps nobody from reading with this handle
        turn = nullcontext() if self.in_transaction else self.line.turn()
        with turn, Allowance():
            self._run(sql, bindings, apsw.Cursor.fetchall)

    def has(self, module: str) -> bool:
        """Whether the file has taken in a module."""
        return bool(self.value("select count(*) from engine_modules where name = ?", (module,)))

    def install(self, *modules: str) -> None:
        """Take modules into the file, with what they need. Nothing happens for those that it has.

        Raises `NotFound` (404) for a name of none, `Conflict` (409) where something else has a name of theirs.
        """
        names = [module.name for module in installed().offered]
        for unknown in [module for module in modules if module not in names]:
            raise NotFound(f"module {unknown!r}: not found; the modules are {', '.join(names)}")
        if not all(map(self.has, modules)):
            with self.transaction(), self.clear_errors:
                install(self.connection, modules)

    def take_in(self, run: str) -> None:
        """Take in the modules that a run needs and its file lacks."""
        wanted = self.tuples("select module from _wanted_modules where run = ?", (run,))
        if wanted:
            self.install(*(module for (module,) in wanted))

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, but for one of another thread."""
        if self._own.is_kept:
            return False
        with self._own.lock, self.clear_errors:
            return self.connection.in_transaction

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One transaction, begun as a writer; an error rolls all of it back. Inside another one it is part of that.

        Other threads wait for its end. Raises `Conflict` (409) where another one keeps a transaction open.
        """
        if self.in_transaction:
            yield
            return
        with self.line.turn(), self._own.kept():
            try:
                self.execute("begin immediate")
                yield
                self.execute("commit")
            except BaseException:
                # an interruption may come at the begin and at the commit too
                if self.connection.in_transaction:
                    self.connection.execute("rollback")
                raise

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A transaction, or a part of the one that is open: an error rolls back what was done in it."""
        with self.transaction():
            self.execute("savepoint part")
            try:
                yield
            except BaseException:
                if self.in_transaction:  # a full disk ends all of it
                    self.execute("rollback to part")
                raise
            finally:
                if self.in_transaction:
                    self.execute("release part")
