"""The grammar of the model's markup: which words are tools, and the patterns that find their tags."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from engine.functions.lazy import lazy_regex

DEFAULT_TOOLS = ("get", "set", "rm", "cp", "mv", "sh", "env", "search", "ask_user", "update", "think")
_THOUGHTS = (
    *("think", "thinking", "redacted_thinking", "antthinking", "thought", "thoughts", "reason", "reasoning"),
    *("reflection", "scratchpad", "scratch_pad", "inner_monologue", "internal_monologue", "monologue"),
    *("analysis", "ant_thinking", "chain_of_thought", "contemplation", "contemplator", "cot", "deliberation"),
    *("inner_thoughts", "internal_reasoning", "internal_thoughts", "introspection", "reasoning_content"),
    *("reasoning_process", "self_reflection", "thinking_content", "thinking_process", "thought_process"),
)
"""What models call the element of their thoughts."""
NAMESPACE = r"(?:[A-Za-z_][\w-]{0,40}[:.]){0,3}"
_BOUNDARY = r"(?=[\s/><]|\Z)"
# Without ASCII `ſet` would match `set`.
FLAGS = re.ASCII | re.IGNORECASE

_SPACE = lazy_regex(r"\s*")


def skip_space(text: str, position: int) -> int:
    """The first index at or after `position` that holds no white space; the length of `text` if none does."""
    found = _SPACE.match(text, position)
    return found.end() if found else position


def begins_line(text: str, position: int) -> bool:
    """Does only white space (at most 80 characters of it) stand before `position` on its line?"""
    line = text.rfind("\n", max(0, position - 80), position)
    return not text[max(line + 1, position - 80, 0) : position].strip()


class Grammar:
    """The tool names in lower case, and the patterns that find their tags.

    A name such as `skill>get` is another word for a tool: a call of `skill` becomes one of `get` (`State.add`).
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.spellings = dict(name.split(">", 1) for name in names if ">" in name)
        self.names = frozenset(name.split(">", 1)[0] for name in names)
        self.thoughts = frozenset(_THOUGHTS) - (self.names - {"think", "thinking"})
        """The elements that hold thoughts; a tool of such a name is a tool."""
        words = sorted(self.names | self.thoughts, key=lambda word: (-len(word), word))
        alternatives = "|".join(re.escape(word) for word in words)
        self.tag_pattern = rf"(?P<slash>/?){NAMESPACE}(?P<name>{alternatives}){_BOUNDARY}"
        self.tag = lazy_regex("<" + self.tag_pattern, FLAGS)
        """Matches the head of any tool's tag; groups `slash` and `name`."""
        self._own: dict[str, re.Pattern[str]] = {}

    def own(self, name: str) -> re.Pattern[str]:
        """Matches a whole closing tag of `name` (then with the group `close`), or the head of an open one."""
        if name not in self._own:
            word = NAMESPACE + re.escape(name)
            pattern = rf"<(?:(?P<close>/{word}\s*(?:>|\Z))|{word}{_BOUNDARY})"
            self._own[name] = re.compile(pattern, FLAGS)
        return self._own[name]


@lru_cache(maxsize=64)
def grammar_of(tools: str | None) -> Grammar:
    """The grammar of a JSON array of tool names, of `DEFAULT_TOOLS` for None; else raises ValueError."""
    if tools is None:
        return Grammar(DEFAULT_TOOLS)
    names = json.loads(tools)
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ValueError("tools must be a JSON array of names")
    return Grammar(tuple(name.lower() for name in names))
