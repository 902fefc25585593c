"""The size that a packet states of itself, its own figures included.

spec: @budget_section
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .parts import Section

FIRST_SIZE: dict[str, Any] = {"usage": 10_000, "free": 10_000, "system": 1_000, "system_share": 10}
"""What a packet states of its size while the first one is measured: figures of usual widths."""

_Sections = dict[str, Section]


def stating_size(
    sections: _Sections,
    beside: int,
    tell: Callable[[int], dict[str, Any]],
    state: Callable[[dict[str, Any]], _Sections],
) -> tuple[_Sections, dict[str, Any]]:
    """The sections with the size of the packet in them, and that size.

    `tell` takes the characters of a packet and gives its figures; `state` lays out the sections that state them; `beside`
    are the characters that stand in no section. Figures that are wider than those that a packet was measured with make it
    longer, so it is measured again: it only grows until they fit. One that came out shorter, which is rare, gets blanks.
    """
    while True:
        chars = _chars(sections, beside)
        size = tell(chars)
        said = sections | state(size | {"padding": ""})
        rest = chars - _chars(said, beside)
        if rest > 0:
            said = sections | state(size | {"padding": " " * rest})
        if rest >= 0:
            return said, size
        sections = said


def _chars(sections: _Sections, beside: int) -> int:
    return sum(len(section.text) for section in sections.values()) + beside
