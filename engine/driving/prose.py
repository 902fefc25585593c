"""The prose of an answer while the model writes it: what stands outside of commands, without markup.

It is told only as far as more text cannot change it, so that nobody is shown half a tag.
"""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.functions.markup.answer import response_parse
from engine.functions.typed_answers.partial import NOTHING, partial_body, partial_value

if TYPE_CHECKING:
    from engine.events import TextDict
    from engine.handle import Handle
    from engine.models.protocol import CallPiece

_OPENERS = re.compile(r"[<\[{`~|]")
"""What a command, a quotation or a control token can begin with."""
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_CALL = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)
"""A line with which a call in JSON or in Python's notation can begin; it may go on over several lines."""
_STEPS = 64
"""The text is read again when it has grown by this part of itself, so that the work grows with its length only."""


def tool_names(db: Handle) -> str:
    """The names of the tools, a JSON array: whoever listens to answers reads them once."""
    return str(db.value("select json_group_array(name) from (select name from tools order by ordinal)"))


class Answer:
    """An answer that arrives, to be read by the thread that drives the run and by those that follow it."""

    def __init__(self, turn: int) -> None:
        self.turn = turn
        self._lock = threading.Lock()
        self.start_over()

    def start_over(self) -> None:
        """Forget what has arrived: the model is asked again."""
        with self._lock:
            self._pieces: list[str] = []
            self._update: list[str] = []
            self._length = self._read = self._looked = self._updating = 0
            self._prose = ""

    def hear(self, text: str) -> None:
        """Take the next piece of the answer."""
        with self._lock:
            self._pieces.append(text)
            self._length += len(text)

    def hear_call(self, piece: CallPiece) -> None:
        """Take the next piece of a native call; only that of an update is kept, the last one."""
        if piece.tool == "update":
            with self._lock:
                if piece.call != self._updating:
                    self._update, self._updating = [], piece.call
                self._update.append(piece)
                self._length += len(piece)

    def prose(self, tools: str) -> str:
        """The prose that has arrived so far and stays as it is; `tools` is what `tool_names` returns."""
        with self._lock:
            if self._length - self._read > self._read // _STEPS:
                text = "".join(self._pieces)
                self._pieces, self._read = [text], self._length
                self._prose = _prose(text[: settled(text)], tools)
            return self._prose

    def partial(self) -> Any:
        """The JSON of an answer of a form as far as it has arrived, where it has grown; else `NOTHING`."""
        with self._lock:
            if self._length - self._looked <= self._looked // _STEPS:
                return NOTHING
            self._looked = self._length
            return partial_body("".join(self._update)) if self._update else partial_value("".join(self._pieces))


def settled(text: str) -> int:
    """The number of characters of an answer whose meaning is known, whatever comes behind them."""
    line = text.rfind("\n") + 1
    opener = _OPENERS.search(text, line)
    end = len(text) if opener is None else opener.start()
    fences = [found.start() for found in _FENCE.finditer(text)]
    if len(fences) % 2:
        end = min(end, fences[-1])
    paragraph = text.rfind("\n\n", 0, end) + 1
    call = _CALL.search(text, paragraph, end)
    return end if call is None else call.start()


def _prose(text: str, tools: str) -> str:
    return str(json.loads(response_parse(text, tools, None, 1) or "{}").get("text", ""))


class Teller:
    """Makes text events, each with what is new in the prose of a turn."""

    def __init__(self) -> None:
        self._turn = 0
        self._told = ""

    def more(self, turn: int, prose: str, last: int) -> list[TextDict]:
        """The event for what `prose` has more than was told of `turn`, if anything; `last` is its id."""
        if turn != self._turn:
            self._turn, self._told = turn, ""
        if prose == self._told:
            return []
        at = _common(prose, self._told)
        self._told = prose
        return [{"type": "text", "id": last, "turn": turn, "at": at, "text": prose[at:]}]


def _common(text: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    if text.startswith(other):
        return len(other)
    pairs = enumerate(zip(text, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(text), len(other)))


_arriving: dict[tuple[Path, str], Answer] = {}
"""The answers that runs of this process wait for, by file and run."""


def arriving(place: Path, run: str) -> Answer | None:
    """The answer that arrives for a run that this process drives."""
    return _arriving.get((place, run))


def arrives(place: Path, run: str, answer: Answer | None) -> None:
    """Note the answer that arrives for a run, None when it has ended."""
    if answer is None:
        _arriving.pop((place, run), None)
    else:
        _arriving[place, run] = answer
