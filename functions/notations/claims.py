"""Which text belongs to a call that cannot be read: nothing in it is taken for a command.

Such a call claims the text up to its closing token, or without one up to the end of the answer: where its arguments end
is not known.
"""

from __future__ import annotations

import re
from functools import lru_cache

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import FLAGS, Grammar, begins_line
from engine.functions.notations.call_ends import Behind, Texts, ends_of
from engine.functions.notations.tokens import BAR, BAR_WORD, CLOSING, NOISE, PREFIX, WRAPPERS, tool_names
from engine.functions.notations.values import Values

_COMPLETE = lazy_regex(rf"(?:[}}\])]|```|\w{BAR}>|</(?P<name>[\w:.-]+)>{NOISE})\s*\Z")
_PLAIN = lazy_regex(r"[^<{\"']{0,200}")
# Shows that the JSON before it goes on: a quote in one of its texts was not escaped.
_CONTINUES = lazy_regex(r"[\s}\]]*+,\s*+\"[^\"\n]*+\"\s*+:|[ \t}\]]*+,?[ \t]*+\"")
_REST = lazy_regex(r"[^<\"']{0,400}")
_ARGUMENTS = r"\"(?:arguments|tool_input|action_input|tool_calls|tool_uses|toolCalls|function_?call|tool_call)\"\s*:"
_WEAK_ARGUMENTS = r"\"(?:parameters|input|args|params|kwargs)\"\s*:"
_BLANKS = lazy_regex(r"[ \t\r]{0,80}")
_WORDS = lazy_regex(r"[A-Za-z_][\w-]*")
# In how many characters from its first brace JSON names its tool.
_WINDOW = 600
_SHAPE = lazy_regex(r"\s*(?:[{\[<`]|[\w.:/-]*\w(?:[({\[<=]|\s*\n\s*[<{]))")


_NAMES = rf"{PREFIX}(?:{WRAPPERS}|function|invoke)"
# What closes a wrapper (with the group `close`) or opens one.
_TOKENS = lazy_regex(
    rf"(?P<close></{_NAMES}\s*>|{CLOSING})"
    rf"|<(?:{_NAMES}[\s>=]|\|?tool_calls?(?:_begin)?\|?>|start_function_call>"
    rf"|{BAR}{BAR_WORD}{{0,60}}(?:begin|start|prefix){BAR}>|{BAR}DSML{BAR}(?!param)[^<>]{{1,80}}>)",
    FLAGS,
)


@lru_cache(maxsize=64)
def _patterns(grammar: Grammar) -> dict[str, re.Pattern[str]]:
    tool = tool_names(grammar)
    key = r"\"(?:name|tool|tool_?name|function|function_?name|recipient_name|recipient|action|command|api|method)\"\s*:\s*"
    named = rf"(?:{key}\"{tool}(?::\d+)?(?:\"|\s*,)|\{{\s*\"{tool}\"\s*:\s*[{{\"\[])"
    return {
        "json": lazy_regex(
            rf"(?:{named}|{_ARGUMENTS}|\"name\"\s*:\s*\"[\w.:/-]+\"\s*,\s*{_WEAK_ARGUMENTS}"
            rf"|{_WEAK_ARGUMENTS}\s*\{{[^{{}}]{{0,400}}\}}\s*,\s*\"name\"\s*:)",
            FLAGS,
        ),
        "named": lazy_regex(named, FLAGS),
        "begins": lazy_regex(
            rf"\[TOOL_(?:CALLS|REQUEST)\]|\[\s*{tool}\(|call:\s*{tool}\{{|functools\s*\[|{tool}[:#]\d{{1,4}}\s*\{{|>>>\s{{0,3}}(?:all|{tool})\s|<{BAR}DSML"
            r"|\u273f\w{1,20}\u273f:|[*_]*Action[*_]*:|commentary to=functions\.|```(?:tool_\w+|xml)\b|\]<\]minimax\[>\[",
            FLAGS,
        ),
        "given": lazy_regex(rf"{_ARGUMENTS}|{_WEAK_ARGUMENTS}|\{{\s*\"{tool}\"\s*:\s*\{{", FLAGS),
        "before": lazy_regex(rf"(?<![\w.:/-]){tool}(?::\d+)?(?:\[ARGS\]|\s|```json|json|code)*\Z", FLAGS),
        "tool": lazy_regex(rf"\s*[\"']?{tool}(?![\w-])", FLAGS),
    }


