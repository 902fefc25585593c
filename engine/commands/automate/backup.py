"""`engine backup`: copies a database while runs work.

spec: @backups
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.options import JsonOption
from engine.functions.counts import counted
from engine.terminal.counter_line import counter_line
from engine.terminal.printing import print_json, print_text, visible


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="The database.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", readable=False, help="A new file, or a folder.")],
    as_json: JsonOption = False,
) -> None:
    """Copy a database while runs work, and check the copy.

    The copy is the state of one moment. In a folder its name has the time. To restore it, put it in place of the
    database while nothing works on it. Then run 'engine trust', because a copy may not act before you confirm it.

    \b
    Examples:
      engine backup .engine/engine.db backup.db
      engine backup .engine/engine.db /mnt/backups
    """
    from engine.maintenance.backups import back_up

    with counter_line("copied pages:") as tell:
        made = back_up(file, target, lambda done, pages: tell(done, pages, ""))
    if as_json:
        print_json(made._asdict())
        return
    print_text(f"{visible(made.file)}: {made.bytes / 1e6:.1f} MB, {counted(made.runs, 'run')}, checked")
