"""Texts that look like an edit in a notation that is not read here, or that leave out a part of what they replace.

As the whole new text they would destroy the old one, so they are refused; `<<NEW` says that such a text is meant.
The text decides, not the path: a text that is already of such a kind may become another one.

spec: @edit_lookalikes
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from engine.functions.lazy import lazy_regex

from .lines import Unreadable

_PARTS = r"[ _-]?(?:str(?:ing)?|text|code|lines?|content)"
_SIGNS = r"[ \t]*[<\[({*#'\"`=_:-]{0,10}[ \t]*"
_TAIL = r"(?:[>\])}*:'\"`_= \t-]*(?:\n|\Z)|[ \t]*>)"
_SEARCHED = lazy_regex(rf"(?i)\s*{_SIGNS}(?:search|find|(?:old|original){_PARTS}){_TAIL}")
_SEARCHED_LINE = lazy_regex(rf"(?im)^{_SIGNS}(?:search|find|(?:old|original){_PARTS}){_TAIL}")
_WRITTEN = lazy_regex(rf"(?im)(?:^|<){_SIGNS}(?:replace(?:ment)?(?:[ _]with)?|new{_PARTS}){_TAIL}")
_DOCUMENT = lazy_regex(r"(?s)\s*<<[-~]?[ \t]*(['\"]?)(\w{1,40})\1[ \t]*\n(?:.*\n)?[ \t]*\2\s*\Z")
_OLD_KEY = lazy_regex(r"(?i)\"(?:search|find|(?:old|original)_?(?:str(?:ing)?|text|code|lines?|content))\"\s*:")
_NEW_KEY = lazy_regex(r"(?i)\"(?:replace(?:ment|_with)?|new_?(?:str(?:ing)?|text|code|lines?|content))\"\s*:")
_FENCE = lazy_regex(r"(?s)\s*(`{3,}|~{3,})[ \t]*[\w+.#-]*[ \t]*\n(?P<inside>.*)\n[ \t]*\1[ \t]*\s*\Z")
_FENCE_LINE = lazy_regex(r"(?m)^[ \t]*(?:`{3,}|~{3,})")
_OTHER_DIFF = lazy_regex(
    r"\s*(?:\*\*\* [^\n]+\n--- [^\n]+\n\*{15}\s*\n|\d+(?:,\d+)?[acd]\d+(?:,\d+)?[ \t]*\r?\n[<>] "
    r"|(?:\d+|\$)(?:,(?:\d+|\$))?(?:[aci][ \t]*\r?\n(?s:.*?)^\.[ \t\r]*$|d[ \t\r]*(?:\n|\Z)))",
    re.MULTILINE,
)
_COMMAND = lazy_regex(
    r"\s*(?:\$ )?(?:sed +-|sed +['\"]s|perl -\w*[ei]|awk +['\"]|(?:echo|printf) [^\n]*>)[^\n]*\s*\Z"
    r"|\s*(?:\$ )?(?:python3?|perl|ruby|node|ed) [^\n]*<<-?[ \t]*['\"]?(?P<word>\w+)['\"]?[ \t]*\n(?s:.*\n)?(?P=word)\s*\Z"
)
_NUMBERED = lazy_regex(r"[ \t]*(\d{1,9})[ \t]?(?:[:|\t\u2192]|(?=\r?\Z))(.*)", re.DOTALL)
_LEFT_OUT = r"(?:existing|rest of|remain(?:ing|der)|unchanged|same|previous|omitted|other)\b"
_FILLERS = r"[(\[]?(?:(?:the|all|any|your|our|keep|code|file|some) ){0,3}"
_ELIDED = lazy_regex(
    r"(?im)^[ \t]*(?:#|//|/\*|<!--|--|;|%|\{/\*|\[|\()[ \t]*(?:"
    rf"(?:\.\.\.|\u2026)[ \t]*{_FILLERS}{_LEFT_OUT}[^\n]{{0,80}}"
    rf"|{_FILLERS}(?:existing|rest of|remaining|unchanged|previous)\b[^\n]{{0,50}}(?:\.\.\.|\u2026)[^\w\n]{{0,8}}"
    r"|[(\[]?(?:the )?rest of (?:the |this |your )?(?:\w+ ){1,3}(?:is |remains |stays )?(?:the same|unchanged)[^\w\n]{0,8})$"
)
"""A comment for lines that the author did not write: `# ... existing code ...`, `// rest of the file is unchanged`."""
_ELISION_SIGNS = ("...", "\u2026", "est of ")
_ADVICE = "Write <<SEARCH and <<REPLACE blocks:\n<<SEARCH\nold lines\nSEARCH\n<<REPLACE\nnew lines\nREPLACE"
_ON_PURPOSE = "To keep the body as a text, wrap it in <<NEW."
_MOST_NUMBERED = 100_000


class _Shape(NamedTuple):
    """A kind of such texts: how it is told, what else to write, and whether it is no text of a new path either."""

    fits: Callable[[str], bool]
    told: str
    advice: str = _ADVICE
    new: bool = False


def check_lookalike(body: str, current: str | None) -> None:
    """Raise `Unreadable` if `body`, as the whole text in place of `current`, looks like an edit or leaves out lines."""
    for shape in _SHAPES:
        if (current is not None or shape.new) and shape.fits(body) and not (current and shape.fits(current)):
            raise Unreadable(f"{shape.told} Nothing was changed. {shape.advice}\n{_ON_PURPOSE}")
    if current is None:
        return
    if (line := elided([body], current)) is not None:
        raise Unreadable(
            f"The body leaves out lines of the text: {line[:80]!r}. Nothing was changed. Write all lines, or only the "
            f"lines that change. {_ADVICE}\n{_ON_PURPOSE}"
        )
    if _is_numbered(body, current):
        raise Unreadable(
            f"The lines of the body begin with line numbers. Nothing was changed. Leave the numbers out.\n{_ON_PURPOSE}"
        )


def is_lookalike(body: str) -> bool:
    """Whether `check_lookalike` refuses `body` in place of some text."""
    return any(shape.fits(body) for shape in _SHAPES) or elided([body]) is not None or _numbers(body) is not None


def elided(lines: list[str], current: str = "") -> str | None:
    """A line among `lines`, or texts, that stands for lines which its author did not write; none that `current` holds."""
    signed = (text for text in lines if any(sign in text for sign in _ELISION_SIGNS))
    found = (line for text in signed for each in _ELIDED.finditer(text) if (line := each[0].strip()) not in current)
    return next(found, None)


def holds_named_parts(text: str) -> bool:
    """Whether `text` holds a search and its replacement in tags or in JSON, whatever stands around them."""
    if _OLD_KEY.search(text) and _NEW_KEY.search(text):
        return True
    searched = _SEARCHED_LINE.search(text)
    return searched is not None and _WRITTEN.search(text, searched.end() - 1) is not None


def _has_marks(text: str) -> bool:
    searched = _SEARCHED.match(text)
    return searched is not None and _WRITTEN.search(text, searched.end() - 1) is not None


def _has_keys(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    return "*** Begin Patch\\n" in text or bool(_OLD_KEY.search(text) and _NEW_KEY.search(text))


def _is_fenced(text: str) -> bool:
    fence = _FENCE.match(text) if text.lstrip().startswith(("```", "~~~")) else None
    return fence is not None and not _FENCE_LINE.search(fence["inside"])


def _is_numbered(body: str, current: str) -> bool:
    """Whether the lines of `body` have numbers before them, and one of them is a line of `current` behind its number."""
    rows = _numbers(body)
    if rows is None or _numbers(current) is not None:
        return False
    present = {line.strip() for line in current.split("\n")} - {""}
    return any(row.strip() in present for row in rows)


def _numbers(text: str) -> list[str] | None:
    """The lines of `text` behind their numbers, which are in order; None if not all lines have one."""
    if not _NUMBERED.match(text.partition("\n")[0]):
        return None
    lines = text.rstrip().split("\n")
    found = [_NUMBERED.match(line) for line in lines[:_MOST_NUMBERED]]
    numbers = [int(each[1]) for each in found if each]
    if len(numbers) < max(2, len(found)) or any(other != one + 1 for one, other in pairwise(numbers)):
        return None
    return [each[2] for each in found if each]


_SHAPES = (
    _Shape(_has_marks, "The body looks like a search and its replacement, in a notation that is not read.", new=True),
    _Shape(
        lambda text: _DOCUMENT.match(text) is not None,
        "The body begins with a marker that is not read: write it as << and a word in capitals, without blanks or quotes.",
        "Write:\n<<NEW\ntext\nNEW\nor, to change a part:\n<<SEARCH\nold lines\nSEARCH\n<<REPLACE\nnew lines\nREPLACE",
        new=True,
    ),
    _Shape(_has_keys, "The body looks like an edit written in JSON."),
    _Shape(
        lambda text: _OTHER_DIFF.match(text) is not None,
        "The body looks like a context diff, a diff without signs, or commands of ed, which are not read.",
    ),
    _Shape(lambda text: _COMMAND.match(text) is not None, "The body is a shell command that changes a file."),
    _Shape(
        _is_fenced,
        "The body is fenced as a whole, so the fence would become a part of the text.",
        "Leave the fence out; if it holds a diff, begin the diff with '@@'.",
        new=True,
    ),
)
