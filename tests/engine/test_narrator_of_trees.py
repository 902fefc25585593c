"""What the terminal shows while children work.

spec: @live_progress
"""

from __future__ import annotations

from engine.terminal.live_area import Area
from engine.terminal.progress import Narrator


def test_nothing_is_drawn_over_the_question_of_a_child() -> None:
    narrator, area = Narrator({}), Area()
    narrator._area = area
    narrator({"type": "delta", "text": "<subtask>Look</subtask>"})
    assert area._live is not None
    narrator({"type": "turn", "run": "demo-1", "turn": 1})
    assert area._live is None
