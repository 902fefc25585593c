"""Reads settings of a model from a command line: NAME=VALUE, where VALUE is JSON, or else a text."""

from __future__ import annotations

import json
from typing import Any

import typer

from engine.functions.values import value_error


def model_options(given: list[str] | None) -> str | None:
    """The settings as a JSON object, None without any. Raises `typer.BadParameter` for what is no setting."""
    if not given:
        return None
    told: dict[str, Any] = {}
    for each in given:
        name, mark, value = each.partition("=")
        if not mark:
            raise typer.BadParameter(f"{each[:80]!r}: write NAME=VALUE, such as top_p=0.9", param_hint="--option")
        told[name.strip()] = _value(value)
    text = json.dumps(told)
    if wrong := value_error(text, "options", None, None):
        raise typer.BadParameter(wrong, param_hint="--option")
    return text


def _value(text: str) -> Any:
    if text.strip() in ("none", ""):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
