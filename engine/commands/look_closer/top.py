"""`engine top`: the runs of a database, live.

spec: @engine_top
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.databases import open_to_read
from engine.cli.options import DbOption
from engine.functions.counts import counted
from engine.terminal.printing import cost_cell, dollars, one_line, print_text

from .open_work import waits, work_of

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

_FIGURES = """
    select
        r.alias as run, c.cost,
        (select sum(t.prompt_tokens) from turns as t where t.run_id = r.id) as tokens_in,
        (select sum(t.completion_tokens) from turns as t where t.run_id = r.id) as tokens_out,
        (
            select t.context_tokens from turns as t
            where t.run_id = r.id and t.context_tokens is not null
            order by t.sequence desc limit 1
        ) as context_tokens,
        (
            select b.ceiling from loops as l join _loop_ceilings as b on b.loop_id = l.id
            where l.run_id = r.id
            order by l.status = 102 desc, l.sequence desc limit 1
        ) as ceiling
    from runs as r
    join _run_costs as c on c.run_id = r.id
    where r.alias = ?
"""
_ENDED = """
    select r.alias as run, s.name as word, r.updated_at
    from runs as r
    join _run_statuses as q on q.run_id = r.id
    join statuses as s on s.code = q.status
    where r.archived_at is null and r.status in (200, 499, 500)
    order by r.updated_at desc
    limit 5
"""
_TODAY = "select sum(known_cost) as cost, sum(calls) as calls from cost_by_day where day = date('now')"
_CHANGED = "pragma data_version"
_ORDER = ("running", "waiting", "stopped", "queued")
_HEADS = ("run", "state", "turn", "context", "of", "in", "out", "cost", "for", "waits for", "prompt")
_SPARED = ("in", "out", "of", "context", "for", "turn")
"""What a narrow terminal lacks first, so that it shows what each run waits for."""
_RIGHT = frozenset(("turn", "context", "of", "in", "out", "cost", "for"))
_MOST_RUNS = 100
_SHARE = 20
"""Reading takes at most this part of the time: after one that was slow the next one waits longer."""
_ANYWAY_S = 10.0
"""After so long the file is read though nothing has changed: a driver that was killed writes nothing."""


def top(
    every: Annotated[
        float,
        typer.Option("--every", metavar="SECONDS", min=0.1, max=3600, help="Look for changes every SECONDS seconds."),
    ] = 1.0,
    db: DbOption = None,
) -> None:
    """Watch the runs that work or wait, live. Ctrl-C ends the display.

    For each run you see its turn, the tokens in its context, the token limit, its cost, and the decision or run that
    it waits for. 'in' and 'out' are the tokens that its models read and wrote. Without a terminal the table is
    printed once.

    \b
    Examples:
      engine top
      engine top --every 0.5
      engine top --db ~/work/.engine/engine.db
    """
    with open_to_read(db) as database:
        if not sys.stdout.isatty():
            for line in _lines(_read(database), None):
                print_text(line)
            return
        with suppress(KeyboardInterrupt):
            _watch(database, every)


def _watch(db: Database, every: float) -> None:
    from engine.terminal.frame import Frame

    frame = Frame(sys.stdout)
    found, version, due = None, None, 0.0
    while True:
        began = time.monotonic()
        now = db.value(_CHANGED)
        if found is None or (began >= due and (now != version or began >= due + _ANYWAY_S)):
            version = now
            found = _read(db)
            due = time.monotonic() + (time.monotonic() - began) * _SHARE
        frame.draw(_lines(found, frame.width))
        time.sleep(every)


def _read(db: Database) -> dict[str, Any]:
    """What a frame shows."""
    work = sorted(work_of(db), key=lambda row: (_ORDER.index(row["state"]), row["run"]))
    figures: dict[str, Row] = {}
    for row in work[:_MOST_RUNS]:
        if row["run"] not in figures:
            figures[row["run"]] = db.row(_FIGURES, (row["run"],)) or {}
    return {
        "path": str(db.path),
        "work": work,
        "figures": figures,
        "ended": db.rows(_ENDED),
        "today": db.row(_TODAY) or {},
    }


def _lines(found: dict[str, Any], width: int | None) -> list[str]:
    """The lines of a frame, for a terminal of that width; how long something takes counts on between two reads."""
    work = found["work"]
    states = [f"{sum(row['state'] == state for row in work)} {state}" for state in _ORDER]
    today = found["today"]
    answers = counted(today.get("calls") or 0, "answer")
    lines = [
        f"{', '.join(states)}; today {answers}, {dollars(today.get('cost') or 0.0)}  {one_line(found['path'], 200)}",
        "",
    ]
    rows = [_cells(row, found["figures"].get(row["run"], {})) for row in work[:_MOST_RUNS]]
    lines += _table(rows, width) if rows else ["no run is working or waiting"]
    if len(work) > _MOST_RUNS:
        lines.append(f"… {len(work) - _MOST_RUNS} more")
    if found["ended"]:
        lines += ["", "ended last"]
        now = time.time()
        for row in found["ended"]:
            lines.append(f"  {one_line(row['run'], 40)}: {row['word']}, {_span(now - row['updated_at'] / 1000)} ago")
    return lines


def _cells(row: Row, figures: Row) -> dict[str, str]:
    began = datetime.strptime(row["began_at"][:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return {
        "run": one_line(row["run"], 32),
        "state": row["state"],
        "turn": _whole(row["turn"]),
        "context": _whole(figures.get("context_tokens")),
        "of": _whole(figures.get("ceiling")),
        "in": _whole(figures.get("tokens_in")),
        "out": _whole(figures.get("tokens_out")),
        "cost": cost_cell(figures.get("cost")),
        "for": _span((datetime.now(UTC) - began).total_seconds()),
        "waits for": waits(row, 40),
        "prompt": one_line(row["prompt"], 60),
    }


def _table(rows: list[dict[str, str]], width: int | None) -> list[str]:
    from engine.terminal.wrapping import cells

    widths = {head: max(len(head), *(cells(row[head]) for row in rows)) for head in _HEADS}
    for head in _SPARED if width is not None else ():
        # the prompt may be cut
        if sum(widths.values()) + 2 * len(widths) - widths["prompt"] > (width or 0):
            del widths[head]

    def line(values: dict[str, str]) -> str:
        told = []
        for head in widths:
            room = " " * (widths[head] - cells(values[head]))
            told.append(room + values[head] if head in _RIGHT else values[head] + room)
        return "  ".join(told).rstrip()

    return [line({head: head for head in widths}), *map(line, rows)]


def _whole(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _span(seconds: float) -> str:
    """A span in its largest unit."""
    seconds = max(int(seconds), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


__all__ = ["top"]
