"""What a run may do, in one answer: its mode, model, tools, limits and rights.

`run_capabilities` decides all of it; this puts its rows together.

spec: @run_capabilities
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from .results import run_row

if TYPE_CHECKING:
    from engine.handle import Handle

_ROWS = "select kind, name, value, reason from run_capabilities where run = ? order by kind, name, value"


def capabilities(db: Handle, run: str) -> dict[str, Any]:
    """The answer for `run` as JSON-ready values; raises `NotFound` (404) for an unknown run."""
    run_row(db, run)
    kinds: dict[str, list[tuple[str, Any, str | None]]] = defaultdict(list)
    for row in db.rows(_ROWS, (run,)):
        kinds[row["kind"]].append((row["name"], row["value"], row["reason"]))
    return {
        "run": run,
        **{name: value for name, value, _ in kinds["run"]},
        "model": {name: value for name, value, _ in kinds["model"]},
        "delegates": [name for name, *_ in kinds["delegate"]],
        "tools": [name for name, value, _ in kinds["tool"] if value == "open"],
        "closed_tools": {name: reason for name, value, reason in kinds["tool"] if value != "open"},
        "flags": [name for name, *_ in kinds["flag"]],
        "limits": {name: {"value": _number(value), "origin": origin} for name, value, origin in kinds["limit"]},
        "writes": [name for name, *_ in kinds["write"]],
        "files": [{"pattern": name, "rule": rule} for name, rule, _ in kinds["file"]],
        "grants": [{"kind": name, "target": target, "grant": grant} for name, target, grant in kinds["grant"]],
    }


def _number(value: str) -> str | int | float:
    """The value of a limit, as a number if it is one."""
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
