"""`engine packet`: prints, compares and verifies the packets that a run sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_turn
from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.terminal.diffs import difference, print_difference
from engine.terminal.printing import print_json, print_text, say

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row
    from engine.errors import EngineError

_SENT = (
    "select k.turn, k.role, k.sha256, k.body from past_turns as p join packet_texts as k on k.run = p.source "
    "and k.turn = p.turn where p.run = :run and k.role = coalesce(:role, k.role)"
)
"""The messages that a run sent or inherited from the run that it was forked from, all or those of one role."""


def packet(
    run: RunArgument = None,
    turn: Annotated[
        int | None, typer.Argument(metavar="TURN", help="The turn; default: the latest.", autocompletion=complete_turn)
    ] = None,
    role: Annotated[
        str | None, typer.Option("--role", metavar="ROLE", help="Print only this message: system or user.")
    ] = None,
    diff: Annotated[
        int | None,
        typer.Option(
            "--diff",
            metavar="M",
            help="Print only the unified diff between the packets of turn M and this turn.",
            autocompletion=complete_turn,
        ),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Print exactly what the model was sent in a turn.

    To check that stored packets were not changed, use 'engine verify'.

    \b
    Examples:
      engine packet
      engine packet demo 3
      engine packet demo 3 --role user | less
      engine packet demo 5 --diff 3
    """
    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        rows = _messages(database, alias, turn, role or ("user" if diff is not None else None))
        if diff is not None:
            _print_difference(_messages(database, alias, diff, role or "user")[0], rows[0], as_json=as_json)
            return
    if as_json:
        print_json(rows)
        return
    for row in rows:
        if role is None:
            print_text(
                f"==== turn {row['turn']}, {row['role']}, {len(row['body']):,} characters, sha256 {row['sha256']}"
            )
        print_text(row["body"])


def _messages(database: Database, alias: str, turn: int | None, role: str | None) -> list[Row]:
    """The messages of a turn's packet, by default the latest; raises `NotFound` (404) where none was sent."""
    rows = database.rows(
        f"{_SENT} and p.turn = coalesce(:turn, "  # noqa: S608 - ours
        "(select max(o.turn) from past_turns as o join packets as s on s.turn_id = o.turn_id where o.run = :run)) "
        "order by k.ordinal",
        {"run": alias, "turn": turn, "role": role},
    )
    if not rows:
        raise _not_sent(alias, turn, role)
    return rows


def _not_sent(alias: str, turn: int | None, role: str | None) -> EngineError:
    from engine.errors import NotFound

    which = "" if turn is None else f" for turn {turn}"
    return NotFound(f"run {alias!r}: no packet was sent{which}{f' as {role}' if role else ''}; see 'engine show'")


def _print_difference(before: Row, after: Row, *, as_json: bool) -> None:
    """Print the unified diff of two messages; on stderr, where they are the same."""
    old, new = (f"turn {row['turn']}, {row['role']}" for row in (before, after))
    lines = difference(before["body"], after["body"], old, new)
    if as_json:
        print_json({"from": before["turn"], "to": after["turn"], "role": after["role"], "diff": "\n".join(lines)})
    elif lines:
        print_difference(lines)
    else:
        say(f"{old} and {new} are the same")
