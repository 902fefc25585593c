"""`engine allow policy`: what becomes of command lines, whoever would be asked about them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.databases import database_or_fresh, open_to_write
from engine.cli.options import DbOption, JsonOption, is_alone
from engine.terminal.hints import db_flag
from engine.terminal.printing import one_line, print_json, print_table, say, visible

app = typer.Typer(rich_markup_mode=None)

RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="Use it only for this run; default: for the project of this folder."),
]
RootOption = Annotated[
    Path | None,
    typer.Option("--root", metavar="FOLDER", readable=False, help="The project's folder; default: this one."),
]


@app.callback(invoke_without_command=True)
def policy(context: typer.Context, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Choose which shell commands are refused, accepted, or always need your decision.

    A policy applies to one program. If a command line starts several programs, each program is checked. Policies also
    apply with --yolo.

    \b
    Examples:
      engine allow policy
      engine allow policy explain 'cd src && vim main.py'
      engine allow policy add 'pytest *' --accept
      engine allow policy add 'git push*' --ask
      engine allow policy add curl --refuse "Use <get path=\\"https://…\\">."
      engine allow policy rm 70
    """
    if is_alone(context, as_json, db):
        list_(as_json=as_json, db=db)


@app.command("list")
def list_(
    everything: Annotated[bool, typer.Option("--all", help="Include the engine's own policies.")] = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List the policies of runs and projects; --all adds the engine's own policies.

    \b
    Examples:
      engine allow policy list
      engine allow policy list --all --json
    """
    with database_or_fresh(db) as database:
        rows = database.rows("select * from policies where :all or level <> 'shipped'", {"all": everything})
    if as_json:
        print_json(rows)
        return
    columns = ("policy_id", "level", "of", "decision", "command", "condition", "added_by", "message")
    print_table(rows, columns, "no policies besides the engine's own; to list these: engine allow policy list --all")


@app.command()
def add(
    command: Annotated[
        str, typer.Argument(metavar="COMMAND", help="A program and a pattern for its arguments, such as 'pytest *'.")
    ],
    refuse: Annotated[
        str | None,
        typer.Option(
            "--refuse",
            metavar="MESSAGE",
            help="Refuse the command. The model reads MESSAGE, which should say what to do instead.",
        ),
    ] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Run the command without your decision.")] = False,
    ask: Annotated[bool, typer.Option("--ask", help="Always wait for a person's decision, even with --yolo.")] = False,
    except_arguments: Annotated[
        str | None,
        typer.Option("--except", metavar="GLOB", help="Do not apply the policy if the arguments match this pattern."),
    ] = None,
    run: RunOption = None,
    root: RootOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Add a policy for this folder's project, or for one run.

    If several policies match, the policy of the run counts first, then the policy of the project, then the policy of
    the engine. A command line runs without your decision only if each of its programs is accepted. It must also
    contain no expansion, redirection or assignment. A program that is written with its folder (./make) is accepted
    only by a policy that names the folder, too.

    \b
    Examples:
      engine allow policy add 'pytest *' --accept
      engine allow policy add '.venv/bin/pytest *' --accept
      engine allow policy add 'git push*' --ask --run demo
      engine allow policy add curl --refuse "Use <get path=\\"https://…\\">."
    """
    from engine.effects.gate import add_policy
    from engine.system.user import user_name

    chosen = [name for name, given in (("refuse", refuse is not None), ("accept", accept), ("ask", ask)) if given]
    if len(chosen) != 1:
        raise typer.BadParameter("use one of --refuse MESSAGE, --accept and --ask", param_hint="decision")
    with open_to_write(db) as database:
        number = add_policy(
            database,
            command,
            chosen[0],
            run=run,
            root=root or Path.cwd(),
            message=refuse,
            except_arguments=except_arguments,
            by=user_name(),
        )
        row = database.row("select * from policies where policy_id = ?", (number,))
    if as_json:
        print_json(row)
        return
    say(f"policy {number}: {one_line(command, 80)}: {chosen[0]}")


@app.command()
def rm(
    number: Annotated[
        int, typer.Argument(metavar="NUMBER", help="The number of the policy in 'engine allow policy list'.")
    ],
    db: DbOption = None,
) -> None:
    """Remove a policy that a person added.

    \b
    Example:
      engine allow policy rm 70
    """
    from engine.effects.gate import remove_policy
    from engine.system.locate import database_to_read

    with open_to_write(database_to_read(db, Path.cwd())) as database:
        gone = remove_policy(database, number)
    say(f"removed: policy {number}, {gone['decision']} {one_line(gone['command'], 80)}")


@app.command()
def explain(
    line: Annotated[str, typer.Argument(metavar="COMMAND", help="The whole command line, in quotes.")],
    run: RunOption = None,
    root: RootOption = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show whether a command would be allowed, and which policy decides. Nothing is run.

    \b
    Examples:
      engine allow policy explain 'cd src && vim main.py'
      engine allow policy explain 'git push' --run demo --json
    """
    from engine.effects.gate import explain as explained

    with open_to_write(db) as database:
        found = explained(database, line, run=run, root=root or Path.cwd())
    if as_json:
        print_json(found)
        return
    programs = [{**row, "decision": row["decision"] or "-", "because": _because(row)} for row in found["programs"]]
    print_table(programs, ("program", "arguments", "decision", "because"), "no program was found in this line")
    say()
    for text in _verdict(found, db):
        typer.echo(visible(text))


def _because(row: dict[str, object]) -> str:
    return "no policy" if row["policy_id"] is None else f"policy {row['policy_id']} ({row['level']}: {row['name']})"


def _verdict(found: dict[str, object], db: Path | None) -> list[str]:
    if not found["hidden"]:
        match found["decision"]:
            case "refuse":
                return [f"refused by {_because(found)}", f"the model reads: {found['message']}"]
            case "ask":
                return [f"a person is asked, also under --yolo: {_because(found)}"]
            case "accept":
                return [f"accepted without asking: {_because(found)}"]
    if found["grant_id"] is not None:
        return [f"accepted by grant {found['grant_id']}; 'engine allow grants{db_flag(db)}' lists it"]
    why = "what it runs is not known from its text" if not found["readable"] else "no policy covers the whole line"
    if found["hidden"]:
        under = "it is refused" if found["decision"] == "refuse" else "you are asked as well"
        why = why if not found["readable"] else "another program may start it"
        return [f"a person is asked; under --yolo {under}, because {_because(found)} may hold: {why}"]
    return [f"a person is asked; under --yolo it is accepted: {why}"]
