"""The tags of the tools themselves, `<get path="b.md"/>`: each becomes a command, with what was repaired in it."""

from __future__ import annotations

import re

from engine.functions.counts import counted
from engine.functions.lazy import lazy_regex
from engine.functions.notations.thought_ends import Closing

from .calls import Command, command_of, command_of_arguments
from .children import FileCall, child_arguments, file_calls, json_arguments, may_be_text
from .cut import body_is_open, tag_is_open
from .grammar import skip_space
from .state import State
from .tags import Shape, Tag, decode_entities
from .unopened import end_thoughts

# Tools that need no body when they have a path: if another open tag follows directly, the slash was forgotten.
_BODILESS = frozenset({"get", "rm", "cp", "mv"})
_PAIR = r"\s+([^\s=<>/\"'`]+)=\"([^\"<]*)\""
_PAIRS = lazy_regex(_PAIR)
# What follows the name of an ordinary tag: all of a tag that ends with a slash, or an open tag and its body.
_ORDINARY = lazy_regex(rf"(?P<attributes>(?:{_PAIR})*+)\s*(?:/>|>(?P<body>[^<]*+))")
_LONGEST_CLOSING = 60
_SPOKEN = frozenset({"think", "update"})
"""Tools whose body is only read: a part of it does no harm."""
_NO_TAG = {
    Shape.CUT: "the answer ends inside it, or a sign that ends a value of it is missing",
    Shape.MENTION: "it has no '>' and no value",
    Shape.ENDLESS: "it has more words and values than can be meant",
}


def read_tag(state: State, found: re.Match[str]) -> int:
    """Take the tag that begins at `found`; return where reading goes on."""
    name = found["name"].lower()
    if found["slash"]:
        return _stray_close(state, name, found)
    thinks = name in state.grammar.thoughts
    ordinary = -1 if thinks and state.acts() else _ordinary(state, name, found)
    if ordinary >= 0:
        return ordinary
    tag = state.reader.read(name, found.start(), found.end())
    if state.cut and tag_is_open(tag, state.text):
        return state.cut_off(name, {}, found.start(), found.end())
    if tag.shape is not Shape.WHOLE:
        return _broken(state, tag, found.end())
    if thinks and not tag.closed:
        return _thoughts(state, tag, found.end())
    if tag.repairs:
        told = "; ".join(tag.repairs)
        state.warnings.append(f"Repaired {len(tag.repairs)} malformed attribute(s) in <{name}>: {told}")
    if tag.closed:
        if not tag.repairs:
            state.is_whole(tag.end)
        return _emit(state, name, tag.attributes, None, tag.start, tag.end)
    children = _children(state, tag)
    return children if children >= 0 else _with_body(state, tag, found.end())


def _ordinary(state: State, name: str, found: re.Match[str]) -> int:
    """Read the call that `found` begins, if it is an ordinary one, in one step: its end, or -1 for any other.

    An ordinary call has attributes of the form `name="value"` only, and either a slash or a body without `<`.
    """
    whole = _ORDINARY.match(state.text, found.end())
    if whole is None:
        return -1
    end, body = whole.end(), whole["body"]
    if body is not None:
        close = f"</{name}>"
        if not state.text.startswith(close, end):
            return -1
        end += len(close)
    attributes: dict[str, str] = {}
    for key, value in _PAIRS.findall(whole["attributes"]):
        attributes.setdefault(key.lower(), decode_entities(value))
    state.is_whole(end)
    return _emit(state, name, attributes, body, found.start(), end)


def _broken(state: State, tag: Tag, after_name: int) -> int:
    """A tag that cannot be read. A call in the value of an attribute is not run, even if the value has no end."""
    told = f"Unclosed <{tag.name}: {_NO_TAG[tag.shape]}; it was kept as text, not run"
    claimed = 0
    if tag.shape is Shape.ENDLESS and any(tag.attributes.values()):
        claimed = len(state.text)
    elif tag.shape is Shape.CUT:
        claimed = tag.end
    if claimed:
        state.refuse(told)
    else:  # a mention is ordinary text
        state.warnings.append(told)
    return claimed or after_name


def _with_body(state: State, tag: Tag, after_name: int) -> int:
    close = state.bodies.close_of(tag)
    sibling = _holds_a_sibling(state, tag)
    if state.cut and not sibling and (close is None or body_is_open(tag, close, state.bodies)):
        return state.cut_off(tag.name, tag.attributes, tag.start, tag.end)
    if close is None or sibling:
        return _unclosed(state, tag, after_name)
    if not tag.repairs:
        state.is_whole(close.end)
    return _emit(state, tag.name, tag.attributes, state.text[tag.end : close.start], tag.start, close.end)


