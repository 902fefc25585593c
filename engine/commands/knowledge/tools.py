"""`engine tools`: the tools that models can call: listed, counted, shown, removed.

spec: @engine_tools
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from engine.cli.databases import database_or_fresh, open_existing
from engine.cli.options import DbOption, JsonOption, is_alone
from engine.functions.counts import counted
from engine.terminal.hints import nearest
from engine.terminal.printing import one_line, print_json, print_table, print_text, say, visible

app = typer.Typer(rich_markup_mode=None)


class Source(StrEnum):
    """Where a tool comes from."""

    INSTALLED = "installed"
    FUNCTION = "function"
    MCP = "mcp"


SourceOption = Annotated[
    Source | None,
    typer.Option(
        "--source",
        metavar="installed|function|mcp",
        help="List only tools from one source: installed (the engine and plugins), function (apps) or mcp (MCP servers).",
    ),
]
_COUNT = """
    select source, count(*) as tools, sum(offered) as offered, sum(calls) as calls
    from tool_list
    where source = coalesce(:source, source)
    group by source
    order by source = 'installed' desc, source
"""
_UNUSED = "select name from tool_list where source <> 'installed' and not offered order by name"


@app.callback(invoke_without_command=True)
def tools(context: typer.Context, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List, count, show and remove the tools that models can call.

    \b
    Examples:
      engine tools
      engine tools list --source mcp
      engine tools show sh
      engine tools rm old_lookup
    """
    if is_alone(context, as_json, db):
        list_(as_json=as_json, db=db)


@app.command("list")
def list_(source: SourceOption = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the tools, and whether models can see them now.

    Tools of apps and MCP servers are visible only while a process that provides them works on a run.

    \b
    Examples:
      engine tools list
      engine tools list --source function --json
    """
    with database_or_fresh(db) as database:
        rows = database.rows("select * from tool_list where source = coalesce(?, source)", (source,))
    if as_json:
        print_json([{**row, "offered": bool(row["offered"]), "schema": json.loads(row["schema"])} for row in rows])
        return
    shown = [{**row, "offered": "yes" if row["offered"] else "no"} for row in rows]
    print_table(
        shown, ("name", "source", "offered", "modes", "calls", "meaning"), "no such tools", spared=("calls", "modes")
    )


@app.command("count")
def count(source: SourceOption = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Count the tools by source.

    \b
    Example:
      engine tools count
    """
    with database_or_fresh(db) as database:
        rows = database.rows(_COUNT, {"source": source})
    if as_json:
        print_json(rows)
        return
    print_table(rows, ("source", "tools", "offered", "calls"), "no such tools")


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool.")],
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show what a tool does and its arguments.

    \b
    Example:
      engine tools show sh
    """
    from engine.errors import NotFound

    with database_or_fresh(db) as database:
        row = database.row("select * from tool_list where name = ?", (name,))
        names = [str(each) for (each,) in database.tuples("select name from tools")]
    if row is None:
        hint = nearest(name, names, "'engine tools' lists them")
        raise NotFound(f"tool {name!r}: not found; {hint}")
    schema = json.loads(row["schema"])
    if as_json:
        print_json({**row, "offered": bool(row["offered"]), "schema": schema})
        return
    print_text(f"{row['name']}: {visible(row['meaning'])}")
    hidden = f", closed by {row['hidden_by']}" if row["hidden_by"] else ""
    server = f" of {row['server']}" if row["server"] else ""
    print_text(f"  {row['source']}{server}, modes {row['modes']}{hidden}")
    for argument, about in schema.get("properties", {}).items():
        needed = " (required)" if argument in schema.get("required", ()) else ""
        print_text(f"  {visible(argument)}{needed}: {one_line(about.get('description') or about.get('type'), 200)}")


@app.command("rm")
def rm(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", help="The tools.")] = None,
    unused: Annotated[
        bool, typer.Option("--unused", help="Remove all tools of apps and MCP servers that no process provides now.")
    ] = False,
    db: DbOption = None,
) -> None:
    """Remove tools of apps and MCP servers from the database, for example tools that no longer exist.

    A tool is added again when a process that provides it works on a run. Past calls stay in the record.

    \b
    Examples:
      engine tools rm old_lookup
      engine tools rm --unused
    """
    if bool(names) == unused:
        raise typer.BadParameter("give tool names, or --unused")
    with open_existing(db) as database:
        found = [str(name) for (name,) in database.tuples(_UNUSED)] if unused else list(names or [])
        with database.transaction():
            for name in found:
                database.insert("verb_remove_tool", name=name)
    say(f"removed: {visible(', '.join(found))} ({counted(len(found), 'tool')})" if found else "no tool to remove")


__all__ = ["app"]
