"""What the messages of every form consist of, and the checks that the readers of the forms share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.errors import ValidationError
from engine.functions.limits import RESPONSE_CHARACTERS

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_SHOWN = 60
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class System:
    """What a system message says."""

    at: str
    text: str


@dataclass(frozen=True)
class Prompt:
    """What the user says."""

    at: str
    text: str


@dataclass(frozen=True)
class Call:
    """A call of a tool by the model."""

    at: str
    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """What the model says in one message: text, thoughts and calls."""

    at: str
    text: str
    thoughts: str = ""
    calls: Sequence[Call] = field(default=())


@dataclass(frozen=True)
class Returned:
    """What a tool returned for a call."""

    at: str
    id: str
    text: str
    failed: bool = False


Item = System | Prompt | Answer | Returned


def wrong(at: str, what: str) -> ValidationError:
    """The error that names a message and says what is wrong with it."""
    return ValidationError(f"{at}: {what}; nothing was imported")


def an_object(value: Any, at: str) -> Mapping[str, Any]:
    """`value` as a JSON object."""
    if not isinstance(value, Mapping):
        raise wrong(at, f"must be an object, not {_kind(value)}")
    return value


def a_list(value: Any, at: str) -> Sequence[Any]:
    """`value` as a list; null is an empty one."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise wrong(at, f"must be a list, not {_kind(value)}")
    return value


def a_text(value: Any, at: str) -> str:
    """`value` as a text that the file can hold."""
    if not isinstance(value, str):
        raise wrong(at, f"must be a text, not {_kind(value)}")
    if len(value) > RESPONSE_CHARACTERS:
        raise wrong(at, f"has more than {RESPONSE_CHARACTERS:,} characters")
    return _clean_text(value)


def clean(value: Any) -> Any:
    """A value of JSON without the characters that the file cannot hold."""
    match value:
        case str():
            return _clean_text(value)
        case dict():
            return {clean(key): clean(each) for key, each in value.items()}
        case list():
            return [clean(each) for each in value]
    return value


def _clean_text(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text.replace("\0", "\ufffd"))


def a_name(value: Any, at: str) -> str:
    """`value` as the name of a tool."""
    name = a_text(value, at)
    if not _NAME.fullmatch(name):
        raise wrong(at, f"{name[:_SHOWN]!r} is not the name of a tool (letters, digits, '_', '-' and '.')")
    return name


def texts(content: Any, at: str, kinds: Mapping[str, str]) -> str:
    """The text of a message's content: a text, or a list of parts whose types are keys of `kinds`.

    The value in `kinds` is the field of the part that holds its text.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return a_text(content, at)
    return "\n\n".join(filter(None, _parts(content, at, kinds)))


def _parts(content: Any, at: str, kinds: Mapping[str, str]) -> Iterator[str]:
    for number, each in enumerate(a_list(content, at)):
        place = f"{at}[{number}]"
        if isinstance(each, str):
            yield a_text(each, place)
            continue
        part = an_object(each, place)
        yield a_text(part.get(kinds[_type(part, place, kinds)]), f"{place}.{kinds[part['type']]}")


def _type(part: Mapping[str, Any], at: str, kinds: Mapping[str, str]) -> str:
    kind = part.get("type")
    if kind not in kinds:
        raise wrong(at, f"has the type {shown(kind)}; only text can be imported")
    return str(kind)


def shown(value: Any) -> str:
    """A value of a message in an error."""
    return repr(value)[:_SHOWN]


def _kind(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return "a truth value"
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}
    return kinds.get(type(value), "a number")
