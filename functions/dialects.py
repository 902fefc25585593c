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
from engine.functions.markup_grammar import FLAGS, NAMESPACE, skip_space

_KEYS = r"\"(?:name|function|function_call|tool_calls|tool|type|id|arguments|parameters)\"\s*:"
# The heads of foreign calls, without their first character; one group for each first character.
ANGLE_HEADS = (
    rf"\|?tool_calls?(?:_begin)?\|?>|start_function_call>|tool_use>|{NAMESPACE}(?:invoke\s|function_calls>)"
    r"|function=|\|(?:start|channel|message)\|?>"
)
BRACE_HEADS = rf"\s*{_KEYS}"
BRACKET_HEADS = rf"TOOL_CALLS\]|\s*\{{\s*{_KEYS}"
# Closing and turn-taking tokens of these dialects, likewise; outside tags they are dropped.
CONTROLS = (
    rf"/(?:tool_calls?|tool_use|function|{NAMESPACE}(?:invoke|function_calls))>|end_function_call>|/s>(?=\s*\Z)"
    r"|(?:start|end)_of_turn>|(?:start|end)_function_response>|\|/?[\w/.-]{1,40}\|?>|/?[\w.-]{1,40}\|>"
)

_NAMED = re.compile(r"(?:\[\s*)?\{\s*\"name\"\s*:\s*\"([\w.:-]+)\"\s*,\s*\"(?:arguments|parameters)\"")
_CALL = re.compile(r"call:\s*([\w.:-]+)\s*(?=\{)")
_END = re.compile(
    r"\s*(?:</tool_calls?>|<tool_call\|>|<\|/?tool_call(?:_end)?\|>|</tool_use>|<end_function_call>)",
    re.IGNORECASE,
)
_MISTRAL = re.compile(r"\s*([\w.-]+)(?:\[CALL_ID\][^\[{]{0,60})?(?:\[ARGS\])?\s*(?=\{)")
_TOOL_USE = re.compile(
    r"\s*(?:<id>[^<]{0,80}</id>\s*)?<(?:tool_)?name>\s*([\w.:-]+)\s*</(?:tool_)?name>\s*(<(?:input|parameters)>\s*)?",
    FLAGS,
)
_TOOL_USE_END = re.compile(r"\s*(?:</(?:input|parameters)>)?\s*(?:</tool_use>)?", FLAGS)
_INVOKE = re.compile(rf"<(?:{NAMESPACE}invoke\s+name\s*=\s*[\"']([\w.:-]+)[\"']\s*|function=\s*([\w.:-]+)\s*)>", FLAGS)
_PARAMETER = re.compile(
    rf"\s*<{NAMESPACE}parameter(?:\s+name\s*=\s*[\"']([\w.-]+)[\"'][^<>]*|=\s*([\w.-]+)\s*)>", FLAGS
)
_PARAMETER_END = re.compile(rf"</{NAMESPACE}parameter\s*>", FLAGS)
_INVOKE_END = re.compile(rf"\s*</(?:{NAMESPACE}invoke|function)\s*>", FLAGS)
_HEADER = re.compile(
    r"(?:<\|start\|>[^<]{0,120})?(?:<\|channel\|>([^<]{0,120}))?(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
)
_RECIPIENT = re.compile(r"\bto=([\w.:-]+)")
_MESSAGE_END = re.compile(r"<\|(?:end|call|return|start|channel)\|>")
_GEMMA_CHANNEL = re.compile(r"<\|channel>(\w*)\s?")
_GEMMA_CHANNEL_END = re.compile(r"<channel\|>")


class ForeignCall(NamedTuple):
    """A call: its tool in lower case, its arguments as a JSON value, the slice that it was read from."""

    name: str
    arguments: Any
    start: int
    end: int


@dataclass(slots=True)
class Reading:
    """What a foreign head turned out to be: `text[start:end]` is used up and gave calls or reasoning.

    `unknown` are the calls of tools that do not exist, whose text stays where it is.
    """

    end: int
    calls: list[ForeignCall] = field(default_factory=list)
    reasoning: str | None = None
    unknown: list[str] = field(default_factory=list)
    problem: str | None = None


