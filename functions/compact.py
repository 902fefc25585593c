"""JSON as the engine's functions read and write it: compact, Unicode kept, never deeper than they can follow."""

from __future__ import annotations

import json
from json import encoder
from typing import Any

_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def to_json(value: Any) -> str:
    """The JSON of a value that does not contain itself.

    It equals `_ENCODER.encode`, which creates a new C encoder at every call; this one is kept.
    """
    return "".join(_chunks(value, 0))


def from_json(text: str) -> Any:
    """The value of a JSON text. Raises `ValueError` where it is none, or is nested too deeply to be read."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


# None in an interpreter that has no encoder in C.
_make: Any = getattr(encoder, "c_make_encoder", None)
_chunks: Any = (
    _make(None, _ENCODER.default, encoder.encode_basestring, None, ":", ",", False, False, True)
    if _make
    else lambda value, _level: _ENCODER.iterencode(value)
)
