"""`engine packet` and `context`: what the model was sent, to the byte and entry by entry."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING, Annotated

import typer

from .printing import print_json, print_table, print_text, say
from .shared import DbOption, JsonOption, RunArgument, open_to_read, run_or_latest

if TYPE_CHECKING:
    from engine.api import Database
    from engine.database import Row


def packet(
    run: RunArgument = None,
    turn: Annotated[int | None, typer.Argument(metavar="TURN", help="The turn; default: the latest.")] = None,
    turn_option: Annotated[
        int | None, typer.Option("--turn", metavar="N", help="The turn, where RUN is left out.")
    ] = None,
    role: Annotated[
        str | None, typer.Option("--role", metavar="ROLE", help="Only this message, system or user, and nothing added.")
    ] = None,
    diff: Annotated[
        int | None, typer.Option("--diff", metavar="M", help="Only what differs from the packet of turn M.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check that what is kept is what was sent, of all turns or of TURN.")
    ] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Print the packet of a turn as it was sent, message by message.

    \b
    Examples:
      engine packet
      engine packet demo 3
      engine packet demo 3 --role user | less
      engine packet demo 5 --diff 3
      engine packet demo --verify
    """
    wanted = turn if turn is not None else turn_option
    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        if verify:
            _verify(database, alias, wanted, role, as_json=as_json)
            return
        rows = _messages(database, alias, wanted, role or ("user" if diff is not None else None))
        if diff is not None:
            _print_difference(_messages(database, alias, diff, role or "user")[0], rows[0], as_json=as_json)
            return
    if as_json:
        print_json(rows)
        return
    for row in rows:
        if role is None:
            print_text(
                f"==== turn {row['turn']}, {row['role']}, {len(row['text']):,} characters, sha256 {row['sha256']}"
            )
        print_text(row["text"])


def _messages(database: Database, alias: str, turn: int | None, role: str | None) -> list[Row]:
    """The messages of a turn's packet, the latest where it is None; raises `NotFound` (404) where none was sent."""
    from engine.errors import NotFound

    rows = database.rows(
        "select turn, role, sha256, text from packet_texts where run = :run and turn = coalesce(:turn, "
        "(select max(turn) from packet_texts where run = :run)) and (:role is null or role = :role) order by ordinal",
        {"run": alias, "turn": turn, "role": role},
    )
    if not rows:
        which = "turn" if turn is None else f"turn {turn}"
        raise NotFound(
            f"run {alias!r}: no packet was sent for {which}{f' as {role}' if role else ''}; see 'engine show'"
        )
    return rows


def _print_difference(before: Row, after: Row, *, as_json: bool) -> None:
    """Print a unified diff of two messages, or on stderr that they are the same."""
    old, new = (f"turn {row['turn']}, {row['role']}" for row in (before, after))
    lines = list(unified_diff(before["text"].splitlines(), after["text"].splitlines(), old, new, lineterm=""))
    if as_json:
        print_json({"from": before["turn"], "to": after["turn"], "role": after["role"], "diff": "\n".join(lines)})
    elif lines:
        print_text("\n".join(lines))
    else:
        say(f"{old} and {new} are the same")


def _verify(database: Database, alias: str, turn: int | None, role: str | None, *, as_json: bool) -> None:
    """Compare what is kept of packets with the hashes of what was sent; raises `EngineError` (500) where they differ."""
    from engine.errors import EngineError
    from engine.kept import digest

    rows = database.rows(
        "select turn, role, sha256, text from packet_texts "
        "where run = :run and turn = coalesce(:turn, turn) and role = coalesce(:role, role) order by turn, ordinal",
        {"run": alias, "turn": turn, "role": role},
    )
    bad = [row for row in rows if digest(row["text"] or "").hex() != row["sha256"]]
    if as_json:
        print_json({"run": alias, "messages": len(rows), "differ": [f"{row['role']}://{row['turn']}" for row in bad]})
    if bad:
        first = f"the {bad[0]['role']} message of turn {bad[0]['turn']}"
        raise EngineError(
            f"run {alias!r}: {len(bad)} of {len(rows)} messages are not what was sent, first {first}", 500
        )
    if not as_json:
        say(f"{alias}: {len(rows)} messages are what was sent, byte for byte")


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


def diff(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run.")],
    before: Annotated[int, typer.Argument(metavar="N", help="The turn to compare.")],
    after: Annotated[int, typer.Argument(metavar="M", help="The turn to compare it with.")],
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List what differs between what two turns saw.

    That is the entries that appeared, disappeared, changed, or moved in visibility. JSON has the bodies.

    \b
    Examples:
      engine diff demo 2 5
      engine diff demo 2 5 --json
    """
    from engine.errors import NotFound

    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        sent = {row["turn"] for row in database.rows("select turn from packet_texts where run = ?", (alias,))}
        for turn in (before, after):
            if turn not in sent:
                raise NotFound(f"run {alias!r}: no packet was sent for turn {turn}; see 'engine show'")
        rows = database.rows(
            "select change, visibility_before, visibility, path, body_before, body from context_changes "
            "where run = ? and from_turn = ? and to_turn = ? order by change, path",
            (alias, before, after),
        )
    if as_json:
        print_json(rows)
        return
    shown = [
        {**row, "visibility": " → ".join(dict.fromkeys(filter(None, (row["visibility_before"], row["visibility"]))))}
        for row in rows
    ]
    print_table(shown, ["change", "visibility", "path"], f"{alias}: turns {before} and {after} saw the same")
