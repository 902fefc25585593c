"""`engine serve`: its commands are in `serve` and `rpc`."""

from __future__ import annotations

import typer


def serve(context: typer.Context) -> None:
    """Serve runs to editors and other programs.

    \b
    Examples:
      engine serve acp
      engine serve rpc --port 0
      engine serve adapter ./my_adapter.py
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
