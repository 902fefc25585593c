"""`engine workflow`: work in steps that need each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli.completion import complete_model, complete_run, complete_workflow
from engine.cli.databases import database_or_fresh, open_existing, open_to_write, use_keys
from engine.cli.options import (
    DbOption,
    JsonOption,
    KeepOutputOption,
    KeyFromOption,
    MaxCallsOption,
    MaxCostOption,
    MaxTokensOption,
    SandboxOption,
    WaitOption,
    YesOption,
    is_alone,
)
from engine.models.availability import absolute_model
from engine.terminal.driver import drive
from engine.terminal.exit_codes import NOTHING_TO_DO
from engine.terminal.printing import one_line, print_json, print_text, say, visible

from .workflow_views import RootOption, folder_of, graph, list_, say_steps, show

app = typer.Typer(rich_markup_mode=None)

Workflow = Annotated[
    str,
    typer.Argument(
        metavar="WORKFLOW",
        help="The file or the name of a workflow; see 'engine workflow list'.",
        autocompletion=complete_workflow,
    ),
]


@app.callback(invoke_without_command=True)
def workflow(context: typer.Context, root: RootOption = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Validate, run, show, graph and list workflows.

    \b
    Examples:
      engine workflow
      engine workflow validate release.yaml
      engine workflow run code-review --var target=src
      engine workflow graph release.yaml --svg release.svg
    """
    if is_alone(context, root, as_json, db):
        list_(root, as_json=as_json, db=db)


