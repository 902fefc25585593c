"""`engine packet` and `context`: what the model was sent, to the byte and entry by entry."""

from __future__ import annotations

from typing import Annotated

import typer

from .printing import print_json, print_table, print_text, say
from .shared import DbOption, JsonOption, RunArgument, open_to_read, run_or_latest


def packet(
    run: RunArgument = None,
    turn: Annotated[int | None, typer.Argument(metavar="TURN", help="The turn; default: the latest.")] = None,
    turn_option: Annotated[
        int | None, typer.Option("--turn", metavar="N", help="The turn, where RUN is left out.")
    ] = None,
    role: Annotated[
        str | None, typer.Option("--role", metavar="ROLE", help="Only this message, system or user, and nothing added.")
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Print the packet of a turn as it was sent, message by message.

    \b
    Examples:
      engine packet
      engine packet demo 3
      engine packet demo 3 --role user | less
    """
    from engine.errors import NotFound

    wanted = turn if turn is not None else turn_option
    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        rows = database.rows(
            "select turn, role, sha256, text from packet_texts where run = :run and turn = coalesce(:turn, "
            "(select max(turn) from packet_texts where run = :run)) and (:role is null or role = :role) order by ordinal",
            {"run": alias, "turn": wanted, "role": role},
        )
    if not rows:
        which = "turn" if wanted is None else f"turn {wanted}"
        raise NotFound(
            f"run {alias!r}: no packet was sent for {which}{f' as {role}' if role else ''}; see 'engine show'"
        )
    if as_json:
        print_json(rows)
        return
    for row in rows:
        if role is None:
            print_text(
                f"==== turn {row['turn']}, {row['role']}, {len(row['text']):,} characters, sha256 {row['sha256']}"
            )
        print_text(row["text"])


def context(
    run: RunArgument = None,
    at: Annotated[int | None, typer.Option("--at", metavar="TURN", help="As turn TURN saw it; default: now.")] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List what is in a run's context, or was when a turn was sent. JSON has the bodies.

    \b
    Examples:
      engine context
      engine context demo --at 2 --json
    """
    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        if at is None:
            rows = database.rows(
                "select category, visibility, state, turn, tokens, path, body from known_entries "
                "where run = ? and visibility <> 'archived' and state <> 'proposed' order by category, turn, path",
                (alias,),
            )
        else:
            rows = database.rows(
                "select visibility, state, written as turn, path, body from context_at "
                "where run = ? and turn = ? order by written, path",
                (alias, at),
            )
    if as_json:
        print_json(rows)
        return
    columns = [name for name in (rows[0] if rows else ()) if name != "body"]
    print_table(rows, columns, f"{alias}: nothing is in context" if at is None else f"{alias}: turn {at} was not sent")
    if rows:
        say("\nbodies: --json, or 'engine packet' for the text as it was sent", dim=True)
