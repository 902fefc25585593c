"""Puts the native calls of a streamed answer together, however a provider numbers their pieces.

A piece may have an index, an id and a name, or lack any of them:

- a new id with a name begins a call, whatever the index says;
- a piece without a name, or with an id that is known, goes on with its call: that of its id, of its index, else the last;
- a name without an id begins a call if it is another name, or if the arguments of the call before are whole;
- behind arguments that are whole, an object begins another call of the same tool.

Arguments that are not whole go on: a piece that does not begin with `{` cannot begin a call.

spec: @provider_streams @native_tools
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MOST_CALLS = 1000
_STRUCTURE = re.compile(r'[{}\[\]"\\]|[^{}\[\]"\\]+')


@dataclass
class Call:
    """A call that arrives in pieces, at `place` among those of its answer, from 0.

    `whole` are arguments that came at once, and count where no piece follows.
    """

    index: int | None
    id: str
    name: str
    place: int = 0
    pieces: list[str] = field(default_factory=list)
    whole: str = ""
    has_arguments: bool = False
    _size: int = 0
    _depth: int = 0
    _in_text: bool = False
    _escaped: bool = False

    def add(self, piece: str) -> None:
        """Take a piece of the arguments."""
        self.pieces.append(piece)
        self._size += len(piece)
        self.has_arguments = self.has_arguments or bool(piece.strip())
        for found in _STRUCTURE.finditer(piece):
            self._follow(found[0])

    @property
    def is_whole(self) -> bool:
        """Whether its arguments have ended: all that was opened is closed."""
        return self.has_arguments and self._depth <= 0 and not self._in_text

    @property
    def arguments(self) -> str:
        """The arguments so far."""
        return "".join(self.pieces) if self.has_arguments else self.whole

    def is_repeated_by(self, piece: str) -> bool:
        """Whether a piece is all of its arguments once more."""
        return self.is_whole and len(piece) == self._size and piece == self.arguments

    def _follow(self, mark: str) -> None:
        if self._escaped:
            self._escaped = False
        elif mark == "\\":
            self._escaped = self._in_text
        elif mark == '"':
            self._in_text = not self._in_text
        elif not self._in_text:
            self._depth += (mark in "{[") - (mark in "}]")


class Calls:
    """The calls of one answer, in the order in which they begin."""

    def __init__(self) -> None:
        self.all: list[Call] = []
        self._by_id: dict[str, Call] = {}
        self._by_index: dict[int, Call] = {}

    def take(self, index: int | None, call_id: str, name: str, piece: str) -> Call | None:
        """Take a piece; returns its call, None if it only repeats one. Raises `OverflowError` for more calls than any model
        makes.
        """
        call = self._continued(index, call_id, name, piece)
        if call is None:
            before = self.at(index)
            call = self.begin(index, call_id, name or (before.name if before else ""))
        elif call.is_repeated_by(piece):
            return None  # some providers end with the whole call once more
        elif call.index == index and not call_id and name != call.name and not call.has_arguments:
            call.name += name
        call.id = call.id or call_id
        call.name = call.name or name
        if call.id:
            self._by_id[call.id] = call
        call.add(piece)
        return call

    def begin(self, index: int | None, call_id: str, name: str) -> Call:
        """A new call."""
        if len(self.all) >= MOST_CALLS:
            raise OverflowError(f"more than {MOST_CALLS:,} calls")
        call = Call(index, call_id, name, len(self.all))
        self.all.append(call)
        if call_id:
            self._by_id[call_id] = call
        if index is not None:
            self._by_index[index] = call
        return call

    def at(self, index: int | None) -> Call | None:
        """The latest call with this index, else the last one."""
        latest = self.all[-1] if self.all else None
        return latest if index is None else self._by_index.get(index, latest)

    def _continued(self, index: int | None, call_id: str, name: str, piece: str) -> Call | None:
        """The call that a piece goes on with; None if it begins one."""
        known = self._by_id.get(call_id) if call_id else None
        if known is not None and (index is None or known.index in (None, index)):
            return None if _begins(known, name, piece) else known
        call = self.at(index)
        if call is None or (name and index is not None and index not in self._by_index and call.index is not None):
            return None
        if not name:
            return None if _begins(call, name, piece) else call
        if call_id and call.id:
            return call if name == call.name and _goes_on(call, piece) else None
        same = (
            name == call.name or not call.name or (call.index == index and index is not None and not call.has_arguments)
        )
        return call if same and not _begins(call, name, piece) else None


def _goes_on(call: Call, piece: str) -> bool:
    """Whether a piece can only be more of the arguments of `call`, because no arguments begin like that."""
    return call.has_arguments and not call.is_whole and bool(piece.strip()) and not piece.lstrip().startswith("{")


def _begins(call: Call, name: str, piece: str) -> bool:
    """Whether a piece begins another call behind `call`, whose arguments are whole."""
    more = piece.strip() if name else piece.lstrip().startswith("{")
    return bool(more and call.is_whole and not call.is_repeated_by(piece))
