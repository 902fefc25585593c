"""Renders a turn's packet from the rows of its sections, and offers it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any

from engine.models.cuts import message_of
from engine.models.protocol import Message
from engine.packets.tally import Tally, tally_of
from engine.schema.objects import quoted

from .layout import laid_out, tool_document
from .parts import Section
from .sizing import NO_SIZE, stating_size
from .store import PacketStore, messages_before, messages_of

if TYPE_CHECKING:
    from engine.db.database import Row, Store


_Packets = dict[str, tuple[int, Message, list[str]]]
"""For each role the id of its packet, the message, and the texts of its sections where they are known."""

_LOOP_STATE = """
    select loop_id, (select value from settings where name = 'prompt_figures'), (select count(*) from engine_modules)
    from turns
    where id = ?
"""
"""The loop of a turn, and what may change the sections within it."""

_MANY = 100
"""How many rows a section has to have before it is worth a second statement to read only what is new in it."""


class Renderer:
    """Renders the packets of one run.

    It remembers what does not change within a loop, the rows that it has read, and the last packet: so only what is new is
    read and stored.
    """

    def __init__(self, db: Store) -> None:
        self._db = db
        self._loop: int | None = None
        self._loop_state: list[tuple[Any, ...]] = []
        self._sections: list[Row] = []
        self._sections_by_role: list[tuple[str, list[Row]]] = []
        # the statement that reads the stamps of all sections that have some, and the stamps that it gave last
        self._stamp_query = ""
        self._stamps: Row = {}
        # the system sections, each with the stamp that it was made at
        self._system: dict[str, tuple[str | None, Section]] = {}
        # of a section of the user message that has stamps, the last one and the rows that it was read with
        self._stamped: dict[str, tuple[str | None, list[Row]]] = {}
        # for each section the rows of its last rendering by entry, and what they were laid out as
        self._known: dict[str, dict[int, Row]] = {}
        self._laid_out: dict[str, Section] = {}
        self._tally: Tally | None = None
        self._measured: int | None = None
        # the figures that the last packet stated of its size: those of the next one are mostly as wide
        self._size_said: Row = NO_SIZE
        self._packet_store = PacketStore(db)
        self._beside_chars = 0
        self._by_role: list[tuple[str, list[Section]]] = []
        self._sent: tuple[int | None, tuple[Message, ...]] = (None, ())
        # of the turn that was rendered last, the texts of its sections
        self._texts: dict[str, str] = {}
        # for each role the packet that was stored last, and the one that this turn's is cut after
        self._stored: tuple[int | None, _Packets] = (None, {})
        self._before: tuple[int | None, _Packets] = (None, {})

    def messages(self, turn_id: int) -> tuple[Message, ...]:
        """The messages of a turn's stored packet: the ones just rendered, or read back from the file."""
        sent, messages = self._sent
        return messages if sent == turn_id else messages_of(self._db, turn_id)

    def beside_prompt(self, turn_id: int) -> str | None:
        """What the packet of a turn says besides its prompt and its own size; None where it was not just rendered, or its
        prompt is no section.
        """
        if self._sent[0] != turn_id or "prompt" not in self._texts:
            return None
        left_out = {"prompt", *(each["name"] for each in self._sections if each["live"])}
        return json.dumps({name: text for name, text in self._texts.items() if name not in left_out})

    def offer(self, turn_id: int, lease: str | None) -> None:
        """Render the packet of a turn in 'assembling' and submit it; one that is taken is stored as it was rendered.

        Afterwards the turn is 'asking', or still 'assembling' with something demoted, or over where nothing fits.
        """
        chars = sum(len(message.content) for message in self.render(turn_id)) + self._beside_chars
        self._db.insert("_offer_packet", turn_id=turn_id, chars=chars, lease=lease)
        if not self._stored_as_taken(turn_id):
            self._db.insert("_submit_packet", turn_id=turn_id, chars=chars, lease=lease)
            self._stored_as_taken(turn_id)

    def _stored_as_taken(self, turn_id: int) -> bool:
        """Store the packet of a turn where the file says that it was taken; returns whether it was."""
        taken = self._db.rows("select turn_id from _unstored_packets where turn_id = ?", (turn_id,))
        for turn in taken:
            self._store(**turn)
        return bool(taken)

    def render(self, turn_id: int) -> tuple[Message, ...]:
        """The messages of a turn's packet. Live sections are laid out twice: to be measured, and with the size."""
        self._read_loop(turn_id)
        sections = self._stable_sections(turn_id)
        self._beside_chars = sum(map(_beside_chars, sections.values()))
        if live := [section for section in self._sections if section["live"]]:
            sections |= {each["name"]: self._section(turn_id, each) for each in live if each["live"] == 1}
            sections = self._with_size(turn_id, sections, live)
        messages = self._messages(turn_id, sections)
        self._texts = {name: section.text for name, section in sections.items()}
        self._sent = (turn_id, messages)
        return messages

    def _with_size(self, turn_id: int, sections: dict[str, Section], live: list[Row]) -> dict[str, Section]:
        """The sections, of which the live ones state the size of the packet."""
        rows = {each["name"]: sections[each["name"]].rows for each in live}

        def tell(chars: int) -> Row:
            return self._size(turn_id, chars, rows.values())

        def state(size: Row) -> dict[str, Section]:
            return {each["name"]: self._lay_out(each, rows[each["name"]], size) for each in live}

        said, self._size_said = stating_size(sections, self._beside_chars, tell, state)
        return said

    def _size(self, turn_id: int, chars: int, live: Iterable[list[Row]]) -> Row:
        """The size of a packet of `chars` in tokens: the file is told the length, and how much of it shows entries."""
        entry_chars = next((row["entry_chars"] for rows in live for row in rows if "entry_chars" in row), None)
        self._db.execute(
            "update turns set context_chars = ?, entry_chars = ? where id = ?", (chars, entry_chars, turn_id)
        )
        found = self._db.row(
            "select usage, free, system, system_share from _packet_sizes where turn_id = ?", (turn_id,)
        )
        return found or NO_SIZE

    def _store(self, turn_id: int) -> None:
        """Store the packet that was just rendered."""
        messages, before = self._sent[1], self._before[1]
        ids = self._packet_store.store(
            turn_id,
            [(message, sections) for message, (_, sections) in zip(messages, self._by_role, strict=True)],
            {role: packet_id for role, (packet_id, *_) in before.items()},
        )
        self._stored = (
            turn_id,
            {
                message.role: (ids[message.role], message, [section.text for section in sections])
                for message, (_, sections) in zip(messages, self._by_role, strict=True)
            },
        )

    def _messages(self, turn_id: int, sections: dict[str, Section]) -> tuple[Message, ...]:
        """The messages made of the sections' texts, cut as those before them were where they are the same."""
        before = self._packets_before(turn_id)
        self._by_role = [(role, [sections[each["name"]] for each in group]) for role, group in self._sections_by_role]
        return tuple(
            message_of(
                role,
                [(sections[each["name"]].text, each["cached"]) for each in group],
                *before[role][1:] if role in before else (),
            )
            for role, group in self._sections_by_role
        )

    def _packets_before(self, turn_id: int) -> _Packets:
        """The packets before that of a turn: the ones that were stored last, or those of another process or of a parent."""
        if self._before[0] != turn_id:
            stored_of, stored = self._stored
            if stored_of is None:
                stored = {role: (*found, []) for role, found in messages_before(self._db, turn_id).items()}
            self._before = (turn_id, stored)
        return self._before[1]

    def _stable_sections(self, turn_id: int) -> dict[str, Section]:
        """All sections but those rendered last; where tokens are counted, the rate is that of their texts."""
        if self._stamp_query:
            self._stamps = self._db.row(self._stamp_query, {"turn_id": turn_id}) or {}
        stable = [section for section in self._sections if section["live"] != 1]
        sections = {section["name"]: self._section(turn_id, section) for section in stable}
        if self._tally is None or (rate := self._tally.rate(sections.values())) is None:
            return sections
        self._db.execute("update turns set chars_per_token = ? where id = ?", (rate, turn_id))
        if self._measured == self._loop:
            return sections
        self._measured = self._loop
        # the rate of a loop is that of its first packet, and stays: by it its entries state what they cost
        stated = self._db.value(
            "update loops set chars_per_token = ? where id = ? "
            "and (select count(*) from turns where loop_id = loops.id) = 1 returning id",
            (rate, self._loop),
        )
        if not stated:
            return sections
        self._known = {}
        return self._stable_sections(turn_id)

    def _read_loop(self, turn_id: int) -> None:
        """Learn the sections and the system text of the turn's loop, which stay the same for all of its turns."""
        state = self._db.tuples(_LOOP_STATE, (turn_id,))
        if state != self._loop_state:
            self._loop_state, self._loop, self._tally = state, state[0][0], tally_of(self._db, turn_id)
            self._system, self._known, self._stamped = {}, {}, {}
            self._sections = self._db.rows(
                "select name, role, source, template, live, cached, stamps from _turn_sections where turn_id = ?",
                (turn_id,),
            )
            self._sections_by_role = [
                (role, list(group)) for role, group in groupby(self._sections, key=lambda section: section["role"])
            ]
            # read with one statement: most turns change none
            stamps = [
                f"(select stamp from {quoted(each['stamps'])} where turn_id = :turn_id) as {quoted(each['name'])}"  # noqa: S608 - as in _read
                for each in self._sections
                if each["stamps"]
            ]
            self._stamp_query = f"select {', '.join(stamps)}" if stamps else ""

    def _section(self, turn_id: int, section: Row) -> Section:
        if section["role"] == "system":
            return self._system_section(turn_id, section)
        rows = self._stamped_rows if section["stamps"] else self._section_rows
        return self._lay_out(section, rows(turn_id, section), self._size_said | {"padding": ""})

    def _stamped_rows(self, turn_id: int, section: Row) -> list[Row]:
        """The rows of a section of the user message that has stamps: read where its stamp is another, none without one."""
        stamp = self._stamps[section["name"]]
        known, rows = self._stamped.get(section["name"], (None, []))
        if stamp != known:
            rows = [] if stamp is None else self._section_rows(turn_id, section)
            self._stamped[section["name"]] = (stamp, rows)
        return rows

    def _lay_out(self, section: Row, rows: list[Row], size: Row | None) -> Section:
        """A section's rows as its template lays them out; the section of the last packet where it has the same rows."""
        name = section["name"]
        last = self._laid_out.get(name)
        if last is None or section["live"] or last.rows != rows:
            text = laid_out(f"sections/{section['template']}.j2", section=name, rows=rows, size=size)
            last = Section(text, rows)
            self._laid_out[name] = last
        return last

    def _system_section(self, turn_id: int, section: Row) -> Section:
        """A section of the system message: that of the turn before, unless it has stamps and another one now."""
        name = section["name"]
        stamp = self._stamps.get(name)
        made_at, made = self._system.get(name, (None, None))
        if made is None or made_at != stamp:
            made = self._system_text(turn_id, section) if name == "system" else self._layers(turn_id, section)
            self._system[name] = (stamp, made)
        return made

    def _layers(self, turn_id: int, section: Row) -> Section:
        """A section whose rows are texts of layers; one with stamps has none while its stamp is null."""
        has_rows = not section["stamps"] or self._stamps[section["name"]] is not None
        rows, file = self._section_rows(turn_id, section) if has_rows else [], f"sections/{section['template']}.j2"
        text = laid_out(file, section=section["name"], rows=rows)
        layers = [(row["layer"], row["source"], row["text"]) for row in rows]
        return Section(text, layers=layers, template=file)

    def _system_text(self, turn_id: int, section: Row) -> Section:
        """The section with the tools and the persona."""
        rows, file = self._section_rows(turn_id, section), f"{section['template']}.md.j2"
        # a tool without a document is one whose plugin is gone
        documents = {row["name"]: row["doc"] or tool_document(row["name"]) for row in rows}
        tools = [{"name": tool, "doc": document} for tool, document in documents.items() if document]
        said = (
            rows[0]
            if rows
            else {"persona_name": None, "persona": "", "native": 0, "anchors": 0, "untold": None, "plain": 0}
        )
        marks = {name: said[name] for name in ("persona", "native", "anchors", "untold", "plain")}
        text = laid_out(file, tools=tools, **marks)
        layers = [
            *(("tools", tool["name"], tool["doc"]) for tool in tools),
            ("persona", said["persona_name"], said["persona"] or ""),
        ]
        return Section(text, layers=layers, template=file)

    def _section_rows(self, turn_id: int, section: Row) -> list[Row]:
        """The rows of a section; where many name their version, only texts that are not known are read."""
        name, source = section["name"], section["source"]
        if source is None:
            return []
        known = self._known.get(name)
        rows = self._changed_rows(turn_id, source, known) if known else self._read(source, turn_id)
        many = rows if len(rows) >= _MANY else []
        self._known[name] = {row["entry_id"]: row for row in many if "version" in row}
        return rows

    def _changed_rows(self, turn_id: int, source: str, known: dict[int, Row]) -> list[Row]:
        """The rows of a section of which some are known."""
        query = f"select entry_id, version from {quoted(source)} where turn_id = ?"  # noqa: S608 - as below
        shown = self._db.tuples(query, (turn_id,))
        changed = [entry for entry, version in shown if entry not in known or known[entry]["version"] != version]
        if changed:
            query = "and entry_id in (select value from json_each(?))"
            known = known | {row["entry_id"]: row for row in self._read(source, turn_id, query, json.dumps(changed))}
        return [known[entry] for entry, _ in shown]

    def _read(self, source: str, turn_id: int, condition: str = "", *bindings: str) -> list[Row]:
        query = f"select * from {quoted(source)} where turn_id = ? {condition}"  # noqa: S608 - a view named by packet_sections
        rows = self._db.rows(query, (turn_id, *bindings))
        for row in rows:
            # so that the rows of two turns are equal where they show the same
            del row["turn_id"]
        return rows


def _beside_chars(section: Section) -> int:
    """The characters that a section stands for beside its text: those of the pictures that its rows name."""
    rows = section.rows
    return sum(row["beside_chars"] for row in rows) if rows and "beside_chars" in rows[0] else 0
