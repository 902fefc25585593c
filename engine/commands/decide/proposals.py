"""`engine proposals`, `accept` and `reject`: list the open proposals, and decide on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from engine.cli.completion import complete_proposal, complete_run
from engine.cli.databases import open_to_read, open_to_write, use_keys
from engine.cli.options import DbOption, JsonOption, KeyFromOption, WaitOption
from engine.cli.path_argument import stored_path
from engine.cli.run_argument import run_or_latest
from engine.display.proposals import proposal_notes
from engine.system.user import user_name
from engine.terminal.driver import drive
from engine.terminal.hints import db_flag
from engine.terminal.next_commands import say_how_to_resolve
from engine.terminal.printing import one_line, print_json, say, shown_path, visible
from engine.terminal.proposals import instruction_lines, option_lines, proposal_lines
from engine.terminal.screen import printed_rows
from engine.terminal.wrapping import line_width, wrapped

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row


def proposals(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="Only this run; default: all.", autocompletion=complete_run),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List the proposals that wait for your decision.

    A file change is shown as a diff, a command or a question as text.

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
        title = f"{row['tree'] or row['run']} turn {row['turn']}, {what}, since {row['created_at']}"
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
        "decide with 'engine accept RUN PATH' or 'engine reject RUN PATH'" if found else "nothing waits for a decision",
        dim=True,
    )


RunArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN", help="The run; default: the latest run that waits for a decision.", autocompletion=complete_run
    ),
]
PathArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="PATH",
        help="The log:// path of the proposal. You need it only if the run has several open proposals.",
        autocompletion=complete_proposal,
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="Decide all open proposals of the run.")]
ByOption = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="NAME", help="The name of the person who decides; default: your user name.", show_default=False
    ),
]
ReasonOption = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="The reason; the model reads it.")]
ContinueOption = Annotated[
    bool,
    typer.Option("--continue", help="Continue the run afterwards. If the run is a child run, its parent is continued."),
]
YoloOption = Annotated[bool, typer.Option("--yolo", help="With --continue: accept all later proposals.")]


def accept(
    run: RunArgument = None,
    path: PathArgument = None,
    everything: AllOption = False,
    answer: Annotated[str | None, typer.Option("--answer", metavar="TEXT", help="The answer to a question.")] = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    go_on: ContinueOption = False,
    yolo: YoloOption = False,
    key_from: KeyFromOption = None,
    wait: WaitOption = True,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Accept proposals of a run, or answer its question.

    The run carries out an accepted proposal when it continues: at once with --continue, or later with 'engine resume'.

    \b
    Examples:
      engine accept
      engine accept demo log://turn_2/set/notes.md --continue
      engine accept demo --answer "use the second account" --continue
    """
    with _to_decide(db, key_from) as database:
        alias, rows = _chosen(database, run, path, everything)
        _check_question(rows, answer)
        _decide(database, alias, rows, everything, Decision(True, answer, reason, by))
        _go_on(database, alias, db, go_on=go_on, yolo=yolo, wait=wait, as_json=as_json)


def reject(
    run: RunArgument = None,
    path: PathArgument = None,
    everything: AllOption = False,
    reason: ReasonOption = None,
    by: ByOption = None,
    go_on: ContinueOption = False,
    yolo: YoloOption = False,
    key_from: KeyFromOption = None,
    wait: WaitOption = True,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Reject proposals of a run. If you give a reason, the model reads it when the run continues, and tries again.
    Without a reason, the prompt ends.

    \b
    Examples:
      engine reject
      engine reject demo --all --reason "not before January" --by Ada
      engine reject demo log://turn_2/set/notes.md --reason "keep the old rent" --continue
    """
    with _to_decide(db, key_from) as database:
        alias, rows = _chosen(database, run, path, everything)
        _decide(database, alias, rows, everything, Decision(False, None, reason, by))
        _go_on(database, alias, db, go_on=go_on, yolo=yolo, wait=wait, as_json=as_json)


class Decision(NamedTuple):
    """What somebody decides: whether it is accepted, the answer to a question, the reason, and who says so."""

    accept: bool
    answer: str | None
    reason: str | None
    by: str | None


def _to_decide(db: Path | None, key_from: list[str] | None) -> Database:
    from engine.system.locate import database_to_read

    database = open_to_write(database_to_read(db, Path.cwd()))
    use_keys(database, key_from)
    return database


def _check_question(rows: list[Row], answer: str | None) -> None:
    from engine.errors import ValidationError

    if answer is not None and any(row["kind"] != "question" for row in rows):
        raise ValidationError(f"{shown_path(rows[0]['path'])} is not a question; leave out --answer")


def _decide(db: Database, run: str, rows: list[Row], everything: bool, decision: Decision) -> None:
    db.resolve(
        run,
        None if everything else rows[0]["path"],
        accept=decision.accept,
        body=decision.answer,
        reason=decision.reason,
        by=decision.by or user_name(),
    )
    for row in rows:
        say(f"{'accepted' if decision.accept else 'rejected'}: {row['action']} {one_line(row['target'], 80)}")


def _go_on(db: Database, run: str, given: Path | None, *, go_on: bool, yolo: bool, wait: bool, as_json: bool) -> None:
    driven = str(db.value("select driven from _runs_to_drive where run = ?", (run,)))
    if go_on:
        drive(db, driven, None, given=given, yolo=yolo, as_json=as_json, wait=wait)
    if db.proposals(run):
        say_how_to_resolve(db, run, given)
    else:
        say(f"to continue: engine resume{db_flag(given)} {driven}")


_WAITING = """
    select d.driven
    from open_proposals as p
    join _runs_to_drive as d on d.run = p.run
    order by p.proposal_id desc
    limit 1
"""
"""The run that waits for the latest proposal: of a child its parent."""


def _chosen(db: Database, run: str | None, path: str | None, everything: bool) -> tuple[str, list[Row]]:
    """The run and the open proposals that the arguments name.

    Raises `NotFound` (404) for none, and `ValidationError` (400) for several paths.
    """
    from engine.errors import NotFound, ValidationError

    alias = run_or_latest(db, run if run is not None else db.value(_WAITING))
    rows = db.rows(
        "select * from open_proposals where run in (select run from tree_runs where top = :run) "
        "and (:path is null or path = :path) order by proposal_id",
        {"run": alias, "path": None if everything else stored_path(path)},
    )
    if not rows:
        where = f"{path}: nothing is proposed there" if path else f"run {alias!r}: nothing waits for a decision"
        raise NotFound(f"{where}; see 'engine proposals'")
    if path is None and not everything and len({(row["run"], row["path"]) for row in rows}) > 1:
        listed = ", ".join(shown_path(row["path"]) for row in rows)
        raise ValidationError(f"run {alias!r} waits for several decisions; name one of {listed}, or use --all")
    return alias, rows
