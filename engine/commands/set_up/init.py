"""`engine init`: rules for a folder."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.databases import open_to_write
from engine.cli.options import DbOption, JsonOption
from engine.terminal.hints import db_flag
from engine.terminal.printing import print_json, say, visible
from engine.terminal.questions import asked_once, at_terminal, says_yes
from engine.terminal.rules import say_imported

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.project.workspace import Workspace

BEGIN, END = "<!-- engine rules -->", "<!-- /engine rules -->"
BLOCK = f"""{BEGIN}
## Rules

`engine` loads rules by what a prompt says: `engine rules list` shows them, `engine rules explain 'PROMPT'` says which
ones a prompt loads, and why. A `*name` in a prompt loads a star-command, such as `*brief` or `*plan`. People change them
with `engine rules`.
{END}
"""
_AGENTS = "AGENTS.md"
_OTHERS = ("CLAUDE.md", "GEMINI.md", ".cursorrules", ".windsurfrules", ".clinerules", ".github/copilot-instructions.md")
"""Files with instructions that other agents read."""


def init(
    everywhere: Annotated[
        bool | None,
        typer.Option("--global/--local", help="For all folders that use this database, or for this folder."),
    ] = None,
    skip_agents_md: Annotated[bool, typer.Option("--skip-agents-md", help="Leave AGENTS.md alone.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Create or import this folder's rules.

    They come from the folder .opencarly or .carl here or in the nearest folder above, else from the engine. --global takes
    the engine's rules. Existing files stay as they are. At a terminal, init asks which one you mean and whether it may
    add a block about the rules to AGENTS.md. Without a terminal it is --local, and the block is added once. If there is no
    AGENTS.md, it offers to read the instructions for another agent, such as CLAUDE.md.

    \b
    Examples:
      engine init
      engine init --global
      engine init --local --skip-agents-md
    """
    from engine.project.workspace import Workspace
    from engine.rules import imports, sources

    place = Workspace(Path.cwd(), db)
    if everywhere is None:
        everywhere = not as_json and _means_all_folders(place.root)
    folder = None if everywhere else sources.nearest(place.root)
    found = sources.shipped() if folder is None else sources.read(folder, place.root)
    with open_to_write(db) as database:
        report = imports.add(database, None if everywhere else str(place.root), found)
        instructions = None if everywhere or as_json else _offer_instructions(database, place)
    block = None if everywhere or skip_agents_md or not (as_json or _may_write(place)) else _write_block(place)
    if as_json:
        print_json({"source": found.source, **vars(report), "agents_md": block})
        return
    say_imported(report, found.source)
    if block:
        say(f"{_AGENTS}: {block}")
    if instructions:
        say(instructions)
    say(f"'engine rules{db_flag(db)}' shows what holds; 'engine rules explain{db_flag(db)} PROMPT' what a prompt loads")


def _means_all_folders(root: Path) -> bool:
    """Whether the person means all folders; without a terminal to ask at, this one."""
    if not at_terminal():
        return False
    question = f"Rules for this folder, {visible(str(root))}, or for all folders? local/global [local]: "
    return asked_once(sys.stdin, question) in ("g", "global")


def _may_write(place: Workspace) -> bool:
    """Whether a block may be added to AGENTS.md, which a person at a terminal is asked."""
    from engine.errors import EngineError

    if not at_terminal():
        return True
    try:
        now = place.read(_AGENTS, 10_000_000)
    except EngineError:
        return True  # what keeps it from being written is told then
    if BEGIN in (now.text or ""):
        return True
    what = "Add to it" if now.kind == "text" else "Make it with"
    return says_yes(f"{_AGENTS}: {what} a block of {len(BLOCK.splitlines())} lines that tells of the rules?")


def _offer_instructions(db: Database, place: Workspace) -> str | None:
    """Offer to read the instructions of a folder that has them for other agents alone; returns what to say of it."""
    named = (
        str(db.value("select value from settings where name = 'instruction_files'") or "").replace(" ", "").split(",")
    )
    found = [name for name in _OTHERS if _has(place, name)]
    if not found or _has(place, _AGENTS) or set(found) & set(named):
        return None
    setting = ",".join([found[0], *filter(None, named)])
    if not at_terminal():
        return f"{found[0]} is not read; 'engine config instruction_files={setting}' takes it as instructions"
    if not says_yes(f"{found[0]}: Take it as instructions for agents?"):
        return None
    db.execute("update settings set value = ? where name = 'instruction_files'", (setting,))
    return f"{found[0]} is read as instructions now (setting instruction_files)"


def _has(place: Workspace, name: str) -> bool:
    """Whether the folder has a file of this name that may be read."""
    from engine.errors import EngineError

    with suppress(EngineError):
        return place.stat(name) is not None
    return False


def _write_block(place: Workspace) -> str:
    """Write the block into AGENTS.md where it has none; returns what was done. What stands in the file stays."""
    from engine.errors import EngineError

    try:
        now = place.read(_AGENTS, 10_000_000)
        if now.kind not in ("text", "missing") or now.leads_to is not None:
            return "is no text file of this folder and was left alone"
        before = now.text or ""
        if BEGIN in before:
            return "has the block already"
        parted = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        ending = "\r\n" if "\r\n" in before else "\n"
        place.write(_AGENTS, before + (parted + BLOCK).replace("\n", ending), before=now.sha256)
    except EngineError as error:
        return f"was left alone, {error.message}"
    return "has a block about the rules now"
