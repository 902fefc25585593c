"""The page of all runs of all files that an inspector shows: what each file says, put together.

Files are read for about a second, those that changed last first; the page shows what was read, and is fetched again for the
rest. What a file said is kept until it changes. Few files are kept open.

spec: @inspector_all_files
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError

from .pages import home
from .pages.asked import whole

if TYPE_CHECKING:
    from .files import File, Files, Stamp

READ_S = 0.7
"""So long one page reads files."""
KEEP_S = 10.0
"""A run at work may have lost its driver without a word: what its file said is read again after so long."""
KEEP_OPEN = 24
LISTED = 500


@dataclass
class _Said:
    """What a file said when it was as `stamp` has it; `fits` are the runs that fit the filters `chosen`, `rows` what lists
    said of runs, with and without those below them.
    """

    stamp: Stamp
    at: float
    summary: dict[str, Any] | None = None
    problem: str | None = None
    chosen: tuple[Any, ...] = ()
    fits: list[tuple[int, int, int]] = field(default_factory=list)
    rows: dict[tuple[int, bool], dict[str, Any]] = field(default_factory=dict)


class AllFiles:
    """The page over `files`."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._said: dict[int, _Said] = {}
        self._open: dict[int, None] = {}
        self._lock = threading.Lock()

    def page(self, asked: dict[str, str]) -> dict[str, Any]:
        """The runs of all files that fit, the latest first, a page of them, with the figures of all files together."""
        number = whole(asked, "page")
        chosen = home.chosen_of(asked)
        most = number * home.PER_PAGE
        with self._lock:
            unread = self._read(chosen, most)
            said = dict(self._said)
            known = [each.summary for each in said.values() if each.summary]
            fits = [(at, number, run) for number, each in said.items() for run, _, at in each.fits]
            fits.sort(key=lambda fit: (-fit[0], fit[1], -fit[2]))
            return {
                "runs": self._listed(fits[most - home.PER_PAGE : most], chosen),
                "total": sum(each.fits[0][1] for each in said.values() if each.fits),
                "number": number,
                "per_page": home.PER_PAGE,
                "chosen": chosen,
                "choices": _choices([each["choices"] for each in known]),
                "days": _days([each["days"] for each in known]),
                "figures": _figures([each["figures"] for each in known]),
                "unread": unread,
                "files": [_row(file, said.get(file.number)) for file in self._latest_first()[:LISTED]],
            }

    def _latest_first(self) -> list[File]:
        return sorted(self._files.all, key=lambda file: (-file.stamp().changed, file.number))

    def _read(self, chosen: dict[str, str], most: int) -> int:
        """Read the files that have changed; how many are left."""
        key, until, left = (*sorted(chosen.items()), most), time.monotonic() + READ_S, 0
        is_first = True
        for file in self._latest_first():
            said = self._said.get(file.number)
            if said is not None and said.chosen == key and not _is_old(said, file.stamp()):
                continue
            if time.monotonic() > until and not is_first:
                left += 1
                if said is not None and said.chosen != key:
                    said.fits = []
                continue
            is_first = False
            self._said[file.number] = self._asked(file, said, chosen, most, key)
        return left

    def _asked(self, file: File, said: _Said | None, chosen: dict[str, str], most: int, key: tuple[Any, ...]) -> _Said:
        stamp = file.stamp()
        fresh = _Said(stamp, time.monotonic(), chosen=key)
        try:
            if said is not None and said.summary is not None and not _is_old(said, stamp):
                fresh.summary, fresh.at, fresh.rows = said.summary, said.at, said.rows
            else:
                fresh.summary = file.look(home.summary)
            fresh.fits = file.look(lambda db: home.matching(db, chosen, most))
        except EngineError as error:
            fresh.summary, fresh.problem = None, error.message
        self._keep_open(file)
        return fresh

    def _keep_open(self, file: File) -> None:
        self._open.pop(file.number, None)
        self._open[file.number] = None
        while len(self._open) > KEEP_OPEN:
            number = next(iter(self._open))
            del self._open[number]
            self._files[number].rest()

    def _listed(self, fits: Sequence[tuple[int, int, int]], chosen: dict[str, str]) -> list[dict[str, Any]]:
        """What the list says of these runs, in their order, each with its file."""
        flat = home.is_flat(chosen)
        for number in {number for _, number, _ in fits}:
            file, said = self._files[number], self._said[number]
            new = [run for _, of, run in fits if of == number and (run, flat) not in said.rows]
            if not new:
                continue
            try:
                rows = file.look(lambda db, new=new: home.listed(db, new, chosen))  # type: ignore[misc]
            except EngineError as error:
                said.problem = error.message
                continue
            self._keep_open(file)
            said.rows |= {(row["run_id"], flat): {**row, "file": file} for row in rows}
        known = [self._said[number].rows.get((run, flat)) for _, number, run in fits]
        return [row for row in known if row]


def _is_old(said: _Said, stamp: Stamp) -> bool:
    working = said.summary is not None and said.summary["figures"].get("running")
    return said.stamp != stamp or bool(working and time.monotonic() - said.at > KEEP_S)


def _row(file: File, said: _Said | None) -> dict[str, Any]:
    stamp = file.stamp()
    return {
        "file": file,
        "is_read": said is not None,
        "problem": said.problem if said else None,
        "megabytes": stamp.size / 1e6,
        "changed": stamp.told(),
        "figures": said.summary["figures"] if said and said.summary else None,
        "calls": [day["calls"] for day in said.summary["days"]] if said and said.summary else [],
        "cost": sum(day["cost"] for day in said.summary["days"]) if said and said.summary else None,
    }


def _choices(told: Sequence[dict[str, list[Any]]]) -> dict[str, list[dict[str, Any]]]:
    sums: dict[str, Counter[str]] = {name: Counter() for name in ("status", "model", "project", "label")}
    for each in told:
        for name, rows in each.items():
            sums[name].update({str(row["value"]): row["n"] for row in rows})
    return {name: [{"value": value, "n": n} for value, n in found.most_common(40)] for name, found in sums.items()}


def _days(told: Sequence[list[Any]]) -> list[dict[str, Any]]:
    """The days of all files; one that was read before midnight has another first day."""
    cost: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for days in told:
        for day in days:
            cost[day["day"]] += day["cost"]
            calls[day["day"]] += day["calls"]
    return [{"day": day, "cost": cost[day], "calls": calls[day]} for day in sorted(calls)[-30:]]


def _figures(told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {name: sum(each[name] or 0 for each in told) for name in ("runs", "running", "waiting", "failed")}
