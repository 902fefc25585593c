"""Edits, patches, diffs and summaries hold their limits, and say which they broke; nothing is done in part.

spec: @limits @edit_syntax @patches @symbols
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from timing import check_cost

from engine.functions import limits
from engine.functions.edits.bodies import edit_apply
from engine.functions.edits.comparison import edit_diff
from engine.functions.edits.patches import patch_apply, patch_parse
from engine.functions.texts import body_summary

SOURCE = "".join(f"        line number {number} = {number * 7}\n" for number in range(30_000))


def edited(current: str, body: str) -> dict[str, Any]:
    return dict(json.loads(edit_apply(current, body) or ""))


@pytest.mark.parametrize(
    ("current", "body", "said"),
    [
        ("a" * 100, "\n".join(["s/a/aaaaaaaaaaaaaaaaaaaa/g"] * 8), "more than 8,000,000 characters"),
        ("a" * 400_000, "s/(?=(.*))/\\1/gs", "more than 8,000,000 characters"),
        ("a" * 400_000, "s/(a+)/" + "\\1" * 400 + "/", "more than 8,000,000 characters"),
        ("a" * 200_000, "s/[a]/b/g", "more than 100,000 times"),
        ("a" * 5_000 + "b", "s/(a|aa)+$/b/g", "longer than 0.4 s"),
    ],
)
def test_substitutions_end_within_their_limits(current: str, body: str, said: str) -> None:
    result = edited(current, body)
    assert (result["state"], result["outcome"]) == ("failed", "validation")
    assert re.search(said, result["message"])
    assert "Nothing was changed" in result["message"]


def test_a_literal_substitution_changes_any_number_of_places() -> None:
    assert edited("a " * 300_000, "s/ /_/g")["body"] == "a_" * 300_000


def test_thousands_of_searches_in_a_large_text_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EDIT_SECONDS", 0.3)
    blocks = (f"<<SEARCH\nline number {n} = {n * 7}\nSEARCH\n<<REPLACE\nx\nREPLACE\n" for n in range(3000))
    result = edited(SOURCE, "".join(blocks))
    assert result["outcome"] == "validation"
    assert "longer than 0.3 s" in result["message"]


@pytest.mark.parametrize("anchor", ["@@", "@@ line number {}"])
def test_thousands_of_hunks_in_a_large_text_end(monkeypatch: pytest.MonkeyPatch, anchor: str) -> None:
    monkeypatch.setattr(limits, "EDIT_SECONDS", 0.3)
    hunks = (f"{anchor.format(n)}\n-  line  number {n + 1} = {n * 7 + 7}\n+  x\n" for n in range(20_000, 23_000))
    parsed = json.loads(patch_parse(f"*** Begin Patch\n*** Update File: f\n{''.join(hunks)}*** End Patch") or "")
    result = json.loads(patch_apply(SOURCE, json.dumps(parsed["files"][0])) or "")
    assert result["outcome"] == "validation"
    assert "longer than 0.3 s" in result["message"]


LONG = "x" * 1_000_000
MANY = "".join(f"{'    ' * (number % 5)}line {number % 700} of {number}\n" for number in range(30_000))


@pytest.mark.parametrize(
    ("current", "old", "new"),
    [
        (f"a\n{LONG}\nb\n", "b", "c"),
        (f"a\n  {LONG}\nb\n", LONG, LONG + "y"),
        (f"a\n{LONG}\nb\n", "nowhere", "c"),
        (f"a\n{LONG}\nb\n", LONG + "y", "c"),
        (f"a\n{LONG} end\nb\n", "end", "c"),
        (" " * 1_000_000 + "\nb\n", "b", "c"),
        ("\n" * 200_000, "", "c"),
        ("\n" * 60_000 + "b\n", "\n" * 20_000 + "b", "c"),
        (MANY, "line 3 of 21003", "c"),
        (MANY, "line 3 of 7000x\nline 4", "c"),
        (MANY, "\n".join(f"line {number % 700} of {number}" for number in range(20_000)), "c"),
        ("a b\n" * 60_000, "a b\n" * 20_000 + "a c", "c"),
        ("\t" * 500_000 + "a\n" + "\t" * 400_000 + "b\n", " " * 500_000 + "a", " " * 300_000 + "c"),
    ],
)
def test_edits_of_long_lines_and_of_many_are_quick(current: str, old: str, new: str) -> None:
    """In all notations; the result is an outcome, whatever it is."""
    hunk = "\n".join([*(f"-{line}" for line in old.split("\n")), *(f"+{line}" for line in new.split("\n"))])
    codex = json.loads(patch_parse(f"*** Begin Patch\n*** Update File: f\n@@ line 2 of\n{hunk}\n*** End Patch") or "")
    assert codex["files"]
    for body in (
        f"<<SEARCH_1\n{old}\nSEARCH_1\n<<REPLACE_1\n{new}\nREPLACE_1",
        f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE",
        f"@@\n{hunk}",
        f"<<REPLACE 1:abc|{old[:100]}\n{new}\nREPLACE",
    ):
        check_cost(6, lambda body=body: edit_apply(current, body))
    check_cost(6, lambda: patch_apply(current, json.dumps(codex["files"][0])))


@pytest.mark.parametrize(
    "body",
    [
        "<<REPLACE 2:ff9|" + "a " * 500_000 + "\nx\nREPLACE",
        "<<REPLACE 2:ff9|" + " " * 1_000_000 + "x\nx\nREPLACE",
        "<<REPLACE " + "[" * 1_000_000,
        "<<DELETE " + "1" * 1_000_000 + " DELETE",
        "<<REPLACE\n" + "9:abc|" * 200_000 + "\nREPLACE",
        "s/a/b/;\n" * 120_000 + "2s/a/b/",
        "s/" + "\\" * 900_000 + "/b/x",
        "-a\n+b\n" * 200_000,
        "<<SEARCH\n" + "\n" * 500_000 + "SEARCH\n<<REPLACE\n\nREPLACE",
    ],
)
def test_hostile_edits_cost_linear_time(body: str) -> None:
    check_cost(6, lambda: edit_apply("a\nb\n", body))


@pytest.mark.parametrize("different", [1, 100])
def test_diffs_of_large_texts_are_quick_and_right(different: int) -> None:
    count = 20_000
    before = "".join(f"line {number % (count // different)}\n" for number in range(count))
    after = "".join(f"line {number * 7 % (count // different)}\n" for number in range(count))
    every_other = "".join(f"line {n}\n" if n % 2 else f"other {n}\n" for n in range(count))
    for old, new in ((before, after), (before, every_other)):
        check_cost(6, lambda old=old, new=new: edit_diff("f", old, new))
        parsed = json.loads(patch_parse(edit_diff("f", old, new)) or "")
        assert json.loads(patch_apply(old, json.dumps(parsed["files"][0])) or "")["body"] == new


@pytest.mark.parametrize(
    "suffix", ["cs", "java", "ts", "tsx", "cpp", "c", "rs", "go", "kt", "scala", "swift", "php", "rb", "js", "sh"]
)
@pytest.mark.parametrize("piece", ["a<", "(", "{", "a(b<"])
def test_a_summary_of_what_a_grammar_reads_in_many_ways_is_quick(suffix: str, piece: str) -> None:
    source = piece * (98_000 // len(piece))
    check_cost(6, lambda: body_summary(f"a.{suffix}", source))


@pytest.mark.parametrize("base", ["-" * 1500 + "a", "a." * 20_000 + "a", "a(" * 90 + ")" * 90, "lambda: " * 900 + "1"])
def test_a_deep_expression_in_python_has_a_summary(base: str) -> None:
    assert body_summary("a.py", "class A(" + base + "): pass\n" + "x = 1\n" * 300)
