"""What an unreadable call claims: the text of a call is never read as commands, whatever became of the call.

A call that is given up claims all up to its closing token, and where there is none all up to the end of the answer: half
a call does not tell where its arguments end. Calls in notations that are not read are found by their shape, which is a
token that only calls have, or the name of a tool where such a notation has it, and claim their text in the same way.
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
# Words that other markup has as well: they count where the name of a tool stands with them.
_ELEMENTS = r"(?:tool|function|call|action|use_tool|execute_tool|command)"
# Results that a model made up: what stands in them is no call either.
_RESULTS = r"(?:tool|function)_(?:response|result|output)s?"
# The heads of calls that are not read, without their first character; one group for each first character.
UNREAD_ANGLE_HEADS = (
    rf"{_BAR}(?!{_BAR_WORD}*(?:end|sep|suffix|result|response|output))"
    rf"{_BAR_WORD}{{0,30}}(?:tool|function|python_|action|plugin|recipient|DSML)[^<>\s]{{0,60}}(?:\s[^<>]{{0,80}})?>"
    rf"|{NAMESPACE}(?:{_WRAPPERS}|{_ELEMENTS})(?:\s[^<>]{{0,200}})?>|{NAMESPACE}arg_(?:key|value)>"
    rf"|{NAMESPACE}param(?:eter)?[\s=][^<>]{{0,120}}>|{_RESULTS}>"
)
# The groups of heads that are not read.
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
# What shows that the JSON before it did not end there: a quote closed one of its texts too early.
_CONTINUES = lazy_regex(r"[\s}\]]*,\s*\"[^\"\n]*\"\s*:|[ \t}\]]*,?[ \t]*\"")
_REST = lazy_regex(r"[^<\"']{0,400}")
_ARGUMENTS = r"\"(?:arguments|tool_input|action_input|tool_calls|tool_uses|toolCalls|function_?call|tool_call)\"\s*:"
_WEAK_ARGUMENTS = r"\"(?:parameters|input|args|params)\"\s*:"
# How far behind its first brace JSON may name the tool that it calls.
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
    """The text up to `end` belongs to a call that is not read; `told` says whether that is worth a warning."""

    end: int
    told: bool


@lru_cache(maxsize=64)
def _ends(element: str) -> re.Pattern[str]:
    """Matches what closes a wrapper (then with the group `close`) or opens one; `element` is a name that does, too."""
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
    """Matches the heads of unread calls that begin with a sign of their own; the groups are the parser's."""
    before = "|".join(rf"(?<={re.escape(name)}\()" for name in sorted(grammar.names))
    braced = "|".join(rf"(?<={re.escape(name)}\{{)" for name in sorted(grammar.names))
    return (
        rf"(?<=\()(?P<round>{before})|(?<=\{{)(?P<curly>{braced})|(?<=:)(?P<colon>(?<=tion:)|(?<=Tool:)|(?<=Call:)|(?<=\u273f:))"
        r"|(?<=>)(?P<arrows>>>)"
    )


class Claims:
    """Decides what the unreadable calls of one text claim."""

    def __init__(self, text: str, grammar: Grammar, values: Values, heads: re.Pattern[str]) -> None:
        self.text = text
        self.grammar = grammar
        self.values = values
        self.heads = heads
        self.patterns = _patterns(grammar)
        # from where to where the text was searched for calls in JSON in vain
        self._known = (0, -1)

    # -- calls that are given up

    def wrapped_end(self, position: int, element: str = "") -> int:
        """Where the wrapper whose inside starts at `position` ends: after its closing token, or with the text."""
        return self._end(_ends(element), position)

    def message_end(self, position: int) -> int:
        """Where a message of Harmony that cannot be read ends."""
        return self._end(_MESSAGE_ENDS, position)

    def list_end(self, position: int) -> int:
        """Where a call behind `[TOOL_CALLS]` that cannot be read ends."""
        return self._end(_MISTRAL_ENDS, position)

    def json_end(self, position: int) -> int:
        """Where the JSON at `position` ends; where it is broken, it has the rest of the text."""
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
        """May a call end at `end`? A closing token in the middle of an argument is a part of the argument."""
        found = _COMPLETE.search(self.text, max(begin, end - 80), end)
        if found is None:
            return _PLAIN.fullmatch(self.text, begin, end) is not None
        return found["name"] is None or self.grammar.tag.match(self.text, found.start()) is None

    def is_broken_off(self, end: int) -> bool:
        """Does the JSON that seems to end at `end` go on behind it?"""
        return _CONTINUES.match(self.text, end) is not None

    def goes_on(self, end: int) -> bool:
        """Does the call in a wrapper that seems to end at `end` go on up to the closing token?"""
        if self.is_broken_off(end) or self.text[end : end + 1].isalnum():
            return True
        token = _ends("").search(self.text, end)
        return token is not None and token["close"] is not None and not _REST.fullmatch(self.text, end, token.start())

    def begins_call(self, position: int) -> bool:
        """Does a call that speaks for itself begin at `position`?"""
        angle = self.heads.match(self.text, position) or self.patterns["head"].match(self.text, position)
        return angle is not None or self._is_json_call(position)

    def is_mention(self, start: int, position: int) -> bool:
        """Is the wrapper's token `text[start:position]` a word of a sentence, with no call behind it?"""
        if begins_line(self.text, start) or _SHAPE.match(self.text, position):
            return False
        return self.patterns["tool"].match(self.text, position) is None

    # -- notations that are not read

    def calls_in_json(self, position: int) -> bool:
        """Does what stands at `position` look like a call in JSON, whether or not it is whole?"""
        if self._next_call(position) < position + _WINDOW:
            return True
        before = self.text[max(0, position - 60) : position].rstrip()[-1:]
        if not (before.isalnum() or before in ("]", "_")):
            return False
        return self.patterns["before"].search(self.text, max(0, position - 60), position) is not None

    def _next_call(self, position: int) -> int:
        """Where the next keys of a call in JSON stand at or after `position`; far off when there are none."""
        begin, found = self._known
        if not begin <= position <= found:
            match = self.patterns["json"].search(self.text, position)
            found = match.start() if match else len(self.text) + _WINDOW
            self._known = (position, found)
        return found

    def is_call(self, start: int, end: int) -> bool:
        """Does the JSON `text[start:end]`, which is whole, look like a call: a tool, and arguments for it?"""
        given = self.patterns["given"].search(self.text, start, end) is not None
        return given and self.calls_in_json(start)

    def mentions_call(self, start: int, end: int) -> bool:
        """Does `text[start:end]`, which is quoted, call one of the tools in a notation of its own?"""
        return self.patterns["named"].search(self.text, start, end) is not None

    def unread(self, found: re.Match[str]) -> Claim | None:
        """What the head of a call in a notation that is not read claims; None when it begins no call."""
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
        """Where the call whose head was found starts: some heads are found by a sign behind their first word."""
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
            return None  # the calls in this wrapper speak for themselves
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
        """Where the word that ends at `position` starts and what precedes its last part; None if that is no tool."""
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
        """The end of the brackets that open at `position`; -1 where they or a text in them are broken."""
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
        """Where the thoughts behind `head` end and where reading goes on; both the text's end if they do not end."""
        closing = next(end for begin, end in THOUGHT_HEADS.items() if begin.lower() == head.lower())
        end = -1 if closing in self._missing else self.text.find(closing, position)
        if end < 0:
            self._missing.add(closing)
            return len(self.text), len(self.text)
        return end, end + len(closing)
