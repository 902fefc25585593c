"""Adapters: what serves runs to others by a protocol. `engine serve acp` is one; plugins and files bring more.

spec: @adapters
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from .errors import NotFound, ValidationError
from .serving import Adapter, Serving


def named(name: str) -> Adapter:
    """The adapter of that name: the engine's own, one of a plugin, or the function `serve` of a Python file.

    Raises `NotFound` (404) where there is none, `ValidationError` (400) for a file without such a function.
    """
    if name.endswith(".py"):
        return _of_file(Path(name))
    known = adapters()
    if name not in known:
        raise NotFound(f"adapter {name!r}: not found; use {', '.join(known)}, or a file such as ./adapter.py")
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
