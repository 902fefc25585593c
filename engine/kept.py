"""Keeps packets byte for byte: each part of a text once, and a packet as a list of lists of parts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .functions.compact import to_json
from .models.protocol import Message

if TYPE_CHECKING:
    from .database import Row, Store

_ENTRY = '\n{"turn":'
"""How an entry begins in a packet."""
_WORTH_REFERRING = 80
"""Bodies of fewer characters are stored in their chunk; longer ones are referred to."""
_STRETCH = 32
"""How many chunks a stretch has on average."""


class Keeper:
    """Stores the packets of one run. It remembers the parts of the last one, so that only what is new is written."""

    def __init__(self, db: Store) -> None:
        self._db = db
        self._chunks: dict[str, int] = {}
        self._lists: dict[str, int] = {}

    def store(self, turn_id: int, messages: Sequence[tuple[str, Sequence[str]]], rows: Iterable[Row]) -> None:
        """Store the messages of a turn: for each its role and the texts of its sections; `rows` are those that they show."""
        shown = {row["text"]: row for row in rows if row.get("content_id")}
        chunks: dict[str, int] = {}
        lists: dict[str, int] = {}
        for ordinal, (role, sections) in enumerate(messages):
            parts = [part for section in sections for part in split(section)]
            chunks |= self._chunk_ids(parts, shown)
            stretches = [to_json(runs_of(ids)) for ids in stretches_of([chunks[part] for part in parts])]
            lists |= self._list_ids(stretches)
            text = "".join(sections)
            self._db.insert(
                "packets",
                turn_id=turn_id,
                ordinal=ordinal,
                role=role,
                sha256=digest(text),
                chars=len(text),
                parts=to_json([lists[stretch] for stretch in stretches]),
            )
        self._chunks, self._lists = chunks, lists

    def _chunk_ids(self, parts: list[str], shown: dict[str, Row]) -> dict[str, int]:
        """The chunk id of each part; parts that no packet had before become chunks."""
        found = {part: self._chunks[part] for part in parts if part in self._chunks}
        for part in parts:
            if part not in found:
                found[part] = self._db.value(
                    "insert into chunks (hash, head, content_id, body_chars, foot) values (?, ?, ?, ?, ?) "
                    "on conflict (hash) do update set hash = excluded.hash returning id",
                    (digest(part)[:16], *_chunk(part, shown.get(part[:-1]))),
                )
        return found

    def _list_ids(self, stretches: list[str]) -> dict[str, int]:
        """The id of each stretch; those that the packet before did not have are stored."""
        found = {stretch: self._lists[stretch] for stretch in stretches if stretch in self._lists}
        for stretch in stretches:
            if stretch not in found:
                found[stretch] = self._db.value("insert into chunk_lists (chunks) values (?) returning id", (stretch,))
        return found


def split(text: str) -> list[str]:
    """A section's text in the parts in which it is stored: its opening, its entries, its closing tag."""
    end = text.rfind("\n</") + 1
    opening, *entries = text[:end].split(_ENTRY)
    parts = [opening, *(_ENTRY[1:] + entry for entry in entries)]
    return [part for part in (*(part + "\n" for part in parts[:-1]), parts[-1], text[end:]) if part]


def stretches_of(ids: list[int]) -> Iterator[list[int]]:
    """Ids in order, cut behind those that chance chose: a change leaves the stretches before and after it as they are."""
    stretch: list[int] = []
    for number in ids:
        stretch.append(number)
        # the high bits of a product with 2**32 over the golden ratio: ids that lie evenly apart are spread as well
        if (number * 2654435769 & 0xFFFFFFFF) * _STRETCH < 1 << 32:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def runs_of(ids: list[int]) -> list[int | list[int]]:
    """Ids in order, two or more consecutive ones as [first, last]."""
    runs: list[list[int]] = []
    for number in ids:
        if runs and runs[-1][-1] + 1 == number:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return [run if len(run) == 2 else run[0] for run in runs]


def messages_of(db: Store, turn_id: int) -> tuple[Message, ...]:
    """The messages of a turn's packet as they were stored."""
    rows = db.rows(
        "select p.role, p.text from packet_texts as p join turns as t join runs as r on r.id = t.run_id "
        "where t.id = ? and p.run = r.alias and p.turn = t.sequence order by p.ordinal",
        (turn_id,),
    )
    return tuple(Message(row["role"], row["text"]) for row in rows)


def digest(text: str) -> bytes:
    """The SHA-256 of a text as it is stored."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _chunk(part: str, row: Row | None) -> tuple[str, int | None, int | None, str | None]:
    """How a part is stored: as it is, or around a reference to the body that it shows."""
    if row is None or row["body_chars"] < _WORTH_REFERRING:
        return part, None, None, None
    end = row["body_at"] + row["body_chars"]
    return part[: row["body_at"]], row["content_id"], row["body_chars"], part[end:]
