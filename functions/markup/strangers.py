"""Calls of tools that there are not: `<read_file path="a.txt"/>`, `Let me look. <list_files/>`, `[read_file(path="a.txt")]`.

Only the tools of the database are tags, and any other element may be meant as text. But a text that is nothing but such
calls, or that ends in one, answers nobody: whoever wrote it waits for a result.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from engine.functions.lazy import lazy_regex

_VERBS = (
    "access|append|apply|ask|attempt|browser?|call|check|code|codebase|copy|create|delete|edit|exec|execute|fetch|file|find|get"
    "|glob|grep|insert|kill|list|load|look|make|move|new|open|patch|read|remove|rename|replace|run|save|search|send|set|show"
    "|start|stop|str|switch|todo|update|use|view|web|write"
)
_TOOLS = "bash|cat|edit|exec|execute|glob|grep|ls|open|read|run|search|shell|skill|terminal|view|write"
_PLAIN = r"[a-z][a-z0-9]*+"
_WORDS = rf"{_PLAIN}(?:_[a-z0-9]++)++"
_SURE = rf"(?:(?:{_VERBS})(?:_[a-z0-9]++)++|{_TOOLS})"
"""Names that begin with a verb, and those by which other programs call a tool."""
_TARGET = r"(?:\w*path|file(?:_?name)?|command|cmd|query|pattern|regex|directory|dir|url|question)"
_ATTRIBUTES = r"""(?:[^<>"'/]++|"[^"]*+"|'[^']*+'|/(?!>))*+"""
_OPEN = lazy_regex(rf"\s*+<(?P<name>{_WORDS}|{_PLAIN})(?=[\s/>])(?P<attributes>{_ATTRIBUTES})(?P<closed>/?)>")
_HAS_TARGET = lazy_regex(rf"\s{_TARGET}\s*=\s*[\"']")
_IS_SURE = lazy_regex(_SURE)
_PAGE = frozenset(
    {
        "a",
        "area",
        "audio",
        "button",
        "embed",
        "form",
        "iframe",
        "image",
        "img",
        "input",
        "link",
        "meta",
        "object",
        "param",
    }
    | {"path", "script", "source", "svg", "use"}
)
"""Elements of pages, which have attributes of such names."""
_NAMED = lazy_regex(
    r"\s*<(?:tool|tool_name|function|action|call|use_tool|execute_tool)(?:(?:\s+name\s*=|=)\s*[\"']?(?P<given>[\w.:/-]+)[\"']?[^<>]*>"
    r"|>\s*(?P<child>[\w.:/-]+)\s*</)"
)
_WRITTEN = lazy_regex(
    rf"\s*(?:\[\s*)?(?:[\w-]+\.)*+(?P<python>{_SURE})\(\s*(?:\)|[A-Za-z_]\w*\s*=|[\"'])[^\n]*\)\s*\]?\s*\Z"
    rf"|\s*(?:call:\s*)?(?P<brace>{_SURE})\s*\{{\s*[\"']?\w+[\"']?\s*:.*\}}\s*\Z",
    re.DOTALL,
)
_STARTS = lazy_regex(r"(?:\A|\n|(?<=[.!?:\u2026])[ \t])\s*(?=[<\[a-z])")
"""The beginning of the text, of a line, or of a sentence."""
_LAST = (">", ")", "]", "}")
_FENCE = lazy_regex(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_MOST = 50
"""So many beginnings of lines are tried, from the end."""


class Stranger(NamedTuple):
    """A call of a tool that does not exist, and how it begins."""

    name: str
    excerpt: str


def stranger_calls(text: str, tools: frozenset[str] = frozenset()) -> list[Stranger]:
    """The calls in `text`, each tool once, where it is nothing but such calls or ends in them; else none.

    A call of one of the `tools` was quoted, and what stands in a fence is as well.
    """
    if not text or (not text.rstrip().endswith(_LAST) and "<" not in text):
        return []
    return [call for call in _calls(text) if call.name not in tools]


def _calls(text: str) -> list[Stranger]:
    text = text.strip()
    whole = _Elements(text, 0, alone=True).calls()
    if whole:
        return whole
    fences = [found.start() for found in _FENCE.finditer(text)]
    starts = [found.end() for found in _STARTS.finditer(text) if bisect_left(fences, found.end()) % 2 == 0][-_MOST:]
    for start in starts:
        if found := _Elements(text, start, alone=False).calls():
            return found
    return _written(text, starts)


def _written(text: str, starts: list[int]) -> list[Stranger]:
    """The call in the last lines of the text that is no element of its own name."""
    for start in starts:
        named = _NAMED.match(text, start)
        if named and (start == 0 or text.endswith(">")):
            return [Stranger(named["given"] or named["child"], text[start : start + 40])]
        written = _WRITTEN.match(text, start)
        if written:
            return [Stranger(written["python"] or written["brace"], text[start : start + 40])]
    return []


class _Elements:
    """The elements from `position` on; `alone` is true if nothing stands before them."""

    def __init__(self, text: str, position: int, *, alone: bool) -> None:
        self.text = text
        self.position = position
        self.alone = alone

    def calls(self) -> list[Stranger]:
        """The calls, if the rest of the text is nothing else."""
        found = dict[str, Stranger]()
        while self.position < len(self.text):
            opened = _OPEN.match(self.text, self.position)
            if opened is None or not self._is_call(opened):
                return []
            found.setdefault(opened["name"], Stranger(opened["name"], f"<{opened['name']}"))
            self.position = self._end(opened)
        return [*found.values()]

    def _is_call(self, opened: re.Match[str]) -> bool:
        name = opened["name"]
        if _IS_SURE.fullmatch(name):
            return True
        if name in _PAGE:
            return False
        if self.alone and "_" in name:
            return opened["closed"] == "/" or self._closing(opened) >= 0
        has_target = _HAS_TARGET.search(opened["attributes"]) is not None
        # behind other words an element with a body may be what they speak of
        return has_target and (self.alone or opened["closed"] == "/" or self._closing(opened) < 0)

    def _closing(self, opened: re.Match[str]) -> int:
        return self.text.find(f"</{opened['name']}>", opened.end())

    def _end(self, opened: re.Match[str]) -> int:
        """Behind the element; one that is not closed goes to the end of the text."""
        if opened["closed"]:
            return opened.end()
        closed = self._closing(opened)
        return closed + len(opened["name"]) + 3 if closed >= 0 else len(self.text)
