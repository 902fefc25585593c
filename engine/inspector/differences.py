"""The lines of a unified diff, each with its kind, for a page.

spec: @inspector_texts
"""

from __future__ import annotations

from difflib import unified_diff

MOST = 400_000
"""Texts that are longer together are not compared."""
MOST_LINES = 3_000
_KINDS = {"+": "added", "-": "removed", "@": "hunk"}

Lines = list[tuple[str, str]]


def difference(before: str, after: str, old: str, new: str) -> Lines:
    """The lines that differ, with three around them; a line that says so where the texts are too long."""
    if before == after:
        return []
    if len(before) + len(after) > MOST:
        return [("hunk", f"too long to compare: {len(before):,} and {len(after):,} characters")]
    return as_lines("\n".join(unified_diff(before.split("\n"), after.split("\n"), old, new, lineterm="")))


def as_lines(diff: str) -> Lines:
    """A unified diff as lines: added, removed, hunk, head or same."""
    lines = diff.rstrip("\n").split("\n")
    told = [
        ("head" if at < 2 and line[:4] in ("--- ", "+++ ") else _KINDS.get(line[:1], "same"), line)
        for at, line in enumerate(lines[:MOST_LINES])
    ]
    if len(lines) > MOST_LINES:
        told.append(("hunk", f"… {len(lines) - MOST_LINES:,} more lines"))
    return told
