"""Which model a prompt gets: by a name without provider, by the only key that is set, or a hint that can be pasted.

spec: @model_names
"""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from engine_cli import ENGINE, SECONDS, engine, environment
from loopback import refusing, saying, serving

import engine as library
from engine.driving.model_choice import choose_model, full_name
from engine.errors import NotFound, ValidationError
from engine.models.providers import PROVIDERS


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
