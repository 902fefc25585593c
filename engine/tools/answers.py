"""The form of an answer: a type of Python as the JSON Schema that the model is told, and the object of an answer.

spec: @answer_types
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, get_args

from engine.errors import NoOutput, ValidationError
from engine.functions.compact import to_json
from engine.functions.typed_answers.answers import check_also
from engine.functions.typed_answers.checker import Fault

from . import checked
from .hints import UnsupportedHint, kind_of
from .kinds import WrongArgument


@dataclasses.dataclass(frozen=True)
class Form:
    """What an answer has to be: its JSON Schema, and how the object is made of the JSON text of an answer."""

    schema: str
    make: Callable[[str], Any]


def form_of(output: Any) -> Form:
    """The form of what `output=` was given: a type, or a JSON Schema as a mapping or as text.

    Raises `ValidationError` (400) for a type that JSON cannot be read into.
    """
    if isinstance(output, str):
        return Form(output, json.loads)
    if isinstance(output, Mapping):
        return Form(_text_of(output), json.loads)
    try:
        return _of_pydantic(output) if _is_checked(output) else _of_hint(output)
    except (UnsupportedHint, ValueError) as error:
        raise ValidationError(f"output: {error}") from None


def schema_of(output: Any) -> str | None:
    """The JSON Schema of what `output=` was given, for a prompt; None for None. What its class checks besides is checked
    too, as long as this process lives.
    """
    if output is None:
        return None
    form = form_of(output)
    if not isinstance(output, str | Mapping):
        check_also(form.schema, lambda value: _faults(form, value))
    return form.schema


def object_of(output: Any, text: str) -> Any:
    """The object of the JSON text of an answer; raises `NoOutput` (406) where its class refuses it."""
    if output is None:
        return json.loads(text)
    try:
        return form_of(output).make(text)
    except Exception as error:  # whatever a validator of the app raises
        raise NoOutput(f"the output is no {_name(output)}: {_line(error)}") from error


def _of_hint(hint: Any) -> Form:
    kind = kind_of(hint)
    schema = kind.schema
    if dataclasses.is_dataclass(hint):
        schema = {"title": _name(hint), **schema, "$comment": _place_of(hint)}
    return Form(_text_of(schema), lambda text: kind.make(json.loads(text), "$"))


def _of_pydantic(hint: Any) -> Form:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hint)
        schema = adapter.json_schema()
    except PydanticUserError as error:
        raise ValueError(_line(error)) from None
    return Form(_text_of({**schema, "$comment": _place_of(hint)}), adapter.validate_json)


def _is_checked(hint: Any) -> bool:
    """Whether pydantic says what a value of the hint, or of a part of it, is."""
    return "pydantic" in sys.modules and (checked.is_checked(hint) or any(map(_is_checked, get_args(hint))))


def _faults(form: Form, value: Any) -> list[Fault]:
    """What the class of a form says against a value that fits its schema."""
    try:
        form.make(to_json(value))
    except WrongArgument as error:
        place, _, rest = str(error).partition(" ")
        return [Fault(place.rstrip(":"), rest)] if place.startswith("$") else [Fault("$", str(error))]
    except (Exception, SystemExit, GeneratorExit) as error:  # whatever a validator of the app raises
        if "pydantic" in sys.modules and (told := _of_validator(error)):
            return told
        return [Fault("$", _line(error))]
    return []


def _of_validator(error: BaseException) -> list[Fault]:
    from pydantic import ValidationError as Invalid

    if not isinstance(error, Invalid):
        return []
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [Fault(_at(each["loc"]), _line(each["msg"]).removeprefix("Value error, ")) for each in found[:20]]


def _at(steps: tuple[str | int, ...]) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _text_of(schema: Mapping[str, Any]) -> str:
    try:
        return json.dumps(schema, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"output: has no JSON Schema: {error}") from None


def _place_of(hint: Any) -> str:
    module, name = getattr(hint, "__module__", ""), getattr(hint, "__qualname__", None)
    return f"{module}.{name}" if name else str(hint)


def _name(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint)


def _line(error: object) -> str:
    try:
        text = str(error)
    except Exception:  # the class of an app
        text = ""
    return " ".join(text.split())[:300].encode("utf-8", "replace").decode() or type(error).__name__
