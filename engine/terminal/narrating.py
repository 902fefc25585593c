"""Tells what a run does: lines for a program that reads stderr, a screen that is drawn in place for a person.

spec: @live_progress
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from engine.display.statuses import status_words

from .progress import Narrator
from .screen import screen

if TYPE_CHECKING:
    from engine.api.database import Database

    from .drawing.look import Look


class Narrates(AbstractContextManager["Narrates"], Protocol):
    """Tells the events of a run."""

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Tell an event."""
        ...

    def hide(self) -> None:
        """Leave the screen to somebody who asks."""
        ...

    def has_drawn(self, answer: str) -> bool:
        """Whether the answer stands on the screen already."""
        ...


def narrator(db: Database, run: str, *, keeps: bool) -> Narrates:
    """Who tells what `run` does. At a terminal answers are drawn while they come, and stay if it `keeps` them."""
    words = status_words(db)
    return Screen(db, run, words, keeps=keeps) if sys.stderr.isatty() else Narrator(words)


def here() -> Look:
    """What the terminal behind stderr can now."""
    from .drawing.look import look_of

    size = screen()
    return look_of(sys.stderr, size[0] if size else 80)


class Screen:
    """Draws what a run does at the terminal behind stderr."""

    def __init__(self, db: Database, run: str, words: Mapping[int, str], *, keeps: bool) -> None:
        from .drawing.area import Area
        from .drawing.facts import RunFacts
        from .drawing.telling import Telling

        self._telling = Telling(words, here, RunFacts(db, run), keeps=keeps)
        self._area = Area(sys.stderr, self._telling, here, _rows)

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._area.close()

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Tell an event."""
        self._area.tell(lambda: self._telling(event))

    def hide(self) -> None:
        """Leave the screen to somebody who asks."""
        self._area.hide()

    def has_drawn(self, answer: str) -> bool:
        """Whether the answer stands on the screen already."""
        return self._telling.keeps and answer.strip() == self._telling.answer.strip()


def _rows() -> int:
    size = screen()
    return min(size[1], _MOST_ROWS) if size else _MOST_ROWS


_MOST_ROWS = 20
"""The lines that move at most."""

__all__ = ["Narrates", "Screen", "here", "narrator"]
