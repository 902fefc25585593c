"""`engine keys`: keeps keys in stores that only their user can read, and says where keys come from.

1. A key is typed without being shown, kept with mode 0600, and never given on the command line or listed.
2. Files that others could have written or read give nothing, and that is said.

spec: @keys @secret_files
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest
from engine_cli import ENGINE, SECONDS, engine, environment

from engine.errors import EngineError
from engine.keys.keys import Keys
from engine.keys.providers import PROVIDERS
from engine.keys.stores import Store
from engine.system import places

HINT = "sk-0123456789"


def keep(home: Path, key: str, provider: str = "openai") -> Path:
    """Keep a key in the user's store of that home; returns its path."""
    store = Store("user", home / ".config" / "engine" / "keys.toml")
    store.set(provider, key)
    return store.place


def listed(folder: Path, **env: str) -> dict[str, Any]:
    """The rows of `engine keys list --json`, by provider."""
    return {row["provider"]: row for row in json.loads(engine(folder, "keys", "list", "--json", env=env).stdout)}


def test_keys_are_kept_listed_and_removed_and_never_shown(folder: Path) -> None:
    done = engine(folder, "keys", "set", "openai", "--stdin", stdin=f"{HINT}\n")
    assert done.returncode == 0
    engine(folder, "keys", "set", "openai", "--stdin", "--project", stdin=f"{HINT}-2\n")
    place = folder.parent / ".config" / "engine" / "keys.toml"
    for each in (place, folder / ".engine" / "keys.toml"):
        assert each.stat().st_mode & 0o777 == 0o600
    assert (folder / ".engine" / ".gitignore").read_text() == "*\n"
    assert listed(folder)["openai"] == {
        "provider": "openai",
        "variable": None,
        "source": "project",
        "place": str(folder / ".engine" / "keys.toml"),
        "also": ["user"],
        "differ": True,
    }
    said = [engine(folder, *words) for words in (["keys", "list"], ["doctor"], ["keys", "rm", "openai", "--project"])]
    assert "comes from user" in said[-1].stderr
    assert listed(folder)["openai"]["source"] == "user"
    assert engine(folder, "keys", "rm", "openai").returncode == 0
    assert engine(folder, "keys", "rm", "openai").returncode == 2
    assert listed(folder) == {}
    assert not any("0123456789" in each.stdout + each.stderr for each in [done, *said])


@pytest.mark.parametrize(
    ("words", "stdin", "told"),
    [
        (["set", "openai", HINT], "", "do not write the key on the command line"),
        (["set", f"openai={HINT}"], "", "did you mean openai?"),
        (["set", "openai"], f"{HINT}\n", "--stdin"),
        (["set", "openai", "--stdin"], "\n", "is empty"),
        (["set", "openai", "--stdin"], f"{HINT} {HINT}\n", "that is not a key"),
        (["set", "openai", "--stdin"], f"{HINT}\x1b\n", "that is not a key"),
        (["rm", HINT], "", "no such provider"),
    ],
)
def test_what_is_no_key_or_no_provider_is_refused_and_not_repeated(
    folder: Path, words: list[str], stdin: str, told: str
) -> None:
    done = engine(folder, "keys", *words, stdin=stdin)
    assert (done.returncode, told in done.stderr) == (2, True)
    assert "0123456789" not in done.stdout + done.stderr
    assert not (folder.parent / ".config").exists()
    refused = engine(folder, "run", "--key-from", f"openai={HINT}", "--model", "openai/x", "Hi")
    assert (refused.returncode, "0123456789" in refused.stderr) == (2, False)


def test_a_key_that_is_typed_is_not_shown(folder: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*ENGINE, "keys", "set", "openai"],
        cwd=folder,
        env=environment(folder.parent),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,  # no /dev/tty of who tests
    )
    os.close(theirs)
    said = b""
    while b"not shown" not in said:
        said += os.read(ours, 4096)
    os.write(ours, f"{HINT}\n".encode())
    try:
        while piece := os.read(ours, 4096):
            said += piece
    except OSError:  # how a pseudo terminal says that its other side is closed
        pass
    os.close(ours)
    assert process.wait(SECONDS) == 0
    assert b"stored the key of openai" in said
    assert HINT.encode() not in said
    assert user_store_of(folder.parent).read() == {"openai": HINT}


