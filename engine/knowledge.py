"""Prepares a loop before its first packet: its rules, the tools that it is told of, and the files that its prompt is about.

SQL decides what these are; here they are searched for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from .errors import EngineError

if TYPE_CHECKING:
    from .database import Store


def prepare_loop(db: Store, turn_id: int) -> None:
    """Do what `_preparations` says of a turn; of most it says nothing, and what it would need is not compiled."""
    for what in db.tuples("select what from _preparations where turn_id = ?", (turn_id,)):
        view, step = _STEPS[what[0]]
        for row in db.rows(f"select * from {view} where turn_id = ?", (turn_id,)):  # noqa: S608 - one of three
            step(db, **row)


def _select_rules(db: Store, turn_id: int) -> None:
    db.insert("select_rules", turn_id=turn_id)


def _narrow_tools(db: Store, turn_id: int, prompt: str) -> None:
    """An embedder that fails ends the driving (500): whoever asked for this is told."""
    from .discovery import discover
    from .embedders import embedder

    chosen = embedder()
    found = discover(db, prompt, kinds=("tool",), limit=100)
    told = [{"name": each["name"], "score": each["score"], "found_by": each["found_by"]} for each in found]
    db.insert("_narrow_tools", turn_id=turn_id, found=json.dumps(told), embedder=chosen and chosen.name)


def _bring_references(db: Store, turn_id: int, scope: str, prompt: str) -> None:
    """Nobody asked for this: without an embedder, or with one that fails, there is what words find."""
    from .discovery import discover
    from .embedders import embedder

    if embedder() is None:
        return
    try:
        found = discover(db, prompt, kinds=("reference",), scopes=(scope,), limit=50)
    except EngineError:
        return
    meant = [each["entry_id"] for each in found if "meaning" in each["found_by"]]
    db.insert("_bring_references", turn_id=turn_id, found=json.dumps(meant))


_STEPS: dict[str, tuple[str, Callable[..., None]]] = {
    "rules": ("_loops_without_rules", _select_rules),
    "tools": ("_unnarrowed_turns", _narrow_tools),
    "references": ("_unmatched_references", _bring_references),
}
"""For each preparation the view that says whether a turn still needs it, and with what; and what does it."""
