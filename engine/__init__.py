"""An LLM agent engine that lives in one SQLite file.

`open(path)` returns a `Database`. `register(connection)` prepares an app's own connection to write to an engine file, and
`attach(connection, path)` attaches an engine file to one.
"""

from .api import Database, attach, open  # noqa: A004 - engine.open is the name people look for
from .errors import Conflict, EngineError, LeaseLost, NotFound, Overflow, PermissionDenied, ValidationError
from .registration import register

__all__ = [
    "Conflict",
    "Database",
    "EngineError",
    "LeaseLost",
    "NotFound",
    "Overflow",
    "PermissionDenied",
    "ValidationError",
    "attach",
    "open",
    "register",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version  # slow to import, and seldom asked for

        return version("engine")
    raise AttributeError(name)
