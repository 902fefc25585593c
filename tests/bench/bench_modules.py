"""What modules take in a file: the bytes and the objects of an empty one with none, with those of usual work, with all."""

from __future__ import annotations

import tempfile
from pathlib import Path

import engine
from engine.schema.build import installed

from .table import Line

_FILES: dict[str, tuple[str, ...]] = {
    "none": (),
    "rules and AGENTS.md": ("rules", "instructions"),
    "delegation and workflows": ("delegation", "workflows"),
    "all": tuple(module.name for module in installed().offered),
}


def bench_modules() -> list[Line]:
    """Kilobytes of a new file with these modules; the note tells its objects."""
    return [_line(told, names) for told, names in _FILES.items()]


def _line(told: str, names: tuple[str, ...]) -> Line:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.db"
        with engine.open(path) as db:
            db.install(*names)
            objects = db.value("select count(*) from sqlite_schema where sql is not null")
        return Line(f"a new file with modules: {told}", path.stat().st_size / 1000, "KB", note=f"{objects:,} objects")
