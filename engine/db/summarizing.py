"""Summaries of bodies by plugins, in place of the engine's own.

spec: @plugin_summaries
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from engine.functions import Function
from engine.functions.paths import path_scheme
from engine.functions.texts import SUMMARY_LENGTH, text_clean
from engine.plugins import Summarize

_FILE = "file"


def summarizing(own: Function, summaries: Mapping[str, Summarize]) -> Function:
    """`body_short` that asks a plugin for the schemes that it summarizes, and `own` for all else.

    What a plugin raises, and what is no text, leaves the engine's own summary; a longer text than any summary is cut.
    """

    def body_short(path: str | None, body: str | None) -> object:
        summarize = summaries.get(path_scheme(path) or _FILE) if body is not None else None
        if summarize is not None:
            with suppress(Exception):
                found = summarize(path or "", body or "")
                if isinstance(found, str):
                    return text_clean(found[:SUMMARY_LENGTH])
        return own.call(path, body)

    return own._replace(call=body_short)


__all__ = ["summarizing"]
