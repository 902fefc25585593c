"""A copy of an engine file in a folder of its own, in which a run can be run again. The file itself is only read.

The runs of the copy that were recorded get other names, so that what is replayed has the names that they had.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from engine.errors import Conflict, PermissionDenied

if TYPE_CHECKING:
    from engine.handle import Handle

RECORDED = "recorded."
"""Before the number of a run, the name of the run that is replayed."""
_SETTINGS = "select name, value from setting_list where is_set"
_DRIVEN = "select 1 from _driven_trees where top = ?"


@contextmanager
def scratch(db: Handle, run: str) -> Iterator[tuple[Handle, Path]]:
    """A handle on a copy of the file, and an empty folder for files, both gone at the end.

    The runs of the tree of `run` are called `recorded.ID` in it. Raises `Conflict` (409) while the run is driven, and
    `PermissionDenied` (403) for a file with triggers that nobody trusts.
    """
    if db.unknown and not db.trust:
        raise PermissionDenied(
            f"{db.path}: contains {db.unknown[0].name}, which belongs neither to the engine nor to a plugin, and "
            "which a replay would run; check it with 'engine trust', and trust the file"
        )
    if not db.differs and db.value(_DRIVEN, (run,)):
        raise Conflict(f"run {run}: a process works on it; replay the run when it has ended")
    with tempfile.TemporaryDirectory(prefix="engine-replay-") as place:
        copy = Path(place) / "replay.db"
        folder = Path(place).resolve() / "files"
        folder.mkdir()
        said = [] if db.differs else db.tuples(_SETTINGS)
        _copy(db, copy)
        with db.elsewhere(copy) as handle:
            for name, value in said:
                handle.insert("_set_layer", name=name, layer="file", value=value)
            _rename(handle, run)
            yield handle, folder


def _copy(db: Handle, copy: Path) -> None:
    with db.held(), db.clear_errors:
        target = apsw.Connection(str(copy))
        try:
            with target.backup("main", db.connection, "main") as backup:
                backup.step()
        finally:
            target.close()
    copy.chmod(0o600)


def _rename(db: Handle, run: str) -> None:
    db.execute("delete from leases")
    for alias, run_id in db.tuples("select run, run_id from tree_runs where top = ? order by level desc", (run,)):
        db.insert("verb_rename_run", run=alias, name=f"{RECORDED}{run_id}")
