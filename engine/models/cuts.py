"""Where a message may be cut, so that a provider finds in its cache what it has read before.

A provider caches whole blocks, and finds a block again only if the message is cut at the same places as before. So a message
is cut where its own stable sections end, and also where the message before it was cut, as far as both texts are the same.
Two figures of each message are stored: where its own sections end, and the last cut that it took over (`kept_of`). From
those of a message and the ones before it, `cuts_of` makes all of its cuts again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from engine.models.protocol import Message


def message_of(
    role: str, sections: Sequence[tuple[str, bool]], before: Message | None = None, parts_before: Sequence[str] = ()
) -> Message:
    """The message of a packet: its sections' texts, each with whether it may be cached up to its last row.

    `before` is the message of the packet before this one, `parts_before` the texts of its sections where they are known.
    """
    parts = [text for text, _ in sections]
    starts = accumulate(map(len, parts), initial=0)
    # searched from the end: the closing tag of a section is its last line
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
    """The blocks of a message, each with whether the provider is asked to cache up to its end.

    At most `most` blocks are, the last ones of those that end with a section.
    """
    cached = message.cache_to[-most:] if most else ()
    edges = [0, *message.cuts, len(message.content)]
    return [(message.content[start:end], end in cached) for start, end in pairwise(edges) if end > start]


def kept_of(message: Message) -> int:
    """The last cut that a message took over from the one before it; 0 for none. Ends of its own sections do not count."""
    return max(set(message.cuts) - set(message.cache_to), default=0)


def cuts_of(line: Iterable[tuple[int, Sequence[int]]]) -> tuple[int, ...]:
    """All cuts of a message, from what is stored of it and of the messages before it, the latest first.

    Each item of `line` is what `kept_of` gave for a message, and where the sections of that message end.
    """
    cuts: set[int] = set()
    bound: int | None = None
    for kept, ends in line:
        cuts |= {end for end in ends if bound is None or end <= bound}
        bound = kept if bound is None else min(bound, kept)
        if not bound:
            break
    return tuple(sorted(cuts))


def _same(before: Message, parts_before: Sequence[str], parts: Sequence[str]) -> tuple[int, ...]:
    """The cuts of an older message that stand in text which is the same in the new one.

    Parts are compared whole, because a slice of a long text would be a copy of it.
    """
    start = 0
    for old, new in zip(parts_before, parts, strict=False):
        if old != new:
            inside = (cut for cut in reversed(before.cuts) if start < cut <= start + len(old))
            start = next((cut for cut in inside if new.startswith(old[: cut - start])), start)
            break
        start += len(old)
    return tuple(cut for cut in before.cuts if cut <= start)
