"""What answers cost: the provider's own figure, a person's price, the price list, nothing where a model is local.

1. Which of them counts. 2. A price comes from an alias, an option or the environment. 3. What is no price is refused.
4. Whoever is told of the app.

spec: @model_prices @models_table
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import script
from engine_cli import engine as command
from loopback import Answer, Handler, serving
from servers import chat_quirks

import engine
from engine.driving.model_choice import sync_environment_models
from engine.errors import ValidationError
from engine.keys.keys import Keys
from engine.keys.providers import PROVIDERS
from engine.models.aliases import add_alias, parsed_price
from engine.models.protocol import Price, Usage
from engine.models.providers import endpoint, is_local

pytest.importorskip("httpx2")

TOLD = {"usage": {"prompt_tokens": 1_000_000, "cached_tokens": 400_000, "completion_tokens": 10_000}, "text": "Fine."}


def answering(**usage: Any) -> Answer:
    """A server's answer with this usage."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        counted = chat_quirks.counted(chat_quirks.used(1_000_000, 10_000, **usage))
        for frame in (chat_quirks.text("Fine.", finish="stop"), counted, chat_quirks.DONE):
            handler.wfile.write(frame.encode())

    return answer


def asked(
    db: engine.Database, monkeypatch: pytest.MonkeyPatch, answer: Answer, model: str = "openai/tiny"
) -> tuple[Any, Any]:
    """The result of a prompt that a server on loopback answers, and the headers that it got."""
    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        monkeypatch.setenv("OPENROUTER_API_KEY", "sk-none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENROUTER_BASE_URL", server.url)
        return db.run("Hello", model=model), server.headers_asked


@pytest.mark.parametrize(
    ("price", "cost"),
    [
        ((1.0, 10.0, None), 1.1),
        ((1.0, 10.0, 0.1), 0.6 + 0.04 + 0.1),
        ((0.0, 0.0, None), 0.0),
        (None, None),
    ],
)
def test_a_persons_price_makes_a_cost_of_tokens(
    db: engine.Database, tmp_path: Path, price: tuple[float, float, float | None] | None, cost: float | None
) -> None:
    actual = script(tmp_path, TOLD)
    add_alias(db, "mine", actual, price=price)
    for model in ("mine", actual):
        result = db.run("Hello", model=model)
        assert result.cost == (None if cost is None else pytest.approx(cost)), model


def test_a_cost_that_the_adapter_states_comes_before_a_price(db: engine.Database, tmp_path: Path) -> None:
    told = {**TOLD, "usage": {**TOLD["usage"], "cost": 0.5}}  # type: ignore[dict-item]
    add_alias(db, "mine", script(tmp_path, told), price=(1.0, 10.0, None))
    assert db.run("Hello", model="mine").cost == 0.5


def test_tokens_that_nobody_reported_have_no_cost_unless_they_are_free(db: engine.Database, tmp_path: Path) -> None:
    for alias, price, cost in (("paid", (1.0, 10.0, None), None), ("free", (0.0, 0.0, None), 0.0)):
        add_alias(db, alias, script(tmp_path, "Fine."), price=price)
        assert db.run("Hello", model=alias).cost == cost


def test_of_two_aliases_each_has_its_price_and_the_name_that_of_the_first(db: engine.Database, tmp_path: Path) -> None:
    actual = script(tmp_path, TOLD)
    add_alias(db, "a", actual)
    add_alias(db, "b", actual, price=(1.0, 10.0, None))
    add_alias(db, "c", actual, price=(2.0, 20.0, None))
    costs = [db.run("Hello", model=model).cost for model in ("a", "b", "c", actual)]
    assert costs == [pytest.approx(each) for each in (1.1, 1.1, 2.2, 1.1)]
    rows = db.rows("select model, price_input as i, price_cached as c from model_prices order by model")
    assert [(row["i"], row["c"]) for row in rows if row["model"] in "abc"] == [(1.0, 1.0), (2.0, 2.0)]


