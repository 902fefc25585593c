"""What a function returns, as the text that the model reads."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import uuid
from collections.abc import Mapping
from decimal import Decimal
from pathlib import PurePath

from engine.functions.counts import counted
from engine.models.protocol import storable

NOTHING = "Done."
"""The result of a function that returns None."""


@dataclasses.dataclass(frozen=True)
class WithPictures:
    """A text with pictures, by the paths of the entries that they become."""

    text: str
    pictures: Mapping[str, bytes]


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
