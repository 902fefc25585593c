"""Takes what the notations read: commands, reasoning, or a warning and a text that is not read again."""

from __future__ import annotations

import re
from dataclasses import replace

from engine.functions.lazy import lazy_regex
from engine.functions.notations import Reading, notation_of
from engine.functions.notations.call_ends import Texts
from engine.functions.notations.pythonic import begins_python, python_calls
from engine.functions.notations.tokens import CONTROLS, SILENT

from .calls import command_of_arguments
from .cut import called_tool
from .grammar import FLAGS
from .state import State

_CONTROL = lazy_regex(f"<(?:{CONTROLS})", FLAGS)


def read_foreign(state: State, found: re.Match[str]) -> int:
    """Take what begins at the head `found`; return where reading goes on."""
    notation = notation_of(found.lastgroup)
    reading = notation.read(state.answer, found) if notation else None
    start = found.start()
    if state.cut:
        opened = _open_from(state, start, reading)
        if opened >= 0:
            return _cut_off(state, start, opened, reading)
    if reading is None:
        control = _CONTROL.match(state.text, start)
        return read_control(state, control) if control else start + 1
    if reading.data:
        state.quoted += state.grammar.tag.search(state.text, found.end(), reading.end) is not None
        state.answer.whole = reading.end
        return reading.end
    start = reading.start if reading.start >= 0 else start
    _tell(state, found, start, reading)
    if reading.calls or not (reading.problem or reading.unknown):
        take(state, start, reading)
    if reading.problem is None and reading.open_from < 0:
        if reading.calls or reading.reasoning is not None:
            state.is_whole(reading.end)
        elif not reading.unknown:
            state.answer.frame(start, reading.end)
        state.answer.whole = reading.end
    return max(reading.end, reading.claimed, found.start() + 1)


def _tell(state: State, found: re.Match[str], start: int, reading: Reading) -> None:
    """Warn of what cannot be run."""
    if not (reading.problem or reading.unknown):
        return
    text = state.text
    # a head is named as it is, JSON and what has no head by its first 40 characters
    head = found[0].strip()
    named = text[start : start + 40] if head[-1:] in ('"', "{", "[", "(", ":", ">", ".") and head[0] != "<" else head
    if reading.problem and not reading.untold:
        claimed = max(reading.claimed, reading.end)
        if reading.foreign:
            excerpt = text[start : min(claimed, start + 40)]
            state.give_up(f"Unread tool call {excerpt!r}: {reading.problem}", claimed)
        else:
            state.give_up(f"Malformed tool call {named!r}: {reading.problem}", claimed)
    for name in reading.unknown:
        state.refuse(f"Unknown tool {name!r} called by {named!r}: it was kept as text")


def take(state: State, start: int, reading: Reading) -> None:
    """Take the calls and the reasoning of `reading`, whose text begins at `start`."""
    state.prose.cut(start, reading.end)
    if reading.reasoning and state.text.endswith(reading.reasoning):
        state.tell_unclosed_thoughts(len(state.text) - len(reading.reasoning))
    if reading.reasoning and reading.reasoning.strip():
        state.reasoning.append(reading.reasoning.strip())
    for call in reading.calls:
        if call.name not in state.grammar.thoughts and not state.has_room(call.name):
            continue
        command = command_of_arguments(call.name, call.arguments, state.text[call.start : call.end])
        if call.name in state.grammar.thoughts and command.body:
            state.reasoning.append(command.body.strip())
        if call.name not in state.grammar.thoughts or state.has_room(call.name):
            state.add(command)


def _open_from(state: State, start: int, reading: Reading | None) -> int:
    """Where the part without an end begins in a call of an answer that was cut off; -1 if the call is complete."""
    if reading is None:
        is_json = state.text[start] in "{["
        return start if is_json and state.answer.values.decoded(start)[1] < 0 and _may_be_json(state, start) else -1
    if reading.open_from >= 0:
        return reading.open_from
    if reading.problem and not reading.untold and max(reading.claimed, reading.end) == len(state.text):
        begin = reading.start if reading.start >= 0 else start
        return max(reading.end, start + 1) if reading.calls else begin
    return -1


def _may_be_json(state: State, start: int) -> bool:
    return re.match(r"[{\[]\s*[{\"]", state.text[start : start + 80]) is not None


def _cut_off(state: State, start: int, opened: int, reading: Reading | None) -> int:
    """Take the calls that are complete; the one from `opened` on is truncated."""
    if reading is not None and opened > start:
        complete = [call for call in reading.calls if call.start < opened]
        take(state, start, replace(reading, calls=complete, end=min(reading.end, opened)))
    name = called_tool(opened, state.text, state.grammar.names)
    return len(state.text) if name is None else state.cut_off(name, {}, opened, opened)


def read_control(state: State, found: re.Match[str]) -> int:
    """Leave out a token that stands for nothing."""
    state.answer.frame(found.start(), found.end())
    state.prose.cut(found.start(), found.end())
    state.stripped += SILENT.match(found[0]) is None
    return found.end()


def read_fence(state: State, start: int, content: int, closing: int, end: int) -> int:
    """Take the calls in Python in the fence `text[start:end]`, whose content is `text[content:closing]`; -1 for others."""
    if not begins_python(state.text, content):
        return -1
    reading = python_calls(state.answer, start, content, closing)
    if reading.problem is not None and Texts(state.text, content).holds(closing):
        end = len(state.text)  # the line that ends the fence is one of an argument
    if reading.problem is not None:
        reading.claimed = end
        if state.cut and end == len(state.text):
            return _cut_off(state, start, reading.end if reading.calls else start, reading)
        state.give_up(f"Malformed tool call {state.text[start : start + 40]!r}: {reading.problem}", end)
    for name in reading.unknown:
        state.refuse(f"Unknown tool {name!r} called in Python: it was kept as text")
    if reading.calls:
        reading.end = reading.end if reading.unknown or reading.problem else end
        take(state, start, reading)
    return end
