"""`engine init`: rules for a folder, and on demand its AGENTS.md.

spec: @init
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.completion import complete_model
from engine.cli.databases import database_or_fresh, open_to_write
from engine.cli.environment import with_environment
from engine.cli.options import DbOption, JsonOption
from engine.terminal.hints import db_flag
from engine.terminal.printing import print_json, say, visible
from engine.terminal.questions import at_terminal, end_unless_yes, says_yes
from engine.terminal.rules import say_imported

from . import agents_md as agents

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.project.workspace import FileRead, Workspace
    from engine.rules.folders import Found

_OTHERS = ("CLAUDE.md", "GEMINI.md", ".cursorrules", ".windsurfrules", ".clinerules", ".github/copilot-instructions.md")
"""Files with instructions that other agents read."""


def init(
    everywhere: Annotated[
        bool,
        typer.Option(
            "--global/--local", help="Create the rules for all folders of this database, or only for this folder."
        ),
    ] = False,
    agents_md: Annotated[bool, typer.Option("--agents-md", help="Add a block about the rules to AGENTS.md.")] = False,
    draft: Annotated[bool, typer.Option("--draft", help="Let the model read the code and draft AGENTS.md.")] = False,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="The model that drafts AGENTS.md.", autocompletion=complete_model),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write everything without asking.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Create or import this folder's rules. On a terminal, init lists what it will write, and asks first.

    The rules are imported from .opencarly or .carl in this folder or the nearest folder above it. If neither exists,
    init creates the engine's standard rules. --global always creates the standard rules. Existing rules are not
    changed.

    --agents-md adds a block about the rules to AGENTS.md. --draft lets your model read the code and draft AGENTS.md;
    init shows the draft and asks again. Without these options AGENTS.md is not written.

    Without a terminal, init writes only the rules, which are stored in the database. Add --yes to write AGENTS.md,
    too. If the folder has instructions for another agent, such as CLAUDE.md, init offers to use them.

    \b
    Examples:
      engine init
      engine init --global --yes
      engine init --draft --model openai/gpt-5
    """
    from engine.models.availability import absolute_model
    from engine.project.workspace import Workspace

    place = Workspace(Path.cwd(), db)
    asks = at_terminal() and not yes and not as_json
    writes_file = agents_md or draft
    _check(everywhere, writes_file, model, draft, may_write=asks or yes)
    found = _found(place, everywhere)
    with database_or_fresh(db, quietly=True) as looked, with_environment(looked) as known:
        setting = None if everywhere else _instructions(looked, place)
        chosen = agents.drafting_model(known, model and absolute_model(model), place.root) if draft else None
        drafter = None if everywhere or writes_file else _drafter(known, place)
    plan = _plan(place, found, everywhere, agents_md, chosen, setting if asks or yes else None)
    if asks:
        say("\n".join(["init will write:", *(f"  {line}" for line in plan)]))
        end_unless_yes("Write it?")
    told = _write(db, place, found, everywhere, setting if asks or yes else None)
    if writes_file:
        told["agents_md"] = _write_agents_md(db, place, chosen, with_block=agents_md, asks=asks)
    if as_json:
        print_json(told)
        return
    if setting and not (asks or yes):
        say(f"{setting[0]} is not used as instructions; to use it: engine config instruction_files={setting[1]}")
    if drafter:
        say(f"'engine init --draft' lets {visible(drafter)} draft {agents.NAME} from the code")
    say(f"'engine rules{db_flag(db)}' lists the rules; 'engine rules explain{db_flag(db)} PROMPT' what a prompt loads")


def _check(everywhere: bool, writes_file: bool, model: str | None, draft: bool, *, may_write: bool) -> None:
    """Raise `ValidationError` (400) for options that exclude each other, and for a file that nobody agreed to."""
    from engine.errors import ValidationError

    if everywhere and writes_file:
        raise ValidationError(f"{agents.NAME} is for one folder; leave out --global")
    if model is not None and not draft:
        raise ValidationError("--model works only with --draft")
    if writes_file and not may_write:
        raise ValidationError(
            f"{agents.NAME} is your file, and engine cannot ask you without a terminal; add --yes to write it"
        )


