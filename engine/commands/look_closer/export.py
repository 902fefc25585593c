"""`engine export`: the people's views as tables for other programs.

spec: @export
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption
from engine.functions.counts import counted


def export(
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FOLDER", help="Write a Parquet file for each view.")
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FOLDER", help="Write a CSV file for each view.")] = None,
    duckdb: Annotated[
        Path | None, typer.Option("--duckdb", metavar="FILE", help="Write a DuckDB file with a table for each view.")
    ] = None,
    datasette: Annotated[
        Path | None,
        typer.Option(
            "--datasette", metavar="FILE", help="Write a metadata file for Datasette, which describes the views."
        ),
    ] = None,
    view: Annotated[
        list[str] | None, typer.Option("--view", metavar="VIEW", help="Write only this view. May be repeated.")
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Write the views of the database as Parquet, CSV or a DuckDB file.

    'engine sql --views' lists the views. The views context_at and context_changes are large, so they are written only
    if you name them with --view. Parquet and DuckDB need the extra export. Datasette reads the database itself;
    --datasette writes a file for its option -m that describes the views and hides internal tables. To keep or move a
    single run, use 'engine runs export'.

    \b
    Examples:
      engine export --parquet tables
      engine export --csv tables --view run_overview --view cost_by_day
      engine export --duckdb runs.duckdb
      engine export --datasette about.json && datasette .engine/engine.db -m about.json
    """
    from engine.errors import ValidationError
    from engine.exports.export import export_views
    from engine.terminal.printing import print_json, print_text, visible

    forms = {"parquet": parquet, "csv": csv, "duckdb": duckdb, "datasette": datasette}
    given = {name: path for name, path in forms.items() if path is not None}
    if len(given) != 1:
        raise ValidationError("give --parquet FOLDER, --csv FOLDER, --duckdb FILE or --datasette FILE")
    ((form, target),) = given.items()
    with open_to_read(db) as database:
        counts = export_views(database, form, target, view or None)
    if as_json:
        print_json({"form": form, "path": str(target), "rows": counts})
        return
    rows = "" if form == "datasette" else f" with {counted(sum(counts.values()), 'row')}"
    print_text(f"{visible(str(target))}: {counted(len(counts), 'view')}{rows} written")


__all__ = ["export"]
