"""Drives a fleet: starts workers, replaces those that end before the work does, and notices what killed ones left.

spec: @fleet_workers @fleet_run
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from engine.errors import Conflict
from engine.system import identity

from .executors import Executor, Hand
from .manifest import Manifest, Row

_LOOK_S = 0.2
_SILENT_MS = 60_000
"""A worker of another machine that was not seen for so long has ended."""
_STARTS_PER_WORKER = 25
"""A worker is replaced so often; more means that workers cannot live here."""
_ENDING_S = 30.0
_GOING_S = 10.0
_COUNT = "select count(*) from workers where ended_at is null"
_OPEN_WORKERS = "select id, identity, (select ms from _now) - seen_at as silent_ms from workers where ended_at is null"


class Fleet:
    """The workers of a manifest: `processes` of them with so many slots that `concurrency` tasks run at once."""

    def __init__(self, manifest: Manifest, executor: Executor, concurrency: int, processes: int) -> None:
        self.manifest = manifest
        self._executor = executor
        count = min(processes, concurrency)
        self._slots = [concurrency // count + (n < concurrency % count) for n in range(count)]
        self._hands: list[Hand | None] = [None] * count
        self._starts = 0
        self.stopping = threading.Event()

    def run(self, on_status: Callable[[Row], None] | None = None) -> Row:
        """Work until nothing is left, the ceiling is reached or `stopping` is set; the last row of `fleet_status`.

        When it is stopped, all runs stand where they are.
        """
        clear_dead(self.manifest)
        self.manifest.execute("update fleet set ceiling_at = null")
        try:
            while not self.stopping.is_set():
                (status,) = self.manifest.rows("select * from fleet_status")
                if on_status is not None:
                    on_status(status)
                if status["is_over"] or (status["is_at_ceiling"] and not status["running"]):
                    break
                if not status["is_at_ceiling"]:
                    self._replace(status["waiting"] + status["running"])
                time.sleep(_LOOK_S)
        finally:
            self._end()
        (status,) = self.manifest.rows("select * from fleet_status")
        if on_status is not None:
            on_status(status)
        return status

    def stop(self) -> None:
        """Let all runs stand where they are; called in a signal handler, too."""
        self.stopping.set()

    def _replace(self, left: int) -> None:
        """Start the workers that are not there, as many as there is work for."""
        if any(hand is not None and not hand.is_alive for hand in self._hands):
            clear_dead(self.manifest)
        for place, hand in enumerate(self._hands):
            if (hand is None or not hand.is_alive) and place < left:
                if self._starts >= _STARTS_PER_WORKER * len(self._hands):
                    raise Conflict(
                        f"{self.manifest.path}: workers end as soon as they begin; their reason stands on stderr above"
                    )
                self._starts += 1
                if hand is not None:
                    hand.end(0)
                self._hands[place] = self._executor.start(self.manifest.path, self._slots[place])

    def _end(self) -> None:
        hands = [hand for hand in self._hands if hand is not None]
        for hand in hands:
            with suppress(OSError):
                hand.stop()
        until = time.monotonic() + _ENDING_S
        for hand in hands:
            hand.end(max(0.1, until - time.monotonic()))
        clear_dead(self.manifest)
        self._executor.close()


def clear_dead(manifest: Manifest) -> int:
    """End workers that are provably dead, or were silent for too long; returns how many."""
    ended = 0
    for row in manifest.rows(_OPEN_WORKERS):
        process = identity.read_identity(row["identity"])
        state = "dead" if process is None else identity.state(process)
        if state == "dead" or (state == "unknown" and row["silent_ms"] > _SILENT_MS):
            manifest.end_worker(row["id"], "lost")
            ended += 1
    return ended


def prepared(path: Path, *, trust: bool = False) -> Manifest:
    """The manifest at `path`, without what dead workers left. Raises `Conflict` (409) while another driver works on it."""
    manifest = Manifest(path, trust=trust)
    try:
        until = time.monotonic() + _GOING_S  # workers whose driver was killed end by themselves
        while clear_dead(manifest) or (others := manifest.value(_COUNT)):
            if time.monotonic() < until:
                time.sleep(_LOOK_S)
                continue
            raise Conflict(
                f"{path}: {others} workers are at work on it already; 'engine fleet status {path}' shows them"
            )
    except BaseException:
        manifest.close()
        raise
    return manifest
