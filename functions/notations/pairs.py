"""Arguments in pairs of elements: `<arg_key>path</arg_key><arg_value>b.md</arg_value>` (GLM, Hunyuan, LongCat) and
`<|tool_arg:start|>path<|tool_arg:value|>b.md<|tool_arg:end|>` (Solar).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import FLAGS, NAMESPACE, skip_space
from engine.functions.notations.call_ends import Behind
from engine.functions.notations.notation import Answer
from engine.functions.notations.scalars import argument

_PAIR = rf"{NAMESPACE}(?:[a-z]+_)?arg_"
_KEY = lazy_regex(
    rf"<{_PAIR}key(?::\w{{1,20}})?>\s*(?P<key>[\w.-]{{1,80}})\s*</{_PAIR}key(?::\w{{1,20}})?>\s*"
    rf"<(?P<value>{_PAIR}value(?::\w{{1,20}})?)>"
    r"|<\|tool_arg:start\|>\s*(?P<name>[\w.-]{1,80})\s*<\|tool_arg:value\|>",
    FLAGS,
)
_OPENS = lazy_regex(rf"<{_PAIR}key(?::\w{{1,20}})?>|<\|tool_arg:start\|>", FLAGS)

_CLOSES = lazy_regex(rf"(?:</{_PAIR}value(?::\w{{1,20}})?>|<\|tool_arg:end\|>)\s*\Z", FLAGS)


def behind_pairs() -> Behind:
    """What stands before the end of a call with pairs."""
    return Behind(_CLOSES)


@dataclass
class Pairs:
    """The arguments by name, and where they end; `problem` says why they could not be read."""

    values: dict[str, object]
    end: int
    problem: str | None = None


def pairs(answer: Answer, position: int) -> Pairs | None:
    """The pairs at `position`; None where none begins."""
    text = answer.text
    if not _OPENS.match(text, position):
        return None
    given = Pairs({}, position)
    while _OPENS.match(text, position):
        key = _KEY.match(text, position)
        if key is None:
            given.problem = "a name of an argument is not followed by its value"
            return given
        name = key["key"] or key["name"]
        closing = f"</{key['value']}>" if key["key"] else "<|tool_arg:end|>"
        end = answer.find(closing, key.end())
        if end < 0 or _OPENS.search(text, key.end(), end):
            given.problem = f"its argument {name!r} is not closed"
            return given
        if name in given.values:
            given.problem = f"it gives its argument {name!r} twice"
            return given
        given.values[name] = argument(name, text[key.end() : end])
        given.end = end + len(closing)
        position = skip_space(text, given.end)
    return given
