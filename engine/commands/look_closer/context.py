"""`engine context`: show the context of a run, now or at a turn, and compare two turns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_path, complete_turn
from engine.cli.databases import open_to_read, open_to_write
from engine.cli.options import DbOption, JsonOption
from engine.cli.path_argument import stored_path
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.terminal.diffs import difference, print_difference, print_title
from engine.terminal.printing import print_json, print_table, print_text, say, shown_path

from .context_visibility import ArchivedOption, SummarizedOption, VisibleOption, move

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

PathArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="PATH", help="Only this entry, or the entries that this pattern matches.", autocompletion=complete_path
    ),
]
_WANTED = "(:path is null or path = :path or (path_is_pattern(:path) and pattern_match(:path, path)))"
_NOW = (
    "select category, visibility, state, turn, tokens, path, attributes, body from known_entries "  # noqa: S608 - ours
    f"where run = :run and (visibility <> 'archived' or path = :path) and state <> 'proposed' and {_WANTED} "
    "order by category, turn, path"
)
_THEN = (
    "select category, visibility, state, written as turn, tokens, path, attributes, body from context_at "  # noqa: S608
    f"where run = :run and turn = :turn and {_WANTED} order by category, written, path"
)
_CHANGES = (
    "select change, visibility_before, visibility, state_before, state, outcome_before, outcome, "  # noqa: S608 - ours
    "attributes_before, attributes, path, body_before, body from context_changes "
    f"where run = :run and from_turn = :before and to_turn = :after and {_WANTED} order by change, path"
)
_TOLD = ("visibility", "state", "outcome", "attributes")
"""The columns that a diff of an entry compares besides its text."""


def context(
    run: RunArgument = None,
    path: PathArgument = None,
    at: Annotated[
        int | None,
        typer.Option(
            "--at", metavar="TURN", help="Show the context at this turn; default: now.", autocompletion=complete_turn
        ),
    ] = None,
    compared: Annotated[
        tuple[int, int] | None,
        typer.Option(
            "--diff",
            metavar="N M",
            help="Compare the context at turn N with the context at turn M.",
            show_default=False,
        ),
    ] = None,
    visible: VisibleOption = None,
    summarized: SummarizedOption = None,
    archived: ArchivedOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List the entries in a run's context, now or (--at N) at a turn.

    With a PATH it prints the text of that entry, even if the entry is archived. --visible, --summarized and
    --archived change how the next packet shows the matching entries. --diff lists the entries that differ between two
    turns. With --diff and a PATH it prints the diff of that entry.

    \b
    Examples:
      engine context
      engine context demo --at 2
      engine context demo known://plan --at 2
      engine context demo 'known://**' --json
      engine context demo --diff 2 5
      engine context demo known://plan --diff 2 5
      engine context demo --visible 'src/*.py' --archived 'known://old/**'
    """
    from engine.system.locate import database_to_read

    path = stored_path(path)
    moves = {"visible": visible, "summarized": summarized, "archived": archived}
    changing = any(moves.values())
    if changing and at is not None:
        raise typer.BadParameter(
            "a past context cannot be changed; to continue from it: engine fork RUN --at N", param_hint="--at"
        )
    if compared is not None:
        if changing or at is not None:
            raise typer.BadParameter("--diff only compares two turns; leave out the other options", param_hint="--diff")
        _compare(run, compared, path, as_json, db)
        return
    with open_to_write(database_to_read(db, Path.cwd())) if changing else open_to_read(db) as database:
        alias = run_or_latest(database, run)
        if changing:
            move(database, alias, moves)
        if at is not None:
            _check_sent(database, alias, at)
        rows = database.rows(_NOW if at is None else _THEN, {"run": alias, "turn": at, "path": path})
    when = "" if at is None else f" of turn {at}"
    if path is not None and not rows:
        _fail_for(alias, path, f"is not in the context{when}", "" if at is None else f" --at {at}")
    if as_json:
        print_json(rows)
    elif named := [row for row in rows if row["path"] == path]:
        print_text(named[0]["body"] or "")
    else:
        columns = ("category", "visibility", "state", "turn", "tokens", "path")
        print_table(
            [{**row, "path": shown_path(row["path"])} for row in rows],
            columns,
            f"{alias}: nothing is in context" if at is None else f"{alias}: turn {at} saw nothing",
        )
        if rows:
            say("\nto compare texts, give a PATH or --json; 'engine packet' prints the packet as it was sent", dim=True)


def _compare(run: str | None, turns: tuple[int, int], path: str | None, as_json: bool, db: Path | None) -> None:
    """Print how the contexts of two turns differ."""
    before, after = turns
    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        for turn in turns:
            _check_sent(database, alias, turn)
        rows = database.rows(_CHANGES, {"run": alias, "before": before, "after": after, "path": path})
        if path is not None and not rows and not _was_there(database, alias, turns, path):
            _fail_for(alias, path, f"is not in the context of turn {before} or {after}", f" --at {before}")
    same = f"{alias}: turns {before} and {after} saw {'the same' if path is None else f'{path} the same'}"
    if as_json:
        print_json(rows)
    elif path is None:
        shown = [{**row, "visibility": _move(row), "path": shown_path(row["path"])} for row in rows]
        print_table(shown, ("change", "visibility", "path"), same)
    elif rows:
        for row in rows:
            _print_change(row, before, after)
    else:
        say(same)


def _print_change(row: Row, before: int, after: int) -> None:
    """Print the change of one entry: its columns that differ, then the unified diff of its text."""
    path = shown_path(row["path"])
    print_title(f"diff {path} ({row['change']})")
    if row["change"] in ("changed", "moved"):
        for name in _TOLD:
            if row[f"{name}_before"] != row[name]:
                print_text(f"old {name} {row[f'{name}_before'] or '-'}\nnew {name} {row[name] or '-'}")
    old = "/dev/null" if row["change"] == "appeared" else f"turn {before}, {path}"
    new = "/dev/null" if row["change"] == "disappeared" else f"turn {after}, {path}"
    print_difference(difference(row["body_before"] or "", row["body"] or "", old, new))


def _move(row: Row) -> str:
    """The visibility of an entry before and after, once where it is the same."""
    return " → ".join(dict.fromkeys(filter(None, (row["visibility_before"], row["visibility"]))))


def _check_sent(database: Database, alias: str, turn: int) -> None:
    """Raise `NotFound` (404) for a turn that sent no packet."""
    from engine.errors import NotFound

    if not database.value(
        "select count(*) from past_turns where run = ? and turn = ? and seen_at is not null", (alias, turn)
    ):
        raise NotFound(f"run {alias!r}: no packet was sent for turn {turn}; see 'engine show'")


def _was_there(database: Database, alias: str, turns: tuple[int, int], path: str) -> bool:
    return any(database.rows(_THEN, {"run": alias, "turn": turn, "path": path}) for turn in turns)


def _fail_for(alias: str, path: str, what: str, at: str) -> None:
    from engine.errors import NotFound

    raise NotFound(f"run {alias!r}: {shown_path(path)!r} {what}; 'engine context {alias}{at}' lists the entries")
