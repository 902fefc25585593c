"""Puts a process into the sandbox that the file asks for: `_effect_confinements` says in which and how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from engine import sandbox
from engine.processes.confinement import Confinement, Limits, Place, SandboxMissing

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.db.database import Row, Store

_MEGABYTE = 1_000_000
_LIMITS = "select name, value from settings where name glob 'sandbox_*'"


def place_of(db: Store, effect: Row) -> Place:
    """Where the process of an effect runs; raises `SandboxMissing` (403) where it needs a sandbox and there is none."""
    row = db.row("select * from _effect_confinements where effect_id = ?", (effect["effect_id"],))
    assert row is not None, "the effect is a process"
    asked = Confinement(
        root=Path(effect["root"]),
        writable=bool(row["writable"]),
        network=row["network"],
        database=db.path if db.path.exists() else None,
        home=[name.strip() for name in row["home"].split(",") if name.strip()],
        shown=json.loads(row["shown"]),
        limits=Limits(row["memory"] * _MEGABYTE, row["file_size"] * _MEGABYTE, row["processes"]),
    )
    if row["choice"] == "off":
        return Place(None, asked)
    found, reason = sandbox.find(row["choice"])
    if found is None and row["required"]:
        raise SandboxMissing(
            f"refused: it needs a sandbox, and none is available ({reason}); install one, or use --sandbox=off"
        )
    return Place(found, asked)


def confinements(db: Store) -> Callable[[Path, str], Confinement]:
    """The confinement of a program in a folder, with the hosts that it may reach, by the settings that `db` has now."""
    limits = {row["name"]: row["value"] for row in db.rows(_LIMITS)}
    database = db.path if db.path.exists() else None

    def asked(root: Path, network: str) -> Confinement:
        return Confinement(
            root=root,
            writable=True,
            network=network,
            database=database,
            home=[name.strip() for name in (limits["sandbox_home"] or "").split(",") if name.strip()],
            limits=Limits(
                int(limits["sandbox_memory"]) * _MEGABYTE,
                int(limits["sandbox_file_size"]) * _MEGABYTE,
                int(limits["sandbox_processes"]),
            ),
        )

    return asked
