"""Calls behind a token that only calls have: `<tool_call>` (Hermes, Qwen, Granite, GLM), `<|tool_call_start|>` (LFM2),
`<|tool_calls_section_begin|>` (Kimi K2), `<｜tool▁calls▁begin｜>` (DeepSeek), `<|python_tag|>` (Llama), `<TOOLCALL>`
(Nemotron), `<|START_ACTION|>` (Command), `<|tools_prefix|>` (Apertus), `<|action_start|>` (InternLM), `<|recipient|>`
(Functionary), `<tool_calls>` (Jamba, Hunyuan), `[TOOL_REQUEST]` (LM Studio) and their like.

What is between the tokens is read whatever the model: JSON, Python, a name and its arguments, elements. A token in front
of a call that is recognised without it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import FLAGS, Grammar, skip_space
from engine.functions.notations.call_ends import ANY_END, ends_of, no_call_follows, nothing_follows
from engine.functions.notations.elements import element_of, named_element
from engine.functions.notations.json_calls import json_calls
from engine.functions.notations.notation import UNREAD, Answer, Reading
from engine.functions.notations.pairs import behind_pairs, pairs
from engine.functions.notations.pythonic import begins_python, python_calls
from engine.functions.notations.tokens import BAR, BAR_WORD, CLOSING, GAP, MARK, OPENING

_CALL = lazy_regex(r"call:\s*([\w.:/-]+)\s*(?=\{)")
_WORD = lazy_regex(
    rf"(?:function\s*<{BAR}{BAR_WORD}{{0,40}}sep{BAR}>\s*|[\w-]{{1,80}}<\|tool_call:name\|>)?"
    r"(?P<name>[A-Za-z_][\w./-]{0,120}(?::(?!\d)[\w./-]{1,80})*)(?:[:#]\d{1,6})?"
    rf"(?P<between>(?:\s|<{BAR}{BAR_WORD}{{0,60}}(?:sep|begin|args|content|message){BAR}>|<tool_sep(?::\w+)?>|\[ARGS\]"
    r"|\[CALL_ID\][^\[{\s]{0,60}|```(?:json)?(?=\s)|json(?=\s*\{))*)",
    FLAGS,
)
_TYPE = lazy_regex(
    rf"\s*function\s*<{BAR}{BAR_WORD}{{0,40}}sep{BAR}>(?=\s*(?:<|[{{\[]\s*[\"{{]|[A-Za-z_][\w.]*\())", FLAGS
)
_FENCE = lazy_regex(r"\s*```")
_END = lazy_regex(rf"\s*(?:{CLOSING})", FLAGS)
_BRACKETS = lazy_regex(r"(?<=[}\])])(?:\s*+[}\])]){1,4}")
_HEAD = lazy_regex(rf"<(?:{OPENING})|\[TOOL_REQUEST\]", FLAGS)
_NO_END = "it does not end, and more follows"
_BARRED = lazy_regex(rf"<{BAR}")
_PYTHON_TAG = lazy_regex(r"<\|(?:python_|interpreter)", FLAGS)
_ALL = lazy_regex(r"<\|recipient\|>\s*all\s*(?:<\|content\|>)?", FLAGS)
_JSON_AGAIN = lazy_regex(r"\s*+(?:[;,]\s*+)?(?=\{)")


class Wrapped:
    """What stands between the opening and the closing token of a call."""

    name = "wrapped"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """The opening tokens."""
        del grammar
        return {"<": OPENING, "[": r"TOOL_REQUEST\]"}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """The calls of one wrapper; what cannot be read claims the text up to the closing token."""
        start, position = found.start(), found.end()
        if (spoken := _ALL.match(answer.text, start)) is not None:
            return Reading(spoken.end())  # Functionary's text for everybody
        typed = _TYPE.match(answer.text, position)  # Step: a type, then an element
        gap = GAP.match(answer.text, typed.end() if typed else position)
        following = gap.end() if gap else position
        begins = answer.claims.begins_call(following)
        marked = answer.text.endswith(MARK, 0, start)
        if not begins and not marked and answer.claims.is_mention(start, position):
            return None
        if following == len(answer.text) and _BARRED.match(answer.text, start):
            return Reading(position)
        reading = content(answer, start, following)
        if reading is None and begins:
            return Reading(following)  # a call in another notation, which is read without the wrapper
        if reading is None:
            foreign = _PYTHON_TAG.match(answer.text, start) is not None or answer.text.startswith("<", following)
            reading = Reading(following, problem=UNREAD if foreign else "it holds no call", foreign=foreign)
        reading.end = _behind_brackets(answer, start, reading.end)
        # an element that holds the name has been read with its end
        closed = answer.text.startswith("<", following) and reading.calls and reading.open_from < 0
        if not closed:
            reading = whole(answer, reading)
        if reading.problem is None and not closed and not _is_closed(answer, start, reading.end):
            if not no_call_follows(answer.text, reading.end):
                reading = Reading(reading.end, problem=_NO_END)
            elif ends_of(found[0]) is not ANY_END:
                reading.open_from = start
        if reading.problem is not None:
            reading.claimed = answer.claims.wrapped_end(found[0], max(reading.end, position), reading.behind)
        return _closed(answer, reading)


def content(answer: Answer, start: int, position: int) -> Reading | None:
    """The calls at `position` in a wrapper that starts at `start`; None where there is none that is read here."""
    sign = answer.text[position : position + 1]
    if sign in ("{", "[") and not begins_python(answer.text, position):
        return _objects(answer, start, position)
    if sign == "<":
        return named_element(answer, start, position)
    gemma = _CALL.match(answer.text, position)
    if gemma:
        return gemma_call(answer, start, gemma)
    if begins_python(answer.text, position):
        return python_calls(answer, start, position)
    return _word(answer, start, position)


def gemma_call(answer: Answer, start: int, found: re.Match[str]) -> Reading:
    """The call `call:get{path:…}`; `found` matches all before its brace."""
    value, end = answer.values.decoded(found.end())
    if end < 0:
        value, end = answer.values.loose_object(found.end() + 1)
    if end < 0:
        return Reading(found.end(), problem=f"the arguments of {found[1]!r} do not end")
    return answer.named(found[1], value, start, end)


def _objects(answer: Answer, start: int, position: int) -> Reading:
    """The JSON objects, or the list of them, in one wrapper."""
    reading = json_calls(answer, start, position, short=True)
    if not reading.calls and not reading.unknown and reading.problem is None:
        reading.problem = "it holds no name and arguments"
    lines = False
    while reading.problem is None:
        again = _JSON_AGAIN.match(answer.text, reading.end)
        more = json_calls(answer, again.end(), again.end(), short=True) if again else None
        if again is None or more is None or not (more.calls or more.unknown or more.problem):
            unsure = lines and not _is_closed(answer, start, reading.end)
            return Reading(reading.end, problem=_NO_END) if unsure else reading
        lines = lines or not again[0].strip()
        reading.calls += more.calls
        reading.unknown += more.unknown
        reading.end, reading.problem = more.end, more.problem
    return reading


def _word(answer: Answer, start: int, position: int) -> Reading | None:
    """A name, and its arguments as JSON or as pairs: `get\\n{…}`, `functions.get:0<|…|>{…}`, `get<arg_key>…`."""
    text = answer.text
    found = _WORD.match(text, position)
    if found is None:
        return None
    at, name = found.end(), found["name"]
    if text.startswith("{", at):
        value, end = answer.values.decoded(at)
        if end < 0:
            value, end = answer.values.loose_object(at + 1)
        if end < 0 or answer.claims.is_broken_off(end):
            return Reading(at, problem=f"the arguments of {name!r} are not valid JSON")
        fence = _FENCE.match(text, end) if "```" in found["between"] else None
        if "```" in found["between"] and not fence and skip_space(text, end) < len(text):
            return Reading(at, problem=f"the fence around the arguments of {name!r} is not closed")
        return answer.named(name, value, start, fence.end() if fence else end)
    if text.startswith("<", at) and (element := element_of(answer, start, at, name)):
        return element
    given = pairs(answer, at)
    if given is None:
        return answer.named(name, {}, start, at) if _END.match(text, at) else None
    sure = _is_closed(answer, start, given.end) or nothing_follows(text, given.end)
    if given.problem is not None or not sure:
        return Reading(at, problem=given.problem or "it holds more than its arguments", behind=behind_pairs())
    return answer.named(name, given.values, start, given.end)


def _behind_brackets(answer: Answer, start: int, position: int) -> int:
    """The end of JSON or Python that ends at `position`, with brackets too many before the token that closes the wrapper."""
    brackets = _BRACKETS.match(answer.text, position)
    return brackets.end() if brackets and _is_closed(answer, start, brackets.end()) else position


def _is_closed(answer: Answer, start: int, position: int) -> bool:
    """Is the token that closes the wrapper at `start` the next behind `position`?"""
    head = _HEAD.match(answer.text, start)
    closing = ends_of(head[0]).match(answer.text, skip_space(answer.text, position)) if head else None
    return closing is not None and closing["close"] is not None


def whole(answer: Answer, reading: Reading) -> Reading:
    """`reading`, or a problem when more of the last call follows before the closing token."""
    if reading.problem is None and (reading.calls or reading.unknown) and answer.claims.goes_on(reading.end):
        return Reading(reading.end, problem="it goes on behind its end")
    return reading


def _closed(answer: Answer, reading: Reading) -> Reading:
    """`reading` extended by the closing token behind it, as a part of the last call."""
    at = skip_space(answer.text, reading.end)
    thought = answer.next_closing(at)
    ends = (reading.calls or reading.unknown) and not (thought and thought.start == at)
    end = _END.match(answer.text, reading.end) if ends else None
    if end and reading.problem is None:
        reading.end = end.end()
        if reading.calls:
            last = reading.calls[-1]
            # calls of one JSON value have one place
            reading.calls = [
                call._replace(end=end.end()) if (call.start, call.end) == (last.start, last.end) else call
                for call in reading.calls
            ]
    return reading
