"""How long what waits takes to notice: that it is cancelled, or that what it waits for is there."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from .table import Line

CANCEL_TARGET_MS = 200.0
COMMAND_TARGET_MS = 150.0
_ROUNDS = 5


def bench_waits(rounds: int = _ROUNDS) -> list[Line]:
    """Milliseconds from a cancellation to the end of a model call, and of a command that does nothing; the median."""
    with tempfile.TemporaryDirectory() as folder:
        cancelled = sorted(_cancelled_ms(Path(folder)) for _ in range(rounds))
        commands = sorted(_command_ms(Path(folder)) for _ in range(rounds))
    return [
        Line("model call, cancelled", cancelled[rounds // 2], "ms", CANCEL_TARGET_MS, "on the wall"),
        Line("command 'true'", commands[rounds // 2], "ms", COMMAND_TARGET_MS, "on the wall"),
    ]


def _cancelled_ms(folder: Path) -> float:
    from engine.models import resolve_model
    from engine.models.protocol import Message, ModelError, Request

    (folder / "s.jsonl").write_text(json.dumps({"text": "late", "delay_s": 60}))
    request = Request((Message("user", "Hi"),), None, None, None, 60.0, 0, "demo")
    cancelled, pressed = threading.Event(), [0.0]

    def press() -> None:
        pressed[0] = time.perf_counter()
        cancelled.set()

    threading.Timer(0.1, press).start()
    with suppress(ModelError):
        resolve_model(f"scripted:{folder / 's.jsonl'}").complete(request, None, cancelled)
    return 1000 * (time.perf_counter() - pressed[0])


def _command_ms(folder: Path) -> float:
    from engine.processes.shell import run_process

    began = time.perf_counter()
    run_process("true", cwd=folder, timeout_s=60, on_start=lambda _: None, on_output=lambda *_: None)
    return 1000 * (time.perf_counter() - began)
