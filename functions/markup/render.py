"""Writes tool calls that a provider returns as data in the markup that the parser reads.

Text before or behind a command cannot change how it is read: a body that could be taken for markup becomes an
attribute, whose value is escaped. A call that markup cannot express (an unknown tool, an unusual argument name) is
written as a JSON call, which the parser reads too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from engine.functions.compact import from_json, to_json
from engine.functions.lazy import lazy_regex
from engine.functions.notations.thought_ends import closings

from .answer import response_parse
from .calls import TARGETS, Command, command_of_arguments
from .grammar import grammar_of

_TOOL = lazy_regex(r"[a-z_][a-z0-9_-]*")
_ATTRIBUTE = lazy_regex(r"[a-z_][\w.:-]*")
_OPENER = lazy_regex(r"<<([A-Z][A-Za-z0-9_]*)")
_CLOSER = lazy_regex(r"(?<!\S)[A-Z][A-Za-z0-9_]*(?=[\s<>]|\Z)")
# Tools whose open tag with a path is a complete command when another tag follows.
_BODILESS = frozenset({"get", "rm", "cp", "mv"})
_ENTITIES = str.maketrans({"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;", "'": "&apos;"})
_ALL = 1_000_000
_TRIED = 4
"""At the last so many ends of thoughts the calls may stand."""


def render_command(name: str | None, arguments: str | None) -> str | None:
    """The call of tool `name` with `arguments`, a JSON object, as text that `response_parse` reads back.

    Arguments that are null or false are left out. If `arguments` is not JSON, the result is a JSON call that the parser
    reports as broken. NULL for NULL; never raises.
    """
    if name is None or arguments is None:
        return None
    try:
        given = json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        return _call(name, arguments)
    command = _command(name, given)
    return _call(name, arguments) if command is None else _element(command)


def render_response(text: str | None, calls: str | None, tools: str | None) -> str | None:
    """An answer of `text` and of `calls`, a JSON array of ``{"name", "arguments"}``, as one text.

    Arguments are an object, or a text that should be the JSON of one. `tools` is a JSON array of the names of the tools.
    The calls follow the text; but if the text would hide them (an open fence, an unclosed tag), they stand behind the
    thoughts in it, or first. NULL for NULL; never raises on a model's text.
    """
    if text is None or calls is None or tools is None:
        return None
    known = frozenset(from_json(tools))
    block = "\n".join(_known(call["name"], call["arguments"], known) for call in from_json(calls))
    if not block or not text.strip():
        return block or text
    sources = _sources(block, tools)
    thoughts = closings(text, grammar_of(tools))
    for place in (len(text), *(end for _, end in reversed(thoughts[-_TRIED:]))):
        whole = "\n\n".join(part for part in (text[:place].rstrip(), block, text[place:].lstrip()) if part)
        read = _sources(whole, tools)
        if any(read[at : at + len(sources)] == sources for at in range(len(read) - len(sources) + 1)):
            return whole
    shown = text.lstrip() if not thoughts else text.lstrip().translate(_ENTITIES)
    return f"{block}\n\n{shown}"


def _known(name: str, given: object, tools: frozenset[str]) -> str:
    arguments = given if isinstance(given, str) else to_json(given)
    rendered = render_command(name, arguments) if name.lower() in tools else None
    return _call(name, arguments) if rendered is None else rendered


def _sources(text: str, tools: str) -> list[str]:
    parsed = json.loads(response_parse(text, tools, _ALL) or "{}")
    return [command["source"] for command in parsed["commands"]]


def _command(name: str, given: object) -> Command | None:
    """The command of a call; None if markup cannot express it."""
    if not isinstance(given, dict):
        return None
    command = command_of_arguments(name.lower(), given, "")
    for target in TARGETS.get(command.action, ()):
        if command.body is not None and command.attributes.get(target) == command.body:
            del command.attributes[target]
    sayable = _TOOL.fullmatch(command.action) and all(map(_ATTRIBUTE.fullmatch, command.attributes))
    return command if sayable and not command.notes else None


def _element(command: Command) -> str:
    name, body = command.action, command.body
    attributes: Mapping[str, Any] = {"path": command.path, "to": command.destination, **command.attributes}
    if body is not None and not _is_plain(name, body):
        attributes = {**attributes, "body": body}
        body = None
    head = f"<{name}" + "".join(
        f' {key}="{value.translate(_ENTITIES)}"' for key, value in attributes.items() if value is not None
    )
    if body is None:
        return f"{head}/>"
    # In `set` one line feed on either side is layout.
    layout = "\n" if name == "set" and re.search(r"[\r\n]", body) else ""
    return f"{head}>{layout}{body}{layout}</{name}>"


def _is_plain(name: str, body: str) -> bool:
    """Is `body` between tags of `name` read unchanged, whatever stands around them?"""
    if "<![CDATA[" in body or re.search(rf"<[^\s<>]*{re.escape(name)}", body, re.IGNORECASE):
        return False
    if name == "set":
        return not body.endswith("\r") and _closes_its_markers(body)
    return not body.lstrip().startswith("<<") and not (name in _BODILESS and "<" in body)


def _closes_its_markers(body: str) -> bool:
    last = {found[0]: found.start() for found in _CLOSER.finditer(body)}
    return all(last.get(found[1], -1) >= found.end() for found in _OPENER.finditer(body))


def _call(name: str, arguments: str) -> str:
    """A JSON call; `arguments` may be anything. `<` is escaped: it could begin a tag or end the call."""
    return (
        "<tool_call>" + f'{{"name":{to_json(name)},"arguments":{arguments}}}'.replace("<", "\\u003c") + "</tool_call>"
    )
