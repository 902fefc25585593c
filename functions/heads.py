"""The metadata that an entry shows in a packet."""

from __future__ import annotations

import json
from typing import Any

from . import Function

_LOG = ("action", "target", "to", "tags")
_DATA = ("command", "channel", "summary", "tags")


def entry_head(
    category: str | None,
    turn: int | None,
    state: str | None,
    outcome: str | None,
    status: int | None,
    attributes: str | None,
) -> str:
    """The head of an entry as compact JSON without its last brace: what follows depends on the loop that shows it.

    `status` is the HTTP status of `state` and `outcome`. Log entries show what was done to what and how it went; others
    show what they are. What is as usual (status 200, resolved) is left out, and so is whatever is NULL.
    """
    given: dict[str, Any] = json.loads(attributes) if attributes else {}
    head: dict[str, Any] = {"turn": turn}
    if category == "logging":
        head |= {name: given[name] for name in _LOG[:3] if given.get(name) is not None}
        # an error carries its own status; a failed action has that of its outcome
        named = outcome is None or outcome.startswith("status:") or state != "failed"
        head["status"] = (given.get("status") if named else None) or _unusual(status)
    else:
        head |= {"status": _unusual(status), "state": None if state == "resolved" else state}
    head["outcome"] = outcome
    names = _LOG[3:] if category == "logging" else _DATA
    head |= {name: given[name] for name in names if given.get(name) is not None}
    shown = {name: value for name, value in head.items() if value is not None}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))[:-1]


def _unusual(status: int | None) -> int | None:
    return None if status == 200 else status


FUNCTIONS = (Function("entry_head", 6, entry_head),)
