"""`engine run --input stream-json`: prompts, decisions and aborts as lines of JSON on stdin.

A thread reads them, so that a decision reaches a run that works. Prompts wait until the one before them has ended.

spec: @run_input
"""

from __future__ import annotations

import json
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.errors import Conflict, EngineError, ValidationError
from engine.models.protocol import storable

from .standard_input import MOST_BYTES

if TYPE_CHECKING:
    from engine.api.database import Database

    from .event_lines import EventLines

_KEYS: dict[str, dict[str, type]] = {
    "prompt": {"text": str},
    "resolve": {"path": str, "accept": bool, "body": str, "reason": str, "run": str},
    "abort": {"reason": str},
}
"""The keys of each type of line."""
_NEEDED = {"prompt": ("text",), "resolve": ("accept",), "abort": ()}
_LOOK_S = 0.1


class InputLines:
    """What comes on stdin. `prompts` are those that nobody has taken, `is_over` is set at its end."""

    def __init__(self, lines: EventLines) -> None:
        self.prompts: deque[str] = deque()
        self.is_over = threading.Event()
        self._served: tuple[Database, str] | None = None
        self._lines = lines

    def begin(self) -> None:
        """Read stdin from now on."""
        threading.Thread(target=self._read, name="engine input", daemon=True).start()

    def serve(self, db: Database, run: str) -> None:
        """Carry out decisions and aborts for `run` from now on."""
        self._served = db, run

    def wait(self, is_enough: Callable[[], object]) -> bool:
        """Wait for what `is_enough` tells; False: the input is over before."""
        while not is_enough():
            if self.is_over.wait(_LOOK_S):
                return bool(is_enough())
        return True

    def _read(self) -> None:
        number = 0
        try:
            while data := sys.stdin.buffer.readline(MOST_BYTES + 1):
                number += 1
                try:
                    self._take(data)
                except EngineError as error:
                    self._lines.refuse(number, error.message, error.status)
                    if len(data) > MOST_BYTES:
                        break
        finally:
            self.is_over.set()

    def _take(self, data: bytes) -> None:
        """Carry out a line, or keep its prompt; raises `EngineError` for one that cannot be carried out."""
        if len(data) > MOST_BYTES:
            raise ValidationError(f"the line is longer than {MOST_BYTES:,} bytes; the input ends here")
        if not data.strip():
            return
        line = checked(data)
        kind = line.pop("type")
        if kind == "prompt":
            self.prompts.append(line["text"])
            return
        if self._served is None:
            raise Conflict(f"{kind}: there is no run yet; give a prompt first")
        db, run = self._served
        if kind == "abort":
            db.abort(run, **line)
        else:
            db.resolve(line.pop("run", run), line.pop("path", None), by="stdin", **line)


def checked(data: bytes) -> dict[str, Any]:
    """A line as an object with the keys of its type; raises `ValidationError` (400) for any other."""
    try:
        line = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValidationError(f"the line is not JSON: {error}") from None
    kind = line.get("type") if isinstance(line, dict) else None
    if not isinstance(kind, str) or kind not in _KEYS:
        raise ValidationError(f"a line must be an object with a type: {', '.join(_KEYS)}")
    keys = _KEYS[kind]
    line = {key: storable(value) if isinstance(value, str) else value for key, value in line.items()}
    for key, value in line.items():
        if key != "type" and (key not in keys or not isinstance(value, keys[key])):
            expected = ", ".join(f"{name} ({of.__name__})" for name, of in keys.items())
            raise ValidationError(f"{kind}: {key!r} does not fit; a line of this type has {expected}")
    if missing := [key for key in _NEEDED[kind] if line.get(key) in (None, "")]:
        raise ValidationError(f"{kind}: give {missing[0]!r}")
    return line
