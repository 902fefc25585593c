"""`engine find`: search what was said, done and read in runs."""

from __future__ import annotations

from typing import Annotated

import typer

from .completing import complete_run
from .printing import print_json, print_table, say
from .shared import DbOption, JsonOption, open_to_read, run_or_latest

_BEFORE, _AROUND = 40, 160
"""Characters of a text that are shown before the hit, and besides it."""

# Not LIKE, whose patterns must be short. lower() folds A to Z, as LIKE does.
_HITS = f"""
select
    run, turn, at, kind, path,
    trim(replace(replace(
        substr(text, max(place - {_BEFORE}, 1), length(:text) + {_AROUND}), char(13), ''
    ), char(10), ' ')) as snippet
from (
    select run, turn, at, kind, path, text, instr(lower(text), lower(:text)) as place
    from said
    where :run is null or run = :run
)
where place > 0
order by at desc, run, turn desc
"""  # noqa: S608 - two constants


def find(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to look for, as it stands.")],
    run: Annotated[
        str | None, typer.Option("--run", metavar="NAME", help="Only in this run.", autocompletion=complete_run)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Hits at most.")] = 50,
    seconds: Annotated[float, typer.Option("--timeout", metavar="N", min=0.001, help="Seconds at most.")] = 10.0,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Search what was said, done and read, the latest first.

    Prompts, responses, reasoning, results, errors, proposals, decisions, and the texts of entries and files. Whether
    letters are large or small makes no difference for A to Z. Times are UTC.

    \b
    Examples:
      engine find "port 8080"
      engine find TODO --run demo --json
    """
    from engine.errors import EngineError
    from engine.query import answer

    if not text:
        raise typer.BadParameter("the text is empty; name what to look for")
    with open_to_read(db) as database:
        alias = None if run is None else run_or_latest(database, run)
        try:
            found = answer(database, _HITS, {"text": text, "run": alias}, limit=limit, seconds=seconds)
        except EngineError as error:
            if error.status != 504:
                raise
            raise EngineError(
                f"the search took longer than {seconds:g} s; narrow it with --run, or allow it more with --timeout", 504
            ) from error
    if as_json:
        print_json(found.dicts())
    else:
        print_table(found.dicts(), found.columns, f"nothing that was said, done or read holds {text!r}")
    if found.cut:
        say(f"the latest {limit:,} hits; --limit N gives more")


__all__ = ["find"]
