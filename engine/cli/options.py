"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .completion import complete_effort, complete_key_source, complete_model

DbOption = Annotated[
    Path | None,
    typer.Option(
        "--db",
        metavar="PATH",
        readable=False,
        help="The database; default: .engine/engine.db of this folder or the nearest above it.",
    ),
]
RootOption = Annotated[
    Path | None,
    typer.Option(
        "--root", metavar="FOLDER", readable=False, help="The folder to work in; default: the current folder."
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The model: an alias or a name from 'engine models'.",
        autocompletion=complete_model,
    ),
]
SandboxOption = Annotated[
    str | None,
    typer.Option("--sandbox", metavar="CHOICE", help="The sandbox for shell commands: auto, require, off, or a name."),
]
ModelOptionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="A setting of the model, such as top_p=0.9, seed=7 or temperature=none. May be repeated.",
    ),
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost", metavar="DOLLARS", min=0, help="Stop before the prompt and its child runs cost more than this."
    ),
]
MaxTokensOption = Annotated[
    int | None,
    typer.Option(
        "--max-tokens", metavar="N", min=0, help="Stop before the prompt and its child runs use more tokens than this."
    ),
]
MaxCallsOption = Annotated[
    int | None,
    typer.Option(
        "--max-calls", metavar="N", min=0, help="Stop the prompt and its child runs after this many model calls."
    ),
]
UtcOption = Annotated[bool, typer.Option("--utc", help="Show times in UTC.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
OutputOption = Annotated[
    str,
    typer.Option("--output", metavar="FORM", help="Print text, json, or stream-json (one JSON object per event)."),
]
KeepOutputOption = Annotated[
    Path | None,
    typer.Option(
        "--keep-output",
        metavar="FILE",
        readable=False,
        help="Also append the output of shell commands to FILE, which must be outside the working folder.",
    ),
]
WaitOption = Annotated[
    bool,
    typer.Option(
        "--wait/--no-wait", help="At the end, wait for commands that still run in the background, or stop them."
    ),
]
KeyFromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--key-from",
        metavar="PROVIDER=SOURCE",
        help="Where to read the key of a provider: env:VARIABLE, file:PATH, .env, project or user.",
        autocompletion=complete_key_source,
    ),
]
DemoOption = Annotated[
    bool,
    typer.Option(
        "--demo", help="For screen sharing: hide parts of paths, and the names that the setting demo_names lists."
    ),
]
EffortOption = Annotated[
    str | None,
    typer.Option(
        "--effort",
        metavar="LEVEL",
        help="How hard the model thinks: none, minimal, low, medium, high, xhigh or max. Also used for later "
        "prompts of the run.",
        autocompletion=complete_effort,
    ),
]


def is_alone(context: typer.Context, *options: object) -> bool:
    """Whether a group of commands was called without one of them, so that it lists; `options` are those given to it."""
    if context.invoked_subcommand and any(options):
        group = f"engine {context.info_name} {context.invoked_subcommand}"
        raise typer.BadParameter(f"put options after the subcommand: {group} …")
    return not context.invoked_subcommand


GlobalOption = Annotated[bool, typer.Option("--global", help="Apply it to every folder of this database.")]

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
