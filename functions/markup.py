"""What a model answered, read into tool calls, prose and reasoning.

The answer is scanned once from left to right. A tool's tag, or a call in a foreign dialect, is a command; a quotation in
back-ticks is prose; the text of a body is not read. Every repair gives a warning, so that no call is dropped silently.
The parts: `markup_tags` reads open tags, `markup_bodies` finds closing ones, `markup_recovery` decides where they are
missing, `markup_prose` knows quotations, `dialects` other notations, `markup_claims` finds the end of a call that cannot
be read, `markup_calls` turns attributes and body into the arguments of each tool.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import Any

from engine.functions import Function
from engine.functions.compact import to_json
from engine.functions.dialects import ANGLE_HEADS, BRACE_HEADS, BRACKET_HEADS, CONTROLS, Dialects, Reading
from engine.functions.lazy import lazy_regex
from engine.functions.markup_bodies import Bodies
from engine.functions.markup_calls import Command, command_of, command_of_arguments
from engine.functions.markup_claims import THOUGHT_HEADS, UNREAD, UNREAD_ANGLE_HEADS, plain_heads
from engine.functions.markup_cut import body_is_open, call_is_open, called_tool, tag_is_open
from engine.functions.markup_grammar import FLAGS, REASONING, Grammar, grammar_of, skip_space
from engine.functions.markup_prose import CALL_FENCES, Prose, Quotation, Quotations
from engine.functions.markup_recovery import Recoveries
from engine.functions.markup_tags import Shape, Tag, TagReader, decode_entities

MAX_COMMANDS = 99
# Further warnings are only counted.
_MAX_WARNINGS = 40
# Tools that need no body when they have a path: if another open tag follows directly, the slash was forgotten.
_BODILESS = frozenset({"get", "rm", "cp", "mv"})
_PAIR = r"\s+([^\s=<>/\"'`]+)=\"([^\"<]*)\""
_PAIRS = lazy_regex(_PAIR)
# What follows the name of an ordinary tag: all of a tag that ends with a slash, or an open tag and its body.
_ORDINARY = lazy_regex(rf"(?P<attributes>(?:{_PAIR})*+)\s*(?:/>|>(?P<body>[^<]*+))")
_NO_TAG = {
    Shape.CUT: "the answer ends inside it, or a sign that ends a value of it is missing",
    Shape.MENTION: "it has no '>' and no value",
    Shape.ENDLESS: "it has more words and values than can be meant",
}
_THOUGHTS = "|".join(rf"(?<={re.escape(head[0])}){re.escape(head[1:])}" for head in THOUGHT_HEADS)
_SILENT_CONTROLS = lazy_regex(
    r"</|<(?:start|end)_|<\|?/?(?:tool_calls?(?:_begin|_end)?|end|call|return|start|channel|message|constrain)\|?>",
    FLAGS,
)


def response_parse(text: str | None, tools: str | None, cap: int | None, cut: int | None = None) -> str | None:
    """The commands and the prose of the answer `text`, as JSON ``{"commands", "warnings", "text", "reasoning"}``.

    `tools` is a JSON array of the tool names to recognise (NULL: the built-in ones), `cap` the maximal number
    of commands (NULL: 99); NULL for a NULL text. A command is
    ``{"action", "path", "destination", "body", "attributes", "source"}``: `source` is the exact slice of the
    text, `attributes` holds all but `path` and `to`, and the body is byte for byte as written except for what
    `markup_calls` removes. `cut` is 1 if the answer was cut off: then a command without its end has no body and
    ``"truncated": true``, and nothing behind its start is read. Never raises: what cannot be read is returned as
    prose, with a warning.
    """
    if text is None:
        return None
    try:
        parsed = _Parser(text, grammar_of(tools), MAX_COMMANDS if cap is None else int(cap), bool(cut)).parse()
    except Exception as error:  # the answer is paid for: whatever happens, its text is kept
        warning = f"The answer could not be parsed ({type(error).__name__}: {error}); all of it was kept as text"
        parsed = {"commands": [], "warnings": [warning], "text": text.strip(), "reasoning": ""}
    return to_json(parsed)


@lru_cache(maxsize=64)
def _outer(grammar: Grammar) -> re.Pattern[str]:
    """Matches whatever can end prose: tags, heads of foreign calls, control tokens, back-ticks, tildes."""
    return re.compile(
        # With the first character on its own the search skips to it.
        r"[<`{\[~(:>\u25c1](?:"
        rf"(?P<thought>{_THOUGHTS})"
        rf"|(?<=<)(?:(?P<tag>{grammar.tag_pattern})|(?P<foreign>{ANGLE_HEADS})|(?P<unread>{UNREAD_ANGLE_HEADS})"
        rf"|(?P<control>{CONTROLS}))"
        rf"|(?<=\{{)(?P<brace>{BRACE_HEADS})|(?<=\[)(?P<bracket>{BRACKET_HEADS})"
        # Most code spans hold no sign of markup: this skips them.
        r"|(?<=`)(?:(?<!\\`)(?P<span>[^`<\n]+`(?!`))|(?P<ticks>`*))|(?<=~)(?P<tildes>~~+)"
        rf"|{plain_heads(grammar)})",
        FLAGS,
    )


class _Parser:
    """One reading of one answer."""

    def __init__(self, text: str, grammar: Grammar, cap: int, cut: bool) -> None:
        self.text = text
        self.grammar = grammar
        self.cap = cap
        self.cut = cut
        self.outer = _outer(grammar)
        self.commands: list[Command] = []
        self.dropped: list[str] = []
        self.warnings: list[str] = []
        self.prose = Prose(text)
        self.reasoning: list[str] = []
        self.fences: list[int] = []
        self.quoted = self.stripped = 0

    # made when first needed: an answer of ordinary tags needs none of these

    @cached_property
    def reader(self) -> TagReader:
        return TagReader(self.text, self.grammar)

    @cached_property
    def bodies(self) -> Bodies:
        return Bodies(self.reader)

    @cached_property
    def dialects(self) -> Dialects:
        return Dialects(self.text, self.grammar)

    @cached_property
    def recoveries(self) -> Recoveries:
        return Recoveries(self.bodies, self.outer)

    @cached_property
    def quotations(self) -> Quotations:
        return Quotations(self.text)

    def parse(self) -> dict[str, Any]:
        position = 0
        while found := self.outer.search(self.text, position):
            position = _HANDLERS[found.lastgroup or ""](self, found)
        self.prose.cut(len(self.text), len(self.text))
        return {
            "commands": [command.as_row() for command in self.commands],
            "warnings": self._all_warnings(),
            "text": self.prose.take(),
            "reasoning": "\n".join(self.reasoning),
        }

    # -- tags

    def _tag(self, found: re.Match[str]) -> int:
        name = found["name"].lower()
        if found["slash"]:
            return self._stray_close(name, found)
        ordinary = self._ordinary(name, found)
        if ordinary >= 0:
            return ordinary
        tag = self.reader.read(name, found.start(), found.end())
        if self.cut and tag_is_open(tag, self.text):
            return self._cut_off(name, {}, found.start(), found.end())
        if tag.shape is not Shape.WHOLE:
            self.warnings.append(f"Unclosed <{name}: {_NO_TAG[tag.shape]}; it was kept as text, not run")
            # a call in the value of an attribute is not run, even if the value has no end
            return self._claimed(tag) or found.end()
        if tag.repairs:
            told = "; ".join(tag.repairs)
            self.warnings.append(f"Repaired {len(tag.repairs)} malformed attribute(s) in <{name}>: {told}")
        if tag.closed:
            return self._emit(name, tag.attributes, None, tag.start, tag.end)
        close = self.bodies.close_of(tag)
        if self.cut and not self._holds_a_sibling(tag) and (close is None or body_is_open(tag, close, self.bodies)):
            return self._cut_off(name, tag.attributes, tag.start, tag.end)
        if close is None or self._holds_a_sibling(tag):
            return self._unclosed(tag, found.end())
        return self._emit(name, tag.attributes, self.text[tag.end : close.start], tag.start, close.end)

    def _ordinary(self, name: str, found: re.Match[str]) -> int:
        """Read the call that `found` begins, if it is an ordinary one, in one step: its end, or -1 for any other.

        An ordinary call has attributes of the form `name="value"` only, and either a slash or a body without `<`.
        """
        whole = _ORDINARY.match(self.text, found.end())
        if whole is None:
            return -1
        end, body = whole.end(), whole["body"]
        if body is not None:
            close = f"</{name}>"
            if not self.text.startswith(close, end):
                return -1
            end += len(close)
        attributes: dict[str, str] = {}
        for key, value in _PAIRS.findall(whole["attributes"]):
            attributes.setdefault(key.lower(), decode_entities(value))
        return self._emit(name, attributes, body, found.start(), end)

    def _claimed(self, tag: Tag) -> int:
        """Where the text of a tag that cannot be read ends; 0 for a mention, which is ordinary text."""
        if tag.shape is Shape.ENDLESS:
            return len(self.text) if any(tag.attributes.values()) else 0
        return tag.end if tag.shape is Shape.CUT else 0

    def _holds_a_sibling(self, tag: Tag) -> bool:
        return tag.name in _BODILESS and "path" in tag.attributes and self.recoveries.next_is_open_tag(tag)

    def _unclosed(self, tag: Tag, after_name: int) -> int:
        recovery = self.recoveries.of(tag)
        self.warnings.append(recovery.warning)
        if recovery.mention:
            return after_name
        body = None if recovery.body_end is None else self.text[tag.end : recovery.body_end]
        return self._emit(tag.name, tag.attributes, body, tag.start, recovery.resume)

    def _cut_off(self, name: str, attributes: dict[str, str], start: int, end: int) -> int:
        """Take everything from `start` on as one truncated command; its head ends at `end`."""
        self.prose.cut(start, len(self.text))
        action = "think" if name in REASONING else name
        if action == "think" and (thought := self.text[end:].strip()):
            self.reasoning.append(thought)
        if action in self.grammar.names:
            given = dict(attributes)
            path, destination = given.pop("path", None), given.pop("to", None)
            source = self.text[start:]
            self._append(Command(action, path, destination, None, given, source, truncated=True))
        return len(self.text)

    def _stray_close(self, name: str, found: re.Match[str]) -> int:
        end = skip_space(self.text, found.end())
        end = end + 1 if self.text.startswith(">", end) else found.end()
        if name in REASONING and not self.commands and not self.reasoning:
            self.prose.cut(found.start(), end)
            self.reasoning.append(self.prose.take())
            self.warnings.append(f"Unopened </{name}>: the text before it was taken as reasoning")
        else:
            self.prose.cut(found.start(), end)
            self.warnings.append(f"Mismatched </{name}>: it closes nothing; it was left out")
        return end

    def _emit(self, name: str, attributes: dict[str, str], body: str | None, start: int, end: int) -> int:
        self.prose.cut(start, end)
        action = "think" if name in REASONING else name
        command = command_of(action, attributes, body, self.text[start:end])
        if action == "think" and command.body and command.body.strip():
            self.reasoning.append(command.body.strip())
        if action in self.grammar.names:
            self._append(command)
        return end

    def _append(self, command: Command) -> None:
        self.warnings += command.notes
        if len(self.commands) < self.cap:
            self.commands.append(command)
        else:
            self.dropped.append(command.action)

    # -- foreign dialects and control tokens

    def _foreign(self, found: re.Match[str]) -> int:
        reading = self.dialects.read(found.start(), found[0])
        if self.cut:
            decodes = reading is not None or self.dialects.values.decoded(found.start())[1] >= 0
            opened = call_is_open(found.start(), reading, self.text, decodes)
            if opened >= 0:
                return self._cut_off_call(found.start(), opened, reading)
        if reading is None:
            return found.start() + 1
        if reading.data:
            self.quoted += self.grammar.tag.search(self.text, found.end(), reading.end) is not None
            return reading.end
        if reading.problem:
            self._given_up(f"Malformed tool call {self._named(found)!r}: {reading.problem}", reading.claimed)
        for name in reading.unknown:
            self.warnings.append(f"Unknown tool {name!r} called by {self._named(found)!r}: it was kept as text")
        if reading.calls or not (reading.problem or reading.unknown):
            self._take(found.start(), reading)
        return max(reading.end, reading.claimed, found.start() + 1)

    def _named(self, found: re.Match[str]) -> str:
        """How a warning names a foreign call: by its head, or JSON by its first 40 characters."""
        if found[0][-1] == '"':
            return self.text[found.start() : found.start() + 40]
        return found[0].strip()

    def _given_up(self, what: str, end: int) -> None:
        """Warn of a call that could not be read and whose text ends at `end`."""
        reach = ", which goes to the end of the answer," if end == len(self.text) else ""
        self.warnings.append(f"{what}; it was kept as text{reach} and nothing of it was done")

    def _unread(self, found: re.Match[str]) -> int:
        claim = self.dialects.claims.unread(found)
        if claim is None:
            control = found.lastgroup == "unread" and found[0][1] in "|\uff5c"
            return self._control(found) if control else found.end()
        if claim.told:
            begin = self.dialects.claims.begin(found)
            excerpt = self.text[begin : min(claim.end, begin + 40)]
            self._given_up(f"Unread tool call {excerpt!r}: it is in a notation that is not read", claim.end)
        return claim.end

    def _thought(self, found: re.Match[str]) -> int:
        end, resume = self.dialects.claims.thought_end(found[0], found.end())
        return self._take(found.start(), Reading(resume, reasoning=self.text[found.end() : end]))

    def _cut_off_call(self, start: int, opened: int, reading: Reading | None) -> int:
        """Take the calls that are complete; the one from `opened` on is truncated."""
        if reading is not None and opened > start:
            self._take(start, reading)
        name = called_tool(opened, self.text, self.grammar.names)
        return len(self.text) if name is None else self._cut_off(name, {}, opened, opened)

    def _take(self, start: int, reading: Reading) -> int:
        self.prose.cut(start, reading.end)
        if reading.reasoning and reading.end == len(self.text) and self.grammar.tag.search(reading.reasoning):
            self.warnings.append("Unclosed thoughts: the calls in them were not run; close the thoughts before you act")
        if reading.reasoning and reading.reasoning.strip():
            self.reasoning.append(reading.reasoning.strip())
        for call in reading.calls:
            command = command_of_arguments(call.name, call.arguments, self.text[call.start : call.end])
            if call.name in REASONING and command.body:
                self.reasoning.append(command.body.strip())
            self._append(command)
        return reading.end

    def _control(self, found: re.Match[str]) -> int:
        self.prose.cut(found.start(), found.end())
        self.stripped += _SILENT_CONTROLS.match(found[0]) is None
        return found.end()

    # -- quotations

    def _ticks(self, found: re.Match[str]) -> int:
        start, end = found.span()
        if self.fences and self.quotations.closes_fence(start, end, self.fences[-1]):
            self.fences.pop()
            self.prose.cut(start, end)
            return end
        quotation = self.quotations.at(start, end)
        if quotation is None:
            return len(self.text) if self.cut and self.quotations.is_open(start, end) else end
        tool_tag = self.grammar.tag.search(self.text, end, quotation.end)
        if quotation.fence in CALL_FENCES and self._unwrap(quotation, end - start):
            return quotation.content
        if tool_tag or (quotation.fence is not None and self.dialects.mentions_call(quotation.content, quotation.end)):
            self.quoted += 1
        return quotation.end

    def _unwrap(self, quotation: Quotation, length: int) -> bool:
        """Remove the lines of a fence from around the calls in it; False when it holds no call."""
        first = self.outer.search(self.text, quotation.content, quotation.end)
        if first is None or first.lastgroup not in ("tag", "foreign", "brace", "bracket"):
            return False
        if first.lastgroup in ("brace", "bracket") and not self.dialects.claims.calls_in_json(first.start()):
            return False
        self.prose.cut(quotation.start, quotation.content)
        self.fences.append(length)
        self.warnings.append(f"Unwrapped a ```{quotation.fence} fence: the calls in it were run")
        return True

    # -- results

    def _all_warnings(self) -> list[str]:
        warnings = self.warnings[:_MAX_WARNINGS]
        if len(self.warnings) > _MAX_WARNINGS:
            warnings.append(f"{len(self.warnings) - _MAX_WARNINGS} more warnings were left out")
        if self.quoted:
            warnings.append(
                f"Quoted in back-ticks or data: {self.quoted} passage(s) with tool tags were kept as text, not run"
            )
        if self.stripped:
            warnings.append(f"Stripped {self.stripped} stray control token(s) such as <|x|>")
        if self.dropped:
            warnings.append(
                f"Tool call limit ({self.cap}) reached: {len(self.dropped)} further call(s) were dropped,"
                f" the first of them <{self.dropped[0]}>"
            )
        return warnings


_HANDLERS: Mapping[str, Callable[[_Parser, re.Match[str]], int]] = {
    "tag": _Parser._tag,
    "foreign": _Parser._foreign,
    "brace": _Parser._foreign,
    "bracket": _Parser._foreign,
    "control": _Parser._control,
    "thought": _Parser._thought,
    **dict.fromkeys(UNREAD, _Parser._unread),
    "span": lambda _parser, found: found.end(),
    "ticks": _Parser._ticks,
    "tildes": _Parser._ticks,
}
"""What handles a match of `_outer`, by the group that matched; it returns where the search goes on."""

FUNCTIONS = (Function("response_parse", 4, response_parse),)
