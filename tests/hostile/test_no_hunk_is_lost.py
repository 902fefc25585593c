"""A change in any notation gives the intended text, or a failure that says so; no notation becomes the text.

Random texts are changed in random places, the change is written in each notation, and read again.

spec: @patches @edit_syntax
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from campaign import examples
from hypothesis import example, given
from hypothesis import strategies as st

from engine.functions.edits.bodies import edit_apply
from engine.functions.edits.comparison import edit_diff
from engine.functions.edits.patches import patch_apply, patch_parse

PLAIN = ["a", "b", "c", "d", "e", "def f():", "    return 1", "}", ""]
# Not Roo's own `:start_line:1`: at the head of a block it is a line number unless a backslash stands before it.
HOSTILE = [
    "  a", "\ta", "a  ", "- x", "+ y", "@@", "@@ -1 +1 @@", "--- a/f", "+++ b/f",
    "*** End Patch", "*** Update File: f", "=======",
    "```", "EOF", "SEARCH", "REPLACE", "<<SEARCH", "-- ", "2.39.2", "diff --git a/f b/f", "<<<<<<< SEARCH",
    ">>>>>>> REPLACE",
    "\\ No newline at end of file", "s/a/b/", "-------",
]  # fmt: skip


class Group(NamedTuple):
    """Neighbouring changes with the lines around them, with their signs."""

    old: list[str]
    new: list[str]
    signed: list[str]


def groups(before: list[str], after: list[str], context: int) -> list[Group]:
    found = []
    for opcodes in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(context):
        signed: list[str] = []
        for tag, first, last, begin, end in opcodes:
            if tag == "equal":
                signed += [f" {line}" for line in before[first:last]]
            else:
                signed += [f"-{line}" for line in before[first:last]] + [f"+{line}" for line in after[begin:end]]
        old = before[opcodes[0][1] : opcodes[-1][2]]
        found.append(Group(old, after[opcodes[0][3] : opcodes[-1][4]], signed))
    return found


def lines(*texts: str) -> str:
    return "".join(f"{text}\n" for text in texts)


def unified(head: str) -> Callable[[list[Group]], str]:
    return lambda found: "--- a/f\n+++ b/f\n" + "".join(lines(head, *group.signed) for group in found)


def codex(found: list[Group]) -> str:
    hunks = "".join(lines("@@", *group.signed) for group in found)
    return f"*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\n"


def blocks(head: str, tail: str, number: str = "") -> Callable[[list[Group]], str]:
    return lambda found: "".join(
        f"{head}\n{number}{lines(*group.old)}=======\n{lines(*group.new)}{tail}\n" for group in found
    )


def markers(found: list[Group]) -> str:
    return "".join(
        f"<<SEARCH_1\n{lines(*group.old)}SEARCH_1\n<<REPLACE_1\n{lines(*group.new)}REPLACE_1\n" for group in found
    )


NOTATIONS: dict[str, Callable[[list[Group]], str]] = {
    "without numbers": unified("@@ ... @@"),
    "bare": unified("@@"),
    "codex": codex,
    "codex here document": lambda found: f"apply_patch <<'EOF_1'\n{codex(found)}EOF_1\n",
    "codex in a fence": lambda found: f"````diff\n{codex(found)}````\n",
    "unified in a fence": lambda found: f"````diff\n{unified('@@')(found)}````\n",
    "hunks alone": lambda found: "".join(lines("@@", *group.signed) for group in found),
    "git": lambda found: "diff --git a/f b/f\nindex 1234567..89abcde 100644\n" + unified("@@ @@")(found),
    "aider": blocks("<<<<<<< SEARCH", ">>>>>>> REPLACE"),
    "cline": blocks("------- SEARCH", "+++++++ REPLACE"),
    "roo": blocks("<<<<<<< SEARCH", ">>>>>>> REPLACE", ":start_line:1\n-------\n"),
    "markers": markers,
}


SEARCHES = {"aider", "cline", "roo", "markers"}


def outcome(before: str, body: str) -> Any:
    """The text that `body` makes of the file f, or None where it fails and says why."""
    parsed = json.loads(patch_parse(body) or "")
    if parsed["error"]:
        return None
    if parsed["files"]:
        assert [change["path"] for change in parsed["files"]] == ["f"]
        result = json.loads(patch_apply(before, json.dumps(parsed["files"][0])) or "")
    else:
        result = json.loads(edit_apply(before, body) or "")
    if result["state"] == "failed":
        assert len(result["message"]) > 20
        return None
    return result["body"]


def check(notation: str, before: list[str], after: list[str], context: int) -> str | None:
    found = groups(before, after, context)
    if notation in SEARCHES and not all("".join(group.old).strip() for group in found):
        return None  # an empty search adds its lines at the end
    body = NOTATIONS[notation](found)
    result = outcome(lines(*before), body)
    assert result is None or result == lines(*after), body
    return result


@pytest.mark.parametrize("notation", NOTATIONS)
@examples(30)
@given(st.data())
def test_a_change_is_made_as_meant_or_refused(notation: str, data: st.DataObject) -> None:
    line = st.sampled_from([*PLAIN, *PLAIN, *HOSTILE])
    before = data.draw(st.lists(line, min_size=1, max_size=9))
    after = data.draw(st.lists(line, min_size=1, max_size=9)) if data.draw(st.booleans()) else list(before)
    for place in data.draw(st.lists(st.integers(0, max(0, len(after) - 1)), max_size=3)):
        after[place : place + data.draw(st.integers(0, 1))] = [data.draw(line)]
    if before != after:
        check(notation, before, after, data.draw(st.integers(1, 3)))


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_plain_change_of_two_places_is_made(notation: str) -> None:
    before = [f"line {number}" for number in range(20)]
    after = [*before[:3], "new", *before[4:15], *before[16:]]
    assert check(notation, before, after, 3) == lines(*after)


@examples(60)
@given(st.text("ab\r\n ", max_size=20), st.text("ab\r\n ", max_size=20))
@example("0", "00\r\n\n")
@example("0\r\n\n", "0")
def test_a_diff_with_numbers_is_always_made(before: str, after: str) -> None:
    if before != after:
        assert outcome(before, edit_diff("f", before, after) or "") == after
