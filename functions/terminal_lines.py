"""A line of a terminal, of which parts may have been passed on already.

spec: @shown_output
"""

from __future__ import annotations

FARTHEST = 512
"""The last column that a sequence moves to; a terminal has fewer."""


class Line:
    """A line that may still change: `cells` are its characters from column `gone` on, `sent` what was passed on of them."""

    __slots__ = ("cells", "gone", "is_redrawn", "sent")

    def __init__(self, text: str = "") -> None:
        self.cells = list(text)
        self.gone = 0
        self.sent = ""
        self.is_redrawn = False

    def shown(self) -> str:
        """Its text. Blanks behind a redrawn line have covered what stood there."""
        text = "".join(self.cells)
        return text.rstrip(" ") if self.is_redrawn else text

    def news(self) -> str:
        """What is to be passed on of it. A line that has changed meanwhile is passed on again, on a line of its own."""
        text = self.shown()
        return text[len(self.sent) :] if text.startswith(self.sent) else f"\n{text}"

    def forget(self) -> None:
        """Let its text go, which was passed on; what follows is behind it."""
        self.gone += len(self.cells)
        self.cells, self.sent, self.is_redrawn = [], "", False

    def change(self, how: str, place: int, count: int) -> None:
        """Erase (`X`), insert (`@`) or delete (`P`) so many characters at `place`, unless much text stands behind it."""
        behind = len(self.cells) - place
        if not (place >= 0 and 0 < behind <= FARTHEST and how in "X@P"):
            return
        blanks = {"X": min(count, behind), "@": count, "P": 0}[how]
        self.cells[place : place + (0 if how == "@" else count)] = " " * blanks
        self.is_redrawn = True
