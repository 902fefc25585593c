"""Prints lines, tables and JSON: coloured at a terminal, plain elsewhere."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

import typer

from engine.display.demo_mode import hidden, is_on
from engine.display.escapes import drawn, drawn_json

from .wrapping import cells, line_width, wrapped

# In terminal cells: the widest column of a table, the last one excepted, and the gap between two columns.
_WIDEST = 40
_GAP = 2
# The fewest cells that a cut last column is left; where there are less, it stands whole below the others.
_LEAST_LEFT = 30


def say(text: str = "", colour: str | None = None, *, dim: bool = False) -> None:
    """Print a line for the person on stderr, coloured where that is a terminal; in demo mode names are hidden."""
    typer.echo(paint(hidden(text), colour, dim=dim, stream=sys.stderr), err=True)


_MOST_OF_ERROR = 2_000
"""Characters of an error that are printed."""


def print_error(message: str) -> None:
    """Print what went wrong as one line on stderr."""
    say(f"engine: {shown_error(message)}", "red")


def shown_error(message: str) -> str:
    """An error as a person may read it: `visible`, and of one that repeats a long argument the beginning and the end."""
    if len(message) > _MOST_OF_ERROR:
        half = _MOST_OF_ERROR // 2
        message = f"{message[:half]} … {message[-half:]}"
    return visible(message)


def paint(text: str, colour: str | None = None, *, dim: bool = False, stream: TextIO) -> str:
    """`text` in a colour where `stream` is a terminal and NO_COLOR is not set; else `text` itself."""
    if not (colour or dim) or not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return typer.style(text, fg=colour, dim=dim or None)


def visible(text: str) -> str:
    """`text` with escapes for what would not be seen as itself or controls a terminal; line feeds and tabs stay."""
    return drawn(text)


def shown_path(path: str) -> str:
    """A path with letters for its percent escapes, where all of them are seen; typed like that it names the same entry."""
    from engine.functions.paths import path_readable

    read = path_readable(path)
    return read if visible(read) == read else path


def one_line(value: Any, width: int = 100) -> str:
    """The first line of a value, at most `width` characters; what is left out is shown as '…'."""
    text = "" if value is None else visible(shown(value)).strip("\n")
    first, _, rest = text.partition("\n")
    return f"{first[: width - 1]}…" if len(first) > width else first + ("…" if rest else "")


def shown(value: Any) -> str:
    """A value of a row as text: NULL is empty, and bytes are an SQL literal."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return str(value)


def dollars(cost: float | None) -> str:
    """A cost in US dollars, as shown to a person; None is a price that nobody told."""
    return "price unknown" if cost is None else f"${cost:.4f}"


def cost_cell(cost: float | None) -> str:
    """A cost as a cell of a table: US dollars, or "unknown"."""
    return "unknown" if cost is None else f"{cost:.4f}"


def costs(own: float | None, tree: float | None) -> str:
    """The cost of a run and, where that is another, of it with the runs below."""
    return dollars(own) if own == tree else f"{dollars(own)}, with the runs below {dollars(tree)}"


def print_text(text: str) -> None:
    """Print a text on stdout; at a terminal with the characters escaped that control it, elsewhere as it is.

    In demo mode names are hidden in both: what a pipe gets is shown in the end.
    """
    # color: else escape sequences would be taken out of what goes into a pipe
    typer.echo(visible(text) if sys.stdout.isatty() else hidden(text), color=True)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout; bytes become the text of an SQL literal."""
    print_json_text(json.dumps(value, ensure_ascii=False, indent=2, default=shown))


def print_json_text(text: str, *, whole: bool = False) -> None:
    """Print a JSON text on stdout, with JSON escapes for what would not be seen as itself; its meaning is the same.

    In demo mode names in its texts are hidden, unless it is to be `whole`.
    """
    if is_on() and not whole:
        text = json.dumps(_hidden_in(json.loads(text)), ensure_ascii=False, indent=2 if "\n" in text else None)
    typer.echo(drawn_json(text))


def _hidden_in(value: Any) -> Any:
    """A JSON value with names hidden in its texts; keys are the engine's own words."""
    match value:
        case str():
            return hidden(value)
        case list():
            return [_hidden_in(each) for each in value]
        case dict():
            return {key: _hidden_in(each) for key, each in value.items()}
        case _:
            return value


