"""Python functions as tools: what is made of a function's name, hints and docstring."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from engine.functions.compact import to_json

from .checked import with_field
from .context import is_context
from .decorating import MARK, Choices
from .docstrings import read_docstring
from .hints import UnsupportedHint, description_of, kind_of
from .kinds import Kind, WrongArgument

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MARKUP = frozenset(
    {
        "thinking",
        "tool",
        "tools",
        "tool_call",
        "tool_calls",
        "tool_use",
        "tool_uses",
        "toolcall",
        "function",
        "functions",
    }
    | {
        "function_call",
        "function_calls",
        "functools",
        "invoke",
        "parameter",
        "parameters",
        "arguments",
        "antml",
        "prompt",
    }
    | {"summary", "visible", "log", "unknowns", "instructions", "budget"}
)
"""Words that mean something else where a model writes them as a tag."""
_BODIES = ("body", "text", "content", "contents")
"""Parameters that get what stands between the tags."""
_DESTINATIONS = ("to", "destination")
_TAKEN = {"manifest": "asks any command for a list of entries"}
_MOST_TEXT = 8_000


@dataclass(frozen=True)
class Parameter:
    """A parameter of a tool."""

    name: str
    kind: Kind
    description: str
    parameter: inspect.Parameter

    @property
    def is_required(self) -> bool:
        """Whether a call without it is wrong."""
        return self.parameter.default is inspect.Parameter.empty and not self.kind.takes_none


@dataclass(frozen=True)
class FunctionTool:
    """A function as a tool of the name `name`."""

    name: str
    function: Callable[..., Any]
    choices: Choices
    parameters: Mapping[str, Parameter]
    meaning: str
    details: str
    body: str | None = field(default=None)
    """The parameter that gets what stands between the tags."""
    context: str | None = field(default=None)
    """The parameter that gets the `Context` of a call."""

    @property
    def definition(self) -> str:
        """What the file keeps of it, as JSON: name, meaning, doc, schema, ask, idempotent, reads."""
        return to_json(
            {
                "name": self.name,
                "meaning": self.meaning,
                "doc": self.document(),
                "schema": self.schema(),
                "ask": int(self.choices.ask),
                "idempotent": int(self.choices.idempotent),
                "reads": int(self.choices.reads),
            }
        )

    def told(self) -> dict[str, Any]:
        """The same for people, with its time-out."""
        return {
            "name": self.name,
            "meaning": self.meaning,
            "document": self.document(),
            "schema": self.schema(),
            "ask": self.choices.ask,
            "idempotent": self.choices.idempotent,
            "reads": self.choices.reads,
            "timeout": self.choices.timeout,
        }

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        properties = {each.name: _described(each) for each in self.parameters.values()}
        required = [each.name for each in self.parameters.values() if each.is_required]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def document(self) -> str:
        """What the model is told of it."""
        given = "".join(f' {name}="…"' for name in self.parameters if name != self.body)
        body = next((f">{name}</{self.name}>" for name in self.parameters if name == self.body), "/>")
        lines = [f"## <{self.name}{given}{body} - {self.meaning}", *filter(None, [self.details])]
        for each in self.parameters.values():
            default = _plain(each.parameter.default)
            said = "required" if each.is_required else "MAY be left out"
            if not each.is_required and default not in (None, inspect.Parameter.empty):
                said += f" (then {_json_or_none(default) or repr(default)})"
            schema = to_json(each.kind.schema)
            shape = f" As JSON: {schema}" if '"properties"' in schema else ""
            about = f" {each.description}" if each.description else ""
            lines.append(f"* {each.name}: {each.kind.words}, {said}.{about}{shape}")
        return "\n".join(lines)

    def bound(self, arguments: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """The arguments of a call, made of JSON values; raises `WrongArgument`."""
        positional: list[object] = []
        named: dict[str, object] = {}
        for each in self.parameters.values():
            if each.name in arguments:
                value = each.kind.make(arguments[each.name], each.name)
            elif each.is_required:
                raise WrongArgument(f"{each.name} is missing: {each.kind.words}")
            elif each.parameter.default is not inspect.Parameter.empty:
                value = each.parameter.default
            else:
                value = None
            if each.parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                named[each.name] = value
        return positional, named


def made(function: Callable[..., Any], choices: Choices | None = None) -> FunctionTool:
    """The tool that a function is; see `tool` for the errors."""
    expect_function(function)
    choices = choices or getattr(function, MARK, None) or Choices()
    name = _name_of(function, choices)
    said = read_docstring(inspect.getdoc(function) if inspect.isroutine(function) else None)
    parameters, context = _parameters(name, function, said.parameters)
    told = FunctionTool(
        name,
        function,
        choices,
        parameters,
        said.summary or name.replace("_", " "),
        said.details,
        _body(parameters),
        context,
    )
    document = told.definition
    if len(document) > _MOST_TEXT:
        raise ValueError(
            f"tool {name!r}: its description for the model has {len(document):,} characters; at most {_MOST_TEXT:,}"
        )
    if "\\u0000" in document or any("\ud800" <= character <= "\udfff" for character in document):
        raise ValueError(f"tool {name!r}: its docstring or a default value contains a NUL or half of a character")
    return told


def expect_function(function: object) -> None:
    """Raise `TypeError` for what is no function."""
    if not callable(function) or inspect.isclass(function):
        raise TypeError(f"a tool must be a function, not {function!r}")


def is_method(function: Callable[..., Any]) -> bool:
    """Whether a function stands in the body of a class: it is a tool when it is bound."""
    first = next(iter(inspect.signature(function).parameters), None)
    return first in ("self", "cls") and not inspect.ismethod(function)


def _name_of(function: Callable[..., Any], choices: Choices) -> str:
    name = choices.name if choices.name is not None else getattr(function, "__name__", "")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _MARKUP:
        why = "it means something else in an answer" if name in _MARKUP else "small letters, digits and _, up to 64"
        raise ValueError(f"tool {name!r}: is not a valid tool name ({why}); set one: @engine.tool(name='…')")
    return name


def _parameters(
    name: str, function: Callable[..., Any], told: Mapping[str, str]
) -> tuple[dict[str, Parameter], str | None]:
    """The parameters that a model is told of, and the name of the one that gets the `Context`."""
    hinted = function if inspect.isroutine(function) else getattr(function, "func", type(function).__call__)
    hints = _hints(name, hinted)
    found: dict[str, Parameter] = {}
    context: str | None = None
    for each in inspect.signature(function).parameters.values():
        where = f"tool {name!r}: parameter {each.name!r}"
        if each.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise TypeError(f"{where} takes any number of arguments; write a parameter for each argument")
        if each.name not in hints:
            raise TypeError(f"{where} has no type hint; add it, such as {each.name}: str")
        if not _PARAMETER.fullmatch(each.name):
            raise TypeError(f"{where}: its name must consist of the letters a to z, digits and _")
        if each.name in _TAKEN:
            raise TypeError(f"{where}: this word {_TAKEN[each.name]}; give it another name")
        hint, each = with_field(hints[each.name], each)
        if is_context(hint):
            if context is not None or each.kind is inspect.Parameter.POSITIONAL_ONLY:
                raise TypeError(f"{where}: a tool can have only one parameter of type engine.Context")
            context = each.name
            continue
        try:
            kind = kind_of(hint)
        except UnsupportedHint as error:
            raise TypeError(f"{where}: {error}") from None
        except NameError as error:
            raise Unresolved(f"{where}: its hint cannot be resolved: {error}") from None
        found[each.name] = Parameter(each.name, kind, description_of(hint) or told.get(each.name, ""), each)
    _expect_apart(name, found)
    return found, context


def _hints(name: str, function: Callable[..., Any]) -> Mapping[str, object]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise Unresolved(f"tool {name!r}: a hint cannot be resolved where it is defined: {error}") from None


class Unresolved(TypeError):  # noqa: N818 - an outcome, not a defect
    """A hint names what its module does not have, or not yet."""


def _expect_apart(name: str, parameters: Mapping[str, Parameter]) -> None:
    """Raise where an answer could not say which parameter is meant."""
    same = [each for each in parameters if sum(each.lower() == other.lower() for other in parameters) > 1]
    for group in (same, [each for each in parameters if each.lower() in _BODIES], _destinations(parameters)):
        if len(group) > 1:
            raise TypeError(
                f"tool {name!r}: parameters {' and '.join(map(repr, group))} look the same to a model; rename one"
            )


def _destinations(parameters: Mapping[str, Parameter]) -> list[str]:
    return [each for each in parameters if each.lower() in _DESTINATIONS]


def _body(parameters: Mapping[str, Parameter]) -> str | None:
    """The parameter that gets what stands between the tags: one that is called so, or the only one."""
    named = next((each for each in parameters if each.lower() in _BODIES), None)
    return named or (next(iter(parameters)) if len(parameters) == 1 else None)


def _described(parameter: Parameter) -> dict[str, Any]:
    schema = dict(parameter.kind.schema)
    if parameter.description:
        schema["description"] = parameter.description
    default = _plain(parameter.parameter.default)
    if default is not inspect.Parameter.empty and default is not None and _json_or_none(default) is not None:
        schema["default"] = default
    return schema


def _plain(default: object) -> object:
    """A default as JSON has it, where it is a member of an enum."""
    if not isinstance(default, enum.Enum):
        return default
    return default.value if type(default.value) in (str, int) else default.name


def _json_or_none(value: object) -> str | None:
    """The JSON of a default of a parameter; None where it has none."""
    if type(value) not in (str, int, float, bool, list, dict):
        return None
    try:
        return to_json(value)
    except (TypeError, ValueError):
        return None