class Claims:
    """Decides which text the unreadable calls of one answer claim."""

    def __init__(self, text: str, grammar: Grammar, values: Values, heads: re.Pattern[str]) -> None:
        self.text = text
        self.grammar = grammar
        self.values = values
        self.heads = heads
        self._patterns = _patterns(grammar)
        # the part of the text that is known to hold no call in JSON
        self._known = (0, -1)
        self._token: tuple[int, re.Match[str] | None] = (-1, None)

    # -- the end of a call that is given up

    def wrapped_end(self, head: str, position: int, behind: Behind | None = None) -> int:
        """Where the wrapper that `head` opens ends, of whose content the part behind `position` is claimed: behind its
        closing token, or at the end of the text. With `behind`, only where that stands before the token.
        """
        return self.end(ends_of(head), position, behind)

    def end(self, ends: re.Pattern[str], position: int, behind: Behind | None = None) -> int:
        """The end of the text behind `position`, by a pattern with the group `close` for what closes; the rest opens."""
        depth, begin, texts = 1, position, Texts(self.text, position)
        while found := ends.search(self.text, position):
            position = found.end()
            if not found["close"]:
                depth += 1
            elif (
                behind.matches(self.text, begin, found.start())
                if behind
                else self._may_end(texts, begin, found.start())
            ):
                depth -= 1
            if not depth:
                token = found[0]
                return found.start() if token in ("[TOOL_CALLS]", "<|start|>", "<|channel|>") else position
        return len(self.text)

    def json_end(self, position: int) -> int:
        """Where the JSON at `position` ends; broken JSON reaches to the end of the text."""
        end = self.values.decoded(position)[1]
        return end if end >= 0 and not self.is_broken_off(end) else len(self.text)

    def _may_end(self, texts: Texts, begin: int, end: int) -> bool:
        return self._is_complete(begin, end) and not texts.holds(end)

    def _is_complete(self, begin: int, end: int) -> bool:
        """Can a call end at `end`? A closing token inside an argument is a part of the argument."""
        found = _COMPLETE.search(self.text, max(begin, end - 80), end)
        if found is None:
            return _PLAIN.fullmatch(self.text, begin, end) is not None
        return found["name"] is None or self.grammar.tag.match(self.text, found.start()) is None

    # -- does it go on, is it one

    def is_broken_off(self, end: int) -> bool:
        """Does the JSON that seems to end at `end` continue?"""
        return _CONTINUES.match(self.text, end) is not None

    def goes_on(self, end: int) -> bool:
        """Does the call in a wrapper that seems to end at `end` continue up to the closing token?"""
        if self.is_broken_off(end) or self.text[end : end + 1].isalnum():
            return True
        token = self._next_token(end)
        return token is not None and token["close"] is not None and not _REST.fullmatch(self.text, end, token.start())

    def _next_token(self, position: int) -> re.Match[str] | None:
        """The first token of a wrapper at or after `position`."""
        begin, found = self._token
        if begin < 0 or not begin <= position <= (found.start() if found else len(self.text)):
            found = _TOKENS.search(self.text, position)
            self._token = (position, found)
        return found

    def begins_call(self, position: int) -> bool:
        """Does a call begin at `position` that can be recognised without its wrapper?"""
        angle = self.grammar.tag.match(self.text, position) or self.heads.match(self.text, position)
        return angle is not None or self._is_json_call(position)

    def call_follows(self, position: int) -> bool:
        """Does a call begin behind the blanks at `position`, on the same line?"""
        at = _BLANKS.match(self.text, position)
        begin = at.end() if at else position
        return self.begins_call(begin) or self._patterns["begins"].match(self.text, begin) is not None

    def is_mention(self, start: int, position: int) -> bool:
        """Is the wrapper's token `text[start:position]` only mentioned in a sentence, with no call behind it?"""
        if begins_line(self.text, start) or _SHAPE.match(self.text, position):
            return False
        return self._patterns["tool"].match(self.text, position) is None

    def names_tool(self, position: int) -> bool:
        """Does the name of a tool stand at `position`, perhaps in quotes?"""
        return self._patterns["tool"].match(self.text, position) is not None

    def calls_in_json(self, position: int) -> bool:
        """Does the text at `position` look like a call in JSON, complete or not?"""
        if self._next_call(position) < position + _WINDOW:
            return True
        before = self.text[max(0, position - 60) : position].rstrip()[-1:]
        if not (before.isalnum() or before in ("]", "_")):
            return False
        words = _WORDS.findall(self.text, max(0, position - 60), position)[-3:]
        named = any(word.lower() in self.grammar.names for word in words)
        return named and self._patterns["before"].search(self.text, max(0, position - 60), position) is not None

    def _is_json_call(self, position: int) -> bool:
        return self.text.startswith(("{", "["), position) and self._next_call(position) < position + _WINDOW

    def _next_call(self, position: int) -> int:
        """Where the next keys of a call in JSON stand at or after `position`; beyond the end when there are none."""
        begin, found = self._known
        if not begin <= position <= found:
            match = self._patterns["json"].search(self.text, position)
            found = match.start() if match else len(self.text) + _WINDOW
            self._known = (position, found)
        return found

    def is_call(self, start: int, end: int) -> bool:
        """Does the complete JSON `text[start:end]` look like a call, with a tool and its arguments?"""
        given = self._patterns["given"].search(self.text, start, end) is not None
        return given and self.calls_in_json(start)

    def mentions_call(self, start: int, end: int) -> bool:
        """Does the quotation `text[start:end]` hold a call of one of the tools in JSON?"""
        return self._patterns["named"].search(self.text, start, end) is not None
