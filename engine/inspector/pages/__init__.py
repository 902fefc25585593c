"""What each page shows: a module for each, with its queries. The templates of the same names lay it out.

spec: @inspector_pages
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import acts, costs, entries, entry, home, proposals, query, record, run, tree, turn, why

if TYPE_CHECKING:
    from engine.api.database import Database

Page = Callable[["Database", dict[str, str]], dict[str, Any]]
"""Takes the arguments of an address, and gives what its template needs."""

PAGES: Mapping[str, Page] = {
    "": home.page,
    "run": run.page,
    "turn": turn.page,
    "entries": entries.page,
    "entry": entry.page,
    "tree": tree.page,
    "acts": acts.page,
    "why": why.page,
    "record": record.page,
    "costs": costs.page,
    "proposals": proposals.page,
    "sql": query.page,
}

APART = frozenset(("sql", "record"))
"""Pages that may take long; others do not wait for them."""
