"""The answer cache: an answer of before for nearly the same prompt, where the packet is else the same.

1. Without being asked nothing is kept. 2. Nearly the same prompt gets the answer, at cost 0, and the record says so.
3. Another model, another packet, a turn that acted, an old answer: none is given. 4. What must not differ. 5. Without an
embedder the same prompt alone is found. 6. The oldest goes first. 7. The commands.

spec: @answer_cache
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import GO_ON, Clock, script
from engine_cli import engine as cli
from fresh import fresh
from test_discovery import _Letters, _Plugin

import engine
from engine import plugins
from engine.discovery import embedders
from engine.functions.answer_cache import prompts_agree

ASKED, NEAR = "Which rent do we pay?", "Which rent do we pay, pal?"
"""Prompts that have nearly the same letters."""
FIRST = '<update status="200">1,850 EUR</update>'
SECOND = '<update status="200">asked again</update>'


@pytest.fixture
def letters() -> Iterator[None]:
    plugin = _Plugin(_Letters())
    plugins.manager().register(plugin)
    yield
    plugins.manager().unregister(plugin)


def ask(db: engine.Database, model: str, prompt: str, **options: object) -> str:
    return db.run(prompt, model=model, answer_cache=True, **options).answer  # type: ignore[arg-type]


def test_nothing_is_kept_unasked(db: engine.Database, tmp_path: Path, letters: None) -> None:
    model = script(tmp_path, FIRST, SECOND)
    for _ in range(2):
        assert db.run(ASKED, model=model).answer == "1,850 EUR"
    assert not db.rows("select * from cached_answers")
    assert db.value("select value from settings where name = 'answer_cache'") == "0"


def test_nearly_the_same_prompt_has_the_answer_of_before(db: engine.Database, tmp_path: Path, letters: None) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"text": FIRST}) + "\n", encoding="utf-8")
    model = f"scripted:{path}"
    ask(db, model, ASKED, run="one")
    path.write_text(json.dumps({"text": SECOND}) + "\n", encoding="utf-8")
    result = db.run(NEAR, model=model, run="two", answer_cache=True)
    assert (result.answer, result.cost, result.usage["prompt_tokens"]) == ("1,850 EUR", 0.0, 0)
    hit = db.rows("select * from answer_hits")[0]
    assert (hit["run"], hit["from_run"], hit["from_turn"]) == ("two", "one", 1)
    assert 0.85 <= hit["similarity"] < 1
    told = db.value("select message from model_calls order by id desc limit 1")
    assert told.startswith("from the cache: turn 1 of run one, similarity 0.9")
    assert NEAR in db.value("select body from packet_texts where run = 'two' and role = 'user'"), (
        "the packet is its own"
    )
    assert db.value("select hits from cached_answers") == 1
    assert db.run(NEAR, model=model, answer_cache=False).answer == "asked again"


@pytest.mark.parametrize(
    ("answer", "options"),
    [
        ("<set path='known://a'>x</set>" + FIRST, {}),
        (FIRST, {"mode": "ask"}),
        (FIRST, {"persona": "reviewer"}),
        (FIRST, {"system_prompt": "Be brief."}),
    ],
    ids=["acted", "another mode", "another persona", "another packet"],
)
def test_an_answer_is_not_given(
    db: engine.Database, tmp_path: Path, letters: None, answer: str, options: dict[str, str]
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"text": answer}) + "\n", encoding="utf-8")
    ask(db, f"scripted:{path}", ASKED)
    path.write_text(json.dumps({"text": SECOND}) + "\n", encoding="utf-8")
    assert ask(db, f"scripted:{path}", ASKED, **options) == "asked again"
    assert not db.rows("select * from answer_hits")


def test_another_model_or_a_turn_that_goes_on_gives_none(db: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, GO_ON, FIRST)
    assert ask(db, model, ASKED) == ask(db, model, ASKED) == "1,850 EUR"
    assert [row["turn"] for row in db.rows("select turn from answer_hits")] == [2], "a turn that went on is asked again"
    assert ask(db, script(tmp_path, SECOND), ASKED) == "asked again"


def test_an_old_answer_is_given_no_more_and_the_oldest_goes_first(tmp_path: Path, letters: None) -> None:
    clock = Clock(step=1)
    with fresh(clock=clock) as db:
        model = script(tmp_path, FIRST)
        ask(db, model, ASKED)
        clock.now += 86_400_000
        ask(db, model, ASKED)
        assert not db.rows("select * from answer_hits")
        assert db.value("select count(*) from cached_answers") == 1
        db.execute("update settings set value = '2' where name = 'cache_answers'")
        for prompt in ("first 1", "second 2", "third 3"):
            ask(db, model, prompt)
        assert [row["prompt"] for row in db.rows("select prompt from cached_answers")] == ["third 3", "second 2"]


def test_without_an_embedder_the_same_prompt_alone_is_found(
    db: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedders, "embedder", lambda: None)
    model = script(tmp_path, FIRST)
    for prompt in (ASKED, NEAR, ASKED):
        ask(db, model, prompt)
    assert [row["similarity"] for row in db.rows("select similarity from answer_hits")] == [1.0]
    assert {row["is_found_by"] for row in db.rows("select * from cached_answers")} == {"prompt"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Convert EUR to USD", "Convert USD to EUR", 0),
        ("Is the shop open on Monday?", "Is the shop not open on Monday?", 0),
        ("It isn't open, is it?", "It is open, is it?", 0),
        ("The budget of 2025?", "The budget of 2026?", 0),
        ("How many people live in Berlin?", "How many people live in Munich?", 0),
        ("What does src/a.py do?", "What does src/b.py do?", 0),
        ("Is the board longer than the desk?", "Is the desk longer than the board?", 0),
        ("What is the rent of the workshop?", "what's the rent for the workshop", 1),
        ("Who approves refunds?", "Please tell me who approves refunds.", 1),
    ],
)
def test_what_must_not_differ(one: str, other: str, same: int) -> None:
    assert prompts_agree(one, other) == prompts_agree(other, one) == same


def test_answers_are_listed_counted_and_forgotten(tmp_path: Path) -> None:
    model = script(tmp_path, FIRST)
    for _ in range(2):
        assert cli(tmp_path, "run", "--cache", "--model", model, ASKED).stdout == "1,850 EUR\n"
    assert ASKED in cli(tmp_path, "cache", "list").stdout
    stats = json.loads(cli(tmp_path, "cache", "stats", "--json").stdout)
    assert (stats["answers"], stats["hits"]) == (1, 1)
    assert "1 answer forgotten" in cli(tmp_path, "cache", "clear").stderr
    assert cli(tmp_path, "cache", "list").stdout == ""
    assert cli(tmp_path, "cache", "clear", "--run", "none").returncode == 2
