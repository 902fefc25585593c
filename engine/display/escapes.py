"""Draws texts of others so that a person sees what they hold.

Characters that a terminal or an eye does not show as themselves become escapes, `\\u{202e}`. A text that holds such an
escape itself has its backslash doubled, so that two different texts are never drawn alike. Emoji sequences and ordinary
combining text are left as they are.

spec: @drawing
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice, zip_longest

from .demo_mode import hidden

_UNSEEN = re.compile(
    # soft hyphen, joiners, fillers, directions, invisible operators, variation selectors, tags: what Unicode calls
    # default-ignorable; the braille pattern and the notehead without ink; annotations
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_UNSEEN_KINDS = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}
"""Categories of controls, unassigned, private and half characters, and of blanks."""
_SEEN = set(" \u3000\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
"""Characters of these categories that are seen: the blank, the wide blank of Chinese and Japanese, signs around numbers."""
_MARKS = 4
"""How many marks a letter may carry; Hebrew, Thai, Devanagari and Vietnamese need up to three."""

_PICTURE = (
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]\ufe0f?[\U0001f3fb-\U0001f3ff]?"
)
_FLAGS = "|".join("".join(chr(0xE0000 + ord(each)) for each in name) for name in ("gbeng", "gbsct", "gbwls"))
_EMOJI = f"[0-9#*]\ufe0f\u20e3|\U0001f3f4(?:{_FLAGS})\U000e007f|{_PICTURE}(?:\u200d{_PICTURE}){{0,9}}"
_TOKEN = re.compile(rf"(?P<slashes>\\+)|(?P<emoji>{_EMOJI})|[^\n\t -~]")
_ESCAPE = re.compile(r"u\{[0-9a-f]+\}")
_WORD = re.compile(r"[^\W\d_]+")

_ALIKE = {
    "LATIN",
    "CYRILLIC",
    "GREEK",
    "ARMENIAN",
    "CHEROKEE",
    "COPTIC",
    "FULLWIDTH",
    "MATHEMATICAL",
    "LISU",
    "DESERET",
}
"""Scripts with letters that look like those of another, by the first word of their characters' names."""


RETURNS = "\\ All lines end in a carriage return and a line feed"
"""Stands in a diff in place of the carriage returns."""


def drawn(text: str) -> str:
    """`text` as a person may read it: what would not be seen as itself is an escape; line feeds and tabs stay.

    In demo mode names are hidden.
    """
    return _TOKEN.sub(_draw, hidden(text))


def drawn_json(text: str) -> str:
    """A JSON text with JSON's own escapes for the characters that `drawn` escapes; its meaning is the same."""
    return _TOKEN.sub(lambda found: found[0] if found["slashes"] else _each(found, _json_escape), text)


def drawn_diff(text: str) -> list[str]:
    """The lines of a diff. Blanks at the end of a changed line are escapes, and tabs where only blanks differ.

    Where all lines end in a carriage return, as in files of Windows, a line says so in place of an escape in each.
    """
    lines = deque(text.split("\n"))
    shown = []
    if lines[0].startswith("--- ") and len(lines) > 1 and lines[1].startswith("+++ "):
        shown = [drawn(lines.popleft()), drawn(lines.popleft())]
    if all_return(lines):
        lines = deque(line.removesuffix("\r") for line in lines)
        shown.append(RETURNS)
    while lines:
        removed = _taken(lines, "-")
        added = _taken(lines, "+")
        if not removed and not added:
            line = lines.popleft()
            shown.append(drawn(line) if line.startswith("@@ ") else drawn(line[:1]) + drawn(line[1:]))
            continue
        pairs = list(zip_longest(removed, added))
        blanks = [None not in pair and _inked(pair[0]) == _inked(pair[1]) for pair in pairs]
        shown += [_changed(old, tabs) for (old, _), tabs in zip(pairs, blanks, strict=True) if old is not None]
        shown += [_changed(new, tabs) for (_, new), tabs in zip(pairs, blanks, strict=True) if new is not None]
    return shown


def all_return(lines: Sequence[str]) -> bool:
    """Whether all lines of a diff that are of its texts end in a carriage return, one without a line feed excepted."""
    texts = [
        line
        for line, behind in zip_longest(lines, islice(lines, 1, None), fillvalue="")
        if line[:1] in ("+", "-", " ") and not behind.startswith("\\")
    ]
    return bool(texts) and all(line.endswith("\r") for line in texts)


def scripts_mixed(text: str) -> str | None:
    """A sentence where `text` holds letters of several scripts that look alike, as 'а' in 'rаm'; else None."""
    found: dict[str, str] = {}
    for word in _WORD.findall(text):
        for letter in word:
            script = unicodedata.name(letter, "").partition(" ")[0]
            if script in _ALIKE:
                found.setdefault(script, f"U+{ord(letter):04X} in {drawn(word)!r}")
    if len(found) < 2:
        return None
    others = [f"{script.capitalize()} {where}" for script, where in found.items() if script != "LATIN"]
    return f"holds letters of several scripts: {', '.join(others)}"


def _draw(found: re.Match[str]) -> str:
    """A token as it is drawn; backslashes are doubled in front of what is an escape, or would be read as one."""
    if not found["slashes"]:
        return _each(found, _escape)
    behind = _TOKEN.match(found.string, found.end())
    hides = behind is not None and _each(behind, _escape) != behind[0]
    return found[0] * 2 if hides or _ESCAPE.match(found.string, found.end()) else found[0]


def _each(found: re.Match[str], escape: Callable[[str], str]) -> str:
    token = found[0]
    if found["emoji"]:
        return "".join(escape(each) if unicodedata.category(each) == "Cn" else each for each in token)
    return escape(token) if _is_unseen(found.string, found.start()) else token


def _is_unseen(text: str, at: int) -> bool:
    kind = unicodedata.category(text[at])
    if kind[0] == "M" and not _UNSEEN.match(text[at]):
        return not _carries(text, at)
    return bool(_UNSEEN.match(text[at])) or (kind in _UNSEEN_KINDS and text[at] not in _SEEN)


def _carries(text: str, at: int) -> bool:
    """Whether the mark at `at` stands on something that is seen and does not carry too many marks already."""
    for before in range(at - 1, max(at - _MARKS, 0) - 1, -1):
        if unicodedata.category(text[before])[0] != "M":
            return not text[before].isspace() and not _is_unseen(text, before)
        if _UNSEEN.match(text[before]):
            return False
    return False


def _escape(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _taken(lines: deque[str], sign: str) -> list[str]:
    """The lines at the beginning of `lines` that are changed in this way, taken off."""
    taken = []
    while lines and lines[0].startswith(sign):
        taken.append(lines.popleft())
    return taken


def _inked(line: str) -> str:
    return "".join(line[1:].split())


def _changed(line: str, tabs: bool) -> str:
    """A changed line behind its sign, which no mark of the line can stand on."""
    body = line[1:].rstrip(" \t")
    end = "".join(map(_escape, line[1 + len(body) :]))
    shown = drawn(body)
    return line[0] + (shown.replace("\t", _escape("\t")) if tabs else shown) + end


__all__ = ["RETURNS", "all_return", "drawn", "drawn_diff", "drawn_json", "scripts_mixed"]
