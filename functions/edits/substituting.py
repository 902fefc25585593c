"""Changes a text by substitutions in the notation of sed; each means one place, unless it has the flag g.

spec: @edit_syntax
"""

from __future__ import annotations

from engine.functions.limits import SUBSTITUTION_HITS, Exceeded, Work

from .lines import Lines, Mismatch
from .messages import ambiguous_lines
from .searching import Search, apply_search
from .sed import (
    Hit,
    Substitution,
    apply_hits,
    check_one_reading,
    check_whole_hit,
    find_hits,
    is_named,
    plain_text,
    problem,
    replace_literally,
    with_endings,
)

_COUNTED_HITS = 60
"""Hits that a message is made of; it says of more than 50 that there are more."""


def substitute(text: str, substitutions: list[Substitution], warnings: list[str]) -> tuple[str, bool]:
    """`text` after sed substitutions, and whether regular expressions matched more than half of it.

    One without the flag g must hit exactly once. Raises `Mismatch`, `Exceeded`.
    """
    work, unnamed, length = Work(), 0, len(text)
    for each in substitutions:
        work.check()
        check_one_reading(each, text)
        check_whole_hit(each)
        replaced = replace_literally(each, text)
        if replaced is None:
            hits = _hits(text, each)
            if not is_named(each, text):
                unnamed += sum(hit.end - hit.start for hit in hits)
            replaced = apply_hits(text, with_endings(text, hits)) if hits else _without_hit(text, each, warnings)
        text = replaced
    return text, 2 * unnamed > length


def _without_hit(text: str, each: Substitution, warnings: list[str]) -> str:
    """`text` with the line changed that a substitution means if white space does not count. Raises `Mismatch`."""
    old, new = plain_text(each.old), plain_text(each.new)
    if old.endswith("\n") and (not new or new.endswith("\n")):
        old, new = old[:-1], new[:-1] if new else new
        lines = new.split("\n") if new or each.new else []
    else:
        lines = new.split("\n")
    search = Search(f"s/{each.old}/", old.split("\n"), lines)
    return apply_search(Lines.of(text), search, warnings).text()


def _hits(text: str, each: Substitution) -> list[Hit]:
    """The places that a substitution replaces; none where it is found nowhere. Raises `Mismatch`, `Exceeded`."""
    hits = find_hits(each, text, SUBSTITUTION_HITS + 1)
    if not hits and (reason := problem(each)):
        raise Exceeded(f"{reason}. Nothing was changed.")
    if not each.everywhere and len(starts := _starts(text, hits)) > 1:
        numbers = [text.count("\n", 0, start) for start in starts]
        message = ambiguous_lines(Lines.of(text).rows, numbers, f"s/{each.old}/")
        raise Mismatch(f"{message}\nTo change all of them, add the flag g.")
    if len(hits) > SUBSTITUTION_HITS:
        raise Exceeded(f"s/{each.old}/ hits more than {SUBSTITUTION_HITS:,} times. Nothing was changed. Narrow it.")
    return hits


def _starts(text: str, hits: list[Hit]) -> list[int]:
    """Where hits begin; of a single one also where the same text begins before it ends."""
    starts = [hit.start for hit in hits[:_COUNTED_HITS]]
    if len(hits) != 1 or hits[0].end == hits[0].start:
        return starts
    start, end = hits[0].start, hits[0].end
    again = text.find(text[start:end], start + 1, 2 * end - start - 1)
    return [*starts, again] if again >= 0 else starts
