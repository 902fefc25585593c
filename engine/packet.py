"""Renders a turn's packet from the rows of its sections, offers it, and keeps it byte for byte."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from . import texts
from .models.protocol import Message

if TYPE_CHECKING:
    from .database import Database, Row

_PART = re.compile(
    r'^(?=\{"turn":|</?(?:prompt|summary|visible|log|unknowns|instructions|budget)\b)', re.MULTILINE
)


class Renderer:
    """Renders the packets of one run; remembers the parts of the last one, so that only new text is stored again."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._chunks: dict[str, int] = {}
        self._fixed: dict[tuple[Any, ...], str] = {}

    def offer(self, turn_id: int, lease: str | None) -> None:
        """Render the packet of a turn in 'assembling' and offer it; one that is taken is stored as it was rendered.

        Afterwards the turn is 'asking', or still 'assembling' with something demoted, or 'judging' when nothing fits.
        """
        messages = self.render(turn_id)
        chars = sum(len(message.content) for message in messages)
        self._db.insert("packet_offers", turn_id=turn_id, chars=chars, lease=lease)
        if self._db.value("select phase = 'asking' from turns where id = ?", (turn_id,)):
            self._store(turn_id, messages)

    def render(self, turn_id: int) -> list[Message]:
        """The messages of a turn's packet, in order; `turns.context_chars` tells the live sections how long the rest is."""
        sections = self._db.rows(
            "select name, role, source, template, live from turn_sections where turn_id = ?", (turn_id,)
        )
        parts = {
            section["name"]: self._section(turn_id, section) for section in sections if not section["live"]
        }
        self._db.execute(
            "update turns set context_chars = ? where id = ?",
            (sum(len(text) for text in parts.values()), turn_id),
        )
        parts |= {section["name"]: self._section(turn_id, section) for section in sections if section["live"]}
        return [
            Message(role, "".join(parts[section["name"]] for section in group))
            for role, group in groupby(sections, key=lambda section: section["role"])
        ]

    def _section(self, turn_id: int, section: Row) -> str:
        source = section["source"]
        rows = (
            [] if source is None else self._db.rows(f"select * from {source} where turn_id = ?", (turn_id,))
        )
        if section["role"] == "system":
            return self._system(section["template"], rows)
        return (
            texts.environment()
            .get_template(f"sections/{section['template']}.j2")
            .render(section=section["name"], rows=rows)
        )

    def _system(self, template: str, rows: list[Row]) -> str:
        """The system text; it is the same for all turns with the same tools and persona, and rendered once."""
        key = (template, tuple(tuple(row.items())[1:] for row in rows))
        if key not in self._fixed:
            tools = [
                {"name": row["name"], "doc": row["doc"] or texts.tool_document(row["name"])} for row in rows
            ]
            self._fixed[key] = (
                texts.environment()
                .get_template(f"{template}.md.j2")
                .render(tools=tools, persona=rows[0]["persona"] if rows else "")
            )
        return self._fixed[key]

    def _store(self, turn_id: int, messages: Iterable[Message]) -> None:
        known: dict[str, int] = {}
        for ordinal, message in enumerate(messages):
            parts = split(message.content)
            known |= self._chunk_ids(parts)
            self._db.insert(
                "packets",
                turn_id=turn_id,
                ordinal=ordinal,
                role=message.role,
                sha256=_digest(message.content),
                chars=len(message.content),
                parts=json.dumps(runs_of([known[part] for part in parts]), separators=(",", ":")),
            )
        self._chunks = known

    def _chunk_ids(self, parts: list[str]) -> dict[str, int]:
        """The chunk id of each part; parts that no packet had before become chunks."""
        found = {part: self._chunks[part] for part in parts if part in self._chunks}
        missing = {_digest(part): part for part in parts if part not in found}
        if missing:
            self._db.execute(
                "insert or ignore into chunks (sha256, text) select key, value from json_each(?)",
                (json.dumps(missing),),
            )
            ids = self._db.rows(
                "select id, sha256 from chunks where sha256 in (select key from json_each(?))",
                (json.dumps(missing),),
            )
            found |= {missing[row["sha256"]]: row["id"] for row in ids}
        return found


def split(text: str) -> list[str]:
    """`text` in the parts in which it is stored: at the sections' tags and at the headers of entries."""
    return [part for part in _PART.split(text) if part]


def runs_of(ids: list[int]) -> list[list[int]]:
    """Consecutive ids as [first, last] pairs."""
    runs: list[list[int]] = []
    for number in ids:
        if runs and runs[-1][1] + 1 == number:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def messages_of(db: Database, turn_id: int) -> tuple[Message, ...]:
    """The messages of a turn's packet as they were stored."""
    rows: list[Mapping[str, Any]] = db.rows(
        "select p.role, p.text from packet_texts as p join turns as t join runs as r on r.id = t.run_id "
        "where t.id = ? and p.run = r.alias and p.turn = t.sequence order by p.ordinal",
        (turn_id,),
    )
    return tuple(Message(row["role"], row["text"]) for row in rows)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
