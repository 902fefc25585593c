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


def _ended(text: str) -> list[str]:
    """The lines of a text with their line feeds."""
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [text.rpartition("\n")[2]]


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
    after = [*(f"{line}\n" for line in lines[:first]), *(f"{line}\n" for line in new), *_ended(text)[last + 1 :]]
    if new and new[-1] and last + 1 == len(lines) and not text.endswith("\n"):
        after[-1] = new[-1]
    assert found["body"] == "".join(after)


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


def test_a_marker_without_an_anchor_is_what_it_was() -> None:
    assert edited(TEXT, "<<REPLACE\nx\nREPLACE")["body"] == "x"
    assert edited(TEXT, "<<SEARCH two SEARCH<<REPLACE 2 REPLACE")["body"] == "one\n2\nthree\nfour\n"
    assert edited("12:30\n", "<<DELETE\n12:30\nDELETE")["body"] == ""


@pytest.mark.parametrize("word", ["REPLACE", "AFTER", "DELETE", "REPLACE1"])
@pytest.mark.parametrize(
    "words",
    [
        "2:FF9",
        "2:ff",
        "2",
        "2..3",
        "#2:ff9",
        "2:ff9..3",
        "lines 2-3",
        "line 2",
        "[2:ff9]",
        "2:ff90",
        "2:",
        "2 to 3",
        "`2`",
    ],
)
def test_what_is_nearly_an_anchor_names_the_form_and_changes_nothing(word: str, words: str) -> None:
    """The whole file became the text of the block, with status 200."""
    for body in (
        f"<<{word} {words}\nport = 1\n{word}",
        f"<<{word} {words} {word}",
        f"Here:\n<<{word} {words}\nx\n{word}",
    ):
        found = edited(TEXT, body)
        assert (found["state"], found["outcome"]) == ("failed", "validation")
        assert "NUMBER:HASH" in found["message"] or "<<SEARCH" in found["message"]
        assert "<<NEW" in found["message"] or "stands outside" in found["message"]


def test_an_anchor_is_read_as_it_is_shown() -> None:
    one, two, three, _ = anchors(TEXT)
    after = "one\n2\nthree\nfour\n"
    for shown in (f"{two}|", f"{two}|two", f"{two}| two", f"{two}|..{two}|", f"{two}| .. {two}"):
        assert edited(TEXT, f"<<REPLACE {shown}\n2\nREPLACE")["body"] == after, shown
    assert edited(TEXT, f"<<DELETE {one}|one DELETE\n<<DELETE {three}| DELETE")["body"] == "two\nfour\n"
    for other in (f"{two}|2", f"{two}|two three"):
        assert edited(TEXT, f"<<REPLACE {other}\n2\nREPLACE")["outcome"] == "validation"


@pytest.mark.parametrize(
    "shape", ["{}", "<<NEW\n{}\nNEW", "<<APPEND\n{}\nAPPEND", "<<SEARCH\none\nSEARCH\n<<REPLACE\n{}\nREPLACE"]
)
def test_anchors_that_are_copied_into_a_text_are_refused(shape: str) -> None:
    found = edited(TEXT, shape.format((anchor_lines(TEXT) or "").strip()))
    assert (found["state"], found["outcome"]) == ("failed", "validation")
    assert "leave anchors out" in found["message"]


def test_new_lines_end_as_those_that_they_replace() -> None:
    text = "a\r\nb\nc\r\nd"
    one, two, three, four = anchors(text)
    assert edited(text, f"<<REPLACE {one}\nx\ny\nREPLACE")["body"] == "x\r\ny\r\nb\nc\r\nd"
    assert edited(text, f"<<REPLACE {two}\nx\ny\nREPLACE")["body"] == "a\r\nx\ny\nc\r\nd"
    assert edited(text, f"<<AFTER {four}\nx\nAFTER")["outcome"] == "conflict"
    assert edited(text, f"<<REPLACE {one}..{three}\nx\nREPLACE")["outcome"] == "conflict"
