"""Tokens are counted where a tokenizer is at hand.

spec: @tokenizers
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script

import engine
from engine import plugins
from engine.models.counting import counter


class Words:
    """A tokenizer that counts words."""

    def __init__(self) -> None:
        self.counted: list[str] = []

    def __call__(self, text: str) -> int:
        self.counted.append(text)
        return len(text.split())

    @plugins.hookimpl
    def engine_tokenizer(self, model: str) -> Words | None:
        return self if model.startswith("scripted:") else None


@pytest.fixture
def words() -> Iterator[Words]:
    tokenizer = Words()
    plugins.manager().register(tokenizer)
    yield tokenizer
    plugins.manager().unregister(tokenizer)


def test_a_plugins_tokenizer_counts_in_place_of_the_rate(db: engine.Database, tmp_path: Path, words: Words) -> None:
    model = script(
        tmp_path, f"<set path='known://a'>{'word ' * 150}</set>{GO_ON}", f"<get path='known://a'/>{GO_ON}", DONE
    )
    assert db.run("Go", model=model, run="demo").status == 200
    for row in db.rows("select sequence, context_tokens from turns"):
        texts = db.rows("select body from packet_texts where turn = ?", (row["sequence"],))
        true = sum(len(text["body"].split()) for text in texts)
        assert true <= row["context_tokens"] <= 1.04 * true
    assert db.value("select chars_per_token from loops") > 3
    assert len(words.counted) == len(set(words.counted)), "each part is counted once"


def test_no_tokenizer_is_asked_where_the_setting_says_none(db: engine.Database, tmp_path: Path, words: Words) -> None:
    db.execute("update settings set value = 'none' where name = 'tokenizer'")
    assert db.run("Go", model=script(tmp_path, DONE)).status == 200
    assert words.counted == []
    assert db.value("select chars_per_token from loops") == 2


class Broken(Words):
    """A tokenizer that does not count as it should."""

    def __init__(self, outcome: object) -> None:
        super().__init__()
        self.outcome = outcome

    def __call__(self, text: str) -> Any:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@pytest.mark.parametrize("outcome", [RuntimeError("broken"), None, "many", -5, 0])
def test_a_tokenizer_that_cannot_count_leaves_an_estimate(db: engine.Database, tmp_path: Path, outcome: object) -> None:
    tokenizer = Broken(outcome)
    plugins.manager().register(tokenizer)
    try:
        assert db.run("Go", model=script(tmp_path, GO_ON, DONE)).status == 200
    finally:
        plugins.manager().unregister(tokenizer)
    assert db.rows("select distinct chars_per_token from turns") == [{"chars_per_token": 2}]


OPTIONAL = "counts with a library of the extra 'tokenizers', which is not installed"


def tokenizer_file(folder: Path) -> str:
    """The setting for a tokenizer.json that makes a token of each word and of each mark between them."""
    tokenizers = pytest.importorskip("tokenizers", reason=OPTIONAL)
    table = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0, "<|end|>": 1}, unk_token="?"))
    table.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    table.post_processor = tokenizers.processors.TemplateProcessing(
        single="<|end|> $A <|end|>", special_tokens=[("<|end|>", 1)]
    )
    file = folder / "tokenizer.json"
    table.save(str(file))
    return f"tokenizers:{file}"


def tiktoken_encoding(monkeypatch: pytest.MonkeyPatch) -> str:
    """The setting for an encoding of tiktoken that makes a token of each byte and of " the"; it is not fetched."""
    tiktoken = pytest.importorskip("tiktoken", reason=OPTIONAL)
    ranks = {bytes([number]): number for number in range(256)} | {b" t": 256, b"he": 257, b" the": 258}
    table = tiktoken.Encoding(
        "bytes", pat_str=r" ?\S+|\s+", mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 300}
    )
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "bytes", table)
    return "tiktoken:bytes"


def test_a_tokenizer_file_counts_what_it_would_make_of_a_text(tmp_path: Path) -> None:
    count = counter(tokenizer_file(tmp_path), "openai/gpt-4o")
    assert count is not None
    assert [count(text) for text in ("", "one", "one two, three\n\tfour", "你好 é🎉")] == [0, 1, 5, 3]


def test_tiktoken_counts_what_it_would_make_of_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    count = counter(tiktoken_encoding(monkeypatch), "openai/gpt-4o")
    assert count is not None
    assert [count(text) for text in ("", "one", "see the end", "你好")] == [0, 3, 8, 6]
    assert count("<|endoftext|>") == 13, "in a text it is no mark of the model's"


@pytest.mark.parametrize("library", ["tokenizers", "tiktoken"])
def test_a_run_is_counted_with_the_tokenizer_of_the_setting(
    db: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    setting = tokenizer_file(tmp_path) if library == "tokenizers" else tiktoken_encoding(monkeypatch)
    db.execute("update settings set value = ? where name = 'tokenizer'", (setting,))
    answers = [f"<set path='known://{word}'>{word * 90}</set>{GO_ON}" for word in ("word ", "字, ", "0 1 2 ")]
    assert db.run("Go", model=script(tmp_path, *answers, DONE), run="demo").status == 200
    count = counter(setting, "")
    assert count is not None
    for row in db.rows("select sequence, context_tokens from turns"):
        true = sum(
            count(text["body"]) for text in db.rows("select body from packet_texts where turn = ?", (row["sequence"],))
        )
        assert true <= row["context_tokens"] <= 1.04 * true
    assert (library == "tiktoken") == (db.value("select chars_per_token from loops") < 1.1)


def test_a_file_that_is_no_tokenizer_is_told(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason=OPTIONAL)
    (tmp_path / "tokenizer.json").write_text('{"not": "one"}', encoding="utf-8")
    for file in ("tokenizer.json", "nothing.json", "."):
        with pytest.raises(engine.NotFound, match=r"is not a tokenizer\.json"):
            counter(f"tokenizers:{tmp_path / file}", "")


@pytest.mark.parametrize(
    ("setting", "status", "says"),
    [
        ("abacus", 400, "is not one of none, local, tiktoken"),
        ("tokenizers", 400, "is not one of"),
        ("tokenizers:", 400, "is not one of"),
        ("local:other", 400, "is not one of"),
        (":o200k_base", 400, "is not one of"),
        ("tokenizers:/nowhere/tokenizer.json", 404, "tokenizer"),
        ("tiktoken:no_such_encoding", 404, "tiktoken"),
        ("TikToken:no_such_encoding", 404, "tiktoken"),
    ],
)
def test_a_tokenizer_that_is_not_there_is_told(setting: str, status: int, says: str) -> None:
    with pytest.raises(engine.EngineError, match=says) as caught:
        counter(setting, "openai/gpt-4o")
    assert caught.value.status == status
    assert "\n" not in str(caught.value)


def test_a_prompt_with_an_unknown_tokenizer_leaves_nothing(db: engine.Database, tmp_path: Path) -> None:
    db.execute("update settings set value = 'abacus' where name = 'tokenizer'")
    with pytest.raises(engine.ValidationError, match="abacus"):
        db.run("Go", model=script(tmp_path, DONE))
    assert db.value("select count(*) from runs") == 0


def test_other_models_have_no_tokenizer_of_their_own() -> None:
    assert counter("", "openai/gpt-4o") is None


@pytest.mark.local_model
def test_the_local_model_counts_with_its_own_tokenizer() -> None:
    count = counter("", "local")
    assert count is not None
    assert count("hello world") == 2
    assert count("你好") > 2
