"""Performs a get with `like`: lists the entries that are about a text, the best first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.functions.counts import counted

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle

_MOST = 10


def perform(db: Handle, effect: Row) -> dict[str, Any]:
    """Find what an effect asks for among the entries of its run; returns the columns of its `_finish_effect`.

    With an embedder that fails words alone are searched, and the message says so.
    """
    from engine.discovery.embedders import embedder
    from engine.discovery.finding import discover_or_words

    db.install("discovery")
    asked = db.row("select * from _find_requests where effect_id = ?", (effect["effect_id"],))
    assert asked is not None, "an effect of this kind has its request"
    found, failure = discover_or_words(
        db, asked["query"], kinds=("entry", "skill"), pattern=asked["pattern"], run_id=asked["run_id"], limit=_MOST
    )
    lines = db.rows(
        "select l.line from json_each(:found) as j "
        "join _find_lines as l on l.effect_id = :effect and l.text_id = j.value order by j.key",
        {"found": json.dumps([row["text_id"] for row in found]), "effect": effect["effect_id"]},
    )
    how = "in words and meaning" if embedder() else "in words"
    if failure:
        how = f"in words alone ({failure})"
    heading = f"{counted(len(lines), 'entry is', 'entries are')} like this {how}, nearest first; get the ones you need"
    return {"state": "resolved", "message": "\n".join([heading, *(row["line"] for row in lines)])}
