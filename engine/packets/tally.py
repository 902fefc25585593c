"""Counts the tokens of packets where a tokenizer is at hand, each part once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.db.database import Store
    from engine.packets.parts import Section

_MARGIN = 0.98
"""A provider counts a little more than the text: the marks between messages, and parts that are not joined as here."""


class Tally:
    """Remembers what each part of the last packet took, so that only new text is counted."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._known: dict[str, int] = {}

    def rate(self, sections: Iterable[Section]) -> float | None:
        """Characters a token of these sections together, a little less than counted; None where nothing could be counted."""
        parts = [part for section in sections for part in _texts_of(section)]
        try:
            self._known = {part: self._known[part] if part in self._known else self._count(part) for part in parts}
            tokens = sum(self._known[part] for part in parts)
        except Exception:  # of a plugin's, a library's or the local model's making; an estimate does as well
            return None
        return _MARGIN * sum(map(len, parts)) / tokens if tokens > 0 else None


def _texts_of(section: Section) -> Iterator[str]:
    """The texts of a section's parts."""
    opening, entries, closing = section.parts
    yield from filter(None, (opening, *(entry + "\n" for entry in entries), closing))


def tally_of(db: Store, turn_id: int) -> Tally | None:
    """A tally with the tokenizer of a turn's model, or None where tokens are estimated. Raises what `counter` raises."""
    row = db.row(
        "select (select value from settings where name = 'tokenizer') as setting, "
        "coalesce(m.actual, l.model, r.model) as model from turns as t join runs as r on r.id = t.run_id "
        "join loops as l on l.id = t.loop_id left join models as m on m.alias = coalesce(l.model, r.model) where t.id = ?",
        (turn_id,),
    )
    if row is None:
        return None
    from engine.models.counting import counter

    count = counter(row["setting"] or "", row["model"] or "")
    return Tally(count) if count else None
