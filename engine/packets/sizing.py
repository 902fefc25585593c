"""The size that a packet states of itself, its own figures included.

spec: @packet_structure
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .parts import Section

NO_SIZE: dict[str, Any] = {"usage": 0, "free": 0, "system": 0, "system_share": 0}
"""What a packet states of its size before it was measured."""
_NEAR = 40
"""Tokens by which figures of other widths can change a figure, and more."""

_Sections = dict[str, Section]
_Tell = Callable[[int], dict[str, Any]]
_State = Callable[[dict[str, Any]], _Sections]


def stating_size(sections: _Sections, beside: int, tell: _Tell, state: _State) -> tuple[_Sections, dict[str, Any]]:
    """The sections with the size of the packet in them, and that size.

    `tell` takes the characters of a packet and gives its figures; `state` lays out the sections that state them; `beside`
    are the characters that stand in no section. `sections` state the figures of the packet before, which are mostly as wide
    as those of this one. If not, or if other widths would do as well, the packet is measured from the narrowest figures on:
    so its text does not depend on the packet before.
    """
    chars = _chars(sections, beside)
    size = tell(chars)
    said = sections | state(size | {"padding": ""})
    if _chars(said, beside) == chars and not _is_at_an_edge(size):
        return said, size
    return _grown(sections | state(NO_SIZE | {"padding": ""}), beside, tell, state)


def _grown(sections: _Sections, beside: int, tell: _Tell, state: _State) -> tuple[_Sections, dict[str, Any]]:
    """Measure until the figures fit. Wider figures make the packet longer; one that came out shorter gets blanks."""
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


def _is_at_an_edge(size: dict[str, Any]) -> bool:
    """Would a figure have another width in a packet that is a few tokens longer or shorter?"""
    usage, free, system, share = (int(size[name]) for name in ("usage", "free", "system", "system_share"))
    near = any(len(str(max(each - _NEAR, 0))) != len(str(each + _NEAR)) for each in (usage, free, system))
    return near or len(str(max(share - 1, 0))) != len(str(share + 1))


def _chars(sections: _Sections, beside: int) -> int:
    return sum(len(section.text) for section in sections.values()) + beside
