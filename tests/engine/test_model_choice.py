"""Which model a prompt gets: by a name without provider, by the only key that is set, or a hint that can be pasted.

spec: @model_names
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from engine_cli import ENGINE, SECONDS, engine, environment
from loopback import Answer, refusing, saying, serving

import engine as library
from engine.driving.model_choice import choose_model, full_name
from engine.errors import NotFound, ValidationError
from engine.keys.providers import PROVIDERS
from engine.models.local import is_installed, weights_path


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment without keys, addresses, models and weights."""
    for provider in PROVIDERS.values():
        for name in (*provider.keys, provider.url_variable):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ENGINE_MODEL", raising=False)
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    ("name", "keys", "found"),
    [
        ("gpt-4o", [], "openai/gpt-4o"),
        ("GPT-4o", ["OPENAI_API_KEY", "OPENROUTER_API_KEY"], "openai/GPT-4o"),
        ("gpt-4o", ["OPENROUTER_API_KEY"], "openrouter/openai/gpt-4o"),
        ("o3", ["ANTHROPIC_API_KEY"], "openai/o3"),
        ("claude-sonnet-4-5", ["ANTHROPIC_API_KEY"], "anthropic/claude-sonnet-4-5"),
        ("gemini-2.5-pro", ["GEMINI_API_KEY"], "google/gemini-2.5-pro"),
        ("grok-4", [], "xai/grok-4"),
        ("gpt-oss-120b", ["CEREBRAS_API_KEY"], "cerebras/gpt-oss-120b"),
        ("qwen2.5-coder:7b", [], "ollama/qwen2.5-coder:7b"),
        ("openai/gpt-4o", ["OPENROUTER_API_KEY"], "openai/gpt-4o"),
        ("scripted:gpt-4o", [], "scripted:gpt-4o"),
        ("local", [], "local"),
        ("nobody", [], "nobody"),
    ],
)
def test_a_name_finds_its_provider(
    db: library.Database, monkeypatch: pytest.MonkeyPatch, name: str, keys: list[str], found: str
) -> None:
    for key in keys:
        monkeypatch.setenv(key, "k")
    assert full_name(db, name) == found


