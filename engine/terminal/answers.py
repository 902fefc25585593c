"""Prints the rows of an SQL statement, as a table or as CSV."""

from __future__ import annotations

import csv
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from engine.display.demo_mode import not_hidden

from .printing import print_table, shown, visible

if TYPE_CHECKING:
    from engine.db.query import Answer


def print_answer(found: Answer) -> None:
    """Print an answer as a table."""
    print_table(found.dicts(), found.columns, "no rows")


class _Lines:
    """Writes rows on stdout that end in a line feed alone."""

    def write(self, row: str) -> None:
        sys.stdout.write(row.removesuffix("\r\n") + "\n")


def print_csv(found: Answer) -> None:
    """Print CSV; at a terminal with the characters escaped that control it. For programs nothing is hidden."""
    clean = visible if sys.stdout.isatty() else str
    writer = csv.writer(_Lines(), lineterminator="\r\n")  # so that a value with either of them is quoted
    with nullcontext() if sys.stdout.isatty() else not_hidden():
        writer.writerow([clean(name) for name in found.columns])
        writer.writerows([clean(shown(value)) for value in row] for row in found.rows)
