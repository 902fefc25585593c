"""`engine workflow`: work in steps that need each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .completing import complete_model, complete_run, complete_workflow
from .driving import drive
from .exits import NOTHING_TO_DO
from .printing import one_line, print_json, print_table, print_text, say, visible
from .shared import (
    DbOption,
    JsonOption,
    KeepOutputOption,
    KeyFromOption,
    absolute_model,
    database_or_fresh,
    open_existing,
    open_to_write,
    use_keys,
)

if TYPE_CHECKING:
    from engine.api import Database
    from engine.workflow_graph import Step

app = typer.Typer(rich_markup_mode=None)

Workflow = Annotated[
    str, typer.Argument(metavar="WORKFLOW", help="A file, or a name; see 'list'.", autocompletion=complete_workflow)
]
RunOrWorkflow = Annotated[
    str,
    typer.Argument(
        metavar="WORKFLOW|RUN", help="A file, a name, or a run of a workflow.", autocompletion=complete_workflow
    ),
]
RootOption = Annotated[
    Path | None,
    typer.Option("--root", metavar="FOLDER", readable=False, help="The folder of the project; default: this one."),
]


@app.callback(invoke_without_command=True)
def workflow(context: typer.Context) -> None:
    """Check, run, show, draw and list workflows.

    \b
    Examples:
      engine workflow list
      engine workflow validate release.yaml
      engine workflow run code-review --var target=src
      engine workflow graph release.yaml --svg release.svg
    """
    if not context.invoked_subcommand:
        typer.echo(context.get_help())
        raise typer.Exit


@app.command()
def validate(
    workflows: Annotated[
        list[str],
        typer.Argument(metavar="WORKFLOW...", help="Files or names.", autocompletion=complete_workflow),
    ],
    root: RootOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Say what is wrong with workflows, all at once, each with its line. The exit code is 1 where something is.

    \b
    Examples:
      engine workflow validate release.yaml
      engine workflow validate .agents/workflows/*.yaml --json
    """
    from engine import workflows as store

    from .exits import FAILED

    found: list[dict[str, Any]] = []
    checked = 0
    with database_or_fresh(db) as database:
        for given in workflows:
            source = store.find(database, given, _root(root))
            if isinstance(source, int):
                continue
            read = store.read(database, source)
            checked += not read["problems"]
            found += [{"source": source.source, "kind": "problem", **each} for each in read["problems"]]
            found += [{"source": source.source, "kind": "note", **each} for each in read["notes"]]
    if as_json:
        print_json(found)
    for each in [] if as_json else found:
        what = "" if each["kind"] == "problem" else "note: "
        print_text(f"{visible(each['source'])}:{each['line']}: {what}{visible(each['message'])}")
    if any(each["kind"] == "problem" for each in found):
        raise typer.Exit(FAILED)
    say(f"{len(workflows)} checked, nothing is wrong")


