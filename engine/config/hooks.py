"""The hooks of the user's and the project's configuration: tables ``[hooks.NAME]`` in the files of settings.

A hook is a command of a person's own that is asked at points of a run. One that a project names counts only where this user
has confirmed it, as it stands there, for that file.

spec: @hooks
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import ValidationError
from engine.system import toml_files
from engine.trust.rights import Rights

from .configuration import Layer, expect_own, place_of

TABLE = "hooks"
POINTS = ("before_prompt", "before_tool", "after_tool", "end")
_LAYERS: tuple[Layer, ...] = ("user", "project")
_KEYS = ("on", "command", "tools", "timeout", "required", "enabled")
_MOST_HOOKS, _MOST_NAME, _MOST_LINE = 50, 40, 10_000
_SECONDS = 30.0
_LONGEST = 600.0


@dataclass(frozen=True)
class Hook:
    """A hook as a layer says it, in the file `source`. The user's are `confirmed`. `tools` are GLOBs over tools' names."""

    name: str
    layer: Layer
    source: Path
    points: Sequence[str]
    line: str
    tools: Sequence[str]
    timeout_s: float
    required: bool
    enabled: bool
    confirmed: bool

    @property
    def counts(self) -> bool:
        """Whether it is asked."""
        return self.enabled and self.confirmed


def hooks_of(folder: Path) -> list[Hook]:
    """All hooks that the user and the project in `folder` name. Raises `ValidationError` (400), with the file."""
    return [hook for layer in _LAYERS for hook in _listed(layer, folder)]


def unconfirmed_hooks(folder: Path) -> list[Hook]:
    """The hooks that the project in `folder` names and that this user has not confirmed; one short file is read."""
    return [hook for hook in _listed("project", folder) if not hook.confirmed]


def confirm_hooks(folder: Path, names: Sequence[str]) -> list[Hook]:
    """Let hooks of the project count as they stand there now: those of these names, or all. Returns them."""
    place = place_of("project", folder)
    found = [hook for hook in _listed("project", folder) if not names or hook.name in names]
    tables = _tables(place)
    Rights(Path(os.path.realpath(place))).change(give=[_right(place, hook.name, tables[hook.name]) for hook in found])
    return found


def _listed(layer: Layer, folder: Path) -> Iterator[Hook]:
    place = place_of(layer, folder)
    tables = _tables(place)
    if not tables:
        return
    if layer == "user":
        expect_own(place)
    if len(tables) > _MOST_HOOKS:
        raise ValidationError(f"{place}: has {len(tables)} hooks; at most {_MOST_HOOKS} are allowed")
    rights = Rights(Path(os.path.realpath(place)))
    for name, data in tables.items():
        try:
            yield _read(name, data, layer, place, layer == "user" or rights.confirmed(_right(place, name, data)))
        except ValidationError as error:
            raise ValidationError(f"{place}: [hooks.{name[:_MOST_NAME]}] {error.message}") from None


def _tables(place: Path) -> Mapping[str, Any]:
    text = toml_files.read_file(place)
    if TABLE not in text:
        return {}
    found = toml_files.loaded(text, place).get(TABLE, {})
    if not isinstance(found, dict):
        raise ValidationError(f"{place}: hooks is not a setting; write each hook as a table [hooks.NAME]")
    return found


def _read(name: str, data: object, layer: Layer, place: Path, confirmed: bool) -> Hook:
    if not isinstance(data, dict):
        raise ValidationError("is not a table")
    if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum() and len(name) <= _MOST_NAME):
        raise ValidationError(f"a name must have at most {_MOST_NAME} characters: a-z, A-Z, 0-9, _ and -")
    if unknown := next((key for key in data if key not in _KEYS), None):
        raise ValidationError(f"has no key {unknown[:40]!r}; the keys are {', '.join(_KEYS)}")
    points = _texts("on", data.get("on", []))
    if wrong := [point for point in points if point not in POINTS] or not points:
        named = f", not {wrong[0][:40]!r}" if isinstance(wrong, list) else ""
        raise ValidationError(f"on must be one or several of {', '.join(POINTS)}{named}")
    line = data.get("command")
    if not isinstance(line, str) or not line.strip() or "\0" in line or len(line) > _MOST_LINE:
        raise ValidationError(f"command must be a command line of at most {_MOST_LINE:,} characters")
    seconds = data.get("timeout", _SECONDS)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= _LONGEST:
        raise ValidationError(f"timeout must be a number of seconds above 0, at most {_LONGEST:g}")
    for flag in ("required", "enabled"):
        if not isinstance(data.get(flag, False), bool):
            raise ValidationError(f"{flag} must be true or false")
    tools = _texts("tools", data.get("tools", ["*"]))
    enabled, required = data.get("enabled", True), data.get("required", False)
    return Hook(name, layer, place, points, line.strip(), tools, float(seconds), required, enabled, confirmed)


def _texts(key: str, value: object) -> list[str]:
    """A text or a list of texts."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(each, str) and 0 < len(each) <= 100 for each in found):
        raise ValidationError(f"{key} must be a text, or a list of texts")
    return list(dict.fromkeys(found))


def _right(place: Path, name: str, data: object) -> str:
    """What is confirmed, as the text by which the store of rights knows it."""
    return json.dumps(["hook", os.path.realpath(place), name, data], sort_keys=True, default=str)
