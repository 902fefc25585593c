"""An LLM agent engine that lives in one SQLite file.

`open(path)` gives a `Database`; `register(connection)` makes an app's own connection able to write an engine file, and
`attach(connection, path)` brings an engine file into it.
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
