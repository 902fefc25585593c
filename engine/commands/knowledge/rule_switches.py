"""`engine rules enable` and `disable`: which domains are active, in a folder or in one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.completion import complete_domain, complete_run
from engine.cli.databases import open_existing
from engine.cli.options import DbOption
from engine.terminal.printing import say, visible

from .rule_settings import root

RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="Change it only for this run.", autocompletion=complete_run),
]


def enable(
    domains: Annotated[list[str], typer.Argument(metavar="DOMAIN...", autocompletion=complete_domain)],
    run: RunOption = None,
    inherit: Annotated[bool, typer.Option("--inherit", help="With --run: use the value of the folder again.")] = False,
    db: DbOption = None,
) -> None:
    """Switch domains on, in this folder or in one run.

    \b
    Examples:
      engine rules enable security
      engine rules enable security --run demo
      engine rules enable security --run demo --inherit
    """
    _switch(domains, run, db, is_on=None if inherit else True)


def disable(
    domains: Annotated[list[str], typer.Argument(metavar="DOMAIN...", autocompletion=complete_domain)],
    run: RunOption = None,
    db: DbOption = None,
) -> None:
    """Switch domains off, in this folder or in one run. The model then does not see their rules or names.

    \b
    Examples:
      engine rules disable security
      engine rules disable security --run demo
    """
    _switch(domains, run, db, is_on=False)


def _switch(domains: list[str], run: str | None, db: Path | None, *, is_on: bool | None) -> None:
    from engine.rules import store

    if is_on is None and run is None:
        raise typer.BadParameter("works only for a run; add --run RUN", param_hint="--inherit")
    with open_existing(db) as database, database.transaction():
        for name in domains:
            row = store.domain_of(database, root(), name)
            if run is not None:
                store.override(database, run, "domain", row["domain"], is_on)
            else:
                database.execute("update rule_domains set is_active = ? where id = ?", (is_on, row["domain_id"]))
    how = "as in the folder" if is_on is None else "active" if is_on else "inactive"
    say(f"{', '.join(domains)}: {how}{f' in run {visible(run)}' if run else ''}")
