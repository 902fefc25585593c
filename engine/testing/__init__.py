"""What an app's tests need: models that need no network, recordings that are replayed strictly, assertions, a clock.

None of it needs pytest; with pytest, `engine.testing.plugin` brings fixtures and the option `--engine-update`.

spec: @testing
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "FrozenClock",
    "FunctionModel",
    "Packet",
    "Recording",
    "ScriptedModel",
    "ToolCall",
    "assert_answer",
    "assert_commands",
    "assert_cost",
    "assert_files",
    "call",
]

if TYPE_CHECKING:
    from engine.models.protocol import ToolCall

    from .assertions import assert_answer, assert_commands, assert_cost, assert_files
    from .clocks import FrozenClock
    from .models import FunctionModel, Packet, ScriptedModel, call
    from .recordings import Recording
else:  # each is imported when it is first asked for: pytest imports this package in every session
    _PLACES = {
        "FrozenClock": "engine.testing.clocks",
        "FunctionModel": "engine.testing.models",
        "Packet": "engine.testing.models",
        "Recording": "engine.testing.recordings",
        "ScriptedModel": "engine.testing.models",
        "ToolCall": "engine.models.protocol",
        "assert_answer": "engine.testing.assertions",
        "assert_commands": "engine.testing.assertions",
        "assert_cost": "engine.testing.assertions",
        "assert_files": "engine.testing.assertions",
        "call": "engine.testing.models",
    }

    def __getattr__(name: str) -> object:
        if name not in _PLACES:
            raise AttributeError(f"module 'engine.testing' has no attribute {name!r}")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(_PLACES[name]), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
