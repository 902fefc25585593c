"""Prints the unified diff of two texts, coloured at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from difflib import unified_diff
from io import StringIO

import typer

from engine.display.demo_mode import hidden
from engine.display.escapes import RETURNS, all_return

from .printing import paint, visible

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def difference(before: str, after: str, old: str, new: str) -> list[str]:
    """The lines of the unified diff of two texts under the names `old` and `new`; none where they are the same.

    Where only one text ends in a line feed, a line says so, as in git.
    """
    if not (before.endswith("\n") or after.endswith("\n")):
        before, after = (f"{text}\n" if text else "" for text in (before, after))
    lines: list[str] = []
    for line in unified_diff(_lines(before), _lines(after), old, new):
        lines.append(line.removesuffix("\n"))
        if not line.endswith("\n"):
            lines.append("\\ No newline at end of file")
    return lines


def print_difference(lines: Iterable[str]) -> None:
    """Print the lines of a unified diff on stdout; at a terminal carriage returns that all of them have in a line."""
    lines = list(lines)
    if sys.stdout.isatty() and all_return(lines[2:]):
        lines = [*lines[:2], RETURNS, *(line.removesuffix("\r") for line in lines[2:])]
    for number, line in enumerate(lines):
        _print(line, _COLOURS.get(line[:1]) if number > 1 else None)


def print_paged(lines: Iterable[str]) -> None:
    """Print the lines of unified diffs on stdout; at a terminal in the person's pager."""
    if not sys.stdout.isatty():
        for line in lines:
            _print(line, None)
        return
    from .editor_and_pager import paged

    paged((_drawn(line) for line in lines), sys.stdout)


def _drawn(line: str) -> str:
    is_head = line.startswith(("--- ", "+++ "))
    return paint(visible(line), "yellow" if is_head else _COLOURS.get(line[:1]), stream=sys.stdout)


def print_title(text: str) -> None:
    """Print a title line on stdout."""
    _print(text, "yellow")


def _print(line: str, colour: str | None) -> None:
    typer.echo(paint(visible(line), colour, stream=sys.stdout) if sys.stdout.isatty() else hidden(line))


def _lines(text: str) -> list[str]:
    """The lines of a text with their line feeds; no other character ends a line."""
    return list(StringIO(text, newline="\n"))
