"""Which text belongs to a call that cannot be read: nothing in it is taken for a command.

Such a call claims the text up to its closing token, or without one up to the end of the answer: where its arguments end
is not known. Calls in unknown notations are found by a token that only calls have, or by the name of a tool in the
place where such a notation has it; they claim their text in the same way.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import NamedTuple

from engine.functions.dialect_values import Values
from engine.functions.lazy import lazy_regex
from engine.functions.markup_grammar import FLAGS, NAMESPACE, REASONING, Grammar, begins_line, skip_space

_BAR = "[|\uff5c]"
# Words of tokens between bars; DeepSeek writes U+2581 for a space.
_BAR_WORD = "[\\w\u2581:.-]"
_WRAPPERS = r"(?:[a-z]+_)?(?:tool_?calls?|function_?calls?|tool_?use|tool_?code|tool_request|invoke)"
# Words that other markup also uses: they count only together with the name of a tool.
_ELEMENTS = r"(?:tool|function|call|action|use_tool|execute_tool|command)"
# Results that a model invented: nothing in them is a call either.
_RESULTS = r"(?:tool|function)_(?:response|result|output)s?"
# How calls in unknown notations begin, without the first character; one group for each first character.
UNREAD_ANGLE_HEADS = (
    rf"{_BAR}(?!{_BAR_WORD}*(?:end|sep|suffix|result|response|output))"
    rf"{_BAR_WORD}{{0,30}}(?:tool|function|python_|action|plugin|recipient|DSML)[^<>\s]{{0,60}}(?:\s[^<>]{{0,80}})?>"
    rf"|{NAMESPACE}(?:{_WRAPPERS}|{_ELEMENTS})(?:\s[^<>]{{0,200}})?>|{NAMESPACE}arg_(?:key|value)>"
    rf"|{NAMESPACE}param(?:eter)?[\s=][^<>]{{0,120}}>|{_RESULTS}>"
)
# The names of these groups, here and in `plain_heads`.
UNREAD = ("unread", "round", "curly", "colon", "arrows")
THOUGHT_HEADS = {
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "\u25c1think\u25b7": "\u25c1/think\u25b7",
}
_ELEMENT_NAME = lazy_regex(rf"<{NAMESPACE}({_ELEMENTS})[\s>]", FLAGS)
_NAME_ALONE = lazy_regex(r"\s*[\w.:/-]+\s*</[\w.:-]*>")
_PARAMETER = lazy_regex(rf"<{NAMESPACE}param(?:eter)?[\s=]", FLAGS)
_PARAMETER_END = lazy_regex(rf"</{NAMESPACE}(?:param(?:eter)?|arg_value)\s*>", FLAGS)
_RESULT = lazy_regex(f"<{_RESULTS}>", FLAGS)
_RESULT_END = lazy_regex(rf"</{_RESULTS}\s*>", FLAGS)
_MESSAGE_ENDS = lazy_regex(r"(?P<close><\|(?:end|call|return|start|channel)\|>)")
_MISTRAL_ENDS = lazy_regex(r"(?P<close>\[TOOL_CALLS\]|</s>)")
_COMPLETE = lazy_regex(rf"(?:[}}\])]|```|\w{_BAR}>|</(?P<name>[\w:.-]+)>)\s*\Z")
_PLAIN = lazy_regex(r"[^<{\"']{0,200}")
# Shows that the JSON before it goes on: a quote in one of its texts was not escaped.
_CONTINUES = lazy_regex(r"[\s}\]]*,\s*\"[^\"\n]*\"\s*:|[ \t}\]]*,?[ \t]*\"")
_REST = lazy_regex(r"[^<\"']{0,400}")
_ARGUMENTS = r"\"(?:arguments|tool_input|action_input|tool_calls|tool_uses|toolCalls|function_?call|tool_call)\"\s*:"
_WEAK_ARGUMENTS = r"\"(?:parameters|input|args|params)\"\s*:"
# In how many characters from its first brace JSON names its tool.
_WINDOW = 600
_SHAPE = lazy_regex(r"\s*(?:[{\[<`]|[\w.:/-]*\w(?:[({\[<=]|\s*\n\s*[<{]))")
_LOOSE = lazy_regex(r"\{\s*[\"']?[A-Za-z_][\w-]*[\"']?\s*:")
_WORD_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/"
_LAST_PART = lazy_regex(r"[\w-]+\Z")
_MODULES = frozenset({"functions", "default_api", "tools", "api", "tool", "function", "client"})
_NAMED_ARGUMENT = lazy_regex(r"\(\s*(?:\*\*|[A-Za-z_]\w*\s*=(?!=))")
_TEXT_ARGUMENT = lazy_regex(r"\(\s*[\"']")
_PYTHON = lazy_regex(r"(?P<quote>[bru]{0,2}(?:\"\"\"|'''|\"|'))|(?P<open>[(\[{])|(?P<close>[)\]}])", re.IGNORECASE)
_PYTHON_END = {quote: lazy_regex(rf"(?:[^\\]|\\.)*?{quote}", re.DOTALL) for quote in ('"""', "'''", '"', "'")}
_AFTER_STRING = lazy_regex(r"\s*(?:[,)\]}:+%]|\Z)")


