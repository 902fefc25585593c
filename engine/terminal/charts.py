"""Charts of columns for a terminal, drawn with block characters."""

from __future__ import annotations

from collections.abc import Sequence

_BLOCKS = " ▁▂▃▄▅▆▇█"
_EIGHTHS = 8


def columns(values: Sequence[float | None], width: int, *, adds: bool) -> list[float | None]:
    """At most `width` values: neighbours are joined, added up if `adds`, else the largest of them counts."""
    if width < 1 or len(values) <= width:
        return list(values)
    joined: list[float | None] = []
    for at in range(width):
        part = [
            each for each in values[at * len(values) // width : (at + 1) * len(values) // width] if each is not None
        ]
        joined.append((sum(part) if adds else max(part)) if part else None)
    return joined


def chart(values: Sequence[float | None], height: int, most: float) -> list[str]:
    """The rows of a chart from the top down, a column a value; `most` is the value that fills a column.

    A value of more than nothing is seen; None leaves its column empty.
    """
    heights = [_eighths(value, height, most) for value in values]
    return [
        "".join(_BLOCKS[min(max(each - row * _EIGHTHS, 0), _EIGHTHS)] for each in heights)
        for row in reversed(range(height))
    ]


def _eighths(value: float | None, height: int, most: float) -> int:
    if not value or value < 0 or most <= 0:
        return 0
    return max(1, min(round(value / most * height * _EIGHTHS), height * _EIGHTHS))


__all__ = ["chart", "columns"]
