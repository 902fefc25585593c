"""Tags of tools whose arguments are child elements, `<get><path>b.md</path></get>`, or JSON, `<get>{"path":"b.md"}</get>`:
as Cline, Roo and Claude write them.

The body of a `set` with a path is always text. So is one whose first element is no argument of the tool.
"""

from __future__ import annotations

import json

from engine.functions.lazy import lazy_regex
from engine.functions.notations.notation import Answer
from engine.functions.notations.parameters import Parameters, parameters

from .argument_names import known_names, other_names
from .tags import Tag

_FIRST = lazy_regex(r"\s*<([A-Za-z_][\w.-]{0,60})>")
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
