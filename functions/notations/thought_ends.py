"""The end of thoughts, in every notation of thoughts: `</think>`, `[/THINK]`, `<channel|>` and their like.

Many chat templates put the beginning of the thoughts into the prompt, so an answer has only their end. All that stands
before an end that closes nothing is thoughts; `markup.unopened` says which ends these are.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from engine.functions.lazy import lazy_regex
from engine.functions.markup.grammar import FLAGS, NAMESPACE, Grammar

_WORD = r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|inner)"
_BAR = "[|\uff5c]"
CHANNELS = ("thought", "thinking", "analysis", "reasoning")
"""How the names of channels of thoughts begin."""
OPENING = {
    "[": r"THINK\]|(?-i:THINKING|THOUGHT|REASONING)\]",
    "\u25c1": r"think\u25b7",
    "<": rf"{_BAR}(?:(?:begin|start)[_\u2581](?:of[_\u2581])?)?{_WORD}(?:[:_](?:start|begin|prefix))?{_BAR}>"
    r"|unused94>(?:thought\b)?",
}
"""By the first character: the tokens that open thoughts."""
_CLOSING = {
    "[": r"/THINK\]|/(?-i:THINKING|THOUGHT|REASONING)\]",
    "\u25c1": r"/think\u25b7",
    "<": rf"{_BAR}(?:(?:/|end[_\u2581](?:of[_\u2581])?){_WORD}|{_WORD}[:_](?:end|suffix)){_BAR}>|unused95>",
}
CLOSING = {**_CLOSING, "<": _CLOSING["<"] + r"|channel\|>"}
"""The tokens that close them, Gemma's among them."""
CLOSES = {first: lazy_regex(re.escape(first) + rf"(?:{closing})", FLAGS) for first, closing in _CLOSING.items()}
"""What closes thoughts that were opened by a token of this first character."""

_BARE_THOUGHTS = lazy_regex(r"\s*(?:analysis(?=\S)|(?P<granite>Here(?:'s| is) my thought process:))")
_GRANITE_RESPONSE = lazy_regex(r"(?<!\S)Here(?:'s| is) my response:")
_BARE_HEADER = lazy_regex(r"assistant(final|commentary|analysis)(?![a-z])")


class Closing(NamedTuple):
    """The end of thoughts: `text[start:end]`."""

    start: int
    end: int


@lru_cache(maxsize=64)
def _pattern(grammar: Grammar) -> re.Pattern[str]:
    elements = "|".join(sorted(grammar.thoughts))
    tokens = "|".join(f"{re.escape(first)}(?:{closing})" for first, closing in CLOSING.items())
    return lazy_regex(
        rf"<(?:\\?/\s?|\\){NAMESPACE}(?:{elements})\s*>|{tokens}|<\|close\|>think<\|sep\|>"
        # Harmony: the end of a message before the header of the next one
        r"|<\|end\|>(?=\s*<\|(?:start\|>assistant|channel\|>))",
        FLAGS,
    )


def has_closings(text: str, grammar: Grammar) -> bool:
    """Is there any of them in `text`?"""
    return _pattern(grammar).search(text) is not None or _BARE_THOUGHTS.match(text) is not None


def closings(text: str, grammar: Grammar) -> list[Closing]:
    """All that may close thoughts in `text`, in its order."""
    found, channel = _bare_headers(text), 0
    message = text.find("<|message|>")
    for each in _pattern(grammar).finditer(text):
        if each[0] == "<|end|>" and 0 <= message < each.start():
            continue  # it closes a message that the answer opened
        if each[0] == "<channel|>":
            opened = text.rfind("<|channel>", channel, each.start())
            channel = each.end()
            if opened >= 0 and not text.startswith(CHANNELS, opened + len("<|channel>")):
                continue  # it closes a channel of another kind
        found.append(Closing(*each.span()))
    return sorted(found)


def _bare_headers(text: str) -> list[Closing]:
    """What ends thoughts that the answer begins with in words.

    Granite says `Here is my thought process:` and `Here is my response:`. Harmony has headers, whose tokens a server may
    have left out: `analysisHm.assistantfinalDone.`
    """
    begun = _BARE_THOUGHTS.match(text)
    if begun is None:
        return []
    if begun["granite"]:
        response = _GRANITE_RESPONSE.search(text, begun.end())
        return [Closing(*response.span())] if response else []
    found, channel = list[Closing](), "analysis"
    for header in _BARE_HEADER.finditer(text):
        if channel == "analysis":
            found.append(Closing(header.start(), header.end() if header[1] == "final" else header.start(1)))
        channel = header[1]
    return found
