"""`engine migrate`: brings databases up to date.

spec: @several_files
"""

from __future__ import annotations

from engine.cli.files_argument import FilesArgument, places, print_reports
from engine.cli.options import DbOption, JsonOption


def migrate(files: FilesArgument = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Bring databases up to date with this engine.

    You rarely need this command, because the first command that writes to a database updates it. Use it to update
    many databases at once. The exit code is 1 if a database could not be updated.

    \b
    Examples:
      engine migrate
      engine migrate data/*.db
      engine migrate data/
    """
    from engine.maintenance.checks import migrate as migrated

    print_reports(map(migrated, places(files, db)), as_json=as_json)
