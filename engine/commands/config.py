"""`engine config`: shows and changes the configuration of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .printing import print_json, print_text
from .shared import DbOption, JsonOption, RunArgument, absolute_model, open_to_read, open_to_write, run_or_latest


def config(
    run: RunArgument = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Use this model from now on.")] = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", metavar="N", min=0, max=2, help="Sampling temperature, 0 to 2.")
    ] = None,
    context_limit: Annotated[
        int | None, typer.Option("--context-limit", metavar="N", min=256, help="Context window in tokens.")
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show or change the configuration of a run. Queued prompts keep their model.

    \b
    Examples:
      engine config demo
      engine config demo --model local --context-limit 4096
    """
    from engine import runs
    from engine.locate import database_to_read
    from engine.model_choice import choose_model, sync_environment_models

    changes = {"model": model and absolute_model(model), "temperature": temperature, "context_limit": context_limit}
    changing = any(value is not None for value in changes.values())
    with open_to_write(database_to_read(db, Path.cwd())) if changing else open_to_read(db) as database:
        alias = run_or_latest(database, run)
        if changing:
            if model is not None:
                sync_environment_models(database)
                changes["model"] = choose_model(database, alias, absolute_model(model))
            runs.configure(database, alias, **changes)
        row = database.row(
            "select r.alias as run, r.model, r.persona, r.temperature, r.context_limit, p.name as project, p.root "
            "from runs as r join projects as p on p.id = r.project_id where r.alias = ?",
            (alias,),
        )
    assert row is not None, "a run has a project"
    if as_json:
        print_json(row)
        return
    for key, value in row.items():
        print_text(f"{key:13} {'(default)' if value is None else value}")
