"""Where a message may be cut, so that a provider finds in its cache what it has read before.

A provider caches whole blocks and finds them again only if they are cut as they were. So a message is cut where its stable
sections end, and wherever the message before it was cut as far as the two are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from .models.protocol import Message


def message_of(
    role: str, sections: Sequence[tuple[str, bool]], before: Message | None = None, parts_before: Sequence[str] = ()
) -> Message:
    """The message of a packet: its sections' texts, each with whether it may be cached up to its last row.

    `before` is the message of the packet before this one, `parts_before` the texts of its sections.
    """
    parts = [text for text, _ in sections]
    starts = accumulate(map(len, parts), initial=0)
    ends = [
        start + text.rfind("\n</") + 1
        for (text, cached), start in zip(sections, starts, strict=False)
        if cached and text
    ]
    kept = _same(before, parts_before, parts) if before and ends else ()
    return Message(role, "".join(parts), cuts=tuple(sorted({*kept, *ends})), cache_to=tuple(ends))


def blocks_of(message: Message, most: int) -> list[tuple[str, bool]]:
    """The blocks of a message with whether to cache up to their end, which is said of at most `most`, the last ones."""
    cached = message.cache_to[-most:] if most else ()
    edges = [0, *message.cuts, len(message.content)]
    return [(message.content[start:end], end in cached) for start, end in pairwise(edges) if end > start]


def _same(before: Message, parts_before: Sequence[str], parts: Sequence[str]) -> tuple[int, ...]:
    """The cuts of an older message up to which the parts are the same. Texts are compared whole, which copies nothing."""
    start = 0
    for old, new in zip(parts_before, parts, strict=False):
        if old != new:
            inside = (cut for cut in reversed(before.cuts) if start < cut <= start + len(old))
            start = next((cut for cut in inside if new.startswith(old[: cut - start])), start)
            break
        start += len(old)
    return tuple(cut for cut in before.cuts if cut <= start)
