"""A report as Markdown. Texts of others are escaped, or stand in code: no renderer finds markup, HTML or a link in them.

spec: @report
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.display.escapes import drawn

from .parts import Code, Facts, Part, Points, Report, Table, Text

_MARKUP = re.compile(r"[\\`*\[\]<>&#|~!$^]|(?<!\w)_|_(?!\w)|:(?=[^\s\d])|(?<=www)\.", re.IGNORECASE)
"""What begins emphasis, a link, an address, HTML, an entity, a cell, a formula or an emoji."""

_BEGINS = re.compile(r"\A(\d*)([-+=.)])")
"""What begins a list, a rule or a heading where it stands first."""


def markdown(report: Report) -> str:
    """The report as a text in CommonMark with tables."""
    lines = [f"# Report on {_inline(Code(report.run))}"]
    for section in report.sections:
        lines += ["", f"## {section.title}"]
        for part in section.parts:
            lines += ["", *_lines(part)]
        if not section.parts:
            lines += ["", section.empty]
    return "\n".join(lines) + "\n"


def _lines(part: Part) -> Iterator[str]:
    match part:
        case Facts(rows):
            yield from (f"- {name}: {_inline(value)}" for name, value in rows)
        case Points(lines):
            yield from (f"- {_BEGINS.sub(_escaped, _inline(line), count=1)}" for line in lines)
        case Table(heads, rows, left_out):
            yield _row(heads)
            yield _row("---" for _ in heads)
            yield from (_row(map(_cell, row)) for row in rows)
            if left_out:
                yield f"\n{left_out} more rows are not shown."
        case Text(caption, body):
            seen = drawn(body)
            fence = "`" * max(3, _longest(seen) + 1)
            yield from (f"{caption}:", "", fence, seen, fence)


def _escaped(found: re.Match[str]) -> str:
    return f"{found[1]}\\{found[2]}"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(text: str) -> str:
    """A cell; a bar in code parts cells too, and is escaped there as well."""
    return _inline(text).replace("|", r"\|") if isinstance(text, Code) else _inline(text)


def _inline(text: str) -> str:
    """A text within a line, in which nothing is markup."""
    flat = " ".join(drawn(text).split())
    if not isinstance(text, Code):
        # a mention or an address of mail is found even where its sign is escaped
        return _MARKUP.sub(lambda found: "\\" + found[0], flat).replace("@", "`@`")
    if not flat:
        return ""
    ticks = "`" * (_longest(flat) + 1)
    space = " " if flat[0] == "`" or flat[-1] == "`" else ""
    return f"{ticks}{space}{flat}{space}{ticks}"


def _longest(text: str) -> int:
    """The longest run of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)
