"""What a model wrote of a call, as arguments of the function."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Protocol

from engine.functions.compact import to_json
from engine.models.protocol import storable

from .kinds import Kind, WrongArgument, parsed, shown

_CHILD = re.compile(r"\s*<([A-Za-z_]\w*)>(.*?)</\1>", re.DOTALL)
_MOST_SHOWN = 200


class Argument(Protocol):
    """An argument of a tool."""

    @property
    def kind(self) -> Kind:
        """What it may be."""


class Called(Protocol):
    """A tool that is called by arguments; `body` names the one that stands between its tags."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def parameters(self) -> Mapping[str, Argument]:
        """Its arguments."""

    @property
    def body(self) -> str | None:
        """The argument between the tags."""

    def bound(self, arguments: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """The arguments of a call; raises `WrongArgument`."""


def read_call(
    tool: Called, path: str | None, destination: str | None, body: str | None, attributes: str
) -> dict[str, object]:
    """A command as a call: ``{"arguments", "call"}``, or ``{"fault"}`` where an argument is wrong. Never raises.

    `call` is what people and the model read of it.
    """
    try:
        arguments = _arguments(tool, path, destination, body, json.loads(attributes))
        tool.bound(arguments)
    except WrongArgument as error:
        return {"fault": storable(f"validation: <{tool.name}> was not called: {error}")}
    said = ", ".join(f"{name}={to_json(value)}" for name, value in arguments.items())
    call = f"{tool.name}({said})"
    call = storable(call if len(call) <= _MOST_SHOWN else f"{call[:_MOST_SHOWN]}…)")
    return {"arguments": arguments, "call": call}


def _arguments(
    tool: Called, path: str | None, destination: str | None, body: str | None, attributes: Mapping[str, object]
) -> dict[str, object]:
    names = {name.lower(): name for name in tool.parameters}
    texts: dict[str, str] = {}
    for name, value in attributes.items():
        if name not in names:
            raise WrongArgument(f"no such argument: {shown(name)}; {_listed(tool)}")
        texts[names[name]] = value if isinstance(value, str) else to_json(value)
    if path is not None:
        texts[_meant(tool, names, "path", ("path",))] = path
    if destination is not None:
        texts[_meant(tool, names, "to", ("to", "destination"))] = destination
    if body is not None and body.strip():
        given = _of_body(tool, names, body) if not texts else None
        if given is not None:
            return given
        if tool.body is None or tool.body in texts:
            raise WrongArgument(f"no text is allowed between its tags; {_listed(tool)}")
        texts[tool.body] = body
    elif body is not None and tool.body and tool.body not in texts and tool.parameters[tool.body].kind.is_text:
        texts[tool.body] = body
    return {name: tool.parameters[name].kind.read(text, name) for name, text in _ordered(tool, texts)}


def _ordered(tool: Called, texts: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name, texts[name]) for name in tool.parameters if name in texts]


def _of_body(tool: Called, names: Mapping[str, str], body: str) -> dict[str, object] | None:
    """The arguments that a body holds as one JSON object or as child elements; None for any other body."""
    if body.lstrip().startswith("{"):
        try:
            value = parsed(body)
        except ValueError:
            return None
        if isinstance(value, dict) and value and all(key.lower() in names for key in value):
            given = {names[key.lower()]: each for key, each in value.items() if each is not None}
            return {name: given[name] for name in tool.parameters if name in given}
        return None
    found = list(_CHILD.finditer(body))
    whole = found and "".join(each[0] for each in found).strip() == body.strip()
    if not whole or any(each[1].lower() not in names for each in found):
        return None
    texts = {names[each[1].lower()]: each[2].strip() for each in found}
    return {name: tool.parameters[name].kind.read(text, name) for name, text in _ordered(tool, texts)}


def _meant(tool: Called, names: Mapping[str, str], said: str, among: tuple[str, ...]) -> str:
    for name in among:
        if name in names:
            return names[name]
    raise WrongArgument(f"no such argument: '{said}'; {_listed(tool)}")


def _listed(tool: Called) -> str:
    return f"the arguments are {', '.join(tool.parameters)}" if tool.parameters else "it takes none"
