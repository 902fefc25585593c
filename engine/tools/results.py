"""What a function returns, as the text that the model reads."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import hashlib
import json
import uuid
from collections.abc import Mapping
from decimal import Decimal
from pathlib import PurePath

from engine.functions.counts import counted
from engine.models.protocol import storable

_MOST_PART = 1_000_000
NOTHING = "Done."
"""The result of a function that returns None."""


@dataclasses.dataclass(frozen=True)
class WithPictures:
    """A text with pictures, by the paths of the entries that they become."""

    text: str
    pictures: Mapping[str, bytes]


@dataclasses.dataclass(frozen=True)
class Picture:
    """A picture that a tool returns, alone or in a list: PNG, JPEG, GIF or WebP. The next packet shows it."""

    data: bytes


@dataclasses.dataclass(frozen=True)
class Entry:
    """An entry of the run that a tool returns, alone or in a list, such as known://orders/A1.

    It is stored together with the result. `visibility` is visible, summarized or archived (None: the default of its scheme).
    """

    path: str
    body: str
    visibility: str | None = None


@dataclasses.dataclass(frozen=True)
class Parts:
    """What a tool returned, taken apart: what the model reads as its text, the pictures by their paths, and the entries."""

    value: object
    pictures: Mapping[str, bytes]
    entries: tuple[Entry, ...]


def parts_of(value: object, tool: str) -> Parts:
    """A result taken apart; one without such parts is its own text. Raises `TypeError` for an entry without texts."""
    items = list(value) if isinstance(value, list | tuple) else [value]
    if not any(isinstance(each, Picture | Entry) for each in items):
        return Parts(value, value.pictures if isinstance(value, WithPictures) else {}, ())
    pictures: dict[str, bytes] = {}
    lines: list[str] = []
    for each in items:
        if isinstance(each, Picture):
            path = f"mcp://{tool}/pictures/{hashlib.sha256(each.data).hexdigest()[:16]}"
            pictures[path] = each.data
            lines.append(f"[picture: {path}]")
        elif isinstance(each, Entry):
            if not isinstance(each.path, str) or not isinstance(each.body, str):
                raise TypeError("Entry: path and body must be texts")
            lines.append(f"[entry: {each.path}]")
        else:
            lines.append(result_text(each, _MOST_PART))
    return Parts("\n".join(lines), pictures, tuple(each for each in items if isinstance(each, Entry)))


class ToolFailed(Exception):  # noqa: N818 - an outcome, not a defect
    """A tool says that its call failed, by `outcome`; `message` is what it says."""

    outcome = "error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NoText(TypeError):  # noqa: N818 - an outcome, not a defect
    """A result that JSON cannot hold."""


def result_text(value: object, most_bytes: int) -> str:
    """A text as it is, None as "Done.", any other value as JSON; its middle is left out where it has over `most_bytes`.

    Raises `NoText`.
    """
    if value is None:
        return NOTHING
    if isinstance(value, WithPictures):
        value = value.text
    if isinstance(value, str):
        return _cut(storable(str(value)), most_bytes)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_as_json)
    except (TypeError, ValueError, RecursionError) as error:
        raise NoText(f"it ran, but its result is not JSON ({type(value).__name__}: {str(error)[:200]})") from None
    return _cut(storable(text), most_bytes)


def _as_json(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "__pydantic_serializer__") and hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Decimal | PurePath | uuid.UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _cut(text: str, most_bytes: int) -> str:
    """The first and the last half of `most_bytes` of a text, and between them how much was left out."""
    data = text.encode("utf-8")
    if len(data) <= most_bytes:
        return text
    early = data[: most_bytes - most_bytes // 2].decode("utf-8", "ignore")
    late = data[len(data) - most_bytes // 2 :].decode("utf-8", "ignore")
    left_out = len(data) - len(early.encode("utf-8")) - len(late.encode("utf-8"))
    return f"{early}\n[… {counted(left_out, 'byte')} left out …]\n{late}"
