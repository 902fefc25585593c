"""Reads a file of cases, in YAML or JSON lines, into trials.

spec: @eval_cases
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import NotFound, ValidationError
from engine.functions.located import Located, Unreadable, read_located

CHECKS: Mapping[str, type | tuple[type, ...]] = {
    "contains": str,
    "lacks": str,
    "equals": str,
    "regex": str,
    "schema": (dict, bool),
    "files": dict,
    "commands": list,
    "max_cost": (int, float),
    "code": str,
    "judge": str,
}
"""The kinds of checks, and what each takes."""
_SUITE = {"cases": list, "checks": list, "models": list, "prompts": dict, "options": dict, "repeat": int, "task": str}
_SUITE |= {"judge": str}
_CASE = {"name": str, "prompt": str, "files": dict, "folder": str, "checks": list, "options": dict, "expected": object}
_NAMES = {
    str: "a text",
    list: "a list",
    dict: "an object",
    int: "a whole number",
    bool: "true or false",
    float: "a number",
}
_PLACE = re.compile(r"\{\{\s*prompt\s*\}\}")


@dataclass
class Suite:
    """What a file of cases says. `cases` are as it has them, each with a name and with the checks and options of all."""

    name: str
    folder: Path
    cases: list[dict[str, Any]]
    models: list[str] = field(default_factory=lambda: [""])
    prompts: dict[str, str] = field(default_factory=lambda: {"": "{{prompt}}"})
    repeat: int = 1
    judge: str = ""
    task: str = ""

    def trials(self) -> Iterator[tuple[str, str, str, int, dict[str, Any]]]:
        """What is to be tried: case, model, form of the prompt, repetition, and the case with its whole prompt."""
        for case in self.cases:
            for model in self.models:
                for variant, form in self.prompts.items():
                    prompt = str(case["prompt"]).join(_PLACE.split(form))
                    definition = {**case, "prompt": prompt, "task": self.task, "judge": self.judge}
                    for repetition in range(1, self.repeat + 1):
                        yield case["name"], model, variant, repetition, definition


def read_suite(path: Path) -> Suite:
    """The cases of a file; raises `NotFound` (404), and `ValidationError` (400) with the line of what is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"{path}: not found; name a file of cases, in YAML or JSON lines") from None
    except (OSError, ValueError) as error:
        raise ValidationError(f"{path}: cannot be read: {error}") from None
    told = _of_lines(path, text) if path.suffix == ".jsonl" else _located(path, text, 0)
    return _suite(path, told)


def _of_lines(path: Path, text: str) -> Located:
    cases = [_located(path, line, at) for at, line in enumerate(text.split("\n")) if line.strip()]
    return Located("map", 1, pairs={"cases": Located("list", 1, items=cases)}, key_lines={"cases": 1})


def _located(path: Path, text: str, above: int) -> Located:
    """The value of a text that has so many lines above it."""
    syntax = "yaml" if path.suffix in (".yaml", ".yml") else "jsonc"
    try:
        return _moved(read_located(text, syntax), above)
    except Unreadable as error:
        raise _wrong(path, error.line + above, error.message) from None


def _moved(value: Located, lines: int) -> Located:
    value.line += lines
    for each in (*value.items, *value.pairs.values()):
        _moved(each, lines)
    return value


def _suite(path: Path, told: Located) -> Suite:
    given = _fields(path, told, _SUITE, "a file of cases", needs=("cases",))
    common = _checks(path, told.pairs.get("checks"))
    options = given.get("options", {})
    cases = [_case(path, each, number, common, options) for number, each in enumerate(told.pairs["cases"].items, 1)]
    seen: set[str] = set()
    for case, at in zip(cases, told.pairs["cases"].items, strict=True):
        if case["name"] in seen:
            raise _wrong(path, at.line, f"two cases have the name {case['name']!r}; give each another")
        seen.add(case["name"])
    suite = Suite(path.stem, path.resolve().parent, cases)
    for name in ("models", "prompts", "repeat", "judge", "task"):
        if name in given:
            setattr(suite, name, given[name])
    if not all(isinstance(each, str) for each in (*suite.models, *suite.prompts.values())) or not suite.models:
        raise _wrong(path, told.line, "models must be a list of names, and prompts an object of texts")
    if suite.repeat < 1:
        raise _wrong(path, told.pairs["repeat"].line, "repeat is 1 or more")
    return suite


def _case(
    path: Path, told: Located, number: int, common: list[dict[str, Any]], options: dict[str, Any]
) -> dict[str, Any]:
    case = _fields(path, told, _CASE, "a case", needs=("prompt",))
    files = case.get("files", {})
    if not all(isinstance(text, str) for text in files.values()):
        raise _wrong(path, told.line, "files of a case must be an object of texts by path")
    checks = [*common, *_checks(path, told.pairs.get("checks"))]
    return {
        **case,
        "name": case.get("name", str(number)),
        "checks": checks,
        "options": {**options, **case.get("options", {})},
    }


def _checks(path: Path, told: Located | None) -> list[dict[str, Any]]:
    found = []
    for each in told.items if told else ():
        check = _fields(path, each, {**CHECKS, "model": str}, "a check")
        kinds = [name for name in check if name in CHECKS]
        if len(kinds) != 1:
            raise _wrong(path, each.line, f"a check has one of {', '.join(CHECKS)}")
        found.append(check)
    return found


def _fields(
    path: Path, told: Located, known: Mapping[str, Any], what: str, needs: Iterable[str] = ()
) -> dict[str, Any]:
    """The object that a value is, with each key known and each value of its type."""
    if told.kind != "map":
        raise _wrong(path, told.line, f"{what} must be an object, not {told.seen}")
    for name, value in told.pairs.items():
        line = told.key_lines.get(name, value.line)
        if name not in known:
            raise _wrong(path, line, f"{what} has no field {name!r}; the fields are {', '.join(known)}")
        kinds = known[name] if isinstance(known[name], tuple) else (known[name],)
        # a text may be written without quotes
        if (str in kinds and value.is_text) or object in kinds:
            continue
        if not isinstance(value.value, kinds) or (isinstance(value.value, bool) and bool not in kinds):
            raise _wrong(
                path, value.line, f"{name!r} must be {' or '.join(_NAMES[kind] for kind in kinds)}, not {value.seen}"
            )
    if missing := [name for name in needs if name not in told.pairs]:
        raise _wrong(path, told.line, f"{what} needs {missing[0]!r}")
    return {name: value.text if known[name] is str else value.value for name, value in told.pairs.items()}


def _wrong(path: Path, line: int, message: str) -> ValidationError:
    return ValidationError(f"{path}, line {line}: {message}")
