"""What packets show of bodies, by plugins in place of the engine: in full, and as a summary.

spec: @plugin_projections
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from engine.functions import Function
from engine.functions.paths import path_scheme
from engine.functions.texts import SUMMARY_LENGTH, body_short, body_shown, text_clean
from engine.plugins import Project, Projection

_FILE = "file"


def projecting(own: tuple[Function, ...], projections: Mapping[str, Projection]) -> tuple[Function, ...]:
    """The functions with `body_shown` and `body_short` as plugins project the schemes in `projections`.

    What a projection raises, and what is no text, leaves the engine's own; a summary longer than any is cut.
    """

    def shown(path: str | None, body: str | None) -> str | None:
        found = _asked(projections.get(path_scheme(path) or _FILE, Projection()).visible, path, body)
        return body_shown(path, body) if found is None else found

    def short(path: str | None, body: str | None) -> int | str | None:
        found = _asked(projections.get(path_scheme(path) or _FILE, Projection()).summarized, path, body)
        if found is not None:
            return found[:SUMMARY_LENGTH]
        return body_short(path, shown(path, body))

    replaced: dict[str, Callable[..., object]] = {"body_shown": shown, "body_short": short}
    return tuple(each._replace(call=replaced.get(each.name, each.call)) for each in own)


def _asked(project: Project | None, path: str | None, body: str | None) -> str | None:
    if project is not None and body is not None:
        with suppress(Exception):
            found = project(path or "", body)
            return text_clean(found) if isinstance(found, str) else None
    return None


__all__ = ["projecting"]
