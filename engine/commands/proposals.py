"""`engine proposals` and `resolve`: list the open proposals, and decide on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .asking import instruction_lines, option_lines, proposal_lines, proposal_notes, user_name
from .completing import complete_proposal, complete_run
from .driving import drive, say_how_to_resolve
from .printing import one_line, print_json, say, shown_path, visible
from .screen import printed_rows
from .shared import (
    DbOption,
    JsonOption,
    KeyFromOption,
    WaitOption,
    db_flag,
    open_to_read,
    open_to_write,
    run_or_latest,
    stored_path,
    use_keys,
)
from .wrapping import line_width, wrapped

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row


def proposals(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="Only of this run; default: of all.", autocompletion=complete_run),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List the open proposals, which wait for a decision.

    A change is shown as a diff, a command or a question as its text.

    \b
    Examples:
      engine proposals
      engine proposals demo --json
    """
    with open_to_read(db) as database:
        alias = None if run is None else run_or_latest(database, run)
        found = database.rows(
            "select * from open_proposals where :run is null or run in (select run from tree_runs where top = :run) "
            "order by proposal_id",
            {"run": alias},
        )
    if as_json:
        print_json(found)
        return
    for row in found:
        what = f"{row['action']} {one_line(row['target'], 80)}"
        title = f"{row['tree'] or row['run']} turn {row['turn']}, {what}, since {row['since']}"
        lines = [
            visible(shown_path(row["path"])),
            *proposal_lines(row),
            *option_lines(row),
            *instruction_lines([row]),
            *proposal_notes(row),
        ]
        typer.echo(
            "\n".join(
                [
                    *wrapped(title, line_width(), "", "    "),
                    *(part for line in lines for part in printed_rows(line)),
                    "",
                ]
            )
        )
    say(
        "'engine resolve RUN PATH --accept' or '--reject' decides" if found else "nothing waits for a decision",
        dim=True,
    )


def resolve(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run.", autocompletion=complete_run)],
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="The log:// path of the proposal.", autocompletion=complete_proposal),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All open proposals of the run.")] = False,
    accept: Annotated[bool | None, typer.Option("--accept/--reject", help="Yes or no.", show_default=False)] = None,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; the model is told.")] = None,
    answer: Annotated[str | None, typer.Option("--answer", metavar="TEXT", help="The answer to a question.")] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="NAME", help="Who decides; default: your user name.", show_default=False),
    ] = None,
    go_on: Annotated[
        bool, typer.Option("--continue", help="Then go on with the run, or with the one that waits for it.")
    ] = False,
    yolo: Annotated[bool, typer.Option("--yolo", help="With --continue: accept later proposals, too.")] = False,
    key_from: KeyFromOption = None,
    wait: WaitOption = True,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Accept or reject proposals of a run. An accepted one takes effect when the run goes on: --continue or 'engine resume'.

    PATH may be left out where one command has open proposals.

    \b
    Examples:
      engine resolve demo log://turn_2/set/notes.md --accept --continue
      engine resolve demo --all --reject --reason "not before January" --by Ada
      engine resolve demo --answer "use the second account" --continue
    """
    from engine.errors import ValidationError
    from engine.system.locate import database_to_read

    accept = _decision(accept, answer)
    with open_to_write(database_to_read(db, Path.cwd())) as database:
        use_keys(database, key_from)
        alias = run_or_latest(database, run)
        rows = _chosen(database, alias, path, everything)
        if answer is not None and any(row["kind"] != "question" for row in rows):
            raise ValidationError(f"{shown_path(rows[0]['path'])} is no question; use --accept or --reject")
        database.resolve(
            alias,
            None if everything else rows[0]["path"],
            accept=accept,
            body=answer,
            reason=reason,
            by=by or user_name(),
        )
        for row in rows:
            say(f"{'accepted' if accept else 'rejected'}: {row['action']} {one_line(row['target'], 80)}")
        driven = str(database.value("select driven from _runs_to_drive where run = ?", (alias,)))
        if go_on:
            drive(database, driven, None, given=db, yolo=yolo, as_json=as_json, wait=wait)
        if database.proposals(alias):
            say_how_to_resolve(database, alias, db)
        else:
            say(f"'engine resume{db_flag(db)} {driven}' goes on")


def _decision(accept: bool | None, answer: str | None) -> bool:
    if accept is None and answer is None:
        raise typer.BadParameter("say --accept or --reject", param_hint="--accept / --reject")
    if accept is False and answer is not None:
        raise typer.BadParameter("a question that is rejected has no answer; use --reason", param_hint="--answer")
    return accept is not False


def _chosen(db: Database, run: str, path: str | None, everything: bool) -> list[Row]:
    """The open proposals that the arguments name; raises `NotFound` (404), or `ValidationError` (400) for several paths."""
    from engine.errors import NotFound, ValidationError

    rows = db.rows(
        "select * from open_proposals where run in (select run from tree_runs where top = :run) "
        "and (:path is null or path = :path) order by proposal_id",
        {"run": run, "path": None if everything else stored_path(path)},
    )
    if not rows:
        where = f"{path}: nothing is proposed there" if path else f"run {run!r}: nothing waits for a decision"
        raise NotFound(f"{where}; see 'engine proposals'")
    if path is None and not everything and len({(row["run"], row["path"]) for row in rows}) > 1:
        listed = ", ".join(shown_path(row["path"]) for row in rows)
        raise ValidationError(f"run {run!r} waits for several decisions; name one of {listed}, or use --all")
    return rows