@app.command()
def run(
    workflow: Workflow,
    var: Annotated[
        list[str] | None, typer.Option("--var", metavar="NAME=VALUE", help="The value of a variable.")
    ] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="NAME", help="The name of the new run.")] = None,
    root: Annotated[
        Path | None,
        typer.Option("--root", metavar="FOLDER", readable=False, help="The folder to work in; default: this one."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="For steps that name none.", autocompletion=complete_model),
    ] = None,
    act: Annotated[bool, typer.Option("--act/--ask", help="Act may change things, ask only reads.")] = True,
    yolo: Annotated[bool, typer.Option("--yolo", help="Accept all proposals of all steps.")] = False,
    max_turns: Annotated[
        int | None, typer.Option("--max-turns", metavar="N", min=1, help="Stop a step after this many turns.")
    ] = None,
    no_web: Annotated[bool, typer.Option("--no-web", help="No search and no fetching of web pages.")] = False,
    sandbox: Annotated[
        str | None,
        typer.Option("--sandbox", metavar="CHOICE", help="For shell commands: auto, require, off, or the name of one."),
    ] = None,
    key_from: KeyFromOption = None,
    keep_output: KeepOutputOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Run a workflow: each step as a run of its own, those that are ready at once. The last result goes to stdout.

    Where a step fails, those under way are cancelled and the others do not begin. Ctrl-C stops, and 'engine workflow resume'
    goes on: no step that has ended runs again.

    \b
    Examples:
      engine workflow run code-review --var target=src/login.py
      engine workflow run ./release.yaml --var version=1.4 --var notes= --run release
      engine workflow run test-and-fix --var command="pytest -q" --yolo
    """
    from engine import workflows as store
    from engine.contract import Options
    from engine.effects.kept_output import opened as output_file

    variables = _variables(var or [])
    options = Options(
        model=None if model is None else absolute_model(model),
        root=root or Path.cwd(),
        mode="act" if act else "ask",
        max_turns=max_turns,
        yolo=yolo,
        no_web=no_web,
        sandbox=sandbox,
    )
    _rehearse(db, workflow, variables, run, options, key_from)
    with open_to_write(db) as database, output_file(database, keep_output, run, root or Path.cwd()) as kept:
        use_keys(database, key_from)
        alias, loop, notes = store.start(database, workflow, variables, run, options)
        source = database.value(
            "select coalesce(w.source, w.name) from workflow_runs as m join runs as r on r.id = m.run_id "
            "join workflows as w on w.id = m.workflow_id where r.alias = ?",
            (alias,),
        )
        say(f"run {alias}, workflow {one_line(source, 80)}", dim=True)
        for note in notes:
            say(visible(note), "yellow")
        try:
            drive(database, alias, loop, given=db, yolo=yolo, as_json=as_json, kept=kept)
        finally:
            _say_steps(database, alias)


@app.command()
def resume(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="The run; default: the latest unfinished.", autocompletion=complete_run),
    ] = None,
    yolo: Annotated[bool, typer.Option("--yolo", help="Accept all proposals.")] = False,
    key_from: KeyFromOption = None,
    keep_output: KeepOutputOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Go on with a workflow that stopped before its end. Steps that have ended stay as they are.

    \b
    Example:
      engine workflow resume release
    """
    from engine import workflows as store
    from engine.effects.kept_output import opened as output_file

    with open_existing(db) as database:
        use_keys(database, key_from)
        alias = run or database.value(
            "select n.run from workflow_runs as w join next_steps as n on n.run_id = w.run_id "
            "where n.step <> 'end' order by w.run_id desc limit 1"
        )
        if alias is not None:
            store.steps(database, alias)
        if alias is None or database.value("select step from next_steps where run = ?", (alias,)) == "end":
            say(f"nothing to resume{f' in {visible(alias)}' if alias else ''}; 'engine workflow run' starts one")
            raise typer.Exit(NOTHING_TO_DO)
        with output_file(database, keep_output, alias) as kept:
            try:
                drive(database, alias, None, given=db, yolo=yolo, as_json=as_json, kept=kept)
            finally:
                _say_steps(database, alias)


