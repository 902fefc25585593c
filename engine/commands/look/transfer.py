"""`engine runs export`, `import` and `move`: a run as a file or as messages, and from one database to another.

spec: @run_files @messages
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from engine.cli.databases import open_existing, open_to_read, open_to_write
from engine.cli.options import DbOption, JsonOption
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.functions.counts import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.transfer.conversations import Form
    from engine.trust.known_files import Act

_FORMS = "openai, anthropic or pydantic_ai"
_MOST_ACTS = 20
"""Acts that are shown before a question."""


def export(
    run: RunArgument = None,
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="The file to write; - is stdout. Default: RUN.jsonl.", show_default=False),
    ] = None,
    messages: Annotated[
        str | None,
        typer.Option("--messages", metavar="FORM", help=f"Write the conversation as messages: {_FORMS}."),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Write a run to a text file, to keep it or send it.

    The file contains the run, its child runs and the runs that it was forked from. It also contains the texts that
    these runs have read and written, but no settings, keys or rights. The same run always gives the same file. With
    --messages the file is a JSON array of messages for another library.

    \b
    Examples:
      engine runs export demo
      engine runs export demo backup/demo.jsonl
      engine runs export demo - | sha256sum
      engine runs export demo messages.json --messages openai
    """
    from engine.terminal.printing import print_json, print_text
    from engine.transfer.writing import text_of

    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        if messages:
            _export_messages(alias, database.messages(alias, cast("Form", messages)), file)
            return
        if file == "-":
            typer.echo(text_of(database, alias).decode(), nl=False)
            return
        path = Path(file or f"{alias}.jsonl")
        digest = database.export_run(alias, path)
    if as_json:
        print_json({"run": alias, "file": str(path), "sha256": digest, "bytes": path.stat().st_size})
    else:
        print_text(f"{alias}: exported to {path}, {path.stat().st_size / 1e6:.1f} MB")


def _export_messages(alias: str, found: Sequence[object], file: str | None) -> None:
    """A file that is there is not replaced: it may be anything."""
    from engine.errors import Conflict
    from engine.terminal.printing import print_text

    text = json.dumps(found, ensure_ascii=False, indent=1) + "\n"
    if file == "-":
        typer.echo(text, nl=False)
        return
    path = Path(file or f"{alias}.json")
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise Conflict(f"{path}: already exists; remove it, or choose another file") from None
    print_text(f"{alias}: exported to {path}, {counted(len(found), 'message')}")


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file that 'engine runs export' wrote; - is stdin.")],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The name of the run in this database.", show_default=False),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option("--root", metavar="FOLDER", help="The working folder of the run.", show_default=False),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Import the run even if it would act, for example continue a prompt.")
    ] = False,
    messages: Annotated[
        str | None,
        typer.Option(
            "--messages", metavar="FORM", help=f"FILE is a JSON array of messages for run --name: {_FORMS}, or auto."
        ),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Import a run that was exported, into this folder's database.

    The file is checked first. If it is damaged or was made by hand, nothing is imported. Without --root the run has
    no folder, so it cannot change files. If another run has the same name, -2 is added to the name. With --messages,
    FILE contains messages of another library; they are added to the run --name, or to a new run of that name.

    \b
    Examples:
      engine runs import demo.jsonl
      engine runs import demo.jsonl --name demo-of-ada --root .
      engine runs import messages.json --messages auto --name demo
    """
    from engine.terminal.printing import print_json, print_text
    from engine.terminal.questions import at_terminal, end_unless_yes
    from engine.transfer.importing import ForeignRun

    if messages:
        _import_messages(file, name, root, messages, as_json=as_json, db=db)
        return
    with open_to_write(db) as database:
        try:
            alias = database.import_run(file, name=name, root=root, trust=trust)
        except ForeignRun as error:
            if not at_terminal():
                raise
            _show(file, error.acts)
            end_unless_yes("Import it?")
            alias = database.import_run(file, name=name, root=root, trust=True)
    if as_json:
        print_json({"run": alias, "file": str(file)})
    else:
        print_text(alias)


def _import_messages(
    file: Path, name: str | None, root: Path | None, form: str, *, as_json: bool, db: Path | None
) -> None:
    from engine.errors import NotFound
    from engine.terminal.printing import print_json, print_text

    if name is None:
        raise typer.BadParameter("give the run for the messages with --name RUN", param_hint="--name")
    try:
        given = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise NotFound(f"{file}: cannot be read ({error.strerror})") from error
    with open_to_write(db) as database:
        count = database.import_messages(name, given, form=None if form == "auto" else cast("Form", form), root=root)
    if as_json:
        print_json({"run": name, "prompts": count})
    else:
        print_text(f"{name}: {counted(count, 'prompt')} imported")


def _show(file: Path, acts: Sequence[Act]) -> None:
    from engine.terminal.printing import say, visible
    from engine.trust.known_files import told

    say(f"{visible(str(file))}:", "yellow")
    for act in acts[:_MOST_ACTS]:
        say(f"  {visible(told(act))}")
    if len(acts) > _MOST_ACTS:
        say(f"  … {len(acts) - _MOST_ACTS} more", "yellow")


def move(
    run: RunArgument = None,
    *,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The other database; it is created if it does not exist.")
    ],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The name of the run in the other database.", show_default=False),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root", metavar="FOLDER", help="The working folder of the run in the other database.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Move a run and its child runs to another database.

    The run is first stored in the other database, then removed from this one. If the move is interrupted, run the
    command again. Without --root the moved run has no folder, so it cannot change files. If the run is a fork, the
    runs that it was forked from are copied.

    \b
    Examples:
      engine runs move demo archive.db
      engine runs move demo ~/work/.engine/engine.db --root ~/work
    """
    from engine.terminal.printing import print_json, print_text

    with open_existing(db) as database, open_to_write(file) as target:
        alias = run_or_latest(database, run)
        moved = database.move_run(alias, target, name=name, root=root)
    if as_json:
        print_json({"run": alias, "moved_to": str(file), "name": moved})
    else:
        print_text(f"{alias}: moved to {file}" + ("" if moved == alias else f" as {moved}"))
