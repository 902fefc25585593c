"""Reads a file of tasks: JSON lines, each a prompt, a workflow or an evaluation.

spec: @fleet_tasks
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from engine.contract import check_options
from engine.errors import Conflict, NotFound, ValidationError
from engine.functions.counts import counted

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}(\.[A-Za-z0-9_-]{1,32}){0,3}")
_PLACE = "{id}"
_KINDS = ("prompt", "workflow", "eval")
_KEYS = {"id", "root", "options", "vars", "model", *_KINDS}
_OPTIONS = frozenset(
    {"model", "mode", "persona", "system_prompt", "task_prompt", "temperature", "effort", "context_limit", "max_turns"}
    | {"max_seconds", "condense_ratio", "narrow_tools", "answer_cache", "yolo", "accept_edits", "no_repo", "no_web"}
    | {
        "no_interaction",
        "no_proposals",
        "no_processes",
        "overwrite_unseen",
        "max_depth",
        "sandbox",
        "network",
        "accept",
    }
    | {"accept_command", "accept_attempts", "accept_model", "output_attempts", "output", "project"}
)
_LONGEST_LINE = 4_000_000
Task = tuple[str, str, str, str, str | None]
"""Name, kind, definition (JSON), file and root."""


def read_tasks(path: Path, files: str, roots: str | None, options: dict[str, Any]) -> list[Task]:
    """The tasks of a file of JSON lines; `files` and `roots` are paths with `{id}`, `options` hold for all tasks.

    Raises `NotFound` (404) without a file, and `ValidationError` (400) that names every line with a mistake.
    """
    if _PLACE not in files:
        raise ValidationError(
            f"--files {files!r}: has no {_PLACE}; each task needs a file of its own, such as out/{_PLACE}.db"
        )
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise NotFound(f"{path}: there is no such file of tasks") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"{path}: cannot be read as text ({error})") from None
    found, faults, names = [], [], set()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            name, kind, definition = _task(line, number, path.parent.resolve(), options)
            if name in names:
                raise ValueError(f"id {name!r} is that of another task")
            names.add(name)
            root = definition.get("root") or (roots and roots.replace(_PLACE, name))
            found.append(
                (name, kind, json.dumps(definition), _absolute(files, name), root and str(Path(root).resolve()))
            )
        except (ValueError, TypeError, RecursionError, ValidationError) as error:
            faults.append(f"line {number}: {error.message if isinstance(error, ValidationError) else error}")
    if faults:
        more = f"\nand {counted(len(faults) - 10, 'more line')}" if len(faults) > 10 else ""
        raise ValidationError(f"{path}: " + "\n".join(faults[:10]) + more)
    if not found:
        raise ValidationError(f"{path}: holds no task")
    return found


def _absolute(files: str, name: str) -> str:
    return str(Path(files.replace(_PLACE, name)).resolve())


def _task(line: str, number: int, home: Path, options: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    if len(line) > _LONGEST_LINE:
        raise ValueError(f"has more than {_LONGEST_LINE:,} characters")
    task = json.loads(line)
    if isinstance(task, str):
        task = {"prompt": task}
    if not isinstance(task, dict):
        raise ValueError("has to be an object or a text")
    if unknown := sorted(task.keys() - _KEYS):
        raise ValueError(f"unknown key {unknown[0]!r}; known are {', '.join(sorted(_KEYS))}")
    kinds = [kind for kind in _KINDS if kind in task]
    if len(kinds) != 1:
        raise ValueError(f"has {' and '.join(kinds) or 'no task'}; give one of {', '.join(_KINDS)}")
    (kind,) = kinds
    name = task.get("id", f"task-{number}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"id {str(name)[:60]!r}: use letters, digits, '-', '_' and single dots")
    for key, expected in ((kind, str), ("root", str), ("options", dict), ("vars", dict), ("model", str)):
        if key in task and not isinstance(task[key], expected):
            raise ValueError(f"{key!r} has to be {'a text' if expected is str else 'an object'}")
    if not task[kind].strip():
        raise ValueError(f"{kind!r} is empty")
    given = {**options, **task.get("options", {}), **({"model": task["model"]} if "model" in task else {})}
    if strange := sorted(given.keys() - _OPTIONS):
        raise ValueError(f"option {strange[0]!r} cannot be given to a task; there are {', '.join(sorted(_OPTIONS))}")
    check_options({key: value for key, value in given.items() if key != "output"})  # type: ignore[arg-type]
    if kind != "prompt":
        task[kind] = str(home / task[kind]) if (home / task[kind]).exists() else task[kind]
    return name, kind, {**task, "options": given}


def expect_new(tasks: list[Task]) -> None:
    """Raise `Conflict` (409) if the file of a task exists: it may be that of another fleet."""
    there = [file for _, _, _, file, _ in tasks if Path(file).exists()]
    if there:
        raise Conflict(
            f"{there[0]}: exists already, as {counted(len(there), 'file')} of these tasks; continue that fleet with "
            "'engine fleet resume', or name other --files"
        )
