"""What patches promise: 1. both notations are read, 2. places are found, 3. what stays is untouched, 4. nothing raises.

spec: @patches @edit_places @edit_indentation
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from campaign import examples
from hypothesis import given
from hypothesis import strategies as st
from timing import check_cost

from engine.functions.edits.bodies import edit_apply
from engine.functions.edits.comparison import edit_diff
from engine.functions.edits.patches import patch_apply, patch_parse

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
    st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n", "\r", ""])), max_size=14).map(
        lambda lines: "".join(line + ending for line, ending in lines)
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
    assert found["files"][0]["hunks"][0]["lines"] == ["+# Hi", "+"]


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


@pytest.mark.parametrize(
    "text",
    [
        "*** Begin Patch\n*** Update File: f\n-a\n+b\n",
        "*** Begin Patch\n*** Update File: f\n@@\n-old",
        "*** Update File: f\n@@\n-a\n+b\n",
        "*** Begin Patch\n*** Delete File: f\n",
        "```\n*** Begin Patch\n*** Update File: f\n-a\n+b\n```",
    ],
)
def test_a_patch_without_its_end_is_refused(text: str) -> None:
    found = parsed(text)
    assert (found["form"], found["files"]) == ("codex", [])
    assert "the patch has no end" in found["error"]


@pytest.mark.parametrize(
    "text",
    [
        "  *** Begin Patch\n  *** Update File: f\n@@\n-a\n+b\n *** End Patch",
        "*** Begin Patch  \n*** Update File: f  \n-a\n+b\n*** End Patch  ",
        "*** Begin Patch\n *** Delete File: g\n\t*** Update File: f\n-a\n+b\n  *** End Patch\n\n",
        "*** Begin Patch\n*** Update File: f\n\n@@\n-a\n+b\n*** End Patch",
        "*** Begin Patch\n*** Update File: f\n  *** Move to: g\n\n@@\n-a\n+b\n*** End Patch",
        "*** Begin Patch\n*** Update File: f\n@@ z\n\n@@\n-a\n+b\n*** End Patch",
        "*** Update File: f\n-a\n+b\n*** End Patch",
        "*** Begin Patch\n*** Update File: f\n-a\n+b\n*** End Patch\n*** Begin Patch\n*** Delete File: g\n*** End Patch",
        "*** Begin Patch\n*** Update File: f\n@@ ... @@\n-a\n+b\n*** End Patch",
        "*** Begin Patch\n*** Update File: f\n@@ z @@\n-a\n+b\n*** End Patch",
    ],
)
def test_blanks_around_the_lines_of_a_block_are_layout(text: str) -> None:
    found = parsed(text)
    assert found["error"] is None
    (change,) = (each for each in found["files"] if each["action"] == "update")
    assert json.loads(patch_apply("z\na\n", json.dumps(change)) or "")["body"] == "z\nb\n"


def test_a_line_of_a_hunk_may_look_like_notation() -> None:
    text = "*** Begin Patch\n*** Update File: f\n *** Update File: g\n-a\n+b\n *** End Patch\n*** End Patch"
    assert patched("*** Update File: g\na\n*** End Patch\n", text) == "*** Update File: g\nb\n*** End Patch\n"


def test_a_blank_line_behind_the_new_name_is_no_hunk() -> None:
    text = "*** Begin Patch\n*** Update File: f\n*** Move to: g\n\n*** End Patch"
    assert patched("a\n\nb\n\n", text) == "a\n\nb\n\n"


WRAPPINGS = [
    "```diff\n{}\n```",
    "````patch\n{}\n````\n",
    "~~~\n{}\n~~~",
    "apply_patch <<'EOF'\n{}\nEOF",
    '$ apply_patch <<"END"\n{}\nEND\n',
    "<<'EOF'\n{}\nEOF",
    "<<EOF\n{}\nEOF",
    "git apply - <<'PATCH'\n{}\nPATCH",
    "```bash\napply_patch <<'EOF'\n{}\nEOF\n```",
]
NOTATIONS = [
    "*** Begin Patch\n*** Update File: f\n-a\n+b\n*** End Patch",
    "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n+b",
    "--- a/f\n+++ b/f\n@@ @@\n-a\n+b",
]


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("notation", NOTATIONS)
def test_what_is_wrapped_around_a_patch_is_left_out(wrapping: str, notation: str) -> None:
    assert patched("a\n", wrapping.format(notation)) == "b\n"


@pytest.mark.parametrize("wrapping", [each for each in WRAPPINGS if each.count("{") == 1])
def test_a_wrapping_without_its_end_is_refused(wrapping: str) -> None:
    for notation in NOTATIONS:
        cut = wrapping.partition("{}")[0] + notation + "\n"
        assert "on its last line" in parsed(cut)["error"]


def test_two_fenced_patches_are_one() -> None:
    fenced = [f"```diff\n--- a/{name}\n+++ b/{name}\n@@\n-a\n+b\n```" for name in "fg"]
    assert [each["path"] for each in parsed("\n\n".join(fenced))["files"]] == ["f", "g"]
    assert "behind the fence" in parsed("\nand then\n".join(fenced))["error"]


@pytest.mark.parametrize(
    ("text", "form", "paths"),
    [
        ("I change it:\n*** Begin Patch\n*** Delete File: f\n*** End Patch\nDone.", "embedded", ["f"]),
        ("I change it:\n```diff\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n```\nDone.", "embedded", ["f"]),
        ("I change it:\n--- a/f\n+++ b/f\n@@ ... @@\n-a\n+b\n", "embedded", ["f"]),
        ("cat > f <<'EOF'\ntext\nEOF\n", "embedded", []),
        ("cat <<'EOF'\ntext\nEOF\n", None, []),
        ("cat > f <<'EOF'\ntext\nEOF\ncat f\n", None, []),
        ("```python\nprint(1)\n```", None, []),
        ("<<EOF\ntext\nEOF", None, []),
        ("<<NEW\n*** Begin Patch\n*** End Patch\nNEW", None, []),
        ("@ -1 +1 @\n--- x\n", None, []),
    ],
)
def test_a_text_may_hold_a_patch(text: str, form: str | None, paths: list[str]) -> None:
    found = parsed(text)
    assert found["form"] == form
    assert [each["path"] for each in found["files"]] == paths


# 2. places


@pytest.mark.parametrize(
    ("current", "lines", "expected"),
    [
        ("a\nb\nc\n", [" a", "-b", "+B", " c"], "a\nB\nc\n"),
        ("a\nb\n", ["-a", "+1", "@@", "-b", "+2"], "1\n2\n"),
        ("a\nb\n", ["-b", "+2", "@@", "-a", "+1"], "1\n2\n"),
        ("class A:\n    x = 1\nclass B:\n    x = 1\n", ["@@ class B:", "-    x = 1", "+    x = 2"], None),
        ("class B:\n    x = 1\nclass C:\n    x = 1\n", ["@@ class B", "-    x = 1", "+    x = 2"], None),
        ('def a():\n    """Not class B: it."""\nclass B:\n    x = 1\n', ["@@ class B:", "+    y = 1"], None),
        ("x\ny\nx\n", ["-x", "+z", "*** End of File"], "x\ny\nz\n"),
        ("a  \nb\n", ["-a", "-b", "+c"], "c\n"),
        ("say “hi” – now\n", ['-say "hi" - now', "+bye"], "bye\n"),
        ("a  =  1\n", ["-a = 1", "+b"], "b\n"),
        ("a\n\nb\n", [" a", "", "-b", "+c"], "a\n\nc\n"),
        ("def f():\n    x\n", ["def f():", "-    x", "+    y"], "def f():\n    y\n"),
        ("a\n", ["+b", "*** End of File"], "a\nb\n"),
        ("def f():\n    x\n", ["@@ def f():", "+    y"], "def f():\n    y\n    x\n"),
        ("", ["+b"], "b\n"),
        ("a\nb\n", ["-a", "-b"], ""),
        ("a\nb\n", ["@@ -1,2 +1,2 @@", "-a", "+c", " b"], "c\nb\n"),
    ],
)
def test_a_hunk_finds_its_place(current: str, lines: list[str], expected: str | None) -> None:
    if expected is None:
        head, _, tail = current.partition("class B:\n")
        new = f"    y = 1\n{tail}" if lines[1].startswith("+") else tail.replace("x = 1", "x = 2", 1)
        expected = f"{head}class B:\n{new}"
    assert patched(current, update(*lines)) == expected


def test_new_lines_take_the_indentation_of_the_text() -> None:
    result = applied("class A:\n\tdef f():\n\t\tx\n", update(" def f():", "-    x", "+    y"))
    assert result["body"] == "class A:\n\tdef f():\n\t\ty\n"
    assert "indentation" in result["warnings"][0]


def test_several_places_are_a_conflict_with_line_numbers() -> None:
    message = conflict("x\na\nx\n", "-x", "+y")
    assert "2 places, in line 1, 3" in message
    assert "neighbouring lines" in message


def test_a_miss_tells_the_hunk_and_the_nearest_lines() -> None:
    message = conflict("def alpha(x):\n    return 1\n", "-def alpha(z):", "+def beta():", "@@", "-    return 1")
    assert "hunk 1 of f was not found" in message
    assert "1: def alpha(x):" in message
    assert "'@@ def gamma'" in conflict("a\n", "@@ def gamma", "-a")
    assert "two hunks change line 1" in conflict("a\nb\n", "-a", "-b", "@@", "-a")


@pytest.mark.parametrize(
    ("current", "text", "outcome"),
    [
        ("x", "*** Begin Patch\n*** Add File: f\n+x\n*** End Patch", "conflict"),
        (None, "*** Begin Patch\n*** Update File: f\n-x\n*** End Patch", "not_found"),
        (None, "*** Begin Patch\n*** Delete File: f\n*** End Patch", "not_found"),
    ],
)
def test_what_must_not_be_there_and_what_must(current: str | None, text: str, outcome: str) -> None:
    assert applied(current, text)["outcome"] == outcome


def test_a_diff_of_a_file_that_moved_on_finds_its_place() -> None:
    diff = edit_diff("f", "one\ntwo\nthree\n", "one\n2\nthree\n") or ""
    assert patched("zero\none\ntwo\nthree\n", diff) == "zero\none\n2\nthree\n"
    assert patched("  one\n  two\n  three\n", diff) == "  one\n  2\n  three\n"


@pytest.mark.parametrize(
    "head", ["@@ ... @@", "@@", "@@ @@", "@@ def f():", "@@ def f(): @@", "@@ -1,2 @@", "@@ -9,9 +7,9 @@", ""]
)
@pytest.mark.parametrize("gap", ["", "\n"])
def test_a_hunk_of_a_diff_is_found_without_line_numbers(head: str, gap: str) -> None:
    hunk = f"--- a/f\n+++ b/f\n{gap}{head}" + ("\n" if head else "") + "-    x\n+    y\n     z\n"
    assert patched("import a\ndef f():\n    x\n    z\n", hunk) == "import a\ndef f():\n    y\n    z\n"
    both = (
        "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-import a\n+import b\n"
        + (f"{head}\n" if head else "@@\n")
        + "-    x\n+    y\n"
    )
    assert patched("import a\ndef f():\n    x\n", both) == "import b\ndef f():\n    y\n"


@pytest.mark.parametrize("head", ["@@ ... @@\n", "@@\n", "@@ -0,0 @@\n", "@@ -0,0 +1,2 @@\n", "@@ -0,0 +1 @@\n", ""])
def test_a_new_file_of_a_diff_has_all_its_lines(head: str) -> None:
    assert patched(None, f"--- /dev/null\n+++ b/f\n{head}+a\n+\n+b\n") == "a\n\nb\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("--- a/f\n+++ b/f\n", "has no hunk for it"),
        ("--- /dev/null\n+++ b/f\n", "has no hunk for it"),
        ("--- /dev/null\n+++ b/f\n@@\nprint(1)\n", "must begin with '+'"),
        ("--- /dev/null\n+++ b/f\n@@\n-a\n+b\n", "must begin with '+'"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n", "has no lines"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\nHope it helps!\n", "belongs to no hunk"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\nlost\n-c\n+d\n", "belongs to no hunk"),
        ("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", "modes"),
        ("diff --git a/f b/f\nindex 1..2\nBinary files a/f and b/f differ\n", "binary"),
        ("diff --git a/f b/g\ncopy from f\ncopy to g\n", "copies"),
    ],
)
def test_what_a_diff_says_is_done_or_told(text: str, complaint: str) -> None:
    found = parsed(text)
    assert complaint in (found["error"] or ""), found
    assert found["files"] == []


@pytest.mark.parametrize(
    ("text", "action", "path"),
    [
        ("Index: f\n=====\n--- f\t(revision 1)\n+++ f\t(working copy)\n@@ -1 +1 @@\n-a\n+b\n", "update", "f"),
        ("diff -u f f\n--- f 2026-01-02 10:00:00\n+++ f 2026-01-02 11:00:00\n@@ -1 +1 @@\n-a\n+b\n", "update", "f"),
        (
            '--- "a/\\303\\244 \\"x\\".txt"\n+++ "b/\\303\\244 \\"x\\".txt"\n@@ -1 +1 @@\n-a\n+b\n',
            "update",
            'ä "x".txt',
        ),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39.0\n\n", "update", "f"),
        ("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+b\n-- \n2.39.0 (Apple Git)\n", "update", "f"),
        (
            f"From {'0' * 40} Mon Sep 17\nSubject: x\n---\n f | 2 +-\n\n"
            "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
            "update",
            "f",
        ),
        ("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-a\n+b\n--- a/f\n+++ b/f\n@@ -3 +3 @@\n", None, None),
        ("diff --git a/f b/f\nnew file mode 100644\nindex 0..e\n", "add", "f"),
        ("diff --git a/f b/f\ndeleted file mode 100644\nindex 1..0\n", "delete", "f"),
        ("diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n", "update", "f"),
    ],
)
def test_what_tools_write_around_a_diff_is_read(text: str, action: str | None, path: str | None) -> None:
    found = parsed(text)
    if action is None:
        assert found["error"] is not None
        return
    assert [(each["action"], each["path"]) for each in found["files"]] == [(action, path)], found
    (change,) = found["files"]
    if change["hunks"]:
        assert json.loads(patch_apply("a\n", json.dumps(change)) or "")["body"] == "b\n"


def test_counts_that_promise_too_much_leave_the_next_file_alone() -> None:
    text = "--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-c\n+d\n"
    assert [(each["path"], each["hunks"][0]["lines"]) for each in parsed(text)["files"]] == [
        ("f", ["-a", "+b"]),
        ("g", ["-c", "+d"]),
    ]


@pytest.mark.parametrize(
    "text",
    [
        update(" a", "-b", "+B", " c", "@@", " c", "-d", "+D"),
        update("-b", "+B", " c", "@@", " c", "-d", "+D", " e"),
        "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -3,3 +3,3 @@\n c\n-d\n+D\n e\n",
    ],
)
def test_neighbouring_hunks_may_share_lines_that_stay(text: str) -> None:
    assert patched("a\nb\nc\nd\ne\n", text) == "a\nB\nc\nD\ne\n"


def test_two_hunks_that_change_the_same_are_a_conflict() -> None:
    assert "two hunks change line 2" in conflict("a\nb\nc\n", " a", "-b", "@@", "-b", " c")
    assert "two hunks add lines below line 1" in conflict("a\nb\n", " a", "+x", "@@", " a", "+x")
    assert patched("a\nb\n", update(" a", "+x", "@@", "-b", "+B")) == "a\nx\nB\n"


def test_the_one_exact_place_counts_wherever_it_is() -> None:
    """The place behind the hunk before it won, though only white space was like it there."""
    text = "    x = 1\na\nx = 1\nb\n  x = 1\n"
    assert patched(text, update("-b", "+B", "@@", "-x = 1", "+x = 2")) == "    x = 1\na\nx = 2\nB\n  x = 1\n"
    assert "2 places, in line 1, 3" in conflict("x\na\nx\n", " x", "+y")
    assert "2 places, in line 1, 3" in conflict("a\nb\na\n", "-b", "+B", "@@", "-a", "+A")


def test_a_heading_is_a_line_not_words_in_one() -> None:
    text = 'class A:\n    """Not a class B: at all."""\n    x = 1\nclass B:\n    x = 1\nclass C:\n    x = 1\n'
    assert patched(text, update("@@ class B:", "-    x = 1", "+    x = 2")) == text.replace(
        "class B:\n    x = 1", "class B:\n    x = 2"
    )
    assert "was not found" in conflict(text, "@@ a class B", "-    x = 1", "+    x = 2")
    twice = "def f():\n    x\n    x\n"
    assert "2 places, in line 2, 3" in conflict(twice, "@@ def f():", "-    x", "+    y")
    assert "2 places, in line 1, 3" in conflict("def f():\n    x\ndef f():\n    y\n", "@@ def f():", "+    z")


def test_a_line_number_that_fits_another_place_than_the_text_is_a_conflict() -> None:
    diff = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n"
    assert applied("    x\na\nx\n", diff)["outcome"] == "conflict"
    assert patched("x\na\nx\n", diff) == "y\na\nx\n"
    assert patched("x\r\na\r\nx\r\n", diff) == "y\r\na\r\nx\r\n"


@pytest.mark.parametrize("head", ["@@", "@@ ... @@", "@@ -2 @@", "@@ -2,3 +2,4 @@"])
def test_new_lines_without_a_place_are_refused(head: str) -> None:
    diff = f"--- a/f\n+++ b/f\n{head}\n+x\n"
    assert "only new lines" in applied("a\nb\n", diff)["message"]
    assert patched("a\nb\n", diff.replace(head, "@@ -1,0 +2 @@")) == "a\nx\nb\n"


@pytest.mark.parametrize(
    ("before", "lines", "after"),
    [
        ("a\r\nb", [" a", "-b", "+c"], "a\r\nc"),
        ("a\r\nb", [" a", " b", "+c"], "a\r\nb\r\nc"),
        ("a\r\nb", [" b", "+c"], "a\r\nb\r\nc"),
        ("a\nb", [" a", "-b"], "a\n"),
        ("a\r\n\r\nz\r\n", ["", "+new", " z"], "a\r\n\r\nnew\r\nz\r\n"),
        ("a\r\nb\n", ["-a\r", "+x\r", " b"], "x\r\nb\n"),
        ("a\r\nb\n", ["-a", "+x", "@@", "-b", "+y"], "x\r\ny\n"),
    ],
)
def test_new_lines_end_as_their_neighbours(before: str, lines: list[str], after: str) -> None:
    assert patched(before, update(*lines)) == after


def test_lines_that_end_otherwise_are_not_guessed_at() -> None:
    assert "CR LF and in LF" in conflict("a\r\nb\n", " a", "+x", " b")


@pytest.mark.parametrize("first", ["@@\n", "--- a/f\n+++ b/f\n@@ @@\n", "*** Begin Patch\n*** Update File: f\n"])
def test_a_shallower_line_of_a_hunk_keeps_its_depth(first: str) -> None:
    text = "class A:\n    def f(self):\n        return 1\n    x = 2\n"
    body = f"{first}     return 1\n-x = 2\n+x = 3\n" + ("*** End Patch" if "***" in first else "")
    change = parsed(body)["files"]
    result = patch_apply(text, json.dumps(change[0])) if change else edit_apply(text, body)
    assert json.loads(result or "")["body"] == text.replace("x = 2", "x = 3")


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


@examples(150)
@given(TEXT, TEXT)
def test_the_diff_of_two_texts_makes_one_of_the_other(before: str | None, after: str | None) -> None:
    diff = edit_diff("f", before, after)
    if diff:
        assert patched(before, diff) == after


@given(st.lists(st.integers(0, 10**9), unique=True, min_size=4, max_size=30), st.data())
def test_a_block_made_of_a_change_makes_that_change(numbers: list[int], data: st.DataObject) -> None:
    lines = [str(number) for number in numbers]
    at = data.draw(st.integers(0, len(lines) - 1))
    new = data.draw(st.lists(st.text("xyz é\t", max_size=5).filter(str.strip), max_size=3))
    after = [*lines[:at], *new, *lines[at + 1 :]]
    hunk = [*(f" {line}" for line in lines[:at][-2:]), f"-{lines[at]}", *(f"+{line}" for line in new)]
    assert patched("\n".join(lines) + "\n", update(*hunk)) == "".join(f"{line}\n" for line in after)


# 4. robustness


@pytest.mark.parametrize(
    "text",
    [
        "```\n" * 300_000,
        "```diff\n--- a/f\n+++ b/f\n@@\n" + "```\n\n" * 200_000,
        "x\n" + "--- a\n+++ b\n" * 100_000,
        "--- a/f\n+++ b/f\n" + "@@\n+x\n" * 150_000,
        "--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n" + "\n" * 1_000_000,
        "*** Begin Patch\n*** Update File: f\n" + "@@\n\n" * 200_000,
        "*** Begin Patch\n" + "*** Update File: f\n-a\n" * 50_000 + "*** End Patch",
        "@@ " + "." * 1_000_000,
        "cat > f <<EOF" + "<" * 1_000_000,
        "x\n" + "*** Begin Patch\n" * 100_000,
        "--- a/f\n+++ b/f\n@@ -" + "9" * 100_000 + " @@\n-a\n+b",
        "-- \n1\n" * 200_000,
        "--- a/f\n+++ b/f\n@@\n+a\n" + "-- \n1\n" * 200_000,
    ],
)
def test_hostile_patches_are_read_in_linear_time(text: str) -> None:
    check_cost(20, lambda: patch_parse(text))


@examples(150)
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
