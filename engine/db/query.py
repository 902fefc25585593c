"""Runs one read-only statement; SQLite itself refuses whatever would write, or reach outside of the file.

An authorizer checks each action while the statement is prepared, `query_only` refuses writes while it runs, and a progress
handler ends it after its time or when it takes too much memory. The text of the statement is parsed only to word the error
messages.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import apsw

from engine.errors import EngineError, Overflow, PermissionDenied, ValidationError
from engine.functions import limits

from .clear_errors import function_that_raised
from .missing import look_with

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

    from .database import Bindings, Row, Store

_STEPS = 300
_ROW_BYTES = 200
"""What a row takes besides its texts."""
_LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: limits.SQL_VALUE_BYTES,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: limits.SQL_LIKE_BYTES,
}
NO_STATEMENT = re.compile(r"(?:[\s;]|--[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
"""Blanks, comments and semicolons."""
_ACTIONS = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_RECURSIVE})
# The argument of these pragmas names a table or an index. Those below return a value, and only without an argument.
_ASKING_PRAGMAS = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
    | {"foreign_key_check", "integrity_check", "quick_check", "database_list", "collation_list", "function_list"}
    | {"module_list", "pragma_list", "compile_options"}
)
_TELLING_PRAGMAS = frozenset(
    {"application_id", "user_version", "schema_version", "data_version", "page_count", "page_size", "freelist_count"}
    | {"encoding", "journal_mode", "synchronous", "foreign_keys", "query_only"}
)
REACHING_FUNCTIONS = frozenset(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "fsdir", "zipfile", "sqlar_uncompress"}
)


@dataclass(frozen=True)
class Answer:
    """The rows of a statement under unique column names; `cut` says that there were more rows than the limit."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    cut: bool = False

    def dicts(self) -> list[Row]:
        """The rows as dicts from column name to value."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def read_only_rows(db: Store, query: str, bindings: Bindings = ()) -> list[Row]:
    """All rows of one read-only statement, as dicts. The second column of a name gets a number: `id`, `id_2`.

    Raises what `answer` raises.
    """
    return answer(db, query, bindings).dicts()


def answer(
    db: Store, query: str, bindings: Bindings = (), *, limit: int | None = None, seconds: float = limits.SQL_SECONDS
) -> Answer:
    """The first `limit` rows of one read-only statement, or all rows where `limit` is None.

    Raises `PermissionDenied` (403) for a statement that would write or reach outside of the file, `ValidationError` (400)
    for one that SQLite cannot read and for more than one statement, `Overflow` (413) for a statement, a value or a result
    that is too large, and `EngineError` (504) for a statement that takes longer than `seconds`, or in which a pattern does.
    """
    if len(query) > limits.SQL_TEXT_BYTES:
        raise Overflow(f"the query has more than {limits.SQL_TEXT_BYTES:,} characters; pass long texts as parameters")
    if "\0" in query:
        raise ValidationError("the query contains a NUL; pass texts as parameters")
    with db.looking() as (connection, is_own):
        try:
            return _answer(db, connection, query, bindings, limit, seconds)
        except ValidationError:
            if is_own:
                raise
    with db.held():  # what an app made is known to its own connection alone: a function, an attached file
        return _answer(db, db.connection, query, bindings, limit, seconds)


def _answer(
    db: Store, connection: apsw.Connection, query: str, bindings: Bindings, limit: int | None, seconds: float
) -> Answer:
    refused: list[str] = []
    watch = Watch(seconds)

    def fetched() -> tuple[Answer, limits.Allowance]:
        with confined(connection, refused, watch), limits.Allowance(seconds, watch.is_over) as allowed:
            return _fetched(connection, query, bindings, limit), allowed

    try:
        try:
            found, allowed = fetched()
        except apsw.SQLError as error:
            found, allowed = look_with(connection, fetched, error)
    except (apsw.InterruptError, limits.Stopped) as error:
        raise watch.failure() from error
    except (apsw.TooBigError, apsw.NoMemError, MemoryError) as error:
        raise Overflow(
            f"a value of the query has more than {limits.SQL_VALUE_BYTES:,} bytes; select less at once"
        ) from error
    except (apsw.AuthError, apsw.ReadOnlyError, apsw.BindingsError, apsw.SQLError) as error:
        if refused or isinstance(error, apsw.ReadOnlyError):
            raise PermissionDenied(_refusal(query, refused)) from error
        raise ValidationError(_explained(query, str(error))) from error
    except UnicodeDecodeError as error:
        raise ValidationError(
            "a value is text that is not UTF-8; select hex(...) or cast(... as blob) instead"
        ) from error
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        if name := function_that_raised(error):
            said = f"cannot use these values ({error}); see functions/SPEC.md"
            raise ValidationError(f"{name}() {said}") from error
        with db.clear_errors:
            raise
    except apsw.Error:
        with db.clear_errors:
            raise
    for reason in allowed.failures.values():
        raise EngineError(f"the result of this query would be wrong: {reason}", 504)
    return found


class Watch:
    """Whether a statement has taken its time or its memory. The memory is that of SQLite in this process, which grows."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._most = apsw.memory_used() + limits.SQL_MEMORY_BYTES

    def start_over(self) -> None:
        """Give another statement the same time."""
        self._until = time.monotonic() + self._seconds

    def is_over(self) -> bool:
        """Whether the statement is to end."""
        return time.monotonic() > self._until or apsw.memory_used() > self._most

    def failure(self) -> EngineError:
        """Why the statement was ended."""
        if time.monotonic() > self._until:
            return EngineError(f"the query took longer than {self._seconds:g} s; narrow it, or allow it more time", 504)
        return Overflow(f"the query needs more than {limits.SQL_MEMORY_BYTES:,} bytes of memory; narrow or split it")


