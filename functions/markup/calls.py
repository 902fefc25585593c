"""Tool calls as commands: which attribute or body is the path, the destination and the body of each tool.

The body of a tag is kept byte for byte, with two exceptions. In `set` one newline directly after the open tag and one
directly before the closing tag are layout and removed. In every other tool the markers of a heredoc
(`<<IDENT … IDENT`) around the whole body are removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.functions.arguments import as_text, joined
from engine.functions.edits.patch_notation import patch_form
from engine.functions.edits.patches import patch_parse
from engine.functions.lazy import lazy_regex

from .argument_names import ARGUMENT_NAMES, other_names

# The attributes, one of which makes a tag complete without a body.
TARGETS: Mapping[str, tuple[str, ...]] = {
    "get": ("path",),
    "rm": ("path",),
    "cp": ("path",),
    "mv": ("path",),
    "sh": ("command",),
    "env": ("command",),
    "search": ("query", "path"),
    "ask_user": ("question",),
}
_TEXT_TOOLS = frozenset({"update", "think"})
_KNOWN = frozenset({"path", "to", "status", "visibility", "options", "tags", "query", "filter", "pattern"})
_KNOWN |= frozenset(
    {"line", "limit", "char", "chars", "results", "manifest", "map", "state", "outcome", "background", "keep"}
)
_FLAGS = frozenset({"manifest", "map", "background", "keep"})
_SEEN = ("visibility", "tags", "summary")
"""What `set` changes of an entry whose text stays."""
_CDATA = lazy_regex(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
_HEREDOC = lazy_regex(r"\s*<<([A-Z][A-Za-z0-9_]*)(?=\s)(.*)(?<=\s)\1\s*", re.DOTALL)


USUAL = {
    "get": frozenset({"line", "limit", "char", "chars"}),
    "set": frozenset({"tags", "visibility", "summary"}),
    "update": frozenset({"status"}),
    "sh": frozenset({"command"}),
    "env": frozenset({"command"}),
    "search": frozenset({"query", "results"}),
    "ask_user": frozenset({"question", "options"}),
}
"""The attributes that most calls have. Whether a tool knows any other is a question for its schema."""


@dataclass(slots=True)
class Command:
    """One tool call; `source` is the slice of the answer that it was read from."""

    action: str
    path: str | None
    destination: str | None
    body: str | None
    attributes: dict[str, str]
    source: str
    notes: list[str] = field(default_factory=list)
    # it had no end where the answer was cut off
    truncated: bool = False

    def is_rare(self) -> bool:
        """Has it an attribute that may be unknown to its tool?"""
        return not USUAL.get(self.action, frozenset()).issuperset(self.attributes)

    def as_row(self) -> dict[str, Any]:
        """The command as a JSON object, without its notes, which become warnings."""
        row = {
            "action": self.action,
            "path": self.path,
            "destination": self.destination,
            "body": self.body,
            "attributes": self.attributes,
            "source": self.source,
        }
        return row | {"truncated": True} if self.truncated else row


def command_of(action: str, attributes: dict[str, str], body: str | None, source: str) -> Command:
    """The command of a tag: `body` is the text between its tags, None for a self-closing one."""
    if body is None:
        return _resolved(action, attributes, None, source)
    section = without_cdata(body)
    if section is None:
        told = "begins with a CDATA section without an end; it was kept as it is"
        kept = _without_layout(body) if action == "set" else _without_heredoc(body)
    else:
        told, kept = "stood in a CDATA section, which was removed; a body needs none", _without_layout(section)
    command = _resolved(action, attributes, kept, source)
    if section is not None or (body.lstrip().startswith("<![CDATA[") and "]]>" not in body):
        command.notes.append(f"The body of <{action}> {told}")
    return command


def spelled_out(command: Command, action: str) -> None:
    """Make `command`, a call by another word for `action`, one of `action`; a skill is got by name, folder or address."""
    if command.action == "skill" and command.path is not None:
        command.path = _skill_address(command.path.strip())
    command.action = action


def _skill_address(path: str) -> str:
    if "://" in path or path.endswith(".md"):
        return path
    return f"{path.rstrip('/')}/SKILL.md" if "/" in path else f"skill://{path}"


def without_cdata(text: str) -> str | None:
    """What stands in the CDATA section that is all of `text`; None if it is no such section."""
    found = _CDATA.fullmatch(text) if "<![CDATA[" in text else None
    return found[1] if found and "]]>" not in found[1] else None


def _resolved(action: str, attributes: dict[str, str], body: str | None, source: str) -> Command:
    others = other_names(action)
    attributes = dict(attributes) if others.keys().isdisjoint(attributes) else _renamed(others, attributes, body)
    # a flag is set by its presence: remove one that says no
    own = action in ARGUMENT_NAMES
    for flag in _FLAGS.intersection(attributes) if own else ():
        if attributes[flag].lower() in ("false", "0", "no"):
            del attributes[flag]
    if own and ("options" in attributes or "tags" in attributes):
        attributes |= {name: joined(name, attributes[name]) for name in ("options", "tags") if name in attributes}
    path, destination = attributes.pop("path", None), attributes.pop("to", None)
    body = attributes.pop("body", None) if body is None else body
    command = Command(action, path, destination, body, attributes, source)
    resolve = _RESOLVERS.get(action)
    if resolve is not None:
        resolve(command)
    return command


def _renamed(others: Mapping[str, str], attributes: dict[str, str], body: str | None) -> dict[str, str]:
    """`attributes` with our names, where these are not given."""
    renamed = dict(attributes)
    for name, value in attributes.items():
        own = others.get(name, name)
        if own not in renamed and not (own == "body" and body and body.strip()):
            renamed[own] = value
            del renamed[name]
    return renamed


def command_of_arguments(action: str, arguments: object, source: str) -> Command:
    """The command of a foreign call; `arguments` is a JSON object, the JSON text of one, or a plain text."""
    if isinstance(arguments, str):
        try:
            arguments = _parsed(arguments)
        except (ValueError, RecursionError):
            # a broken object is not taken for a command line: nothing of it may run
            broken = _resolved(action, {}, None, source)
            broken.notes.append(f"the arguments of <{action}> are broken JSON; nothing of them was used")
            return broken
    if not isinstance(arguments, dict):
        return _resolved(action, {}, None if arguments is None else as_text(action, "", arguments), source)
    # A flag of our tools is set by its presence: leave out one that is false, as one that is null.
    without = (None, False) if action in ARGUMENT_NAMES else (None,)
    given = {str(key): value for key, value in arguments.items() if not any(value is each for each in without)}
    texts = {key.lower(): as_text(action, key.lower(), value) for key, value in given.items()}
    others = other_names(action)
    texts = texts if others.keys().isdisjoint(texts) else _renamed(others, texts, None)
    guessed = None if "body" in texts else _guessed_body(action, texts, arguments)
    body = texts.pop(guessed or "body", None)
    command = _resolved(action, texts, body, source)
    if guessed:
        command.notes.append(f"<{action}> has no argument {guessed!r}; it was taken as the body")
    return command


def _guessed_body(action: str, texts: Mapping[str, str], arguments: Mapping[Any, object]) -> str | None:
    """The first text argument with an unknown name, in a call that lacks the main argument of its tool."""
    targets = TARGETS.get(action)
    if action not in _TEXT_TOOLS and (targets is None or any(target in texts for target in targets)):
        return None
    strings = (str(key).lower() for key, value in arguments.items() if isinstance(value, str))
    return next((key for key in strings if key in texts and key not in _KNOWN), None)


def _parsed(arguments: str) -> object:
    return json.loads(arguments, strict=False) if arguments.lstrip()[:1] == "{" else arguments


def _without_layout(body: str) -> str:
    body = body.removeprefix("\r\n") if body.startswith("\r") else body.removeprefix("\n")
    return body.removesuffix("\r\n") if body.endswith("\r\n") else body.removesuffix("\n")


def _without_heredoc(body: str) -> str:
    found = _HEREDOC.fullmatch(body) if "<<" in body else None
    return _without_layout(found[2]) if found else body


def _path_from_body(command: Command) -> None:
    """get, rm: the body names the path, or filters the paths that the attribute names."""
    if command.body is None:
        return
    text = command.body.strip()
    if command.path is None and text.startswith("<"):
        told = f"<{command.action}> was given {text[:40]!r} as its path: an element there is no argument of it"
        command.notes.append(told)
    if command.path is None and text:
        command.path, command.body = text, None
    elif not text:
        command.body = ""


def _body_of_set(command: Command) -> None:
    """set: a blank body beside what is seen of an entry is none. Without a path a patch has that of its first file."""
    if any(command.attributes.get(name, "").strip() for name in _SEEN) and not (command.body or "").strip():
        command.body = None
    if command.path is None and command.body is not None and patch_form(command.body) is not None:
        files = json.loads(patch_parse(command.body) or "{}")["files"]
        command.path = files[0]["path"] if files else None


def _destination_from_body(command: Command) -> None:
    """cp, mv: the body names the destination unless the attribute `to` does."""
    if command.destination is None and command.body is not None:
        command.destination, command.body = command.body.strip() or None, None


def _body_from(command: Command, name: str, value: str | None) -> None:
    if value is None:
        return
    if command.body is not None and command.body.strip():
        command.notes.append(f"<{command.action}> had both {name} and a body; {name} was used")
    command.body = value


def _command_as_body(command: Command) -> None:
    """sh, env: the attribute `command`, else the body, is what to run."""
    _body_from(command, "command", command.attributes.get("command"))


def _query_as_body(command: Command) -> None:
    """search: the attribute `query`, else `path`, else the body, is what to look for."""
    if "query" in command.attributes:
        _body_from(command, "query", command.attributes["query"])
    elif command.path is not None:
        _body_from(command, "path", command.path)
        command.path = None


def _question_as_body(command: Command) -> None:
    """ask_user: the attribute `question`, else the body, asks; beside a question the body is the options."""
    question = command.attributes.get("question")
    if question is None:
        return
    if "options" in command.attributes:
        _body_from(command, "options", question)
    elif command.body is not None and command.body.strip():
        command.attributes["options"] = command.body
    command.body = question


_RESOLVERS: Mapping[str, Callable[[Command], None]] = {
    "get": _path_from_body,
    "set": _body_of_set,
    "rm": _path_from_body,
    "skill": _path_from_body,
    "cp": _destination_from_body,
    "mv": _destination_from_body,
    "sh": _command_as_body,
    "env": _command_as_body,
    "search": _query_as_body,
    "ask_user": _question_as_body,
}
