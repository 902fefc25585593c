"""Calls in Python: `[get(path='b'), rm(path='c')]` (Llama 3.2 and 4, LFM2), `get(path='b')` in a wrapper or a fence
(OLMo, Gemma 2 and 3), `get.call(path='b')` (Llama 3).

A list that stands alone is read. A call outside of a list is read in a wrapper or a fence only: in a sentence or in code
it may be spoken of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import Grammar, begins_line, skip_space
from engine.functions.notations.call_ends import NO_LIST_END, nothing_follows
from engine.functions.notations.notation import UNREAD, Answer, Reading
from engine.functions.notations.python_values import call_at

FUNCTOOLS = "functools"
"""What Phi writes before its list of calls."""
_MODULES = frozenset({"functions", "default_api", "tools", "api", "tool", "function", "client"})
_NAMED_ARGUMENT = lazy_regex(r"\(\s*(?:\*\*|[A-Za-z_]\w*\s*=(?!=))")
_TEXT_ARGUMENT = lazy_regex(r"\(\s*[\"']")
_SIGNS = lazy_regex(r"(?P<quote>[bru]{0,2}(?:\"\"\"|'''|\"|'))|(?P<open>[(\[{])|(?P<close>[)\]}])", re.IGNORECASE)
_ENDS = {quote: lazy_regex(rf"(?:[^\\]|\\.)*?{quote}", re.DOTALL) for quote in ('"""', "'''", '"', "'")}
_AFTER_TEXT = lazy_regex(r"\s*(?:[,)\]}:+%]|\Z)")
_WORD_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/"
_LAST_PART = lazy_regex(r"[\w-]+\Z")
_BEGINS = lazy_regex(r"\[?\s*(?:\w{1,40}\s*=\s*)?(?:print\s*\(\s*)?[A-Za-z_][\w.:/-]{0,120}\(")
_BETWEEN = lazy_regex(r"(?:\s|;|,|#[^\n]{0,400}(?:\n|\Z)|print\s*\(\s*\w{1,40}\s*\)|\Z)*")
_LINE_ENDS = lazy_regex(r"[ \t\r]*(?:\n|\Z|<[|/\uff5c]|```)")


class Pythonic:
    """`[get(path='b')]`, and `get(path='b')` where it is not read."""

    name = "pythonic"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """A bracket before a word and a bracket; a bracket behind the name of a tool."""
        behind = "|".join(rf"(?<={re.escape(name)}\()" for name in sorted(grammar.names))
        return {"[": r"(?=\s{0,20}[A-Za-z_][\w.:/-]{0,120}\()", "(": f"(?:{behind})"}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """A list of calls, or what a call outside of one claims."""
        start = found.start()
        if answer.text[start] == "(":
            return _claimed(answer, start)
        phi = start - len(FUNCTOOLS) if answer.text.endswith(FUNCTOOLS, 0, start) else start
        alone = answer.begins(phi)
        if not alone and not answer.claims.names_tool(start + 1):
            return None
        reading = python_calls(answer, phi, start)
        reading.start = phi
        if reading.problem is None and (reading.calls or reading.unknown):
            if alone and (_LINE_ENDS.match(answer.text, reading.end) or answer.claims.call_follows(reading.end)):
                return reading
            if not reading.calls:
                return None
            return Reading(reading.end, problem="it stands in a sentence", claimed=reading.end)
        if reading.problem is None or not answer.claims.names_tool(start + 1):
            return None
        bracket = answer.text.find("(", start)
        if not (alone and (_NAMED_ARGUMENT.match(answer.text, bracket) or reading.problem == NO_LIST_END)):
            return None  # the calls in the list are judged one by one
        reading.claimed = len(answer.text)
        return reading


def begins_python(text: str, position: int) -> bool:
    """Does a call in Python, or a list of them, begin at `position`?"""
    return _BEGINS.match(text, position) is not None


def python_calls(answer: Answer, start: int, position: int, limit: int = -1) -> Reading:
    """The calls at `position`: a list, or a row of them up to `limit`; the first call's text begins at `start`.

    A call of a list without a comma or bracket behind it is kept where nothing follows.
    """
    text = answer.text
    listed = text.startswith("[", position)
    reading, position = Reading(position), position + listed
    while True:
        position = skip_space(text, position) if listed else _skip(text, position)
        if listed and text.startswith("]", position):
            reading.end = position + 1
            if reading.calls:
                reading.calls[-1] = reading.calls[-1]._replace(end=reading.end)
            return reading
        if not listed and (position == limit or not begins_python(text, position)):
            if position < limit:
                reading.problem = "not all of it are calls"
            return reading
        call = call_at(text, position)
        if call is None or (limit >= 0 and call.end > limit):
            reading.problem = "its arguments are not literals in Python"
            return reading
        end = skip_space(text, call.end)
        is_last = listed and not text.startswith((",", "]"), end)
        if is_last and not nothing_follows(text, end):
            reading.problem = NO_LIST_END
            return reading
        begin = start if not reading.calls else position
        one = answer.named(call.name, call.arguments, begin, call.end)
        reading.calls += one.calls
        reading.unknown += one.unknown
        reading.end, position = call.end, end + (listed and text.startswith(",", end))
        if is_last:
            reading.open_from = begin
            return reading


def _skip(text: str, position: int) -> int:
    found = _BETWEEN.match(text, position)
    return found.end() if found else position


def _claimed(answer: Answer, start: int) -> Reading | None:
    """`get(path='a')` outside of a list, whose bracket stands at `start`."""
    text = answer.text
    named = _NAMED_ARGUMENT.match(text, start) is not None
    word = tool_before(answer, start) if named or _TEXT_ARGUMENT.match(text, start) else None
    if word is None:
        return None
    begin, path = word
    first = begins_line(text, begin) or text[begin - 1 : begin] in ("[", "(", ",", ">", ";")
    alone = first and (not path or path.rstrip(".") in _MODULES)
    if not (named or alone):
        return None
    listed = text.startswith("[", begin - 1) and begins_line(text, begin - 1)
    end = _end(text, begin - 1 if listed else start)
    told = end < 0 or alone or answer.grammar.tag.search(text, start, end) is not None
    claimed = end if end >= 0 else len(text)
    return Reading(start, problem=UNREAD, start=begin, claimed=claimed, foreign=True, untold=not told)


def tool_before(answer: Answer, position: int) -> tuple[int, str] | None:
    """Where the word that ends at `position` starts, and its part before the tool's name; None if it names no tool."""
    before = answer.text[max(0, position - 120) : position]
    word = before[len(before.rstrip(_WORD_SIGNS)) :]
    name = _LAST_PART.search(word)
    if name is None or name[0].lower() not in answer.grammar.names:
        return None
    return position - len(word), word[: name.start()]


def _end(text: str, position: int) -> int:
    """The end of the brackets that open at `position`; -1 when a bracket or a text in them has no end."""
    depth = 0
    while found := _SIGNS.search(text, position):
        position = found.end()
        if found["open"]:
            depth += 1
        elif found["close"]:
            depth -= 1
        else:
            closing = _ENDS[found[0].lstrip("bruBRU")].match(text, position)
            if closing is None or not _AFTER_TEXT.match(text, closing.end()):
                return -1
            position = closing.end()
        if not depth:
            return position
    return -1
