"""Thoughts whose beginning stands in the prompt: all that stands before the end of thoughts that nothing opened.

Nothing in them is run, and what was taken from them is given back. An end of thoughts counts wherever it is not a part of
something whole: the arguments or the body of a command with its own end, data, a quotation, thoughts that were opened. Where
it stands inside of something that has no end of its own, it is not known whether that is a thought or an argument:
nothing before it and nothing of it is run.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from engine.functions.notations.thought_ends import Closing

from .grammar import begins_line
from .state import State


def end_thoughts(state: State, closing: Closing) -> int:
    """Take all before `closing` as thoughts; return where reading goes on."""
    _give_back(state, closing.start)
    state.unopened = state.text[closing.start : closing.end]
    state.prose.restart(closing.end)
    state.seen = state.answer.edge = closing.end
    state.midline = _is_midline(state.text, closing)
    return closing.end


def behind(state: State, found: re.Match[str], position: int) -> int:
    """Where to go on behind what begins at `found` and was read up to `position`.

    That is `position`, unless thoughts end in between and what was read has no end of its own.
    """
    if state.answer.whole >= position:
        return position
    closing = state.answer.next_closing(found.start() + 1)
    if closing is None or closing.start >= position:
        return position
    if closing.end >= position or _is_spoken_of(state, found, closing):
        return end_thoughts(state, closing)
    cut = [command for command in state.commands if command.truncated]
    begin = max(state.seen, min(found.start(), closing.start))
    _give_back(state, begin)
    state.seen = begin
    state.prose.restart(begin)
    if cut:
        state.prose.cut(begin, position)
        state.commands += cut
    token, excerpt = state.text[closing.start : closing.end], state.text[begin : begin + 40]
    state.refuse(
        f"Unclear where the thoughts end: {token} stands inside of {excerpt!r}, which has no end of its own."
        " Nothing of it and nothing before it was done; write the command again, closed"
    )
    return position


def _give_back(state: State, end: int) -> None:
    """Make thoughts of all that was read before `end`."""
    state.drafts += [
        command.action for command in state.commands if command.action != "think" and not command.truncated
    ]
    state.drafts += state.dropped
    state.commands = [command for command in state.commands if command.action == "think" and not command.truncated]
    del state.reasoning[state.kept_reasoning :]
    if thought := state.text[state.seen : end].strip():
        state.reasoning.append(thought)
    state.kept_reasoning = len(state.reasoning)
    state.warnings.clear()
    state.fences.clear()
    state.dropped.clear()
    state.quoted = state.stripped = state.unread = 0


def _is_spoken_of(state: State, found: re.Match[str], closing: Closing) -> bool:
    """Does a sentence of the thoughts speak of what begins at `found`: a tag's name, or a call that is not written out?"""
    if state.answer.begins(found.start()):
        return False
    if found.lastgroup == "tag":
        return state.text.startswith(">", found.end())
    return begins_line(state.text, closing.start) or state.text[closing.end : closing.end + 1] in ("\n", "\r", "")


def _is_midline(text: str, closing: Closing) -> bool:
    """Is `closing` an element with text on both sides on its line, as where a sentence speaks of it?"""
    if not text.startswith("</", closing.start):
        return False
    before = text[max(text.rfind("\n", 0, closing.start) + 1, closing.start - 80) : closing.start]
    behind = text[closing.end : closing.end + 80].partition("\n")[0]
    return bool(before.strip() and behind.strip())


def last_closing(state: State, position: int) -> Closing | None:
    """The last end of thoughts at or behind `position`."""
    every = state.answer.closings
    return every[-1] if bisect_right(every, (position, 0)) < len(every) else None
