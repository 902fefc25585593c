"""The arguments of a call between the tags of an element: `<parameter name="path">`, `<parameter=path>`, `<path>`, JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from engine.functions.lazy import lazy_regex
from engine.functions.markup.argument_names import ARGUMENT_NAMES, known_names
from engine.functions.markup.grammar import FLAGS, skip_space
from engine.functions.notations.call_ends import Behind
from engine.functions.notations.notation import Answer
from engine.functions.notations.scalars import argument
from engine.functions.notations.tokens import NOISE, PREFIX

_HOLDER = lazy_regex(rf"\s*{NOISE}<(?P<holder>parameters|arguments|args|params|input|tool_input)>", FLAGS)
_PARAMETER = lazy_regex(
    rf"\s*{NOISE}<{PREFIX}(?P<element>param(?:eter)?|arg(?:ument)?)"
    r"(?:\s+(?:name|key)\s*=\s*[\"'](?P<name>[\w.-]+)[\"'](?P<more>[^<>]*)|=\s*[\"']?(?P<given>[\w.-]+)[\"']?\s*)>",
    FLAGS,
)
_CHILD = lazy_regex(rf"\s*{NOISE}<(?P<name>[A-Za-z_][\w.-]{{0,60}})>")
_PLACE = lazy_regex(r"(?:\w*_)?(?:path|file|file_?name|destination)", FLAGS)
_IS_JSON = lazy_regex(r"\bstring\s*=\s*[\"']false|\btype\s*=\s*[\"'](?!str)")


@dataclass
class Parameters:
    """The arguments by name, and where they end; `closed` tells whether the element does, `problem` what is wrong,
    `child` in which child that is.
    """

    values: Any = field(default_factory=dict)
    end: int = 0
    closed: bool = False
    problem: str | None = None
    child: str = ""
    is_json: bool = False

    def behind(self) -> Behind | None:
        """What stands before the end of the element, if its arguments are no JSON."""
        return None if self.is_json else Behind(_behind(self.child), self.child)


@lru_cache(maxsize=64)
def _ends(element: str, only: frozenset[str] | None = None) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What closes the element, and what may stand behind the value of a child: of those in `only`, else of any."""
    closing = rf"\s*{NOISE}</{PREFIX}{re.escape(element)}\s*>"
    holder = rf"\s*{NOISE}</(?:parameters|arguments|args|params|input|tool_input)>"
    names = "|".join(map(re.escape, sorted(only))) if only else r"[A-Za-z_][\w.-]{0,60}"
    return re.compile(closing, FLAGS), re.compile(rf"{closing}|{holder}|\s*{NOISE}<(?:{names})>|\s*\Z", FLAGS)


@lru_cache(maxsize=256)
def _behind(child: str) -> re.Pattern[str]:
    """What ends the last parameter; `child` names one more than those of the tools."""
    names = {name for tool in ARGUMENT_NAMES for name in known_names(tool)} | ({child} if child else set())
    children = "|".join(map(re.escape, sorted(names)))
    return lazy_regex(
        rf"</(?:{PREFIX}(?:param(?:eter)?|arg(?:ument)?)|(?P<child>{children}))\s*>\s*{NOISE}"
        rf"(?:</(?:parameters|arguments|args|params|input|tool_input)>\s*{NOISE})?\Z",
        FLAGS,
    )


@lru_cache(maxsize=64)
def _values_end(element: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What closes a parameter, and what opens one."""
    return lazy_regex(rf"{NOISE}</{PREFIX}{element}\s*>", FLAGS), lazy_regex(rf"<{PREFIX}{element}[\s=]", FLAGS)


def parameters(answer: Answer, position: int, element: str, only: frozenset[str] | None = None) -> Parameters:
    """The arguments from `position` to the closing tag of `element`; with `only` children of these names alone."""
    text, given = answer.text, Parameters(end=position)
    holder = None if only else _HOLDER.match(text, position)
    at = skip_space(text, holder.end() if holder else position)
    if text.startswith("{", at):
        given.is_json = True
        value, end = answer.values.decoded(at)
        if end < 0 or answer.claims.is_broken_off(end):
            given.problem = "its arguments are not valid JSON"
            return given
        given.values, given.end = value, end
    else:
        given.end = holder.end() if holder else position
        _read(answer, given, element, only)
    if given.problem is None:
        _close(text, given, element, holder["holder"] if holder else None)
    return given


def _close(text: str, given: Parameters, element: str, holder: str | None) -> None:
    if holder:
        closing = re.compile(rf"\s*{NOISE}</{holder}>", FLAGS).match(text, given.end)
        given.end = closing.end() if closing else given.end
    closing = _ends(element)[0].match(text, given.end)
    if closing:
        given.end, given.closed = closing.end(), True


def _read(answer: Answer, given: Parameters, element: str, only: frozenset[str] | None) -> None:
    """Add the parameters one by one, up to what is none."""
    text, values = answer.text, dict[str, object]()
    given.values = values
    while given.problem is None:
        named = None if only else _PARAMETER.match(text, given.end)
        child = None if named else _CHILD.match(text, given.end)
        if named:
            name, value, end = _parameter(answer, given, named)
        elif child and (only is None or child["name"].lower() in only):
            name, value, end = _child(answer, given, child, _ends(element, only)[1])
        else:
            return
        if name in values and given.problem is None:
            given.problem = f"it gives its parameter {name!r} twice"
        values[name] = value
        given.end = end


def _parameter(answer: Answer, given: Parameters, named: re.Match[str]) -> tuple[str, object, int]:
    """A parameter: its name, value and end."""
    name, position = named["name"] or named["given"], named.end()
    closes, opens = _values_end(named["element"].lower())
    closing = answer.search(closes, position)
    if closing is None or opens.search(answer.text, position, closing.start()):
        given.problem = f"its parameter {name!r} is not closed"
        return name, None, position
    raw = answer.text[position : closing.start()]
    is_json = named["more"] is not None and _IS_JSON.search(named["more"]) is not None
    # `<parameter=…>` stands on a line of its own
    return name, argument(name, raw, layout=named["given"] is not None, is_json=is_json), closing.end()


def _child(
    answer: Answer, given: Parameters, child: re.Match[str], follows: re.Pattern[str]
) -> tuple[str, object, int]:
    """A child that is named after a parameter. Its value may hold its own closing tag, if not `follows` is behind it."""
    name, position = child["name"], child.end()
    given.child = name
    closing = re.compile(rf"{NOISE}</{re.escape(name)}>")
    if _PLACE.fullmatch(name):  # no path holds a tag: what closes the next one is of another call
        closed = answer.search(closing, position)
        if closed is not None and not follows.match(answer.text, closed.end()):
            given.problem = f"what stands behind its parameter {name!r} is not a parameter"
            return name, None, position
    else:
        closed = answer.followed(closing, follows, position)
    if closed is None:
        given.problem = f"its parameter {name!r} is not closed"
        return name, None, position
    return name, argument(name, answer.text[position : closed.start()], layout=True), closed.end()
