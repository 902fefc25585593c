"""The absolute paths by which a project's root is known, so that an absolute path inside it names its file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.system.durable import real_path

if TYPE_CHECKING:
    from engine.db.database import Store


def note_root(db: Store, run: str, given: str | os.PathLike[str] | None) -> None:
    """Store in `projects.root_names` how the root of a run's project is called: as it is, as `given`, through `$PWD`."""
    project = db.row(
        "select p.id, p.root, p.root_names from runs as r join projects as p on p.id = r.project_id where r.alias = ?",
        (run,),
    )
    if project is None or project["root"] is None:
        return
    before = json.loads(project["root_names"] or "{}")
    spellings = [os.path.abspath(given) if given else "", os.environ.get("PWD", ""), *before.get("names", ())]
    names = before | json.loads(root_names(project["root"], spellings))
    if names != before:
        db.execute("update projects set root_names = ? where id = ?", (json.dumps(names), project["id"]))


def root_names(root: str, spellings: Iterable[str]) -> str:
    """The JSON for `path_locate` of a root: its own path, and what `spellings`, paths above, at or in it, lead to."""
    found = [root, *(name for spelling in spellings for name in _names_through(root, spelling))]
    folds = root.swapcase() != root and _is_same(root.swapcase(), root)
    return json.dumps({"names": list(dict.fromkeys(found)), "folds": int(folds)})


def _names_through(root: str, spelling: str) -> list[str]:
    """The paths of `root` that begin with `spelling`, or that `spelling` begins with."""
    if not os.path.isabs(spelling):
        return []
    place = Path(os.path.normpath(spelling))
    real = Path(real_path(place))
    below = [str(place / Path(root).relative_to(real))] if Path(root).is_relative_to(real) else []
    return [name for name in (*below, str(place), *map(str, place.parents)) if _is_same(name, root)]


def _is_same(name: str, root: str) -> bool:
    """Whether two paths, spelled differently or not, are one folder."""
    try:
        return os.path.samefile(name, root)
    except (OSError, ValueError):
        return False
