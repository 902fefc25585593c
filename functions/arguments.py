"""The values of arguments as texts, the same whatever notation they came in."""

from __future__ import annotations

import json
import shlex

from engine.functions.compact import to_json
from engine.functions.lazy import lazy_regex

from .markup.argument_names import ARGUMENT_NAMES, other_names

_SURROGATE = lazy_regex("[\ud800-\udfff]")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_LINE_FLAG = lazy_regex(r"-[a-z]*c")


def as_text(tool: str, name: str, value: object) -> str:
    """An argument of `tool` as text: a list as `joined` has it where the tool is ours, a command as a line of shell,
    anything else as JSON.
    """
    own = other_names(tool).get(name, name)
    if own == "command":
        value = _command_line(value)
    elif isinstance(value, list) and tool in ARGUMENT_NAMES:
        value = joined(own, value)
    text = value if isinstance(value, str) else to_json(value)
    # JSON can hold lone surrogates, which UTF-8 cannot.
    return _SURROGATE.sub("\ufffd", text)


def joined(name: str, value: object) -> str:
    """A list, or the JSON of one, as text: the items joined by `,`, options by `;`; a list of anything but words as JSON."""
    items = _decoded(value)
    if items is None or any(isinstance(item, dict | list) or item is None for item in items):
        return value if isinstance(value, str) else to_json(value)
    texts = (item if isinstance(item, str) else to_json(item) for item in items)
    return (";" if name == "options" else ",").join(texts)


def _command_line(value: object) -> object:
    """A list of words as the line of shell that means the same; the line itself where they call a shell with one."""
    words = _decoded(value)
    if not words or not all(isinstance(word, str) for word in words):
        return value
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and _LINE_FLAG.fullmatch(words[1]):
        return words[2]
    return shlex.join(words)


def _decoded(value: object) -> list[str] | None:
    """`value` as a list, or the one whose JSON it is; None for anything else."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, list) else None
