"""The metadata that an entry shows in a packet."""

from __future__ import annotations

import json
from typing import Any

from .compact import to_json
from .fences import escape_json

_decode = json.JSONDecoder().raw_decode
_ACTION = ("action", "target", "to")
_TAGS = ("tags",)
_DATA = ("title", "date", "command", "channel", "summary", "tags", "picture")


def entry_head(
    category: str | None,
    turn: int | None,
    state: str | None,
    outcome: str | None,
    status: int | None,
    attributes: str | None,
) -> str:
    """The head of an entry as compact JSON without its last brace, behind which a packet adds what depends on its loop.

    `status` is the HTTP status of `state` and `outcome`, `attributes` a JSON object. The head of a log entry has the
    action, its target and its status; that of another entry has its state and its tags. Usual values (status 200, state
    resolved), NULL and '' are left out. It holds nothing that could be read as a fence or a tag (`fence_json`).
    """
    if not attributes and state == "resolved" and status == 200 and outcome is None and turn is not None:
        return f'{{"turn":{turn}'
    given = _given(attributes)
    logged = category == "logging"
    # an error entry has its own status; a failed action has that of its outcome
    if logged and (outcome is None or state != "failed"):
        status = given.get("status") or status
    head: dict[str, Any] = {} if turn is None else {"turn": turn}
    if logged:
        _take(head, given, _ACTION)
    if status is not None and (status != 200 or (logged and "status" in given)):
        head["status"] = status
    if state and not logged and state != "resolved":
        head["state"] = state
    if outcome:
        head["outcome"] = outcome
    _take(head, given, _TAGS if logged else _DATA)
    return escape_json(to_json(head)[:-1])


def _given(attributes: str | None) -> dict[str, Any]:
    """The attributes of an entry; none where they are nested too deeply to be read."""
    try:
        return _decode(attributes.lstrip())[0] if attributes else {}
    except RecursionError:
        return {}


def _take(head: dict[str, Any], given: dict[str, Any], names: tuple[str, ...]) -> None:
    """Put those of `names` into `head` that `given` has a value for."""
    for name in names:
        value = given.get(name)
        if value is not None and value != "":
            head[name] = value
