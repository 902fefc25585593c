"""What patches promise: 1. both notations are read, 2. places are found, 3. what stays is untouched, 4. nothing raises.

spec: @patches
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.functions.edits import edit_diff
from engine.functions.patches import patch_apply, patch_parse

LINE = st.one_of(
    st.sampled_from(["a", "b", "", "  a", "\ta", "-- x", "++ y", "@@ -1 +1 @@", "\\ No", "*** End Patch", "é–“"]),
    st.text(max_size=6),
)
TEXT = st.one_of(
    st.none(),
    st.builds(
        lambda lines, ending, mark, last: mark + ending.join(lines) + last,
        st.lists(LINE, max_size=14),
        st.sampled_from(["\n", "\r\n"]),
        st.sampled_from(["", "\ufeff"]),
        st.sampled_from(["", "\n", "\r\n"]),
    ),
)
PIECE = st.sampled_from(
    [
        *("*** Begin Patch\n", "*** Update File: a\n", "*** Add File: b\n", "*** Delete File: c\n", "*** Move to: d\n"),
        *("@@\n", "@@ x\n", "@@ -1,2 +3 @@\n", " a\n", "-a\n", "+b\n", "\n", "*** End of File\n", "*** End Patch"),
        *("--- a/x\n", "+++ b/x\n", "diff --git a/x b/x\n", "rename to y\n", "\\ No newline at end of file\n", "é"),
    ]
)


def parsed(text: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(patch_parse(text) or "")
    return result


def applied(current: str | None, text: str) -> dict[str, Any]:
    found = parsed(text)
    assert found["error"] is None
    (change,) = found["files"]
    result: dict[str, Any] = json.loads(patch_apply(current, json.dumps(change)) or "")
    return result


def patched(current: str | None, text: str) -> str | None:
    result = applied(current, text)
    assert result["state"] == "resolved", result
    assert result["changed"] == (result["body"] != current)
    body: str | None = result["body"]
    return body


def update(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", "*** Update File: f", *lines, "*** End Patch"])


def conflict(current: str, *lines: str) -> str:
    result = applied(current, update(*lines))
    assert (result["state"], result["outcome"]) == ("failed", "conflict")
    return str(result["message"])


# 1. notations


def test_a_block_names_what_becomes_of_each_file() -> None:
    found = parsed(
        "\n*** Begin Patch\n*** Add File: new.md\n+# Hi\n+\n\n*** Update File: a b.py\n*** Move to: c.py\n"
        "@@ class A\n@@ def f\n x\n-y\n+z\n@@\n-last\n*** End of File\n\n*** Delete File: old\n*** End Patch\n"
    )
    hunks = [
        {"at": ["class A", "def f"], "line": None, "end": False, "lines": [" x", "-y", "+z"]},
        {"at": [], "line": None, "end": True, "lines": ["-last"]},
    ]
    assert found["form"] == "codex"
    assert [(each["action"], each["path"], each["to"]) for each in found["files"]] == [
        ("add", "new.md", None),
        ("update", "a b.py", "c.py"),
        ("delete", "old", None),
    ]
    assert found["files"][1]["hunks"] == hunks
    assert found["files"][0]["hunks"][0]["lines"] == ["+# Hi"]


def test_a_diff_of_git_names_what_becomes_of_each_file() -> None:
    found = parsed(
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@ def f\n--- a\n+++ b\n+c\n"
        "diff --git a/o b/n\nsimilarity index 90%\nrename from o\nrename to n\n--- a/o\n+++ b/n\n@@ -3 +3 @@\n-x\n+y\n"
        "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+hi\n"
        "diff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"
    )
    assert [(each["action"], each["path"], each["to"]) for each in found["files"]] == [
        ("update", "x", None),
        ("update", "o", "n"),
        ("add", "new", None),
        ("delete", "gone", None),
    ]
    assert found["files"][0]["hunks"][0]["lines"] == ["--- a", "+++ b", "+c"]


@pytest.mark.parametrize("text", ["", "text", "---\ntitle: x\n---\n", "--- a\n", "*** bold ***", "a\n*** Begin Patch"])
def test_other_text_is_no_patch(text: str) -> None:
    assert parsed(text) == {"form": None, "files": [], "error": None}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("*** Begin Patch\n*** End Patch", "names no file"),
        ("*** Begin Patch\n+x\n*** End Patch", "belongs to no file"),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "begins with '+'"),
        ("*** Begin Patch\n*** Delete File: a\n-x\n*** End Patch", "nothing may follow"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "has no lines"),
        ("*** Begin Patch\n*** Update File: a\n*** Rename: b\n*** End Patch", "is not known"),
        ("*** Begin Patch\n*** Delete File: a\n*** Add File: a\n+x\n*** End Patch", "twice"),
        ("*** Begin Patch\n*** Delete File: a\n*** End Patch\nand now", "text follows"),
        ("--- /dev/null\n+++ /dev/null\n", "name a file"),
        ("diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n", "before it names a file"),
    ],
)
def test_a_broken_patch_says_what_is_wrong(text: str, complaint: str) -> None:
    found = parsed(text)
    assert complaint in found["error"]
    assert found["files"] == []


def test_hunks_of_one_file_under_two_headers_are_one_change() -> None:
    text = "*** Begin Patch\n*** Update File: f\n-a\n+1\n*** Update File: f\n-b\n+2\n*** End Patch"
    assert patched("a\nb\n", text) == "1\n2\n"


def test_an_end_that_was_forgotten_is_no_fault() -> None:
    assert patched("a\n", "*** Begin Patch\n*** Update File: f\n-a\n+b\n") == "b\n"


# 2. places


@pytest.mark.parametrize(
    ("current", "lines", "expected"),
    [
        ("a\nb\nc\n", [" a", "-b", "+B", " c"], "a\nB\nc\n"),
        ("a\nb\n", ["-a", "+1", "@@", "-b", "+2"], "1\n2\n"),
        ("a\nb\n", ["-b", "+2", "@@", "-a", "+1"], "1\n2\n"),
        ("class A:\n    x = 1\nclass B:\n    x = 1\n", ["@@ class B:", "-    x = 1", "+    x = 2"], None),
        ("class B:\n    x = 1\n    x = 1\n", ["@@ class B", "-    x = 1", "+    x = 2"], None),
        ("x\ny\nx\n", ["-x", "+z", "*** End of File"], "x\ny\nz\n"),
        ("a  \nb\n", ["-a", "-b", "+c"], "c\n"),
        ("say “hi” – now\n", ['-say "hi" - now', "+bye"], "bye\n"),
        ("a  =  1\n", ["-a = 1", "+a = 2"], "a = 2\n"),
        ("a\n\nb\n", [" a", "", "-b", "+c"], "a\n\nc\n"),
        ("def f():\n    x\n", ["def f():", "-    x", "+    y"], "def f():\n    y\n"),
        ("a\n", ["+b"], "a\nb\n"),
        ("def f():\n    x\n", ["@@ def f():", "+    y"], "def f():\n    y\n    x\n"),
        ("", ["+b"], "b\n"),
        ("a\nb\n", ["-a", "-b"], ""),
        ("a\nb\n", ["@@ -1,2 +1,2 @@", "-a", "+c", " b"], "c\nb\n"),
    ],
)
def test_a_hunk_finds_its_place(current: str, lines: list[str], expected: str | None) -> None:
    if expected is None:
        head, _, tail = current.partition("class B:\n")
        expected = f"{head}class B:\n{tail.replace('x = 1', 'x = 2', 1)}"
    assert patched(current, update(*lines)) == expected


def test_new_lines_take_the_indentation_of_the_text() -> None:
    result = applied("class A:\n\tdef f():\n\t\tx\n", update(" def f():", "-    x", "+    y"))
    assert result["body"] == "class A:\n\tdef f():\n\t    y\n"
    assert "indentation" in result["warnings"][0]


def test_several_places_are_a_conflict_with_line_numbers() -> None:
    message = conflict("x\na\nx\n", "-x", "+y")
    assert "2 places, in line 1, 3" in message
    assert "@@ def name():" in message


def test_a_miss_tells_the_hunk_and_the_nearest_lines() -> None:
    message = conflict("def alpha(x):\n    return 1\n", "-def alpha(z):", "+def beta():", "@@", "-    return 1")
    assert "hunk 1 of f was not found" in message
    assert "1: def alpha(x):" in message
    assert "'@@ def gamma'" in conflict("a\n", "@@ def gamma", "-a")
    assert "two hunks change line 1" in conflict("a\nb\n", "-a", "-b", "@@", "-a")


@pytest.mark.parametrize(
    ("current", "text", "outcome"),
    [
        ("x", "*** Begin Patch\n*** Add File: f\n+x", "conflict"),
        (None, "*** Begin Patch\n*** Update File: f\n-x", "not_found"),
        (None, "*** Begin Patch\n*** Delete File: f\n", "not_found"),
    ],
)
def test_what_must_not_be_there_and_what_must(current: str | None, text: str, outcome: str) -> None:
    assert applied(current, text)["outcome"] == outcome


def test_a_diff_of_a_file_that_moved_on_finds_its_place() -> None:
    diff = edit_diff("f", "one\ntwo\nthree\n", "one\n2\nthree\n") or ""
    assert patched("zero\none\ntwo\nthree\n", diff) == "zero\none\n2\nthree\n"
    assert patched("  one\n  two\n  three\n", diff) == "  one\n  2\n  three\n"


# 3. what stays


def test_endings_and_marks_are_kept() -> None:
    assert patched("a\r\nb\r\n", update("-b", "+x", "+y")) == "a\r\nx\r\ny\r\n"
    assert patched("a\nb", update("-b", "+x")) == "a\nx"
    assert patched("a\nb", update(" b", "+x")) == "a\nb\nx"
    assert patched("\ufeffa\n\tb\u2028c\x0c\n", update("-a", "+ü")) == "\ufeffü\n\tb\u2028c\x0c\n"
    assert patched("\ufeffa\nb\n", update("-b")) == "\ufeffa\n"


def test_a_new_file_ends_in_a_line_feed_and_a_removed_one_is_gone() -> None:
    assert patched(None, "*** Begin Patch\n*** Add File: f\n+a\n+\n+b\n*** End Patch") == "a\n\nb\n"
    assert patched(None, "*** Begin Patch\n*** Add File: f\n*** End Patch") == ""
    assert patched("x", "*** Begin Patch\n*** Delete File: f\n*** End Patch") is None
    assert patched("x", "*** Begin Patch\n*** Update File: f\n*** Move to: g\n*** End Patch") == "x"


@settings(max_examples=400, deadline=None)
@given(TEXT, TEXT)
def test_the_diff_of_two_texts_makes_one_of_the_other(before: str | None, after: str | None) -> None:
    diff = edit_diff("f", before, after)
    if diff:
        assert patched(before, diff) == after


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**9), unique=True, min_size=4, max_size=30), st.data())
def test_a_block_made_of_a_change_makes_that_change(numbers: list[int], data: st.DataObject) -> None:
    lines = [str(number) for number in numbers]
    at = data.draw(st.integers(0, len(lines) - 1))
    new = data.draw(st.lists(st.text("xyz é\t", max_size=5).filter(str.strip), max_size=3))
    after = [*lines[:at], *new, *lines[at + 1 :]]
    hunk = [*(f" {line}" for line in lines[:at][-2:]), f"-{lines[at]}", *(f"+{line}" for line in new)]
    assert patched("\n".join(lines) + "\n", update(*hunk)) == "".join(f"{line}\n" for line in after)


# 4. robustness


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(PIECE, st.text(max_size=4)), max_size=14).map("".join), st.one_of(st.none(), st.text()))
def test_no_text_ever_raises(text: str, current: str | None) -> None:
    for start in ("", "*** Begin Patch\n", "--- a/x\n+++ b/x\n"):
        for change in parsed(start + text)["files"]:
            result = json.loads(patch_apply(current, json.dumps(change)) or "")
            assert result["state"] in ("resolved", "failed")


@pytest.mark.parametrize(
    "change", ["", "[]", "{}", "null", "1", '{"action":"update","path":"f","to":null,"hunks":[1]}']
)
def test_a_change_that_is_none_is_refused(change: str) -> None:
    assert json.loads(patch_apply("a", change) or "")["outcome"] == "validation"


def test_null_stays_null() -> None:
    assert patch_parse(None) is patch_apply("a", None) is None