@app.command()
def show(workflow: RunOrWorkflow, root: RootOption = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Print what a workflow is given and what its steps do; of a run how far each step is.

    \b
    Examples:
      engine workflow show code-review
      engine workflow show release --json
    """
    from engine import workflows as store

    with database_or_fresh(db) as database:
        if _is_run(database, workflow):
            rows = store.steps(database, workflow)
            if as_json:
                print_json(rows)
                return
            shown = [{**row, "why": row["reason"] or one_line(row["answer"] or "", 60)} for row in rows]
            print_table(shown, ("step", "state", "child", "turns", "cost", "seconds", "needs", "why"), "no steps")
            return
        found = store.described(database, workflow, _root(root))
    if as_json:
        print_json(found)
        return
    print_text(f"{visible(found['name'])}: {visible(found['description'])}\nfrom {visible(found['source'])}")
    if found["variables"]:
        print_text("\nvariables")
        for each in found["variables"]:
            needed = (
                "required" if each["required"] else f"default {each['default']!r}" if each["default"] else "optional"
            )
            print_text(f"  {visible(each['name'])} ({visible(needed)}): {visible(each['description'])}")
    for each in found["steps"]:
        print_text(f"\nstep {each['id']}{': ' + visible(each['title']) if each['title'] else ''}")
        for name in ("needs", "tools"):
            if each[name] is not None and (each[name] or name == "tools"):
                print_text(f"  {name}: {visible(', '.join(each[name])) or 'none'}")
        for name in ("model", "accept", "accept_command", "accept_attempts", "accept_model"):
            if each[name]:
                print_text(f"  {name}: {one_line(each[name], 200)}")
        print_text("  " + "\n  ".join(visible(line) for line in each["instruction"].strip().splitlines()))


@app.command()
def graph(
    workflow: RunOrWorkflow,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Write a picture to FILE; - is stdout.")
    ] = None,
    root: RootOption = None,
    db: DbOption = None,
) -> None:
    """Draw the steps of a workflow or of a run, layer by layer: those in one layer can work at once.

    \b
    Examples:
      engine workflow graph code-review
      engine workflow graph release --svg release.svg
    """
    from engine.workflow_graph import as_svg, as_text

    with database_or_fresh(db) as database:
        steps = _drawn(database, workflow, root)
    if svg is None:
        print_text(as_text(steps))
    elif str(svg) == "-":
        print_text(as_svg(workflow, steps))
    else:
        svg.write_text(as_svg(workflow, steps), encoding="utf-8")
        say(f"written: {visible(str(svg))}")


@app.command("list")
def list_(root: RootOption = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the workflows that can be run here by their names, and the runs of workflows.

    Those in .agents/workflows of the folder, those of your own in ~/.config/engine/workflows, and those that come along.

    \b
    Example:
      engine workflow list
    """
    from engine import workflows as store

    with database_or_fresh(db) as database:
        found = store.listed(database, _root(root))
        runs = database.rows("select * from workflow_run_list order by created_at desc, run desc limit 20")
    if as_json:
        print_json({"workflows": found, "runs": runs})
        return
    shown = [{**row, "description": row["problem"] or row["description"]} for row in found]
    print_table(shown, ("name", "steps", "source", "description"), "no workflows")
    if runs:
        say()
        print_table(runs, ("run", "workflow", "status", "steps", "completed", "running", "not_done", "created_at"), "")


def _root(given: Path | None) -> Path:
    from engine.workspace import Workspace

    return Workspace(given or Path.cwd()).root


def _variables(given: list[str]) -> dict[str, str]:
    found = {}
    for each in given:
        name, mark, value = each.partition("=")
        if not mark:
            raise typer.BadParameter(f"{each!r} is not NAME=VALUE", param_hint="--var")
        found[name] = value
    return found


def _is_run(db: Database, name: str) -> bool:
    return bool(
        db.value("select 1 from workflow_runs as w join runs as r on r.id = w.run_id where r.alias = ?", (name,))
    )


def _drawn(db: Database, name: str, root: Path | None) -> list[Step]:
    from engine import workflows as store
    from engine.workflow_graph import Step

    if _is_run(db, name):
        return [
            Step(
                row["step"],
                row["layer"],
                (row["needs"] or "").split(", ") if row["needs"] else (),
                row["title"] or "",
                row["state"],
            )
            for row in store.steps(db, name)
        ]
    return [
        Step(each["id"], each["layer"], each["needs"], each["title"] or "")
        for each in store.described(db, name, _root(root))["steps"]
    ]


def _say_steps(db: Database, run: str) -> None:
    """How far each step is, on stderr."""
    colours = {"completed": "green", "failed": "red", "running": "yellow"}
    for row in db.rows("select * from step_list where run = ?", (run,)):
        why = f": {one_line(row['reason'], 120)}" if row["reason"] else ""
        say(f"  {row['step']}: {row['state']}{why}", colours.get(row["state"]), dim=row["state"] not in colours)


def _rehearse(
    db: Path | None, workflow: str, variables: dict[str, str], run: str | None, options: Any, key_from: list[str] | None
) -> None:
    """Where there is no database yet, start in one in memory: what is refused creates no file."""
    import engine
    from engine import workflows as store
    from engine.locate import database_to_write

    if not database_to_write(db, Path.cwd()).exists():
        with engine.open(":memory:", config=True) as rehearsal:
            use_keys(rehearsal, key_from)
            store.start(rehearsal, workflow, variables, run, options)
