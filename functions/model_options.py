"""Settings of a model besides its effort: which there are, and whether a JSON object says them as it should."""

from __future__ import annotations

import json
import math
from difflib import get_close_matches
from typing import Any

_MOST_CHARACTERS = 20_000
_MOST_STOPS, _LONGEST_STOP = 16, 200
_LARGEST = 2**53
OPTIONS = ("temperature", "top_p", "top_k", "max_output", "stop", "seed", "service_tier", "extra_body")
"""The names of all settings; extra_body has a provider's own, by its names."""
_NUMBERS = {"temperature": (0, 2), "top_p": (0, 1)}
_WHOLES = {"top_k": 1, "max_output": 1, "seed": -_LARGEST}
OF_THE_ENGINE = frozenset(
    [
        *(
            "model",
            "messages",
            "system",
            "stream",
            "stream_options",
            "tools",
            "tool_choice",
            "functions",
            "function_call",
        ),
        *(
            "n",
            "max_tokens",
            "max_completion_tokens",
            "temperature",
            "top_p",
            "top_k",
            "stop",
            "stop_sequences",
            "seed",
        ),
        *("service_tier", "reasoning", "reasoning_effort", "thinking", "output_config", "response_format", "grammar"),
    ]
)
"""Fields of a request that extra_body cannot change."""


def options_error(text: str) -> str | None:
    """What a text of settings must be and is not, as the rest of a sentence; None if it is a JSON object of such."""
    if len(text) > _MOST_CHARACTERS:
        return f"has {len(text):,} characters, the most is {_MOST_CHARACTERS:,}"
    try:
        given = json.loads(text, parse_constant=_refuse)
        json.dumps(given).encode()
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return f'must be a JSON object such as {{"top_p": 0.9}}, not {text[:80]!r}'
    if unknown := sorted(given.keys() - set(OPTIONS)):
        near = get_close_matches(unknown[0], OPTIONS, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(OPTIONS)}"
        return f"has no {unknown[0][:40]!r}; {hint}"
    wrong = (f"{name} {said}" for name, value in given.items() if value is not None and (said := _error(name, value)))
    return next(wrong, None)


def _error(name: str, value: Any) -> str | None:
    shown = json.dumps(value)[:80]
    if name in _NUMBERS:
        least, most = _NUMBERS[name]
        return None if _is_number(value) and least <= value <= most else f"is from {least} to {most}, not {shown}"
    if name in _WHOLES:
        fits = _is_number(value) and float(value).is_integer() and _WHOLES[name] <= value <= _LARGEST
        return None if fits else f"must be a whole number{' from 1 on' if _WHOLES[name] == 1 else ''}, not {shown}"
    if name == "service_tier":
        return (
            None
            if isinstance(value, str) and 0 < len(value) <= 80 and value.isprintable()
            else f"must be a name, not {shown}"
        )
    if name == "extra_body":
        if not isinstance(value, dict):
            return f"must be a JSON object with a provider's own fields, not {shown}"
        taken = sorted(value.keys() & OF_THE_ENGINE)
        return f"cannot change {taken[0]}, which the engine writes itself" if taken else None
    stops = [value] if isinstance(value, str) else value
    fits = isinstance(stops, list) and 0 < len(stops) <= _MOST_STOPS
    if fits and all(isinstance(each, str) and 0 < len(each) <= _LONGEST_STOP for each in stops):
        return None
    return f"must be a text or a list of at most {_MOST_STOPS} texts, not {shown}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _refuse(word: str) -> None:
    raise ValueError(word)