def test_a_server_on_loopback_costs_nothing_unless_somebody_says_so(
    db: engine.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(db, monkeypatch, answering())[0].cost == 0.0
    add_alias(db, "proxied", "openai/tiny", price=(1.0, 10.0, None))
    assert asked(db, monkeypatch, answering(), "proxied")[0].cost == pytest.approx(1.1)
    assert asked(db, monkeypatch, answering(cost=0.25), "proxied")[0].cost == 0.25
    assert db.tuples("select cost_from from turns order by id") == [("local",), ("person",), ("provider",)]


@pytest.mark.parametrize(
    ("provider", "url", "name", "local"),
    [
        ("openai", "http://127.0.0.1:8080/v1", "tiny", True),
        ("openai", "http://localhost:8080/v1", "tiny", True),
        ("openai", "http://[::1]:8080/v1", "tiny", True),
        ("openai", "http://box.example:8080/v1", "tiny", False),
        ("openai", "http://127.0.0.1.example.org/v1", "tiny", False),
        ("openai", "", "gpt-5", False),
        ("openai", "http://[bad", "tiny", False),
        ("ollama", "", "llama3", True),
        ("ollama", "http://box:11434", "llama3", True),
        ("ollama", "", "gpt-oss:120b-cloud", False),
        ("ollama", "https://ollama.com", "gpt-oss:120b", False),
        ("anthropic", "", "claude", False),
    ],
)
def test_which_models_are_local(provider: str, url: str, name: str, local: bool) -> None:
    found = PROVIDERS[provider]
    keys = Keys(environment={found.keys[0]: "k", found.url_variable: url})
    assert is_local(endpoint(found, keys), name) is local


# -- 2. where a price comes from


def test_models_add_takes_a_price_and_shows_it(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(json.dumps(TOLD) + "\n")
    done = command(tmp_path, "models", "add", "mine", "scripted:s.jsonl", "--price", "1/10/0.1")
    assert done.returncode == 0, done.stderr
    (row,) = [each for each in json.loads(command(tmp_path, "models", "--json").stdout) if each["alias"] == "mine"]
    assert row["price"] == "1/10/0.1"
    told = command(tmp_path, "run", "--model", "mine", "Hello").stderr.splitlines()[-1]
    assert "$0.7400" in told
    assert "0.7400" in command(tmp_path, "costs").stdout
    command(tmp_path, "models", "add", "mine", "scripted:s.jsonl")
    (row,) = [each for each in json.loads(command(tmp_path, "models", "--json").stdout) if each["alias"] == "mine"]
    assert row["price"] is None


def test_the_environment_states_prices(db: engine.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_MODEL_fast", "openai/tiny")
    for stated, kept in (("0.25/2", (0.25, 2.0, None)), ("$1 / $2 / 0", (1.0, 2.0, 0.0)), ("", (None, None, None))):
        monkeypatch.setenv("ENGINE_PRICE_fast", stated)
        sync_environment_models(db)
        row = db.row("select price_input, price_output, price_cached from models where alias = 'fast'")
        assert row is not None
        assert tuple(row.values()) == kept
    monkeypatch.setenv("ENGINE_PRICE_fast", "cheap")
    with pytest.raises(ValidationError, match="ENGINE_PRICE_fast: price 'cheap': write the price as IN/OUT"):
        sync_environment_models(db)


# -- 3. what is no price


@pytest.mark.parametrize(
    "text", ["", "1", "1/", "/1", "a/b", "1/2/3/4", "-1/2", "nan/1", "1/inf", "1e9/1", "1,5/2", "x" * 9999]
)
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="write the price as IN/OUT or IN/OUT/CACHED"):
        parsed_price(text)


def test_a_cost_is_never_negative_whatever_the_figures() -> None:
    price = Price(1.0, 2.0, 0.5)
    assert price.of(Usage(10, 10**9, 0, 0)) == pytest.approx(5e-6)
    assert price.of(Usage(10, None, None, None)) is None


# -- 4. the app's name


def test_openrouter_is_told_of_the_app_and_nobody_else(db: engine.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """spec: @attribution"""
    for name, value in (("openrouter_title", "Ada's desk"), ("openrouter_referer", "https://desk.example")):
        db.execute("update settings set value = ? where name = ?", (value, name))
    _, (told,) = asked(db, monkeypatch, answering(), "openrouter/pub/tiny")
    assert (told["X-Title"], told["HTTP-Referer"]) == ("Ada's desk", "https://desk.example")
    _, (other,) = asked(db, monkeypatch, answering())
    assert other["X-Title"] is None
    assert other["HTTP-Referer"] is None


def test_openrouter_is_told_nothing_unless_somebody_says_so(
    db: engine.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """spec: @attribution"""
    _, (told,) = asked(db, monkeypatch, answering(), "openrouter/pub/tiny")
    assert told["X-Title"] is None


def test_a_name_that_no_header_can_hold_is_a_failure_in_one_line(
    db: engine.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """spec: @attribution"""
    db.execute("update settings set value = ? where name = 'openrouter_title'", ("a\r\nX-Evil: 1",))
    result, told = asked(db, monkeypatch, answering(), "openrouter/pub/tiny")
    assert (result.status, told) == (500, [])
    assert "header X-Title" in result.reason
    assert "\n" not in result.reason
