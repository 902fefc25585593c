"""What the paths on a command line find among the entries of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from engine.terminal.hints import nearest

from .completion import complete_path

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row


EntryPath = Annotated[
    str,
    typer.Argument(
        metavar="PATH", help="An entry (known://plan), or a file of the run's folder.", autocompletion=complete_path
    ),
]
Destination = Annotated[
    str,
    typer.Argument(
        metavar="TO",
        help="The new path. An existing entry or file at this path is replaced.",
        autocompletion=complete_path,
    ),
]
_MOST_NEAR = 5_000
"""Paths among which the nearest one is looked for."""
_FOUND = """
select k.path, k.category, k.visibility, k.state, k.turn, k.tokens, k.lines, k.attributes, k.body, u.outcome, u.message
from runs as r
cross join _run_paths as p on p.run_id = r.id
cross join entries as e on e.id = p.entry_id
cross join known_entries as k on k.run = r.alias and k.scope = e.scope and k.path = e.path
cross join schemes as s on s.name = p.kind
left join _unreadable_files as u on u.entry_id = p.entry_id
where r.alias = :run and """
_NAMED = f"{_FOUND} p.path = :path"
_MATCHED = f"""{_FOUND}
    s.model_visible and (instr(:path, '://') > 1) = (p.scheme is not null) and pattern_match(:path, p.path)
order by k.path
"""


def found(db: Database, run: str, path: str) -> tuple[bool, list[Row]]:
    """Whether `path` is a glob, and the entries that it finds, at least one; raises `NotFound` (404) where there is
    none.
    """
    from engine.errors import NotFound, ValidationError

    named = {"run": run, "path": path}
    exact = db.rows(_NAMED, named)
    is_glob = not exact and bool(db.value("select path_is_pattern(?)", (path,)))
    if is_glob and (wrong := db.value("select pattern_error(?)", (path,))):
        raise ValidationError(wrong)
    rows = db.rows(_MATCHED, named) if is_glob else exact
    if not rows:
        recent = "select path from known_entries where run = ? and not ? order by turn desc limit ?"
        # to a glob no path is near
        names = db.tuples(recent, (run, is_glob, _MOST_NEAR))
        hint = nearest(
            path, (name for (name,) in names), f"'engine entry get {run} \"**\"' lists files, 'engine context' more"
        )
        raise NotFound(f"run {run!r}: {path} not found; {hint}")
    return is_glob, rows


def stored_path(given: str | None) -> str | None:
    """A path that a person gave, with letters or with escapes for them, as it is stored.

    Raises `UnicodeEncodeError` for what is no text of Unicode: it would be the path of something else.
    """
    from engine.functions.paths import path_normalize

    if given is not None:
        given.encode()
    return path_normalize(given)
