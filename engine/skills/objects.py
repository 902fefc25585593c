"""Skills that are objects: JSON with comments, or YAML, as other engines keep them. They become texts for a model.

One has an instruction, with the model and the tools that it is meant for; another is a workflow, whose steps the model takes
in their order. Neither starts anything: what it names is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.functions.located import Located, Unreadable, read_located
from engine.functions.skills import LONGEST_DESCRIPTION, NAME_PROBLEM, is_name
from engine.functions.workflows.reading import read_workflow

_TOLD = ("model", "tools", "triggers")
SYNTAXES = {".jsonc": "jsonc", ".json": "jsonc", ".yaml": "yaml", ".yml": "yaml"}
"""What the text of a file with this ending is written in."""


def object_head(text: str, syntax: str, name: str) -> dict[str, Any]:
    """What an object says of itself, as `skill_head` has it: name, description, body, problem (None: none), and others.

    `name` is used where the object has none. `others` are its names that bind nothing here: a model, tools and triggers are
    told to the model in words, and what nobody knows is left out.
    """
    head = _head_of(text, syntax, name)
    return {**head, "others": [] if head["problem"] else _others(text, syntax)}


def _others(text: str, syntax: str) -> list[str]:
    top = read_located(text, syntax)
    taken = ("name", "description", "type", "instruction", "system_prompt", "steps", "vars", "variables", "inputs")
    return [f"{each} (told in words)" if each in _TOLD else each for each in top.pairs if each not in taken]


def _head_of(text: str, syntax: str, name: str) -> dict[str, str | None]:
    try:
        top = read_located(text, syntax)
    except Unreadable as fault:
        return _head(name, "", "", f"line {fault.line}: {fault.message}")
    if top.kind != "map":
        return _head(name, "", "", "it is not an object with name, description and instruction")
    said, description = _text(top, "name") or name, " ".join(_text(top, "description").split())[:LONGEST_DESCRIPTION]
    if "steps" in top.pairs or _text(top, "type") == "workflow":
        read = read_workflow(text, syntax, None)
        if read["workflow"] is None:
            first = read["problems"][0]
            return _head(said, description, "", f"line {first['line']}: {first['message']}")
        return _head(said, description, "\n".join(_workflow(read["workflow"])))
    instruction = _text(top, "instruction") or _text(top, "system_prompt")
    if not instruction.strip():
        return _head(said, description, "", "it has no instruction, and no steps")
    return _head(said, description, "\n\n".join([instruction.strip("\n"), *_meant_for(top)]))


def _head(name: str, description: str, body: str, problem: str | None = None) -> dict[str, str | None]:
    if not problem and not is_name(name):
        problem = NAME_PROBLEM
    if not problem and not description:
        problem = "it has no description"
    return {"name": name, "description": description, "body": body, "problem": problem}


def _text(top: Located, field: str) -> str:
    value = top.pairs.get(field)
    return value.text if value is not None and value.kind == "text" else ""


def _meant_for(top: Located) -> Iterator[str]:
    """What the object says beside its instruction of who is to follow it, a line each."""
    triggers, tools = top.pairs.get("triggers"), top.pairs.get("tools")
    delegation = triggers.pairs.get("delegation") if triggers is not None else None
    if delegation is not None and delegation.text == "true":
        yield "It is meant for a subtask of its own."
    if model := _text(top, "model"):
        yield f"The model that it is meant for: {model}"
    if tools is not None and (names := [each.text for each in tools.items if each.kind == "text"]):
        yield f"The tools that it is meant for: {', '.join(names)}"


def _workflow(workflow: Mapping[str, Any]) -> Iterator[str]:
    """A workflow as a list of steps, each behind those that it needs."""
    yield (
        "A workflow; a person can have it run step by step with 'engine workflow run'.\n"
        "To follow it yourself, take these steps in their order; those that need none of each other may be subtasks."
    )
    for number, each in enumerate(workflow["variables"]):
        what = ", ".join(filter(None, ("required" if each["required"] else "", each["description"])))
        default = "" if each["default"] is None else f" (else: {each['default']})"
        yield f"{'' if number else chr(10) + 'What it needs to know:' + chr(10)}- {each['name']}: {what}{default}"
    for place, step in enumerate(sorted(workflow["steps"], key=lambda step: (step["layer"], step["position"])), 1):
        needs = f", after {', '.join(step['needs'])}" if step["needs"] else ""
        yield f"\n## {place}. {step['title'] or step['id']} ({step['id']}{needs})\n\n{step['instruction'].strip()}"
        if step["tools"]:
            yield f"\nTools: {', '.join(step['tools'])}"
        if step["accept"]:
            yield f"\nIt is done when:\n{step['accept']}"
