"""Draws a run as a story: the prompt, what was done with what came of it, the answer.

What the engine says begins at the left; texts of people, models and processes are indented or behind a mark.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from engine.display.statuses import result_word
from engine.terminal.printing import paint, shown_path, visible
from engine.terminal.times import clock
from engine.terminal.wrapping import line_width, wrapped

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row

STORY = """
select *, (select s.name from statuses as s where s.code = told.status) as word
from (
    select loop, turn, place, step, kind, action, target, status, outcome, exit_code, seconds, changes, outputs, decided_by,
        body, message, created_at
    from run_story
    where run = :run
    union all
    select
        l.sequence, t.sequence, t.sequence, -0.5, 'said', null, null, null, null, null, null, null, null, null,
        p.prose, null, null
    from runs as r
    join turns as t on t.run_id = r.id
    join loops as l on l.id = t.loop_id
    join _response_prose as p on p.turn_id = t.id
    where r.alias = :run and trim(p.prose) not in ('', trim(coalesce(l.answer, '')))
    union all
    select
        l.sequence, t.sequence, t.sequence, -1, 'cached', null, null, null, null, null, null, null, null, null,
        h.words, null, null
    from runs as r
    join turns as t on t.run_id = r.id
    join loops as l on l.id = t.loop_id
    join _event_words as h on h.turn_id = t.id and h.kind = 'answer.cached'
    where r.alias = :run
) as told
where :turn is null or turn = :turn
order by loop, place, step
"""
"""The rows of `run_story`, what the model said besides its commands, and which answers came from the cache."""

_LAST_LINES = 5
"""Lines of an output that are shown, the last ones."""
_TEXT_LINES = 8
"""Lines of a command's text that are shown, the first ones."""
_INDENT = "    "


def story(db: Database, run: str, turn: int | None, *, full: bool) -> list[Row]:
    """The story of a run, or what happened in one of its turns; with `full` outputs are whole."""
    rows = db.rows(STORY, {"run": run, "turn": turn})
    for row in rows:
        row["outputs"] = json.loads(row["outputs"] or "[]")
        for output in row["outputs"] if full else []:
            output["tail"] = db.value(
                "select body from known_entries where run = ? and path = ?", (run, output["path"])
            )
    return rows


def print_story(rows: Sequence[Row], run: str, flag: str, *, full: bool, utc: bool = False) -> None:
    """Print the rows of a story; `flag` is the --db of the command line, for the commands that are shown."""
    width = line_width()
    room = max((len(_fact(row)) for row in rows), default=0)
    for number, row in enumerate(rows):
        if row["kind"] == "prompt" and number:
            typer.echo()
        show = None if full else f"engine log{flag} {run} --full" + (f" --turn {row['turn']}" if row["turn"] else "")
        if row["kind"] == "prompt":
            row["created_at"] = f"{clock(row['created_at'], utc=utc)}{' UTC' if utc else ''}"
        for line, colour in _lines(row, width, room, show):
            typer.echo(paint(line, None if colour == "dim" else colour, dim=colour == "dim", stream=sys.stdout))


def _lines(row: Row, width: int | None, room: int, show: str | None) -> Iterator[tuple[str, str | None]]:
    """The lines of a row, each with its colour."""
    match row["kind"]:
        case "prompt":
            yield f"prompt {row['loop']} ({row['action']}, {row['created_at']})", "dim"
            yield from _plainly(wrapped(_seen(row["body"]), width, "> ", "> "), "cyan")
        case "said":
            yield from _plainly(wrapped(_seen(row["body"]).strip("\n"), width, _INDENT, _INDENT), None)
        case "cached":
            yield from _plainly(
                wrapped(f"[{row['turn']}] from the answer cache, $0.0000 ({_seen(row['body'])})", width, "", _INDENT),
                "dim",
            )
        case "answer":
            reason = f": {_seen(row['message'])}" if row["message"] not in (None, "", row["action"]) else ""
            colour = "green" if row["status"] < 300 else "red"
            yield from _plainly(wrapped(f"{row['action']}{_aside(row)}{reason}", width, "", _INDENT), colour)
            if row["body"]:
                yield from _plainly(wrapped(_seen(row["body"]).rstrip("\n"), width, "  ", "  "), None)
        case _:
            yield from _command(row, width, room, show)


