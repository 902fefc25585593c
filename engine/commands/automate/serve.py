"""`engine serve` and `engine serve acp`: serve runs to others by a protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_model
from engine.cli.databases import open_to_write, use_keys
from engine.cli.options import DbOption, KeyFromOption
from engine.models.availability import absolute_model

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.contract import Options
    from engine.mcp.servers import Server
    from engine.serving import Serving

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The model of new runs: an alias or a name; see 'engine models'.",
        autocompletion=complete_model,
    ),
]
ActOption = Annotated[
    bool, typer.Option("--act/--ask", help="In new runs, the model may propose changes (act), or only read (ask).")
]
YoloOption = Annotated[
    bool, typer.Option("--yolo", help="Offer the mode yolo, which accepts every proposal without asking.")
]
NoWebOption = Annotated[bool, typer.Option("--no-web", help="Do not let the model search the web or read web pages.")]
SandboxOption = Annotated[
    str | None,
    typer.Option("--sandbox", metavar="CHOICE", help="The sandbox for shell commands: auto, require, off, or a name."),
]


def acp(
    model: ModelOption = None,
    act: ActOption = True,
    yolo: YoloOption = False,
    no_web: NoWebOption = False,
    sandbox: SandboxOption = None,
    key_from: KeyFromOption = None,
    db: DbOption = None,
) -> None:
    """Let an editor use the engine by the Agent Client Protocol (ACP).

    Set 'engine serve acp' as the agent command of your editor. The editor starts it and tells it the folder of each
    session. Without --db, the runs of a folder are stored in its .engine/engine.db, so you can continue them in the
    editor or on the terminal. With --yolo you can choose the mode yolo in the editor, which accepts every proposal
    without asking. The command needs the extra acp.

    \b
    Examples:
      engine serve acp
      engine serve acp --model anthropic/claude-sonnet-4-5 --sandbox require
    """
    _serve("acp", _serving(model, act, yolo, no_web, sandbox, key_from, db))


def adapter(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE", help="The adapter: acp, the name of an adapter in a plugin, or a Python file."
        ),
    ],
    model: ModelOption = None,
    act: ActOption = True,
    yolo: YoloOption = False,
    no_web: NoWebOption = False,
    sandbox: SandboxOption = None,
    key_from: KeyFromOption = None,
    db: DbOption = None,
) -> None:
    """Let other programs use the engine by the protocol of an adapter.

    An adapter translates a protocol for the engine. It is built in (acp), part of a plugin, or a Python file with a
    function 'serve'.

    \b
    Examples:
      engine serve adapter acp
      engine serve adapter ./my_adapter.py --db agent.db
    """
    _serve(name, _serving(model, act, yolo, no_web, sandbox, key_from, db))


def _serve(name: str, serving: Serving) -> None:
    from engine.adapters import named
    from engine.errors import NotFound
    from engine.system.installing import how_to_install

    try:
        named(name)(serving)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "acp":
            raise
        raise NotFound(f"the library of the protocol is missing; {how_to_install('acp')}") from error


def _serving(
    model: str | None,
    act: bool,
    yolo: bool,
    no_web: bool,
    sandbox: str | None,
    key_from: list[str] | None,
    db: Path | None,
) -> Serving:
    from engine.driving.prompts import with_sandbox
    from engine.serving import Serving

    options: Options = {"mode": "act" if act else "ask", "no_web": no_web, "sandbox": sandbox}
    if model is not None:
        options["model"] = absolute_model(model)
    with_sandbox(options)

    def opened(folder: Path, mcp: Sequence[Server]) -> Database:
        database = open_to_write(db, folder, mcp)
        use_keys(database, key_from)
        return database

    return Serving(opened, db, yolo, options)


def serve(context: typer.Context) -> None:
    """Let editors and other programs use the engine.

    \b
    Examples:
      engine serve acp
      engine serve rpc --port 0
      engine serve adapter ./my_adapter.py
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
