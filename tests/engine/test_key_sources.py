"""Which of several keys counts, and what an app, a model and a planted `.env` get.

1. The first source that has a key counts; a blank one has none. A source that is named is the only one.
2. A planted `.env` gives a key that is named at each prompt, and nothing else.

spec: @keys
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine_cli import engine
from loopback import Answer, Handler, saying, serving

import engine as library
from engine.errors import EngineError, NotFound, ValidationError
from engine.keys.keys import Keys, check_source
from engine.keys.providers import PROVIDERS
from engine.keys.stores import Store, project_store, user_store
from engine.models.protocol import ModelError
from engine.models.providers import endpoint
from engine.system.secrets import clean_environment, scrubbed

OPENAI = PROVIDERS["openai"]
HINT = "sk-0123456789"


def keep(home: Path, key: str, provider: str = "openai") -> Path:
    """Keep a key in the user's store of that home; returns its path."""
    store = Store("user", home / ".config" / "engine" / "keys.toml")
    store.set(provider, key)
    return store.place


def test_the_first_source_that_has_a_key_counts_and_a_blank_one_has_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.parent / "config"))
    environ = {"OPENAI_API_KEY": " ", "ENGINE_OPENAI_API_KEY": ""}
    keys = Keys(files=True, environment=environ).at(folder)
    found = []

    def look() -> None:
        key = keys.find(OPENAI)
        found.append((key.source, key.value) if key else None)

    look()
    user_store().set("openai", "k-user")
    look()
    (folder / ".engine").mkdir()
    store = project_store(folder)
    assert store is not None
    store.set("openai", "k-project")
    look()
    (folder / ".env").write_text(
        "OPENAI_API_KEY=\nexport OPENAI_API_KEY = 'k-dotenv' # of the team\nOPENAI_API_KEY=''\n"
    )
    look()
    environ["OPENAI_API_KEY"] = "k-plain"
    look()
    environ["ENGINE_OPENAI_API_KEY"] = "k-prefixed"
    look()
    assert found == [
        None,
        ("user", "k-user"),
        ("project", "k-project"),
        (".env", "k-dotenv"),
        ("environment", "k-plain"),
        ("environment", "k-prefixed"),
    ]
    assert Keys(environment={}).at(folder).find(OPENAI) is None  # what an app has
    assert "k-" not in repr([keys, *keys.all(OPENAI)])


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("OPENAI_API_KEY=abc", "abc"),
        ("  export OPENAI_API_KEY =  abc  # note", "abc"),
        ('OPENAI_API_KEY="a b#c" # note', "a b#c"),
        (r'OPENAI_API_KEY="a\"b"', 'a"b'),
        ("OPENAI_API_KEY='$HOME'", "$HOME"),
        ("OPENAI_API_KEY=$HOME", "$HOME"),
        ("OPENAI_API_KEY=a#b", "a#b"),
        ("\ufeffOPENAI_API_KEY=abc\r", "abc"),
        ("# OPENAI_API_KEY=abc", None),
        ("OPENAI_API_KEY", None),
        ("OPENAI_API_KEY=# none", None),
        ("MY_OPENAI_API_KEY=abc", None),
    ],
)
def test_a_line_of_env(folder: Path, line: str, value: str | None) -> None:
    (folder / ".env").write_bytes(line.encode() + b"\n")
    key = next((key for key in Keys(files=True, environment={}).at(folder).all(OPENAI) if key.source == ".env"), None)
    assert (key.value if key else None) == value


def test_a_named_source_is_the_only_one_and_for_its_provider_alone(folder: Path) -> None:
    (folder / "key").write_text("k-file\n")
    (folder / "two").write_text("k-file\nmore\n")
    environ = {"OPENAI_API_KEY": "k-env", "WORK": "k-work", "XAI_API_KEY": "k-xai"}

    def found(source: str) -> str:
        key = Keys(environment=environ, named={"openai": source}).at(folder).find(OPENAI)
        assert key is not None
        return key.value

    assert found("env:WORK") == "k-work"
    assert found(f"file:{folder / 'key'}") == "k-file"
    for source in ("env:NONE", ".env", f"file:{folder / 'none'}"):
        with pytest.raises(NotFound):
            found(source)
    with pytest.raises(ValidationError, match="must contain the key"):
        found(f"file:{folder / 'two'}")
    other = Keys(environment=environ, named={"openai": "env:WORK"}).find(PROVIDERS["xai"])
    assert other is not None
    assert other.value == "k-xai"
    for no_source in (HINT, "env:", "file:", f"env:{HINT}", "named", ""):
        with pytest.raises(ValidationError) as refused:
            check_source(no_source)
        assert HINT not in refused.value.message


