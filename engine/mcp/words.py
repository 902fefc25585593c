"""What a server says of itself, as a model and a person may read it: lines that forge nothing, and names of tools."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator

from engine.functions.fences import fence_line

LONGEST_NAME = 64
"""The longest name of a tool that all providers take."""
_TAG = re.compile(r"<(?=[^\W\d_]|[/|!?\uff5c])")


def line(text: object, most: int) -> str:
    """A text as one line of at most `most` characters, without what opens a tag, a fence or a direction."""
    raw = str(text or "")[: most * 2].encode("utf-8", "replace").decode()
    found = _TAG.sub("&lt;", fence_line(raw.replace("\0", "")) or "")
    return found if len(found) <= most else f"{found[: most - 1]}…"


def quoted(text: object, most: int) -> Iterator[str]:
    """The lines of a text behind `| `, which no line of the engine begins with; at most `most` characters of it."""
    raw = str(text or "")
    for each in raw[:most].splitlines():
        if each.strip():
            yield f"| {line(each, most)}"
    if len(raw) > most:
        yield f"| … ({len(raw) - most:,} characters left out)"


def tool_name(server: str, tool: str, taken: Collection[str]) -> str:
    """What models call a tool: SERVER__TOOL in small letters, digits and _. One that is too long, or taken, has a digest."""
    plain = f"{server}__{tool}".lower()
    name = re.sub(r"[^a-z0-9_]", "_", plain)
    if len(name) > LONGEST_NAME or name in taken:
        name = f"{name[: LONGEST_NAME - 9]}_{digest([server, tool])[:8]}"
    return name


def digest(value: object) -> str:
    """SHA-256 of a JSON value, in hexadecimal digits; the same for the same keys in another order."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def shown_arguments(arguments: object) -> str:
    """The arguments of a call as a person reads them, a line for each level."""
    return json.dumps(arguments, ensure_ascii=False, indent=2)