def _fetched(connection: apsw.Connection, query: str, bindings: Bindings, limit: int | None) -> Answer:
    columns: list[str] | None = None

    def trace(cursor: apsw.Cursor, statement: str, _: object) -> bool:
        nonlocal columns
        if not NO_STATEMENT.fullmatch(statement):
            refuse_a_second(query[len(statement) :])
            columns = _names(cursor)
        return True

    cursor = connection.cursor()
    cursor.exec_trace = trace
    rows: list[tuple[Any, ...]] = []
    size = 0
    try:
        # A cached statement may have been prepared before the authorizer was set.
        for row in cursor.execute(query, bindings, can_cache=False):
            columns = columns or _names(cursor)  # some pragmas have none before the first row
            if limit is not None and len(rows) >= limit:
                return Answer(_unique(columns), rows, cut=True)
            size += _ROW_BYTES + sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if size > limits.SQL_RESULT_BYTES:
                raise Overflow(
                    f"the result has more than {limits.SQL_RESULT_BYTES:,} bytes; ask for fewer rows or columns"
                )
            rows.append(row)
    finally:
        cursor.close()
    if columns is None:
        raise ValidationError('the query is empty; try "select * from run_overview"')
    return Answer(_unique(columns), rows)


def _names(cursor: apsw.Cursor) -> list[str]:
    return [str(column[0]) for column in cursor.get_description()]


def refuse_a_second(rest: str) -> None:
    """Raise `ValidationError` (400) where something but comments stands behind a statement."""
    if not NO_STATEMENT.fullmatch(rest):
        raise ValidationError(f"one statement at a time; a second one begins at {rest.strip()[:40]!r}")


def _unique(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = f"{name}_{number}"
        found.append(unique)
    return found


@contextmanager
def confined(connection: apsw.Connection, refused: list[str], watch: Watch) -> Iterator[None]:
    """Let `connection` only read, until `watch` ends it; each refused action is added to `refused`."""
    was_confined = connection.execute("pragma query_only").get
    connection.execute("pragma query_only = on")
    before = {kind: connection.limit(kind, min(most, connection.limit(kind))) for kind, most in _LIMITS.items()}
    connection.authorizer = lambda *action: _judge(action, refused)
    connection.set_progress_handler(watch.is_over, _STEPS, id=watch)
    try:
        yield
    finally:
        connection.set_progress_handler(None, id=watch)
        connection.authorizer = None
        for kind, most in before.items():
            connection.limit(kind, most)
        if not was_confined:
            connection.execute("pragma query_only = off")


def _judge(action: tuple[Any, ...], refused: list[str]) -> int:
    code, first, second, *_ = action
    if code in _ACTIONS:
        return apsw.SQLITE_OK
    if code == apsw.SQLITE_FUNCTION:
        allowed, what = str(second).lower() not in REACHING_FUNCTIONS, f"{second}()"
    elif code == apsw.SQLITE_PRAGMA:
        name = str(first).lower()
        allowed = name in _ASKING_PRAGMAS or (name in _TELLING_PRAGMAS and second is None)
        what = f"pragma {name}" + ("" if second is None else f" = {second}")
    else:
        kind = str(apsw.mapping_authorizer_function.get(code, code)).removeprefix("SQLITE_")
        allowed, what = False, " ".join([kind.replace("_", " ").lower(), *([str(first)] if first else [])])
    if not allowed:
        refused.append(what)
    return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY


def _refusal(query: str, refused: list[str]) -> str:
    detail = f" ({refused[0]})" if refused else ""
    return f"only reading is allowed here: {_kind(query)}{detail} is refused; change things through 'engine' or verb_* views"


def _kind(query: str) -> str:
    """The SQL keyword of a statement, such as INSERT; of a statement that begins with `with`, the keyword after that."""
    words: list[str] = re.findall(r"[a-z]+", re.sub(NO_STATEMENT, "", query, count=1).lower()) or ["this"]
    if words[0] == "with" and (parsed := _parsed(query)) is not None:
        words = [str(parsed.key)]
    return words[0].upper()


def _explained(query: str, said: str) -> str:
    """SQLite's error message, with line and column of a syntax error where these can be found."""
    if query.lstrip().startswith("."):
        return f"{said}; commands with a dot, such as .tables, are those of 'engine shell'"
    if said.startswith(("no such table", "no such column")):
        return f"{said}; .tables and .schema of 'engine shell' tell what there is"
    place = _place_of_error(query) if "syntax error" in said or "incomplete" in said else None
    return f"{said}{f' ({place})' if place else ''}; correct the statement"


def _parsed(query: str) -> Expression | None:
    sqlglot = _sqlglot()
    try:
        parsed: Expression = sqlglot.parse_one(query, read="sqlite")
        return parsed
    except sqlglot.errors.SqlglotError:
        return None


def _place_of_error(query: str) -> str | None:
    sqlglot = _sqlglot()
    try:
        sqlglot.parse(query, read="sqlite")
    except sqlglot.errors.ParseError as error:
        return next((f"line {found['line']}, column {found['col']}" for found in error.errors), None)
    except sqlglot.errors.SqlglotError:
        return None
    return None


@cache
def _sqlglot() -> Any:
    """The SQL parser for error messages, imported at first use (0.3 s), with its own warnings switched off."""
    import sqlglot

    logging.getLogger("sqlglot").addHandler(logging.NullHandler())
    return sqlglot


__all__ = ["Answer", "answer", "read_only_rows"]
