"""Draws Markdown as lines for a terminal: headings, lists, quotations, code, tables, links.

`markdown-it` reads the text. What is drawn of it holds nothing that controls a terminal: each text is escaped where it
becomes a part of a line, so that an entity such as `&#x202e;` is seen as well.

spec: @drawn_answers
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .code import coloured, shown
from .folding import folded
from .look import Line, Look, Span
from .tables import table

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_HEADINGS = {"h1": "heading under", "h2": "heading", "h3": "strong"}
_STYLES = {"strong": "strong", "em": "em", "s": "strike", "link": "link"}
_TASK = re.compile(r"\[([ xX])\] ")
_SAFE = re.compile(r"(?:https?|mailto|ftp)://?[!-~]+|mailto:[!-~]+", re.IGNORECASE)
"""An address that a terminal may be given."""
_DEEPEST = 8
"""Levels of lists and quotations that are indented."""


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])


def blocks_of(text: str) -> list[SyntaxTreeNode]:
    """The blocks of a text, one below the other; `map` has the lines of each."""
    from markdown_it.tree import SyntaxTreeNode

    return SyntaxTreeNode(_parser().parse(text)).children


def markdown(text: str, look: Look) -> list[Line]:
    """The lines of a whole text."""
    return _apart(blocks_of(text), look)


def drawn_block(node: SyntaxTreeNode, look: Look, depth: int = 0) -> list[Line]:
    """The lines of one block."""
    match node.type:
        case "heading":
            style = _HEADINGS.get(node.tag, "strong dim")
            return folded(_inline(node, look, style), look.width)
        case "bullet_list" | "ordered_list":
            return list(_items(node, look, depth))
        case "blockquote":
            side = [Span(look.mark("side") + " ", "dim")]
            inner = _apart(node.children, look.wide(look.width - 2) if depth < _DEEPEST else look, depth + 1)
            return [[*side, *line] for line in inner]
        case "fence" | "code_block":
            return code_lines(coloured(node.content.rstrip("\n"), node.info), look)
        case "hr":
            return [[Span(look.mark("rule") * min(look.width, 40), "dim")]]
        case "table":
            return table(_cells(node, look), _aligned(node), look)
        case _ if node.children:
            return folded(_inline(node, look), look.width)
        case _:
            return [line for each in node.content.split("\n") for line in folded([Span(shown(each))], look.width)]


def item_lines(item: SyntaxTreeNode, number: int | None, look: Look, depth: int = 0) -> list[Line]:
    """The lines of an item of a list, behind its bullet or its number."""
    marker = f"{look.mark('bullet')} " if number is None else f"{number}. "
    inner = look.wide(look.width - len(marker)) if depth < _DEEPEST else look
    lines: list[Line] = []
    for place, child in enumerate(item.children):
        if place and not child.type.endswith("_list"):
            lines.append([])
        lines += drawn_block(child, inner, depth + 1)
    lines = lines or [[]]
    if number is None and (task := _TASK.match(lines[0][0].text if lines[0] else "")):
        marker = f"{look.mark('unchecked' if task[1] == ' ' else 'checked')} "
        lines[0][0] = lines[0][0]._replace(text=lines[0][0].text[task.end() :])
    blank = [Span(" " * len(marker))]
    return [[Span(marker, "mark"), *lines[0]], *([*blank, *line] if line else [] for line in lines[1:])]


def first_number(node: SyntaxTreeNode) -> int | None:
    """The number of a list's first item; None of one without numbers."""
    return int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None


def code_lines(lines: Sequence[Line], look: Look) -> list[Line]:
    """The lines of a program, a little to the right, broken where they are too long."""
    indent = [Span("  ")]
    return [part for line in lines for part in (folded(line, look.width, indent, indent) if line else [[]])]


def _apart(nodes: Sequence[SyntaxTreeNode], look: Look, depth: int = 0) -> list[Line]:
    """Blocks with an empty line between them."""
    lines: list[Line] = []
    for place, node in enumerate(nodes):
        lines += [[]] if place else []
        lines += drawn_block(node, look, depth)
    return lines


def _items(node: SyntaxTreeNode, look: Look, depth: int) -> Iterator[Line]:
    first = first_number(node)
    for place, item in enumerate(node.children):
        yield from item_lines(item, None if first is None else first + place, look, depth)


def _inline(node: SyntaxTreeNode, look: Look, style: str = "") -> Line:
    """The text of a heading, a paragraph or a cell."""
    return [span for child in node.children for span in _spans(child, look, style, "")]


def _spans(node: SyntaxTreeNode, look: Look, style: str, link: str) -> Iterator[Span]:
    match node.type:
        case "text":
            yield Span(shown(node.content), style, link)
        case "code_inline":
            yield Span(shown(node.content), f"{style} code".strip(), link)
        case "softbreak" | "hardbreak":  # who answers in a chat means his lines
            yield Span("\n", style, link)
        case "image":
            yield Span(shown(node.content or str(node.attrs.get("src", ""))), f"{style} link".strip(), link)
        case "inline":
            for child in node.children:
                yield from _spans(child, look, style, link)
        case "link":
            yield from _link(node, look, style)
        case kind if node.children:
            inner = f"{style} {_STYLES.get(kind, '')}".strip()
            for child in node.children:
                yield from _spans(child, look, inner, link)
        case _:
            yield Span(shown(node.content), style, link)


def _link(node: SyntaxTreeNode, look: Look, style: str) -> Iterator[Span]:
    """A link: its text, and its address where a terminal cannot open it and the text is another."""
    address = quote(str(node.attrs.get("href", "")), safe="!#$%&'()*+,/:;=?@[]~-._")
    safe = address if _SAFE.fullmatch(address) else ""
    text = ""
    for child in node.children:
        for span in _spans(child, look, f"{style} link".strip(), safe):
            text += span.text
            yield span
    if not (safe and look.links) and text not in (address, address.removeprefix("mailto:")):
        yield Span(f" ({shown(address)})", f"{style} dim".strip())


def _cells(node: SyntaxTreeNode, look: Look) -> list[list[Line]]:
    return [[_inline(cell, look) for cell in row.children] for part in node.children for row in part.children]


def _aligned(node: SyntaxTreeNode) -> list[str]:
    """How each column of a table stands: left, right or center."""
    heads = node.children[0].children[0].children
    return [str(each.attrs.get("style", "")).rpartition(":")[2] or "left" for each in heads]


__all__ = ["blocks_of", "code_lines", "drawn_block", "first_number", "item_lines", "markdown"]
