"""An open engine file: rows out, rows in, transactions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import apsw

from engine.arguments import check
from engine.errors import Conflict, EngineError, ValidationError
from engine.schema import update as schemas
from engine.schema.build import without_plugins
from engine.schema.header import check_header
from engine.schema.objects import Object, digest
from engine.schema.registration import Clock
from engine.system.own_files import identity
from engine.trust.rights import Rights

from .alone import Alone
from .clear_errors import ClearErrors
from .connections import (
    MEMORY,
    connect_to_read,
    connect_to_write,
    has_log,
    is_name,
    remove_empty_log,
)
from .lines import Line, line_for
from .new_file import NewFile
from .onlooker import Onlooker
from .statements import Bindings, Row, Statements

_CLOSING_S = 2.0
"""How long `close` waits for a statement of another thread; one that takes longer makes it a `Conflict`."""
Synchronous = Literal["FULL", "NORMAL"]


@lru_cache(maxsize=256)
def _insertion(target: str, columns: tuple[str, ...]) -> str:
    """The statement that inserts one row with these columns."""
    names = ", ".join(f'"{name}"' for name in columns)
    places = ", ".join(f":{name}" for name in columns)
    return f"insert into {target} ({names}) values ({places})"  # noqa: S608 - names are ours


_NOTHING = dict.fromkeys(("door", "run", "lease", "path", "body", "attributes"))
_CALL = _insertion("_call_door", tuple(_NOTHING))


class Store(Statements):
    """An open engine file: rows out, rows in, transactions. Any thread may use it: each statement, and each `transaction`,
    has the one connection to itself, and other threads wait for its end.

    Opening creates, migrates and rebuilds the file as needed; see `engine.open` for the arguments and the errors.
    """

    differs: str | None = None
    """Of a file that is open for reading: how it differs from what this build makes, None where it does not."""
    unknown: tuple[Object, ...] = ()
    """Of a file that is open for reading: what on the engine's tables neither the engine nor an installed plugin made."""
    unknown_digest: str = ""
    """What `trust` has to be for these, unless it is True."""
    new_file: NewFile | None = None
    """Of a file that is open for writing with `config`: whether it was made for that."""
    _drivers = 0
    """How many drivers drive runs through this connection."""

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        synchronous: Synchronous,
        read_only: bool,
        clock: Clock,
        trust: schemas.Trust = False,
        config: bool = False,
        admit: schemas.Admit | None = None,
    ) -> None:
        if not is_name(str(path)):
            raise ValidationError(f"{str(path)!r}: is not a valid path: it contains a NUL or is not UTF-8")
        self.path: Path = Path(path)
        self.clear_errors: ClearErrors = ClearErrors(self.path)
        self.place: Path = Path(os.path.realpath(path))
        self.synchronous = synchronous
        self.clock = clock
        self.trust = trust
        self.read_only = read_only
        self.config = config
        self.onlooker: Onlooker = Onlooker()
        self.line: Line = line_for(self.place)
        self._own = Alone(self.place)
        self.rights = Rights(None if str(path) == MEMORY else self.place)
        check_header(self.path, read_only=read_only)
        if not self.path.parent.is_dir():
            raise EngineError(f"{self.path.parent}: no such folder; create it first", 404)
        self._leaves_log = not read_only or has_log(self.path)
        with self.clear_errors:
            if read_only:
                try:
                    self.connection = connect_to_read(self.path, clock)
                    self.clear_errors.limit(self.connection)
                    self._look()
                except BaseException:
                    self.close()
                    raise
            else:
                self.new_file = NewFile(self.path) if config else None
                self.connection = connect_to_write(
                    self.path,
                    clock,
                    synchronous,
                    trust,
                    self.rights,
                    private=config,
                    admit=admit,
                    new=self.new_file,
                )
        self.identity = identity(self.place)

    def _look(self) -> None:
        """Note how the file differs; nobody who reads is hindered by it, nor by a plugin whose SQL is wrong."""
        try:
            if schemas.is_fresh(self.connection):
                self.unknown_digest = digest(())
                return
            standing, wrong = schemas.inspect(self.connection), None
        except ValidationError as error:
            standing, wrong = schemas.inspect(self.connection, without_plugins()), error.message
        if not standing.found and standing.version == 0:
            raise Conflict(
                f"{self.path}: is empty; run 'engine run PROMPT' once, or use engine.open in Python, to create "
                "the database in it"
            )
        self.unknown, self.unknown_digest = standing.unknown, standing.digest
        self.differs = self.clear_errors.differs = wrong or schemas.difference(standing)

    def moved(self) -> bool:
        """Whether the file that is open is no longer the one under its name: what is written now is lost."""
        return self.identity is not None and identity(self.place) != self.identity

    def execute_ahead(self, sql: str, bindings: Bindings = ()) -> None:
        """`execute`, ahead of a transaction of this thread before which nothing is done in the world.

        It is committed, but a power cut before the end of that transaction may undo it.
        """
        self.execute(sql, bindings)

    def held(self) -> AbstractContextManager[Any]:
        """While all statements use the same connection, `connection`, and no other thread uses it."""
        return self._own.alone()

    @contextmanager
    def looking(self) -> Iterator[tuple[apsw.Connection, bool]]:
        """A connection for a statement of an app or a person, and whether it is that of this handle."""
        with self._own.alone(), self.clear_errors:
            connection = self.onlooker.connection_for(self)
        is_own = connection is self.connection
        with self._own.alone() if is_own else self.onlooker.lock:
            yield connection, is_own

    def working(self) -> AbstractContextManager[None]:
        """While several statements follow each other, which are not one transaction; nothing may be waited for inside."""
        return nullcontext()

    def add_wires(self, *triggers: str) -> None:
        """Make temporary triggers, for what this handle does from now on."""
        for trigger in triggers:
            self.execute(trigger)

    def beside(self) -> Store:
        """Another handle on the same file, for a thread that works beside that of this one; close it there."""
        return Store(self.path, synchronous=self.synchronous, read_only=False, clock=self.clock, trust=self.trust)

    @property
    def is_idle(self) -> bool:
        """Whether the file is open, and no transaction is."""
        try:
            return not self.connection.in_transaction
        except apsw.ConnectionClosedError:
            return False

    def expect_no_transaction(self) -> None:
        """Raise `Conflict` (409) inside a transaction: what a run does in the world could not be rolled back with it."""
        if self.in_transaction:
            raise Conflict(f"{self.path}: a run cannot work inside a transaction; commit first, then run or resume it")

    @contextmanager
    def driven(self) -> Iterator[None]:
        """While a run is driven: the file is not closed."""
        with self._own.lock:
            self._drivers += 1
        try:
            yield
        finally:
            with self._own.lock:
                self._drivers -= 1

    def insert(self, target: str, **columns: Any) -> None:
        """Insert one row into a table or a door of the engine."""
        check("the target of a row", target, "a text")
        if not columns:
            raise ValidationError(f"{target}: give at least one column")
        self.execute(_insertion(target, tuple(columns)), columns)

    def call_door(self, door: str, **columns: Any) -> None:
        """Insert one row into verb_set, _begin_turn or dispatch by the statement that they share."""
        self.onlooker.note_door()
        self.execute(_CALL, {**_NOTHING, "door": door, **columns})

    def close(self) -> None:
        """Close the file; closing twice is harmless. Raises `Conflict` (409) while a run is driven through it."""
        if self._drivers:
            raise Conflict(f"{self.path}: a run is working; close the file when the run has ended")
        if hasattr(self, "connection") and not self.clear_errors.is_inherited:
            # a function of an app that was given up may still be at work with it
            self._own.is_free_within(_CLOSING_S)
            with self.clear_errors:
                self.onlooker.close()
                self.connection.close()
        if not self._leaves_log:
            self._leaves_log = True
            remove_empty_log(self.path)

    def keep_if_used(self) -> None:
        """Remove a file, if it was made just now, and with `config`, at the end of a `with` that fails and has committed
        nothing to it.
        """
        if self.new_file is not None:
            self.new_file.begin(self.connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if exception[0] is None:
            self.close()
        else:
            self.close_or_remove()

    def close_or_remove(self) -> None:
        """`close`; a file to which nobody has committed anything since `keep_if_used` is removed."""
        new = self.new_file
        unused = new is not None and new.is_unused(self.connection)
        self.close()
        if new is not None and unused:
            new.remove()


__all__ = ["Bindings", "Row", "Store"]
