"""What must hold of every answer, however damaged, told by means that the parser does not use."""

from __future__ import annotations

import ast
import json
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any
from xml.parsers import expat

from engine.functions.markup.answer import MAX_COMMANDS, response_parse
from engine.functions.markup.grammar import DEFAULT_TOOLS

SECONDS_PER_BYTE = 0.050 / 10_000
_SMALLEST = 10_000
"""Shorter texts are given the time of this many bytes."""
_TOOLS = frozenset(DEFAULT_TOOLS)
_HEAD = re.compile(rf"<(?:{'|'.join(DEFAULT_TOOLS)})[\s/>]")
_CLAIM = re.compile(
    r"(?:Malformed|Unread) tool call ('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\").* nothing of it was done", re.DOTALL
)
_BRACKETS = re.compile(r"[\[\]{}]")
_STRINGS = re.compile(r"(?<=[:,{\[])\s*\"(?:[^\"\\]|\\.)*(?:\"|\Z)", re.DOTALL)
"""The strings of data, the last of which may go on behind the prose."""
_THOUGHT_ENDS = re.compile(
    r"<(?:\\?/\s?|\\)(?:[\w-]+[:.])*\w*(?:think|thinking|thoughts?|reason|reasoning|reflection|scratch_?pad|monologue|analysis)"
    r"(?:_content|_process)?\s*>|Here(?:'s| is) my response:|\[/THINK\w*\]"
    r"|\u25c1/think\u25b7|<[|\uff5c][\w:/\u2581]*(?:think|thought|inner)\w*[:\w]*[|\uff5c]>|<channel\|>|<\|close\|>think|<\|end\|>"
    r"|<unused95>|assistant(?:final|commentary|analysis)",
    re.IGNORECASE,
)
_QUOTING = re.compile("`|~~~|\\[THINK\\]|\u25c1think")


@dataclass
class Verdict:
    """What was found wrong with the reading of one answer (None: nothing), and the figures of it."""

    problem: str | None
    calls: int
    seconds_per_10_kb: float


def judge(text: str) -> Verdict:
    """Read `text` and compare; `calls` is how many calls a strict parser found in it."""
    try:
        parsed, seconds = _timed(text)
    except Exception as error:
        return Verdict(f"{type(error).__name__}: {error}", 0, 0.0)
    strict = strict_calls(text)
    allowed = SECONDS_PER_BYTE * max(len(text), _SMALLEST)
    # which of the ends of thoughts the parser took for the last that nothing opened is its judgement
    faults = (_fault(text, parsed, strict, thought) for thought in _thoughts(text, parsed["warnings"]))
    told = list(takewhile(bool, faults))
    problem = told[0] if len(told) == len(_thoughts(text, parsed["warnings"])) else None
    if problem is None and seconds > allowed:
        problem = f"took {seconds * 1000:.0f} ms of CPU for {len(text)} characters"
    return Verdict(problem, len(strict), 10_000 * seconds / max(len(text), _SMALLEST))


def _timed(text: str) -> tuple[dict[str, Any], float]:
    """The reading and its CPU seconds; a slow one is repeated, for a pause of the machine is no fault."""
    best = float("inf")
    for _ in range(4):
        began = time.process_time()
        result = response_parse(text, None, None)
        best = min(best, time.process_time() - began)
        if best <= SECONDS_PER_BYTE * max(len(text), _SMALLEST):
            break
    return json.loads(result or ""), best


