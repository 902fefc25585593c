"""Edits by line anchors.

1. They are the plain edit of those lines. 2. A stale or forged anchor never edits, and the present lines are told. 3. All
edits of a body are made, or none. 4. What cannot be read is told.

spec: @line_anchors
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.functions.edits.anchors import anchor_lines
from engine.functions.edits.bodies import edit_apply

TEXT = "one\ntwo\nthree\nfour\n"
LINES = st.lists(
    st.text(st.characters(exclude_characters="\n\r", exclude_categories=("Cs",)), max_size=8), min_size=1, max_size=8
)


def anchors(text: str) -> list[str]:
    return [line.partition("|")[0] for line in (anchor_lines(text) or "").split("\n") if line]


def edited(text: str | None, body: str) -> Any:
    return json.loads(edit_apply(text, body) or "")


def test_each_line_is_shown_behind_its_anchor() -> None:
    one, two, *_ = anchors(TEXT)
    assert (anchor_lines(TEXT) or "").startswith(f"{one}|one\n{two}|two\n")
    assert (anchor_lines(TEXT) or "").endswith("|four\n")
    assert anchor_lines("") == ""
    assert anchor_lines("a\r\nb") == "\r\n".join(f"{a}|{t}" for a, t in zip(anchors("a\nb"), "ab", strict=True))


def test_blocks_replace_insert_and_delete_by_the_lines_as_they_were() -> None:
    one, two, three, four = anchors(TEXT)
    body = (
        f"<<AFTER 0\nzero\nAFTER\n\n<<DELETE {one} DELETE\n<<REPLACE1 {two}..{three}\nREPLACE\nREPLACE1\n"
        f"<<AFTER {four}\nfive\nAFTER"
    )
    found = edited(TEXT, body)
    assert (found["body"], found["whole"]) == ("zero\nREPLACE\nfour\nfive\n", False)
    assert edited(TEXT.replace("\n", "\r\n"), f"<<REPLACE {two}\nx\nREPLACE")["body"] == "one\r\nx\r\nthree\r\nfour\r\n"
    assert edited("a", f"<<AFTER {anchors('a')[0]}\nb\nAFTER")["body"] == "a\nb"
    assert edited(TEXT, f"<<REPLACE {one}-{four}\nREPLACE")["body"] == ""


@given(LINES, st.booleans(), LINES, st.data())
def test_an_edit_by_anchors_is_the_plain_edit_of_the_lines(
    lines: list[str], feed: bool, new: list[str], data: st.DataObject
) -> None:
    text = "\n".join(lines) + "\n" if feed or not lines[-1] else "\n".join(lines)
    new = [line for line in new if line.strip() != "REPLACE"]
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    names = (anchor_lines(text) or "").split("\n")
    body = (
        f"<<REPLACE {names[first].partition('|')[0]}..{names[last].partition('|')[0]}\n"
        + "".join(f"{x}\n" for x in new)
        + "REPLACE"
    )
    found = edited(text, body)
    if found["state"] == "failed":
        assert "leave anchors out" in found["message"]
        return
    after = [*lines[:first], *new, *lines[last + 1 :]]
    assert found["body"] == ("\n".join(after) + ("\n" if text.endswith("\n") else "") if after else "")


@given(LINES, st.integers(1, 12), st.text("0123456789abcdef", min_size=3, max_size=3))
def test_a_forged_anchor_never_edits(lines: list[str], number: int, digits: str) -> None:
    text = "\n".join([*lines, "end"])
    found = edited(text, f"<<DELETE {number}:{digits} DELETE")
    held = f"{number}:{digits}" in anchors("\n".join(line or " " for line in [*lines, "end"])) or (
        (anchor_lines(text) or "").split("\n")[number - 1 : number] or [""]
    )[0].startswith(f"{number}:{digits}|")
    if not held:
        assert (found["state"], found["outcome"]) == ("failed", "conflict")
        assert found["message"].endswith("Nothing was changed.")


def test_a_stale_anchor_tells_the_nearest_lines_and_where_its_text_is() -> None:
    two = anchors(TEXT)[1]
    found = edited("new\n" + TEXT, f"<<AFTER 0\nx\nAFTER\n<<REPLACE {two}\ny\nREPLACE")
    one_now = anchors("new\n" + TEXT)[1]
    assert found["outcome"] == "conflict"
    assert f"\n{one_now}|one\n" in found["message"]
    assert f"{two[2:]} stands at line 3 now." in found["message"]


@pytest.mark.parametrize(
    ("body", "outcome", "told"),
    [
        ("<<REPLACE {1}\nx", "validation", "has no closing REPLACE"),
        ("<<REPLACE {1}\nx\nREPLACE\nand so on", "validation", "outside of a block"),
        ("<<REPLACE {2}..{1}\nx\nREPLACE", "validation", "no lines from first to last"),
        ("<<REPLACE 0\nx\nREPLACE", "validation", "no lines from first to last"),
        ("<<AFTER {1}..{2}\nx\nAFTER", "validation", "names one line"),
        ("<<DELETE {1}\nx\nDELETE", "validation", "a deletion has no text"),
        ("<<REPLACE {1}\n{1}|one!\nREPLACE", "validation", "leave anchors out"),
        ("<<REPLACE {1}..{2}\nx\nREPLACE\n<<DELETE {2} DELETE", "conflict", "changes that line too"),
        ("<<REPLACE 99999999:abc\nx\nREPLACE", "conflict", "the text has 4 lines"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(body: str, outcome: str, told: str) -> None:
    for number, anchor in enumerate(anchors(TEXT), 1):
        body = body.replace(f"{{{number}}}", anchor)
    found = edited(TEXT, body)
    assert (found["state"], found["outcome"]) == ("failed", outcome)
    assert told in found["message"]


@pytest.mark.parametrize(
    "body", ["<<REPLACE\nx\nREPLACE", "<<REPLACE 12:zzz\nx\nREPLACE", "text <<DELETE 1:abc DELETE"]
)
def test_other_bodies_are_what_they_were(body: str) -> None:
    assert "anchor" not in json.dumps(edited(TEXT, body))
