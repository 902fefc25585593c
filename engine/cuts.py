"""Where a message may be cut, so that a provider finds in its cache what it has read before.

A provider caches whole blocks and finds them again only if they are cut as they were. So a message is cut where its stable
sections end, and wherever the message before it was cut as far as the two are the same. Remembered of it is where its own
sections end and the last cut that it has from the message before (`kept_of`); of those, `cuts_of` makes the cuts again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from .models.protocol import Message


def message_of(
    role: str, sections: Sequence[tuple[str, bool]], before: Message | None = None, parts_before: Sequence[str] = ()
) -> Message:
    """The message of a packet: its sections' texts, each with whether it may be cached up to its last row.

    `before` is the message of the packet before this one, `parts_before` the texts of its sections where they are known.
    """
    parts = [text for text, _ in sections]
    starts = accumulate(map(len, parts), initial=0)
    # from behind: the closing tag is the last line
    tags = [text.rfind("\n</") for text in parts]
    ends = [
        start + tag + 1 for (_, cached), start, tag in zip(sections, starts, tags, strict=False) if cached and tag >= 0
    ]
    content = "".join(parts)
    kept: tuple[int, ...] = ()
    if before and ends:
        kept = _same(before, parts_before, parts) if parts_before else _same(before, [before.content], [content])
    return Message(role, content, cuts=tuple(sorted({*kept, *ends})), cache_to=tuple(ends))


def blocks_of(message: Message, most: int) -> list[tuple[str, bool]]:
    """The blocks of a message with whether to cache up to their end, which is said of at most `most`, the last ones."""
    cached = message.cache_to[-most:] if most else ()
    edges = [0, *message.cuts, len(message.content)]
    return [(message.content[start:end], end in cached) for start, end in pairwise(edges) if end > start]


def kept_of(message: Message) -> int:
    """The last cut that a message has from the one before, those aside at which its own sections end; 0 for none."""
    return max(set(message.cuts) - set(message.cache_to), default=0)


def cuts_of(line: Iterable[tuple[int, Sequence[int]]]) -> tuple[int, ...]:
    """The cuts of a message; `line` has for it and those before it, the latest first, `kept_of` and where sections end."""
    cuts: set[int] = set()
    bound: int | None = None
    for kept, ends in line:
        cuts |= {end for end in ends if bound is None or end <= bound}
        bound = kept if bound is None else min(bound, kept)
        if not bound:
            break
    return tuple(sorted(cuts))


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
