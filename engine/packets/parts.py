"""The parts in which a packet is stored: how the text of a section is parted, and what a part refers to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.db.database import Row

_ENTRY = '\n{"turn":'
"""How an entry begins in a packet."""
_WORTH_REFERRING = 80
"""Bodies of fewer characters are stored in their chunk; longer ones are referred to."""
_STRETCH = 32
"""How many chunks a stretch has on average."""


Chunk = tuple[str, int | None, int | None, str | None, bool]
"""A part as it is stored: its head, the content and how much of it follows, its foot, whether its fence closes it."""

Parts = tuple[str, Sequence[str], str]
"""A section's opening, its entries without the line feed behind each, and its closing tag."""

Piece = tuple[str, str | None, str]
"""A layer of a system message, the row of it, and a text that it says."""

OWN_WORDS = "engine"
"""The layer of what stands between the texts of others."""


@dataclass(frozen=True)
class Section:
    """A section as it was laid out: its text, and the rows that it was made of; of a system section the texts of its layers,
    in their order, and the name of its template.
    """

    text: str
    rows: list[Row] = field(default_factory=list)
    layers: Sequence[Piece] = ()
    template: str | None = None

    @cached_property
    def pieces(self) -> list[Piece]:
        """What it is made of: the texts of its layers, and between them those of its template. Joined they are its text."""
        found: list[Piece] = []
        start = 0
        for layer, source, text in self.layers:
            # each stands in lines of its own
            begin = self.text.find(f"\n{text}\n", max(start - 1, 0)) + 1
            if text and begin:
                found += [(OWN_WORDS, self.template, self.text[start:begin]), (layer, source, text)]
                start = begin + len(text)
        return [piece for piece in (*found, (OWN_WORDS, self.template, self.text[start:])) if piece[2]]

    @cached_property
    def parts(self) -> Parts:
        """The parts in which it is stored. Rows that name their version stand one to a part where they are its entries."""
        entries = [row["text"] for row in self.rows if "version" in row]
        if not entries:
            return split(self.text)
        joined = "\n".join(entries) + "\n"
        begin = self.text.find(entries[0])
        if begin < 0 or not self.text.startswith(joined, begin):
            return split(self.text)
        return self.text[:begin], entries, self.text[begin + len(joined) :]


def split(text: str) -> Parts:
    """A section's text in the parts in which it is stored, as its entries begin."""
    end = text.rfind("\n</") + 1
    opening, *entries = text[:end].split(_ENTRY)
    if not entries:
        return text[:end], (), text[end:]
    return opening + "\n", [_ENTRY[1:] + entry for entry in (*entries[:-1], entries[-1][:-1])], text[end:]


def stretches_of(ids: list[int]) -> Iterator[list[int]]:
    """Ids in order, cut behind those that chance chose: a change leaves the stretches before and after it as they are."""
    stretch: list[int] = []
    for number in ids:
        stretch.append(number)
        # the high bits of a product with 2**32 over the golden ratio: ids that lie evenly apart are spread as well
        if (number * 2654435769 & 0xFFFFFFFF) * _STRETCH < 1 << 32:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def runs_of(ids: list[int]) -> list[int | list[int]]:
    """Ids in order, two or more consecutive ones as [first, last]."""
    runs: list[list[int]] = []
    for number in ids:
        if runs and runs[-1][-1] + 1 == number:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return [run if len(run) == 2 else run[0] for run in runs]


def chunk_of(part: str, row: Row | None) -> Chunk:
    """How a part is stored: as it is, or around a reference to the body that it shows; a closing fence is left out."""
    # the body begins behind the opening line, which ends with the fence
    begin = part.find("\n") + 1
    shown = row["body_chars"] if row and row["body_chars"] >= _WORTH_REFERRING else 0
    body_end = begin + shown
    fence = part[:begin].partition(" <<")[2]
    fenced = fence != "" and part.endswith(fence, body_end) and "\0" not in part[:begin]
    end = len(part) - len(fence) if fenced else len(part)
    if not row or not shown:
        return part[:end], None, None, None, fenced
    return part[:begin], row["content_id"], shown, part[body_end:end], fenced
