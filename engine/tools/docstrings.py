"""Docstrings in the forms of Google, NumPy and Sphinx: what a function does, and what its parameters are."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

_GOOGLE = re.compile(
    r"(Args|Arguments|Parameters|Params|Returns|Return|Yields|Raises|Examples?|Notes?|Attributes|Warnings?|See Also)\s*:\s*"
)
_GOOGLE_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_UNDERLINE = re.compile(r"-{3,}\s*")
_NUMPY_ITEM = re.compile(r"(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?")
_FIELD = re.compile(r":(\w+)([^:]*):\s*(.*)")
_PARAMETERS = frozenset({"args", "arguments", "parameters", "params", "other parameters"})


class Docstring(NamedTuple):
    """The first paragraph as one line, what stands behind it, and the texts of the parameters."""

    summary: str
    details: str
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Docstring:
    """The parts of a docstring; what it says of results and errors is left out."""
    lines = inspect.cleandoc(text or "").splitlines()
    starts = [number for number in range(len(lines)) if _title(lines, number) or _FIELD.match(lines[number])]
    before = lines[: starts[0]] if starts else lines
    paragraphs = re.split(r"\n\s*\n", "\n".join(before).strip(), maxsplit=1)
    parameters: dict[str, str] = {}
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        if field := _FIELD.match(lines[start]):
            if field[1] in ("param", "parameter", "arg", "argument") and field[2].split():
                parameters[field[2].split()[-1]] = _joined([field[3], *lines[start + 1 : end]])
        elif _title(lines, start) in _PARAMETERS:
            numpy = start + 1 < len(lines) and _UNDERLINE.fullmatch(lines[start + 1])
            block = lines[start + (2 if numpy else 1) : end]
            parameters |= _items(block, _NUMPY_ITEM if numpy else _GOOGLE_ITEM)
    return Docstring(_joined(paragraphs[:1]), paragraphs[1].strip() if len(paragraphs) > 1 else "", parameters)


def _title(lines: list[str], number: int) -> str | None:
    """The name of the section that begins here, in lower case."""
    if found := _GOOGLE.fullmatch(lines[number]):
        return found[1].lower()
    if lines[number].strip() and number + 1 < len(lines) and _UNDERLINE.fullmatch(lines[number + 1]):
        return lines[number].strip().lower()
    return None


def _items(block: list[str], item: re.Pattern[str]) -> dict[str, str]:
    """The items of a section: each begins at the least indentation, and goes on where it is deeper."""
    depth = min((len(line) - len(line.lstrip()) for line in block if line.strip()), default=0)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in filter(str.strip, block):
        head = item.fullmatch(line.strip()) if len(line) - len(line.lstrip()) == depth else None
        if head:
            names = [name.strip() for name in head[1].split(",")]
            found |= dict.fromkeys(names, head[2] if head.re.groups > 1 else "")
        else:
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return {name: _joined([text]) for name, text in found.items()}


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
