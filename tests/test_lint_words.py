"""Riddles and long sentences are found in what people read."""

from __future__ import annotations

import re

import lint_words
import pytest


@pytest.mark.parametrize("riddle", lint_words.RIDDLES)
def test_each_riddle_is_found_in_its_sentence(riddle: str) -> None:
    sentence = lint_words.RIDDLES[riddle]
    assert re.search(riddle, sentence, re.IGNORECASE)
    assert lint_words.riddles(f"Run it.\n\n{sentence}")
    assert lint_words.riddles(sentence)


def test_plain_sentences_have_no_riddle() -> None:
    plain = "The model reads the reason, and tries again. What is the port? Show what is missing: there is no file."
    assert lint_words.riddles(plain) == []
    assert lint_words.riddles("It waits for that\n\nthere is no file") == [], "a paragraph ends what stands before it"


def test_a_long_sentence_is_found_and_a_list_is_parted() -> None:
    long = " ".join(["word"] * (lint_words.LONGEST + 1))
    assert lint_words.long_sentences(f"Short. {long}.") == [f"{long}."]
    assert lint_words.long_sentences(long.replace(" ", ": ", 1)) == [long.replace(" ", ": ", 1)]
    half = " ".join(["word"] * (lint_words.LONGEST - 1))
    assert lint_words.long_sentences(lint_words.prose(f"- {half}\n- {half}\n")) == []


def test_code_tables_and_headings_are_no_prose() -> None:
    markdown = "# Those that\n\n```\nthose that\n```\n\n| those that |\n\nRun `those that` and [read](those/that.md).\n"
    assert lint_words.prose(markdown).split() == ["Run", "CODE", "and", "read."]


def test_all_texts_are_read_and_none_has_a_finding() -> None:
    texts = dict(lint_words.texts())
    assert list(texts) == [
        "README.md",
        "CONTRIBUTING.md",
        "SPEC.md, the guide",
        "help",
        "messages of sql/",
        "messages of engine/ and functions/",
    ]
    assert all(len(text) > 3_000 for text in texts.values())
    assert "Accept proposals of a run" in texts["help"]
    assert ": there is no such run" in texts["messages of sql/"]
    assert "the prompt is empty; write what the run should do" in texts["messages of engine/ and functions/"]
    assert lint_words.main() == 0
