"""Edit markers: the `<<IDENT … IDENT` blocks that say how a body changes an entry.

IDENT begins with a keyword, which names the operation; the rest is free, so that a block can hold other blocks. A block
without a keyword wraps a whole new body. `<<:::path`, as packets show it, is not a marker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from engine.functions.lazy import lazy_regex

from .lines import without_transport
from .marker_blocks import Block, Broken, Reader, trim

_INNER = lazy_regex(r"(?m)^[ \t]*<<([A-Z][A-Za-z0-9_]*)")
_PLACE = r"[#(\[\"'`]*\d{1,9}(?::\w*)?[)\]\"'`]*"
_NEAR = lazy_regex(rf"(?i)(?:lines?\s*)?{_PLACE}(?:\s*(?:\.\.\.?|-|,|to)\s*{_PLACE}|\|.*)?\|?")
_NEAR_BELOW = lazy_regex(r"#?[1-9]\d{0,8}:[0-9a-fA-F]{3}\|?(?:\s*(?:\.\.|-)\s*#?[1-9]\d{0,8}:[0-9a-fA-F]{3}\|?)?")
ANCHOR_FORM = (
    "An anchor is NUMBER:HASH as <visible> shows it, with three small hexadecimal digits, and begins the body:\n"
    "<<REPLACE 2:ff9..4:a3b\nnew lines\nREPLACE\n"
    "If no anchors are shown, use <<SEARCH and <<REPLACE; <<NEW gives the whole text."
)
_EXAMPLE = "<<SEARCH\nold lines\nSEARCH\n<<REPLACE\nnew lines\nREPLACE"


class Operation(NamedTuple):
    """One change: `op` is new, replace (the whole text is `text`), prepend, append (lines `new`), delete or edit.

    `old` holds the lines that delete and edit look for, `new` those that all but delete write; `part` says that the search
    stands in the line of its marker.
    """

    op: str
    new: list[str]
    old: list[str] | None = None
    text: str = ""
    part: bool = False

    @property
    def whole(self) -> bool:
        """Whether it gives the whole text."""
        return self.op in ("new", "replace")

    @property
    def written(self) -> list[str]:
        """The lines that it writes."""
        return self.text.split("\n") if self.whole else self.new


@dataclass(slots=True)
class Parsed:
    """The content of a body: operations in order, none if it is `plain`; `error` tells the model what to correct."""

    operations: list[Operation] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: str | None = None
    plain: bool = False


def parse_markers(body: str) -> Parsed:
    """Read the markers of `body` and skip the text between blocks."""
    parsed = Parsed()
    try:
        blocks = Reader(body).read()
        parsed.operations = [_in_lines(each) for each in _pair(blocks)] if _is_sent(body) else _pair(blocks)
    except Broken as broken:
        parsed.error = str(broken)
        return parsed
    parsed.plain = not blocks
    return parsed


def _is_sent(body: str) -> bool:
    """Whether all lines of a body end in CR LF, so that they tell nothing of the text."""
    return "\r\n" in body and without_transport(body) != body


def _in_lines(operation: Operation) -> Operation:
    """An operation whose lines have lost the CR at their ends."""
    old = None if operation.old is None else [line.removesuffix("\r") for line in operation.old]
    return operation._replace(old=old, new=[line.removesuffix("\r") for line in operation.new])


def _pair(blocks: list[Block]) -> list[Operation]:
    """The operations of the blocks: a SEARCH and the REPLACE after it make one."""
    operations: list[Operation] = []
    queue = iter(blocks)
    for block in queue:
        if block.keyword == "SEARCH":
            operations.append(_edit(block, next(queue, None)))
            continue
        _check_open(block)
        _check_words(block)
        if block.keyword == "DELETE":
            operations.append(Operation("delete", [], block.lines, part=block.inline))
        elif block.keyword in ("APPEND", "PREPEND"):
            operations.append(Operation(block.keyword.lower(), block.lines))
        else:
            operations.append(Operation((block.keyword or "REPLACE").lower(), [], text=block.text))
    return operations


def _edit(search: Block, replace: Block | None) -> Operation:
    if not search.closed:
        raise Broken(f"<<{search.ident} has no closing {search.ident}. Write:\n{_EXAMPLE}")
    if replace is None or replace.keyword != "REPLACE":
        found = f"<<{replace.ident} follows" if replace else "nothing follows"
        raise Broken(f"<<{search.ident} needs a <<REPLACE block directly after it, but {found}. Write:\n{_EXAMPLE}")
    _check_open(replace)
    for block in (search, replace):
        if block.words and not block.inline:
            raise Broken(
                f"Text stands behind <<{block.ident} in its line, and more below. Nothing was changed. Write:\n{_EXAMPLE}"
            )
    return Operation("edit", replace.lines, search.lines, part=search.inline and bool(search.words))


def _check_words(block: Block) -> None:
    """Raise `Broken` for a block with words behind its opener, unless it is known to add, delete or write just these."""
    names = block.ident.startswith(("REPLACE", "AFTER", "DELETE")) and nearly_anchor(block.words)
    below = block.ident.startswith("REPLACE") and _NEAR_BELOW.fullmatch("".join(block.lines[:1]).strip())
    if names or below or block.ident.startswith("AFTER"):
        raise Broken(f"<<{block.ident} {block.words} names no line as it is shown. Nothing was changed. {ANCHOR_FORM}")
    if not block.words or (block.inline and block.keyword not in ("REPLACE", "")):
        return
    raise Broken(
        f"Words stand behind <<{block.ident} in its line: {block.words[:80]!r}. Nothing was changed. Write the text below "
        f"the marker:\n<<NEW\nthe whole text\nNEW\nor, to change a part:\n{_EXAMPLE}"
    )


def nearly_anchor(words: str) -> bool:
    """Whether the words behind a marker look like the anchor of a line, or a range of anchors."""
    return _NEAR.fullmatch(words) is not None


def _check_open(block: Block) -> None:
    """Raise `Broken` for a block without a closer: it may be cut off, and the rest would be lost."""
    if block.closed:
        return
    ident = block.ident
    inner = _INNER.search(trim(block.raw))
    before = f" before <<{inner[1]}" if inner else ""
    raise Broken(
        f"<<{ident} has no closing {ident}{before}. Nothing was changed. "
        f"End each block with its own word alone on a line:\n<<{ident}\ntext\n{ident}"
    )
