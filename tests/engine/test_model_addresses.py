"""Models of servers that are named by their address, names for all runs of a user, and the servers that doctor finds.

spec: @model_addresses @model_servers
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from engine_cli import database, engine
from fresh import stays_open
from loopback import Answer, failing, refusing, saying, serving, silence

from engine.errors import ValidationError
from engine.models import neighbours as nearby
from engine.models import resolve_model
from engine.models.addresses import joined

DONE = saying('<update status="200">Done.</update>')
CONFIG = Path(".config", "engine", "config.toml")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "project"
    root.mkdir()
    with stays_open(database(root)):
        yield root


def said(folder: Path, *arguments: str, code: int = 0, **env: str) -> str:
    done = engine(folder, *arguments, env=env)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def offering(*names: str) -> Answer:
    return refusing(200, {"data": [{"id": name} for name in names]})


def test_a_server_is_named_in_one_line_and_gets_no_key(folder: Path) -> None:
    with serving(DONE) as server:
        told = said(folder, "models", "add", "mine", "org/tiny", "--base-url", f"{server.url}/")
        assert f"mine: {server.url}#org/tiny, for the runs of {database(folder)}; --user makes" in told
        done = said(folder, "run", "--model", "mine", "Hi", OPENAI_API_KEY="sk-theirs")
        assert "Done." in done
        assert "$0.0000" in done
        assert server.asked[0]["model"] == "org/tiny"
        assert all("sk-theirs" not in str(headers) for headers in server.headers_asked)


def test_a_server_that_asks_for_a_key_says_how_to_give_it(folder: Path) -> None:
    with serving(failing(401, "no key")) as server:
        told = said(folder, "run", "--model", f"{server.url}#tiny", "Hi", code=1)
    assert "a model named by its address gets no key; set OPENAI_BASE_URL and OPENAI_API_KEY" in told.replace(
        "\n  ", " "
    )


@pytest.mark.parametrize(
    ("url", "model"),
    [
        ("http://user:word@127.0.0.1/v1", "m"),
        ("http://127.0.0.1/v1?key=abc", "m"),
        ("http://127.0.0.1/v1", ""),
        ("http://127.0.0.1/v1", "-rf"),
        ("http://127.0.0.1/v1", "a b"),
        ("http:///v1", "m"),
        ("http://127.0.0.1:99999/v1", "m"),
        ("http://[::1/v1", "m"),
        ("http://127.0.0.1 /v1", "m"),
        ("http://exämple.org/v1", "m"),
        ("ftp://127.0.0.1/v1", "m"),
        ("127.0.0.1:1234", "m"),
        ("http://127.0.0.1\n/v1", "m"),
    ],
)
def test_what_is_no_address_is_refused(folder: Path, url: str, model: str) -> None:
    with pytest.raises(ValidationError):
        joined(url, model)
    if model[:1] != "-":
        assert engine(folder, "models", "add", "mine", model or " ", "--base-url", url).returncode == 2
    assert not database(folder).exists()


def test_a_name_for_all_runs_holds_in_another_folder_until_it_is_removed(folder: Path) -> None:
    other = folder.parent / "other"
    other.mkdir()
    with serving(DONE) as server:
        told = said(folder, "models", "add", "mine", "tiny", "--base-url", server.url, "--user", "--price", "1/2")
        assert "for all your runs" in told
        assert not database(folder).exists()
        rows = {row["alias"]: row for row in json.loads(said(other, "models", "--json"))}
        assert (rows["mine"]["origin"], rows["mine"]["price"]) == ("user", "1/2")
        assert "$0.0012" in said(other, "run", "--model", "mine", "Hi")
    assert (folder.parent / CONFIG).stat().st_mode & 0o077 == 0
    assert "comes back until: engine models rm mine --user" in said(other, "models", "rm", "mine")
    said(other, "models", "rm", "mine", "--user")
    assert "'engine models' lists the aliases" in said(other, "run", "--model", "mine", "Hi", code=2)
    assert "mine" not in said(other, "models")
    said(other, "models", "rm", "mine", "--user", code=2)


def test_a_name_of_the_file_wins_over_that_of_the_user(folder: Path) -> None:
    said(folder, "models", "add", "mine", "openai/gpt-5", "--user")
    said(folder, "models", "add", "mine", "openai/gpt-5-mini")
    rows = {row["alias"]: row for row in json.loads(said(folder, "models", "--json"))}
    assert (rows["mine"]["actual"], rows["mine"]["origin"]) == ("openai/gpt-5-mini", "client")


def test_a_project_names_no_models(folder: Path) -> None:
    (folder / "engine.toml").write_text('[models.fast]\nmodel = "http://198.51.100.7/v1#m"\n')
    assert "a project cannot name models" in said(folder, "run", "--model", "fast", "Hi", code=2)


@pytest.mark.parametrize(
    "table",
    ["model = 3", "", "model = 'a/b'\nnative = 'yes'", "model = 'a/b'\ncontext = 1", "model = 'a/b'\nkey = 'x'"],
)
def test_a_table_that_names_no_model_is_told_with_its_file(folder: Path, table: str) -> None:
    place = folder.parent / CONFIG
    place.parent.mkdir(parents=True, mode=0o700)
    place.write_text(f"[models.fast]\n{table}\n")
    place.chmod(0o600)
    assert f"{place}: [models.fast]" in said(folder, "models", code=2)


def test_a_slip_in_the_name_of_a_provider_is_named(folder: Path) -> None:
    for words in (["models", "add", "fast", "opneai/gpt-5"], ["run", "--model", "opneai/gpt-5", "Hi"]):
        assert "did you mean openai/gpt-5?" in said(folder, *words, code=2)
    said(folder, "models", "add", "coder", "openai/gpt-5")
    assert "did you mean coder?" in said(folder, "run", "--model", "codr", "Hi", code=2)


def test_doctor_finds_servers_and_says_the_line_that_adds_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(offering("org/Qwen 3", "org/qwen3-coder:8b", "--yes")) as server, serving(failing(404, "no")) as other:
        ports = {server.server_address[1]: "LM Studio", other.server_address[1]: "vLLM"}
        monkeypatch.setattr(nearby, "PORTS", ports)
        shown = {row["name"]: row for row in json.loads(engine(folder, "doctor", "--json").stdout)}
        assert shown["server"]["detail"] == f"{server.url} answers (usually LM Studio); models: org/qwen3-coder:8b"
        assert [
            row for row in json.loads(engine(folder, "doctor", "--json").stdout) if other.url in row["detail"]
        ] == []
        line = shown["server"]["fix"]
        assert line == f"engine models add qwen3-coder org/qwen3-coder:8b --base-url {server.url} --user"
        said(folder, *line.split()[1:])
        shown = {row["name"]: row for row in json.loads(engine(folder, "doctor", "--json").stdout)}
        assert (shown["server"]["state"], shown["server"]["fix"]) == ("ok", None)
        assert server.authorizations == [None] * 3


def test_servers_are_asked_at_once_and_a_silent_one_is_given_up() -> None:
    """Asked one after the other, four silent servers would take four times as long as one."""
    with (
        serving(silence) as one,
        serving(silence) as two,
        serving(offering("tiny")) as three,
        closing(socket.socket()) as none,
    ):
        none.bind(("127.0.0.1", 0))
        ports = [one.server_address[1], two.server_address[1], three.server_address[1], none.getsockname()[1]]
        begun = time.monotonic()
        found = list(nearby.neighbours(dict.fromkeys(ports, "x")))
        assert time.monotonic() - begun < 10
        assert [(each.url, each.models) for each in found] == [(three.url, ("tiny",))]


def test_a_server_that_speaks_no_http_is_passed_over() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:

        def babble() -> None:
            with listening.accept()[0] as peer:
                peer.sendall(b"\x00\xff" * 50_000)

        threading.Thread(target=babble, daemon=True).start()
        assert list(nearby.neighbours({listening.getsockname()[1]: "x"})) == []


def test_letters_of_the_scheme_do_not_matter() -> None:
    assert resolve_model("HTTP://127.0.0.1:9/v1#m").__class__.__name__ == "RemoteModel"
