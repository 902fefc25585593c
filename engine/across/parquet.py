"""Writes an answer over many files as a Parquet file.

spec: @fleet_sql
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow
from pyarrow import parquet

from engine.errors import Conflict, NotFound


def write(table: pyarrow.Table, target: Path) -> None:
    """Write a new Parquet file, all of it or nothing.

    Raises `Conflict` (409) if `target` exists, and `NotFound` (404) if it cannot be written.
    """
    if target.exists() or target.is_symlink():
        raise Conflict(f"{target}: already exists; choose a new file")
    try:
        with tempfile.TemporaryDirectory(prefix=".engine-fleet-", dir=target.parent) as folder:
            made = Path(folder, "made")
            parquet.write_table(table, made, compression="zstd")
            made.rename(target)
    except OSError as error:
        raise NotFound(f"{target}: cannot be written: {error.strerror or error}") from None
