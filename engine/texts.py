"""The texts that come with the engine: where they lie, and the personas among them."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

_RATIONALE = re.compile(r"[ \t]*<!--.*?-->", re.DOTALL)


def folder_of(package: str) -> Path:
    """The folder of a package of ours. `importlib.resources` would import all that makes temporary files and archives."""
    return Path(import_module(package).__path__[0])


def strip_rationale(text: str) -> str:
    """`text` without its HTML comments, which say why a line stands there and are not for the model."""
    return re.sub(r"\n{3,}", "\n\n", _RATIONALE.sub("", text)).strip()


@cache
def personas() -> tuple[tuple[str, str], ...]:
    """The personas that come with the engine, as (name, text)."""
    folder = folder_of("engine.templates") / "personas"
    return tuple(
        sorted(
            (entry.name.removesuffix(".md"), strip_rationale(entry.read_text("utf-8"))) for entry in folder.iterdir()
        )
    )
