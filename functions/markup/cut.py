"""The command without an end in an answer that was cut off: nothing in it is read, because its end is not known.

A command is closed when its end is there: the `>` of a tag without a body, its closing tag, the end of a call's JSON.
Everything from the start of a command that is not closed belongs to it.
"""

from __future__ import annotations

import re

from engine.functions.edits.marker_blocks import KEYWORDS
from engine.functions.lazy import lazy_regex

from .bodies import Bodies, Close
from .grammar import FLAGS, skip_space
from .tags import Shape, Tag

_MARKER = lazy_regex(rf"(?<![^\s>])<<((?:{'|'.join(KEYWORDS)})[A-Za-z0-9_]*)")
_WRAPPER = lazy_regex(r"\s*<<([A-Z][A-Za-z0-9_]*)")
_NAME = lazy_regex(
    r"\"name\"\s*:\s*\"([\w.:/-]+)\"|\bname\s*=\s*[\"']([\w.:/-]+)|function=\s*([\w.:/-]+)|\bcall:\s*([\w.:/-]+)"
    r"|<(?:tool_)?name>\s*([\w.:/-]+)|\bto=([\w.:/-]+)|\[TOOL_CALLS\]\s*([\w.:/-]+)|\btool\s*=\s*\"([\w.:/-]+)"
    r"|\"(?:tool_name|recipient_name|tool|function|action)\"\s*:\s*\"([\w.:/-]+)",
    FLAGS,
)
_NAME_WITHIN = 400
"""A call names its tool within this many characters."""
_NAME_NEAR = 120
_WORD = lazy_regex(r"[A-Za-z_][\w-]*")


def tag_is_open(tag: Tag, text: str) -> bool:
    """Does the answer end inside the open tag itself, or in a quote of it that was never closed?"""
    if tag.shape is Shape.WHOLE:
        return tag.unended
    return tag.shape is Shape.CUT or not text[tag.end :].strip()


def body_is_open(tag: Tag, close: Close, bodies: Bodies) -> bool:
    """Is `close` not the end of the body: half a tag, or a tag inside a marker or section that has no end?"""
    if not bodies.text.endswith(">", close.start, close.end):
        return True
    begin = skip_space(bodies.text, tag.end)
    if bodies.text.startswith("<![CDATA[", begin) and bodies.text.find("]]>", begin, close.start) < 0:
        return True
    openers = [_WRAPPER.match(bodies.text, tag.end, close.start)]
    if tag.name == "set":
        openers += _MARKER.finditer(bodies.text, tag.end, close.start)
    return any(not 0 <= bodies.markers.closer(found[1], found.end()) <= close.start for found in openers if found)


def called_tool(start: int, text: str, names: frozenset[str]) -> str | None:
    """The tool that the call at `start` names; None if it does not exist."""
    found = _NAME.search(text, start, start + _NAME_WITHIN)
    word = re.split(r"[.:/]", found[found.lastindex or 0])[-1].lower() if found else None
    if word in names:
        return word
    # else the first word that is the name of a tool, where the notation has the name alone
    words = (word.lower() for word in _WORD.findall(text, start, start + _NAME_NEAR)) if found is None else ()
    return next((word for word in words if word in names), None)