class Dialects:
    """Reads the foreign calls of one text, from left to right; what failed once is not searched for again."""

    def __init__(self, text: str, names: frozenset[str]) -> None:
        self.text = text
        self.names = names
        self.values = Values(text)
        self._missing = set[str]()
        self._broken = set[int]()

    def read(self, start: int, head: str) -> Reading | None:
        """What the `head` at `start` begins; None when it is ordinary text."""
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
            return Reading(start + len(head))
        return self._invoke(start) or Reading(start + len(head), problem="it is not complete")

    def mentions_call(self, start: int, end: int) -> bool:
        """Does JSON in `text[start:end]` call one of the tools?"""
        return any(found[1].lower() in self.names for found in _NAMED.finditer(self.text, start, end))

    def _bare_json(self, start: int) -> Reading | None:
        if start in self._broken:
            return None  # told already, with the wrapper or the list around it
        reading = self._json(start, start)
        if reading.calls or reading.unknown:
            return reading
        named = _NAMED.match(self.text, start) if reading.problem else None
        return Reading(start + 1, problem=reading.problem) if named and named[1].lower() in self.names else None

    def _wrapped(self, start: int, position: int) -> Reading:
        position = skip_space(self.text, position)
        gemma = _CALL.match(self.text, position)
        if gemma:
            reading = self._gemma(start, gemma)
        elif self.text[position : position + 1] in ("{", "["):
            reading = self._json(start, position)
            if not reading.calls and not reading.unknown and reading.problem is None:
                reading.problem = "it holds no name and arguments"
        elif self.text.startswith("<", position):
            return Reading(position)  # a wrapper around calls in a dialect of their own
        else:
            return Reading(position, problem="it holds no call")
        return self._closed(reading)

    def _closed(self, reading: Reading) -> Reading:
        """`reading` with the closing token behind it, which belongs to the last call."""
        end = _END.match(self.text, reading.end) if reading.calls or reading.unknown else None
        if end:
            reading.end = end.end()
        if end and reading.calls:
            reading.calls[-1] = reading.calls[-1]._replace(end=end.end())
        return reading

    def _named(self, name: str, arguments: object, start: int, end: int) -> Reading:
        """The reading of one call; the last word of a name counts (`functions.get`)."""
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
        if end < 0:
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
        return self._named(found[1], value, start, closing.end() if closing else end)

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
        return self._closed(self._named(found[1] or found[2], arguments, start, closing.end() if closing else position))

    def _channel(self, start: int, position: int) -> Reading:
        gemma = _GEMMA_CHANNEL.match(self.text, start)
        if gemma:
            closed = self._search(_GEMMA_CHANNEL_END, gemma.end())
            if gemma[1] not in ("thought", "analysis") or closed is None:
                return Reading(gemma.end())
            return Reading(closed.end(), reasoning=self.text[gemma.end() : closed.start()])
        header = _HEADER.match(self.text, start)
        if header is None:
            return Reading(position)
        recipient = _RECIPIENT.search(header[0])
        if recipient:
            return self._addressed(recipient[1], start, header.end())
        if not (header[1] or "").strip().startswith("analysis"):
            return Reading(header.end())
        closing = _MESSAGE_END.search(self.text, header.end())
        end = closing.start() if closing else len(self.text)
        return Reading(self._after_message(end), reasoning=self.text[header.end() : end])

    def _search(self, pattern: re.Pattern[str], position: int) -> re.Match[str] | None:
        """The first match at or after `position`; what was missing once is missing further on."""
        found = None if pattern.pattern in self._missing else pattern.search(self.text, position)
        if found is None:
            self._missing.add(pattern.pattern)
        return found

    def _addressed(self, name: str, start: int, position: int) -> Reading:
        value, end = self.values.decoded(skip_space(self.text, position))
        if end < 0:
            return Reading(position, problem="its arguments are not valid JSON")
        return self._named(name, value, start, self._after_message(end))

    def _after_message(self, end: int) -> int:
        closing = _MESSAGE_END.match(self.text, skip_space(self.text, end))
        return closing.end() if closing and closing[0] not in ("<|start|>", "<|channel|>") else end

    def _json(self, start: int, position: int) -> Reading:
        """The calls of a JSON object or list; read item by item, so that a broken one spares those before."""
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
        if end < 0:
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