class Claim(NamedTuple):
    """The text up to `end` belongs to a call that cannot be read; `told` says whether to warn."""

    end: int
    told: bool


@lru_cache(maxsize=64)
def _ends(element: str) -> re.Pattern[str]:
    """Matches what closes a wrapper (with the group `close`) or opens one; `element` is one more name of a wrapper."""
    names = rf"{NAMESPACE}(?:{_WRAPPERS}|function{element and '|' + element})"
    return lazy_regex(
        rf"(?P<close></{names}\s*>|</{_BAR}DSML{_BAR}(?!param)[^<>\s]{{1,80}}>|<tool_calls?\|>|<\|/[\w.-]{{1,40}}\|?>"
        rf"|<end_function_call>|<{_BAR}{_BAR_WORD}{{0,60}}(?:end|suffix){_BAR_WORD}{{0,20}}{_BAR}>"
        r"|<\|(?:eom_id|eot_id|stop|call|return)\|>)"
        rf"|<(?:{names}[\s>=]|\|?tool_calls?(?:_begin)?\|?>|start_function_call>"
        rf"|{_BAR}{_BAR_WORD}{{0,60}}(?:begin|start|prefix){_BAR}>|{_BAR}DSML{_BAR}(?!param)[^<>]{{1,80}}>)",
        FLAGS,
    )


@lru_cache(maxsize=64)
def _patterns(grammar: Grammar) -> dict[str, re.Pattern[str]]:
    tool = rf"(?:[\w-]{{1,40}}[.:/]){{0,3}}(?:{'|'.join(map(re.escape, sorted(grammar.names | REASONING)))})"
    key = r"\"(?:name|tool|tool_?name|function|function_?name|recipient_name|recipient|action|command|api|method)\"\s*:\s*"
    named = rf"(?:{key}\"{tool}(?::\d+)?\"|\{{\s*\"{tool}\"\s*:\s*[{{\"\[])"
    return {
        "json": lazy_regex(
            rf"(?:{named}|{_ARGUMENTS}|\"name\"\s*:\s*\"[\w.:/-]+\"\s*,\s*{_WEAK_ARGUMENTS}"
            rf"|{_WEAK_ARGUMENTS}\s*\{{[^{{}}]{{0,400}}\}}\s*,\s*\"name\"\s*:)",
            FLAGS,
        ),
        "named": lazy_regex(named, FLAGS),
        "given": lazy_regex(rf"{_ARGUMENTS}|{_WEAK_ARGUMENTS}|\{{\s*\"{tool}\"\s*:\s*\{{", FLAGS),
        "before": lazy_regex(rf"(?<![\w.:/-]){tool}(?::\d+)?(?:\[ARGS\]|\s|```json|json|code)*\Z", FLAGS),
        "tool": lazy_regex(rf"\s*[\"']?{tool}(?![\w-])", FLAGS),
        "element": lazy_regex(
            rf"<[^<>]*\bname\s*=\s*[\"']?{tool}(?![\w-])|<[^<>]*>\s*(?:<(?:\w+_)?name>\s*)?{tool}\s*[<\n({{\[]", FLAGS
        ),
        "words": lazy_regex(
            rf":\W*{tool}(?:\[|\W*\n\W*"
            r"(?:Action Input|Input|Arguments|Args|Parameters|\u273fARGS\u273f)\W*:)[\s*]*",
            FLAGS,
        ),
        "recipient": lazy_regex(rf">>>\s*{tool}\s*\n\s*(?=[{{\[])", FLAGS),
        "head": lazy_regex(rf"(?:{grammar.tag.pattern}|<(?:{UNREAD_ANGLE_HEADS}))", FLAGS),
    }