def print_table(
    rows: Sequence[Mapping[str, Any]], columns: Iterable[str], empty: str, *, spared: Sequence[str] = ()
) -> None:
    """Print the named columns of `rows`, one row a line; where there are no rows, print `empty` on stderr.

    A terminal that is too narrow for all of them lacks those of `spared`, as many as it takes, the first one first.
    """
    names = list(columns)
    if not rows:
        say(empty)
        return
    if width := line_width():
        for name in spared:
            if _width(names, rows) > width:
                names.remove(name)
    shown_rows = [{one_line(name): row[name] for name in names} for row in rows]
    heads = [one_line(name) for name in names]
    if sys.stdout.isatty():
        _print_rich(heads, shown_rows)
    else:
        _print_plain(heads, [[one_line(row[name], 1_000) for name in names] for row in rows])


def _width(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> int:
    """The width of a table whose last column is as narrow as it may be."""
    *before, last = names
    widths = (min(max(cells(name), *(cells(one_line(row[name], 400)) for row in rows)), _WIDEST) for name in before)
    return sum(widths) + _GAP * len(before) + cells(last)


def _print_rich(names: list[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table as wide as the terminal; the last column is cut to the width that the others leave.

    Where they leave little, it stands below them; where they do not fit themselves, each row is printed as lines of its own.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    cells = [[Text(one_line(row[name], 400)) for name in names] for row in rows]
    widths = [max(len(name), *(line[i].cell_len for line in cells)) for i, name in enumerate(names)]
    widths = [min(width, _WIDEST) for width in widths[:-1]] + widths[-1:]
    if _width(names, rows) > console.width:
        _print_blocks(names, rows, console.width)
        return
    left = max(len(names[-1]), console.width - sum(widths[:-1]) - _GAP * len(widths))
    below = left < min(widths[-1], _LEAST_LEFT) and len(names) > 1
    widths[-1] = min(widths[-1], left)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    shown = names[:-1] if below else names
    for name, width in zip(shown, widths, strict=False):
        numbers = all(isinstance(row[name], int | float | None) for row in rows)
        table.add_column(Text(name), justify="right" if numbers else "left", width=width, no_wrap=True)
    for row_cells in cells:
        for cell, width in zip(row_cells, widths, strict=True):
            cell.truncate(width, overflow="ellipsis")
        table.add_row(*row_cells[: len(shown)])
    if not below:
        console.print(table, crop=False, overflow="ignore")
        return
    with console.capture() as drawn_table:
        console.print(table, crop=False, overflow="ignore")
    lasts = [names[-1], *(one_line(row[names[-1]], 400) for row in rows)]
    for line, last in zip(drawn_table.get().splitlines(), lasts, strict=True):
        typer.echo(line.rstrip())
        for piece in wrapped(last, console.width, "  ", "  ") if last else ():
            typer.echo(piece)


def _print_blocks(names: list[str], rows: Sequence[Mapping[str, Any]], width: int) -> None:
    """Print each row as lines of name and value, without the values that are empty; a blank line parts two rows."""
    room = max(map(len, names)) + _GAP
    for number, row in enumerate(rows):
        if number:
            typer.echo()
        for name in names:
            if value := one_line(row[name], 400):
                for line in wrapped(value, width, name.ljust(room), " " * room):
                    typer.echo(line)


def _print_plain(names: list[str], lines: list[list[str]]) -> None:
    widths = [max(cells(line[i]) for line in [names, *lines]) for i in range(len(names))]
    for line in [names, *lines]:
        padded = (cell + " " * (width - cells(cell)) for cell, width in zip(line, widths, strict=True))
        typer.echo((" " * _GAP).join(padded).rstrip())