@app.command()
def validate(
    workflows: Annotated[
        list[str],
        typer.Argument(
            metavar="WORKFLOW...", help="Files of workflows, or names of workflows.", autocompletion=complete_workflow
        ),
    ],
    root: RootOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List the mistakes in workflows, with their line numbers. The exit code is 1 if a workflow has a mistake.

    \b
    Examples:
      engine workflow validate release.yaml
      engine workflow validate .agents/workflows/*.yaml --json
    """
    from engine.terminal.exit_codes import FAILED
    from engine.workflows import finding as store

    found: list[dict[str, Any]] = []
    checked = 0
    with database_or_fresh(db) as database:
        for given in workflows:
            source = store.find(database, given, folder_of(root))
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
    say(f"{len(workflows)} checked, no mistakes")


@app.command()
def run(
    workflow: Workflow,
    var: Annotated[
        list[str] | None,
        typer.Option("--var", metavar="NAME=VALUE", help="Set a variable of the workflow. May be repeated."),
    ] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="NAME", help="The name of the new run.")] = None,
    root: RootOption = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="The model for steps without a model of their own.",
            autocompletion=complete_model,
        ),
    ] = None,
    act: Annotated[
        bool, typer.Option("--act/--ask", help="With --act the model may propose changes; with --ask it only reads.")
    ] = True,
    yolo: Annotated[bool, typer.Option("--yolo", help="Accept every proposal in every step.")] = False,
    max_turns: Annotated[
        int | None, typer.Option("--max-turns", metavar="N", min=1, help="Stop a step after this many turns.")
    ] = None,
    max_cost: MaxCostOption = None,
    max_tokens: MaxTokensOption = None,
    max_calls: MaxCallsOption = None,
    no_web: Annotated[
        bool, typer.Option("--no-web", help="Do not let the model search the web or read web pages.")
    ] = False,
    sandbox: SandboxOption = None,
    key_from: KeyFromOption = None,
    keep_output: KeepOutputOption = None,
    wait: WaitOption = True,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Run a workflow, and print its last result. Each step is a run of its own; independent steps run at the same
    time.

    If a step fails, the other running steps are cancelled, and no further step starts. Ctrl-C stops the workflow.
    'engine workflow resume' continues it and does not repeat finished steps.

    \b
    Examples:
      engine workflow run code-review --var target=src/login.py
      engine workflow run ./release.yaml --var version=1.4 --var notes= --run release
      engine workflow run test-and-fix --var command="pytest -q" --yolo
    """
    from engine.contract import Options
    from engine.processes.kept_output import opened as output_file
    from engine.workflows import finding as store
    from engine.workflows import lists as workflow_lists

    variables = _variables(var or [])
    options = Options(
        model=None if model is None else absolute_model(model),
        root=root or Path.cwd(),
        mode="act" if act else "ask",
        max_turns=max_turns,
        max_cost=max_cost,
        max_tokens=max_tokens,
        max_calls=max_calls,
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
        say(f"run {alias}, workflow {one_line(workflow_lists.shown(source, folder_of(root)), 80)}", dim=True)
        for note in notes:
            say(visible(note), "yellow")
        try:
            drive(database, alias, loop, given=db, yolo=yolo, as_json=as_json, kept=kept, wait=wait)
        finally:
            say_steps(database, alias)


@app.command()
def resume(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="The run; default: the latest unfinished run.", autocompletion=complete_run),
    ] = None,
    yolo: Annotated[bool, typer.Option("--yolo", help="Accept every proposal.")] = False,
    key_from: KeyFromOption = None,
    keep_output: KeepOutputOption = None,
    wait: WaitOption = True,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Continue a workflow that stopped before its end. Finished steps are not repeated.

    \b
    Example:
      engine workflow resume release
    """
    from engine.processes.kept_output import opened as output_file
    from engine.workflows import finding as store

    with open_existing(db) as database:
        use_keys(database, key_from)
        alias = run or database.value(
            "select n.run from workflow_runs as w join _next_steps as n on n.run_id = w.run_id "
            "where n.step <> 'end' order by w.run_id desc limit 1"
        )
        if alias is not None:
            store.steps(database, alias)
        if alias is None or database.value("select step from _next_steps where run = ?", (alias,)) == "end":
            say(
                f"nothing to resume{f' in {visible(alias)}' if alias else ''}; to start a workflow: engine "
                "workflow run WORKFLOW"
            )
            raise typer.Exit(NOTHING_TO_DO)
        with output_file(database, keep_output, alias) as kept:
            try:
                drive(database, alias, None, given=db, yolo=yolo, as_json=as_json, kept=kept, wait=wait)
            finally:
                say_steps(database, alias)


@app.command()
def confirm(
    workflow: Workflow,
    root: RootOption = None,
    yes: YesOption = False,
    db: DbOption = None,
) -> None:
    """Allow a project's workflow to use models that you have not configured, such as model files or other providers.

    The command lists the models and asks you. Your consent holds for the current text of the workflow. If the text
    changes, confirm it again. If the file no longer exists, give the name of the workflow; the database has stored
    its text.

    \b
    Example:
      engine workflow confirm .agents/workflows/release.yaml
    """
    from engine.errors import ValidationError
    from engine.terminal.questions import at_terminal, end_unless_yes
    from engine.workflows import finding as store
    from engine.workflows import lists as workflow_lists
    from engine.workflows import models as workflow_models

    with database_or_fresh(db) as database:
        found = store.find(database, workflow, folder_of(root))
        named = workflow_models.named_in(workflow_lists.described(database, found))
        source, text = workflow_models.origin_of(database, found, folder_of(root))
    if source is None or not named:
        say("nothing to confirm: the workflow uses no model that needs your consent")
        return
    kept = " (as it was run before)" if isinstance(found, int) else ""
    say(f"{visible(source)}{kept} names {', '.join(one_line(name, 200) for name in named)}")
    if not yes:
        if not at_terminal():
            raise ValidationError(
                f"{source!r}: cannot ask you without a terminal; read the workflow, then add --yes to confirm"
            )
        end_unless_yes("Let it?")
    workflow_models.confirm(source, text)
    say("confirmed")


app.command()(show)
app.command()(graph)
app.command("list")(list_)


def _variables(given: list[str]) -> dict[str, str]:
    found = {}
    for each in given:
        name, mark, value = each.partition("=")
        if not mark:
            raise typer.BadParameter(f"{each!r} is not NAME=VALUE", param_hint="--var")
        found[name] = value
    return found


def _rehearse(
    db: Path | None, workflow: str, variables: dict[str, str], run: str | None, options: Any, key_from: list[str] | None
) -> None:
    """Where there is no database yet, start in one in memory: what is refused creates no file."""
    import engine
    from engine.system.locate import database_to_write
    from engine.workflows import finding as store

    if not database_to_write(db, Path.cwd()).exists():
        with engine.open(":memory:", config=True) as rehearsal:
            use_keys(rehearsal, key_from)
            store.start(rehearsal, workflow, variables, run, options)
