"""Renders a turn's packet from the rows of its sections, and offers it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from . import texts
from .cuts import message_of
from .kept import Keeper, messages_before, messages_of
from .models.protocol import Message
from .tally import Tally, tally_of

if TYPE_CHECKING:
    from .database import Row, Store


_Packets = dict[str, tuple[int, Message, list[str]]]
"""Of each role the id of its packet, the message, and the texts of its sections where they are known."""


class Renderer:
    """Renders the packets of one run.

    It remembers what does not change within a loop, and the last packet, so that only new text is stored.
    """

    def __init__(self, db: Store) -> None:
        self._db = db
        self._loop: int | None = None
        self._sections: list[Row] = []
        self._system: dict[str, str] = {}
        self._rows: list[Row] = []
        self._tally: Tally | None = None
        self._measured: int | None = None
        self._keeper = Keeper(db)
        self._parts: list[list[str]] = []
        self._sent: tuple[int | None, tuple[Message, ...]] = (None, ())
        # of each role the packet that was stored last, and the one that this turn's is cut after
        self._stored: tuple[int | None, _Packets] = (None, {})
        self._before: tuple[int | None, _Packets] = (None, {})

    def messages(self, turn_id: int) -> tuple[Message, ...]:
        """The messages of a turn's stored packet: the ones just rendered, or read back from the file."""
        sent, messages = self._sent
        return messages if sent == turn_id else messages_of(self._db, turn_id)

    def offer(self, turn_id: int, lease: str | None) -> None:
        """Render the packet of a turn in 'assembling' and offer it; one that is taken is stored as it was rendered.

        Afterwards the turn is 'asking', or still 'assembling' with something demoted, or over when nothing fits.
        """
        chars = sum(len(message.content) for message in self.render(turn_id))
        self._db.insert("submit_packet", turn_id=turn_id, chars=chars, lease=lease)
        if self._db.value("select phase = 'asking' from turns where id = ?", (turn_id,)):
            self._store(turn_id)

    def render(self, turn_id: int) -> tuple[Message, ...]:
        """The messages of a turn's packet; `turns.context_chars` tells the live sections how long the rest is."""
        self._read_loop(turn_id)
        parts = self._stable_sections(turn_id)
        if live := [section for section in self._sections if section["live"]]:
            self._db.execute(
                "update turns set context_chars = ? where id = ?", (sum(map(len, parts.values())), turn_id)
            )
            parts |= {section["name"]: self._section(turn_id, section) for section in live}
        messages = self._lay_out(turn_id, parts)
        self._sent = (turn_id, messages)
        return messages

    def _store(self, turn_id: int) -> None:
        """Store the packet that was just rendered."""
        messages, before = self._sent[1], self._before[1]
        ids = self._keeper.store(
            turn_id,
            list(zip(messages, self._parts, strict=True)),
            self._rows,
            {role: packet_id for role, (packet_id, *_) in before.items()},
        )
        self._stored = (
            turn_id,
            {
                message.role: (ids[message.role], message, parts)
                for message, parts in zip(messages, self._parts, strict=True)
            },
        )

    def _lay_out(self, turn_id: int, texts_by_name: dict[str, str]) -> tuple[Message, ...]:
        """The messages made of the sections' texts, cut as those before them were where they are the same."""
        before = self._packets_before(turn_id)
        by_role = [(role, list(group)) for role, group in groupby(self._sections, key=lambda section: section["role"])]
        self._parts = [[texts_by_name[section["name"]] for section in group] for _, group in by_role]
        return tuple(
            message_of(
                role,
                [(texts_by_name[section["name"]], section["cached"]) for section in group],
                *before[role][1:] if role in before else (),
            )
            for role, group in by_role
        )

    def _packets_before(self, turn_id: int) -> _Packets:
        """The packets before that of a turn: the ones that were stored last, or those of another process or of a parent."""
        if self._before[0] != turn_id:
            stored_of, stored = self._stored
            if stored_of is None:
                stored = {role: (*found, []) for role, found in messages_before(self._db, turn_id).items()}
            self._before = (turn_id, stored)
        return self._before[1]

    def _stable_sections(self, turn_id: int) -> dict[str, str]:
        """The texts of all sections but those rendered last; where tokens are counted, the rate is that of these texts."""
        self._rows = []
        stable = [section for section in self._sections if section["live"] != 1]
        parts = {section["name"]: self._section(turn_id, section) for section in stable}
        if self._tally is None or (rate := self._tally.rate(parts.values())) is None:
            return parts
        self._db.execute("update turns set chars_per_token = ? where id = ?", (rate, turn_id))
        if self._measured == self._loop:
            return parts
        self._measured = self._loop
        # the rate of a loop is that of its first packet, and stays: by it its entries state what they cost
        stated = self._db.value(
            "update loops set chars_per_token = ? "
            "where id = ? and (select count(*) from turns where loop_id = loops.id) = 1 returning id",
            (rate, self._loop),
        )
        return self._stable_sections(turn_id) if stated else parts

    def _read_loop(self, turn_id: int) -> None:
        """Learn the sections and the system text of the turn's loop, which stay the same for all of its turns."""
        loop = self._db.value("select loop_id from turns where id = ?", (turn_id,))
        if loop != self._loop:
            self._loop, self._system, self._tally = loop, {}, tally_of(self._db, turn_id)
            self._sections = self._db.rows(
                "select name, role, source, template, live, cached from _turn_sections where turn_id = ?", (turn_id,)
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
