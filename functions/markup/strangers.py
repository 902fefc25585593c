"""Calls of tools that there are not, written as this engine's tags are: `<read_file path="a.txt"/>`.

Only the tools of the database are tags, and any other element may be meant as text. But a text of nothing but elements that
are named as tools are, here or in other programs, answers nobody.
"""

from __future__ import annotations

from engine.functions.lazy import lazy_regex

_OPEN = lazy_regex(
    r"\s*+<([a-z][a-z0-9]*+(?:_[a-z0-9]++)++|bash|cat|edit|glob|grep|ls|read|shell|terminal|view|write)(?=[\s/>])"
    r"""(?:[^<>"'/]++|"[^"]*+"|'[^']*+'|/(?!>))*+(/?)>"""
)
"""Matches the beginning of an element whose name has several words, or is one by which other programs call a tool."""


def stranger_calls(text: str) -> list[str]:
    """The names of the elements in `text`, each once, where it is nothing but such calls; else none."""
    names: dict[str, None] = {}
    text = text.strip()
    position = 0 if text.startswith("<") else len(text)
    while position < len(text):
        opened = _OPEN.match(text, position)
        if opened is None:
            return []
        name, position = opened[1], opened.end()
        if not opened[2]:
            closing = f"</{name}>"
            closed = text.find(closing, position)
            if closed < 0:
                return []
            position = closed + len(closing)
        names[name] = None
    return [*names]
