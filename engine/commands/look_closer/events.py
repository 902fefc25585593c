"""`engine events`: what happened in the file, event by event: listed, followed, or exported by day.

spec: @engine_events
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.databases import open_to_read
from engine.cli.options import DbOption, JsonOption, UtcOption
from engine.cli.run_argument import RunFilter, run_or_latest
from engine.functions.counts import counted
from engine.terminal.printing import one_line, print_json, print_json_text, print_table, say, visible
from engine.terminal.times import clock, moment

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

_POLL_S = 0.2
_LATEST = 50
_MOST_AT_ONCE = 1_000
_CHOSEN = """
    select *
    from event_list
    where id > :after
        and (:since is null or created_at >= :since)
        and (:run is null or run = :run)
        and (:types is null or exists (select 1 from json_each(:types) as t where event_list.type glob t.value))
"""
_FORWARD = f"{_CHOSEN} and (:day is null or day = :day) order by id limit :most"
_NEWEST = f"{_CHOSEN} order by id desc limit :most"
_DAYS = f"select day, count(*) as events from ({_CHOSEN}) group by day order by day"  # noqa: S608 - a constant


def events(
    run: RunFilter = None,
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type", metavar="TYPE", help="Only events of this type, such as turn.asked or 'loop.*'. May be repeated."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="WHEN",
            help="Only events since this time: 2h, 7d, 2026-03-01 or '2026-03-01 14:30' (UTC).",
        ),
    ] = None,
    after: Annotated[
        int, typer.Option("--after", metavar="ID", help="Only events after the event with this id.", show_default=False)
    ] = 0,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", metavar="N", min=0, help="List only the latest N events; 0: all."),
    ] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print one JSON object per line.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait and print new events, until Ctrl-C.")] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FOLDER",
            readable=False,
            help="Write the events of each day to FOLDER/YYYY-MM-DD.jsonl.",
        ),
    ] = None,
    utc: UtcOption = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """List the events of the database, oldest first.

    Events are prompts, turns, decisions and changes of entries. Without an option you see the latest 50 events.
    --since, --after, --jsonl and --json list every matching event. To get only newer events next time, use --after
    with the id of the last event. Times are local; with --utc, in JSON and with --export they are UTC.

    \b
    Examples:
      engine events --since 2h --type 'loop.*'
      engine events demo --jsonl | jq .type
      engine events --follow
      engine events --since 7d --export audit
    """
    if sum((jsonl, as_json, export is not None)) > 1:
        raise typer.BadParameter("use only one of --jsonl, --json and --export")
    if follow and (as_json or export is not None):
        raise typer.BadParameter("--follow cannot be combined with --json or --export; use --jsonl")
    chosen: dict[str, Any] = {
        "after": after,
        "since": None if since is None else moment(since),
        "types": json.dumps(type_) if type_ else None,
        "day": None,
    }
    with open_to_read(db) as database:
        chosen["run"] = None if run is None else run_or_latest(database, run)
        if export is not None:
            _export(database, export, chosen)
        elif as_json:
            print_json([_data(row) for row in _rows(database, chosen, limit)])
        elif jsonl or follow:
            try:
                _print_lines(database, chosen, limit, jsonl=jsonl, follow=follow, utc=utc)
            except KeyboardInterrupt:
                say()
        else:
            everything = since is not None or after
            rows = list(_rows(database, chosen, limit if limit is not None or everything else _LATEST))
            print_table(
                [{**_shown(row), "created_at": clock(row["created_at"], utc=utc)} for row in rows],
                ("id", "created_at", "run", "turn", "type", "about"),
                "no such events",
            )


def _rows(db: Database, chosen: dict[str, Any], limit: int | None) -> Iterator[Row]:
    """The events in their order: the latest `limit`, or all for None and 0, read piece by piece."""
    if limit:
        yield from reversed(db.rows(_NEWEST, {**chosen, "most": limit}))
        return
    while rows := db.rows(_FORWARD, {**chosen, "most": _MOST_AT_ONCE}):
        yield from rows
        chosen = {**chosen, "after": rows[-1]["id"]}


def _print_lines(
    db: Database, chosen: dict[str, Any], limit: int | None, *, jsonl: bool, follow: bool, utc: bool
) -> None:
    """Print events as lines; with `follow` go on with those that come."""
    last = chosen["after"]
    first_limit = limit if limit is not None or jsonl else _LATEST
    for row in _rows(db, chosen, first_limit):
        _print_line(row, jsonl=jsonl, utc=utc)
        last = row["id"]
    last = max(last, db.value("select coalesce(max(id), 0) from events") if follow and not last else last)
    while follow:
        sys.stdout.flush()
        time.sleep(_POLL_S)
        for row in _rows(db, {**chosen, "after": last}, None):
            _print_line(row, jsonl=jsonl, utc=utc)
            last = row["id"]


def _print_line(row: Row, *, jsonl: bool, utc: bool) -> None:
    if jsonl:
        print_json_text(json.dumps(_data(row), ensure_ascii=False))
        return
    shown = _shown(row)
    words = (
        clock(row["created_at"], utc=utc),
        row["run"] or "-",
        "" if row["turn"] is None else f"turn {row['turn']}",
        row["type"],
        shown["about"],
    )
    typer.echo(visible("  ".join(str(word) for word in words if word)))


def _data(row: Row) -> Row:
    """An event for programs: its detail as JSON, not as the text of it."""
    return {**row, "detail": None if row["detail"] is None else json.loads(row["detail"])}


def _shown(row: Row) -> Row:
    """An event for people: what it is about, in a line."""
    detail = "" if row["detail"] is None else one_line(row["detail"], 120)
    return {**row, "about": " ".join(word for word in (row["path"] or "", detail) if word)}


def _export(db: Database, folder: Path, chosen: dict[str, Any]) -> None:
    """Write a file for each day; a file that is there is replaced when its day was read to the end."""
    from engine.system.toml_files import write_file

    days = db.rows(_DAYS, chosen)
    folder.mkdir(parents=True, exist_ok=True)
    for day in days:
        lines = [json.dumps(_data(row), ensure_ascii=False) for row in _rows(db, {**chosen, "day": day["day"]}, None)]
        write_file(folder / f"{day['day']}.jsonl", "".join(f"{line}\n" for line in lines))
    events = sum(day["events"] for day in days)
    say(f"{folder}: {counted(events, 'event')} in {counted(len(days), 'file')}" if days else "no such events")


__all__ = ["events"]