def _found(place: Workspace, everywhere: bool) -> Found:
    from engine.rules import sources

    folder = None if everywhere else sources.nearest(place.root)
    return sources.shipped() if folder is None else sources.read(folder, place.root)


def _plan(
    place: Workspace,
    found: Found,
    everywhere: bool,
    block: bool,
    drafter: str | None,
    setting: tuple[str, str] | None,
) -> list[str]:
    """What will be written, a line each."""
    from engine.functions.counts import counted

    whose = "all folders that use this database" if everywhere else f"this folder, {visible(str(place.root))}"
    numbers = {
        "domain": len(found.domains),
        "star-command": len(found.star_commands),
        "bracket": len(found.brackets),
    }
    what = ", ".join(str(counted(number, word)) for word, number in numbers.items())
    lines = [f"rules for {whose}: {what}, from {visible(found.source)} (rules that are there stay)"]
    if setting:
        lines.append(f"setting instruction_files: models will read {setting[0]}")
    if drafter:
        lines.append(f"{agents.NAME}: {visible(drafter)} drafts it from the code; you see it first")
    if block:
        lines.append(f"{agents.NAME}: a block of {len(agents.BLOCK.splitlines())} lines about the rules")
    return lines


def _write(
    db: Path | None, place: Workspace, found: Found, everywhere: bool, setting: tuple[str, str] | None
) -> dict[str, Any]:
    """Write the rules and the setting, and say so."""
    from engine.rules import imports

    with open_to_write(db) as database:
        report = imports.add(database, None if everywhere else str(place.root), found)
        if setting:
            database.execute("update settings set value = ? where name = 'instruction_files'", (setting[1],))
    say_imported(report, found.source)
    if setting:
        say(f"{setting[0]} is now used as instructions (setting instruction_files)")
    return {"source": found.source, **vars(report), "agents_md": None}


def _instructions(db: Database, place: Workspace) -> tuple[str, str] | None:
    """The file with instructions that only other agents read, and the setting that takes it; None without such a file."""
    value = db.value("select value from settings where name = 'instruction_files'")
    named = str(value or "").replace(" ", "").split(",")
    found = [name for name in _OTHERS if _has(place, name)]
    if not found or _has(place, agents.NAME) or set(found) & set(named):
        return None
    return found[0], ",".join([found[0], *filter(None, named)])


def _drafter(db: Database, place: Workspace) -> str | None:
    """The model that could draft an AGENTS.md that is not there; None without one."""
    from engine.errors import EngineError

    if not _has(place, agents.NAME):
        with suppress(EngineError):
            return agents.drafting_model(db, None, place.root)
    return None


def _has(place: Workspace, name: str) -> bool:
    """Whether the folder has a file of this name that may be read."""
    from engine.errors import EngineError

    with suppress(EngineError):
        return place.stat(name) is not None
    return False


def _write_agents_md(
    db: Path | None, place: Workspace, drafter: str | None, *, with_block: bool, asks: bool
) -> str | None:
    """Write AGENTS.md as it was asked for, and say what became of it."""
    from engine.errors import EngineError

    try:
        before = agents.now(place)
        text = before.text or ""
        if drafter:
            with open_to_write(db) as database:
                text = agents.draft(database, drafter, place.root)
        if with_block:
            text = agents.with_block(text)
        said = _written(place, before, text, asks=asks and drafter is not None)
    except EngineError as error:
        raise EngineError(f"{error.message}; the rules were written", error.status) from error
    say(said)
    return said


def _written(place: Workspace, before: FileRead, text: str, *, asks: bool) -> str:
    """Show what changes where a person is asked, and write it."""
    from engine.terminal.diffs import difference, print_difference

    if text == (before.text or ""):
        return f"{agents.NAME}: nothing to change"
    if asks:
        old = agents.NAME if before.kind == "text" else "/dev/null"
        print_difference(difference(before.text or "", text, old, agents.NAME))
        sys.stdout.flush()
        if not says_yes(f"Write this to {agents.NAME}?"):
            return f"{agents.NAME}: not written"
    place.write(agents.NAME, text, before=before.sha256)
    return f"{agents.NAME}: written, {len(text.splitlines())} lines"
