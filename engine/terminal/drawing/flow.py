"""Draws a text of Markdown while it is written: what cannot change any more is settled, only the last block still moves.

A block is settled when the next one has begun, an item of a list when the next item has, a line of code when it is whole.

spec: @drawn_answers
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engine.display.demo_mode import hidden

from .code import Code
from .look import Line, Look
from .markdown import blocks_of, code_lines, drawn_block, first_number, item_lines

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})([^\n`]*)$")
_SAYS = re.compile(r"[^\s\-*_+#>=|`~:.)0-9\\]")
"""A character that is no mark of Markdown: behind it the kind of its line is known."""
_BATCH = 4
"""Lines of code that wait until they are settled together, so that the words of a program are read seldom."""
_MOVING_LINES = 400
"""Lines of a block that moves which are looked at; more never fit on a screen."""


class Flow:
    """One text as it grows. `settled` are the lines that were not taken yet; `moving` is what stands below them."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.text = ""
        self._done = 0
        self._settled: list[Line] = []
        self._code: Code | None = None
        self._closing = re.compile("")
        self._waiting: list[str] = []
        self._before = ""
        """The kind of the block that was settled last."""
        self._items = 0
        """How many items of the list that goes on were settled."""
        self._first: int | None = None

    def update(self, text: str, *, whole: bool = False) -> None:
        """Take the text as far as it is written; with `whole` nothing more comes."""
        self.text = text = hidden(text).replace("\r\n", "\n").replace("\r", "\n")
        self._done = min(self._done, len(text))
        while self._step(whole):
            pass

    def settled(self) -> list[Line]:
        """The lines that stay as they are, each once."""
        found, self._settled = self._settled, []
        return found

    def moving(self) -> list[Line]:
        """The lines of the last block, as far as it is written."""
        look = self.look
        rest = self.text[self._done :]
        if self._code is not None:
            lines = [*self._waiting, *([rest] if rest else [])]
            return code_lines(self._code.ahead(lines), look)
        nodes = blocks_of(rest)
        if not nodes:
            return []
        return [*self._gap(nodes[-1]), *self._drawn(nodes[-1], look)]

    def _step(self, whole: bool) -> bool:
        """Settle what can be; True: there may be more."""
        return self._read_code(whole) if self._code is not None else self._read_blocks(whole)

    def _read_blocks(self, whole: bool) -> bool:
        rest = self.text[self._done :]
        if not whole and not _SAYS.search(rest, rest.rfind("\n") + 1):
            rest = rest[: rest.rfind("\n") + 1]  # what only begins may become anything
        nodes = blocks_of(rest)
        if not nodes:
            self._done = len(self.text) if whole else self._done
            return False
        starts = _starts(rest)
        for node in nodes[:-1]:
            self._settle(node)
        last = nodes[-1]
        begins = starts[last.map[0]] if last.map else 0
        self._done += begins
        if last.type == "fence" and (opened := _FENCE.match(self._line())) and "\n" in self.text[self._done :]:
            self._open(opened)
            return True
        if whole:
            self._settle(last)
            self._done = len(self.text)
        elif last.type.endswith("_list") and len(last.children) > 1:
            self._settle_items(last, starts, begins)
        return False

    def _line(self) -> str:
        return self.text[self._done :].partition("\n")[0]

    def _open(self, opened: re.Match[str]) -> None:
        """A block of code begins."""
        sign = opened[2]
        self._settled += [[]] if self._before else []
        self._before = "fence"
        self._code = Code(opened[3])
        self._closing = re.compile(rf" {{0,3}}{re.escape(sign[0])}{{{len(sign)},}}[ \t]*$")
        self._done += len(self._line()) + 1

    def _read_code(self, whole: bool) -> bool:
        assert self._code is not None, "a block of code is open"
        is_over = False
        while not is_over and (end := self.text.find("\n", self._done)) >= 0:
            line = self.text[self._done : end]
            self._done = end + 1
            is_over = bool(self._closing.match(line))
            self._waiting += [] if is_over else [line]
        if not is_over and whole:
            rest, self._done = self.text[self._done :], len(self.text)
            self._waiting += [rest] if rest and not self._closing.match(rest) else []
            is_over = True
        if is_over or len(self._waiting) >= _BATCH:
            self._settled += code_lines(self._code.add(self._waiting), self.look)
            self._waiting = []
        if is_over:
            self._code = None
        return is_over and self._done < len(self.text)

    def _settle(self, node: SyntaxTreeNode) -> None:
        self._settled += [*self._gap(node), *self._drawn(node, self.look)]
        self._before = node.type

    def _settle_items(self, node: SyntaxTreeNode, starts: list[int], begins: int) -> None:
        """Settle the items of a list that have a next one."""
        last = node.children[-1]
        if not last.map:
            return
        self._settled += [*self._gap(node), *self._drawn(node, self.look, len(node.children) - 1)]
        if self._before != _list_name(node):
            self._before, self._first, self._items = _list_name(node), first_number(node), 0
        self._items += len(node.children) - 1
        self._done += starts[last.map[0]] - begins

    def _gap(self, node: SyntaxTreeNode) -> list[Line]:
        """The empty line before a block; none between items of one list."""
        return [] if self._before in ("", _list_name(node)) else [[]]

    def _drawn(self, node: SyntaxTreeNode, look: Look, most: int | None = None) -> list[Line]:
        """The lines of a block, of a list those of `most` items; one that goes on counts on."""
        if not node.type.endswith("_list"):
            return drawn_block(node, look)
        goes_on = self._before == _list_name(node)
        first = self._first if goes_on else first_number(node)
        number = None if first is None else first + (self._items if goes_on else 0)
        return [
            line
            for place, item in enumerate(node.children[:most])
            for line in item_lines(item, None if number is None else number + place, look)
        ]


def _list_name(node: SyntaxTreeNode) -> str:
    """What a list has in common with what goes on with it: its kind and its sign."""
    return f"{node.type} {node.markup}" if node.type.endswith("_list") else ""


def _starts(text: str) -> list[int]:
    """Where each line of a text begins, and where it ends."""
    starts = [0]
    starts += [found.end() for found in re.finditer("\n", text)]
    return [*starts, len(text)]


__all__ = ["Flow"]
