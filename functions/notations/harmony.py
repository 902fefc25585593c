"""Messages in channels: Harmony's `<|channel|>commentary to=functions.get<|message|>{…}<|call|>` (gpt-oss), and the thought
channel of Gemma.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import Grammar, skip_space
from engine.functions.notations.call_ends import no_call_follows
from engine.functions.notations.notation import Answer, Reading
from engine.functions.notations.thought_ends import CHANNELS

_HEADER = lazy_regex(
    r"(?:<\|start\|>[^<]{0,120})?(?:<\|channel\|>([^<{]{0,120}))?(?:<\|constrain\|>[^<]{0,40})?(?:<\|message\|>|(?=\s*\{))"
)
_RECIPIENT = lazy_regex(r"\bto=([\w.:-]+)")
_HEADER_BEGUN = lazy_regex(r"(?:<\|start\|>[^<\n]{0,120})?(?:<\|channel\|>[^<\n]{0,120})?")
_MESSAGE_END = lazy_regex(r"<\|(?:end|call|return|start|channel)\|>")
_ENDS = lazy_regex(r"(?P<close><\|(?:end|call|return|start|channel)\|>)")
_GEMMA = lazy_regex(r"<\|channel>(\w*)\s?")
_GEMMA_END = lazy_regex(r"<channel\|>")
_BARE_LABEL = lazy_regex(r"(assistant)?(?:analysis|commentary) to\Z")
_LONGEST_LABEL = 40
_BARE_CALL = lazy_regex(
    r"=functions\.([\w-]+)(?:\s*(?:<\|constrain\|>|\s)\s*(?:json|code))?\s*(?:<\|message\|>)?\s*(?=\{)"
)
_BARE_END = lazy_regex(r"[ \t\r]*(?:\n|\Z|<[|/]|assistant)")


class BareHarmony:
    """A header of Harmony without its tokens, which some servers leave out: `commentary to=functions.get json{…}`."""

    name = "bare"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """The sign before the recipient."""
        del grammar
        return {"=": r"(?<= to=)functions\."}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """The call of a header that begins a line or follows another message."""
        text, start = answer.text, found.start()
        label = _BARE_LABEL.search(text, max(0, start - _LONGEST_LABEL), start)
        called = _BARE_CALL.match(text, start)
        if label is None or not (label[1] or answer.begins(label.start())):
            return None
        if called is None:
            return Reading(
                found.end(), problem="its arguments are not valid JSON", start=label.start(), claimed=len(text)
            )
        value, end = answer.values.decoded(called.end())
        ended = end >= 0 and (_BARE_END.match(text, end) or answer.claims.call_follows(end))
        if not ended or answer.claims.is_broken_off(end):
            problem = "its arguments are no valid JSON, or go on behind their end"
            return Reading(found.end(), problem=problem, start=label.start(), claimed=len(text))
        reading = answer.named(called[1], value, label.start(), end)
        reading.start = label.start()
        return reading


class Harmony:
    """A message and its header."""

    name = "harmony"

    def heads(self, grammar: Grammar) -> Mapping[str, str]:
        """The tokens that begin a message or its header."""
        del grammar
        return {"<": r"\|(?:start|channel|message)\|?>"}

    def read(self, answer: Answer, found: re.Match[str]) -> Reading | None:
        """A call, reasoning, or the header of plain text; a broken call claims the text up to the end of its message."""
        start, position = found.span()
        reading = _gemma(answer, start) or _message(answer, start, position)
        if reading.problem is not None:
            reading.claimed = answer.claims.end(_ENDS, max(reading.end, position))
        return reading


def _gemma(answer: Answer, start: int) -> Reading | None:
    found = _GEMMA.match(answer.text, start)
    if found is None:
        return None
    if not found[1].startswith(CHANNELS):
        return Reading(found.end())
    closing = answer.search(_GEMMA_END, found.end())
    end = closing.span() if closing else answer.next_closing(found.end())
    begin, resume = end or (len(answer.text), len(answer.text))
    return Reading(resume, reasoning=answer.text[found.end() : begin])


def _message(answer: Answer, start: int, position: int) -> Reading:
    text = answer.text
    header = _HEADER.match(text, start)
    if header is None or header.end() == start:
        begun = _HEADER_BEGUN.match(text, start)
        addressed = begun is not None and _RECIPIENT.search(begun[0]) is not None
        return Reading(position, problem="its message does not begin" if addressed else None)
    recipient = _RECIPIENT.search(header[0])
    if recipient:
        return _addressed(answer, recipient[1], start, header.end())
    if not header[0].endswith(">"):
        return Reading(position)
    if not (header[1] or "").strip().startswith(CHANNELS):
        return Reading(header.end())
    closing = answer.search(_MESSAGE_END, header.end())
    if closing is None and (end := answer.next_closing(header.end())):
        return Reading(end.end, reasoning=text[header.end() : end.start])
    begin = closing.start() if closing else len(text)
    return Reading(_after_message(text, begin), reasoning=text[header.end() : begin])


def _addressed(answer: Answer, name: str, start: int, position: int) -> Reading:
    value, end = answer.values.decoded(skip_space(answer.text, position))
    if end < 0 or answer.claims.is_broken_off(end):
        return Reading(position, problem="its arguments are not valid JSON")
    if not (_MESSAGE_END.match(answer.text, skip_space(answer.text, end)) or no_call_follows(answer.text, end)):
        return Reading(position, problem="its message does not end, and more follows")
    return answer.named(name, value, start, _after_message(answer.text, end))


def _after_message(text: str, end: int) -> int:
    closing = _MESSAGE_END.match(text, skip_space(text, end))
    return closing.end() if closing and closing[0] not in ("<|start|>", "<|channel|>") else end
