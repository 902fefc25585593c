"""Writes a change in the notations that models use, to the letter or with the usual slips."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from engine.functions.edits.anchors import anchor_lines

from .edit_texts import Change, Group, Line

Written = list[tuple[str, str]]
"""The signed lines of a group as they are written."""


class Slip(NamedTuple):
    """A way in which models write lines otherwise than they are."""

    name: str
    change: Callable[[Written, Random], Written]


def written(group: Group) -> Written:
    """The lines of a group to the letter: CR stands at the end of one that ends in CR LF."""
    return [(sign, line.row + ("\r" if line.end == "\r\n" else "")) for sign, line in group.pieces]


def dedented(lines: Written, _: Random) -> Written:
    filled = [text for _, text in lines if text.strip()]
    common = min((re.match(r"[ \t]*", text)[0] for text in filled), key=len, default="")  # type: ignore[index]
    while not all(text.startswith(common) for text in filled):
        common = common[:-1]
    return [(sign, text.removeprefix(common)) for sign, text in lines]


def blanks_for_tabs(lines: Written, random: Random) -> Written:
    width = random.choice((2, 4, 4, 8))
    return [(sign, _indented(text, lambda indent: indent.replace("\t", " " * width))) for sign, text in lines]


def other_units(lines: Written, random: Random) -> Written:
    one, other = random.choice((("    ", "  "), ("  ", "    ")))
    indents = [text[: len(text) - len(text.lstrip(" "))] for _, text in lines]
    if any(len(indent) % len(one) for indent in indents):
        return lines
    return [(sign, _indented(text, lambda indent: indent.replace(one, other))) for sign, text in lines]


def without_tails(lines: Written, _: Random) -> Written:
    """White space at line ends is left out of lines that are there; of new lines nobody could tell."""
    return [(sign, text if sign == "+" else _without_tail(text)) for sign, text in lines]


def _without_tail(text: str) -> str:
    bare = text.removesuffix("\r")
    return bare.rstrip(" \t") + text[len(bare) :]


def feeds_alone(lines: Written, _: Random) -> Written:
    return [(sign, text.removesuffix("\r")) for sign, text in lines]


def _indented(text: str, change: Callable[[str], str]) -> str:
    bare = text.lstrip(" \t")
    return change(text[: len(text) - len(bare)]) + bare


SLIPS = {
    "exact": Slip("exact", lambda lines, _: lines),
    "dedented": Slip("dedented", dedented),
    "blanks for tabs": Slip("blanks for tabs", blanks_for_tabs),
    "other units": Slip("other units", other_units),
    "without tails": Slip("without tails", without_tails),
    "LF alone": Slip("LF alone", feeds_alone),
}


def old(lines: Written) -> list[str]:
    return [text for sign, text in lines if sign != "+"]


def new(lines: Written) -> list[str]:
    return [text for sign, text in lines if sign != "-"]


_SIGNS = re.compile(r"^(?:<{5,9}|>{5,9}|={5,9}|-{5,9}|\+{5,9}|:(?:start|end)_line:)")


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _signed(lines: Written) -> str:
    return _text([sign + text for sign, text in lines])


def markers(_: Change, groups: list[Written], random: Random) -> str:
    mark = f"_{random.randrange(10**6)}"
    return "\n".join(
        f"<<SEARCH{mark}\n{_text(old(lines))}SEARCH{mark}\n<<REPLACE{mark}\n{_text(new(lines))}REPLACE{mark}"
        for lines in groups
    )


def plain_markers(_: Change, groups: list[Written], __: Random) -> str:
    return "\n".join(f"<<SEARCH\n{_text(old(lines))}SEARCH\n<<REPLACE\n{_text(new(lines))}REPLACE" for lines in groups)


def aider(_: Change, groups: list[Written], random: Random) -> str:
    if random.random() < 0.5:
        groups = [[(sign, _SIGNS.sub(r"\\\g<0>", text)) for sign, text in lines] for lines in groups]
    head, tail = random.choice((("<<<<<<< SEARCH", ">>>>>>> REPLACE"), ("------- SEARCH", "+++++++ REPLACE")))
    return "\n".join(f"{head}\n{_text(old(lines))}=======\n{_text(new(lines))}{tail}" for lines in groups)


def codex(_: Change, groups: list[Written], __: Random) -> str:
    hunks = "".join("@@\n" + _signed(lines) for lines in groups)
    return f"*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch"


def numberless(_: Change, groups: list[Written], random: Random) -> str:
    head = random.choice(("@@", "@@ ... @@", "@@ @@"))
    return "--- a/f\n+++ b/f\n" + "".join(f"{head}\n{_signed(lines)}" for lines in groups)


def hunks_alone(_: Change, groups: list[Written], __: Random) -> str:
    return "".join("@@\n" + _signed(lines) for lines in groups)


def unified(change: Change, groups: list[Written], _: Random) -> str:
    """With the right numbers, and with what tools write where a text has no last line feed."""
    pieces = ["--- a/f\n+++ b/f\n"]
    for group, lines in zip(change.groups, groups, strict=True):
        one, other = len(group.old), len(group.new)
        pieces.append(f"@@ -{group.first + (one > 0)},{one} +{group.start + (other > 0)},{other} @@\n")
        for (_, line), (sign, text) in zip(group.pieces, lines, strict=True):
            pieces.append(f"{sign}{text}\n" + ("\\ No newline at end of file\n" if line.end == "" else ""))
    return "".join(pieces)


def anchors(change: Change, groups: list[Written], _: Random) -> str:
    """Each run of changed lines by the anchors of the text before."""
    names = [line.partition("|")[0] for line in (anchor_lines(change.old) or "").split("\n")]
    blocks = []
    for group, lines in zip(change.groups, groups, strict=True):
        at = group.first
        for first, taken, added in _runs(lines):
            start = at + first
            if taken:
                name = names[start] if taken == 1 else f"{names[start]}..{names[start + taken - 1]}"
                blocks.append(f"<<REPLACE_ {name}\n{_text(added)}REPLACE_")
            else:
                blocks.append(f"<<AFTER_ {names[start - 1] if start else '0'}\n{_text(added)}AFTER_")
    return "\n".join(blocks)


def _runs(lines: Written) -> list[tuple[int, int, list[str]]]:
    """The runs of changes of a group: where each begins, how many lines it takes, and the lines that it adds."""
    found: list[tuple[int, int, list[str]]] = []
    position, stays = 0, True
    for sign, text in lines:
        if sign == " ":
            position, stays = position + 1, True
            continue
        if stays:
            found.append((position, 0, []))
            stays = False
        first, taken, added = found[-1]
        found[-1] = (first, taken + (sign == "-"), [*added, text] if sign == "+" else added)
        position += sign == "-"
    return found


def sed(change: Change, groups: list[Written], _: Random) -> str:
    """Each run of changed lines as a substitution of text; '' where one has no old or no new lines."""
    commands = []
    for group, lines in zip(change.groups, groups, strict=True):
        there = old(lines)
        for first, taken, added in _runs(lines):
            if not taken or not added or (group.old[-1].end == "" and not added[-1].strip()):
                return ""
            commands.append(f"s/{_escaped(there[first : first + taken])}/{_escaped(added)}/")
    return "\n".join(commands)


def _escaped(lines: list[str]) -> str:
    escaped = (re.sub(r"([\\/.*+?^$|()\[\]{}])", r"\\\1", line.replace("\r", "")) for line in lines)
    return "\\n".join(escaped).replace("\t", "\\t")


Writer = Callable[[Change, list[Written], Random], str]
NOTATIONS: dict[str, Writer] = {
    "markers": markers,
    "plain markers": plain_markers,
    "aider": aider,
    "codex": codex,
    "without numbers": numberless,
    "hunks alone": hunks_alone,
    "unified": unified,
    "anchors": anchors,
    "sed": sed,
}
SEARCHING = ("markers", "plain markers", "aider", "sed")

__all__ = ["NOTATIONS", "SEARCHING", "SLIPS", "Line", "Written", "new", "old", "written"]
