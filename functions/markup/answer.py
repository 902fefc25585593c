"""What a model answered, read into tool calls, prose and reasoning.

The answer is scanned once from left to right. A tool's tag, or a call in another notation, is a command; a quotation in
back-ticks is prose; the text of a body is not read. Every repair gives a warning, so that no call is dropped silently.
The parts: `markup_own` takes tags, which `markup_tags` and `markup_bodies` read and `markup_recovery` mends;
`markup_foreign` takes calls in the `notations`; `markup_prose` knows quotations; `markup_calls` turns attributes and body
into the arguments of each tool.

spec: @parser
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from engine.functions.compact import to_json
from engine.functions.limits import REFUSED_CALLS
from engine.functions.notations import notation_heads, notation_of
from engine.functions.notations.thought_ends import has_closings
from engine.functions.notations.tokens import CONTROLS

from . import unopened
from .foreign import read_control, read_fence, read_foreign
from .grammar import FLAGS, Grammar, grammar_of
from .own import read_tag
from .prose import CALL_FENCES, Quotation
from .state import State

MAX_COMMANDS = 99


def response_parse(text: str | None, tools: str | None, cap: int | None, cut: int | None = None) -> str | None:
    """The commands and the prose of the answer `text`, as JSON.

    It is ``{"commands", "warnings", "unread", "rare", "text", "reasoning"}``. `tools` is a JSON array of the tool names to
    recognise (NULL: the built-in ones), `cap` the maximal number of commands (NULL: 99); NULL for a NULL text. A command is
    ``{"action", "path", "destination", "body", "attributes", "source"}``: `source` is the exact slice of the text,
    `attributes` holds all but `path` and `to`, and the body is byte for byte as written except for what `markup_calls`
    removes. `unread` is how many calls were not run because they could not be read, `rare` is true if a command has an
    attribute that its tool may not know. `cut` is 1 if the answer was cut off:
    then a command without its end has no body and ``"truncated": true``, and nothing behind its start is read. Never
    raises: what cannot be read is returned as prose, with a warning.
    """
    if text is None:
        return None
    try:
        parsed = _parse(text, grammar_of(tools), MAX_COMMANDS if cap is None else int(cap), bool(cut))
    except Exception as error:  # the answer is paid for: whatever happens, its text is kept
        warning = f"The answer could not be parsed ({type(error).__name__}: {error}); all of it was kept as text"
        parsed = {
            "commands": [],
            "warnings": [warning],
            "unread": 1,
            "rare": False,
            "text": text.strip(),
            "reasoning": "",
        }
    return to_json(parsed)


@lru_cache(maxsize=64)
def _outer(grammar: Grammar) -> re.Pattern[str]:
    """Matches whatever can end prose: tags, heads of other notations, control tokens, back-ticks, tildes."""
    heads = dict(notation_heads(grammar))
    angle = rf"(?P<tag>{grammar.tag_pattern})|{heads.pop('<')}|(?P<control>{CONTROLS})"
    firsts = "".join(map(re.escape, sorted(heads)))
    others = "|".join(rf"(?<={re.escape(first)})(?:{patterns})" for first, patterns in sorted(heads.items()))
    return re.compile(
        # With the first character on its own the search skips to it.
        rf"[<`~{firsts}](?:(?<=<)(?:{angle})|{others}"
        # Most code spans hold no sign of markup: this skips them.
        r"|(?<=`)(?:(?<!\\`)(?P<span>[^`<\n]+`(?!`))|(?P<ticks>`*))|(?<=~)(?P<tildes>~~+))",
        FLAGS,
    )


def _parse(text: str, grammar: Grammar, cap: int, cut: bool) -> dict[str, Any]:
    outer = _outer(grammar)
    state = State(text, grammar, cap, cut, outer)
    thinks = has_closings(text, grammar)
    position = 0
    while True:
        found = outer.search(text, position)
        closing = state.answer.next_closing(position) if thinks else None
        if closing and (found is None or closing.start <= found.start()):
            position = unopened.end_thoughts(state, closing)
            continue
        if found is None:
            break
        position = _HANDLERS.get(found.lastgroup or "", read_foreign)(state, found)
        if thinks:
            position = unopened.behind(state, found, position)
        if len(state.dropped) + state.unread >= REFUSED_CALLS:
            closing = unopened.last_closing(state, position) if thinks else None
            if closing is None:
                state.stop(position)
                break
            position = unopened.end_thoughts(state, closing)
    return state.result()


def _span(state: State, found: re.Match[str]) -> int:
    """Skip a code span without markup."""
    state.answer.whole = found.end()
    return found.end()


def _ticks(state: State, found: re.Match[str]) -> int:
    """Skip a quotation, or take the calls in a fence that announces them."""
    fences, (start, end) = state.fences, found.span()
    if fences and state.quotations.closes_fence(start, end, fences[-1]):
        fences.pop()
        state.prose.cut(start, end)
        return end
    quotation = state.quotations.at(start, end)
    if quotation is None:
        return len(state.text) if state.cut and state.quotations.is_open(start, end) else end
    position = _quoted(state, quotation, end)
    if quotation.closed and position == quotation.end:
        state.answer.whole = position
    return position


def _quoted(state: State, quotation: Quotation, end: int) -> int:
    """Take the calls in a fence that announces them, or go on behind the quotation; its first sign ends at `end`."""
    start = quotation.start
    if quotation.fence in CALL_FENCES:
        closing = (
            state.text.rfind("\n", quotation.content, quotation.end - 1) + 1 if quotation.closed else quotation.end
        )
        taken = read_fence(state, start, quotation.content, max(closing, quotation.content), quotation.end)
        if taken >= 0:
            return taken
        if _unwrap(state, quotation):
            state.fences.append(end - start)
            return quotation.content
        if quotation.fence != "xml" and state.text[quotation.content : quotation.end].strip("`~ \n"):
            excerpt = state.text[start : min(quotation.end, start + 40)]
            state.give_up(f"Unread tool call {excerpt!r}: it holds no call of a tool", quotation.end)
            return quotation.end
    tool_tag = state.grammar.tag.search(state.text, end, quotation.end)
    fenced = quotation.fence is not None
    if tool_tag or (fenced and state.answer.claims.mentions_call(quotation.content, quotation.end)):
        state.quoted += 1
    return quotation.end


_HANDLERS: Mapping[str, Callable[[State, re.Match[str]], int]] = {
    "tag": read_tag,
    "control": read_control,
    "span": _span,
    "ticks": _ticks,
    "tildes": _ticks,
}
"""What handles a match of `_outer`, by the group that matched, unless it is a notation; it returns where to go on."""


def _unwrap(state: State, quotation: Quotation) -> bool:
    """Remove the first line of a fence from the calls in it; False when it holds no call."""
    first = state.outer.search(state.text, quotation.content, quotation.end)
    if first is None or not (first.lastgroup == "tag" or notation_of(first.lastgroup)):
        return False
    if first[0][0] in "{[" and not state.answer.claims.calls_in_json(first.start()):
        return False
    state.prose.cut(quotation.start, quotation.content)
    state.warnings.append(f"Unwrapped a ```{quotation.fence} fence: the calls in it were run")
    return True
