"""Options of `engine context` that change the visibility of entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

if TYPE_CHECKING:
    from engine.api.database import Database


def _patterns(name: str, says: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(f"--{name}", metavar="PATTERN", help=says)
    return option


VisibleOption = Annotated[
    list[str] | None, _patterns("visible", "From now on, show the model the full text of these entries.")
]
SummarizedOption = Annotated[
    list[str] | None, _patterns("summarized", "From now on, show the model a summary of these entries.")
]
ArchivedOption = Annotated[
    list[str] | None, _patterns("archived", "From now on, do not show these entries to the model.")
]


def move(database: Database, run: str, moves: Mapping[str, Sequence[str] | None]) -> None:
    """Change the visibility of entries in the context of `run`; `moves` has paths or patterns by visibility.

    All of them are changed or none. Raises the error of the command that fails, such as `NotFound` (404) for a path
    that matches nothing.
    """
    from engine.errors import error_for

    with database.transaction():
        for visibility, patterns in moves.items():
            for pattern in patterns or ():
                request = uuid4().hex
                database.insert("verb_set", run=run, path=pattern, visibility=visibility, request_id=request)
                result = database.row(
                    "select state, status, message from command_results where request_id = ?", (request,)
                )
                if result and result["state"] == "failed":
                    raise error_for(result["status"], f"run {run!r}: {result['message']}")
