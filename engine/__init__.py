"""An LLM agent engine that lives in one SQLite file.

`open(path)` returns a `Database`, `open_async` too. `register(connection)` prepares an app's own connection to write to an
engine file, and `attach(connection, path)` attaches an engine file to one.

Each of these is imported when it is first asked for: the command `engine` has to say what Ctrl-C does before that.
"""

from typing import TYPE_CHECKING

__all__ = [
    "Conflict",
    "Context",
    "Database",
    "Difference",
    "EngineError",
    "Entry",
    "Event",
    "FileChange",
    "Handoff",
    "LeaseHeld",
    "LeaseLost",
    "NeedsApproval",
    "NoOutput",
    "NotFound",
    "Options",
    "Output",
    "Overflow",
    "PermissionDenied",
    "Picture",
    "Proposal",
    "Replay",
    "Result",
    "Retry",
    "Run",
    "Stream",
    "StreamEvent",
    "Toolset",
    "Undone",
    "ValidationError",
    "analysis",
    "attach",
    "json_schema",
    "open",
    "open_async",
    "register",
    "tool",
]

if TYPE_CHECKING:
    from engine.across.analysis import analysis
    from engine.api.database import Database
    from engine.api.opening import attach, open, open_async  # noqa: A004 - engine.open is the name people look for
    from engine.api.streams import Stream
    from engine.history.undo_results import FileChange, Undone
    from engine.processes.outputs import Output
    from engine.replay.results import Difference, Replay
    from engine.schema.registration import register

    from .contract import Options, Proposal, Result, Run, json_schema
    from .errors import (
        Conflict,
        EngineError,
        LeaseHeld,
        LeaseLost,
        NoOutput,
        NotFound,
        Overflow,
        PermissionDenied,
        ValidationError,
    )
    from .events import Event
    from .stream_events import StreamEvent
    from .tools.context import Context, NeedsApproval, Retry
    from .tools.decorating import tool
    from .tools.handoffs import Handoff
    from .tools.results import Entry, Picture
    from .tools.toolsets import Toolset

    __version__: str
else:  # a type checker would take any name for one that this function knows
    _MODULES = {
        "across.analysis": ("analysis",),
        "api.database": ("Database",),
        "contract": ("Options", "Proposal", "Result", "Run", "json_schema"),
        "events": ("Event",),
        "errors": (
            "Conflict",
            "EngineError",
            "LeaseHeld",
            "LeaseLost",
            "NoOutput",
            "NotFound",
            "Overflow",
            "PermissionDenied",
            "ValidationError",
        ),
        "api.streams": ("Stream",),
        "stream_events": ("StreamEvent",),
        "api.opening": ("attach", "open", "open_async"),
        "processes.outputs": ("Output",),
        "schema.registration": ("register",),
        "tools.context": ("Context", "NeedsApproval", "Retry"),
        "tools.decorating": ("tool",),
        "tools.handoffs": ("Handoff",),
        "tools.results": ("Entry", "Picture"),
        "tools.toolsets": ("Toolset",),
        "history.undo_results": ("FileChange", "Undone"),
        "replay.results": ("Difference", "Replay"),
    }
    _PLACES = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version  # slow to import, and seldom asked for

            return version("engine")
        from importlib import import_module

        if name in _PLACES:
            found = globals()[name] = getattr(import_module(f"engine.{_PLACES[name]}"), name)
            return found
        if not name.startswith("_"):  # a module: 'import engine' is enough for engine.errors
            try:
                return import_module(f"engine.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"engine.{name}":
                    raise
        raise AttributeError(f"module 'engine' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
