"""`engine relations`: a graph of what belongs together: plans, steps, files, runs and what an app relates."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.databases import database_or_fresh, open_to_read, open_to_write
from engine.cli.options import DbOption, JsonOption, is_alone
from engine.terminal.printing import one_line, print_json, print_json_text, print_table, print_text, say

if TYPE_CHECKING:
    from engine.api.database import Database

app = typer.Typer(rich_markup_mode=None)

NodeArgument = Annotated[str, typer.Argument(metavar="NODE", help="The name of the node.")]
RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="List only the nodes of this run; default: all nodes of the database."),
]


@app.callback(invoke_without_command=True)
def relations(context: typer.Context, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Keep a graph of related plans, steps, files and runs.

    A node has a name, a type, a status and any number of parent nodes. The plans of runs and their steps are nodes,
    too.

    \b
    Examples:
      engine relations add auth --type feature --description "Sign in with a key"
      engine relations add src/auth.py --type file --below auth
      engine relations show auth
      engine relations export > relations.json
    """
    if is_alone(context, as_json, db):
        list_(as_json=as_json, db=db)


@app.command("list")
def list_(
    run: RunOption = None,
    kind: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Only nodes of this type.")] = None,
    status: Annotated[str | None, typer.Option("--status", metavar="STATUS", help="Only nodes of this status.")] = None,
    roots: Annotated[bool, typer.Option("--roots", help="Only nodes without a parent.")] = False,
    leaves: Annotated[bool, typer.Option("--leaves", help="Only nodes without children.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List the nodes of one run, or all nodes.

    \b
    Examples:
      engine relations list --roots
      engine relations list --run demo --status pending
    """
    from engine.errors import ValidationError

    view = "root_nodes" if roots else "leaf_nodes" if leaves else "graph_nodes"
    with database_or_fresh(db) as database:
        statuses = [name for (name,) in database.tuples("select name from node_statuses order by is_settled, name")]
        if status is not None and status not in statuses:
            raise ValidationError(f"status {status!r}: unknown; use one of {', '.join(statuses)}")
        scope = _scope(database, run)
        rows = database.rows(
            f"select v.*, r.alias as run from {view} as v left join runs as r on 'run:' || r.id = v.scope "  # noqa: S608 - one of three
            "where (:scope is null or v.scope = :scope) and (:type is null or v.type = :type) "
            "and (:status is null or v.status = :status) order by v.scope, v.node",
            {"scope": scope, "type": kind, "status": status},
        )
        types = database.tuples(
            "select distinct type from node_counts where ? is null or scope = ? order by type", (scope, scope)
        )
        if leaves and roots:
            ends = {(row["scope"], row["node"]) for row in database.rows("select scope, node from leaf_nodes")}
            rows = [row for row in rows if (row["scope"], row["node"]) in ends]
    if as_json:
        print_json([{**row, "context": json.loads(row["context"])} for row in rows])
        return
    for row in rows:
        row["of"] = row["run"] or row["scope"]
    print_table(rows, ("of", "node", "type", "status", "description"), _none(types, kind))


@app.command()
def add(
    node: NodeArgument,
    kind: Annotated[
        str | None,
        typer.Option(
            "--type", metavar="TYPE", help="The type of the node: plan, step, file, run, or a word of your own."
        ),
    ] = None,
    below: Annotated[
        list[str] | None, typer.Option("--below", metavar="NODE", help="The parent node; may be repeated.")
    ] = None,
    status: Annotated[
        str | None,
        typer.Option("--status", metavar="STATUS", help="pending, in_progress, done, failed or skipped."),
    ] = None,
    description: Annotated[
        str | None, typer.Option("--description", metavar="TEXT", help="A short description.")
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", metavar="JSON", help="More facts about the node, as a JSON object.")
    ] = None,
    run: RunOption = None,
    db: DbOption = None,
) -> None:
    """Add a node, or change an existing node. Options that you leave out keep their value.

    \b
    Examples:
      engine relations add auth --type feature --status in_progress
      engine relations add src/auth.py --type file --below auth --below plan://task --run demo
    """
    with open_to_write(db) as database:
        database.insert(
            "verb_set_node",
            run=run,
            node=node,
            type=kind,
            parents=None if below is None else json.dumps(below),
            status=status,
            description=description,
            context=context,
        )
    say(f"set: {one_line(node, 80)}")


@app.command()
def rm(
    node: NodeArgument,
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Also remove the nodes below it, except nodes that have another parent.")
    ] = False,
    run: RunOption = None,
    db: DbOption = None,
) -> None:
    """Remove a node. Without --cascade, its child nodes stay.

    \b
    Example:
      engine relations rm auth --cascade
    """
    from engine.system.locate import database_to_read

    with open_to_write(database_to_read(db, Path.cwd())) as database:
        before = database.value("select count(*) from nodes")
        database.insert("verb_remove_node", run=run, node=node, cascade=int(cascade))
        gone = before - database.value("select count(*) from nodes")
    say(f"removed: {one_line(node, 80)}" + (f" and {gone - 1} below it" if gone > 1 else ""))


@app.command()
def show(
    node: NodeArgument,
    depth: Annotated[int, typer.Option("--depth", metavar="N", min=0, help="How many levels to print.")] = 5,
    run: RunOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Print a node and the nodes below it as a tree. --json prints its parents, children, ancestors and descendants.

    \b
    Examples:
      engine relations show auth
      engine relations show plan://task --run demo --json
    """
    from engine.errors import NotFound

    with open_to_read(db) as database:
        scope = _scope(database, run) or "global"
        found = database.row("select * from graph_nodes where scope = ? and node = ?", (scope, node))
        if found is None:
            where = f"run {run!r}" if run else "the whole database"
            raise NotFound(f"node {node!r}: not found in {where}; {_elsewhere(database, node, run)}")
        if as_json:
            print_json(_json_of(database, found))
            return
        text = database.value(
            "select relations_text(body, ?) from _relation_texts where scope = ? and node = ?", (depth, scope, node)
        )
    if text:
        print_text(text)
    if found["type"] in ("plan", "step") and node.startswith("plan://"):
        say(f"its steps: engine plan {run} {node.partition('#')[0]}")


@app.command("export")
def export_(run: RunOption = None, db: DbOption = None) -> None:
    """Print the nodes that were added as JSON, for 'engine relations import'.

    \b
    Example:
      engine relations export > relations.json
    """
    with open_to_read(db) as database:
        bodies = database.tuples(
            "select body from node_exports where scope = ? order by node", (_scope(database, run) or "global",)
        )
    print_json_text("[\n" + ",\n".join(f"  {body}" for (body,) in bodies) + "\n]", whole=not sys.stdout.isatty())


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file with JSON, or - for stdin.")],
    run: RunOption = None,
    db: DbOption = None,
) -> None:
    """Add nodes from a JSON array of {"id", "type", "parents", "context"}. Existing nodes are replaced. If a node has
    a mistake, no node is added.

    \b
    Examples:
      engine relations import relations.json
      engine relations export --run demo | engine relations import - --run again
    """
    from engine.errors import EngineError, NotFound, ValidationError

    try:
        body = typer.get_binary_stream("stdin").read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise NotFound(f"{file}: cannot be read: {error.strerror}") from error
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValidationError(f"{file}: is not UTF-8 text") from error
    with open_to_write(db) as database:
        try:
            database.insert("verb_import_nodes", run=run, body=text)
        except EngineError as error:
            raise type(error)(f"{file}: {error.message}") from error
    say(f"imported: {file}")


def _none(types: list[tuple[Any, ...]], kind: str | None) -> str:
    """What is said where no node was found: of a type that there is not, which ones there are."""
    if not types:
        return "no nodes; add one with 'engine relations add'"
    if kind is not None and (kind,) not in types:
        return (
            f"no nodes of type {one_line(kind, 80)}; the types are {', '.join(one_line(name, 80) for (name,) in types)}"
        )
    return "no such nodes; 'engine relations list' lists all"


def _elsewhere(database: Database, node: str, run: str | None) -> str:
    """Which runs have a node of that name, with what to say; else where nodes are listed."""
    runs = database.tuples(
        "select r.alias from graph_nodes as n join runs as r on 'run:' || r.id = n.scope "
        "where n.node = ? order by r.id desc",
        (node,),
    )
    if run is None and runs:
        names = ", ".join(str(alias) for (alias,) in runs[:5])
        return f"it belongs to run {names}; add --run {runs[0][0]}"
    return "'engine relations list' lists them"


def _scope(database: Database, run: str | None) -> str | None:
    """The scope of a run, None without one; raises `NotFound` (404) for an unknown run."""
    from engine.errors import NotFound

    if run is None:
        return None
    found = database.value("select 'run:' || id from runs where alias = ?", (run,))
    if found is None:
        raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
    return str(found)


def _json_of(database: Database, found: dict[str, Any]) -> dict[str, Any]:
    where = (found["scope"], found["node"])
    return {
        **found,
        "context": json.loads(found["context"]),
        **{
            what: database.rows(
                f"select {one}_scope as scope, {one} as node from node_{what} where scope = ? and node = ?",  # noqa: S608
                where,
            )
            for what, one in (
                ("parents", "parent"),
                ("children", "child"),
                ("ancestors", "ancestor"),
                ("descendants", "descendant"),
            )
        },
    }
