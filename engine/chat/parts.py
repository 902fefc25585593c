"""What stands on the screen of a chat: what moves, the panel, the queue, the line that is typed, and the status line.

spec: @chat_screen
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import AfterInput, BeforeInput, ConditionalProcessor

from engine.terminal.drawing.folding import cut
from engine.terminal.drawing.look import Line, Span
from engine.terminal.narrating import here
from engine.terminal.printing import one_line
from engine.terminal.screen import screen

from .completing import completion_lines
from .output import fragments
from .panels import Panel
from .status import Stands, status_line

if TYPE_CHECKING:
    from .session import Session

_MOVING = 20
_HINT = "ask for something; / commands, @ files, ! shell, # note"


class ChatScreen:
    """The parts of the screen, each of which says what it shows now."""

    session: Session
    panel: Panel | None
    buffer: Buffer
    branch: str
    _moving: list[Line]
    _stood: Stands
    _queue: list[Any]

    def _room(self) -> int:
        rows = (screen() or (80, 24))[1]
        return max(min(_MOVING, rows - 6 - len(self._panel_lines()) - len(self._queue_lines())), 2)

    def _layout(self) -> Layout:
        control = BufferControl(
            self.buffer,
            input_processors=[
                BeforeInput(self._label),
                ConditionalProcessor(AfterInput(self._placeholder), Condition(lambda: not self.buffer.text)),
            ],
        )
        typed = Window(control, wrap_lines=True, dont_extend_height=True, height=Dimension(min=1, max=10))
        body = HSplit(
            [
                _part(lambda: self._moving),
                _part(lambda: [[]]),
                _part(self._panel_lines),
                _part(self._queue_lines),
                _part(self._rule),
                typed,
                _part(lambda: completion_lines(self.buffer, here())),
                _part(self._status),
            ]
        )
        return Layout(body, focused_element=typed)

    def _label(self) -> StyleAndTextTuples:
        label = self.panel.label() if self.panel else ""
        return [("fg:ansiyellow" if label else "bold fg:ansicyan", label or f"{here().mark('prompt')} ")]

    def _placeholder(self) -> StyleAndTextTuples:
        room = here().width - 4
        return [("fg:ansibrightblack", "" if self.panel else _HINT[:room])]

    def _rule(self) -> list[Line]:
        look = here()
        return [[Span(look.mark("rule") * (look.width - 1), "dim")]]

    def _panel_lines(self) -> list[Line]:
        rows = (screen() or (80, 24))[1]
        return self.panel.lines(here(), max(rows - 8, 6)) if self.panel else []

    def _queue_lines(self) -> list[Line]:
        look = here()
        rows = self._queue[-3:]
        more = len(self._queue) - len(rows)
        lines: list[Line] = [[Span(f"{look.mark('more')} {more} more before", "dim")]] if more else []
        for row in rows:
            told = one_line(row["prompt"], 300)
            lines.append(cut([Span("queued ", "info"), Span(told, "dim")], look.width - 1, look.mark("more")))
        if rows:
            lines[-1] = cut(lines[-1], look.width - 22, look.mark("more"))
            lines[-1].append(Span("  Up takes it back", "dim"))
        return lines

    def _status(self) -> list[Line]:
        session = self.session
        return [
            status_line(
                here(),
                model=session.model() or "",
                mode=session.mode,
                folder=session.root.name,
                branch=self.branch,
                stood=self._stood,
                queued=len(self._queue),
                hint="",
            )
        ]

    def _completes(self) -> bool:
        """Whether completions come while a word is typed: of commands and of files."""
        if self.panel is not None:
            return False
        before = self.buffer.document.text_before_cursor
        word = before.rsplit(None, 1)[-1] if before and not before[-1].isspace() else ""
        return word.startswith("@") or (before.startswith("/") and not any(each.isspace() for each in before))


def _part(lines: Callable[[], list[Line]]) -> ConditionalContainer:
    """Lines of the screen that are there while there are any."""
    control = FormattedTextControl(lambda: fragments(lines()), focusable=False)
    return ConditionalContainer(
        Window(control, dont_extend_height=True, wrap_lines=False, always_hide_cursor=True),
        Condition(lambda: bool(lines())),
    )


__all__ = ["ChatScreen"]
