"""`replay:DB#RUN`: gives the answers again that a run of another engine file stored, in their order.

An answer belongs to the packet that it was given to. So the packet is compared with the recorded one, and if they differ,
the call fails with the first difference; `replay:DB#RUN,any` gives the answers to any packet. What the engine writes of
times and durations, which no two runs have in common, is not compared, nor are the figures of the section <budget>.

spec: @replays
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import apsw

from engine.models.protocol import FREE, Completion, Message, ModelError, Price, Request, Usage
from engine.models.scripted import past_the_end

_RESPONSE = """ select t.response, t.reasoning, t.prompt_tokens, t.cached_tokens, t.completion_tokens,
t.reasoning_tokens, t.cost, t.native,
t.finish_reason, t.sequence from turns as t join runs as r on r.id = t.run_id where r.alias = ? and
t.response is not null order by t.sequence limit 1 offset ?
"""
_COUNT = """
select count(*)
from turns as t join runs as r on r.id = t.run_id
where r.alias = ? and t.response is not null
"""
_PACKET = "select role, body from packet_texts where run = ? and turn = ? order by ordinal"
_TIMES = re.compile(r"(?<=[( ])\d{1,9}(?:\.\d{1,9})?s\)|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)? UTC", re.ASCII)
"""What the engine writes of durations, as in (0.04s), and of the time."""
_SECONDS = 20.0
_STEPS = 100_000
_SHOWN = 40
ANY = ",any"
"""Behind the name of a run: the answers are given to any packet."""


class ReplayModel:
    """Answers with the stored responses of run `run` in the engine file `path`, which is opened read-only.

    `run` may end in `,any`.
    """

    def __init__(self, path: str | Path, run: str) -> None:
        self.path = Path(path)
        self.run = run.removesuffix(ANY)
        self._compares = not run.endswith(ANY)

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Completion:
        """The stored response at `request.position`, with its tokens and cost.

        Raises `ModelError` (script, 400) where the file cannot be read, holds too few responses, or has recorded another
        packet.
        """
        if cancelled is not None and cancelled.is_set():
            raise ModelError("aborted", f"the replay of run {self.run!r} was cancelled")
        (text, reasoning, *figures, native, ended, turn), packet = self._recorded(request.position)
        if self._compares and (difference := first_difference(packet, request.messages)):
            raise ModelError(
                "script",
                f"replay of run {self.run!r}: turn {turn} differs from the recording: {difference}; to use the "
                f"recorded answers anyway: --model replay:{self.path}#{self.run}{ANY}",
            )
        if on_delta is not None:
            on_delta(text)
        return Completion(text, reasoning or "", Usage(*figures), ended or "stop", native=bool(native))

    def price_at(self, prompt_tokens: int) -> Price:  # noqa: ARG002 - the same for any
        """Nothing is charged for it."""
        return FREE

    def _recorded(self, position: int) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
        """The response at this position, and the messages that it answered; none where they are not kept."""
        from engine.db.connections import BUSY_TIMEOUT_MS

        if not self.path.is_file():
            raise ModelError("script", f"replay file {self.path} does not exist; name an engine file")
        try:
            # Not with sqlite3: that is another SQLite library, and two of them in one process break each other's locks
            # where this file is also the one that the run is stored in.
            connection = apsw.Connection(str(self.path.resolve()), flags=apsw.SQLITE_OPEN_READONLY)
            try:
                connection.set_busy_timeout(BUSY_TIMEOUT_MS)  # who closes the file last keeps it for a moment
                until = time.monotonic() + _SECONDS  # the views are those of the file, which may be anybody's
                connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
                row: tuple[Any, ...] | None = connection.execute(_RESPONSE, (self.run, position)).fetchone()
                if row is None:
                    responses = connection.execute(_COUNT, (self.run,)).get
                    raise past_the_end(f"run {self.run!r} of {self.path}", responses, position)
                return row, self._packet(connection, row[-1]) if self._compares else []
            finally:
                connection.close()
        except apsw.Error as error:
            raise ModelError("script", f"replay file {self.path} cannot be replayed: {error}") from error

    def _packet(self, connection: apsw.Connection, turn: int) -> list[tuple[Any, ...]]:
        if not connection.execute("select 1 from sqlite_schema where name = 'packet_texts'").get:
            return []
        return connection.execute(_PACKET, (self.run, turn)).fetchall()


def first_difference(recorded: Sequence[tuple[Any, ...]], asked: Sequence[Message]) -> str | None:
    """Where messages differ from the recorded (role, text); None where they do not. What is not kept differs."""
    if not recorded or any(text is None for _, text in recorded):
        return "its packet is not kept"
    if (roles := [message.role for message in asked]) != (before := [role for role, _ in recorded]):
        return f"its messages are {', '.join(roles)}, recorded: {', '.join(map(str, before))}"
    pairs = zip(recorded, asked, strict=True)
    return next(
        (found for (role, text), now in pairs if (found := _different_line(role, str(text), now.content))), None
    )


def _different_line(role: str, recorded: str, asked: str) -> str | None:
    if recorded == asked:
        return None
    recorded, asked = without_budget(recorded), without_budget(asked)
    for number, (before, now) in enumerate(zip_longest(recorded.split("\n"), asked.split("\n")), 1):
        if before is None or now is None or (before != now and without_times(before) != without_times(now)):
            return f"line {number} of the {role} message is {_shown(now, before)}, recorded: {_shown(before, now)}"
    return None


def without_times(text: str) -> str:
    """A text with a dot in place of the times and durations that the engine writes, which no two runs have in common."""
    return _TIMES.sub("·", text)


def without_budget(text: str) -> str:
    """A message without its last section <budget>, whose figures follow from all that stands before it."""
    before, mark, budget = text.rpartition("\n<budget")
    return before + budget.partition("</budget>")[2] if mark else text


def _shown(line: str | None, other: str | None) -> str:
    """A line from where it differs; the word for none."""
    if line is None:
        return "missing"
    same = next((at for at, (mine, its) in enumerate(zip(line, other or "", strict=False)) if mine != its), 0)
    begin = max(0, same - _SHOWN // 3)
    return repr(("…" if begin else "") + line[begin : begin + _SHOWN] + ("…" if len(line) > begin + _SHOWN else ""))
