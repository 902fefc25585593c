"""What a report is made of, whatever its form. Titles and heads are the engine's own words; all else may be anybody's.

spec: @report
"""

from __future__ import annotations

from dataclasses import dataclass, field


class Code(str):
    """A text that is shown letter by letter: a path, a command line, a digest."""


@dataclass(frozen=True)
class Facts:
    """Names with a value each."""

    rows: list[tuple[str, str]]


@dataclass(frozen=True)
class Points:
    """Sentences, each on a line of its own."""

    lines: list[str]


@dataclass(frozen=True)
class Table:
    """Rows under heads; `left_out` counts those that there is no room for."""

    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]
    left_out: int = 0


@dataclass(frozen=True)
class Text:
    """A text of several lines under a caption, as it was written."""

    caption: str
    body: str


Part = Facts | Points | Table | Text


@dataclass(frozen=True)
class Section:
    """A part of a report with its title; one without parts says `empty`."""

    title: str
    parts: list[Part] = field(default_factory=list)
    empty: str = "Nothing."


@dataclass(frozen=True)
class Report:
    """A report on a run."""

    run: str
    sections: list[Section]
