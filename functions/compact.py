"""JSON as the engine's functions write it: compact, Unicode kept."""

from __future__ import annotations

import json
from json import encoder
from typing import Any

_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def to_json(value: Any) -> str:
    """The JSON of a value without cycles.

    The same as `_ENCODER.encode`, which makes the encoder in C anew at every call.
    """
    return "".join(_chunks(value, 0))


# An interpreter without the encoder in C has None here.
_make: Any = getattr(encoder, "c_make_encoder", None)
_chunks: Any = (
    _make(None, _ENCODER.default, encoder.encode_basestring, None, ":", ",", False, False, True)
    if _make
    else lambda value, _level: _ENCODER.iterencode(value)
)
