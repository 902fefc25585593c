"""What the terminal shows while children work.

spec: @live_progress
"""

from __future__ import annotations

from engine.commands.folding import Area
from engine.commands.narrator import Narrator


def test_nothing_is_drawn_over_the_question_of_a_child() -> None:
    narrator, area = Narrator({}), Area()
    narrator._area = area
    narrator({"type": "delta", "text": "<subtask>Look</subtask>"})
    assert area._live is not None
    narrator({"type": "turn", "run": "demo-1", "turn": 1})
    assert area._live is None
