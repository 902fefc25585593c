"""`engine allow threads`: behavioural threads, which block, ask and wait beside the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.databases import database_or_fresh, open_to_read, open_to_write
from engine.cli.options import DbOption, JsonOption, is_alone
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.terminal.printing import one_line, print_json, print_table, say

app = typer.Typer(rich_markup_mode=None)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of the thread in 'engine allow threads list'.")
]
NamesArgument = Annotated[
    list[str], typer.Argument(metavar="NAME", help="The names of threads in 'engine allow threads list'.")
]
RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="Use it only for this run; default: for the project of this folder."),
]
RootOption = Annotated[
    Path | None,
    typer.Option("--root", metavar="FOLDER", readable=False, help="The project's folder; default: this one."),
]


@app.callback(invoke_without_command=True)
def threads(context: typer.Context, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Make the model keep to steps, such as reading a file before changing it.

    A thread is a set of rules that block or request steps of the model. Three threads are built in: read_before_run,
    finish_clean and test_after_edit. They are off until you enable them. A change takes effect with the next prompt
    or resume.

    \b
    Examples:
      engine allow threads
      engine allow threads enable read_before_run
      engine allow threads add review.toml
      engine allow threads explain demo
    """
    if is_alone(context, as_json, db):
        list_(as_json=as_json, db=db)


@app.command("list")
def list_(as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the threads of the engine, of projects and of runs.

    \b
    Examples:
      engine allow threads list
      engine allow threads list --json
    """
    with database_or_fresh(db) as database:
        rows = database.rows("select * from thread_list")
    if as_json:
        print_json(rows)
        return
    print_table(rows, ("name", "state", "level", "of", "priority", "purpose"), "no threads")


@app.command()
def show(name: NameArgument, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Show the rules of a thread.

    \b
    Example:
      engine allow threads show finish_clean
    """
    from engine.threads.joining import show_thread

    with open_to_read(db) as database:
        found = show_thread(database, name)
    if as_json:
        print_json(found)
        return
    for row in found:
        typer.echo(one_line(f"{row['name']} ({row['level']}, {row['state']}): {row['purpose']}", 500))
        print_table(row["points"], ("point", "part", "event", "fields", "message"), "it has no points")


@app.command()
def add(
    file: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="A TOML file of threads.")],
    run: RunOption = None,
    root: RootOption = None,
    db: DbOption = None,
) -> None:
    """Add the threads of a file, for this folder's project or for one run. If a thread has a mistake, no thread is
    added.

    \b
    Examples:
      engine allow threads add review.toml
      engine allow threads add review.toml --run demo
    """
    from engine.system.user import user_name
    from engine.threads.joining import add_threads

    with open_to_write(db) as database:
        names = add_threads(database, file, run=run, root=root or Path.cwd(), by=user_name())
    say(f"added: {', '.join(names)}")


@app.command()
def rm(name: NameArgument, run: RunOption = None, root: RootOption = None, db: DbOption = None) -> None:
    """Remove a thread that a person added.

    \b
    Example:
      engine allow threads rm review
    """
    from engine.system.locate import database_to_read
    from engine.threads.joining import remove_thread

    with open_to_write(database_to_read(db, Path.cwd())) as database:
        removed = remove_thread(database, name, run=run, root=root or Path.cwd())
    say(f"removed: {name}")
    for line in removed["unheard"]:
        say(line, "yellow")


@app.command()
def enable(names: NamesArgument, run: RunOption = None, root: RootOption = None, db: DbOption = None) -> None:
    """Turn threads on for this folder's project, or for one run.

    \b
    Examples:
      engine allow threads enable read_before_run
      engine allow threads enable finish_clean test_after_edit --run demo
    """
    _switch(names, on=True, run=run, root=root, db=db)


@app.command()
def disable(names: NamesArgument, run: RunOption = None, root: RootOption = None, db: DbOption = None) -> None:
    """Turn threads off for this folder's project, or for one run.

    \b
    Example:
      engine allow threads disable read_before_run
    """
    _switch(names, on=False, run=run, root=root, db=db)


def _switch(names: list[str], *, on: bool, run: str | None, root: Path | None, db: Path | None) -> None:
    from engine.system.user import user_name
    from engine.threads.joining import switch_thread

    with open_to_write(db) as database, database.transaction():
        for name in names:
            switch_thread(database, name, on=on, run=run, root=root or Path.cwd(), by=user_name())
    say(f"{'on' if on else 'off'}: {', '.join(names)}; this applies from the next prompt or resume on")


@app.command()
def explain(
    run: RunArgument = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show what threads blocked or requested in a run, and the current state of each thread.

    \b
    Examples:
      engine allow threads explain
      engine allow threads explain demo
      engine allow threads explain demo --json
    """
    from engine.threads.joining import explain_threads

    with open_to_read(db) as database:
        run = run_or_latest(database, run)
        found = explain_threads(database, run)
    if as_json:
        print_json(found)
        return
    columns = ("turn", "kind", "thread", "point", "to_point", "event", "fields", "told")
    print_table(found["log"], columns, f"run {run}: no thread has blocked or requested anything")
    typer.echo()
    print_table(found["now"], ("thread", "point", "says"), f"run {run}: no thread is enabled")
