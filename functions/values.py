"""Values of settings and options: whether one is of its kind and within its bounds."""

from __future__ import annotations

import math
import re

from engine.functions.lazy import lazy_regex

_KINDS = ("flag", "whole", "number", "mode", "sandbox", "effort", "text", "schema", "options")
_FLAGS = ("0", "1", "true", "false")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""How hard a model may be asked to think."""
_WHOLE = lazy_regex(r"[+-]?[0-9]{1,15}")
_LARGEST = 2**53
"""Up to here a float represents every whole number."""
_SANDBOX = lazy_regex(r"[a-z0-9_-]+")
_NUMBER = lazy_regex(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


def value_error(value: str | float | None, kind: str | None, least: float | None, most: float | None) -> str | None:
    """What `value` must be and is not, as the rest of a sentence that begins with its name; NULL if it is valid, or NULL.

    `kind` is flag (0, 1, true, false), whole (a whole number), number, mode (of a prompt), sandbox (a name), effort, text,
    schema (a JSON Schema), options (settings of a model, as a JSON object). A number may be given as text. `least` and
    `most` are the inclusive bounds of a number; NULL is no bound. A text may be anything; one with `most` is handed to the
    system, so it has at most as many bytes and no NUL.
    """
    if value is None or kind not in _KINDS:
        return None
    if kind == "mode":
        return None if value in ("ask", "act") else f"must be ask or act, not {value!r}"
    if kind == "effort":
        return None if value in EFFORTS else f"must be one of {', '.join(EFFORTS)}, not {value!r}"
    if kind == "sandbox":
        known = _SANDBOX.fullmatch(str(value))
        return None if known else f"must be auto, require, off or the name of a sandbox, not {value!r}"
    if kind == "options":
        from .model_options import options_error

        return options_error(str(value))
    if kind == "schema":
        from .typed_answers.validity import schema_error

        return schema_error(str(value))
    if kind == "text":
        return None if most is None else _size_error(str(value), int(most))
    if kind == "flag":
        return None if str(value) in _FLAGS else f"must be 0 or 1, not {value!r}"
    number = _number(value, kind == "whole")
    if number is not None and (least is None or number >= least) and (most is None or number <= most):
        return None
    return f"must be a {'whole ' if kind == 'whole' else ''}number{_bounds(least, most)}, not {value!r}"


def _size_error(text: str, most: int) -> str | None:
    if "\0" in text:
        return "contains a NUL character, which is not allowed"
    size = len(text.encode("utf-8", "surrogatepass"))
    return None if size <= most else f"has {size:,} bytes, but at most {most:,} are allowed; put it into a file"


def _number(value: str | float, whole: bool) -> float | None:
    """`value` as a finite number, as SQLite reads it; None if it is none."""
    if isinstance(value, str) and not (_WHOLE if whole else _NUMBER).fullmatch(value):
        return None
    number = float(value)
    fit = math.isfinite(number) and (not whole or (number.is_integer() and abs(number) <= _LARGEST))
    return number if fit else None


def _bounds(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f" from {least:g} to {most:g}"
    return f" from {least:g} on" if least is not None else f" up to {most:g}" if most is not None else ""
