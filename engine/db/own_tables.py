"""Which statements a tool of an app may run beside its result: those that read, and those that write the app's own tables.

SQLite itself says what a statement would do, while it prepares it. Nothing is carried out here.

spec: @context_db
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from engine.errors import PermissionDenied, ValidationError
from engine.schema.build import installed

from .connections import MEMORY, connect_beside
from .query import NO_STATEMENT, REACHING_FUNCTIONS, refuse_a_second

if TYPE_CHECKING:
    from .database import Bindings, Store

_READING = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE})
_WRITING = {apsw.SQLITE_INSERT: "insert into", apsw.SQLITE_UPDATE: "update", apsw.SQLITE_DELETE: "delete from"}
_ACTING_FUNCTIONS = REACHING_FUNCTIONS | {"late_call", "needs_module", "fail"}
"""Functions that do something in the file, or outside of it."""
_VARYING_FUNCTIONS = frozenset(
    {
        "random", "randomblob", "date", "time", "datetime", "julianday", "unixepoch", "strftime",
        "current_date", "current_time", "current_timestamp",
    }
)  # fmt: skip
"""Functions that may give something else when a statement is carried out once more."""
_CALL = r"""{}["'`\]]?(?:\s|--[^\n]*|/\*(?s:.*?)\*/)*\("""
"""A call in the text of a statement, with whatever may stand between the name and its arguments."""
_SHADOWS = "select 1 from temp.sqlite_schema where type in ('table', 'view') limit 1"
"""A temporary table takes the place of a table of its name, on its own connection only."""
_UNKNOWN = ("no such function", "no such table", "no such module", "no such collation", "unknown database")


class Use(NamedTuple):
    """What a statement does: whether it writes, reads what others than the engine write, takes the time or chance."""

    writes: bool
    reads_own: bool
    varies: bool


class OwnTables:
    """What is known of the statements of tools on one file; any thread may ask. A statement is looked at once."""

    def __init__(self) -> None:
        self._known: dict[str, Use] = {}
        self._lock = threading.Lock()
        self._beside: apsw.Connection | None = None

    def use(self, db: Store, sql: str, bindings: Bindings) -> Use:
        """What a statement does. Raises `PermissionDenied` (403) for one that a tool may not run, `ValidationError` (400)
        for one that SQLite cannot read, and for more than one.
        """
        with db.held():
            shadowed = any(True for _ in db.connection.execute(_SHADOWS))
        if not shadowed and (known := self._known.get(sql)) is not None:
            return known
        if not isinstance(sql, str) or "\0" in sql:
            raise ValidationError("a statement must be a text without NUL; pass values as parameters")
        with self._lock, db.clear_errors:
            found = self._looked_at(db, sql, bindings, beside=not shadowed)
            if not shadowed:
                self._known[sql] = found
        return found

    def close(self) -> None:
        """Close the connection that looks; closing twice is harmless."""
        with self._lock:
            if self._beside is not None:
                self._beside.close()
                self._beside = None

    def _looked_at(self, db: Store, sql: str, bindings: Bindings, *, beside: bool) -> Use:
        if beside and str(db.path) != MEMORY:
            if self._beside is None:
                self._beside = connect_beside(db.path, db.clock, db.rights)
            try:
                return _use(self._beside, sql, bindings)
            except apsw.SQLError as error:
                if not str(error).startswith(_UNKNOWN):
                    raise
        with db.held():  # what an app made is known to its own connection alone: a function, an attached file
            return _use(db.connection, sql, bindings)


def _use(connection: apsw.Connection, sql: str, bindings: Bindings) -> Use:
    refused: list[str] = []
    seen: list[tuple[int, str]] = []
    writes: list[bool] = []

    def judge(*action: Any) -> int:
        seen.append((action[0], str(action[2 if action[0] == apsw.SQLITE_FUNCTION else 1]).lower()))
        if (what := _refusal(sql, *action)) is not None:
            refused.append(what)
            return apsw.SQLITE_DENY
        return apsw.SQLITE_OK

    def trace(cursor: apsw.Cursor, statement: str, _: object) -> bool:
        if NO_STATEMENT.fullmatch(statement):
            return True
        refuse_a_second(sql[len(statement) :])
        writes.append(not cursor.is_readonly)
        return False

    cursor = connection.cursor()
    cursor.exec_trace = trace
    connection.authorizer = judge
    try:
        cursor.execute(sql, bindings, can_cache=False)
    except apsw.ExecTraceAbort:
        pass
    except (apsw.AuthError, apsw.SQLError):
        if refused:
            raise PermissionDenied(f"a tool may write only tables of the app: {refused[0]} is refused") from None
        raise
    finally:
        connection.authorizer = None
        cursor.close(True)
    if not writes:
        raise ValidationError("the statement is empty")
    if writes[0] and not any(code in _WRITING for code, _ in seen):
        raise PermissionDenied(f"a tool may write only tables of the app: {sql.split()[0]} is refused")
    names = installed().fresh.by_name
    return Use(
        writes[0],
        any(code == apsw.SQLITE_READ and name not in names for code, name in seen),
        any(code == apsw.SQLITE_FUNCTION and name in _VARYING_FUNCTIONS for code, name in seen),
    )


def _refusal(
    sql: str, code: int, first: str | None, second: str | None, database: str | None, inside: str | None
) -> str | None:
    """What is refused of an action, as SQLite tells its authorizer; None for what a tool may do.

    `inside` is the trigger or view that does it: what the app has written into the schema is the app's. It is the name of a
    part of the statement too (`with a as …`), so a function counts as one of the schema only where the text calls none.
    """
    if code in _READING or code == apsw.SQLITE_READ:
        return None
    if code == apsw.SQLITE_FUNCTION:
        name = str(second).lower()
        is_own = name in _ACTING_FUNCTIONS and (inside is None or re.search(_CALL.format(name), sql, re.IGNORECASE))
        return f"{second}()" if is_own else None
    table = str(first)
    if code in _WRITING:
        is_engines = table.lower() in installed().fresh.by_name or table.lower().startswith("sqlite_")
        return f"{_WRITING[code]} {table}" if inside is None and (is_engines or database != "main") else None
    kind = str(apsw.mapping_authorizer_function.get(code, code)).removeprefix("SQLITE_")
    return " ".join([kind.replace("_", " ").lower(), *([table] if first else [])])
