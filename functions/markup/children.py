"""Tags of tools whose arguments are child elements, `<get><path>b.md</path></get>`, or JSON, `<get>{"path":"b.md"}</get>`:
as Cline, Roo and Claude write them.

The body of a `set` with a path is always text. So is one whose first element is no argument of the tool.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import NamedTuple

from engine.functions.lazy import lazy_regex
from engine.functions.notations.notation import Answer
from engine.functions.notations.parameters import Parameters, parameters

from .argument_names import known_names, other_names
from .grammar import FLAGS
from .tags import Tag

_FIRST = lazy_regex(r"\s*<([A-Za-z_][\w.-]{0,60})>")
_FILES = lazy_regex(r"\s*(?P<args><args>\s*)?(?=<file>\s*<path>)", FLAGS)
_FILE = lazy_regex(r"\s*<file>(?=\s*<)", FLAGS)
_TEXTS = frozenset({"think", "update", "ask_user"})


def child_arguments(answer: Answer, tag: Tag) -> Parameters | None:
    """The arguments in the children of an open tag; None where its body is a text."""
    names = known_names(tag.name)
    first = _FIRST.match(answer.text, tag.end) if names and tag.name != "think" else None
    if first is None or first[1].lower() not in names or (tag.name == "set" and tag.attributes):
        return None
    given = parameters(answer, tag.end, tag.name, names)
    given.values |= {name: value for name, value in tag.attributes.items() if name not in given.values}
    others = other_names(tag.name)
    if tag.name == "set" and all(others.get(name.lower(), name.lower()) != "path" for name in given.values):
        return None
    return given


class FileCall(NamedTuple):
    """One of several files in a tag: its arguments, and its part of the text."""

    arguments: dict[str, object]
    start: int
    end: int


def file_calls(answer: Answer, tag: Tag) -> list[FileCall] | None:
    """The files in a tag that names several, `<get><args><file><path>a</path></file>…</args></get>`.

    None for other tags; empty if they cannot be read.
    """
    names = known_names(tag.name)
    begun = _FILES.match(answer.text, tag.end) if "files" in names else None
    if begun is None or tag.attributes:
        return None
    found, position = list[FileCall](), begun.end()
    while opened := _FILE.match(answer.text, position):
        given = parameters(answer, opened.end(), "file")
        if given.problem is not None or not given.closed:
            return []
        found.append(FileCall(dict(given.values), found[-1].end if found else tag.start, given.end))
        position = given.end
    closed = _files_end(tag.name, bool(begun["args"])).match(answer.text, position)
    if closed is None or not found:
        return []
    return [*found[:-1], found[-1]._replace(end=closed.end())]


@lru_cache(maxsize=8)
def _files_end(name: str, in_args: bool) -> re.Pattern[str]:
    args = r"\s*</args>" if in_args else ""
    return re.compile(rf"{args}\s*</{re.escape(name)}\s*>", FLAGS)


def may_be_text(tag: Tag) -> bool:
    """May the body of `tag` be a text that begins with an element named like an argument?"""
    return tag.name in _TEXTS


def json_arguments(tool: str, body: str) -> dict[str, object] | None:
    """The arguments in a body that is a JSON object of arguments of `tool`; None for any other body."""
    names = known_names(tool)
    if not names or tool in _TEXTS:
        return None
    try:
        value = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not value or any(key.lower() not in names for key in value):
        return None
    others = other_names(tool)
    if tool == "set" and all(others.get(key.lower(), key.lower()) != "path" for key in value):
        return None
    return value
