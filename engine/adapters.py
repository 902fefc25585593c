"""Adapters: what serves runs to others by a protocol. `engine serve acp` is one; plugins and files bring more.

spec: @adapters
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .contract import Options
from .errors import NotFound, ValidationError

if TYPE_CHECKING:
    from engine.api.database import Database

    from .mcp.servers import Server


@dataclass(frozen=True)
class Serving:
    """What an adapter is given: `open` gives it databases, `options` are those of the runs that it starts.

    `db` is the file of all folders; None: each folder has its own. `yolo` says whether a client may have a run accept every
    proposal.
    """

    open_database: Callable[[Path, Sequence[Server]], Database]
    db: Path | None = None
    yolo: bool = False
    options: Options = field(default_factory=lambda: Options())

    def open(self, folder: Path | None = None, mcp: Sequence[Server] = ()) -> Database:
        """The database of `folder`, by default the current one, open for writing; found or made as `engine run` does it.

        Its runs may use the servers `mcp`, besides those of the user's configuration. Close it in the end. Raises an
        `EngineError` where it cannot be opened, `PermissionDenied` (403) for a file of somebody else that would act.
        """
        return self.open_database(folder or Path.cwd(), mcp)


Adapter = Callable[[Serving], None]
"""Serves until its clients are gone, or a signal ends it; called in the main thread of its process."""


def named(name: str) -> Adapter:
    """The adapter of that name: the engine's own, one of a plugin, or the function `serve` of a Python file.

    Raises `NotFound` (404) where there is none, `ValidationError` (400) for a file without such a function.
    """
    if name.endswith(".py"):
        return _of_file(Path(name))
    known = adapters()
    if name not in known:
        raise NotFound(f"adapter {name!r}: there is none of that name; there are {', '.join(known)}, or name a file.py")
    return known[name]


def adapters() -> Mapping[str, Adapter]:
    """All adapters by name, the engine's own first."""
    from . import plugins

    return {"acp": _acp, **plugins.adapters()}


def _acp(serving: Serving) -> None:
    from .acp.serving import serve

    serve(serving)


def _of_file(path: Path) -> Adapter:
    if not path.is_file():
        raise NotFound(f"adapter {str(path)!r}: there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None, "a name that ends in .py has a loader"
    assert spec.loader is not None, "a name that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, "serve", None)
    if not callable(found):
        raise ValidationError(f"adapter {str(path)!r}: has no function serve(serving)")
    adapter: Adapter = found
    return adapter
