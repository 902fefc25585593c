"""What a shell makes of a word as it is written: the quotes and backslashes that it takes off.

A word is a node of tree-sitter's grammar of bash, and the bytes of the line that it stands in.
"""

from __future__ import annotations

import codecs
from typing import Any

from engine.functions.lazy import lazy_regex

_ESCAPE = lazy_regex(r"\\(\n?)(.?)", 16)
_STRING_ESCAPE = lazy_regex(r"\\([$`\"\\\n])")
_ANSI_C = lazy_regex(r"""(?:\\(?:[abfnrtv\\'"]|x[0-9a-fA-F]{2}|[0-7]{3}|u[0-9a-fA-F]{4})|[ -\[\]-~])*""")


_PATTERN = lazy_regex(r"[*?]|\[.+\]|\{.*(?:,|\.\.).*\}|^~[^/]*$", 16)
"""What a shell expands where it stands outside of quotes: files, braces, and a home alone."""
_NOT_QUOTED = ("word", "number", "variable_name", "extglob_pattern")


class Changed(str):
    """A word as it is written, which the shell changes before a program gets it: a pattern, or braces."""


def source_of(line: bytes, node: Any) -> str:
    """A node as it is written."""
    return line[node.start_byte : node.end_byte].decode(errors="replace")


def text_of(line: bytes, node: Any) -> str | None:
    """The text of a word as a program gets it; None where an expansion decides on it, `Changed` where a pattern does."""
    text = _text(line, node)
    return Changed(text) if text is not None and _PATTERN.search(_not_quoted(line, node)) else text


def _not_quoted(line: bytes, node: Any) -> str:
    """What of a word stands outside of quotes and behind no backslash; a blank for the rest."""
    if node.type == "concatenation":
        return "".join(
            _not_quoted(line, child) if child.is_named else source_of(line, child) for child in node.children
        )
    return _ESCAPE.sub(" ", source_of(line, node)) if node.type in _NOT_QUOTED else " "


def _text(line: bytes, node: Any) -> str | None:
    source = source_of(line, node)
    match node.type:
        case "word" | "number" | "test_operator" | "special_variable_name" | "extglob_pattern" | "regex":
            if node.named_child_count:
                return None
            return _ESCAPE.sub(lambda found: "" if found[1] else found[2], source)
        case "raw_string":
            return source[1:-1]
        case "ansi_c_string":
            return codecs.decode(source[2:-1], "unicode_escape") if _ANSI_C.fullmatch(source[2:-1]) else None
        case "string":
            if any(child.type != "string_content" for child in node.named_children):
                return None
            return _STRING_ESCAPE.sub(lambda found: found[1].strip("\n"), source[1:-1])
        case "translated_string":
            return _text(line, node.named_children[0]) if node.named_child_count else ""
        case "concatenation":
            parts = [_text(line, child) if child.is_named else source_of(line, child) for child in node.children]
            return None if None in parts else "".join(str(part) for part in parts)
    return None
