"""Reads the rows of a plan's sources from file after file. A file that cannot be read is reported, and the next one is read.

Only files with the rules of this build are read, so no view of somebody else runs. Each statement is confined as one of
`engine sql`: it may only read, for some seconds.

spec: @fleet_sql
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import apsw

from engine.db.database import Store
from engine.db.missing import shown
from engine.db.one_state import one_state
from engine.db.query import Watch, confined
from engine.errors import Conflict, EngineError, NotFound, PermissionDenied, ValidationError
from engine.functions import limits
from engine.schema.build import installed
from engine.schema.header import check_header
from engine.schema.modules import present
from engine.schema.registration import register, system_clock
from engine.schema.update import is_fresh

from .planning import Source
from .still_file import State, StillConnection, is_unchanged, still_state

_GROUPS = 8
"""So many schemas are kept prepared: files with other modules have other schemas."""
Rows = list[tuple[object, ...]]


class FileReport(NamedTuple):
    """How a file was read: `state` is read, in use (read, while it has a log beside it) or left out, with the reason."""

    file: str
    state: str
    reason: str | None = None


class Reader:
    """Reads files for one thread; close it there."""

    def __init__(self, sources: Sequence[Source], seconds: float = limits.SQL_SECONDS) -> None:
        self._sources = sources
        self._watch = Watch(seconds)
        self._groups: list[_Group] = []
        self._open = ExitStack()

    def read(self, path: Path) -> tuple[FileReport, list[Rows]]:
        """The rows of each source in a file; none for one that is left out."""
        self._watch.start_over()
        name = str(path)
        try:
            check_header(path, read_only=True)
            if not path.exists():
                raise NotFound("there is no such file")
            state = still_state(name)
            found = None if state is None else self._still(name, state)
            if found is not None:
                return FileReport(name, "read"), found
            rows = self._opened(path)
            return FileReport(name, "in use" if state is None and _has_log(path) else "read"), rows
        except _QueryError as error:
            raise error.told from None
        except (EngineError, OSError, apsw.Error, UnicodeDecodeError, MemoryError) as error:
            return FileReport(name, "left out", _reason(name, error)), [[] for _ in self._sources]

    def close(self) -> None:
        """Close what is open."""
        self._open.close()

    def _still(self, name: str, state: State) -> list[Rows] | None:
        """The rows of a file that nobody writes; None if somebody has begun to."""
        for place, group in enumerate(self._groups):
            if group.exchange(name):
                self._groups.insert(0, self._groups.pop(place))
                break
        else:
            if len(self._groups) >= _GROUPS:
                return None
            group = _Group(name, self._sources, self._watch)
            self._open.callback(group.close)
            self._groups.insert(0, group)
        rows = group.rows(name)
        return rows if is_unchanged(name, state) else None

    def _opened(self, path: Path) -> list[Rows]:
        _expect_unlocked(path)
        with Store(path, synchronous="FULL", read_only=True, clock=system_clock) as store, ExitStack() as stack:
            _judge(store)
            stack.enter_context(store.held())
            _show_missing(store.connection, self._sources, stack)
            stack.enter_context(one_state(store))
            stack.enter_context(_confined(store.connection, self._watch))
            return _rows(store.connection, self._sources, str(path), self._watch)


class _Group:
    """Files with the same schema, through one connection."""

    def __init__(self, name: str, sources: Sequence[Source], watch: Watch) -> None:
        self._still = StillConnection(name)
        self._sources = sources
        self._watch = watch
        self._stack = ExitStack()
        self._stack.callback(self._still.close)
        try:
            register(self._still.connection, system_clock)
            if not is_fresh(self._still.connection):
                with Store(name, synchronous="FULL", read_only=True, clock=system_clock) as store:
                    _judge(store)
            _show_missing(self._still.connection, sources, self._stack)
            self._stack.enter_context(_confined(self._still.connection, watch))
        except BaseException:
            self.close()
            raise

    def exchange(self, name: str) -> bool:
        try:
            return self._still.exchange(name)
        except apsw.Error:
            return False

    def rows(self, name: str) -> list[Rows]:
        return _rows(self._still.connection, self._sources, name, self._watch)

    def close(self) -> None:
        self._stack.close()


def _confined(connection: apsw.Connection, watch: Watch) -> ExitStack:
    stack = ExitStack()
    stack.enter_context(confined(connection, [], watch))
    return stack


def _rows(connection: apsw.Connection, sources: Iterable[Source], name: str, watch: Watch) -> list[Rows]:
    try:
        with limits.Allowance(limits.SQL_SECONDS, watch.is_over):
            return [connection.execute(source.sql, (name,)).fetchall() for source in sources]
    except (apsw.InterruptError, limits.Stopped) as error:
        raise watch.failure() from error
    except (apsw.SQLError, apsw.AuthError) as error:
        raise _QueryError(name, error) from None


class _QueryError(Exception):
    """What is wrong with the query, not with the file: all ends."""

    def __init__(self, name: str, error: apsw.Error) -> None:
        self.told: EngineError = ValidationError(f"{name}: {error}; correct the query")
        if isinstance(error, apsw.AuthError):
            self.told = PermissionDenied("only reading is allowed here: a function of the query is refused")
        super().__init__(str(error))


def _judge(store: Store) -> None:
    """Refuse a file with other rules than this build's; triggers of others do not run when somebody reads."""
    strange = [each for each in store.unknown if each.type != "trigger"]
    if strange:
        raise Conflict(
            f"has objects of others in the place of the engine's, such as {strange[0]}; 'engine trust' shows them"
        )
    if store.differs:
        raise Conflict(f"{store.differs}; to update it: engine migrate")


def _show_missing(connection: apsw.Connection, sources: Iterable[Source], stack: ExitStack) -> None:
    """Show views of modules that the file has not taken in as views that hold nothing."""
    owners, there = installed().owners, present(connection)
    missing = sorted({owner for each in sources if (owner := owners.get(each.view)) is not None and owner not in there})
    if missing:
        stack.enter_context(shown(connection, missing))


def _expect_unlocked(path: Path) -> None:
    """Refuse a file that somebody has locked for himself, instead of waiting for him."""
    with closing(_Locked(path)) as file:
        file.try_once()


class _Locked:
    def __init__(self, path: Path) -> None:
        flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
        self._file = apsw.VFSFile("", str(path.resolve()), flags)

    def try_once(self) -> None:
        try:
            self._file.xLock(apsw.SQLITE_LOCK_SHARED)
            self._file.xUnlock(apsw.SQLITE_LOCK_NONE)
        except apsw.BusyError:
            raise Conflict("is locked by another process; try again when that process has ended") from None

    def close(self) -> None:
        self._file.xClose()


def _has_log(path: Path) -> bool:
    return any(Path(f"{path.resolve()}{ending}").exists() for ending in ("-wal", "-journal"))


def _reason(name: str, error: BaseException) -> str:
    match error:
        case EngineError():
            return error.message.removeprefix(f"{name}: ")
        case OSError():
            return f"cannot be read ({error.strerror or error})"
        case UnicodeDecodeError():
            return "holds text that is not UTF-8; ask for hex(...) of it"
        case MemoryError():
            return "holds more than fits into the memory; ask for fewer rows or columns"
        case apsw.BusyError():
            return "is locked by another process; try again when that process has ended"
        case apsw.CorruptError() | apsw.NotADBError() | apsw.IOError():
            return f"is damaged ({error}); 'engine doctor' checks it"
    return f"cannot be read ({error})"


__all__ = ["FileReport", "Reader", "Rows"]