def _thoughts(state: State, tag: Tag, after_name: int) -> int:
    """Take thoughts. Without an end of their own they go to the first end of any thoughts, else to the end of the answer."""
    own = state.bodies.close_of(tag) or state.bodies.first_close(tag)
    close = own or state.answer.next_closing(tag.end)
    begins = state.answer.begins(tag.start)
    in_words = own is None and close is not None and state.text[close.start].isalpha()
    if close is not None and (in_words or (not begins and state.acts())):
        # a sentence of thoughts, which the prompt or the first word of the answer opened, speaks of the tag
        return end_thoughts(state, Closing(*close))
    if close is None and not begins and not state.cut:
        state.warnings.append(f"Unclosed <{tag.name}> in a sentence: it was read as a mention, not run")
        return after_name
    if close is None and state.cut:
        return state.cut_off(tag.name, tag.attributes, tag.start, tag.end)
    end = close.end if close else len(state.text)
    body = state.text[tag.end : close.start if close else end]
    state.is_whole(end)
    if close is None:
        state.tell_unclosed_thoughts(tag.end)
    elif own is None:
        wrong = state.text[close.start : close.end]
        state.warnings.append(f"Mismatched {wrong} closing <{tag.name}>: it was taken as the end of the thoughts")
    return _emit(state, tag.name, tag.attributes, body, tag.start, end)


def _children(state: State, tag: Tag) -> int:
    """Take a tag whose arguments are child elements: its end, or -1 where its body is a text."""
    files = file_calls(state.answer, tag)
    if files is not None:
        return _files(state, tag, files)
    given = child_arguments(state.answer, tag)
    if given is None:
        return -1
    if given.problem is None and given.closed:
        state.is_whole(given.end)
        return _take(state, tag.name, given.values, tag.start, given.end)
    if may_be_text(tag) and state.bodies.close_of(tag) is not None:
        return -1
    return _malformed(state, tag, given.problem or "it holds more than its parameters")


def _files(state: State, tag: Tag, files: list[FileCall]) -> int:
    """Take the calls of a tag that names several files."""
    if not files:
        return _malformed(state, tag, "its files do not end")
    state.is_whole(files[-1].end)
    for each in files:
        _take(state, tag.name, each.arguments, each.start, each.end)
    return files[-1].end


def _malformed(state: State, tag: Tag, problem: str) -> int:
    """Give up a tag whose arguments are elements: nothing behind it is read."""
    if state.cut:
        return state.cut_off(tag.name, tag.attributes, tag.start, tag.end)
    end = len(state.text)  # a closing tag may be a part of the argument
    excerpt = state.text[tag.start : tag.start + 40]
    state.give_up(f"Malformed tool call {excerpt!r}: {problem}", end)
    return end


def _take(state: State, name: str, arguments: object, start: int, end: int) -> int:
    """Take a call with arguments by name."""
    state.prose.cut(start, end)
    if state.has_room(name):
        state.add(command_of_arguments(name, arguments, state.text[start:end]))
    return end


def _holds_a_sibling(state: State, tag: Tag) -> bool:
    return tag.name in _BODILESS and "path" in tag.attributes and state.recoveries.next_is_open_tag(tag)


def _unclosed(state: State, tag: Tag, after_name: int) -> int:
    recovery = state.recoveries.of(tag)
    state.warnings.append(recovery.warning)
    if recovery.mention:
        return after_name
    body = None if recovery.body_end is None else state.text[tag.end : recovery.body_end]
    return _emit(state, tag.name, tag.attributes, body, tag.start, recovery.resume)


def _stray_close(state: State, name: str, found: re.Match[str]) -> int:
    end = skip_space(state.text, found.end())
    end = end + 1 if state.text.startswith(">", end) else found.end()
    state.prose.cut(found.start(), end)
    command, ended = state.closed.pop(name, (None, 0))
    if command is None or not any(command is each for each in state.commands):
        state.warnings.append(f"Mismatched </{name}>: it closes nothing; it was left out")
    elif not state.text[ended : found.start()].strip():
        state.closed[name] = command, end
        state.warnings.append(f"Mismatched </{name}>: it closes nothing; it was left out")
    else:
        _unclear(state, name, command)
    return end


def _unclear(state: State, name: str, command: Command) -> None:
    """Give back a command that may go on to a second closing tag, and those that would stand in its body then."""
    first = next(at for at, each in enumerate(state.commands) if each is command)
    others = len(state.commands) - first - 1
    del state.commands[first:]
    nor = f", nor of {counted(others, 'call')} in between" if others else ""
    state.refuse(
        f"Unread tool call {command.source[:40]!r}: another </{name}> stands behind it, so its body may hold </{name}>; "
        f"nothing of it was done{nor}; write it without that text, in a set between <<NEW and NEW"
    )


def _emit(state: State, name: str, attributes: dict[str, str], body: str | None, start: int, end: int) -> int:
    if not attributes and body and body.lstrip()[:1] == "{" and (given := json_arguments(name, body)):
        return _take(state, name, given, start, end)
    state.prose.cut(start, end)
    action = "think" if name in state.grammar.thoughts else name
    known = action in state.grammar.names
    if action != "think" and known and not state.has_room(action):
        return end
    command = command_of(action, attributes, body, state.text[start:end])
    if action == "think" and command.body and command.body.strip():
        state.reasoning.append(command.body.strip())
    if known and (action != "think" or state.has_room(action)):
        state.add(command)
        if body and action not in _SPOKEN and "</" in command.source[-_LONGEST_CLOSING:]:
            state.closed[name] = command, end
    return end
