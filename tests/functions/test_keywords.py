"""Keywords, star-commands and rule files: what a text holds is what a plain search finds.

1. Words are found as by a search of each, with any letters and letter cases. 2. Whole words have none beside them. 3. What
was learned from other texts changes nothing. 4. Star-commands, paths and rules are told from what only looks like them.
5. A line holds no fence.

spec: @rule_domains @rule_files @rule_section
"""

from __future__ import annotations

import json
import re

from hypothesis import example, given
from hypothesis import strategies as st

from engine.functions.fences import fence_line
from engine.functions.rules.files import rules_in, rules_parse, rules_text
from engine.functions.rules.keywords import READ_CHARACTERS, keywords_find, paths_named, star_commands

LETTERS = st.text(st.sampled_from("aAbBcß.%_*ſKİi é"), max_size=6)
TEXTS = st.text(st.sampled_from("aAbBcßS.%_*ſKİi é\n"), max_size=60)


def found(text: str, words: list[str], *, whole: bool = False) -> list[str]:
    answer = keywords_find(text, "\n".join(words), int(whole))
    assert answer is not None
    result: list[str] = json.loads(answer)
    return result


@given(text=TEXTS, words=st.lists(LETTERS, min_size=1, max_size=12))
@example(text="STRASSE", words=["straße", " Tra ", "", "sse", "s"])
@example(text="ushers", words=["he", "she", "hers", "his", "h", "ushers", "sher"])
def test_words_are_found_as_by_a_search_of_each(text: str, words: list[str]) -> None:
    folded = text.casefold()
    assert found(text, words) == [word for word in words if word.strip() and word.strip().casefold() in folded]


@given(text=TEXTS, words=st.lists(LETTERS, min_size=1, max_size=12))
@example(text="test tests", words=["test", "est"])
@example(text="c++11", words=["c++", "c"])
def test_whole_words_have_no_letter_beside_them(text: str, words: list[str]) -> None:
    folded = text.casefold()
    assert found(text, words, whole=True) == [
        word
        for word in words
        if word.strip() and re.search(rf"(?<!\w){re.escape(word.strip().casefold())}(?!\w)", folded)
    ]


def test_what_was_read_before_changes_nothing() -> None:
    words = ["abab", "bab", "ba", "zz"]
    assert found("xabaybaab", words) == ["ba"]
    assert found("zabababz", words) == ["abab", "bab", "ba"]
    found("ab" * READ_CHARACTERS, words)
    assert found("zz ba", words) == ["ba", "zz"]


def test_nothing_is_found_in_nothing() -> None:
    assert keywords_find(None, "a", 0) is None
    assert keywords_find("a", None, 0) is None
    assert found("", ["a", ""]) == []


def test_star_commands_are_names_behind_a_star() -> None:
    text = "*Brief a*b **bold** *brief\n*2x *x_1*y *é *"
    assert json.loads(star_commands(text, 0) or "") == ["brief", "b", "bold", "x_1", "y"]
    assert json.loads(star_commands(text, 1) or "") == ["brief", "x_1"]
    assert star_commands(None, 0) is None


def test_paths_are_told_from_words_and_addresses() -> None:
    text = "Fix `src/a.py:12:3`, (./b.md). See http://x.org/y and .env; stop... and/or 'tests/**'?"
    assert json.loads(paths_named(text) or "") == ["src/a.py", "b.md", ".env", "and/or"]
    assert json.loads(paths_named("/".join("ab" * 2_000)) or "") == []


def test_a_rule_is_what_stands_behind_a_dash() -> None:
    text = "# Title\r\n\r\n- One\r\n  -  two \r\n-three\n* four\n- \n- # five\ntext - six\n1. seven"
    assert json.loads(rules_parse(text) or "") == ["One", "two", "# five"]
    assert rules_parse(None) is None


@given(rules=st.lists(st.text(max_size=20)))
def test_rules_are_read_back_as_they_were_written(rules: list[str]) -> None:
    plain = [" ".join(rule.split()) for rule in rules if rule.split()]
    assert rules_in(rules_text("name", plain)) == plain


@given(text=st.text(st.sampled_from(":<\n\t a\u202e\x00\x1b"), max_size=30))
def test_a_line_holds_no_fence_and_nothing_unseen(text: str) -> None:
    line = fence_line(text)
    assert line is not None
    assert ":::" not in line
    assert not line or line.isprintable()
    assert fence_line(line) == line
