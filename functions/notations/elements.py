"""Calls in elements: `<invoke name="get">` (Anthropic, MiniMax, Step, DeepSeek's DSML), `<function=get>` (Qwen Coder, Seed),
`<function name="get">` (MiniCPM), `<tool name="get">`, and `<tool_use><name>get</name>`, whose name is a child.

Their arguments are parameters, children named after them, or JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import FLAGS, Grammar, skip_space
from engine.functions.notations.call_ends import nothing_follows
from engine.functions.notations.notation import UNREAD, Answer, Reading
from engine.functions.notations.parameters import Parameters, parameters
from engine.functions.notations.tokens import NOISE, PREFIX, WRAPPERS

# Words that other markup also uses: they count only together with the name of a tool.
_COMMON = r"(?:tool|function|call|action|use_tool|execute_tool|command)"
_OPEN = lazy_regex(
    rf"<{PREFIX}(?P<element>invoke|{_COMMON}|function_call|tool_call)"
    r"(?:\s+(?:name|tool)\s*=\s*[\"']?(?P<name>[\w.:/-]+)[\"']?[^<>]{0,120}|=\s*[\"']?(?P<given>[\w.:/-]+)[\"']?\s*)>",
    FLAGS,
)
_BARE = lazy_regex(rf"<{PREFIX}(?P<element>invoke|{_COMMON}|{WRAPPERS})>", FLAGS)
_NAME = lazy_regex(
    rf"\s*{NOISE}(?:<id>[^<]{{0,80}}</id>\s*)?<(?P<tag>(?:\w+_)?name)>\s*(?P<name>[\w.:/-]+)\s*</(?P=tag)>", FLAGS
)
_PARAMETER = lazy_regex(rf"\s*{NOISE}<{PREFIX}param(?:eter)?[\s=]", FLAGS)
_NAME_ALONE = lazy_regex(r"\s*[\w.:/-]+\s*</[\w.:-]*>")
_NAME_BEGUN = lazy_regex(r"\s*[\w.:/-]+\s*[<\n({\[]")


class Elements:
    """An element for each call."""

    name = "element"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """The open tag of an element that names a call."""
        del grammar
        return {"<": rf"{PREFIX}(?:(?:invoke|{_COMMON})(?=[\s>=])|(?:function_call|tool_call)(?=\s))"}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """One call; an element of a common name is none unless it names a tool."""
        text, start = answer.text, found.start()
        opened = _OPEN.match(text, start)
        if opened:
            element, group = opened["element"].lower(), "name" if opened["name"] else "given"
            sure = element == "invoke" or (element == "function" and group == "given")
            if not sure and not answer.claims.names_tool(opened.start(group)):
                return None
            return _read(answer, start, opened.end(), element, opened[group])
        bare = _BARE.match(text, start)
        named = _NAME.match(text, bare.end()) if bare else None
        sure = "invoke" in found[0].lower() or text.startswith("<function=", start)
        if bare and named and (sure or answer.claims.names_tool(named.start("name"))):
            return _read(answer, start, named.end(), bare["element"].lower(), named["name"])
        if sure and not answer.claims.is_mention(start, bare.end() if bare else found.end()):
            element = bare["element"].lower() if bare else "invoke"
            return Reading(
                found.end(),
                problem="it is not complete",
                claimed=answer.claims.wrapped_end(f"<{element}>", found.end()),
            )
        return _alone(answer, bare) if bare and answer.claims.names_tool(bare.end()) else None


def _alone(answer: Answer, bare: re.Match[str]) -> Reading | None:
    """`<tool>get</tool>` before what may be its arguments, and `<tool>get(…)`; None for words that no arguments follow."""
    text, position = answer.text, bare.end()
    closing = _NAME_ALONE.match(text, position)
    if closing is None:
        claimed = answer.claims.wrapped_end(bare[0], position) if _NAME_BEGUN.match(text, position) else 0
    else:
        following = skip_space(text, closing.end())
        begun = text.startswith(("<", "{"), following) and not answer.claims.begins_call(following)
        claimed = len(text) if begun else 0
    return Reading(position, problem=UNREAD, claimed=claimed, foreign=True) if claimed else None


def named_element(answer: Answer, start: int, position: int) -> Reading | None:
    """The call of a wrapper at `start` whose content at `position` begins with its name; None where it does not."""
    named, bare = _NAME.match(answer.text, position), _BARE.match(answer.text, start)
    if named is None:
        return None
    return _read(answer, start, named.end(), bare["element"] if bare else "tool_call", named["name"])


def element_of(answer: Answer, start: int, position: int, name: str) -> Reading | None:
    """The call of a wrapper at `start` that says the name before an element of this call, or before its parameters."""
    opened = _OPEN.match(answer.text, position)
    if opened:
        given = opened["name"] or opened["given"]
        same = given.lower().split(".")[-1] == name.lower().split(".")[-1]
        return _read(answer, start, opened.end(), opened["element"].lower(), given) if same else None
    if not _PARAMETER.match(answer.text, position):
        return None
    given = parameters(answer, position, "invoke")
    if given.problem is not None:
        return Reading(given.end, problem=given.problem, behind=given.behind())
    return answer.named(name, given.values, start, given.end)


def _read(answer: Answer, start: int, position: int, element: str, name: str) -> Reading:
    given = parameters(answer, position, element)
    if given.problem is not None:
        return _given_up(answer, element, given, given.problem)
    if not given.closed and not (given.values and nothing_follows(answer.text, given.end)):
        return _given_up(answer, element, given, "it holds more than its parameters")
    reading = answer.named(name, given.values, start, given.end)
    if not given.closed:
        reading.open_from = start
    return reading


def _given_up(answer: Answer, element: str, given: Parameters, problem: str) -> Reading:
    reading = Reading(given.end, problem=problem, behind=given.behind())
    reading.claimed = answer.claims.wrapped_end(f"<{element}>", given.end, reading.behind)
    return reading
