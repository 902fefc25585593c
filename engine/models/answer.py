"""An answer while it arrives, in the engine's terms: what both readers of streams write and `RemoteModel` gives back.

spec: @provider_streams
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from engine.models.figures import Figures
from engine.models.native_calls import Call, Calls
from engine.models.protocol import CallPiece, Completion, Thought, ToolCall, finish_reason
from engine.models.stuck import Listener

Emit = Callable[[str], None]


class Answer:
    """Collects an answer; its text and its thoughts go to `emit` as they arrive.

    Thoughts and arguments are listened to here; `is_stuck` says that they repeat themselves or are too long.
    """

    def __init__(self, emit: Emit, apart: bool = False) -> None:
        self.calls = Calls()
        self.figures = Figures(apart)
        self.ended: str | None = None
        """The provider's word for how the answer ended."""
        self.is_over = False
        """Whether the provider has said that nothing more comes."""
        self._heard = {"thoughts": Listener(), "arguments": Listener()}
        self._emit = emit
        self._text, self._thoughts = _Pieces(emit), _Pieces(self._hear_thought)

    def say(self, text: str) -> None:
        """Take a piece of the text."""
        self._text.add(text)

    def think(self, text: str) -> None:
        """Take a piece of the thoughts."""
        self._thoughts.add(text)

    def call(self, index: int | None, call_id: str, name: str, piece: str) -> None:
        """Take a piece of a call."""
        call = self.calls.take(index, call_id, name, piece)
        self.hear_arguments(call, piece)

    def hear_arguments(self, call: Call | None, piece: str) -> None:
        """Listen to a piece of the arguments of a call, and pass it on."""
        if piece:
            self._heard["arguments"].hear(piece)
        if piece and call is not None:
            self._emit(CallPiece(_joined(piece), call.place, call.name))

    def _hear_thought(self, piece: str) -> None:
        self._heard["thoughts"].hear(piece)
        self._emit(Thought(piece))

    @property
    def has_text(self) -> bool:
        """Whether any text has come."""
        return bool(self._text.all)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has come that makes an answer: no text, thought, call, nor a word of its end."""
        return not (self._text.all or self._thoughts.all or self.calls.all or self.ended)

    @property
    def is_stuck(self) -> bool:
        """Whether it is to be cut off."""
        return any(each.finish_reason for each in self._heard.values())

    def completion(self) -> Completion:
        """The answer, as far as it has come."""
        self._text.end()
        self._thoughts.end()
        arguments = self._heard["arguments"]
        if cut := self._heard["thoughts"].finish_reason or arguments.finish_reason:
            return Completion(arguments.text if arguments.finish_reason else "", self._thoughts.text, finish_reason=cut)
        calls = tuple(ToolCall(call.name, _arguments(call.arguments)) for call in self.calls.all)
        return Completion(
            self._text.text,
            self._thoughts.text,
            self.figures.usage,
            finish_reason(self.ended) or ("stop" if self.is_over else "incomplete"),
            calls,
            native=bool(calls),
        )


class _Pieces:
    """Pieces of a text. The first half of a character waits for the other one, which comes with the next piece."""

    def __init__(self, hear: Emit) -> None:
        self.all: list[str] = []
        self._hear = hear
        self._half = ""

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.all)

    def add(self, piece: str) -> None:
        """Take a piece."""
        piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        if piece:
            piece = _joined(piece)
            self.all.append(piece)
            self._hear(piece)

    def end(self) -> None:
        """Take what still waits."""
        half, self._half = self._half, ""
        if half:
            self.all.append("\ufffd")


def _joined(text: str) -> str:
    """`text` with its halves of characters joined, and U+FFFD for a half that is alone."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _arguments(text: str) -> dict[str, Any] | str:
    """Arguments as an object; the text itself if it is no JSON object, as in an answer that was cut off."""
    try:
        parsed = json.loads(text or "{}", strict=False)
    except (ValueError, RecursionError):
        return text
    return parsed if isinstance(parsed, dict) else text
