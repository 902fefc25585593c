"""Keys of services that are no providers of models: Exa, Voyage, and whatever a plugin names.

1. They are kept, listed and removed like others. 2. A plugin gets its own. 3. What a plugin names wrongly is refused.

spec: @keys @plugins
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from engine_cli import engine

from engine import plugins
from engine.errors import NotFound, ValidationError
from engine.keys.services import holders, key_of
from engine.system.secrets import clean_environment, scrubbed

KEY = "zq-service-0123456789"


class Plugin:
    """Names services."""

    def __init__(self, services: Mapping[str, tuple[str, ...]]) -> None:
        self._services = services

    @plugins.hookimpl
    def engine_keys(self) -> Mapping[str, tuple[str, ...]]:
        return self._services


@contextmanager
def naming(services: Mapping[str, tuple[str, ...]]) -> Iterator[None]:
    plugin = Plugin(services)
    plugins.manager().register(plugin)
    try:
        yield
    finally:
        plugins.manager().unregister(plugin)


def listed(folder: Path, **env: str) -> dict[str, str]:
    """The source of each key, by provider."""
    done = engine(folder, "keys", "list", "--json", env=env)
    assert KEY not in done.stdout + done.stderr
    return {row["provider"]: row["source"] for row in json.loads(done.stdout)}


@pytest.mark.parametrize(("name", "variable"), [("exa", "EXA_API_KEY"), ("voyage", "VOYAGE_API_KEY")])
def test_a_service_has_a_key_like_a_provider(folder: Path, name: str, variable: str) -> None:
    assert name not in listed(folder)
    kept = engine(folder, "keys", "set", name, "--stdin", stdin=f"{KEY}\n")
    assert (kept.returncode, KEY in kept.stderr) == (0, False), kept.stderr
    assert listed(folder)[name] == "user"
    assert listed(folder, **{variable: "other"})[name] == "environment"
    assert listed(folder, **{f"ENGINE_{variable}": "other"})[name] == "environment"
    assert name in engine(folder, "doctor").stdout
    assert engine(folder, "keys", "rm", name).returncode == 0
    assert name not in listed(folder)


def test_a_slip_in_the_name_of_a_service_gets_a_hint(folder: Path) -> None:
    assert "did you mean voyage?" in engine(folder, "keys", "set", "voyag", "--stdin", stdin=KEY).stderr


def test_a_plugin_gets_the_key_of_its_service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WEATHER_TOKEN", f" {KEY} ")
    with naming({"weather": ("WEATHER_TOKEN",)}):
        assert "weather" in holders()
        assert key_of("weather", tmp_path) == KEY
    assert KEY not in scrubbed(f"said {KEY}"), "a key that was given is kept out of messages"
    assert KEY not in clean_environment({"COPY": KEY}).values()
    with pytest.raises(NotFound, match="unknown service 'weather'"):
        key_of("weather")


def test_files_give_a_plugin_its_key_only_where_they_may(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EXA_API_KEY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / ".env").write_text(f"EXA_API_KEY={KEY}\nexa=planted\n")
    assert key_of("exa", tmp_path, files=True) == KEY
    with pytest.raises(NotFound, match="no key for exa: set EXA_API_KEY, or run: engine keys set exa"):
        key_of("exa", tmp_path)


def test_a_variable_named_like_a_provider_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EXA_API_KEY", raising=False)
    monkeypatch.setenv("exa", KEY)
    with pytest.raises(NotFound):
        key_of("exa")


@pytest.mark.parametrize(
    "services",
    [
        {"openai": ("OPENAI_API_KEY",)},
        {"": ("X_KEY",)},
        {"Weather": ("X_KEY",)},
        {"a b": ("X_KEY",)},
        {"weather": ()},
        {"weather": ("lower_key",)},
        {"weather": ("X=Y",)},
    ],
)
def test_what_a_plugin_names_wrongly_is_refused(services: Mapping[str, tuple[str, ...]]) -> None:
    with naming(services), pytest.raises(ValidationError, match="hook engine_keys: "):
        holders()


def test_providers_load_no_library_for_a_look_at_keys(folder: Path) -> None:
    code = "import sys, engine.keys.services as s; s.holders(); print('httpx2' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=os.environ, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
