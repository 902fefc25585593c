"""`engine allow`: what runs may do without asking, and what never; its commands are in `policy`, `grants` and
`threads`.
"""

from __future__ import annotations

import typer


def allow(context: typer.Context) -> None:
    """Decide what runs may do without asking, and what they may never do.

    Policies accept or refuse shell commands. Grants are permissions that you gave when you decided on a proposal.
    Threads block or request steps of the model.

    \b
    Examples:
      engine allow policy add 'pytest *' --accept
      engine allow grants --revoke 3
      engine allow threads enable read_before_run
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
