"""Reads views as tables: their columns with types and descriptions, and their rows, all from one state of the file.

spec: @export
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import apsw

from engine.db.view_list import View, views
from engine.errors import NotFound, ValidationError

if TYPE_CHECKING:
    from engine.db.database import Store

LEFT_OUT = ("context_at", "context_changes")
"""Views with a row for each pair of a turn and an entry, or more: they are exported if somebody names them."""

_OWN = "select name from engine_objects where type = 'view'"
_COLUMNS = 'select name, type from pragma_table_info("{}")'
_NAME = re.compile(r"[A-Za-z0-9_]{1,100}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_CLAUSE = re.compile(r"(?<=[.;])\s+|(?<=\)): ")
_DECLARED = {"INTEGER": "integer", "INT": "integer", "REAL": "number"}
# What the engine's columns of these names hold, for one that is computed and has no value yet.
_NAMED = {
    "number": re.compile(r"(\w+_)?(cost|seconds|days)|price_\w+"),
    "integer": re.compile(
        r"(\w+_)?(id|tokens|turn|loop|turns|status|lines|chars|bytes|place|ordinal)|ms_\w+|exit_code"
    ),
    "time": re.compile(r"\w+_at"),
}


@dataclass
class Column:
    """A column: its name, its description, and what its values were so far."""

    name: str
    description: str
    declared: str
    kinds: set[str]

    @property
    def type(self) -> str:
        """integer, number, text, time, day or bytes; of a column without values as declared or named."""
        match self.kinds:
            case kinds if not kinds:
                named = (kind for kind, names in _NAMED.items() if names.fullmatch(self.name))
                return _DECLARED.get(self.declared) or next(named, "text")
            case kinds if kinds == {"integer"}:
                return "integer"
            case kinds if kinds <= {"integer", "number"}:
                return "number"
            case kinds if len(kinds) == 1:
                return next(iter(kinds))
        return "text"

    def note(self, value: Any) -> None:
        """Note the kind of a value."""
        match value:
            case None:
                return
            case int():
                self.kinds.add("integer")
            case float():
                self.kinds.add("number")
            case bytes():
                self.kinds.add("bytes")
            case _ if self.name.endswith("_at") and _TIME.fullmatch(value):
                self.kinds.add("time")
            case _ if self.name == "day" and _DAY.fullmatch(value):
                self.kinds.add("day")
            case _:
                self.kinds.add("text")


@dataclass(frozen=True)
class Exported:
    """A view that is exported: its description and its columns, whose types are known once all rows were read."""

    name: str
    description: str
    columns: list[Column]


def chosen(db: Store, names: Sequence[str] | None) -> list[View]:
    """The views of these names; for None the engine's own but those in `LEFT_OUT`.

    Raises `NotFound` (404) for a name that is no view to be read, `ValidationError` (400) for one that cannot name a file.
    """
    there = {view.name: view for view in views(db)}
    if names is None:
        own = {str(name) for (name,) in db.tuples(_OWN)} - set(LEFT_OUT)
        return [view for name, view in there.items() if name in own]
    for name in names:
        if name not in there:
            raise NotFound(f"view {name!r}: there is no such view; 'engine sql --views' lists them")
        if not _NAME.fullmatch(name):
            raise ValidationError(f"view {name!r}: cannot name a file; use letters, digits and '_'")
    return [there[name] for name in dict.fromkeys(names)]


def table(db: Store, view: View) -> Exported:
    """A view with its columns; raises `ValidationError` (400) for one that SQLite cannot read."""
    try:
        found: list[Any] = db.connection.execute(_COLUMNS.format(view.name)).fetchall()
    except apsw.SQLError as error:
        raise ValidationError(f"view {view.name!r}: {error}") from None
    columns = [Column(name, _about(view.text, name), declared.upper(), set()) for name, declared in found]
    return Exported(view.name, view.text, columns)


def rows(db: Store, of: Exported) -> Iterator[tuple[Any, ...]]:
    """The rows, one after the other; the columns note what they are.

    Raises `ValidationError` (400) for a text that is not UTF-8, and for a view that SQLite cannot read.
    """
    try:
        # the name was listed by the file
        for row in db.connection.execute(f'select * from "{of.name}"'):  # noqa: S608
            for column, value in zip(of.columns, row, strict=True):
                column.note(value)
            yield row
    except UnicodeDecodeError:
        raise ValidationError(f"view {of.name!r}: a value is text that is not UTF-8") from None
    except apsw.SQLError as error:
        raise ValidationError(f"view {of.name!r}: {error}") from None


def _about(text: str, column: str) -> str:
    """The clauses of a view's promise that name a column."""
    return " ".join(clause for clause in _CLAUSE.split(text) if f"'{column}'" in clause)
