"""Texts that look like an edit in a notation that is not read never become the text of what they were to change.

spec: @edit_lookalikes @edit_places @edit_syntax @patches
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.functions.edits.bodies import edit_apply, edit_has_marks
from engine.functions.edits.patches import patch_apply, patch_parse

OLD = "a\nb\nc\nd\n"
ELISIONS = [
    "# ... existing code ...",
    "    // ... (rest of the file unchanged)",
    "/* ... existing styles ... */",
    "<!-- ... existing content ... -->",
    "# rest of the code remains the same",
    "# \u2026 remaining methods unchanged \u2026",
    "{/* ... other components ... */}",
    "[... rest of file unchanged ...]",
    "# ... same as before ...",
    "// Existing code...",
]


def applied(current: str | None, body: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(edit_apply(current, body) or "")
    return result


def refused(current: str | None, body: str, outcome: str = "validation") -> str:
    result = applied(current, body)
    assert (result["state"], result["outcome"]) == ("failed", outcome), result
    assert "Nothing was changed" in result["message"]
    assert edit_has_marks(body) == 1
    return str(result["message"])


@pytest.mark.parametrize(
    "body",
    [
        "<SEARCH>\na\n</SEARCH>\n<REPLACE>\nc\n</REPLACE>",
        "<search>\na\n</search>\n<replace>\nc\n</replace>",
        "<old_str>a</old_str>\n<new_str>c</new_str>",
        "<old_string>a</old_string><new_string>c</new_string>",
        "<<'SEARCH'\na\nSEARCH\n<<'REPLACE'\nc\nREPLACE",
        "<<-SEARCH\na\nSEARCH\n<<-REPLACE\nc\nREPLACE",
        "<< SEARCH\na\nSEARCH\n<< REPLACE\nc\nREPLACE",
        "<<search\na\nsearch\n<<replace\nc\nreplace",
        "FIND:\na\nREPLACE WITH:\nc",
        "SEARCH\na\nREPLACE\nc",
        "### Old code\na\n### New code\nc\n",
        "<<'NEW'\nc\nNEW",
        "<< APPEND\nc\nAPPEND",
        "```python\nc\nd\n```",
        "```diff\n-a\n+c\n b\n```",
    ],
)
def test_an_edit_in_another_notation_is_no_text_at_all(body: str) -> None:
    """Each replaced a whole file by itself."""
    for current in (OLD, None):
        assert "<<NEW" in refused(current, body)


@pytest.mark.parametrize(
    "body",
    [
        '{"old_string": "a", "new_string": "c"}',
        '[{"search": "a", "replace": "c"}]',
        '{"command": ["apply_patch", "*** Begin Patch\\n*** Update File: f\\n@@\\n-a\\n+c\\n*** End Patch"]}',
        "1c1\n< a\n---\n> c\n",
        "1c\nq\n.\nw",
        "*** f\n--- f\n***************\n*** 1,2 ****\n! a\n  b\n--- 1,2 ----\n! c\n  b\n",
        "sed -i 's/a/b/' f",
        "sed 's/a/b/' f > g",
        'echo "x" >> f',
        "python3 - <<'EOF'\nprint(1)\nEOF",
        "/b/d",
        "/b/a new",
        "/a/,/b/s/a/b/",
        "y/abc/xyz/",
        "$ perl -pi -e 's/a/b/' f\n",
        "1: a\n2: x\n",
        "     1\ta\n     2\tx\n     3\tc\n",
        "     9\u2192c\n    10\u2192x",
    ],
)
def test_an_edit_in_another_notation_does_not_replace_a_text(body: str) -> None:
    message = refused(OLD, body)
    assert "<<NEW" in message
    assert applied(OLD, f"<<NEW\n{body}\nNEW")["body"] == body
    assert applied(f"{body}\n", f"{body}\nmore\n")["state"] == "resolved", "a text that is of this kind already"


@pytest.mark.parametrize("line", ELISIONS)
def test_a_line_for_lines_that_were_not_written_is_refused(line: str) -> None:
    assert line.strip() in refused(OLD, f"a\n{line}\nd\n")
    search = f"<<SEARCH\nb\nSEARCH\n<<REPLACE\nx\n{line}\nREPLACE"
    assert line.strip() in applied(OLD, search)["message"]
    patch = json.loads(patch_parse(f"*** Begin Patch\n*** Update File: f\n@@\n-b\n+x\n+{line}\n*** End Patch") or "")
    assert line.strip() in json.loads(patch_apply(OLD, json.dumps(patch["files"][0])) or "")["message"]
    assert applied(OLD, f"<<NEW\na\n{line}\nNEW")["body"] == f"a\n{line}"
    assert applied(f"{line}\nb\n", f"{line}\nc\n")["body"] == f"{line}\nc\n"


@pytest.mark.parametrize(
    "body",
    [
        *(f"a\n{line}\n" for line in ("# TODO ...", "x = [...]", "def f(): ...", "    ...", "# and so on...")),
        "Search for it.\nReplace it.\n",
        "1. one\n2. two\n",
        "1: red\n2: green\n",
        '{"search": "Suche", "cancel": "Abbruch"}',
        "Text\n```sh\nls\n```\n",
        "```sh\nls\n```\nand\n```sh\nls\n```",
        "#!/bin/sh\nsed -i 's/a/b/' f\n",
        "other\n# see the rest of the day\n",
    ],
)
def test_ordinary_texts_are_texts(body: str) -> None:
    for current in (OLD, None):
        assert applied(current, body)["body"] == body


@pytest.mark.parametrize("body", ["s/a/b/", "@@\n-a\n+b", "@@ -1 +1 @@\n-a\n+b\n", "```diff\n@@ ... @@\n-b\n+x\n```\n"])
def test_an_edit_of_nothing_makes_no_text(body: str) -> None:
    assert "Name a path that exists" in refused(None, body, "not_found")


@pytest.mark.parametrize("head", ["--- f\n", "+++ b/f\n"])
def test_a_diff_with_half_a_header_is_a_patch_that_cannot_be_read(head: str) -> None:
    parsed = json.loads(patch_parse(f"{head}@@ -1 +1 @@\n-a\n+b\n") or "")
    assert (parsed["form"], parsed["files"]) == ("unified", [])
    assert "before it names a file" in parsed["error"]


def test_an_ampersand_that_may_be_what_was_found_is_refused() -> None:
    for body in ("s/ab/&c/", "s/ab/(&)/", "s/ab/c&/g"):
        assert "\\&" in applied("ab\n", body)["message"]
    kept = {"s/ab/x \\& y/": "x & y\n", "s/ab/x && y/": "x && y\n", "s/ab/x & y/": "x & y\n", "s/ab/&lt;/": "&lt;\n"}
    assert {body: applied("ab\n", body)["body"] for body in kept} == kept
    assert applied("a=1&b=2\n", "s/a=1&b=2/a=1&b=3/")["body"] == "a=1&b=3\n"


def test_a_hunk_may_repeat_its_heading() -> None:
    text = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n"
    body = "@@ def g(self):\n     def g(self):\n-        return 1\n+        return 2\n"
    assert applied(text, body)["body"] == text[:-2] + "2\n"


def test_a_blank_line_behind_all_that_a_head_counts_is_one_of_the_hunk() -> None:
    body = "@@ -1,1 +1,1 @@\n a\n\n-b\n+x\n c\n"
    assert applied("a\n\nb\nc\n", body)["body"] == "a\n\nx\nc\n"


WRITTEN = {
    "markers": "<<SEARCH\n{0}\nSEARCH\n<<REPLACE\n{1}\nREPLACE",
    "aider": "<<<<<<< SEARCH\n{0}\n=======\n{1}\n>>>>>>> REPLACE",
    "cline": "------- SEARCH\n{0}\n=======\n{1}\n+++++++ REPLACE",
    "apply_patch": "*** Begin Patch\n*** Update File: f\n@@\n-{0}\n+{1}\n*** End Patch",
    "unified": "--- a/f\n+++ b/f\n@@ -{2} +{2} @@\n-{0}\n+{1}",
    "hunks": "@@\n-{0}\n+{1}",
    "sed": "s/{0}/{1}/",
    "delete": "<<DELETE\n{0}\nDELETE",
    "append": "<<APPEND\n{1}\nAPPEND",
    "json": '{{"old_string": "{0}", "new_string": "{1}"}}',
    "tags": "<old_str>{0}</old_str>\n<new_str>{1}</new_str>",
}


@pytest.mark.parametrize("second", WRITTEN)
@pytest.mark.parametrize("first", WRITTEN)
def test_of_two_notations_in_one_body_none_is_left_out(first: str, second: str) -> None:
    """The blocks of one notation were done, and the others passed over as sentences."""
    old = "one\ntwo\nthree\nfour\n"
    body = "\n".join([WRITTEN[first].format("two", "2", 2), WRITTEN[second].format("four", "4", 4), ""])
    parsed = json.loads(patch_parse(body) or "")
    if parsed["error"]:
        return
    files = parsed["files"]
    result = json.loads((patch_apply(old, json.dumps(files[0])) if files else edit_apply(old, body)) or "")
    if result["state"] == "failed":
        assert "Nothing was changed" in result["message"]
        return
    new = result["body"]
    assert len(files) < 2
    assert ("two" in new, "four" in new) == (first == "append", second == "append")
    assert (new.count("2"), new.count("4")) == (first != "delete", second != "delete")


def test_sentences_around_edits_are_left_out() -> None:
    for key in ("markers", "aider"):
        body = f"I change it - see -- below:\n\n{WRITTEN[key].format('b', 'x', 2)}\n\nDone: a/b is x/y.\n- tested\n"
        assert applied(OLD, body)["body"] == "a\nx\nc\nd\n"
