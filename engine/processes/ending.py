"""How a process ends: who asks for that, and what is reported of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engine.functions.counts import counted

if TYPE_CHECKING:
    from engine.processes.kept_output import KeptOutput
    from engine.processes.shell import ProcessResult

_LOOK_SECONDS = 0.2


class Asked:
    """Whether a process shall end: its driver is stopped, or somebody has asked for that; `asks` says who.

    The file is looked at five times a second. `by` is who asked.
    """

    def __init__(self, stopped: threading.Event, asks: Callable[[], str | None]) -> None:
        self.by: str | None = None
        self._stopped = stopped
        self._asks = asks
        self._looked = time.monotonic()

    def is_set(self) -> bool:
        """Whether it shall end now."""
        if self.by is None and time.monotonic() - self._looked >= _LOOK_SECONDS:
            self._looked = time.monotonic()
            self.by = self._asks()
        return self.by is not None or self._stopped.is_set()


def process_row(
    result: ProcessResult, refused: list[str], told: Mapping[str, str | None], kept: KeptOutput | None
) -> dict[str, Any]:
    """The columns of `_finish_effect` for a process: resolved for exit code 0, else failed with an outcome.

    `refused` are the hosts that its sandbox let it not reach, `told` what is kept of the sandbox.
    """
    notes = [result.message] if result.message else []
    if result.left_out:
        rest = "the person has all of it" if kept else "a person can store all of it with --keep-output FILE"
        notes.append(f"left out of its output: {counted(result.left_out, 'byte')}, {rest}")
    if kept is not None and kept.failure:
        notes.append(f"not all output was kept: {kept.failure}")
    notes += [f"the sandbox did not let it reach {', '.join(refused)}"] if refused else []
    detail = {
        "exit_code": result.exit_code,
        "duration_s": round(result.duration_s, 2),
        "note": "; ".join(notes) or None,
        **told,
    }
    ends: dict[str, tuple[str, str | None]] = {
        "timed_out": ("failed", "timeout"),
        "cancelled": ("failed", "interrupted"),
        "failed_to_start": ("failed", "error"),
        "exited": ("resolved", None) if result.exit_code == 0 else ("failed", f"exit:{result.exit_code}"),
    }
    state, outcome = ends[result.ended]
    return {"state": state, "outcome": outcome, "detail": json.dumps(detail)}
