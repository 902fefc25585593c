"""Rules for a project's files, by patterns: `add` takes files in, `ignore` leaves them out, `readonly` protects them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import NotFound, ValidationError
from engine.functions.paths import path_locate

from .root_names import root_names

if TYPE_CHECKING:
    from engine.db.database import Store

RULES = ("add", "ignore", "readonly")


def constrain(db: Store, root: Path, patterns: Sequence[str], rule: str) -> None:
    """Give the project in the folder `root` a rule for each of `patterns`, as `checked_patterns` gives them."""
    with db.transaction():
        db.execute(
            "insert into projects (name, root, created_at) values (:root, :root, now()) on conflict do nothing",
            {"root": str(root)},
        )
        for pattern in patterns:
            db.execute(
                "insert into file_constraints (project_id, pattern, rule, created_at) "
                "select id, ?, ?, now() from projects where root = ? "
                "on conflict (project_id, pattern) do update set rule = excluded.rule",
                (pattern, rule, str(root)),
            )


def release(db: Store, root: Path, patterns: Sequence[str]) -> None:
    """Remove the rules for `patterns`, all or none. Raises `NotFound` (404) for a pattern that has no rule."""
    with db.transaction():
        for pattern in patterns:
            found = db.value(
                "delete from file_constraints where pattern = ? "
                "and project_id = (select id from projects where root = ?) returning id",
                (pattern, str(root)),
            )
            if found is None:
                raise NotFound(f"pattern {pattern!r}: {str(root)!r} has no rule for it; 'engine files' lists the rules")


def checked_patterns(root: Path, patterns: Sequence[str], given_root: Path | None = None) -> list[str]:
    """The patterns to store, relative to the root: of a folder, all files in it.

    `given_root` is the root as it was typed. Raises `ValidationError` (400) for a path outside of the root.
    """
    names = root_names(str(root), [os.path.abspath(given_root or "."), os.environ.get("PWD", "")])
    checked = []
    for pattern in patterns:
        path = path_locate(pattern, names) or ""
        if path in ("", ".") or path.startswith("/") or ".." in path.split("/"):
            raise ValidationError(f"pattern {pattern!r}: use paths inside the working folder {str(root)!r}")
        is_folder = pattern.endswith("/") or os.path.isdir(root / path)
        checked.append(f"{path}/**" if is_folder else path)
    return checked