def test_a_home_that_cannot_be_written_names_the_other_store(folder: Path) -> None:
    (folder.parent / ".config").write_text("a file where a folder is to be")
    done = engine(folder, "keys", "set", "openai", "--stdin", stdin=f"{HINT}\n")
    assert done.returncode != 0
    assert "nothing was changed; --project keeps a key in the folder of the project" in done.stderr


def test_a_store_that_a_suspended_process_keeps_locked_is_given_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "LOCK_SECONDS", 0.1)
    store = user_store_of(folder)
    with places.own_lock(store.place), pytest.raises(EngineError, match="another engine process keeps it locked"):
        store.set("openai", "sk-1")
    store.set("openai", "sk-1")
    assert store.read() == {"openai": "sk-1"}


def test_no_usage_asks_for_a_key(folder: Path) -> None:
    told = engine(folder, "keys", "set", "-h").stdout.splitlines()[0]
    assert told.endswith("{PROVIDER}")


def user_store_of(home: Path) -> Store:
    """The user's store in that home."""
    return Store("user", home / ".config" / "engine" / "keys.toml")


def loose(place: Path) -> None:
    place.chmod(0o640)


def linked(place: Path) -> None:
    place.rename(place.with_name("elsewhere"))
    place.symlink_to("elsewhere")


def foreign(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(place, 65534, -1)


def broken(place: Path) -> None:
    place.write_text(f'openai = "{HINT}\n')


def wrong(place: Path) -> None:
    place.write_text("openai = 5\n")


@pytest.mark.parametrize("spoil", [loose, linked, foreign, broken, wrong])
def test_a_store_that_others_could_read_or_write_gives_no_key(folder: Path, spoil: Any) -> None:
    home = folder.parent
    place = keep(home, HINT)
    assert list(listed(folder)) == ["openai"]
    spoil(place)
    before = place.read_bytes()
    done = engine(folder, "keys", "list")
    assert done.stdout == ""
    assert "no key is taken from it" in done.stderr
    assert "0123456789" not in done.stderr
    refused = engine(folder, "keys", "set", "xai", "--stdin", stdin="k-xai\n")
    assert (refused.returncode, "nothing was changed" in refused.stderr) == (1, True)
    assert place.read_bytes() == before
    asked = engine(folder, "run", "--model", "openai/x", "Hi")
    assert (asked.returncode, "no key for openai" in asked.stderr, "keys.toml" in asked.stderr) == (1, True, True)


def test_a_project_store_behind_a_link_and_an_env_of_all_give_no_key(folder: Path) -> None:
    elsewhere = folder.parent / "elsewhere"
    Store("project", elsewhere / "keys.toml").set("openai", HINT)
    (folder / ".engine").symlink_to(elsewhere)
    (folder / ".env").write_text(f"XAI_API_KEY={HINT}\n")
    (folder / ".env").chmod(0o666)
    keys = Keys(files=True, environment={}).at(folder)
    assert [keys.find(PROVIDERS[name]) for name in ("openai", "xai")] == [None, None]
    assert [reason.split(": ")[1].split(";")[0] for reason in keys.passed_over()] == [
        "can be written by others",
        "is behind a symbolic link",
    ]


def test_providers_and_sources_are_completed(folder: Path) -> None:
    def offered(*words: str) -> list[str]:
        env = {"_ENGINE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": " ".join(["engine", *words])}
        return engine(folder, env=env).stdout.split()

    assert any("openrouter" in word for word in offered("keys", "set", "openr"))
    assert any("openai=file" in word for word in offered("run", "--key-from", "openai=f"))
