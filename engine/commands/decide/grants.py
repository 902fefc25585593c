"""`engine allow grants`: what was allowed beforehand, and its revocation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.databases import open_to_read, open_to_write
from engine.cli.options import DbOption, JsonOption
from engine.terminal.printing import one_line, print_json, print_table, say


def grants(
    revoke: Annotated[
        int | None,
        typer.Option("--revoke", metavar="NUMBER", help="Revoke the grant with this number.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List or revoke your grants, the permissions for later proposals.

    You give a grant when a run asks for your decision on the terminal. The answer 'a' accepts proposals of the same
    kind until the run ends. The answer 'p' always accepts the same command, or changes in the same folder, in this
    project.

    \b
    Examples:
      engine allow grants
      engine allow grants --revoke 3
    """
    from engine.effects.gate import revoke_grant
    from engine.system.locate import database_to_read

    if revoke is not None:
        with open_to_write(database_to_read(db, Path.cwd())) as database:
            gone = revoke_grant(database, revoke)
        say(f"revoked: grant {revoke}, {gone['kind']} {one_line(gone['target'] or 'of any target', 80)}")
        return
    with open_to_read(db) as database:
        rows = database.rows("select * from granted")
    if as_json:
        print_json(rows)
        return
    for row in rows:
        row["target"] = "any" if row["target"] is None else row["target"]
    columns = ("grant_id", "run", "folder", "kind", "granted_by", "created_at", "target")
    print_table(rows, columns, "no grants")
