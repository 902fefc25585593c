"""How many opcodes each hot statement compiles to: what it costs to prepare it, and what SQLite sets up to run it."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import engine
from tests.opcodes import HOT, opcodes

from .table import Line


def bench_opcodes() -> list[Line]:
    """Opcodes of each statement in `tests.opcodes.HOT`, in a fresh file."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, closing(engine.open(Path(folder) / "bench.db")) as db:
        return [Line(f"opcodes: {what}", opcodes(db.connection, statement), "") for what, statement in HOT.items()]
