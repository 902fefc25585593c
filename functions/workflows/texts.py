"""The text of a workflow: steps that need each other, with variables. JSON with comments, or YAML.

What reads it is imported when the first text is read.
"""

from __future__ import annotations

from engine.errors import ValidationError
from engine.functions.compact import from_json, to_json


def workflow_read(text: str | None, syntax: str | None, tools: str | None) -> str | None:
    """What the text of a workflow says, as JSON: problems and notes ({line, message} each), and workflow (null: problems).

    `syntax` is jsonc or yaml; `tools` is a JSON array of the tools that there are, or NULL: then none is looked for. The
    workflow has name, description, version, model, variables and steps, each step with its layer: one more than the
    highest of those that it needs. Raises `ValidationError` (400) for tools that are no array.
    """
    if text is None or syntax is None:
        return None
    from .reading import read_workflow

    return to_json(read_workflow(text, syntax, None if tools is None else _names_of(tools)))


def _names_of(tools: str) -> set[str]:
    """The names in a JSON array. Raises `ValidationError` (400) for anything else."""
    try:
        return {str(name) for name in list(from_json(tools))}
    except (ValueError, TypeError) as error:
        raise ValidationError(f"workflow_read: tools must be a JSON array of names, not {tools[:80]!r}") from error
