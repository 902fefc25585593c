"""Runs with functions of an app as tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from audit import audit
from driving import DONE, GO_ON, script

import engine

LOG = "select action, status, body from run_log where run = 'demo' and turn > 0 and action not in ('update', 'error')"


@contextmanager
def opened(path: Path, *tools: Callable[..., Any]) -> Iterator[engine.Database]:
    with engine.open(path, tools=tools) as db:
        yield db
    audit(path)


def driven(folder: Path, tools: list[Callable[..., Any]], *answers: str, **options: Any) -> list[tuple[Any, ...]]:
    """Action, status and body of what a model did that gave these answers."""
    model = script(folder, *(f"{answer}{GO_ON}" for answer in answers), DONE)
    with opened(folder / "t.db", *tools) as db:
        assert db.run("Go", run="demo", model=model, **options).status == 200
        return [tuple(row.values()) for row in db.rows(LOG)]
