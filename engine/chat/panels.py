"""What stands between a run and the line that is typed, and takes keys: a list to choose from.

spec: @chat_keys
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from engine.functions.counts import counted
from engine.terminal.drawing.folding import cut, folded
from engine.terminal.drawing.look import Line, Look, Span, width_of
from engine.terminal.printing import one_line

_ROWS = 8
_PREVIEW = 5


class Panel(Protocol):
    """Something that takes keys before the line does."""

    searches: bool
    """Whether what is typed narrows it."""

    def lines(self, look: Look, rows: int) -> list[Line]:
        """What is drawn, in at most `rows` lines."""
        ...

    def label(self) -> str:
        """What stands before the line that is typed; empty for the usual sign."""
        ...

    def key(self, name: str, text: str) -> bool:
        """Take a key while `text` stands in the line; False: it is not for this panel."""
        ...


class Choice(NamedTuple):
    """A row of a list: its name, what stands beside it, and the text that shows more of it."""

    name: str
    note: str = ""
    value: object = None
    preview: str = ""


class Picker:
    """A list of which one is chosen; what is typed narrows it."""

    searches = True

    def __init__(
        self, title: str, choices: Sequence[Choice], chosen: Callable[[Choice, str], None], hint: str = "Enter chooses"
    ) -> None:
        """`chosen` gets the choice and the key: enter, or one of those that `hint` names."""
        self.is_over = False
        self._title = title
        self._choices = choices
        self._chosen = chosen
        self._hint = hint
        self._at = 0
        self._found = list(choices)

    def search(self, text: str) -> None:
        """Show those that have all words of `text`."""
        words = text.lower().split()
        self._found = [each for each in self._choices if all(w in f"{each.name} {each.note}".lower() for w in words)]
        self._at = 0

    def label(self) -> str:
        """What stands before the words that are searched."""
        return "search: "

    def key(self, name: str, text: str) -> bool:  # noqa: ARG002 - of all panels
        """Move, choose or close."""
        match name:
            case "up" | "down":
                step = 1 if name == "down" else -1
                self._at = (self._at + step) % max(len(self._found), 1)
            case "pageup" | "pagedown":
                step = _ROWS if name == "pagedown" else -_ROWS
                self._at = min(max(self._at + step, 0), max(len(self._found) - 1, 0))
            case "escape" | "c-c":
                self.is_over = True
            case "enter" | "c-f":
                if self._found:
                    self.is_over = True
                    self._chosen(self._found[self._at], name)
            case _:
                return False
        return True

    def lines(self, look: Look, rows: int) -> list[Line]:
        """The choices around the one that is marked, and more of that one."""
        most = max(min(_ROWS, rows - 2), 1)
        first = max(min(self._at - most // 2, len(self._found) - most), 0)
        count = counted(len(self._found), "match", "matches") if len(self._found) != len(self._choices) else ""
        more = f"{look.mark('between')}{count}" if count else ""
        head = [Span(self._title, "strong"), Span(f"{more}{look.mark('between')}{self._hint}, Esc closes", "dim")]
        lines = [cut(head, look.width - 1, look.mark("more"))]
        shown = self._found[first : first + most]
        wide = min(max((width_of([Span(one_line(each.name, 60))]) for each in shown), default=0), look.width // 2)
        for number, each in enumerate(shown, first):
            here = number == self._at
            name = cut([Span(one_line(each.name, 200), "reverse" if here else "")], wide, look.mark("more"))
            pad = " " * (wide - width_of(name) + 2)
            line = [Span(f"{look.mark('prompt')} " if here else "  ", "info"), *name]
            line += [Span(pad), Span(one_line(each.note, 300), "dim")] if each.note else []
            lines.append(cut(line, look.width - 1, look.mark("more")))
        if not shown:
            lines.append([Span("  nothing has these words", "dim")])
        elif (text := self._found[self._at].preview) and rows - len(lines) > 2:
            side = [Span(f"  {look.mark('side')} ", "dim")]
            parts = [
                part
                for line in text.split("\n")[:_PREVIEW]
                for part in folded([Span(line)], look.width - 1, side, side)
            ]
            lines += parts[: min(_PREVIEW, rows - len(lines))]
        return lines


__all__ = ["Choice", "Panel", "Picker"]
