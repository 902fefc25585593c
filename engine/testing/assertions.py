"""Assertions on what a run did. Their failures say what was expected, what was, and where.

spec: @testing_assertions
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import ndiff, unified_diff
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from engine.display.escapes import drawn
from engine.errors import NotFound

if TYPE_CHECKING:
    from os import PathLike

    from engine.api.database import Database
    from engine.contract import Result

Expected = str | re.Pattern[str] | EllipsisType
_COMMANDS = """
    select c.action, c.path, c.destination, b.body, c.attributes, c.state, c.outcome
    from commands as c
    join runs as r on r.id = c.run_id
    join turns as t on t.id = c.turn_id
    left join _command_bodies as b on b.command_id = c.id
    where r.alias = ? and c.writer = 'model'
    order by t.sequence, c.ordinal
"""
_LATEST = "select alias from runs where id not in (select run_id from children) order by id desc limit 1"
_SAID = ("update", "think")
_COSTS = """
    select
        coalesce(sum(t.cost), 0) as cost,
        count(*) filter (where t.response is not null and t.cost is null) as unknown,
        count(*) filter (where t.response is not null) as answers
    from turns as t
    join runs as r on r.id = t.run_id
    where :run is null or r.alias = :run
"""


def commands(db: Database, run: str | None = None) -> list[str]:
    """The commands of a run's model in order, each as a line: `get notes.md`, `sh make test`, `refund order=7`.

    One that was not carried out says so: `rm notes.md (failed: not_found)`. `update` and `think` are left out. `run` is the
    latest run by default.
    """
    rows = db.rows(_COMMANDS, (_run(db, run),))
    return [_line(row) for row in rows if row["action"] not in _SAID]


def assert_commands(db: Database, expected: Sequence[Expected], *, run: str | None = None) -> None:
    """Assert that the model of `run` (default: the latest) gave these commands, in this order, and no others.

    A command is written as a line, see `commands`. A compiled pattern has to match the whole line, and `...` stands for any
    number of commands.
    """
    __tracebackhide__ = True
    found, name = commands(db, run), _run(db, run)
    if _fits(list(expected), found):
        return
    wanted = [_shown(each) for each in expected]
    lines = [line for line in ndiff(wanted, found) if not line.startswith("?")]
    told = "\n".join(f"  {drawn(line)}" for line in lines) or "  (no command)"
    raise AssertionError(f"the commands of run {name} differ (- expected, + given):\n{told}")


def assert_files(folder: str | PathLike[str], expected: Mapping[str, str | re.Pattern[str] | None]) -> None:
    """Assert what files in `folder` hold: by path the text, a pattern that is found in it, or None for no such file."""
    __tracebackhide__ = True
    faults = [fault for path, text in expected.items() if (fault := _fault(Path(folder), path, text))]
    if faults:
        raise AssertionError(drawn("\n".join(faults)))


def assert_answer(result: Result[Any], expected: str | re.Pattern[str], *, status: int = 200) -> None:
    """Assert how a prompt ended: its status, and the text of its answer or a pattern that is found in it."""
    __tracebackhide__ = True
    if result.status != status:
        why = f": {result.reason}" if result.reason else ""
        raise AssertionError(
            drawn(
                f"run {result.run} ended with status {result.status}{why}\nexpected: {status}; answer: {result.answer!r}"
            )
        )
    if isinstance(expected, str):
        if result.answer != expected:
            raise AssertionError(drawn(f"the answer of run {result.run} differs\n{_diff(expected, result.answer)}"))
    elif not expected.search(result.answer):
        raise AssertionError(drawn(f"the answer of run {result.run} has no {expected.pattern!r}:\n{result.answer}"))


def assert_cost(db: Database, *, at_most: float, run: str | None = None) -> None:
    """Assert that the answers of `run`, or of all runs of the file, cost at most so many US dollars, all prices known."""
    __tracebackhide__ = True
    row = db.row(_COSTS, {"run": None if run is None else _run(db, run)})
    assert row is not None
    if row["unknown"]:
        raise AssertionError(f"the cost of {row['unknown']} of {row['answers']} answers is unknown")
    if row["cost"] > at_most:
        raise AssertionError(
            f"cost ${row['cost']:.6f} for {row['answers']} answers; at most ${at_most:.6f} was expected"
        )


def _run(db: Database, run: str | None) -> str:
    """The name of a run that there is; without one, of the latest that was started by a person or an app."""
    named = "select alias from runs where alias = ?"
    found = db.value(_LATEST) if run is None else db.value(named, (run,))
    if found is None:
        names = ", ".join(str(row["alias"]) for row in db.rows("select alias from runs order by id desc limit 10"))
        raise NotFound(f"run {run!r}: not found; the file has {names or 'no runs'}" if run else "the file has no runs")
    return str(found)


def _line(row: Mapping[str, Any]) -> str:
    told = json.loads(row["attributes"])
    words = [row["path"], row["destination"]] if row["path"] else []
    if row["path"] is None and row["body"]:
        words = [str(row["body"]).strip()]
    elif row["path"] is None:
        words = [f"{name}={_value(value)}" for name, value in told.items() if name != "attributes"]
        words += [f"{name}={_value(value)}" for name, value in told.get("attributes", {}).items()]
    line = " ".join([row["action"], *(word for word in words if word)])
    if row["state"] == "resolved":
        return line
    return f"{line} ({row['state']}{': ' + row['outcome'] if row['outcome'] else ''})"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(expected: Expected) -> str:
    if isinstance(expected, str):
        return expected
    return "..." if expected is ... else f"/{expected.pattern}/"


def _fits(expected: list[Expected], found: list[str]) -> bool:
    """Whether the lines fit; `...` stands for any number of them, so all ends that a beginning can have are kept."""
    ends = {0}
    for each in expected:
        if each is ...:
            ends = set(range(min(ends), len(found) + 1)) if ends else ends
        else:
            ends = {end + 1 for end in ends if end < len(found) and _is(each, found[end])}
    return len(found) in ends


def _is(expected: Expected, line: str) -> bool:
    if isinstance(expected, str):
        return expected == line
    return isinstance(expected, re.Pattern) and expected.fullmatch(line) is not None


def _fault(folder: Path, path: str, expected: str | re.Pattern[str] | None) -> str | None:
    place = folder / path
    if expected is None:
        return f"{path}: is there, but was not expected" if place.exists() else None
    if not place.is_file():
        near = ", ".join(sorted(_listed(folder))[:10])
        return f"{path}: is not there; {folder.name}/ has {near or 'no files'}"
    text = place.read_text(encoding="utf-8", errors="replace")
    if isinstance(expected, str):
        return None if text == expected else f"{path}: differs\n{_diff(expected, text)}"
    return None if expected.search(text) else f"{path}: has no {expected.pattern!r}:\n{text}"


def _listed(folder: Path) -> Iterable[str]:
    return (str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def _diff(expected: str, found: str) -> str:
    return "\n".join(unified_diff(expected.splitlines(), found.splitlines(), "expected", "found", lineterm=""))