def _command(row: Row, width: int | None, room: int, show: str | None) -> Iterator[tuple[str, str | None]]:
    """What was done: the line itself, more of its text, what came of it, the end of its output."""
    first, _, more = _seen(shown_path(row["target"] or "") or row["body"] or "").strip("\n").partition("\n")
    text = more if row["target"] is None else _seen(row["body"] or "")
    colour = _colour(row)
    turn = "-" if row["turn"] is None else row["turn"]
    head = f"[{turn}] {_fact(row):<{room}} " if room else f"[{turn}] "
    # an error without a command has its text below; its path is made of that
    named = (
        "error" if row["kind"] == "note" and row["action"] == "error" and row["message"] else f"{row['action']} {first}"
    )
    lines = wrapped(f"{named}{_aside(row)}".rstrip(), width, head, _INDENT)
    yield from _plainly(lines, colour)
    if text.strip():
        texts = wrapped(text.strip("\n"), width, _INDENT, _INDENT)
        yield from _plainly(_shortened(texts) if show else texts, "dim")
    for change in _several(row["changes"]):
        yield from _plainly(wrapped(f"{_counts([change])} {_seen(change['path'])}", width, _INDENT, _INDENT * 2), None)
    if row["message"]:
        # a question, or the path of what was read, stands in the line above
        told = wrapped(_seen(row["message"]).strip("\n").removeprefix(f"{first}\n"), width, _INDENT, _INDENT)
        yield from _plainly(_shortened(told) if show and row["status"] < 400 else told, colour)
    for output in row["outputs"]:
        yield from _output(output, width, show)


def _output(output: Mapping[str, Any], width: int | None, show: str | None) -> Iterator[tuple[str, str | None]]:
    """The last lines of an output, and how to see the lines before them."""
    lines = output["tail"].removesuffix("\n").split("\n")
    last = lines[-_LAST_LINES:] if show else lines
    before = output["lines"] - len(last)
    if before > 0:
        count = f"{before:,} line{'s' if before > 1 else ''} before: {show}"
        yield from _plainly(wrapped(count, width, f"{_INDENT}… ", f"{_INDENT}  "), "dim")
    for line in last:
        yield from _plainly(wrapped(_seen(line), width, f"{_INDENT}| ", f"{_INDENT}| "), "dim")


def _fact(row: Row) -> str:
    """What came of a command in a word: lines changed, exit code, how it failed."""
    if row["kind"] not in ("command", "note", "step"):
        return ""
    if row["exit_code"] is not None:
        return f"exit {row['exit_code']}"
    if changes := json.loads(row["changes"] or "[]"):
        return _counts(changes)
    if word := result_word({row["status"]: row["word"]}, row["status"], row["outcome"]):
        return word
    return str(row["outcome"] or "") if row["kind"] == "command" else ""


def _counts(changes: Sequence[Mapping[str, Any]]) -> str:
    """The lines that were added and removed, '+?' where that is not known."""
    added, removed = ([change[key] for change in changes] for key in ("added", "removed"))
    if None in added:
        return "+? -?"
    return f"+{sum(added)} -{sum(removed)}"


def _several(changes: str | None) -> list[dict[str, Any]]:
    """The changed files of a command, where they are more than one."""
    found: list[dict[str, Any]] = json.loads(changes or "[]")
    return found if len(found) > 1 else []


def _aside(row: Row) -> str:
    """How long a command ran and who decided on it."""
    told = [f"{row['seconds']:g} s"] if row["seconds"] is not None else []
    told += [f"by {_seen(row['decided_by'])}"] if row["decided_by"] else []
    return f" ({', '.join(told)})" if told else ""


def _colour(row: Row) -> str | None:
    if row["exit_code"]:
        return "yellow"
    return "red" if row["status"] >= 400 else "yellow" if row["status"] == 202 else None


def _shortened(lines: list[str]) -> list[str]:
    left = len(lines) - _TEXT_LINES
    return lines if left <= 1 else [*lines[:_TEXT_LINES], f"{_INDENT}… {left} more lines"]


def _plainly(lines: Sequence[str], colour: str | None) -> Iterator[tuple[str, str | None]]:
    return ((line, colour) for line in lines)


def _seen(text: str) -> str:
    """A text of somebody else, without carriage returns at line ends and with escapes for what acts on a terminal."""
    return visible(text.replace("\r\n", "\n"))


__all__ = ["print_story", "story"]