def _fault(text: str, parsed: dict[str, Any], strict: list[tuple[str, int]], thought: tuple[int, int]) -> str | None:
    commands, warnings = parsed["commands"], parsed["warnings"]
    if any(warning.startswith("The answer could not be parsed") for warning in warnings):
        return str(warnings[0])
    spans, position, latest = list[tuple[int, int, str]](), 0, -1
    for command in commands:
        source, action = str(command["source"]), str(command["action"])
        start = text.find(source, position if action == "think" else max(position, thought[0]))
        if latest >= 0 and source == text[latest:position] and not _HEAD.match(source):
            start = max(start, latest)  # another call of the same JSON object, or the same again
            spans += [(latest, position, action), (start, start + len(source), action)]
            continue
        if start < 0:
            return f"the source of a <{action}> is no slice of the answer: {source!r}"
        latest, position = start, start + len(source)
        spans.append((start, position, action))
    if len(commands) < MAX_COMMANDS:
        found = {(action, start) for start, _, action in spans}
        claimed = _first_claim(text, warnings)
        sources = [str(command["source"]) for command in commands]
        strict_starts = [start for _, start in strict]
        repeated = [
            source
            for source in set(sources)
            if text.count(source) > 1
            and sources.count(source) >= sum(text.startswith(source, start) for start in strict_starts)
        ]
        for action, start in strict:
            foreign = any(begin < start < end and _is_foreign(text, begin) for begin, end, _ in spans)
            # the same text may stand in data before, where the search for the source stops
            moved = any(text.startswith(source, start) for source in repeated)
            if (action, start) not in found and not foreign and not moved and thought[1] <= start < claimed:
                return f"lost the <{action}> at character {start}: {text[start : start + 80]!r}"
    if _HEAD.search(text) and not commands and not warnings and not parsed["reasoning"]:
        return "a tool's tag was passed over in silence"
    return None


def _first_claim(text: str, warnings: list[str]) -> int:
    """Where the first call starts of which a warning tells that it was given up: what stands behind may belong to it."""
    heads = [_CLAIM.match(warning) for warning in warnings]
    begins = [text.find(ast.literal_eval(head[1])) for head in heads if head]
    return min(begins, default=len(text))


def _thoughts(text: str, warnings: list[str]) -> list[tuple[int, int]]:
    """Up to where all may be thoughts, because a warning tells that an end of thoughts closes nothing; the last one first.

    Commands are looked for behind the first of the two figures, and calls may be lost before the second.
    """
    unclear = any(warning.startswith("Unclear where the thoughts end") for warning in warnings)
    if not unclear and not any(warning.startswith("Unopened ") for warning in warnings):
        return [(0, 0)]
    ends = [*(found.start() for found in _THOUGHT_ENDS.finditer(text)), 0]
    return [(end, len(text) if unclear else end) for end in sorted(ends, reverse=True)]


def _is_foreign(text: str, start: int) -> bool:
    """A call that is not written as a tag of its tool: what stands in its arguments is no call."""
    return _HEAD.match(text, start) is None


def strict_calls(text: str) -> list[tuple[str, int]]:
    """The tools' elements at the top of `text` as XML reads it, with the character at which each starts.

    Reading ends where the text is no XML, or where back-ticks or tildes stand outside of tools. What stands in open
    braces or brackets is left out: it may be the argument of a call in JSON.
    """
    reader = _StrictReader(text)
    # What was found before the text stops being XML counts.
    with suppress(expat.ExpatError, _Stop):
        reader.parser.Parse(reader.data, True)
    return [(name, len(reader.data[3:start].decode())) for name, start in reader.found]


class _Stop(Exception):
    """Nothing further is looked at."""


class _StrictReader:
    def __init__(self, text: str) -> None:
        self.data = b"<r>" + text.encode(errors="replace")
        self.parser = expat.ParserCreate("utf-8")
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.depth = 0
        self.open: tuple[str, int] | None = None
        self.prose_from = 3
        self.balance = {"{}": 0, "[]": 0}
        self.found: list[tuple[str, int]] = []

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth == 2 and name in _TOOLS:
            start = self.parser.CurrentByteIndex
            prose = self.data[self.prose_from : start].decode(errors="replace")
            if _QUOTING.search(prose):
                raise _Stop
            for sign in _BRACKETS.findall(_STRINGS.sub("", prose)):
                kind = "{}" if sign in "{}" else "[]"
                self.balance[kind] = max(0, self.balance[kind] + (1 if sign in "{[" else -1))
            self.open = (name, start)

    def end(self, _name: str) -> None:
        self.depth -= 1
        if self.depth == 1 and self.open:
            if not any(self.balance.values()):
                self.found.append(self.open)
            self.open = None
            self.prose_from = self.parser.CurrentByteIndex
