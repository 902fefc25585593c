"""What a model says and thinks, as a terminal draws it while it comes: what stays, and what still moves.

spec: @live_progress
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from engine.display.draft import Draft
from engine.terminal.printing import one_line

from .code import shown
from .flow import Flow
from .folding import cut, folded
from .look import Line, Look, Span

_A_WORD = 20
"""Characters after which the model is said to write."""
_THOUGHT_LINES = 3
SOON_S = 0.3
"""What takes less has no time beside it."""


class Speech:
    """The text and the thoughts of a run. `look` says what the terminal can now; without `keeps` an answer that is drawn
    while it comes is printed by somebody else.
    """

    def __init__(self, look: Callable[[], Look], *, keeps: bool) -> None:
        self.keeps = keeps
        self._look = look
        self._lines: list[Line] = []
        self._kind = ""
        """What was told last, as groups have an empty line between them."""
        self.activity = ""
        """What the run is at; empty while it does nothing."""
        self._since = time.monotonic()
        self.answer = ""
        """The text that was drawn last as what the model says."""
        self._begin_turn()

    def _begin_turn(self) -> None:
        self._draft = Draft()
        self._flow: Flow | None = None
        self._held: list[Line] = []
        self._is_stale = self._says_answer = False
        self._thoughts = ""
        self._thought_since = time.monotonic()

    def _delta(self, event: Mapping[str, Any]) -> None:
        self._draft.hear(event["text"])
        self._is_stale = True
        if self._draft.characters > _A_WORD and self.activity == "thinking":
            self._does("writing")

    def _text(self, event: Mapping[str, Any]) -> None:
        self._draft.tell(event["at"], event["text"])
        self._is_stale = True

    def _refresh(self) -> None:
        """Draw what has been written since the last look; who writes fast is not looked at for each word."""
        if not self._is_stale:
            return
        self._is_stale = False
        if not self._says_answer and (prose := self._draft.prose.strip("\n")).strip():
            self._hear(prose)
        if answer := self._draft.answer():
            if not self._says_answer:
                self._end_flow()
                self._says_answer = True
            self._hear(answer)

    def _hear(self, text: str, *, whole: bool = False) -> None:
        """Draw what the model says as far as it is written."""
        self._end_thoughts()
        if self._flow is None:
            self._flow = Flow(self._look())
        self._flow.update(text, whole=whole)
        self._held += self._flow.settled()
        if self.keeps:
            self._keep()
        if whole:
            self.answer, self._flow = text, None

    def _keep(self) -> None:
        held, self._held = self._held, []
        self._add(held, "text")

    def _end_flow(self) -> None:
        self._refresh()
        if self._flow is not None:
            self._hear(self._flow.text, whole=True)

    def _thought(self, event: Mapping[str, Any]) -> None:
        if not self._thoughts:
            self._thought_since = time.monotonic()
        self._thoughts += event["text"]

    def _thinks(self, look: Look) -> list[Line]:
        text = shown(self._thoughts[-2_000:].strip().rpartition("\n\n")[2])
        indent = [Span("  ")]
        lines = folded([Span(text, "dim em")], look.width, indent, indent)[-_THOUGHT_LINES:]
        return [[], *lines] if self._kind else lines

    def _end_thoughts(self) -> None:
        """What was thought is one line from now on."""
        thoughts, self._thoughts = self._thoughts, ""
        if thoughts.strip():
            spent = time.monotonic() - self._thought_since
            long = f" for {seconds(spent)}" if spent >= SOON_S else ""
            first = one_line(thoughts.strip(), 200)
            look = self._look()
            line = [Span(f"{look.mark('thought')} thought{long}{look.mark('between')}{first}", "dim")]
            self._add([cut(line, look.width, look.mark("more"))], "thought")

    def _rest(self) -> None:
        self._end_flow()
        self._end_thoughts()

    def _does(self, what: str) -> None:
        if what != self.activity:
            self.activity, self._since = what, time.monotonic()

    def _add(self, lines: list[Line], kind: str) -> None:
        if not lines:
            return
        if self._kind and (self._kind != kind or kind == "note"):
            self._lines.append([])
        self._kind = kind
        self._lines += lines


def seconds(spent: float) -> str:
    """How long something took, as people read it."""
    if spent < 60:
        return f"{spent:.1f} s" if spent < 10 else f"{spent:.0f} s"
    return f"{int(spent) // 60} min {int(spent) % 60} s"


__all__ = ["SOON_S", "Speech", "seconds"]