def test_a_variable_that_was_named_is_not_given_to_commands_either() -> None:
    """spec: @keys_of_commands"""
    environ = {"WORK": "no-known-shape-4711", "COPY": "with no-known-shape-4711", "PLAIN": "x"}
    assert Keys(environment=environ, named={"openai": "env:WORK"}).find(OPENAI) is not None
    assert clean_environment(environ) == {"PLAIN": "x"}
    assert scrubbed("no-known-shape-4711") == "[key]"


def noting(heard: list[str | None], text: str) -> Answer:
    """Say this, and note with which authorization one was asked."""

    def answer(handler: Handler) -> None:
        heard.append(handler.headers["Authorization"])
        saying(text)(handler)

    return answer


def test_resolve_takes_the_key_from_where_it_is_told(folder: Path) -> None:
    pytest.importorskip("httpx2")
    keep(folder.parent, "k-mine")
    heard: list[str | None] = []
    asks = '<ask_user question="Which?"/>'
    with serving(noting(heard, asks), noting(heard, '<update status="200">Hello.</update>')) as server:
        address = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k-environment"}
        engine(folder, "run", "--run", "demo", "--model", "openai/tiny", "Hi", env=address)
        words = ("accept", "demo", "--answer", "this", "--continue", "--key-from", "openai=user")
        done = engine(folder, *words, env=address)
    assert done.returncode == 0, done.stderr
    assert heard == ["Bearer k-environment", "Bearer k-mine"]


def test_a_planted_env_gives_a_key_that_is_named_and_no_address(folder: Path) -> None:
    pytest.importorskip("httpx2")
    keep(folder.parent, "k-mine")
    heard: list[str | None] = []
    with serving(noting(heard, '<update status="200">Hello.</update>')) as server:
        (folder / ".env").write_text("OPENAI_API_KEY=k-planted\nOPENAI_BASE_URL=http://127.0.0.1:1/v1\n")
        address = {"OPENAI_BASE_URL": server.url}
        done = engine(folder, "run", "--model", "openai/tiny", "Hi", env=address)
        own = engine(folder, "run", "--model", "openai/tiny", "--key-from", "openai=user", "Hi", env=address)
        (folder / ".env").unlink()
        plain = engine(folder, "run", "--model", "openai/tiny", "Hi", env=address)
    assert [each.returncode for each in (done, own, plain)] == [0, 0, 0]
    assert heard == ["Bearer k-planted", "Bearer k-mine", "Bearer k-mine"]
    assert f"key of openai: .env ({folder / '.env'}); another key of yours is not used" in done.stderr
    assert "key of openai: named (" in own.stderr
    assert "key of openai" not in plain.stderr


def test_what_cannot_be_sent_is_no_key_and_that_is_said(folder: Path) -> None:
    keys = Keys(files=True, environment={}).at(folder)
    for odd in ("sk-ключ", "sk-\x1b[2J"):
        (folder / ".env").write_text(f"OPENAI_API_KEY='{odd}'\n")
        with pytest.raises(
            ModelError, match=r"key of openai: .*\.env contains no key; a key consists of printable ASCII"
        ) as refused:
            endpoint(OPENAI, keys)
        assert odd not in str(refused.value)


def test_an_address_of_env_is_not_used_and_that_is_said(folder: Path) -> None:
    (folder / ".env").write_text("OPENAI_API_KEY=k\nOPENAI_BASE_URL=http://127.0.0.1:1/v1\n")
    keys = Keys(files=True, environment={}).at(folder)
    assert keys.unused_address(OPENAI)
    assert endpoint(OPENAI, keys).url == OPENAI.url


def test_an_app_gets_the_keys_of_its_environment_unless_it_asks_for_those_of_the_person(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx2")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.parent / ".config"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    keep(folder.parent, HINT)
    with library.open(folder.parent / "a.db") as db, pytest.raises(EngineError, match="no key for openai"):
        db.start("Hi", model="openai/tiny")
    with library.open(folder.parent / "a.db", config=True) as db:
        assert db.start("Hi", model="openai/tiny").model == "openai/tiny"


def test_a_model_without_its_key_is_not_chosen_over_one_that_can_be_asked(folder: Path) -> None:
    """spec: @model_names"""
    script = folder.parent / "s.jsonl"
    script.write_text(json.dumps('<update status="200">Hello.</update>') + "\n")
    engine(folder, "models", "add", "paid", "openai/gpt-5")
    alone = engine(folder, "run", "Hi")
    assert (alone.returncode, "no key for openai" in alone.stderr) == (1, True)
    engine(folder, "models", "add", "demo", f"scripted:{script}")
    done = engine(folder, "run", "Hi")
    assert (done.returncode, ", demo" in done.stderr.splitlines()[0]) == (0, True)