def test_a_name_that_several_providers_have_is_asked_for_whole(
    db: library.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("CEREBRAS_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(key, "k")
    with pytest.raises(ValidationError) as caught:
        full_name(db, "gpt-oss-120b")
    named = [word for word in caught.value.message.split() if "/" in word]
    assert (
        [full_name(db, name) for name in named] == named == ["cerebras/gpt-oss-120b", "openrouter/openai/gpt-oss-120b"]
    )


def test_an_alias_comes_before_a_name(db: library.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    db.insert("models", alias="gpt-4o", actual="openai/other", created_at=0)
    assert choose_model(db, None, "gpt-4o") == "gpt-4o"
    assert choose_model(db, None, "gpt-5") == "openai/gpt-5"


@pytest.mark.parametrize("name", [name for name, provider in PROVIDERS.items() if provider.needs_key])
def test_one_key_is_enough_to_start(db: library.Database, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(PROVIDERS[name].keys[-1], "k")
    assert choose_model(db, None, None).startswith(f"{name}/")


def test_several_keys_ask_for_one_of_their_models(db: library.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("OPENAI_API_KEY", "XAI_API_KEY"):
        monkeypatch.setenv(key, "k")
    with pytest.raises(NotFound, match="--model openai/gpt-5-mini or --model xai/grok-4"):
        choose_model(db, None, None)


def test_a_server_of_the_users_own_needs_the_name_of_its_model(
    db: library.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(NotFound, match="OPENAI_BASE_URL names a server"):
        choose_model(db, None, None)


def test_without_a_model_the_hint_ends_in_a_command_that_can_be_pasted(folder: Path) -> None:
    done = engine(folder, "run", "Which port?")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    command = done.stderr.rpartition(": ")[2].rpartition("&& ")[2]
    assert engine(folder, *shlex.split(command)[1:], "--help").returncode == 0
    assert not (folder / ".engine").exists()


def test_an_alias_is_added_for_a_name_without_its_provider(folder: Path) -> None:
    assert engine(folder, "models", "add", "fast", "claude-haiku-4-5").returncode == 0
    listed = {row["alias"]: row["actual"] for row in json.loads(engine(folder, "models", "--json").stdout)}
    assert listed["fast"] == "anthropic/claude-haiku-4-5"


def test_no_warning_of_a_library_is_printed(folder: Path) -> None:
    # the provider's library warns of the temperature, which models that reason do not take
    with serving(saying('<update status="200">Done.</update>')) as server:
        done = subprocess.run(
            [*ENGINE, "run", "--no-repo", "--model", "gpt-5", "--temperature", "0.7", "Go"],
            cwd=folder,
            env=environment(folder.parent, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="k"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert (done.returncode, done.stdout) == (0, "Done.\n")
    assert "arn" not in done.stderr


def test_a_server_of_the_users_own_is_asked_for_the_names_to_choose_from(
    db: library.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = {"data": [{"id": "tiny"}, {"id": "$(rm -rf /)"}, {"id": 7}, {"id": "qwen3:8b"}]}
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    for said, told in ((offered, "--model openai/tiny or --model openai/qwen3:8b$"), ({}, "--model openai/NAME$")):
        with serving(refusing(200, said)) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            with pytest.raises(NotFound, match=told):
                choose_model(db, None, None)
        assert server.authorizations == ["Bearer k"]


# --- defaults of providers, and what they offer


def test_the_name_of_a_provider_means_its_default_model(db: library.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    assert choose_model(db, None, "anthropic") == "anthropic/claude-sonnet-4-5"
    for said, means in (("claude-x", "anthropic/claude-x"), ("anthropic/claude-y", "anthropic/claude-y")):
        db.execute("update settings set value = ? where name = 'anthropic_model'", (said,))
        assert choose_model(db, None, "anthropic") == means
    db.execute("update settings set value = 'openai/gpt-5' where name = 'openrouter_model'")
    assert choose_model(db, None, "openrouter") == "openrouter/openai/gpt-5"


def test_a_default_that_somebody_set_is_that_of_the_only_key(
    db: library.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XAI_API_KEY", "k")
    db.execute("update settings set value = 'grok-9' where name = 'xai_model'")
    assert choose_model(db, None, None) == "xai/grok-9"


def test_a_server_of_the_users_own_has_the_default_that_he_set(
    db: library.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    db.execute("update settings set value = 'tiny' where name = 'openai_model'")
    assert choose_model(db, None, None) == "openai/tiny"


def test_ollama_has_a_default_only_where_somebody_set_one(db: library.Database) -> None:
    with pytest.raises(
        NotFound, match=r"this provider has no default model; choose ollama/NAME .*, or set ollama_model"
    ):
        choose_model(db, None, "ollama")
    db.execute("update settings set value = 'qwen3:8b' where name = 'ollama_model'")
    assert choose_model(db, None, "ollama") == choose_model(db, None, None) == "ollama/qwen3:8b"


@pytest.mark.parametrize(
    ("slip", "meant"), [("opneai/gpt-5", "openai/gpt-5"), ("antropic/claude-x", "anthropic/claude-x"), ("fsat", "fast")]
)
def test_a_slip_in_a_name_gets_a_hint(db: library.Database, slip: str, meant: str) -> None:
    db.insert("models", alias="fast", actual="openai/gpt-5", created_at=0)
    with pytest.raises(NotFound, match=re.escape(f"did you mean {meant}?")):
        choose_model(db, None, slip)


OFFERED = {
    "data": [
        {"id": "models/zeta", "context_window": 32000},
        {"id": "pub/alpha", "context_length": 8192, "pricing": {"prompt": "0.00000025", "completion": "0.000002"}},
        {"id": "auto", "pricing": {"prompt": "-1", "completion": "-1"}},
        {"id": "\x1b[31mred"},
        {"id": 7},
    ]
}


def test_the_models_of_a_provider_are_listed_with_their_window_and_price(folder: Path) -> None:
    with serving(refusing(200, OFFERED)) as server:
        env = {"OPENROUTER_BASE_URL": server.url, "OPENROUTER_API_KEY": "sk-secret-figure"}
        done = engine(folder, "models", "list", "openrouter", "--json", env=env)
        table = engine(folder, "models", "list", "openrouter", env=env).stdout
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        {"model": "openrouter/auto", "context_length": None, "price": None},
        {"model": "openrouter/pub/alpha", "context_length": 8192, "price": "0.25/2"},
        {"model": "openrouter/zeta", "context_length": 32000, "price": None},
    ]
    assert server.authorizations == ["Bearer sk-secret-figure"] * 2
    assert "openrouter/pub/alpha" in table
    assert "secret" not in done.stdout + table
    assert not (folder / ".engine").exists()


def test_anthropic_is_asked_for_its_models_in_its_own_way(folder: Path) -> None:
    with serving(refusing(200, {"data": [{"type": "model", "id": "claude-x"}], "has_more": False})) as server:
        env = {"ANTHROPIC_BASE_URL": server.url.removesuffix("/v1"), "ANTHROPIC_API_KEY": "k"}
        done = engine(folder, "models", "list", "anthropic", "--json", env=env)
    assert [row["model"] for row in json.loads(done.stdout)] == ["anthropic/claude-x"]
    assert server.authorizations == [None]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (refusing(401, {}), "it rejects the key"),
        (refusing(404, {}), "it answers with status 404"),
        (refusing(301, {}, Location="http://127.0.0.1:9/"), "it answers with status 301"),
        (refusing(200, {"models": []}), "not a list of models"),
        (refusing(200, {"data": [[1]]}), "not a list of models"),
    ],
)
def test_a_provider_that_lists_no_models_is_told_in_one_line(folder: Path, answer: Answer, told: str) -> None:
    with serving(answer) as server:
        done = engine(
            folder, "models", "list", "xai", env={"XAI_BASE_URL": server.url, "XAI_API_KEY": "sk-secret-figure"}
        )
    assert (done.returncode, done.stdout) in ((1, ""), (2, ""))
    assert told in done.stderr
    assert "secret" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_provider_that_is_none_or_has_no_key_is_told(folder: Path) -> None:
    assert "did you mean openai?" in engine(folder, "models", "list", "opneai").stderr
    assert "ANTHROPIC_API_KEY" in engine(folder, "models", "list", "anthropic").stderr


def test_a_key_goes_before_the_small_model_of_this_machine(
    db: library.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights_path().parent.mkdir(parents=True, exist_ok=True)
    weights_path().write_bytes(b"GGUF")  # it is chosen, not read
    if not is_installed():
        pytest.skip("the runtime of the local model is not installed")
    assert choose_model(db, None, None) == "local"
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert choose_model(db, None, None) == "openai/gpt-5-mini"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with pytest.raises(NotFound, match="several providers have a key"):
        choose_model(db, None, None)


def test_what_a_key_makes_usable_is_listed(folder: Path) -> None:
    def listed(**env: str) -> dict[str, str]:
        rows = json.loads(engine(folder, "models", "--json", env=env).stdout)
        return {row["alias"]: row["usable"] for row in rows}

    assert "openai/gpt-5-mini" not in listed()
    found = listed(OPENAI_API_KEY="k", ANTHROPIC_API_KEY="k")
    assert found["openai/gpt-5-mini"] == found["anthropic/claude-sonnet-4-5"] == "yes"
    assert engine(folder, "models", "add", "fast", "openai/gpt-5-mini").returncode == 0
    assert "openai/gpt-5-mini" not in listed(OPENAI_API_KEY="k"), "it has a name of its own"
    assert "engine keys set PROVIDER" in engine(folder, "models").stderr
