"""AGENTS.md of a folder: a block about the rules, and a draft that a model makes from the code.

spec: @init
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from engine.errors import EngineError, NotFound
from engine.terminal.exit_codes import INTERRUPTED

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.project.workspace import FileRead, Workspace

NAME = "AGENTS.md"
BEGIN, END = "<!-- engine rules -->", "<!-- /engine rules -->"
BLOCK = f"""{BEGIN}
## Rules

`engine` loads rules by what a prompt says: `engine rules list` shows them, `engine rules explain 'PROMPT'` says which
ones a prompt loads, and why. A `*name` in a prompt loads a star-command, such as `*brief` or `*plan`. People change them
with `engine rules`.
{END}
"""
_MOST_BYTES = 10_000_000
_FENCED = re.compile(r"\A\s*```(?:markdown|md)?[ \t]*\n(.*)\n```\s*\Z", re.DOTALL)


def with_block(before: str) -> str:
    """The text with the block about the rules behind it, once; its line ends are those of the text."""
    if BEGIN in before:
        return before
    parted = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    return before + (parted + BLOCK).replace("\n", "\r\n" if "\r\n" in before else "\n")


def now(place: Workspace) -> FileRead:
    """AGENTS.md as it is. Raises `EngineError` where it is no text file of the folder, so that it is left alone."""
    found = place.read(NAME, _MOST_BYTES)
    if found.kind not in ("text", "missing") or found.leads_to is not None:
        raise EngineError(f"{NAME} is not a text file of this folder, so it was not changed", 409)
    return found


def drafting_model(db: Database, given: str | None, root: Path) -> str:
    """The model that drafts AGENTS.md: the given one, or the one that a run would get. Raises `NotFound` (404)."""
    from engine.driving.model_choice import choose_model
    from engine.models import LOCAL_NAMES

    name = choose_model(db, None, given, root)
    actual = db.value("select actual from models where alias = ?", (name,)) or name
    if actual in LOCAL_NAMES:
        advice = "store a key with 'engine keys set PROVIDER', or name a model: --model NAME"
        raise NotFound(f"the small local model cannot draft {NAME}; {advice}")
    return name


def draft(db: Database, model: str, root: Path) -> str:
    """The text that a run in the mode ask makes from the code. Raises `EngineError` (409) where the run ends without one."""
    from engine.contract import Options
    from engine.driving import results
    from engine.driving.prompts import prompt
    from engine.terminal.driver import drive_run, quieten_libraries, say_whose_key
    from engine.terminal.interrupt import Interrupt
    from engine.texts import folder_of

    asked = (folder_of("engine.templates") / "agents_md.md").read_text(encoding="utf-8")
    options = Options(
        model=model, root=root, mode="ask", no_web=True, no_interaction=True, no_proposals=True, max_depth=0
    )
    run, loop = prompt(db, asked, None, options)
    quieten_libraries()
    say_whose_key(db, run)
    with Interrupt() as interrupt:
        drive_run(db, run, interrupt, yolo=False, kept=None)
        if interrupt.struck:
            raise typer.Exit(INTERRUPTED)
    result = results.result(db, run, loop)
    if result.status != 200 or not result.answer or not result.answer.strip():
        raise EngineError(f"{NAME}: no draft was made; 'engine show {run}' says why", 409)
    fenced = _FENCED.match(result.answer)
    return (fenced[1] if fenced else result.answer).strip() + "\n"
