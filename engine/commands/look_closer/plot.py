"""`engine plot`: the context, cost and time of a run over its turns, as charts.

spec: @engine_plot
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption
from engine.cli.run_argument import RunArgument, run_or_latest
from engine.terminal.charts import chart, columns
from engine.terminal.printing import print_json, print_text, say

if TYPE_CHECKING:
    from engine.db.database import Row

_TURNS = """
    select
        p.turn, p.source as run, t.context_tokens, b.ceiling, t.cost, t.ms_model, t.ms_engine,
        t.response is not null and t.cost is null as is_unknown
    from past_turns as p
    join turns as t on t.id = p.turn_id
    left join _loop_ceilings as b on b.loop_id = t.loop_id
    where p.run = ?
    order by p.turn
"""
_HEIGHT = 6
_SCALE = 10
"""Characters of the scale at the left."""


class _Chart(NamedTuple):
    """A figure of each turn: what it is, its column, how a number of it is written, and whether neighbours add up."""

    title: str
    column: str
    told: Callable[[float], str]
    adds: bool


_CHARTS = (
    _Chart("context, in tokens", "context_tokens", lambda value: f"{value:,.0f}", adds=False),
    _Chart("cost, in US dollars", "cost", lambda value: f"{value:.4f}", adds=True),
    _Chart("time, in seconds", "seconds", lambda value: f"{value:.1f}", adds=True),
)


def plot(run: RunArgument = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Draw the context, cost and time of a run over its turns.

    Each column is a turn. On a narrow screen a column combines several turns: it shows their largest context, and the
    sum of their costs or times. If the run is a fork, the turns before the fork are shown, too.

    \b
    Examples:
      engine plot
      engine plot demo --json
    """
    with open_to_read(db) as database:
        alias = run_or_latest(database, run)
        rows = database.rows(_TURNS, (alias,))
    for row in rows:
        spent = [each for each in (row["ms_model"], row["ms_engine"]) if each is not None]
        row["seconds"] = sum(spent) / 1000 if spent else None
    if as_json:
        print_json([{name: row[name] for name in row if name != "is_unknown"} for row in rows])
        return
    if not rows:
        say(f"{alias}: no turn has begun yet")
        return
    width = shutil.get_terminal_size().columns
    for each in _CHARTS:
        for line in _drawn(each, rows, width):
            print_text(line)


def _drawn(of: _Chart, rows: Sequence[Row], width: int) -> Iterator[str]:
    """The lines of a chart: its title, columns with a scale, and the numbers of the first and the last turn."""
    values = [row[of.column] for row in rows]
    known = [value for value in values if value is not None]
    yield f"{of.title}{_about(of, rows, known)}"
    if not any(known):
        yield ""
        return
    joined = columns(values, width - _SCALE - 2, adds=of.adds)
    most = max(each for each in joined if each is not None)
    for at, line in enumerate(chart(joined, _HEIGHT, most)):
        scale = of.told(most) if at == 0 else "0" if at == _HEIGHT - 1 else ""
        yield f"{scale:>{_SCALE}} │{line.rstrip()}"
    first, last = str(rows[0]["turn"]), str(rows[-1]["turn"])
    gap = max(len(joined) - len(first) - len(last), 1)
    yield f"{'turn':>{_SCALE}}  {first}{' ' * gap + last if last != first else ''}"
    yield ""


def _about(of: _Chart, rows: Sequence[Row], known: Sequence[float]) -> str:
    """What is said beside the title: the sum or the ceiling, and what is unknown."""
    if not known:
        return ": none known"
    if not of.adds:
        ceilings = [row["ceiling"] for row in rows if row["ceiling"] is not None]
        return f", of {ceilings[-1]:,} at most" if ceilings else ""
    unknown = sum(row["is_unknown"] for row in rows) if of.column == "cost" else 0
    more = f", and {unknown} of unknown price" if unknown else ""
    return f", {of.told(sum(known))} in all{more}"


__all__ = ["plot"]
