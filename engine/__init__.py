"""An LLM agent engine that lives in one SQLite file.

`open(path)` returns a `Database`, `open_async` too. `register(connection)` prepares an app's own connection to write to an
engine file, and `attach(connection, path)` attaches an engine file to one.
"""

from typing import TYPE_CHECKING

from .api import Database
from .contract import Event, Options, Proposal, Result, Run
from .errors import Conflict, EngineError, LeaseLost, NotFound, Overflow, PermissionDenied, ValidationError
from .opening import attach, open, open_async  # noqa: A004 - engine.open is the name people look for
from .outputs import Output
from .registration import register
from .tools.decorating import tool
from .undone import FileChange, Undone

__all__ = [
    "Conflict",
    "Database",
    "EngineError",
    "Event",
    "FileChange",
    "LeaseLost",
    "NotFound",
    "Options",
    "Output",
    "Overflow",
    "PermissionDenied",
    "Proposal",
    "Result",
    "Run",
    "Undone",
    "ValidationError",
    "attach",
    "open",
    "open_async",
    "register",
    "tool",
]

if TYPE_CHECKING:
    __version__: str
else:  # a type checker would take any name for one that this function knows

    def __getattr__(name: str) -> str:
        if name == "__version__":
            from importlib.metadata import version  # slow to import, and seldom asked for

            return version("engine")
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
