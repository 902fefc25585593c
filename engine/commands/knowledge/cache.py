"""`engine cache`: answers that are given again."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.cli.completion import complete_run
from engine.cli.databases import database_or_fresh, open_existing
from engine.cli.options import DbOption, JsonOption, is_alone
from engine.terminal.printing import print_json, print_table, say

app = typer.Typer(rich_markup_mode=None)

_STATS = """
select
    count(*) as answers,
    (select count(*) from answer_hits) as hits,
    coalesce(sum(is_expired), 0) as expired,
    (select value from settings where name = 'answer_cache') as answer_cache,
    (select value from settings where name = 'cache_similarity') as cache_similarity
from cached_answers
"""


@app.callback(invoke_without_command=True)
def cache(context: typer.Context, as_json: JsonOption = False, db: DbOption = None) -> None:
    """List and clear the cached answers.

    If a prompt is nearly the same as an earlier prompt, and the rest of the packet is the same, the run reuses the
    earlier answer at no cost. Only answers in which the model called no tool are cached. To use the cache, set
    answer_cache to 1 or give 'engine run --cache'.

    \b
    Examples:
      engine cache
      engine cache stats
      engine cache clear
    """
    if is_alone(context, as_json, db):
        list_(as_json=as_json, db=db)


@app.command("list")
def list_(as_json: JsonOption = False, db: DbOption = None) -> None:
    """List the cached answers, the latest first.

    \b
    Examples:
      engine cache list
      engine cache list --json
    """
    with database_or_fresh(db) as database:
        rows = database.rows("select * from cached_answers")
    if as_json:
        print_json(rows)
        return
    columns = ("run", "turn", "prompt", "answer", "hits", "is_found_by", "made_at", "is_expired")
    print_table(
        rows,
        columns,
        "no answers; to cache them: 'engine config answer_cache=1', or 'engine run --cache' for one prompt",
    )


@app.command()
def stats(as_json: JsonOption = False, db: DbOption = None) -> None:
    """Count the cached answers and how often they were used.

    \b
    Examples:
      engine cache stats
      engine cache stats --json
    """
    from engine.discovery.embedders import embedder, missing

    if embedder() is None:
        say(f"only equal prompts share answers; {missing()}")
    with database_or_fresh(db) as database:
        rows = database.rows(_STATS)
    if as_json:
        print_json(rows[0])
    else:
        print_table(rows, rows[0], "")


@app.command()
def clear(
    run: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="NAME", help="Remove only the cached answers of this run.", autocompletion=complete_run
        ),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Remove the cached answers. Finished runs keep their answers.

    \b
    Examples:
      engine cache clear
      engine cache clear --run demo
    """
    with open_existing(db) as database:
        before = database.value("select count(*) from cached_answers")
        database.insert("verb_forget_answers", run=run)
        after = database.value("select count(*) from cached_answers")
    if as_json:
        print_json({"forgotten": before - after})
    else:
        say(f"{before - after} answer{'' if before - after == 1 else 's'} forgotten")
