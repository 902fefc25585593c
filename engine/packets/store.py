"""Stores packets byte for byte: each part of a text once, and a packet as a list of lists of parts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from engine.functions import media, pictures
from engine.functions.compact import to_json
from engine.models.cuts import cuts_of, kept_of
from engine.models.protocol import Message, Picture

from .parts import Chunk, Piece, Section, chunk_of, runs_of, stretches_of

if TYPE_CHECKING:
    from engine.db.database import Row, Store

_TURN = re.compile(r'\{"turn":([0-9]{1,9})\b')
"""How an entry in a packet names its turn."""


class PacketStore:
    """Stores the packets of one run. It remembers the parts of the last one, so that only what is new is written."""

    def __init__(self, db: Store) -> None:
        self._db = db
        self._chunks: dict[str, int] = {}
        self._entries: dict[str, int] = {}
        self._lists: dict[str, int] = {}
        self._digests: dict[str, tuple[str, bytes]] = {}
        self._pieces: dict[Piece, int] = {}

    def store(
        self, turn_id: int, messages: Sequence[tuple[Message, Sequence[Section]]], before: Mapping[str, int]
    ) -> dict[str, int]:
        """Store the messages of a turn, each with its sections; returns the id of each role's packet.

        `before` are the ids of the packets that they were cut after.
        """
        if not self._lists:
            self._lists = {stretch: number for id_ in before.values() for stretch, number in self._lists_of(id_)}
        self._learn([section for _, sections in messages for section in sections if section.template is None])
        stretches = [
            [to_json(runs_of(stretch)) for stretch in stretches_of([*chain.from_iterable(map(self._ids_of, sections))])]
            for _, sections in messages
        ]
        self._lists = self._list_ids([*chain.from_iterable(stretches)])
        rows = [
            (
                turn_id,
                ordinal,
                message.role,
                self._sha256(message),
                len(message.content),
                to_json([self._lists[stretch] for stretch in parts]),
                *_cuts(message, before.get(message.role)),
            )
            for ordinal, ((message, _), parts) in enumerate(zip(messages, stretches, strict=True))
        ]
        ids = self._added(
            "insert into packets (turn_id, ordinal, role, sha256, chars, parts, cuts, kept, before_id) "
            "values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        return {message.role: packet_id for (message, _), packet_id in zip(messages, ids, strict=True)}

    def _sha256(self, message: Message) -> bytes:
        """The digest of a message; that of a text that stays, as the system's does, is remembered."""
        text, found = self._digests.get(message.role, ("", b""))
        if text is not message.content:
            found = digest(message.content)
            self._digests[message.role] = (message.content, found)
        return found

    def _learn(self, sections: Sequence[Section]) -> None:
        """Learn the ids of all parts of the sections; those that the packet before did not have are stored."""
        found = self._stored_chunks(dict(chain.from_iterable(map(self._new_chunks, sections))))
        chunks: dict[str, int] = {}
        entries: dict[str, int] = {}
        for section in sections:
            opening, shown, closing = section.parts
            chunks |= {part: self._chunks.get(part) or found[part] for part in (opening, closing) if part}
            entries |= {entry: self._entries.get(entry) or found[entry + "\n"] for entry in shown}
        self._chunks, self._entries = chunks, entries

    def _new_chunks(self, section: Section) -> Iterator[tuple[str, Chunk]]:
        """The texts of a section's parts that the packet before did not have, in order, each with how it is stored."""
        opening, entries, closing = section.parts
        if opening and opening not in self._chunks:
            yield opening, chunk_of(opening, None)
        if new := [entry for entry in entries if entry not in self._entries]:
            shown = {row["text"]: row for row in section.rows if row.get("content_id")}
            yield from ((entry + "\n", chunk_of(entry + "\n", shown.get(entry))) for entry in new)
        if closing and closing not in self._chunks:
            yield closing, chunk_of(closing, None)

    def _ids_of(self, section: Section) -> list[int]:
        """The ids of a section's chunks in order; those of its parts are known."""
        if section.template is not None:
            return [self._piece_id(piece) for piece in section.pieces]
        opening, entries, closing = section.parts
        ids = [self._chunks[opening]] if opening else []
        ids += map(self._entries.__getitem__, entries)
        if closing:
            ids.append(self._chunks[closing])
        return ids

    def _piece_id(self, piece: Piece) -> int:
        """The id of the chunk that is a piece of a system message. The same text of two layers is two chunks."""
        if piece not in self._pieces:
            layer, source, text = piece
            name = digest("\0".join((layer, source or "", text)))[:16]
            found = self._db.value("select id from chunks where hash = ?", (name,)) or self._db.value(
                "insert into chunks (hash, head, layer, source) values (?, ?, ?, ?) returning id",
                (name, text, layer, source),
            )
            self._pieces[piece] = int(found)
        return self._pieces[piece]

    def _stored_chunks(self, chunks: Mapping[str, Chunk]) -> dict[str, int]:
        """The ids of chunks by their texts; what the file does not have is stored, in one go."""
        if not chunks:
            return {}
        texts = {key_of(text): text for text in chunks}
        stored = self._db.tuples(
            "select k.hash, k.id from json_each(?) as n cross join chunks as k on k.hash = unhex(n.value)",
            (to_json([key.hex() for key in texts]),),
        )
        ids = {texts[key]: number for key, number in stored}
        new = {text: (key, *chunks[text]) for key, text in texts.items() if text not in ids}
        added = self._added(
            "insert into chunks (hash, head, content_id, body_chars, foot, fenced) values (?, ?, ?, ?, ?, ?)",
            [*new.values()],
        )
        return ids | dict(zip(new, added, strict=True))

    def _added(self, insertion: str, rows: Sequence[tuple[Any, ...]]) -> range:
        """The ids of rows that are added in one go: each is the next number."""
        if not rows:
            return range(0)
        with self._db.clear_errors:
            self._db.connection.executemany(insertion, rows)
            last = self._db.connection.last_insert_rowid()
        return range(last + 1 - len(rows), last + 1)

    def _lists_of(self, packet_id: int) -> Iterator[tuple[str, int]]:
        """The stretches of a packet that another process has stored, with their ids."""
        rows = self._db.rows(
            "select l.chunks, l.id from packets as p join json_each(p.parts) as s join chunk_lists as l on l.id = s.value "
            "where p.id = ?",
            (packet_id,),
        )
        return ((row["chunks"], row["id"]) for row in rows)

    def _list_ids(self, stretches: Sequence[str]) -> dict[str, int]:
        """The id of each stretch; those that the packet before did not have are stored."""
        found = {stretch: self._lists[stretch] for stretch in stretches if stretch in self._lists}
        new = [*dict.fromkeys(stretch for stretch in stretches if stretch not in found)]
        added = self._added("insert into chunk_lists (chunks) values (?)", [(stretch,) for stretch in new])
        return found | dict(zip(new, added, strict=True))


