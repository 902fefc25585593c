"""The views of a file that people read, with what each promises: the comment that its own `create` begins with.

spec: @people_views
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .database import Store

# A view with a trigger of its own is there to be written to.
_VIEWS = """
select v.name, v.sql
from sqlite_schema as v
where v.type = 'view'
    and v.name not glob '_*'
    and not exists (select 1 from sqlite_schema as t where t.type = 'trigger' and t.tbl_name = v.name)
order by v.name
"""
_COMMENT = re.compile(r"\bas\n((?:[ ]*--[^\n]*\n)+)")
_SENTENCE = re.compile(r".*?(?:\.(?=\s|$)|:(?= select |$))")


@dataclass(frozen=True)
class View:
    """A view by its name, the first sentence of its promise, and all of it ('' for a view of somebody else without one)."""

    name: str
    promise: str
    text: str


def views(store: Store) -> list[View]:
    """The views of the file that are there to be read, by name. Views of modules are there once the file has the module."""
    return [_view(row["name"], row["sql"]) for row in store.rows(_VIEWS)]


def _view(name: str, sql: str) -> View:
    found = _COMMENT.search(sql)
    if found is None:
        return View(name, "", "")
    text = " ".join(line.strip().removeprefix("--").strip() for line in found[1].splitlines())
    sentence = _SENTENCE.match(text)
    return View(name, (sentence[0] if sentence else text).rstrip(":.") + ".", text)
