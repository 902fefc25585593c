"""A person's own personas, beside those that come with the engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import Conflict, NotFound, Overflow, PermissionDenied, ValidationError
from engine.system.descriptors import open_to_read

if TYPE_CHECKING:
    from engine.db.database import Store

LONGEST = 20_000
"""Characters of a persona."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def add(db: Store, file: Path, name: str | None = None) -> str:
    """Keep the text of a file as the persona `name`, by default that of the file; returns the name.

    Raises `ValidationError` (400) for another name than of letters, digits, '-', '_' and '.', and for an empty text or none;
    `Overflow` (413) above `LONGEST` characters; `NotFound` (404) and `PermissionDenied` (403) for a file that cannot be
    read; `Conflict` (409) for the name of a persona that comes with the engine.
    """
    name = file.stem if name is None else name
    if not _NAME.fullmatch(name):
        raise ValidationError(
            f"persona {name!r}: a name has 1 to 64 letters, digits, '-', '_' and '.'; choose a name with --name NAME"
        )
    text = _read(file)
    if db.value("select 1 from personas where name = ? and origin = 'engine'", (name,)):
        raise Conflict(f"persona {name!r}: is built in and cannot be changed; use --name NAME for your own")
    db.execute(
        "insert into personas (name, body, origin) values (?, ?, 'own') "
        "on conflict (name) do update set body = excluded.body",
        (name, text),
    )
    return name


def remove(db: Store, name: str) -> None:
    """Remove a persona; raises `NotFound` (404) where there is none, `Conflict` (409) for the engine's or a run's."""
    with db.transaction():
        origin = db.value("select origin from personas where name = ?", (name,))
        if origin is None:
            raise NotFound(f"persona {name!r}: not found; 'engine personas list' lists the personas")
        if origin == "engine":
            raise Conflict(f"persona {name!r}: is built in and cannot be removed")
        if runs := db.rows("select alias from runs where persona = ? order by id limit 3", (name,)):
            named = ", ".join(row["alias"] for row in runs)
            raise Conflict(
                f"persona {name!r}: is used by runs, such as {named}; to remove a run: engine runs purge RUN"
            )
        db.execute("delete from personas where name = ?", (name,))


def _read(file: Path) -> str:
    try:
        if not file.is_file():
            raise NotFound(f"{str(file)!r}: there is no such file")
        with open(open_to_read(file), "rb") as opened:
            text = opened.read(4 * LONGEST + 1).decode().strip()
    except UnicodeDecodeError as error:
        raise ValidationError(f"{str(file)!r}: is not UTF-8 text") from error
    except OSError as error:
        raise PermissionDenied(f"{str(file)!r}: cannot be read ({error.strerror})") from error
    if len(text) > LONGEST:
        raise Overflow(f"{str(file)!r}: a persona has at most {LONGEST:,} characters")
    if not text or "\0" in text:
        raise ValidationError(f"{str(file)!r}: is empty or not text")
    return text
