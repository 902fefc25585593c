"""`engine costs`: what the answers of models cost, by day, model or run, with a bar for each."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_run
from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption, UtcOption
from engine.cli.run_argument import run_or_latest
from engine.functions.counts import counted
from engine.terminal.printing import cost_cell, dollars, print_json, print_table, print_text

if TYPE_CHECKING:
    from engine.db.database import Row

_COSTS = """
    select
        case :by when 'day' then day when 'model' then model else run end as name,
        sum(calls) as calls,
        sum(prompt_tokens) as prompt_tokens,
        sum(completion_tokens) as completion_tokens,
        case sum(unknown_prices) when 0 then sum(known_cost) end as cost,
        sum(unknown_prices) as unknown_prices,
        sum(known_cost) as known_cost
    from cost_by_day
    where run = coalesce(:run, run)
    group by 1
    order by 1
"""
_LOCAL_DAYS = """
    select
        date(a.at / 1000.0, 'unixepoch', 'localtime') as name,
        count(*) as calls,
        coalesce(sum(t.prompt_tokens), 0) as prompt_tokens,
        coalesce(sum(t.completion_tokens), 0) as completion_tokens,
        case count(*) when count(t.cost) then sum(t.cost) end as cost,
        count(*) - count(t.cost) as unknown_prices,
        sum(t.cost) as known_cost
    from _answers as a
    join turns as t on t.id = a.turn_id
    join runs as r on r.id = a.run_id
    where r.alias = coalesce(:run, r.alias)
    group by 1
    order by 1
"""
"""As `cost_by_day`, whose days are UTC."""
_TREE = """
    select o.tree_cost as cost, (
        select coalesce(sum(c.calls), 0)
        from tree_runs as t
        join cost_by_day as c on c.run = t.run
        where t.top = o.run
    ) as calls
    from run_overview as o
    where o.run = ? and exists (select 1 from tree_runs as t where t.top = o.run and t.level > 0)
"""
"""What a run that gave work away cost with all runs below it."""
_CELLS = 10
"""The longest bar."""


class By(StrEnum):
    """What a row of the costs is for."""

    DAY = "day"
    MODEL = "model"
    RUN = "run"


def costs(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Only this run; default: all.", autocompletion=complete_run)
    ] = None,
    by: Annotated[
        By, typer.Option("--by", metavar="day|model|run", help="Print one row per day, model or run.")
    ] = By.DAY,
    utc: UtcOption = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show what models cost in US dollars.

    Bars compare the costs, or the tokens if no price is known. Child runs have rows of their own. The last line is
    the sum. Days are local; with --utc and in JSON they are UTC. A cost is 'unknown' if the provider reports no cost
    and you have set no price. To set a price, use 'engine models add ALIAS MODEL --price IN/OUT'. In JSON, known_cost
    is the sum of the known costs.

    \b
    Examples:
      engine costs
      engine costs --by model
      engine costs demo --json
    """
    with open_to_read(db) as database:
        alias = None if run is None else run_or_latest(database, run)
        is_local = by is By.DAY and not (utc or as_json)
        rows = database.rows(_LOCAL_DAYS if is_local else _COSTS, {"by": by.value, "run": alias})
        tree = database.row(_TREE, (alias,))
    if as_json:
        print_json([{by.value: row["name"], **{key: row[key] for key in row if key != "name"}} for row in rows])
        return
    shown = [
        {
            by.value: row["name"],
            "calls": row["calls"],
            "in": row["prompt_tokens"],
            "out": row["completion_tokens"],
            "cost": _told(row),
            "": bar,
        }
        for row, bar in zip(rows, _bars(rows), strict=True)
    ]
    print_table(
        shown,
        (by.value, "calls", "in", "out", "cost", ""),
        "no model has answered yet" if tree is None else f"{alias} itself asked no model",
    )
    if tree is not None:
        calls = counted(tree["calls"], "call")
        print_text(
            f"with the runs below {alias}: {calls}, {dollars(tree['cost'])}; 'engine costs --by run' lists each run"
        )


def _told(row: Row) -> str:
    """The cost of a row; where only some of its prices are known, their sum and how many are not."""
    if row["cost"] is None and row["known_cost"] is not None:
        return f"{cost_cell(row['known_cost'])} + {row['unknown_prices']} unknown"
    return cost_cell(row["cost"])


def _bars(rows: Sequence[Row]) -> list[str]:
    """A bar for each row, as long as its share of the greatest."""
    amounts = [row["known_cost"] or 0 for row in rows]
    if not any(amounts):
        amounts = [row["prompt_tokens"] + row["completion_tokens"] for row in rows]
    greatest = max(amounts, default=0)
    return ["" if not amount else "█" * max(1, round(_CELLS * amount / greatest)) for amount in amounts]


__all__ = ["costs"]
