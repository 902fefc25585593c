"""A small model of behavioural threads, by which the SQL is checked: lists and loops, no database.

It knows the events of scripted turns: commands that set known:// entries, updates, and text alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

OF_THE_END = ("ask", "tell")
MOST = 50


@dataclass(frozen=True)
class Pattern:
    """What a thread says of one event at one point."""

    part: str
    event: str
    path: str | None = None

    def matches(self, event: str, fields: dict[str, str]) -> bool:
        return self.event == event and (self.path is None or fnmatchcase(fields.get("path", "\n"), self.path))


@dataclass
class Thread:
    """A thread with its points, and the point at which it stands, from 1; None when it has ended."""

    name: str
    priority: int
    points: list[list[Pattern]]
    repeat_from: int | None
    each_prompt: bool
    point: int | None = 1

    @property
    def bids(self) -> list[Pattern]:
        return [] if self.point is None else self.points[self.point - 1]

    def move(self, event: str, fields: dict[str, str]) -> str | None:
        """Go where the event takes it; why, or None where it stays."""
        parts = {bid.part for bid in self.bids if bid.matches(event, fields)} - {"block"}
        if not parts or self.point is None:
            return None
        why = next(part for part in ("interrupt", "request", "wait") if part in parts)
        if why == "interrupt":
            self.point = None
        else:
            self.point = self.point + 1 if self.point < len(self.points) else self.repeat_from
        return why


@dataclass
class Run:
    """The threads of a run, and what they did: (event, who requested it, [(thread, from, to, why)])."""

    threads: list[Thread]
    log: list[tuple[str, str | None, list[tuple[str, int | None, int | None, str]]]] = field(default_factory=list)
    blocks: list[tuple[str, str, int | None]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """The threads whose ask or tell was told in the turn."""
    goes_on: bool = False
    _fresh: bool = True
    _facts: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def new_loop(self) -> None:
        self._fresh = True

    def _offered(self, event: str, fields: dict[str, str]) -> str | None:
        """Ask about an event; the name of the thread that blocks it."""
        if self._fresh:
            for thread in self.threads:
                thread.point = 1 if thread.each_prompt else thread.point
            self._fresh = False
        self._requests(at_end=False)
        for thread in self._in_order():
            if any(bid.part == "block" and bid.matches(event, fields) for bid in thread.bids):
                self.blocks.append((event, thread.name, thread.point))
                return thread.name
        return None

    def _in_order(self) -> list[Thread]:
        return sorted(self.threads, key=lambda thread: (thread.priority, thread.name))

    def _select(self, event: str, fields: dict[str, str], by: str | None) -> None:
        moved = []
        for thread in self.threads:
            before = thread.point
            if why := thread.move(event, fields):
                moved.append((thread.name, before, thread.point, why))
        if moved:
            self.log.append((event, by, moved))

    def _requests(self, *, at_end: bool) -> None:
        for _ in range(MOST):
            blocked = {bid.event for thread in self.threads for bid in thread.bids if bid.part == "block"}
            wanted = [
                (thread, bid.event)
                for thread in self._in_order()
                for bid in thread.bids
                if bid.part == "request" and bid.event not in blocked and (at_end or bid.event not in OF_THE_END)
            ]
            if not wanted:
                return
            thread, event = wanted[0]
            if event in OF_THE_END:
                self.asked += [
                    each.name
                    for each in self._in_order()
                    for bid in each.bids
                    if bid.part == "request" and bid.event == event
                ]
            self.goes_on = self.goes_on or event == "ask"
            self._select(event, {}, thread.name)

    def _happen(self, event: str, fields: dict[str, str]) -> None:
        if any(bid.event == event for thread in self.threads for point in thread.points for bid in point):
            self._offered(event, fields)
            self._select(event, fields, None)

    def command(self, path: str) -> bool:
        """A command that sets an entry comes up; whether it is performed."""
        return self._command("command", {"path": path}, "done")

    def update(self, status: str, *, clean: bool) -> bool:
        """An update comes up; `clean`: no command of the turn has failed, so that it may end the loop."""
        ends = status == "200"
        return self._command("finish" if ends and clean else "command", {}, "failed" if ends and not clean else "done")

    def _command(self, event: str, fields: dict[str, str], fact: str) -> bool:
        self._tell()
        if self._offered(event, fields) is not None:
            return False
        self._select(event, fields, None)
        self._facts.append((fact, fields))
        return True

    def _tell(self) -> None:
        facts, self._facts = self._facts, []
        for event, fields in facts:
            self._happen(event, fields)

    def end_turn(self, *, healed: bool) -> None:
        """A turn is over; `healed`: it would end its loop without an update."""
        self.asked, self.goes_on = [], False
        self._tell()
        if healed:
            if self._offered("finish", {}) is not None:
                self.goes_on = True
            else:
                self._select("finish", {}, None)
        self._offered("turn", {})
        self._select("turn", {}, None)
        self._requests(at_end=True)
