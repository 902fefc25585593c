"""Prepares a loop before its first packet: its rules, the tools that it is told of, and the files that its prompt is about.

SQL decides what these are; here they are searched for. Rules are selected in the transaction that renders the packet; what
an embedder may have to be loaded for is searched before it, so that other processes can write meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.handle import Handle

_Found = tuple[str, dict[str, Any]]
"""A door, and what is inserted there."""


def prepare_turn(db: Handle, turn_id: int) -> None:
    """Do what `_preparations` says of a turn; of most it says nothing, and what it would need is not compiled."""
    query = "select what from _preparations where turn_id = ? group by what order by min(place)"
    for (what,) in db.tuples(query, (turn_id,)):
        _PREPARATIONS[what](db, turn_id)


def _prepare_packet(db: Handle, turn_id: int) -> None:
    db.insert("_prepare_packet", turn_id=turn_id)


def _select_rules(db: Handle, turn_id: int) -> None:
    for row in db.rows("select turn_id from _loops_without_rules where turn_id = ?", (turn_id,)):
        if db.value("select 1 from rule_sources limit 1"):
            from engine.rules.imports import look_again

            look_again(db, turn_id)
        db.insert("_choose_rules", **row)


_PREPARATIONS = {"packet": _prepare_packet, "rules": _select_rules}


def search_for_prompt(db: Handle, run: str, turn_id: int, lease: str) -> None:
    """Search what `_due_searches` says of a turn, outside of any transaction, and store what was found in one.

    Raises `Conflict` (409) where another process has taken the run over meanwhile; then nothing of it is stored.
    """
    found: list[_Found] = []
    for what in db.tuples("select what from _due_searches where turn_id = ?", (turn_id,)):
        view, search = _SEARCHES[what[0]]
        for row in db.rows(f"select * from {view} where turn_id = ?", (turn_id,)):  # noqa: S608 - one of two
            found += search(db, **row)
    with db.transaction():
        db.insert("_end_preparation", run=run, lease=lease)
        for door, columns in found:
            db.insert(door, **columns)


def _tools_for(db: Handle, turn_id: int, prompt: str) -> list[_Found]:
    """With an embedder that fails words alone are searched, which is told."""
    from engine.discovery.embedders import embedder
    from engine.discovery.finding import discover_or_words

    chosen = embedder()
    found, failure = discover_or_words(db, prompt, kinds=("tool",), limit=100)
    told = [{"name": each["name"], "score": each["score"], "found_by": each["found_by"]} for each in found]
    name = None if failure else chosen and chosen.name
    return [("_narrow_tools", {"turn_id": turn_id, "found": json.dumps(told), "embedder": name, "failure": failure})]


def _references_for(db: Handle, turn_id: int, scope: str, prompt: str) -> list[_Found]:
    """Nobody asked for this: without an embedder, or with one that fails, there is what words find."""
    from engine.discovery.embedders import EmbedderFailed, embedder
    from engine.discovery.finding import discover

    if embedder() is None:
        return []
    try:
        found = discover(db, prompt, kinds=("reference",), scopes=(scope,), limit=50)
    except EmbedderFailed:
        return []
    meant = [each["entry_id"] for each in found if "meaning" in each["found_by"]]
    return [("_bring_references", {"turn_id": turn_id, "found": json.dumps(meant)})]


_SEARCHES: dict[str, tuple[str, Callable[..., list[_Found]]]] = {
    "tools": ("_unnarrowed_turns", _tools_for),
    "references": ("_unmatched_references", _references_for),
}
"""For each search the view that says whether a turn needs it, and with what; and what searches."""
