"""Hints that pydantic checks: its models, its dataclasses, and Annotated with its fields.

A hint can only name pydantic where pydantic was imported; the engine itself needs none of it.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from collections.abc import Callable, Collection
from typing import Annotated, Any, get_args, get_origin

from .bounds import with_bounds
from .kinds import Kind, Schema, WrongArgument, json_of

_MOST_ERRORS = 3
_UNTOLD = frozenset({"title", "discriminator"})


def is_checked(hint: object) -> bool:
    """Whether pydantic says what a value of this hint is."""
    if "pydantic" not in sys.modules:
        return False
    if get_origin(hint) is Annotated:
        return any(type(each).__module__.startswith(("pydantic", "annotated_types")) for each in get_args(hint)[1:])
    return isinstance(hint, type) and (hasattr(hint, "__pydantic_validator__") or hasattr(hint, "__pydantic_fields__"))


def with_field(hint: object, parameter: inspect.Parameter) -> tuple[object, inspect.Parameter]:
    """The hint and the parameter of `amount: float = Field(default=1, gt=0)`, as if the field stood in `Annotated`."""
    found: Any = parameter.default
    if type(found).__module__ != "pydantic.fields":
        return hint, parameter
    default = inspect.Parameter.empty if found.is_required() else found.get_default(call_default_factory=True)
    return Annotated[hint, found], parameter.replace(default=default)


def checked(hint: Any, plain: Callable[[], Kind]) -> Kind:
    """The kind of a hint that pydantic checks; `plain` is that of what it annotates, which says how a text is read.

    Raises `ValueError` for a model that holds itself, and for what has no JSON Schema.
    """
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hint)
        whole = adapter.json_schema()
    except PydanticUserError as error:
        raise ValueError(_line(str(error))) from None
    schema = _inlined(whole, whole.get("$defs", {}), ())
    if get_origin(hint) is Annotated:
        kind = plain()
        words = with_bounds(kind.words, schema)
    else:
        words = f"an object with {', '.join(schema.get('properties', {}))}" if "properties" in schema else "a value"
        kind = Kind(words, schema, lambda text, place: json_of(text, place, words), lambda value, _: value)
    return dataclasses.replace(kind, words=words, schema=schema, make=lambda value, place: _made(adapter, value, place))


def _made(adapter: Any, value: object, place: str) -> object:
    from pydantic import ValidationError

    try:
        return adapter.validate_json(json.dumps(value))
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        told = [f"{_place(place, each['loc'])}: {_line(each['msg'])}" for each in found[:_MOST_ERRORS]]
        more = f"; and {len(found) - _MOST_ERRORS} more" if len(found) > _MOST_ERRORS else ""
        raise WrongArgument("; ".join(told) + more) from error
    except Exception as error:  # whatever a validator of the app raises
        raise WrongArgument(f"{place}: {_line(str(error)) or type(error).__name__}") from error


def _place(place: str, steps: Collection[str | int]) -> str:
    return place + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _inlined(schema: Any, named: dict[str, Schema], inside: tuple[str, ...]) -> Any:
    """A schema without references and titles: one of a parameter stands inside that of its tool."""
    if isinstance(schema, list):
        return [_inlined(each, named, inside) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found: Schema = {}
    if isinstance(name := schema.get("$ref"), str):
        name = name.removeprefix("#/$defs/")
        if name in inside:
            raise ValueError(f"{name} contains itself, which is not possible in a schema of arguments")
        found = _inlined(named[name], named, (*inside, name))
    for key, value in schema.items():
        if key == "properties":
            found[key] = {each: _inlined(inner, named, inside) for each, inner in value.items()}
        elif key in ("default", "enum", "const", "examples"):
            found[key] = value
        elif key not in ("$ref", "$defs") and key not in _UNTOLD:
            found[key] = _inlined(value, named, inside)
    return found


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
