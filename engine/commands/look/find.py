"""`engine find`: search what was said, done and read in runs, and what is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.databases import open_existing, open_to_read
from engine.cli.options import DbOption, JsonOption, UtcOption
from engine.cli.run_argument import RunFilter, run_or_latest
from engine.terminal.printing import one_line, print_json, print_table, say, shown_path
from engine.terminal.times import clock

if TYPE_CHECKING:
    from engine.api.database import Database

_SHOWN_FROM = 2_000
"""Texts that are read from so many on are told of."""
_BEFORE, _AROUND = 40, 160
"""Characters of a text that are shown before the hit, and besides it."""

# Not LIKE, whose patterns must be short. lower() folds A to Z, as LIKE does.
_HITS = f"""
select
    run, turn, created_at, kind, path,
    trim(replace(replace(
        substr(body, max(place - {_BEFORE}, 1), length(:text) + {_AROUND}), char(13), ''
    ), char(10), ' ')) as snippet
from (
    select run, turn, created_at, kind, path, body, instr(lower(body), lower(:text)) as place
    from said
    where :run is null or run = :run
)
where place > 0
order by created_at desc, run, turn desc
"""  # noqa: S608 - two constants


def find(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text to search for.")],
    run: RunFilter = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Show at most N hits.")] = 50,
    seconds: Annotated[
        float, typer.Option("--timeout", metavar="N", min=0.001, help="Stop searching after N seconds.")
    ] = 10.0,
    meaning: Annotated[
        bool,
        typer.Option("--meaning", help="Also list the entries, files, rules, skills and tools that fit TEXT best."),
    ] = False,
    utc: UtcOption = False,
    as_json: JsonOption = False,
    db: DbOption = None,
) -> None:
    """Search prompts, answers, results, files and entries.

    The search includes reasoning, errors, proposals and decisions. The latest hits come first. Letter case is ignored
    (A-Z). Times are local; with --utc and in JSON they are UTC.

    --meaning also lists the tools, skills, rules, files and entries that fit TEXT best. It compares meanings if the
    extra 'meaning' is installed, otherwise words. It stores an index in the database.

    \b
    Examples:
      engine find "port 8080"
      engine find TODO demo --json
      engine find --meaning "who may approve a payment"
    """
    from engine.db.query import answer
    from engine.errors import EngineError

    if not text:
        raise typer.BadParameter("the text is empty; give the words to look for")
    with _opened(db, meaning) as database:
        alias = None if run is None else run_or_latest(database, run)
        try:
            found = answer(database, _HITS, {"text": text, "run": alias}, limit=limit, seconds=seconds)
        except EngineError as error:
            if error.status != 504:
                raise
            raise EngineError(
                f"the search took longer than {seconds:g} s; name a RUN to search, or allow more with --timeout", 504
            ) from error
        known = _known(database, text, alias, limit) if meaning else []
    rows = [*found.dicts(), *known]
    if as_json:
        print_json(rows)
    else:
        shown = [
            {
                **row,
                "path": shown_path(row["path"] or ""),
                "created_at": row["created_at"] and clock(row["created_at"], utc=utc),
            }
            for row in rows
        ]
        print_table(shown, found.columns, f"no prompt, answer, result, file or entry contains {text!r}")
    if found.cut:
        say(f"the latest {limit:,} hits; --limit N shows more")


def _opened(db: Path | None, meaning: bool) -> Database:
    """The database; open for writing where the index of what is known is to be brought up to date."""
    return open_existing(db) if meaning else open_to_read(db)


def _known(database: Database, text: str, alias: str | None, limit: int) -> list[dict[str, Any]]:
    """What is about `text`, in the columns of the hits; of a run only entries that it sees."""
    from engine.discovery.embedders import embedder, missing
    from engine.discovery.finding import discover_or_words

    if embedder() is None:
        say(f"compared words only, not meanings; {missing()}")
    run = database.value("select id from runs where alias = ?", (alias,))
    kinds = ("skill", "entry") if run else ("tool", "skill", "rule", "mcp", "entry")
    found, failure = discover_or_words(database, text, kinds=kinds, run_id=run, limit=min(limit, 20), progress=_told)
    if failure:
        say(f"compared words only, not meanings; {one_line(failure, 300)}")
    return [
        {
            "run": alias,
            "turn": None,
            "created_at": None,
            "kind": row["kind"],
            "path": _path(row) if row["line"] == 1 else f"{_path(row)}:{row['line']}",
            "snippet": " ".join(row["beginning"].split())[: _BEFORE + _AROUND],
        }
        for row in found
    ]


def _path(found: dict[str, Any]) -> str:
    return f"skill://{found['name']}" if found["kind"] == "skill" else str(found["name"])


def _told(done: int, total: int) -> None:
    if total > _SHOWN_FROM:
        say(f"reading texts: {done:,} of {total:,}", dim=True)


__all__ = ["find"]