@lru_cache(maxsize=64)
def plain_heads(grammar: Grammar) -> str:
    """Source of what matches unknown notations that do not begin with `<`; the groups are those of `UNREAD`."""
    before = "|".join(rf"(?<={re.escape(name)}\()" for name in sorted(grammar.names))
    braced = "|".join(rf"(?<={re.escape(name)}\{{)" for name in sorted(grammar.names))
    return (
        rf"(?<=\()(?P<round>{before})|(?<=\{{)(?P<curly>{braced})|(?<=:)(?P<colon>(?<=tion:)|(?<=Tool:)|(?<=Call:)|(?<=\u273f:))"
        r"|(?<=>)(?P<arrows>>>)"
    )


class Claims:
    """Decides which text the unreadable calls of one answer claim."""

    def __init__(self, text: str, grammar: Grammar, values: Values, heads: re.Pattern[str]) -> None:
        self.text = text
        self.grammar = grammar
        self.values = values
        self.heads = heads
        self.patterns = _patterns(grammar)
        # the part of the text that is known to hold no call in JSON
        self._known = (0, -1)

    # -- calls that are given up

    def wrapped_end(self, position: int, element: str = "") -> int:
        """Where the wrapper whose content starts at `position` ends: after its closing token, or at the end of the text."""
        return self._end(_ends(element), position)

    def message_end(self, position: int) -> int:
        """Where a message of Harmony that cannot be read ends."""
        return self._end(_MESSAGE_ENDS, position)

    def list_end(self, position: int) -> int:
        """Where a call behind `[TOOL_CALLS]` that cannot be read ends."""
        return self._end(_MISTRAL_ENDS, position)

    def json_end(self, position: int) -> int:
        """Where the JSON at `position` ends; broken JSON reaches to the end of the text."""
        end = self.values.decoded(position)[1]
        return end if end >= 0 else len(self.text)

    def _end(self, ends: re.Pattern[str], position: int) -> int:
        depth, begin = 1, position
        while found := ends.search(self.text, position):
            position = found.end()
            if not found["close"]:
                depth += 1
            elif self._is_complete(begin, found.start()):
                depth -= 1
            if not depth:
                token = found[0]
                return found.start() if token in ("[TOOL_CALLS]", "<|start|>", "<|channel|>") else position
        return len(self.text)

    def _is_complete(self, begin: int, end: int) -> bool:
        """Can a call end at `end`? A closing token inside an argument is a part of the argument."""
        found = _COMPLETE.search(self.text, max(begin, end - 80), end)
        if found is None:
            return _PLAIN.fullmatch(self.text, begin, end) is not None
        return found["name"] is None or self.grammar.tag.match(self.text, found.start()) is None

    def is_broken_off(self, end: int) -> bool:
        """Does the JSON that seems to end at `end` continue?"""
        return _CONTINUES.match(self.text, end) is not None

    def goes_on(self, end: int) -> bool:
        """Does the call in a wrapper that seems to end at `end` continue up to the closing token?"""
        if self.is_broken_off(end) or self.text[end : end + 1].isalnum():
            return True
        token = _ends("").search(self.text, end)
        return token is not None and token["close"] is not None and not _REST.fullmatch(self.text, end, token.start())

    def begins_call(self, position: int) -> bool:
        """Does a call begin at `position` that can be recognised without its wrapper?"""
        angle = self.heads.match(self.text, position) or self.patterns["head"].match(self.text, position)
        return angle is not None or self._is_json_call(position)

    def is_mention(self, start: int, position: int) -> bool:
        """Is the wrapper's token `text[start:position]` only mentioned in a sentence, with no call behind it?"""
        if begins_line(self.text, start) or _SHAPE.match(self.text, position):
            return False
        return self.patterns["tool"].match(self.text, position) is None

    # -- notations that are not read

    def calls_in_json(self, position: int) -> bool:
        """Does the text at `position` look like a call in JSON, complete or not?"""
        if self._next_call(position) < position + _WINDOW:
            return True
        before = self.text[max(0, position - 60) : position].rstrip()[-1:]
        if not (before.isalnum() or before in ("]", "_")):
            return False
        return self.patterns["before"].search(self.text, max(0, position - 60), position) is not None

    def _next_call(self, position: int) -> int:
        """Where the next keys of a call in JSON stand at or after `position`; beyond the end when there are none."""
        begin, found = self._known
        if not begin <= position <= found:
            match = self.patterns["json"].search(self.text, position)
            found = match.start() if match else len(self.text) + _WINDOW
            self._known = (position, found)
        return found

    def is_call(self, start: int, end: int) -> bool:
        """Does the complete JSON `text[start:end]` look like a call, with a tool and its arguments?"""
        given = self.patterns["given"].search(self.text, start, end) is not None
        return given and self.calls_in_json(start)

    def mentions_call(self, start: int, end: int) -> bool:
        """Does the quotation `text[start:end]` hold a call of one of the tools in JSON?"""
        return self.patterns["named"].search(self.text, start, end) is not None

    def unread(self, found: re.Match[str]) -> Claim | None:
        """The text that the call behind a head in an unknown notation claims; None when no call begins there."""
        start, position = found.start(), found.end()
        if found.lastgroup == "unread":
            return self._angle(start, position)
        if found.lastgroup == "round":
            return self._python(start)
        if found.lastgroup == "curly":
            return self._curly(start)
        if found.lastgroup == "colon":
            return self._words(start)
        arrows = self.patterns["recipient"].match(self.text, start)
        return Claim(self._arguments_end(arrows.end()), told=True) if arrows and begins_line(self.text, start) else None

    def begin(self, found: re.Match[str]) -> int:
        """Where the call starts: some heads are found by a sign that follows their first word."""
        if found.lastgroup in ("round", "curly"):
            return (self._tool_before(found.start()) or (found.start(),))[0]
        return (
            max(self.text.rfind("\n", 0, found.start()) + 1, found.start() - 80)
            if found.lastgroup == "colon"
            else found.start()
        )

    def _angle(self, start: int, position: int) -> Claim | None:
        if _PARAMETER.match(self.text, start) or self.text.startswith("arg_value", start + 1):
            closing = _PARAMETER_END.search(self.text, position)
            return Claim(closing.end() if closing else len(self.text), told=True)
        if _RESULT.match(self.text, start):
            closing = _RESULT_END.search(self.text, position)
            return Claim(closing.end() if closing else len(self.text), told=True)
        element = _ELEMENT_NAME.match(self.text, start)
        if element and not self.patterns["element"].match(self.text, start, start + _WINDOW):
            return None
        following = skip_space(self.text, position)
        named = "name=" in self.text[start:position]
        if following == len(self.text) or (not named and self.begins_call(following)):
            return None  # the calls in this wrapper are recognised without it
        if self.is_mention(start, position):
            return None
        alone = _NAME_ALONE.match(self.text, position)
        if alone and self.patterns["tool"].match(self.text, position):
            following = skip_space(self.text, alone.end())
            lacks = not self.text.startswith(("<", "{"), following) or self.begins_call(following)
            return None if lacks else Claim(len(self.text), told=True)  # `<tool>get</tool>`: its arguments follow
        return Claim(self.wrapped_end(position, element[1].lower() if element else ""), told=True)

    def _is_json_call(self, position: int) -> bool:
        return self.text.startswith(("{", "["), position) and self._next_call(position) < position + _WINDOW

    def _words(self, start: int) -> Claim | None:
        """`Action: get` and its input on the next line."""
        found = self.patterns["words"].match(self.text, start)
        return Claim(self._arguments_end(found.end()), told=True) if found else None

    def _arguments_end(self, position: int) -> int:
        position = skip_space(self.text, position)
        end = self.values.decoded(position)[1]
        return end if end >= 0 and not self.is_broken_off(end) else len(self.text)

    def _tool_before(self, position: int) -> tuple[int, str] | None:
        """Where the word that ends at `position` starts, and its part before the tool's name; None if it names no tool."""
        before = self.text[max(0, position - 120) : position]
        word = before[len(before.rstrip(_WORD_SIGNS)) :]
        name = _LAST_PART.search(word)
        if name is None or name[0].lower() not in self.grammar.names:
            return None
        return position - len(word), word[: name.start()]

    def _curly(self, start: int) -> Claim | None:
        """`get{path:a}`, a call whose wrapper is missing."""
        if not _LOOSE.match(self.text, start) or self._tool_before(start) is None:
            return None
        end = self.values.decoded(start)[1]
        end = end if end >= 0 else self.values.loose_object(start + 1)[1]
        return Claim(end if end >= 0 else len(self.text), told=True)

    def _python(self, start: int) -> Claim | None:
        """`get(path='a')`, alone or in a list."""
        named = _NAMED_ARGUMENT.match(self.text, start) is not None
        word = self._tool_before(start) if named or _TEXT_ARGUMENT.match(self.text, start) else None
        if word is None:
            return None
        begin, path = word
        first = begins_line(self.text, begin) or self.text[begin - 1 : begin] in ("[", "(", ",", ">", ";")
        alone = first and (not path or path.rstrip(".") in _MODULES)
        if not (named or alone):
            return None
        end = self._python_end(start)
        if end < 0:
            return Claim(len(self.text), told=True)
        return Claim(end, told=alone or self.grammar.tag.search(self.text, start, end) is not None)

    def _python_end(self, position: int) -> int:
        """The end of the brackets that open at `position`; -1 when a bracket or a text in them has no end."""
        depth = 0
        while found := _PYTHON.search(self.text, position):
            position = found.end()
            if found["open"]:
                depth += 1
            elif found["close"]:
                depth -= 1
            else:
                closing = _PYTHON_END[found[0].lstrip("bruBRU")].match(self.text, position)
                if closing is None or not _AFTER_STRING.match(self.text, closing.end()):
                    return -1
                position = closing.end()
            if not depth:
                return position
        return -1

    @cached_property
    def _missing(self) -> set[str]:
        return set()

    def thought_end(self, head: str, position: int) -> tuple[int, int]:
        """Where the thoughts behind `head` end, and where reading goes on; without an end both are the end of the text."""
        closing = next(end for begin, end in THOUGHT_HEADS.items() if begin.lower() == head.lower())
        end = -1 if closing in self._missing else self.text.find(closing, position)
        if end < 0:
            self._missing.add(closing)
            return len(self.text), len(self.text)
        return end, end + len(closing)