def messages_of(db: Store, turn_id: int) -> tuple[Message, ...]:
    """The messages of a turn's packet as they were stored, cut as they were."""
    return tuple(message for _, message in _stored(db, turn_id))


def pictures_of(db: Store, turn_id: int) -> tuple[Picture, ...]:
    """The pictures that a turn's packet carries, by the numbers that its text gives them."""
    rows = db.rows(
        "select p.format, p.body from turn_pictures as t join pictures as p on p.id = t.picture_id where t.turn_id = ? "
        "order by t.ordinal",
        (turn_id,),
    )
    types = pictures.MEDIA_TYPES | media.MEDIA_TYPES
    return tuple(Picture(types[row["format"]], row["body"]) for row in rows)


def messages_before(db: Store, turn_id: int) -> dict[str, tuple[int, Message]]:
    """The packet before a turn's, of its run or of one that this came from: for each role the id and the message."""
    before = db.value(
        "select o.id from turns as t cross join _run_lines as l on l.run_id = t.run_id "
        "cross join turns as o on o.run_id = l.source_id and o.sequence <= coalesce(l.before_turn, o.sequence) "
        "where t.id = ? and o.id <> t.id and o.id in (select turn_id from packets) "
        "order by l.depth, o.sequence desc limit 1",
        (turn_id,),
    )
    return {message.role: (packet_id, message) for packet_id, message in _stored(db, before)}


def digest(text: str) -> bytes:
    """The SHA-256 of a text as it is stored."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def key_of(text: str) -> bytes:
    """What a part is found by: the turn that its entry names, 0 for any other part, and half of its SHA-256.

    The parts that a turn adds stand side by side in the index, so that few of its pages change.
    """
    turn = _TURN.match(text)
    return (int(turn[1]) if turn else 0).to_bytes(4, "big") + digest(text)[:16]


def _stored(db: Store, turn_id: int | None) -> list[tuple[int, Message]]:
    """The ids and messages of a turn's packet, in order."""
    rows = db.rows(
        "select p.id, k.role, k.body, p.cuts from turns as t join runs as r on r.id = t.run_id "
        "join packet_texts as k on k.run = r.alias and k.turn = t.sequence "
        "join packets as p on p.turn_id = t.id and p.ordinal = k.ordinal where t.id = ? order by p.ordinal",
        (turn_id,),
    )
    return [(row["id"], _message(db, row)) for row in rows]


def _message(db: Store, row: Row) -> Message:
    if row["cuts"] is None:
        return Message(row["role"], row["body"])
    return Message(row["role"], row["body"], cuts_of(_line(db, row["id"])), tuple(json.loads(row["cuts"])))


def _line(db: Store, packet_id: int) -> list[tuple[int, list[int]]]:
    """What `cuts_of` needs of a packet and those before it."""
    rows = db.rows(
        "with recursive line (id, before_id, kept, cuts) as ("
        "select id, before_id, kept, cuts from packets where id = ? union all "
        "select p.id, p.before_id, p.kept, p.cuts from line as l join packets as p on p.id = l.before_id and p.id < l.id "
        "where l.kept > 0 and p.cuts is not null) select kept, cuts from line",
        (packet_id,),
    )
    return [(row["kept"], json.loads(row["cuts"])) for row in rows]


def _cuts(message: Message, before_id: int | None) -> tuple[str | None, int | None, int | None]:
    """How the cuts of a message are stored; not at all where nothing of it is cached."""
    if not message.cache_to:
        return None, None, None
    return to_json(list(message.cache_to)), kept_of(message), before_id
