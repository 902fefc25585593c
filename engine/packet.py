"""Renders a turn's packet from the rows of its sections, offers it, and keeps it byte for byte."""

from __future__ import annotations

import hashlib
from itertools import groupby
from typing import TYPE_CHECKING

from . import texts
from .functions.compact import to_json
from .models.protocol import Message

if TYPE_CHECKING:
    from .database import Row, Store

_ENTRY = '\n{"turn":'
"""How an entry begins in a packet."""
_WORTH_REFERRING = 80
"""Bodies of fewer characters are stored in their chunk; longer ones are referred to."""


class Renderer:
    """Renders the packets of one run.

    It remembers what does not change within a loop, and the parts of the last packet, so that only new text is stored.
    """

    def __init__(self, db: Store) -> None:
        self._db = db
        self._loop: int | None = None
        self._sections: list[Row] = []
        self._system: dict[str, str] = {}
        self._rows: list[Row] = []
        self._chunks: dict[str, int] = {}
        self._parts: list[tuple[str, list[str]]] = []
        self._sent: tuple[int | None, tuple[Message, ...]] = (None, ())

    def messages(self, turn_id: int) -> tuple[Message, ...]:
        """The messages of a turn's stored packet: the ones just rendered, or read back from the file."""
        sent, messages = self._sent
        return messages if sent == turn_id else messages_of(self._db, turn_id)

    def offer(self, turn_id: int, lease: str | None) -> None:
        """Render the packet of a turn in 'assembling' and offer it; one that is taken is stored as it was rendered.

        Afterwards the turn is 'asking', or still 'assembling' with something demoted, or 'judging' when nothing fits.
        """
        chars = sum(len(message.content) for message in self.render(turn_id))
        self._db.insert("packet_offers", turn_id=turn_id, chars=chars, lease=lease)
        if self._db.value("select phase = 'asking' from turns where id = ?", (turn_id,)):
            self._store(turn_id)

    def render(self, turn_id: int) -> tuple[Message, ...]:
        """The messages of a turn's packet; `turns.context_chars` tells the live sections how long the rest is."""
        self._read_loop(turn_id)
        self._rows = []
        parts = {section["name"]: self._section(turn_id, section) for section in self._sections if not section["live"]}
        if live := [section for section in self._sections if section["live"]]:
            self._db.execute(
                "update turns set context_chars = ? where id = ?", (sum(map(len, parts.values())), turn_id)
            )
            parts |= {section["name"]: self._section(turn_id, section) for section in live}
        self._parts = [
            (role, [parts[section["name"]] for section in group])
            for role, group in groupby(self._sections, key=lambda section: section["role"])
        ]
        messages = tuple(Message(role, "".join(sections)) for role, sections in self._parts)
        self._sent = (turn_id, messages)
        return messages

    def _read_loop(self, turn_id: int) -> None:
        """Learn the sections and the system text of the turn's loop, which stay the same for all of its turns."""
        loop = self._db.value("select loop_id from turns where id = ?", (turn_id,))
        if loop != self._loop:
            self._loop, self._system = loop, {}
            self._sections = self._db.rows(
                "select name, role, source, template, live from turn_sections where turn_id = ?", (turn_id,)
            )

    def _section(self, turn_id: int, section: Row) -> str:
        if section["role"] == "system":
            return self._system_section(turn_id, section)
        rows = self._section_rows(turn_id, section)
        self._rows += rows
        template = texts.environment().get_template(f"sections/{section['template']}.j2")
        return template.render(section=section["name"], rows=rows)

    def _system_section(self, turn_id: int, section: Row) -> str:
        name = section["name"]
        if name not in self._system:
            rows = self._section_rows(turn_id, section)
            # a tool without a document is one whose plugin is gone
            documents = {row["name"]: row["doc"] or texts.tool_document(row["name"]) for row in rows}
            tools = [{"name": tool, "doc": document} for tool, document in documents.items() if document]
            template = texts.environment().get_template(f"{section['template']}.md.j2")
            said = rows[0] if rows else {"persona": "", "native": 0}
            self._system[name] = template.render(tools=tools, persona=said["persona"], native=said["native"])
        return self._system[name]

    def _section_rows(self, turn_id: int, section: Row) -> list[Row]:
        if section["source"] is None:
            return []
        query = f"select * from {section['source']} where turn_id = ?"  # noqa: S608 - a view named by packet_sections
        return self._db.rows(query, (turn_id,))

    def _store(self, turn_id: int) -> None:
        """Keep the packet just rendered."""
        ids: dict[str, int] = {}
        for ordinal, (role, sections) in enumerate(self._parts):
            parts = [part for section in sections for part in split(section)]
            ids |= self._chunk_ids(parts)
            text = "".join(sections)
            self._db.insert(
                "packets",
                turn_id=turn_id,
                ordinal=ordinal,
                role=role,
                sha256=_digest(text),
                chars=len(text),
                parts=to_json(runs_of([ids[part] for part in parts])),
            )
        self._chunks = ids

    def _chunk_ids(self, parts: list[str]) -> dict[str, int]:
        """The chunk id of each part; parts that no packet had before become chunks."""
        found = {part: self._chunks[part] for part in parts if part in self._chunks}
        missing = {part: _digest(part)[:16] for part in parts if part not in found}
        if missing:
            rows = {row["text"]: row for row in self._rows if row.get("content_id")}
            for part, digest in missing.items():
                found[part] = self._db.value(
                    "insert into chunks (hash, head, content_id, body_chars, foot) values (?, ?, ?, ?, ?) "
                    "on conflict (hash) do update set hash = excluded.hash returning id",
                    (digest, *_chunk(part, rows.get(part[:-1]))),
                )
        return found


def split(text: str) -> list[str]:
    """A section's text in the parts in which it is stored: its opening, its entries, its closing tag."""
    end = text.rfind("\n</") + 1
    opening, *entries = text[:end].split(_ENTRY)
    parts = [opening, *(_ENTRY[1:] + entry for entry in entries)]
    return [part for part in (*(part + "\n" for part in parts[:-1]), parts[-1], text[end:]) if part]


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


def _chunk(part: str, row: Row | None) -> tuple[str, int | None, int | None, str | None]:
    """How a part is stored: as it is, or around a reference to the body that it shows."""
    if row is None or row["body_chars"] < _WORTH_REFERRING:
        return part, None, None, None
    end = row["body_at"] + row["body_chars"]
    return part[: row["body_at"]], row["content_id"], row["body_chars"], part[end:]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
