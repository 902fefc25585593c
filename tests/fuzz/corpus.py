"""The corpus: answers as models write them, each with what a person would take from it.

A file `tests/corpus/<family>/<name>.txt` is the answer, a line `=== expected`, and one JSON object a line: a command
(`action`, then `path`, `to`, `body` and attributes by name, as far as there are any), or once `{"text": …}`,
`{"reasoning": …}`, `{"warns": [beginnings of the warnings, in any order]}`. Text and reasoning that are not named are
not compared; without `warns` the answer needs no repair. To extend the corpus, add a file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent.parent / "corpus"
SEPARATOR = "\n=== expected\n"
_SAME_AS_BODY = ("command", "query", "question")


@dataclass
class Case:
    """One file of the corpus."""

    name: str
    answer: str
    commands: list[dict[str, str]] = field(default_factory=list)
    text: str | None = None
    reasoning: str | None = None
    warns: list[str] = field(default_factory=list)


def cases() -> list[Case]:
    """All cases, by name; raises ValueError for a file that is not written as this module says."""
    files = sorted(CORPUS.rglob("*.txt"))
    return [_case(f"{path.parent.name}/{path.stem}", path.read_bytes().decode()) for path in files]


def _case(name: str, content: str) -> Case:
    answer, separator, expected = content.rpartition(SEPARATOR)
    if not separator:
        raise ValueError(f"{name}: no line '=== expected' behind the answer")
    case = Case(name, answer)
    for line in expected.splitlines():
        row = json.loads(line)
        if "action" in row:
            case.commands.append(row)
        elif len(row) == 1 and next(iter(row)) in ("text", "reasoning", "warns"):
            setattr(case, *next(iter(row.items())))
        else:
            raise ValueError(f"{name}: {line} is neither a command nor text, reasoning or warns")
    return case


def shown(command: dict[str, Any]) -> dict[str, str]:
    """A command of the parser in the form of the corpus."""
    named = {
        "action": command["action"],
        "path": command["path"],
        "to": command["destination"],
        "body": command["body"],
    }
    attributes = {
        name: value
        for name, value in command["attributes"].items()
        if not (name in _SAME_AS_BODY and value == command["body"])
    }
    return {name: value for name, value in {**named, **attributes}.items() if value is not None}
