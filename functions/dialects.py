"""Tool calls in the dialects that models were trained on, read into names and arguments.

Known are: JSON objects and lists (OpenAI), `<tool_call>` and `<|tool_call>call:NAME{…}` (Qwen, Gemma),
`<tool_use>` and `<invoke>` (Anthropic), `<function=NAME>` (Qwen Coder), `[TOOL_CALLS]` (Mistral), channels
(Harmony, Gemma) and `<start_function_call>` (FunctionGemma).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.functions.dialect_values import Values, calls_in
from engine.functions.lazy import lazy_regex
from engine.functions.markup_claims import Claims
from engine.functions.markup_grammar import FLAGS, NAMESPACE, Grammar, skip_space

# How foreign calls begin, without the first character; one group for each first character.
ANGLE_HEADS = (
    rf"\|?tool_calls?(?:_begin)?\|?>|start_function_call>|tool_use>|{NAMESPACE}(?:invoke\s|function_calls>)"
    r"|function=|\|(?:start|channel|message)\|?>"
)
BRACE_HEADS = r"\s*\""
BRACKET_HEADS = r"TOOL_CALLS\]|\s*\{\s*\""
# Closing and turn-taking tokens of these dialects, also without the first character; outside tags they are dropped.
CONTROLS = (
    rf"/(?:tool_calls?|tool_use|function|{NAMESPACE}(?:invoke|function_calls))>|end_function_call>|/s>(?=\s*\Z)"
    r"|(?:start|end)_of_turn>|(?:start|end)_function_response>|\|/?[\w/.-]{1,40}\|?>|/?[\w.-]{1,40}\|>"
)

_HEAD = lazy_regex(f"<(?:{ANGLE_HEADS})", FLAGS)
_NAMED = lazy_regex(r"(?:\[\s*)?\{\s*\"name\"\s*:\s*\"([\w.:/-]+)\"\s*,\s*\"(?:arguments|parameters)\"")
_CALL = lazy_regex(r"call:\s*([\w.:/-]+)\s*(?=\{)")
_END = lazy_regex(
    r"\s*(?:</tool_calls?>|<tool_call\|>|<\|/?tool_call(?:_end)?\|>|</tool_use>|<end_function_call>)",
    re.IGNORECASE,
)
_MISTRAL = lazy_regex(r"\s*([\w.:/-]+)(?:\[CALL_ID\][^\[{]{0,60})?(?:\[ARGS\])?\s*(?=\{)")
_TOOL_USE = lazy_regex(
    r"\s*(?:<id>[^<]{0,80}</id>\s*)?<(?:tool_)?name>\s*([\w.:-]+)\s*</(?:tool_)?name>\s*(<(?:input|parameters)>\s*)?",
    FLAGS,
)
_TOOL_USE_END = lazy_regex(r"\s*(?:</(?:input|parameters)>)?\s*(?:</tool_use>)?", FLAGS)
_INVOKE = lazy_regex(rf"<(?:{NAMESPACE}invoke\s+name\s*=\s*[\"']([\w.:-]+)[\"']\s*|function=\s*([\w.:-]+)\s*)>", FLAGS)
_PARAMETER = lazy_regex(
    rf"\s*<{NAMESPACE}parameter(?:\s+name\s*=\s*[\"']([\w.-]+)[\"'][^<>]*|=\s*([\w.-]+)\s*)>", FLAGS
)
_PARAMETER_END = lazy_regex(rf"</{NAMESPACE}parameter\s*>", FLAGS)
_INVOKE_END = lazy_regex(rf"\s*</(?:{NAMESPACE}invoke|function)\s*>", FLAGS)
_OUTER_END = lazy_regex(rf"\s*</(?:tool_calls?|{NAMESPACE}function_calls)\s*>", FLAGS)
_HEADER = lazy_regex(
    r"(?:<\|start\|>[^<]{0,120})?(?:<\|channel\|>([^<]{0,120}))?(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
)
_RECIPIENT = lazy_regex(r"\bto=([\w.:-]+)")
_HEADER_BEGUN = lazy_regex(r"(?:<\|start\|>[^<\n]{0,120})?(?:<\|channel\|>[^<\n]{0,120})?")
_CHANNEL = lazy_regex(r"<\|(?:start|channel|message)\|?>", FLAGS)
_MESSAGE_END = lazy_regex(r"<\|(?:end|call|return|start|channel)\|>")
_GEMMA_CHANNEL = lazy_regex(r"<\|channel>(\w*)\s?")
_GEMMA_CHANNEL_END = lazy_regex(r"<channel\|>")


class ForeignCall(NamedTuple):
    """A call: its tool in lower case, its arguments as a JSON value, its place `text[start:end]`."""

    name: str
    arguments: Any
    start: int
    end: int


@dataclass(slots=True)
class Reading:
    """What was read behind the head of a foreign call: the calls or the reasoning, and the `end` of their text.

    `unknown` names the tools that do not exist; their calls stay in the text. `problem` says why something could not be
    read, and that part ends at `claimed`. `data` is true for JSON that calls nothing.
    """

    end: int
    calls: list[ForeignCall] = field(default_factory=list)
    reasoning: str | None = None
    unknown: list[str] = field(default_factory=list)
    problem: str | None = None
    claimed: int = 0
    data: bool = False


class Dialects:
    """Reads the foreign calls of one text, from left to right. It does not repeat a search that failed."""

    def __init__(self, text: str, grammar: Grammar) -> None:
        self.text = text
        self.names = grammar.names
        self.values = Values(text)
        self.claims = Claims(text, grammar, self.values, _HEAD)
        self._missing = set[str]()
        self._broken = set[int]()

    def read(self, start: int, head: str) -> Reading | None:
        """Reads the call that begins with `head` at `start`; None when this is ordinary text."""
        reading = self._read(start, head)
        if reading is not None and reading.problem:
            begin = max(reading.end, start + len(head.rstrip('"')))
            reading.claimed = max(reading.claimed, begin, self._claimed(start, begin, head))
        return reading

    def _claimed(self, start: int, begin: int, head: str) -> int:
        """The end of the text that belongs to the call at `start`, which could be read up to `begin` only."""
        if head == "[TOOL_CALLS]":
            return 0 if self.claims.is_mention(start, begin) else self.claims.list_end(begin)
        if head[0] in "{[":
            return self.claims.json_end(start)
        if _CHANNEL.match(head):
            return self.claims.message_end(begin)
        return 0 if self.claims.is_mention(start, begin) else self.claims.wrapped_end(begin)

    def _read(self, start: int, head: str) -> Reading | None:
        word = head.lower().strip("<|>")
        if head[0] in "{[" and head != "[TOOL_CALLS]":
            return self._bare_json(start)
        if head == "[TOOL_CALLS]":
            return self._mistral(start, start + len(head))
        if word == "tool_use":
            return self._tool_use(start, start + len(head))
        if word in ("start", "channel", "message"):
            return self._channel(start, start + len(head))
        if word.startswith("tool_call") or word == "start_function_call":
            return self._wrapped(start, start + len(head))
        if word.endswith("function_calls"):
            return self._function_calls(start + len(head))
        return self._invoke(start) or Reading(start + len(head), problem="it is not complete")

    def mentions_call(self, start: int, end: int) -> bool:
        """Does `text[start:end]` hold a call of one of the tools in JSON?"""
        return any(found[1].lower() in self.names for found in _NAMED.finditer(self.text, start, end)) or (
            self.claims.mentions_call(start, end)
        )

    def _bare_json(self, start: int) -> Reading | None:
        """JSON without a wrapper: calls, data, or one of them without its end. None when it is ordinary text."""
        if start in self._broken:
            return None  # the wrapper or list around it has reported the problem
        reading = self._json(start, start)
        if reading.calls or reading.unknown:
            return reading
        value, end = self.values.decoded(start)
        if end >= 0 and not self.claims.is_broken_off(end):
            is_call = self.claims.is_call(start, end) and not self._is_schema(value)
            return Reading(end, problem="its notation is not read", claimed=end) if is_call else Reading(end, data=True)
        if not self.claims.calls_in_json(start):
            return None
        return Reading(start, problem=reading.problem or "it is not valid JSON", claimed=len(self.text))

    @staticmethod
    def _is_schema(value: object) -> bool:
        """Is a JSON value the description of a tool rather than a call?"""
        return isinstance(value, dict) and ("description" in value or value.get("type") == "object")

    def _wrapped(self, start: int, position: int) -> Reading:
        position = skip_space(self.text, position)
        gemma = _CALL.match(self.text, position)
        if gemma:
            reading = self._gemma(start, gemma)
        elif self.text[position : position + 1] in ("{", "["):
            reading = self._objects(start, position)
        elif self.text.startswith("<", position):
            # the wrapper holds calls in another dialect
            known = self.claims.begins_call(position) or _END.match(self.text, position)
            return Reading(position, problem=None if known else "its notation is not read")
        else:
            return Reading(position, problem="it holds no call")
        return self._closed(self._whole(reading))

    def _objects(self, start: int, position: int) -> Reading:
        """The JSON objects, or the list of them, in one wrapper."""
        reading = self._json(start, position)
        if not reading.calls and not reading.unknown and reading.problem is None:
            reading.problem = "it holds no name and arguments"
        while reading.problem is None:
            position = skip_space(self.text, reading.end)
            more = self._json(position, position) if self.text.startswith("{", position) else None
            if more is None or not (more.calls or more.unknown):
                return reading
            reading.calls += more.calls
            reading.unknown += more.unknown
            reading.end, reading.problem = more.end, more.problem
        return reading

    def _whole(self, reading: Reading) -> Reading:
        """`reading`, or a problem when more of the last call follows before the closing token."""
        if reading.problem is None and self.claims.goes_on(reading.end):
            return Reading(reading.end, problem="it goes on behind its end")
        return reading

    def _function_calls(self, position: int) -> Reading:
        following = skip_space(self.text, position)
        if following == len(self.text) or self.claims.begins_call(following):
            return Reading(position)
        return Reading(position, problem="its notation is not read")

    def _closed(self, reading: Reading) -> Reading:
        """`reading` extended by the closing token behind it, as a part of the last call."""
        end = _END.match(self.text, reading.end) if reading.calls or reading.unknown else None
        if end:
            reading.end = end.end()
        if end and reading.calls:
            reading.calls[-1] = reading.calls[-1]._replace(end=end.end())
        return reading

    def _named(self, name: str, arguments: object, start: int, end: int) -> Reading:
        """The reading of one call. Of a name such as `functions.get` only the last word counts."""
        word = re.split(r"[.:/]", name)[-1].lower()
        if word not in self.names:
            return Reading(end, unknown=[name])
        return Reading(end, [ForeignCall(word, arguments, start, end)])

    def _mistral(self, start: int, position: int) -> Reading:
        position = skip_space(self.text, position)
        if self.text[position : position + 1] in ("{", "["):
            return self._json(start, position)
        found = _MISTRAL.match(self.text, position)
        if found is None:
            return Reading(position, problem="it holds no call")
        value, end = self.values.decoded(found.end())
        if end < 0 or self.claims.is_broken_off(end):
            return Reading(position, problem="its arguments are not valid JSON")
        return self._named(found[1], value, start, end)

    def _tool_use(self, start: int, position: int) -> Reading:
        found = _TOOL_USE.match(self.text, position)
        if found is None:
            return Reading(position, problem="it holds no name")
        value: object = {}
        end = found.end()
        if found[2] and not self.text.startswith("</", end):
            value, end = self.values.decoded(end)
        if end < 0:
            return Reading(position, problem="its input is not valid JSON")
        closing = _TOOL_USE_END.match(self.text, end)
        closed = closing.end() if closing else end
        if closed < len(self.text) and "</" not in self.text[end:closed]:
            return Reading(position, problem="it is not closed behind its input")
        return self._named(found[1], value, start, closed)

    def _invoke(self, start: int) -> Reading | None:
        found = _INVOKE.match(self.text, start)
        if found is None:
            return None
        arguments, position = dict[str, str](), found.end()
        while parameter := _PARAMETER.match(self.text, position):
            closing = self._search(_PARAMETER_END, parameter.end())
            if closing is None:
                return Reading(found.end(), problem=f"its parameter {parameter[1] or parameter[2]!r} is not closed")
            value = self.text[parameter.end() : closing.start()]
            # `<parameter=…>` stands on a line of its own.
            arguments[parameter[1] or parameter[2]] = value if parameter[1] else _inner_lines(value)
            position = closing.end()
        closing = _INVOKE_END.match(self.text, position)
        if closing is None and not (arguments and self._ends_here(position)):
            return Reading(found.end(), problem="it holds more than its parameters")
        return self._closed(self._named(found[1] or found[2], arguments, start, closing.end() if closing else position))

    def _ends_here(self, position: int) -> bool:
        """Does the text end at `position`, or a wrapper around the call?"""
        return skip_space(self.text, position) == len(self.text) or _OUTER_END.match(self.text, position) is not None

    def _channel(self, start: int, position: int) -> Reading:
        gemma = _GEMMA_CHANNEL.match(self.text, start)
        if gemma:
            closed = self._search(_GEMMA_CHANNEL_END, gemma.end())
            if gemma[1] not in ("thought", "analysis"):
                return Reading(gemma.end())
            if closed is None:
                return Reading(len(self.text), reasoning=self.text[gemma.end() :])
            return Reading(closed.end(), reasoning=self.text[gemma.end() : closed.start()])
        header = _HEADER.match(self.text, start)
        if header is None:
            begun = _HEADER_BEGUN.match(self.text, start)
            addressed = begun is not None and _RECIPIENT.search(begun[0]) is not None
            return Reading(position, problem="its message does not begin" if addressed else None)
        recipient = _RECIPIENT.search(header[0])
        if recipient:
            return self._addressed(recipient[1], start, header.end())
        if not (header[1] or "").strip().startswith("analysis"):
            return Reading(header.end())
        closing = _MESSAGE_END.search(self.text, header.end())
        end = closing.start() if closing else len(self.text)
        return Reading(self._after_message(end), reasoning=self.text[header.end() : end])

    def _search(self, pattern: re.Pattern[str], position: int) -> re.Match[str] | None:
        """The first match at or after `position`. A pattern that was not found once is not searched for again."""
        found = None if pattern.pattern in self._missing else pattern.search(self.text, position)
        if found is None:
            self._missing.add(pattern.pattern)
        return found

    def _addressed(self, name: str, start: int, position: int) -> Reading:
        value, end = self.values.decoded(skip_space(self.text, position))
        if end < 0 or self.claims.is_broken_off(end):
            return Reading(position, problem="its arguments are not valid JSON")
        return self._named(name, value, start, self._after_message(end))

    def _after_message(self, end: int) -> int:
        closing = _MESSAGE_END.match(self.text, skip_space(self.text, end))
        return closing.end() if closing and closing[0] not in ("<|start|>", "<|channel|>") else end

    def _json(self, start: int, position: int) -> Reading:
        """The calls of a JSON object or list. Items are read one by one: those before a broken item are kept."""
        if self.text[position] == "{":
            return self._json_item(start, position)
        reading, position = Reading(position), position + 1
        while True:
            position = skip_space(self.text, position)
            if self.text.startswith("]", position):
                reading.end = position + 1
                return reading
            item = self._json_item(start if not reading.calls else position, position)
            reading.unknown += item.unknown
            if not item.calls and not item.unknown:
                reading.problem = item.problem or "an item of its list holds no name and arguments"
                return reading
            reading.calls += item.calls
            reading.end = position = skip_space(self.text, item.end)
            position += self.text.startswith(",", position)

    def _json_item(self, start: int, position: int) -> Reading:
        value, end = self.values.decoded(position)
        if end < 0 or self.claims.is_broken_off(end):
            self._broken.add(position)
            return Reading(position, problem="it is not valid JSON")
        reading = Reading(end)
        for name, arguments in calls_in(value):
            one = self._named(name, arguments, start, end)
            reading.calls += one.calls
            reading.unknown += one.unknown
        return reading

    def _gemma(self, start: int, found: re.Match[str]) -> Reading:
        value, end = self.values.decoded(found.end())
        if end < 0:
            value, end = self.values.loose_object(found.end() + 1)
        if end < 0:
            return Reading(found.end(), problem=f"the arguments of {found[1]!r} do not end")
        return self._named(found[1], value, start, end)


def _inner_lines(value: str) -> str:
    return value.removeprefix("\n").removesuffix("\n")
