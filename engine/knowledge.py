"""Prepares a loop before its first packet: its rules, and the tools that it is told of. SQL decides what that is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .database import Store


def prepare_loop(db: Store, turn_id: int) -> None:
    """Do what `_unprepared_turns` says of a turn; of most it says nothing, and what it would need is not compiled."""
    for row in db.rows("select what, prompt from _unprepared_turns where turn_id = ?", (turn_id,)):
        _STEPS[row["what"]](db, turn_id, row["prompt"])


def _select_rules(db: Store, turn_id: int, _: str) -> None:
    db.insert("select_rules", turn_id=turn_id)


def _narrow_tools(db: Store, turn_id: int, prompt: str) -> None:
    from .discovery import discover
    from .embedders import embedder

    chosen = embedder()
    found = discover(db, prompt, kinds=("tool",), limit=100)
    told = [{"name": row["name"], "score": row["score"], "found_by": row["found_by"]} for row in found]
    db.insert("_narrow_tools", turn_id=turn_id, found=json.dumps(told), embedder=chosen and chosen.name)


_STEPS = {"rules": _select_rules, "tools": _narrow_tools}
