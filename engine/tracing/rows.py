"""Spans as the view `spans` has them, with the ids that a collector knows them by.

spec: @spans
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.db.database import Row, Store

_ENDED = """
    select *
    from spans
    where run in (select run from tree_runs where top = ?) and ended_at >= ?
    order by ended_at, started_at desc
"""
_OF_RUN = "select * from spans where run = ? and ended_at >= ? order by ended_at, started_at desc"
_TEXTS = "select key, attributes from span_texts where run = ?"


@dataclass(frozen=True)
class Span:
    """A span that has ended. `trace_id` (32 digits) and the other ids (16) are hexadecimal, times are in milliseconds.

    The ids are made of the keys, so that a span has the same ids whenever it is exported.
    """

    key: str = field(repr=False)
    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: str
    started_at: int
    ended_at: int
    error: str | None
    attributes: dict[str, Any]


def ended_spans(db: Store, run: str, since: int = 0, *, tree: bool = False, texts: bool = False) -> Iterator[Span]:
    """The spans of `run` that have ended since a time in milliseconds; of the runs below it too with `tree`.

    With `texts` they have what was said.
    """
    said: dict[str, dict[str, Any]] = {}
    for row in db.rows(_ENDED if tree else _OF_RUN, (run, since)):
        if texts and row["run"] not in said:
            said[row["run"]] = dict(db.tuples(_TEXTS, (row["run"],)))
        yield _span(row, said.get(row["run"], {}).get(row["key"]))


def _span(row: Row, said: str | None) -> Span:
    told = json.loads(row["attributes"]) | (json.loads(said) if said else {})
    if row["error"]:
        told["error.type"] = row["error"]
    return Span(
        row["key"],
        _digits(f"trace {row['trace']}", 32),
        _digits(row["key"], 16),
        _digits(row["parent"], 16) if row["parent"] else None,
        row["name"],
        row["kind"],
        row["started_at"],
        max(row["started_at"], row["ended_at"]),
        row["error"],
        {name: _value(name, value) for name, value in told.items() if value is not None},
    )


def _digits(key: str, length: int) -> str:
    return sha256(key.encode()).hexdigest()[:length]


def _value(name: str, value: Any) -> Any:
    """Messages and arguments are told as a JSON text, words as a list."""
    if name == "gen_ai.response.finish_reasons":
        return value
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
