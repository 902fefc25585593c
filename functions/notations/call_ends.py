"""Where a call ends: the closing token that belongs to its opening one, and what must stand before it.

A token in an argument is text. Which one is outside of all arguments is told by the quotes of JSON and Python, and in
elements by the closing tag of the last argument.
"""

from __future__ import annotations

import re
from functools import lru_cache

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import FLAGS
from engine.functions.notations.tokens import BAR, BAR_WORD, CLOSING, CONTROLS, NOISE, OPENING, PREFIX, SUFFIX

# Few words, for each makes a pattern of its own.
_ELEMENT = lazy_regex(
    rf"<{PREFIX}(?:[a-z]+_)?(?P<name>tool_?calls?|function_?calls?|tool_?use|tool_?code|tool_request|tool_command|invoke"
    rf"|function|tool|call|action|use_tool|execute_tool|command){SUFFIX}(?:[\s>=]|\Z)",
    FLAGS,
)
_BEGINS = lazy_regex(
    r"<(?P<bar>[|\uff5c])(?P<word>(?:tools?|action|python|tool[_\u2581]calls?(?:[_\u2581]section)?)[_\u2581:])"
    r"(?P<begins>begin|start|prefix)[|\uff5c]>",
    FLAGS,
)
_MIRROR = {"begin": "end", "start": "end", "prefix": "suffix"}
_PAIRED = {
    "<|tool_call>": r"<tool_call\|>",
    "<|tool_calls>": r"<tool_calls\|>",
    "<|tool_call|>": r"<\|/tool_call\|>",
    "<start_function_call>": r"<end_function_call>",
    "[tool_request]": r"\[END_TOOL_REQUEST\]",
    "<|start_action|>": r"<\|END_ACTION\|>",
}
ANY_END = lazy_regex(
    rf"(?P<close>(?!</{PREFIX}[A-Za-z])(?:{CLOSING}))|<{BAR}{BAR_WORD}{{0,60}}(?:begin|start|prefix){BAR}>", FLAGS
)
"""What opens and closes a wrapper between bars that has no end of its own."""
_NOTHING = lazy_regex(
    rf"(?:\s*+{NOISE}(?:{CLOSING}|</{PREFIX}[\w.-]{{1,40}}{SUFFIX}\s*+>|<(?:{OPENING}|{CONTROLS})))*+\s*+(?:{NOISE}\s*+)?\Z",
    FLAGS,
)
_WORDS = lazy_regex(r"[^<>{}\[\]():`\u273f]*\Z")
_QUOTE = lazy_regex(r"<\|\"\|>|<escape>|\"\"\"|(?<=[\s(=:\[,{])'''|\"|(?<=[\s(=:\[,{])'")
_UNQUOTE = {
    quote: lazy_regex(rf"\\.|{re.escape(quote)}" if quote[0] != "<" else re.escape(quote), re.DOTALL)
    for quote in ('<|"|>', "<escape>", '"""', "'''", '"', "'")
}

NO_LIST_END = "its list does not end"
"""The problem of a list without a comma or bracket behind an item."""

# How far before a token the end of an argument stands.
_NEAR = 120


def ends_of(head: str) -> re.Pattern[str]:
    """Matches what closes the wrapper that `head` opens, with the group `close`, or opens one more of its kind."""
    head = head.lower()
    if head in _PAIRED:
        return _ends(_PAIRED[head], re.escape(head))
    element = _ELEMENT.match(head)
    if element:
        name = rf"{PREFIX}(?:[a-z]+_)?{element['name']}{SUFFIX}"
        return _ends(rf"</{name}\s*>", rf"<{name}[\s>=]")
    begins = _BEGINS.fullmatch(head)
    if begins is None:
        return ANY_END
    bar, word, begin = begins.group("bar", "word", "begins")
    return _ends(re.escape(f"<{bar}{word}{_MIRROR[begin]}{bar}>"), re.escape(f"<{bar}{word}{begin}{bar}>"))


@lru_cache(maxsize=128)
def _ends(closing: str, opening: str) -> re.Pattern[str]:
    return re.compile(rf"(?P<close>{closing})|{opening}", FLAGS)


def nothing_follows(text: str, position: int) -> bool:
    """Does the text end at `position`, but for tokens and closing tags, with nothing between them?"""
    return _NOTHING.match(text, position) is not None


def no_call_follows(text: str, position: int) -> bool:
    """Does nothing follow at `position`, or only words that can be no call?"""
    return nothing_follows(text, position) or _WORDS.match(text, position) is not None


class Behind:
    """What ends the last argument of a call: `pattern`, before the token that closes the call.

    Its group `child` names an element, which must be `child`, or have been opened inside of the argument.
    """

    def __init__(self, pattern: re.Pattern[str], child: str = "") -> None:
        self.pattern = pattern
        self._opened = {child: 0, "": 0}

    def matches(self, text: str, begin: int, end: int) -> bool:
        """Does it stand before `end`, in the part of the text that begins at `begin`?"""
        found = self.pattern.search(text, max(begin, end - _NEAR), end)
        if found is None:
            return False
        name = found.groupdict().get("child") or ""
        if name not in self._opened:
            at = text.find(f"<{name}>", begin)
            self._opened[name] = at if at >= 0 else len(text)
        return self._opened[name] <= found.start()


class Texts:
    """Tells what stands in the texts of JSON, Python or Gemma's values from `begin` on; asked from left to right."""

    def __init__(self, text: str, begin: int) -> None:
        self.text = text
        self._at = begin
        self._quote: str | None = None

    def holds(self, position: int) -> bool:
        """Does `position` stand inside of a text?"""
        while self._at < position:
            pattern = _UNQUOTE[self._quote] if self._quote else _QUOTE
            found = pattern.search(self.text, self._at, position)
            if found is None:
                self._at = position
            else:
                self._at = found.end()
                if self._quote is None:
                    self._quote = found[0]
                elif found[0] == self._quote:
                    self._quote = None
        return self._quote is not None
