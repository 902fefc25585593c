"""What edits promise: 1. markers, 2. parse errors, 3. matching, 4. what stays, 5. sed,
6. other notations, 7. diffs, 8. speed.

spec: @edit_syntax @edit_places @edit_indentation
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from campaign import examples
from hypothesis import given
from hypothesis import strategies as st
from timing import check_cost

from engine.functions.edits.bodies import edit_apply, read_edits
from engine.functions.edits.comparison import edit_diff

MARKED = st.lists(
    st.sampled_from(
        [
            *(
                "<<SEARCH",
                "SEARCH",
                "<<REPLACE",
                "REPLACE",
                "<<NEW",
                "NEW",
                "<<DELETE",
                "DELETE",
                "<<EOF",
                "EOF",
            ),
            *("<<APPEND1", "APPEND1", "<<:::a", "\n", " ", "text", "s/a/b/", ">", "\r\n", "\ufeff", "é"),
        ]
    ),
    max_size=20,
).map("".join)
LINES = st.lists(st.text(alphabet="ab \t", max_size=4), max_size=12)


def parsed(body: str) -> dict[str, Any]:
    found = read_edits(body, None)
    operations = [
        {"op": each.op, "old": each.old, "new": each.text if each.whole else None if each.op == "delete" else each.new}
        for each in found.operations
    ]
    return {"plain": found.plain, "operations": operations, "warnings": found.warnings, "error": found.error}


def operations(body: str) -> list[tuple[Any, ...]]:
    found = parsed(body)
    assert found["error"] is None
    return [tuple(value for value in each.values() if value is not None) for each in found["operations"]]


def applied(current: str | None, body: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(edit_apply(current, body) or "")
    return result


def edited(current: str | None, body: str) -> str | None:
    result = applied(current, body)
    assert result["state"] == "resolved", result
    assert result["changed"] == (result["body"] != current)
    text: str | None = result["body"]
    return text


def conflict(current: str | None, body: str) -> str:
    result = applied(current, body)
    assert (result["state"], result["outcome"]) == ("failed", "conflict")
    return str(result["message"])


def pair(search: str, replace: str) -> str:
    return f"<<SEARCH\n{search}\nSEARCH\n<<REPLACE\n{replace}\nREPLACE"


def test_null_stays_null() -> None:
    assert edit_apply("a", None) is edit_diff(None, "a", "b") is None


# 1. markers


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<<NEW\ntext\nNEW", [("new", "text")]),
        ("<<NEW\n\ntext\n\nNEW", [("new", "\ntext\n")]),
        ("<<APPEND extra APPEND", [("append", ["extra"])]),
        ("<<PREPEND\na\nPREPEND\n<<APPEND\nb\nAPPEND", [("prepend", ["a"]), ("append", ["b"])]),
        ("<<DELETE\nold\nDELETE", [("delete", ["old"])]),
        ("<<REPLACE\nall\nREPLACE", [("replace", "all")]),
        ("<<EOF\nall\nEOF", [("replace", "all")]),
        ("<<NEWS\nall\nNEWS", [("new", "all")]),
        (pair("a", "b"), [("edit", ["a"], ["b"])]),
        (pair("a\n", "\n"), [("edit", ["a", ""], ["", ""])]),
        ("<<SEARCH\nSEARCH\n<<REPLACE\n\nREPLACE", [("edit", [], [""])]),
        ("<<SEARCH a SEARCH<<REPLACE b REPLACE", [("edit", ["a"], ["b"])]),
        ("<<SEARCH\na\nSEARCH and\n<<REPLACE2\nb\nREPLACE2", [("edit", ["a"], ["b"])]),
        (pair("a", "b") + "\n" + pair("c", "d"), [("edit", ["a"], ["b"]), ("edit", ["c"], ["d"])]),
        ("<<REPLACE\nREPLACE", [("replace", "")]),
        ("<<SEARCH\n\told\n  SEARCH\n<<REPLACE\n\tnew\n  REPLACE", [("edit", ["\told"], ["\tnew"])]),
        (
            "<<DOC1\nThe opener <<SEARCH and its SEARCH.\nDOC1",
            [("replace", "The opener <<SEARCH and its SEARCH.")],
        ),
        ("<<NEW\nThis is a NEW file\nNEW", [("new", "This is a NEW file")]),
        ("<<REPLACE\none REPLACE\n<<APPEND\ntwo\nAPPEND", [("replace", "one "), ("append", ["two"])]),
        ("<<NEW\r\na\r\nb\r\nNEW\r\n", [("new", "a\r\nb")]),
        ("<<APPEND\r\na\r\nb\r\nAPPEND\r\n", [("append", ["a", "b"])]),
        ("<<APPEND\na\r\nb\nAPPEND\n", [("append", ["a\r", "b"])]),
        ("Here it is: <<NEW text NEW", [("new", " text ")]),
        ("<body><<NEW\ntext\nNEW</body>", [("new", "text")]),
    ],
)
def test_markers_name_their_operation(body: str, expected: list[tuple[Any, ...]]) -> None:
    assert operations(body) == expected
    assert parsed(body)["plain"] is False


@pytest.mark.parametrize(
    "body",
    [
        "",
        "plain text",
        "<<:::known://a\ntext\n:::known://a",
        "vec<<SEARCH",
        "#!/bin/sh\ncat <<EOF\nhello\nEOF\n",
        "cout <<NEWLINE <<endl;",
        "cout\n  << NEW\n",
        "<<Name>> is a placeholder",
        "x = 1 <<SHIFT",
    ],
)
def test_text_without_markers_is_plain(body: str) -> None:
    assert parsed(body) == {"plain": True, "operations": [], "warnings": [], "error": None}
    assert edited("old", body) == body


# 2. parse errors


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<<SEARCH\na\nSEARCH", "nothing follows"),
        ("<<SEARCH\na\nSEARCH\n<<DELETE\nb\nDELETE", "<<DELETE follows"),
        ("<<SEARCH\na\n", "no closing SEARCH"),
        ("<<NEW\na\n<<APPEND\nb\nAPPEND", "no closing NEW before <<APPEND"),
        ("<<NEW\ntext\nmore", "<<NEW has no closing NEW. Nothing was changed"),
        ("<<EOF\ntext", "no closing EOF"),
        ("<<DELETE\na", "no closing DELETE"),
        (pair("a", "b").removesuffix("\nREPLACE"), "no closing REPLACE"),
        (pair("a", "b") + "\n<<APPEND\nc", "no closing APPEND"),
        ("<<REPLACE one\ntwo\nREPLACE", "Words stand behind <<REPLACE in its line: 'one'"),
        ("<<REPLACE all REPLACE", "Words stand behind <<REPLACE in its line"),
        ("<<EOF > file\ntext\nEOF", "Words stand behind <<EOF"),
        ("<<NEW one\ntwo\nNEW", "Words stand behind <<NEW"),
        ("<<SEARCH a\nb\nSEARCH\n<<REPLACE\nc\nREPLACE", "Text stands behind <<SEARCH"),
        ("<<SEARCH\nSEARCH\nSEARCH\n<<REPLACE\na\nREPLACE", "SEARCH stands alone once more"),
        ("<<NEW\na\nNEW\nb\nNEW", "NEW stands alone once more"),
    ],
)
def test_a_parse_error_says_what_to_write(body: str, complaint: str) -> None:
    error = parsed(body)["error"]
    assert complaint in error
    assert "\n<<" in error
    for current in ("a", None):
        failed = applied(current, body)
        assert (failed["state"], failed["outcome"], failed["message"]) == ("failed", "validation", error)


# 3. matching


def test_an_exact_search_changes_its_one_place() -> None:
    assert edited("one\ntwo\nthree\n", pair("two", "2\n2b")) == "one\n2\n2b\nthree\n"


def test_edits_apply_to_the_running_text() -> None:
    assert edited("a\n", pair("a", "b") + pair("b", "c") + "<<APPEND\nend\nAPPEND") == "c\nend\n"


def test_one_miss_undoes_all() -> None:
    assert "edit 2 of 2" in conflict("a\n", pair("a", "b") + pair("zzz", "c"))


def test_ambiguous_search_is_a_conflict_with_line_numbers() -> None:
    message = conflict("x\na = 1\ny\nz\na = 1\n", pair("a = 1", "a = 2"))
    assert "2 places, in line 2, 5" in message
    assert "1: x\n2: a = 1\n3: y" in message


def test_a_letter_that_is_everywhere_is_told_quickly() -> None:
    check_cost(1, lambda: conflict("a" * 1_000_000, pair("a", "b")))
    assert "more than 50 places" in conflict("a" * 1_000_000, pair("a", "b"))


def test_a_miss_shows_the_nearest_lines() -> None:
    text = "def alpha(x):\n    return x + 1\n\ndef beta(y):\n    return y\n"
    message = conflict(text, pair("def alpha(z):", "def gamma():"))
    assert "def alpha(z):" in message
    assert "1: def alpha(x):" in message


def test_a_miss_of_scattered_lines_says_they_are_apart() -> None:
    assert "not one directly after another" in conflict("a1\nb1\nc1\n", pair("a1\nc1", "x"))


def test_white_space_is_forgiven_where_exact_finds_nothing() -> None:
    assert edited("if x:\n    a = 1\n    b = 2\n", pair("a = 1  \nb = 2", "c = 3")) == "if x:\n    c = 3\n"
    assert "blank lines" in conflict("if x:\n    a = 1\n\n    b = 2\n", pair("a = 1\nb = 2", "c = 3"))


def test_ambiguity_counts_without_white_space_too() -> None:
    assert "2 places" in conflict("  a\n  b\n   a\n   b\n", pair("a\nb", "c"))


def test_the_replacement_takes_the_real_indentation() -> None:
    result = applied("class A:\n\tdef f():\n\t\tx\n", pair("def f():\n    x", "def f():\n    y"))
    assert result["body"] == "class A:\n\tdef f():\n\t\ty\n"
    assert "indentation" in result["warnings"][0]


def test_one_line_written_without_indentation_hands_its_own_on() -> None:
    text = "def f():\n    go()\n"
    assert edited(text, pair("go()", "if x:\n    go()")) == "def f():\n    if x:\n        go()\n"
    assert edited("  a b\n", pair("a", "1\n2")) == "  1\n2 b\n"
    # the second line may have its indentation, or may have left it out as the first did
    assert "the white space of 'go()' is not certain" in conflict(text, pair("go()", "stop()\n    go()"))


def test_a_search_in_one_line_may_mean_a_word() -> None:
    assert edited("call(old, x)\n", "<<SEARCH old SEARCH<<REPLACE new REPLACE") == "call(new, x)\n"


def test_a_part_of_a_word_is_not_what_was_searched() -> None:
    assert "inside of a longer word" in conflict("x = 12\n", pair("x = 1", "x = 2"))
    assert "inside of a longer word" in conflict("max = 1\n", "<<SEARCH x = 1 SEARCH<<REPLACE x = 2 REPLACE")
    assert edited("f(x = 1)\n", pair("x = 1", "x = 2")) == "f(x = 2)\n"


EMPTY = "<<SEARCH\nSEARCH\n<<REPLACE\nb\nREPLACE"


@pytest.mark.parametrize(
    ("current", "expected"),
    [("a", "a\nb"), ("a\n", "a\nb\n"), ("", "b"), ("a\r\n", "a\r\nb\r\n"), ("x\r\na", "x\r\na\r\nb"), (None, "b")],
)
def test_an_empty_search_appends_lines_as_an_append_does(current: str | None, expected: str) -> None:
    assert edited(current, EMPTY) == expected
    assert edited(current, "<<APPEND\nb\nAPPEND") == expected
    assert edited(current, "<<<<<<< SEARCH\n=======\nb\n>>>>>>> REPLACE") == expected


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        ("import sys", "import os\nimport sys"),
        ("b\n", "import os\nb\n"),
        ("b\r\n", "import os\r\nb\r\n"),
        ("\ufeffb", "\ufeffimport os\nb"),
        ("", "import os"),
    ],
)
def test_lines_at_the_beginning_are_whole(current: str, expected: str) -> None:
    assert (
        edited(current, "<<PREPEND\nimport os\nPREPEND") == edited(current, "<<PREPEND import os PREPEND") == expected
    )


def test_a_search_of_blank_lines_is_one() -> None:
    """It was taken for an empty one, and the text went to the end of the file."""
    text = "one\n\n\ntwo\n    \nthree\n"
    assert edited(text, pair("\n", "\nmiddle\n")) == "one\n\nmiddle\n\ntwo\n    \nthree\n"
    assert edited(text, pair("    ", "middle")) == "one\n\n\ntwo\nmiddle\nthree\n"
    assert "2 places, in line 2, 3" in conflict(text, pair("", "middle"))
    assert "no such blank lines" in conflict("a\nb\n", pair("", "middle"))
    assert edited("a\n\nb\n", block_of("", "x")) == "a\nx\nb\n"


def test_a_replacement_of_one_empty_line_is_that_line() -> None:
    assert edited("a\nb\nc\n", pair("b", "")) == "a\n\nc\n"
    assert edited("a\nb\nc\n", "<<SEARCH\nb\nSEARCH\n<<REPLACE\nREPLACE") == "a\nc\n"
    assert edited("a\nb\nc\n", pair("b", "\n")) == "a\n\n\nc\n"


def test_deleted_lines_leave_no_empty_line() -> None:
    assert edited("a\nb\nc\n", "<<DELETE\nb\nDELETE") == "a\nc\n"
    assert edited("a\r\nb\r\nc\r\n", pair("b", "")) == "a\r\n\r\nc\r\n"
    assert edited("a\nb", "<<DELETE\nb\nDELETE") == "a\n"
    assert edited("a b c\n", "<<DELETE\nb \nDELETE") == "a c\n"
    assert edited("one two", "<<DELETE two DELETE") == "one "
    assert edited("a\n    b\n    c\nd\n", "<<DELETE\nb\n    c\nDELETE") == "a\nd\n"
    assert edited("\ufeffb\nc\n", "<<DELETE\nb\nDELETE") == "\ufeffc\n"


@pytest.mark.parametrize("body", ["<<SEARCH\nb\n\nSEARCH\n<<REPLACE\nREPLACE", "<<DELETE\nb\n\nDELETE"])
@pytest.mark.parametrize(
    ("current", "expected"),
    [
        ("a\nb\n\nc\n", "a\nc\n"),
        ("a\r\nb\r\n\r\nc\r\n", "a\r\nc\r\n"),
        ("a\nb\n  \nc\n", "a\nc\n"),
        ("a\nb\n\n\nc\n", "a\n\nc\n"),
        ("a\n\tb\n\n\tc\n", "a\n\tc\n"),
        ("a\nb  \n\nc\n", "a\nc\n"),
        ("a\nb\nc\n", "a\nc\n"),
    ],
)
def test_a_blank_line_at_the_end_of_deleted_lines_goes_with_them(body: str, current: str, expected: str) -> None:
    assert edited(current, body) == expected


CLASS = "class A:\n    def f(self):\n        return 1\n    x = 2\n"


@pytest.mark.parametrize("shape", [lambda one, other: pair(one, other), lambda one, other: block_of(one, other)])
def test_a_shallower_line_keeps_its_depth(shape: Any) -> None:
    """It fell into the function before it."""
    body = shape("    return 1\nx = 2", "    return 1\nx = 3\n    y = 4")
    assert edited(CLASS, body) == CLASS.replace("x = 2\n", "x = 3\n        y = 4\n")


@pytest.mark.parametrize(
    ("text", "search", "replace", "expected"),
    [
        (
            "    a = 1\n\n    b = 2\n    c = 3\n",
            "\nb = 2\nc = 3",
            "\nb = 2\nc = 4",
            "    a = 1\n\n    b = 2\n    c = 4\n",
        ),
        (
            "\tif a:\n\t\tb\n",
            "    if a:\n        b",
            "    if a:\n        b\n            c",
            "\tif a:\n\t\tb\n\t\t\tc\n",
        ),
        (
            "  a:\n    b: 1\n",
            "    a:\n        b: 1",
            "    a:\n        b: 2\n            c: 3",
            "  a:\n    b: 2\n      c: 3\n",
        ),
        ("    a:\n        b\n", "\ta:\n\t\tb", "\ta:\n\t\tc\nd", "    a:\n        c\nd\n"),
        ("\n    x\n", "\nx\n", "\ny\n", "\n    y\n"),
    ],
)
def test_depths_are_mapped_by_the_lines_that_were_found(text: str, search: str, replace: str, expected: str) -> None:
    assert edited(text, pair(search, replace)) == expected


@pytest.mark.parametrize(
    ("text", "search", "replace", "told"),
    [
        # a line that stays and has other white space at its end: shall that go?
        ("one  \ntwo\n\nthree\n", "one\ntwo\n", "one\n2\n", "ends in other white space"),
        ("a\n    \nb\n", "a\n\nb", "A\n\nb", "ends in other white space"),
        # depths of which no rule tells
        ("    a\n        b\n", "  a\n  b", "  a\n c", "is not certain"),
        ("        x\n", "    x", "    x\ny", "is not certain"),
        ("\tx\n", "x", "if x:\n    x", "is not certain"),
        # blanks in a text of tabs: the searched line has none
        ("func f() {\n\tx()\n}\n", "func f() {", "func f() {\n    y()", "indented by blanks, the text by tabs"),
        ("def f():\n    x\n", "def f():", "def f():\n\ty", "indented by tabs, the text by blanks"),
        # one of two equal lines goes, and one of them is the last, without a line feed
        ("a\nx\nx", "a\nx\nx", "a\nx", "which of the repeated lines stays"),
    ],
)
def test_what_is_not_certain_is_refused(text: str, search: str, replace: str, told: str) -> None:
    assert told in conflict(text, pair(search, replace))


def test_what_another_edit_wrote_is_not_taken_for_what_was_there() -> None:
    body = pair("a", "a\nx = 1") + "\n" + pair("x = 1", "x = 2")
    assert "another edit of this set wrote it" in conflict("a\nb\n    x = 1\n", body)


def test_lines_of_a_diff_without_a_head_never_become_the_text() -> None:
    failed = applied("a\nb\n", "-a\n+c\n b")
    assert (failed["outcome"], "Write '@@' above them" in failed["message"]) == ("validation", True)
    assert edited("a\n", "- one\n+ two\n") == "- one\n+ two\n"


# 4. what stays untouched, and what is not there


@pytest.mark.parametrize(
    "body",
    [
        pair("old", "new"),
        pair("", "new"),
        "<<DELETE\na\nDELETE",
        "<<DELETE\na\nDELETE<<NEW\nb\nNEW",
        "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE",
        "<<SEARCH old SEARCH<<REPLACE new REPLACE",
    ],
)
def test_a_search_where_nothing_is_makes_nothing(body: str) -> None:
    """A slip in a path made a file of the replacement."""
    failed = applied(None, body)
    assert (failed["state"], failed["outcome"]) == ("failed", "not_found")
    assert "<<NEW" in failed["message"]


def test_markers_may_begin_a_text() -> None:
    assert edited(None, "<<NEW\na\nNEW" + pair("a", "b")) == "b"
    assert edited(None, "<<APPEND\na\nAPPEND") == "a"


@pytest.mark.parametrize("special", ["$&", "$$", "\\1", "\\g<0>", "%s", "{}"])
def test_replacements_are_plain_text(special: str) -> None:
    assert edited("a b c\n", pair("b", special)) == f"a {special} c\n"


def test_windows_line_endings_are_kept() -> None:
    assert edited("a\r\nb\r\nc\r\n", pair("a\nb", "x\ny")) == "x\r\ny\r\nc\r\n"
    assert edited("a\r\n  b\r\n", pair("b ", "x\ny")) == "a\r\n  x\r\n  y\r\n"
    assert edited("a\r\n", "<<APPEND\nb\nc\nAPPEND") == "a\r\nb\r\nc\r\n"
    assert edited("a\r\n\r\nz\r\n", pair("\nz", "\nnew\nz")) == "a\r\n\r\nnew\r\nz\r\n"
    assert edited("a\r\nb", pair("b", "b\nc")) == "a\r\nb\r\nc"
    assert edited("a\r\nb\r\n", "s/b/c\\nd/") == "a\r\nc\r\nd\r\n"
    assert edited("a\r\nb\r\n", "s/a\\nb/c/") == "c\r\n"
    assert edited("a x\r\nb\r\n", "s/x.*/y/") == "a y\r\nb\r\n"


def test_a_place_in_a_text_with_both_line_endings_is_found_as_written() -> None:
    assert edited("a\r\nb\nc\nd\r\n", pair("b\nc", "x\ny")) == "a\r\nx\ny\nd\r\n"
    assert edited("0\n<1>\r\n\n</1>", "<<DELETE_1\n<1>\r\n\n</1>\nDELETE_1") == "0\n"
    assert "CR LF and in LF" in conflict("a\r\nb\nc\n", pair("a\nb", "x\ny"))


def test_a_carriage_return_that_is_the_text_is_kept() -> None:
    assert edited(None, "<<NEW\n\r\nNEW") == "\r"
    assert edited(None, "<<NEW\na\r\nNEW") == "a\r"
    assert edited(None, "<<NEW\r\na\r\nNEW") == "a"


def test_a_missing_final_newline_and_a_byte_order_mark_are_kept() -> None:
    assert edited("\ufeffa\n\tb", pair("b", "ü")) == "\ufeffa\n\tü"
    assert edited("\ufeff  a\nb", pair(" a\nb", "c")).startswith("\ufeff")  # type: ignore[union-attr]
    assert edited("\ufeffa", "<<PREPEND\nx\nPREPEND") == "\ufeffx\na"


@given(LINES, LINES, LINES, st.sampled_from(["\n", "\r\n"]))
def test_an_edit_and_its_inverse_give_the_original(
    before: list[str], after: list[str], filler: list[str], ending: str
) -> None:
    old, new = "\n".join(["<1>", *filler, "</1>"]), "\n".join(["<2>", *reversed(filler), "</2>"])
    text = ending.join([*before, *old.split("\n"), *after])
    changed = edited(text, pair(old, new))
    assert changed == ending.join([*before, *new.split("\n"), *after])
    assert edited(changed, pair(new, old)) == text


LINE = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\ufeff"), min_size=1, max_size=8
).filter(lambda line: line.strip(" \t\r\n\f\v\xa0\ufeff") != "")


@given(
    st.lists(st.one_of(LINE, st.sampled_from(["", "\t", "  "])), max_size=8),
    st.lists(LINE, min_size=1, max_size=4),
    st.lists(LINE, min_size=1, max_size=4),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
    st.booleans(),
    st.data(),
)
def test_all_but_the_edited_lines_stays_byte_for_byte(
    around: list[str], old: list[str], new: list[str], ending: str, mark: str, ended: bool, data: st.DataObject
) -> None:
    """Any Unicode, tabs, both line endings, a byte order mark and a missing last line feed; and there and back again."""
    at = data.draw(st.integers(0, len(around)))
    first, last = ["<old>", *old, "</old>"], ["<new>", *new, "</new>"]
    before = mark + ending.join([*around[:at], *first, *around[at:]]) + (ending if ended else "")
    after = mark + ending.join([*around[:at], *last, *around[at:]]) + (ending if ended else "")
    there = block("SEARCH", first) + "\n" + block("REPLACE", last)
    back = block("SEARCH", last) + "\n" + block("REPLACE", first)
    assert edited(before, there) == after
    assert edited(after, back) == before


def block(word: str, lines: list[str]) -> str:
    """A block whose word stands in none of its lines."""
    ident = f"{word}_{max((len(line) for line in lines), default=0)}_{len(lines)}_end"
    return f"<<{ident}\n" + "\n".join(lines) + f"\n{ident}"


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=60),
    st.lists(LINE.map(lambda line: line.replace("<", "")), max_size=3),
)
def test_what_is_added_at_an_end_is_taken_off_again(text: str, added: list[str]) -> None:
    lines = ["<1>", *added, "</1>"]
    bare = bool(text.removeprefix("\ufeff")) and not text.endswith("\n")
    ended = text + ("\n" if bare else "")
    last = "" if bare or not text.removeprefix("\ufeff") else "\n"
    grown = ended + "\n".join(lines) + last
    assert edited(text, block("APPEND", lines)) == grown
    if "<1>" not in text:
        assert edited(grown, block("DELETE", lines)) == ended


@examples(200)
@given(st.one_of(st.none(), st.text(max_size=80), MARKED), st.one_of(st.text(max_size=80), MARKED))
def test_no_text_ever_raises(current: str | None, body: str) -> None:
    assert parsed(body).keys() == {"plain", "operations", "warnings", "error"}
    result = applied(current, body)
    assert result["state"] in ("resolved", "failed")
    if result["state"] == "failed":
        assert result["message"]


@pytest.mark.parametrize(
    "body",
    [
        "<<NEW1 " * 100_000,
        "\n<<A" * 200_000,
        "<<NEW\nNEW a\n" * 50_000,
        "".join(f"<<NEW{n} " for n in range(50_000)),
    ],
)
def test_hostile_markers_cost_linear_time(body: str) -> None:
    check_cost(10, lambda: read_edits(body, None))


# 5. sed


@pytest.mark.parametrize(
    ("current", "body", "expected"),
    [
        ("a b c\n", "s/b/x/", "a x c\n"),
        ("a b b\n", "s/b/x/g", "a x x\n"),
        ("/usr/bin\n", "s|/usr/bin|/opt|", "/opt\n"),
        ("/usr/bin\n", "s/\\/usr\\/bin/\\/opt/", "/opt\n"),
        ("a b\n", "s/a/1/; s/b/2/", "1 2\n"),
        ("a b\n", "\ns/a/1/\ns#b#2#\n", "1 2\n"),
        ("v1.2\n", "s/v1\\.2/v1.3/", "v1.3\n"),
        ("x = 10\n", "s/x = (\\d+)/y = \\1/", "y = 10\n"),
        ("Hello\n", "s/hello/bye/i", "bye\n"),
        ("a\n", "s/a/b \\& c\\nd/", "b & c\nd\n"),
        ("a\n", "s/a/b && c/", "b && c\n"),
        ("a\n", "s/x/y/ is how sed writes it", "s/x/y/ is how sed writes it"),
    ],
)
def test_a_body_of_substitutions_edits_an_entry(current: str, body: str, expected: str) -> None:
    assert edited(current, body) == expected


@pytest.mark.parametrize("body", ["s/a/b/2", "2s/a/b/", "s//x/", "$s/a/b/\ns/c/d/w"])
def test_commands_of_sed_that_are_not_read_never_become_the_text(body: str) -> None:
    assert "looks like commands of sed" in applied("a\nb\n", body)["message"]
    assert applied("a\nb\n", body)["outcome"] == "validation"


def test_a_substitution_has_one_reading() -> None:
    assert "the text holds both" in conflict("a\\.b\na.b\n", "s/a\\.b/x/")
    assert "2 places" in conflict("}\n}\n}\n", "s/}\\n}/x/")


def test_a_substitution_must_mean_one_place() -> None:
    assert "add the flag g" in conflict("a\na\n", "s/a/b/")
    assert "not found" in conflict("a\n", "s/zz/b/")


# 6. other notations


def block_of(search: str, replace: str, head: str = "<<<<<<< SEARCH", tail: str = ">>>>>>> REPLACE") -> str:
    return f"{head}\n{search}\n=======\n{replace}\n{tail}"


@pytest.mark.parametrize(
    "body",
    [
        block_of("b", "x\ny"),
        block_of("b", "x\ny").replace("\n", "\r\n"),
        f"\nsrc/app.py\n```python\n{block_of('b', 'x' + chr(10) + 'y')}\n```\n",
        f"```\n{block_of('b', 'x' + chr(10) + 'y')}\n```",
        f"**app.py**\n{block_of('b', 'x' + chr(10) + 'y')}",
        block_of("b", "x\ny", "<<<<<<< SEARCH>", ">>>>>>> REPLACE  "),
        block_of("b", "x\ny", "------- SEARCH", "+++++++ REPLACE"),
        block_of("b", "x\ny", "<<<<< ORIGINAL", ">>>>> UPDATED"),
        block_of(":start_line:2\n:end_line:2\n-------\nb", "x\ny"),
        block_of(":start_line: 2\nb", "x\ny"),
        block_of("b", "z") + "\n\n" + block_of("z", "x\ny"),
        f"I change it:\n\n{block_of('b', 'x' + chr(10) + 'y')}\nDone.",
    ],
)
def test_a_body_of_search_blocks_edits(body: str) -> None:
    assert edited("a\nb\nc\n", body) == "a\nx\ny\nc\n"


def test_search_blocks_do_what_markers_do() -> None:
    assert applied(None, block_of("old", "x"))["outcome"] == "not_found"
    assert edited("a\n", "<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE") == "a\nx\n"
    assert edited("a\nb\nc\n", "<<<<<<< SEARCH\nb\n=======\n>>>>>>> REPLACE") == "a\nc\n"
    assert "2 places" in conflict("b\nb\n", block_of("b", "x"))
    assert parsed(block_of("a", "b"))["operations"] == [{"op": "edit", "old": ["a"], "new": ["b"]}]


def test_signs_of_blocks_may_be_escaped_or_be_headings() -> None:
    assert edited("a\n=======\n", block_of("\\=======", "\\>>>>>>> REPLACE")) == "a\n>>>>>>> REPLACE\n"
    assert edited("Title\n=====\n", block_of("Title\n=====", "Head\n=====")) == "Head\n=====\n"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<<<<<<< SEARCH\na\n=======\nb\n", "has no '>>>>>>> REPLACE'"),
        ("<<<<<<< SEARCH\na\n=======\nb\n" + block_of("c", "d"), "has no '>>>>>>> REPLACE'"),
        ("<<<<<<< SEARCH\na\n>>>>>>> REPLACE", "no line '======='"),
        (block_of("a", "b\n=======\nc"), "2 lines '======='"),
        (f"a.py\n{block_of('a', 'b')}\nb.py\n{block_of('a', 'c')}", "several files, a.py, b.py"),
        ("Here:\n<<<<<<< SEARCH\na\n", "has no '>>>>>>> REPLACE'"),
    ],
)
def test_blocks_that_cannot_be_read_never_become_the_text(body: str, complaint: str) -> None:
    failed = applied("a\n", body)
    assert (failed["state"], failed["outcome"]) == ("failed", "validation")
    assert complaint in failed["message"]
    assert "wrap it in <<NEW" in failed["message"]
    assert edited("a\n", f"<<NEW\n{body}\nNEW") == body


def test_a_text_about_blocks_stays_one() -> None:
    about = f"How to write them:\n\n{block_of('a', 'b')}\n"
    assert edited(None, about) == about
    assert edited(about, about + "More.\n") == about + "More.\n"


@pytest.mark.parametrize(
    "body",
    ["@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", "@@\n-b\n+x", "@@ a\n-b\n+x\n", "```diff\n@@ ... @@\n-b\n+x\n```\n"],
)
def test_a_body_of_hunks_edits_an_entry(body: str) -> None:
    assert edited("a\nb\nc\n", body) == "a\nx\nc\n"


def test_hunks_that_cannot_be_read_or_placed_change_nothing() -> None:
    assert "was not found" in conflict("a\n", "@@\n-b\n+x")
    failed = applied("a\n", "@@ -1 +1 @@\n-a\n+b\nand so on")
    assert (failed["outcome"], "belongs to no hunk" in failed["message"]) == ("validation", True)
    assert applied("a\n", "```diff\n@@\n-a\n+b\n")["outcome"] == "validation"
    assert edited("a\n", "@@ is no hunk") == "@@ is no hunk"


@pytest.mark.parametrize(
    "body",
    [
        "<<<<<<< SEARCH\n" * 200_000,
        "<<<<<<< SEARCH\n" + "=======\n" * 200_000 + ">>>>>>> REPLACE",
        "<<<<<<< SEARCH\na\n=======\n>>>>>>> REPLACE\n" * 20_000,
        "x\n" + "<" * 2_000_000 + " SEARCH",
        "x\n" + "<<<<<<< SEARCH" + " \t" * 500_000 + "x",
        "a/" * 500_000,
        "@@\n-" + "x\n" * 300_000,
        "```" + "a" * 1_000_000 + "\n@@",
    ],
)
def test_hostile_blocks_cost_linear_time(body: str) -> None:
    check_cost(10, lambda: edit_apply("text\n", body))


# 7. diffs


def test_a_diff_has_context_and_headers() -> None:
    before = "".join(f"{number}\n" for number in range(1, 11))
    assert edit_diff("src/a.txt", before, before.replace("5\n", "five\n")) == (
        "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    )


def test_a_diff_tells_new_and_removed_files() -> None:
    assert edit_diff("a", None, "x\n") == "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n"
    assert edit_diff("a", "x\n", None) == "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert edit_diff("a", "x", "x") == edit_diff("a", None, None) == ""


def test_a_diff_tells_of_a_missing_final_newline() -> None:
    mark = "\\ No newline at end of file\n"
    assert edit_diff("a", "x", "x\n") == f"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n{mark}+x\n"
    assert edit_diff("a", "a\nx", "b\nx") == f"--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-a\n+b\n x\n{mark}"


def _patched(folder: Path, before: str, diff: str) -> str:
    target = folder / "f"
    target.write_bytes(before.encode())
    subprocess.run(["git", "apply", "-"], cwd=folder, input=diff.encode(), check=True, capture_output=True)
    return target.read_bytes().decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nc\n"),
        ("a\nb", "a\nb\nc"),
        ("x\n" * 50 + "end", "y\n" + "x\n" * 49 + "end\n"),
        ("\n".join(map(str, range(100))), "\n".join(map(str, range(3, 120, 1)))),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("b\n", "a\nb\n"),
    ],
)
def test_git_applies_the_diff(tmp_path: Path, before: str, after: str) -> None:
    assert _patched(tmp_path, before, edit_diff("f", before, after) or "") == after


# 8. speed


def test_a_hundred_edits_of_a_long_file_are_quick() -> None:
    text = "".join(f"    value_{number} = compute({number})\n" for number in range(5000))
    body = "\n".join(
        pair(
            f"value_{n} = compute({n})" if n % 100 else f"\tvalue_{n} = compute({n})",
            "pass" if n % 100 else "\tpass",
        )
        for n in range(0, 5000, 50)
    )
    check_cost(3, lambda: edited(text, body))
    assert (edited(text, body) or "").count("    pass\n") == 100


def test_the_diff_of_a_small_change_in_a_long_file_is_quick() -> None:
    before = "".join(f"line {number}\n" for number in range(5000))
    after = before.replace("line 70\n", "line seventy\n").replace("line 4000\n", "")
    assert edit_diff("a", before, before) == ""
    assert "+line seventy\n" in (edit_diff("a", before, after) or "")
    check_cost(1, lambda: edit_diff("a", before, after))
