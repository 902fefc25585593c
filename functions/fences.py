"""Fences: what keeps the texts of a packet apart, whatever stands in them.

An entry stands between a line that ends in `<<:::NAME` and the line `:::NAME`. A text that holds `:::` could hold that
line too, so NAME gets a suffix that the text does not hold. It is made from the text, so that the same text always has
the same fence. Names and heads are one line each, without anything that could end or begin a fence or a tag.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from itertools import count

from .lazy import lazy_regex

FENCE = ":::"
"""What fences are made of. No name and no head holds it."""

_SUFFIX_LENGTH = 8
# Control characters, line and paragraph separators, and format characters: bidirectional and invisible ones. The joiners
# U+200C and U+200D are letters in some scripts.
_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0001-\U000e007f"
)
_IN_NAMES = lazy_regex(rf'[<>"{_UNSEEN}]|&(?=#?\w+;)|:(?=::)')
_IN_LINES = lazy_regex(rf"[{_UNSEEN}]|:(?=::)")
_IN_JSON = lazy_regex(rf"[{_UNSEEN}]|<(?=[^\W\d_]|[/|!?\uff5c])|:(?=::)")
_ENTITIES = {"<": "&lt;", ">": "&gt;", '"': "&quot;", "&": "&amp;"}


def fence_suffix(body: str | None, summary: str | None) -> str | None:
    """What the name in the fence of an entry gets, `:::` and eight hexadecimal digits that neither text holds.

    NULL where neither holds `:::`: then the name alone is its fence. `summary` may be NULL.
    """
    if body is None or not (FENCE in body or (summary is not None and FENCE in summary)):
        return None
    return FENCE + _digits_not_in(body if summary is None else f"{body}\n{summary}")


def fence_tag(name: str | None, text: str | None) -> str | None:
    """The name of the tag around `text`: `name`, with a suffix that the text does not hold where it holds `</name`."""
    if name is None or text is None:
        return None
    return f"{name}-{_digits_not_in(text)}" if re.search(rf"<\s*/\s*{re.escape(name)}", text, re.IGNORECASE) else name


def fence_path(path: str | None) -> str | None:
    """`path` as packets write it, with character references that attributes of commands may hold; NULL if it is the same.

    Written so are `<`, `>`, `"`, `:::`, control characters, bidirectional and invisible ones, and an `&` that would begin
    a reference.
    """
    if path is None:
        return None
    escaped = _IN_NAMES.sub(lambda found: _ENTITIES.get(found[0]) or f"&#{ord(found[0])};", path)
    return None if escaped == path else escaped


def fence_json(json: str | None) -> str | None:
    """`json`, one line, with escapes for what could be read as a fence, a tag or a token of a chat template. Idempotent.

    Written so are `:::`, a `<` that begins a tag, control characters, bidirectional and invisible ones.
    """
    return None if json is None else escape_json(json)


def fence_line(text: str | None) -> str | None:
    """`text` as one line that opens and closes no fence: white space is a blank, and each `:::` is written `&#58;::`.

    Control characters, bidirectional and invisible ones are written as character references.
    """
    if text is None:
        return None
    line = " ".join(text.split())
    if line.isprintable() and FENCE not in line:
        return line
    return _IN_LINES.sub(lambda found: f"&#{ord(found[0])};", line)


def escape_json(json: str) -> str:
    """`fence_json` of a text that is not NULL."""
    if json.isprintable() and "<" not in json and FENCE not in json:
        return json
    return _IN_JSON.sub(lambda found: "".join(_units(found[0])), json)


def _digits_not_in(text: str) -> str:
    """Hexadecimal digits that `text` does not hold, made from it."""
    data = text.encode("utf-8", "surrogatepass")
    suffixes = (hashlib.sha256(b"%d:%b" % (n, data)).hexdigest()[:_SUFFIX_LENGTH] for n in count())
    return next(suffix for suffix in suffixes if suffix not in text)


def _units(character: str) -> Iterator[str]:
    """The UTF-16 code units of a character as escapes of JSON."""
    units = character.encode("utf-16-be", "surrogatepass")
    return (f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
