"""Riddles and long sentences are found in what people read."""

from __future__ import annotations

import lint_words


def test_planted_riddles_are_found_once_each() -> None:
    planted = (
        "A name that there is. Of one that nobody drives. The model is told. Those that wait. All of it, where it can."
    )
    assert len(lint_words.riddles(planted)) == 6
    assert lint_words.riddles("The model reads the reason, and tries again.") == []


def test_a_long_sentence_is_found_and_a_list_is_parted() -> None:
    long = " ".join(["word"] * (lint_words.LONGEST + 1))
    assert lint_words.long_sentences(f"Short. {long}.") == [f"{long}."]
    half = " ".join(["word"] * (lint_words.LONGEST - 1))
    assert lint_words.long_sentences(lint_words.prose(f"- {half}\n- {half}\n")) == []


def test_code_tables_and_headings_are_no_prose() -> None:
    markdown = "# Those that\n\n```\nthose that\n```\n\n| those that |\n\nRun `those that` and [read](those/that.md).\n"
    assert lint_words.prose(markdown).split() == ["Run", "CODE", "and", "read."]


def test_all_texts_are_read_and_none_has_a_finding() -> None:
    texts = dict(lint_words.texts())
    assert list(texts) == ["README.md", "CONTRIBUTING.md", "SPEC.md, the guide", "help"]
    assert all(len(text) > 3_000 for text in texts.values())
    assert "Accept proposals of a run" in texts["help"]
    assert lint_words.main() == 0
