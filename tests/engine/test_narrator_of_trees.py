"""What the terminal shows while children work.

spec: @live_progress
"""

from __future__ import annotations

import io
import time

from timing import wait_until

from engine.terminal.drawing.area import Area
from engine.terminal.drawing.look import Look
from engine.terminal.drawing.telling import Telling


def test_nothing_is_drawn_over_a_question() -> None:
    """Whoever asks has the screen for himself, until something is told again."""
    look = Look(60)
    stream, telling = io.StringIO(), Telling({}, lambda: look)
    with Area(stream, telling, lambda: look, lambda: 20) as area:
        area.tell(lambda: telling({"type": "turn", "turn": 1}))
        wait_until(lambda: "thinking" in stream.getvalue())
        area.hide()
        drawn = stream.getvalue()
        assert drawn.endswith("\x1b[J\x1b[?2026l")
        time.sleep(0.3)
        assert stream.getvalue() == drawn


def test_a_child_is_told_of_behind_its_name() -> None:
    telling = Telling({}, lambda: Look(60))
    telling({"type": "delta", "run": "demo-1", "text": "not shown"})
    telling({"type": "command", "run": "demo-1", "action": "get", "target": "a.md", "status": 200})
    telling({"type": "loop", "run": "demo-1", "status": 200, "outcome": "done"})
    told = ["".join(span.text for span in line) for line in telling.take()]
    assert told == ["● demo-1 get a.md", "", "demo-1 ended: done"]
