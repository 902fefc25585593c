"""`engine status`: what runs now, what waits for whom, leases, sizes, the cost of today; and what one run may do.

spec: @engine_status
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.completion import complete_run
from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption
from engine.cli.run_argument import run_or_latest
from engine.functions.counts import counted
from engine.terminal.hints import db_flag
from engine.terminal.printing import dollars, one_line, print_json, print_table, print_text, say, visible

from .open_work import driver_of, waits, work_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.api.database import Database
    from engine.db.database import Row
    from engine.db.log_file import LogFile

_COUNTS = """
    select
        (select count(*) from runs where archived_at is null) as runs,
        (select count(*) from runs where archived_at is not null) as archived_runs,
        (select count(*) from turns) as turns,
        (select count(*) from entries) as entries,
        (select count(*) from events) as events
"""
_TODAY = """
    select coalesce(sum(calls), 0) as answers, coalesce(sum(known_cost), 0.0) as known_cost,
        coalesce(sum(unknown_prices), 0) as unknown_prices
    from cost_by_day
    where day = date('now')
"""
_LEASES = "select run, holder, expires_at from run_leases order by run"


def status(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="Show the state and the rights of one run.", autocompletion=complete_run),
    ] = None,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Show which runs work now, and which wait for a decision.

    Below the runs you see the size of the database and today's cost. With RUN you see the state, model, tools, limits
    and grants of that run. Times and days are UTC.

    \b
    Examples:
      engine status
      engine status demo
      engine status demo --json | jq .capabilities.tools
    """
    from engine.db.log_file import log_of
    from engine.system.locate import database_to_read

    # before the database is opened: the index of its log is not read beside SQLite's locks
    log = log_of(database_to_read(db, Path.cwd()))
    with open_to_read(db) as database:
        alias = None if run is None else run_or_latest(database, run)
        work, leases = work_of(database, alias), _leases(database)
        if alias is not None:
            may = database.capabilities(alias)
            if as_json:
                print_json({"run": alias, "work": work, "capabilities": may})
            else:
                _print_work(work, db, f"{alias}: no open prompt")
                _print_capabilities(may)
            return
        about = {
            "file": _file(database, log),
            "counts": database.row(_COUNTS),
            "today": database.row(_TODAY),
            "work": work,
            "leases": leases,
        }
    if as_json:
        print_json(about)
        return
    _print_work(work, db, "no run is working or waiting")
    _print_file(about)


def _leases(db: Database) -> list[Row]:
    rows = db.rows(_LEASES)
    return [{**row, "holder": driver_of(row["holder"])} for row in rows]


def _file(db: Database, log: LogFile) -> dict[str, Any]:
    """The path of the file and its sizes in bytes."""
    place = db.path
    pages = {name: db.value(f"pragma {name}") for name in ("page_count", "freelist_count", "page_size")}
    return {
        "path": str(place),
        "bytes": pages["page_count"] * pages["page_size"],
        "free_bytes": pages["freelist_count"] * pages["page_size"],
        "log_bytes": log.size,
        "log_waiting_bytes": log.waiting,
        "log_readers": list(log.readers),
        "log_problem": log.told() if log.is_held_back else None,
    }


def _print_work(rows: list[Row], db: Path | None, none: str) -> None:
    shown = [
        {
            "run": row["run"],
            "state": row["state"],
            "turn": row["turn"],
            "waits for": waits(row, 80),
            "since": row["began_at"],
            "driver": "" if row["driver"] is None else f"process {row['driver']['pid']}",
            "prompt": one_line(row["prompt"], 60),
        }
        for row in rows
    ]
    print_table(shown, ("run", "state", "turn", "waits for", "since", "driver", "prompt"), none, spared=("turn",))
    for row in rows:
        if row["state"] == "stopped":
            say(f"{row['run']}: no process works on it; to continue: engine resume{db_flag(db)} {row['run']}", "yellow")
        elif row["waits_for"] == "person":
            say(
                f"{row['run']}: waits for you; 'engine proposals{db_flag(db)} {row['run']}' shows the decision",
                "yellow",
            )


def _print_file(about: Mapping[str, Any]) -> None:
    file, counts, today = about["file"], about["counts"], about["today"]
    archived = f" ({counts['archived_runs']} archived)" if counts["archived_runs"] else ""
    print_text("")
    print_text(f"file   {visible(file['path'])}: {_megabytes(file['bytes'])}, log {_megabytes(file['log_bytes'])}")
    print_text(
        f"holds  {counted(counts['runs'] + counts['archived_runs'], 'run')}{archived}, {counted(counts['turns'], 'turn')}"
    )
    print_text(f"today  {counted(today['answers'], 'answer')}, {_cost(today)}")
    if file["log_problem"]:
        say(f"{file['log_problem']}; end that program, or its transaction", "yellow")


def _cost(today: Mapping[str, Any]) -> str:
    """The cost of today's answers; some or all of them may have no known price."""
    answers, unknown = today["answers"], today["unknown_prices"]
    if answers and unknown == answers:
        return "price unknown"
    return dollars(today["known_cost"]) + (
        f" for {answers - unknown} of them; the price of the others is unknown" if unknown else ""
    )


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"


def _print_capabilities(may: Mapping[str, Any]) -> None:
    """Print what a run may do, a line for each kind."""
    model = may["model"]
    window = f", context {model['context_length']:,} tokens" if "context_length" in model else ""
    tier = f", tier {model['tier']}" if "tier" in model else ""
    lines = {
        "mode": may.get("mode"),
        "folder": may.get("folder") or "none: the run has no files and runs no commands",
        "persona": may.get("persona"),
        "model": f"{model.get('name', 'none')}{tier}{window}",
        "tools": ", ".join(may["tools"]),
        "closed": ", ".join(f"{name} ({why})" for name, why in may["closed_tools"].items()),
        "delegates": ", ".join(may["delegates"]),
        "flags": ", ".join(may["flags"]),
        "writes": ", ".join(f"{scheme}://" for scheme in may["writes"]),
        "files": ", ".join(f"{each['rule']} {each['pattern']}" for each in may["files"]),
        "grants": ", ".join(f"{each['kind']} {each['target']}" for each in may["grants"]),
        "limits": ", ".join(
            f"{name} {limit['value']}{'' if limit['origin'] == 'default' else ' (' + limit['origin'] + ')'}"
            for name, limit in may["limits"].items()
        ),
    }
    print_text("")
    for name, text in lines.items():
        if text:
            _print_named(name, str(text))


def _print_named(name: str, text: str) -> None:
    from engine.terminal.wrapping import line_width, wrapped

    for line in wrapped(visible(text), line_width(), f"{name:10}", " " * 10):
        typer.echo(line.rstrip())


__all__ = ["status"]
