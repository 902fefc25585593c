"""Reads the text of a workflow.

All that is wrong with a text is found at once, each with its line. Nothing here is looked up or run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from textwrap import shorten
from typing import Any

from engine.functions.compact import to_json
from engine.functions.lazy import lazy_regex
from engine.functions.located import Located, Unreadable, read_located
from engine.functions.values import value_error

from .step_graph import cycles_of, layers_of

STEPS = 10_000
"""Steps of a workflow; more are refused."""
COMMAND_BYTES = 100_000
"""Of a command that accepts: those of the run option accept_command."""
PROBLEMS = 100
"""Problems that are told of a text."""
_TOLD_TOOLS = 1_000
"""Characters of the names of tools in a problem."""
_NAME = lazy_regex(r"[a-z0-9](?:[a-z0-9_.-]{0,62}[a-z0-9])?")
_ID = lazy_regex(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?")
_VARIABLE = lazy_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_ID_FORM = "1 to 64 letters, digits, '-' and '_', a letter or a digit at both ends"
_WORKFLOW = ("name", "description", "type", "version", "model", "vars", "steps")
_STEP = ("id", "title", "instruction", "needs", "tools", "model", "acceptance", "output")
_ACCEPTANCE = ("criteria", "command", "max_attempts", "model")
_VAR = ("description", "required", "default")


def read_workflow(text: str, syntax: str, tools: Collection[str] | None) -> dict[str, Any]:
    """What a text says and what is wrong with it: `workflow_read` as a dict. `tools` None: none is looked for."""
    reading = _Reading(tools)
    try:
        found = reading.workflow(read_located(text, syntax))
    except Unreadable as fault:
        reading.problem(fault.line, fault.message)
        found = None
    problems = sorted(reading.problems, key=lambda each: int(each["line"]))
    return {"problems": problems[:PROBLEMS], "notes": reading.notes, "workflow": None if problems else found}


class _Reading:
    """A text that is read; `problems` and `notes` are what was found so far."""

    def __init__(self, tools: Collection[str] | None) -> None:
        self.problems: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        self._tools = tools
        # made once: a text may name thousands of tools that there are not
        self._there = shorten(", ".join(sorted(tools or ())), _TOLD_TOOLS, placeholder=" …")

    def problem(self, line: int, message: str) -> None:
        self.problems.append({"line": line, "message": message})

    def workflow(self, top: Located) -> dict[str, Any] | None:
        if not self._is(top, "map", "a workflow"):
            return None
        if top.pairs.get("steps") is None and (said := top.pairs.get("type")) is not None and said.text == "simple":
            self.problem(said.line, "it is a skill of one instruction; a workflow has steps")
            return None
        self._fields(top, "a workflow", _WORKFLOW)
        if (said := top.pairs.get("type")) is not None and said.text != "workflow":
            self.problem(said.line, f"type is workflow, not {said.seen}")
        name = self._text(top, "a workflow", "name", needed=True)
        if name and not _NAME.fullmatch(name):
            self.problem(top.pairs["name"].line, "name is 1 to 64 small letters, digits, '-', '_' and '.'")
        return {
            "name": name,
            "description": self._text(top, "a workflow", "description", needed=True),
            "version": self._whole(top, "a workflow", "version", 1_000_000),
            "model": self._text(top, "a workflow", "model"),
            "variables": list(self._variables(top)),
            "steps": self._steps(top),
        }

    def _variables(self, top: Located) -> Iterator[dict[str, Any]]:
        given = top.pairs.get("vars")
        if given is None or not self._is(given, "map", "vars"):
            return
        for name, value in given.pairs.items():
            what = f"variable {name[:60]!r}"
            if not _VARIABLE.fullmatch(name):
                self.problem(
                    given.key_lines[name],
                    f"{what}: a name must be 1 to 64 letters, digits, '_' and '-'; the first must not be a digit",
                )
            if not self._is(value, "map", what):
                continue
            self._fields(value, what, _VAR)
            required = value.pairs.get("required")
            if required is not None and required.kind != "flag":
                self.problem(required.line, f"{what}: required is true or false, not {required.seen}")
            default = value.pairs.get("default")
            if default is not None and not default.is_text and default.kind != "null":
                self.problem(default.line, f"{what}: default must be a text, not {default.seen}")
            is_required = required is not None and required.text == "true"
            if is_required and default is not None:
                self.notes.append({"line": default.line, "message": f"{what}: is required, so its default is not used"})
            yield {
                "name": name,
                "description": self._text(value, what, "description") or "",
                "required": int(is_required),
                "default": default.text if default is not None and default.is_text else None,
            }

    def _steps(self, top: Located) -> list[dict[str, Any]]:
        given = top.pairs.get("steps")
        if given is None:
            self.problem(top.line, "a workflow has no steps")
            return []
        if not self._is(given, "list", "steps"):
            return []
        if not 0 < len(given.items) <= STEPS:
            self.problem(given.line, f"steps has {len(given.items):,} steps; a workflow has 1 to {STEPS:,}")
            return []
        steps = [self._step(value, place) for place, value in enumerate(given.items, 1)]
        self._check_graph([step for step in steps if step])
        return [step for step in steps if step]

    def _step(self, value: Located, place: int) -> dict[str, Any]:
        what = f"step {place}"
        if not self._is(value, "map", what):
            return {}
        name = self._text(value, what, "id", needed=True)
        if name and not _ID.fullmatch(name):
            self.problem(value.pairs["id"].line, f"{what}: an id must be {_ID_FORM}")
        what = f"step {name[:64]!r}" if name else what
        self._fields(value, what, _STEP)
        return {
            "id": name or "",
            "line": value.line,
            "position": place,
            "title": self._text(value, what, "title"),
            "instruction": self._text(value, what, "instruction", needed=True),
            "model": self._text(value, what, "model"),
            "needs": self._names(value, what, "needs", self._line_of),
            "tools": self._names(value, what, "tools", self._check_tool),
            **self._acceptance(value, what),
            "output": self._output(value, what),
        }

    def _acceptance(self, step: Located, what: str) -> dict[str, Any]:
        given, what = step.pairs.get("acceptance"), f"{what}: acceptance"
        none = dict.fromkeys(("accept", "accept_command", "accept_attempts", "accept_model"))
        if given is None:
            return none
        if given.is_text and given.text.strip():
            return none | {"accept": given.text.strip()}
        if not self._is(given, "map", what, "a text, or an object"):
            return none
        self._fields(given, what, _ACCEPTANCE)
        criteria, command = given.pairs.get("criteria"), self._text(given, what, "command")
        if criteria is not None and criteria.kind == "list":
            names = self._names(given, what, "criteria", self._line_of)
            said: str | None = "\n".join(f"- {each}" for each in names or ()) or None
        else:
            said = self._text(given, what, "criteria")
        if not said and not command:
            self.problem(given.line, f"{what} has neither criteria nor a command")
        if wrong := value_error(command, "text", None, COMMAND_BYTES):
            self.problem(given.pairs["command"].line, f"{what}: command {wrong}")
        return {
            "accept": said,
            "accept_command": command,
            "accept_attempts": self._whole(given, what, "max_attempts", 100),
            "accept_model": self._text(given, what, "model"),
        }

    def _output(self, step: Located, what: str) -> str | None:
        """The JSON Schema of the answer of a step."""
        given = step.pairs.get("output")
        if given is None or not self._is(given, "map", f"{what}: output", "a JSON Schema"):
            return None
        schema = to_json(given.value)
        if wrong := value_error(schema, "schema", None, None):
            self.problem(given.line, f"{what}: output {wrong}")
        return schema

    def _check_graph(self, steps: list[dict[str, Any]]) -> None:
        """Tell of ids that stand twice, of needs that are no step, and of cycles; give each step its layer."""
        lines: dict[str, int] = {}
        for step in steps:
            if step["id"] in lines:
                self.problem(step["line"], f"step {step['id']!r} stands here and in line {lines[step['id']]}")
            elif step["id"]:
                lines[step["id"]] = step["line"]
        needs: dict[str, list[str]] = {}
        for step in steps:
            wanted = step["needs"] or {}
            for each, line in wanted.items():
                if each == step["id"]:
                    self.problem(line, f"step {each!r} needs itself")
                elif each not in lines:
                    self.problem(line, f"step {step['id']!r} needs {each[:64]!r}, and there is no such step")
            step["needs"] = [each for each in wanted if each != step["id"]]
            needs.setdefault(step["id"], []).extend(step["needs"])
        layers = layers_of(needs)
        for cycle in cycles_of(needs, (step for step in needs if step not in layers)):
            shown = [*cycle[:20], "…", cycle[-1]] if len(cycle) > 22 else cycle
            self.problem(lines.get(cycle[0], 1), f"steps need each other in a circle: {' → '.join(shown)}")
        for step in steps:
            step["layer"] = layers.get(step["id"])
            step["tools"] = None if step["tools"] is None else list(step["tools"])

    def _names(
        self, value: Located, what: str, name: str, check: Callable[[Located, str], None]
    ) -> Mapping[str, int] | None:
        """The texts of a list, each with its line; None where there is no list."""
        given = value.pairs.get(name)
        if given is None or not self._is(given, "list", f"{what}: {name}"):
            return None
        names: dict[str, int] = {}
        for each in given.items:
            if not each.is_text or not each.text.strip():
                self.problem(each.line, f"{what}: {name} must be a list of texts, and {each.seen} is not a text")
            elif each.text in names:
                self.problem(each.line, f"{what}: {name} has {each.text[:64]!r} twice")
            else:
                names[each.text] = each.line
                check(each, what)
        return names

    def _line_of(self, value: Located, what: str) -> None:
        """A name of which nothing is checked."""

    def _check_tool(self, value: Located, what: str) -> None:
        if self._tools is not None and value.text not in self._tools:
            self.problem(value.line, f"{what}: there is no tool {value.text[:64]!r}; the tools are {self._there}")

    def _fields(self, value: Located, what: str, names: Collection[str]) -> None:
        for name in value.pairs:
            if name not in names:
                line = value.key_lines[name]
                self.problem(line, f"{what} has no field {name[:60]!r}; the fields are {', '.join(names)}")

    def _text(self, value: Located, what: str, name: str, *, needed: bool = False) -> str | None:
        """The text of a field, None where it is not there; what is needed must say something."""
        given = value.pairs.get(name)
        if given is not None and given.is_text and (given.text.strip() or not needed):
            return given.text
        if given is None or given.kind == "null" or given.is_text:
            if needed:
                self.problem(given.line if given else value.line, f"{what}: {name} is missing")
            return None
        self.problem(given.line, f"{what}: {name} must be a text, not {given.seen}")
        return None

    def _whole(self, value: Located, what: str, name: str, most: int) -> int | None:
        given = value.pairs.get(name)
        if given is None:
            return None
        if given.kind == "whole" and 1 <= int(given.text) <= most:
            return int(given.text)
        self.problem(given.line, f"{what}: {name} must be a whole number from 1 to {most:,}, not {given.seen}")
        return None

    def _is(self, value: Located, kind: str, what: str, wanted: str = "") -> bool:
        if value.kind == kind:
            return True
        self.problem(
            value.line, f"{what} must be {wanted or {'map': 'an object', 'list': 'a list'}[kind]}, not {value.seen}"
        )
        return False
