"""Statuses and outcomes as words for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Store


def status_words(db: Database) -> dict[int, str]:
    """The word for each status, as people read it."""
    return dict(db.tuples("select code, name from statuses"))


def result_word(words: Mapping[int, str], status: int, outcome: str | None) -> str:
    """What came of a command in a word, such as `exit 2`, `not found` or `interrupted`; '' if it was done."""
    outcome = outcome or ""
    if outcome.startswith("exit:"):
        return outcome.replace(":", " ")
    if outcome == "interrupted":
        return outcome
    return words.get(status, str(status)) if status == _WAITS or status >= _FAILS else ""


_WAITS, _FAILS = 202, 400


def words_for_end(db: Store, status: int, reason: str | None = None) -> str:
    """How a prompt stands or ended, for people: the name of its status, and the reason where that says more.

    What stopped a prompt says so itself.
    """
    if reason and reason.startswith("stopped"):
        return reason
    name = str(db.value("select name from statuses where code = ?", (status,)) or status)
    return name if reason in (None, "", name) else f"{name}: {reason}"


def told_beside(event: Mapping[str, Any]) -> str:
    """What is told of a git commit, or of a hook that refused or failed."""
    head = f"hook {event['target']}, {event['action']}: " if event["type"] == "hook" else ""
    return f"{head}{event['body']}"
