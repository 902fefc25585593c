"""`engine entry`: what a run knows; its commands are in `get` and `verbs`."""

from __future__ import annotations

import typer


def entry(context: typer.Context) -> None:
    """Read and change the entries of a run: its notes, files and results.

    \b
    Examples:
      engine entry get demo known://plan
      engine entry set demo known://plan "First the tests, then the code."
      engine entry rm demo 'known://draft_*'
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
