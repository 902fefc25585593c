"""Which models a workflow may name: those of a project may come from anybody, and name only what their user has.

A name may be a file (`scripted:`, `replay:`, `gguf:`), a server at an address, or a place at which a user has a key. So the
workflow of a project names aliases and models of the provider that the run asks anyway, until this user has confirmed its
text: the store of rights (`engine.trust.rights`) knows it.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import PermissionDenied
from engine.trust.rights import Rights

if TYPE_CHECKING:
    from engine.handle import Handle

    from .finding import Source

_MARKS = (".git", ".agents")
"""What a folder has that is a project."""
_NAMED = """
    select model from workflows where id = :id and model is not null
    union
    select model from workflow_steps where workflow_id = :id and model is not null
    union
    select accept_model from workflow_steps where workflow_id = :id and accept_model is not null
"""


def models_of(
    db: Handle, workflow: int, source: str | None, place: Path | None, own: str | None, choose: Callable[[str], str]
) -> dict[str, str]:
    """The full names of the models that a workflow names, by how it calls them; `own` is that of the run, if it has one.

    `source` is the file that it was read from now, None where it is one that was kept; `place` is the folder of the
    project. Raises `NotFound` (404) where one is unknown, and `PermissionDenied` (403) where the workflow is a project's,
    its text is not confirmed, and it names a model that its user does not have.
    """
    names = [str(name) for (name,) in db.tuples(_NAMED, {"id": workflow})]
    kept, text = origin_of(db, workflow, place)
    at = source or kept
    if names and at is not None and _is_of_project(at, place) and not is_confirmed(at, text):
        # what is kept is found by its name, also where its file is gone
        found = source or str(db.value("select name from workflows where id = ?", (workflow,)))
        _expect_own(db, at, names, own, found)
    return {name: choose(name) for name in names}


def origin_of(db: Handle, found: Source | int, place: Path | None) -> tuple[str | None, str]:
    """The file that a workflow was read from and its text, of one in the database as they are kept there; the file is None
    for one that was written as rows. `place` is the folder of the project, from which it may have been named.
    """
    if not isinstance(found, int):
        return found.source, found.text
    source, text = db.tuples("select source, text from workflows where id = ?", (found,))[0]
    return None if source is None else os.path.join(place or "", source), str(text)


def confirm(source: str, text: str) -> None:
    """Let the text of a workflow name any model; raises `EngineError` (500) where that cannot be kept."""
    Rights(Path(os.path.realpath(source))).change(give=[_right(source, text)])


def is_confirmed(source: str, text: str) -> bool:
    """Whether this user has confirmed this very text of a workflow."""
    return Rights(Path(os.path.realpath(source))).confirmed(_right(source, text))


def named_in(workflow: dict[str, object]) -> list[str]:
    """The models that a workflow names, as `described` has it, in order."""
    steps = workflow["steps"]
    assert isinstance(steps, list), "a workflow that was read has steps"
    found = [workflow.get("model"), *(step.get(key) for step in steps for key in ("model", "accept_model"))]
    return sorted({str(name) for name in found if name})


def _expect_own(db: Handle, source: str, names: list[str], own: str | None, to_confirm: str) -> None:
    actual = str(db.value("select actual from models where alias = ?", (own,)) or own or "")
    provider = actual.partition("/")[0] if "/" in actual and ":" not in actual.partition("/")[0] else None
    for name in names:
        if db.value("select 1 from models where alias = ?", (name,)) or name in (own, actual):
            continue
        if provider is not None and name.startswith(provider + "/"):
            continue
        raise PermissionDenied(
            f"{source!r}: uses the model {name!r}. A project's workflow may only use aliases ('engine models') and models "
            f"of the run's provider. Read the workflow, then allow it: engine workflow confirm {shlex.quote(to_confirm)}"
        )


def _is_of_project(source: str, place: Path | None) -> bool:
    """Whether a file lies in the folder of the project, or in that of another one: below a folder with a .git or .agents."""
    if place is None:
        return False
    root = os.path.realpath(place)
    # a link in the project may lead out of it
    return any(
        above == Path(root) or any(os.path.lexists(above / mark) for mark in _MARKS)
        for each in (os.path.realpath(source), os.path.abspath(source))
        for above in Path(each).parents
    )


def _right(source: str, text: str) -> str:
    return json.dumps(["workflow", os.path.realpath(source), text])
