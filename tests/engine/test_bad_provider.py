"""A provider that fails, as a person meets it through `engine run`.

1. What will not pass ends the prompt: one line that says what to do, an exit code, no key, a sound file.
2. What may pass is asked again, and the prompt is answered.
3. A packet that the provider finds too long is made shorter once; then the prompt ends as too large.
4. The figures of such a run are numbers, and a later prompt goes on with it.
"""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audit import audit
from engine_cli import database, engine
from fresh import stays_open
from loopback import Answer, failing, saying, serving, silence

import engine as library

pytest.importorskip("httpx2")

KEY = "sk-very-secret-0123456789"
DONE = saying('<update status="200">Port 8080.</update>')


@pytest.fixture
def folder(workspace_dir: Path) -> Iterator[Path]:
    """A folder with files; its database is audited, and holds no key."""
    with stays_open(database(workspace_dir)):
        assert engine(workspace_dir, "files", "add", "nothing").returncode == 0
        yield workspace_dir
    audit(database(workspace_dir))
    stored = b"".join(path.read_bytes() for path in (workspace_dir / ".engine").iterdir())
    assert KEY.encode() not in stored


def limit(folder: Path, **settings: str) -> None:
    """Change settings of the folder's database."""
    with library.open(database(folder)) as db:
        for name, value in settings.items():
            db.execute("update settings set value = ? where name = ?", (value, name))


def ask(folder: Path, url: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Give the run `demo` a prompt, for a model of the provider at `url`."""
    keys = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url}
    done = engine(folder, "run", "--model", "openai/tiny", "--run", "demo", *options, "Which port?", env=keys)
    assert "Traceback" not in done.stderr
    assert KEY not in done.stdout + done.stderr
    return done


def telemetry(folder: Path) -> dict[str, Any]:
    (row,) = json.loads(engine(folder, "sql", "--json", "select telemetry from run_state").stdout)
    figures: dict[str, Any] = json.loads(row["telemetry"])
    return figures


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (failing(401, f"Incorrect API key provided: {KEY}"), "OPENAI_API_KEY"),
        (failing(404, "no such model"), "check the name"),
        (failing(400, "temperature must be a number"), "temperature must be a number"),
        (failing(429, "slow down", Retry_After="100000"), "slow down"),
        (failing(503, "Loading model"), "Loading model"),
    ],
    ids=["401", "404", "400", "429", "503"],
)
def test_a_refusal_ends_the_prompt_and_says_why(folder: Path, answer: Answer, said: str) -> None:
    limit(folder, model_deadline="2")
    with serving(answer) as server:
        done = ask(folder, server.url)
    assert (done.returncode, done.stdout) == (1, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("demo: failed: ")
    assert said in last
    assert all(isinstance(figure, int | float) for figure in telemetry(folder).values())


def test_a_provider_that_is_down_is_named_with_its_address(folder: Path) -> None:
    limit(folder, model_deadline="2")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        done = ask(folder, url)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("asking again in") == 1
    assert f"cannot be reached at {url}" in done.stderr.splitlines()[-1]
    assert ".; check the server" not in done.stderr
    assert telemetry(folder)["ms_model"] > 0


def test_a_provider_that_is_slow_costs_strikes_until_the_prompt_is_given_up(folder: Path) -> None:
    limit(folder, model_timeout="0.3", max_strikes="2")
    with serving(silence) as server:
        done = ask(folder, server.url)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.count("timeout  error") == 2
    assert "stopped after 2 turns with errors" in done.stderr.splitlines()[-2]


def test_a_provider_that_recovers_is_asked_again_and_answers(folder: Path) -> None:
    with serving(failing(429, "slow down", Retry_After="0"), DONE) as server:
        done = ask(folder, server.url)
    assert (done.returncode, done.stdout) == (0, "Port 8080.\n")
    assert len(server.asked) == 2
    assert (telemetry(folder)["prompt_tokens"], telemetry(folder)["completion_tokens"]) == (1200, 7)


def test_a_packet_too_long_for_the_provider_is_shortened_once(folder: Path) -> None:
    with (folder / "notes.md").open("a", encoding="utf-8") as notes:
        notes.write("a line\n" * 100 + "The end of the notes.\n")
    reading = saying('<get path="notes.md"/><update status="102">reading</update>')
    with serving(reading, failing(400, "maximum context length is 10 tokens"), DONE) as server:
        done = ask(folder, server.url)
    assert (done.returncode, done.stdout) == (0, "Port 8080.\n")
    packets = [request["messages"][-1]["content"] for request in server.asked]
    assert ["The end of the notes." in packet for packet in packets] == [False, True, False]


def test_a_provider_that_finds_every_packet_too_long_ends_the_prompt_as_too_large(folder: Path) -> None:
    with serving(failing(400, "maximum context length is 10 tokens")) as server:
        done = ask(folder, server.url)
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.splitlines()[-1].startswith("demo: too large: ")


def test_a_run_whose_provider_failed_takes_the_next_prompt(folder: Path) -> None:
    with serving(failing(401, "no"), DONE) as server:
        assert ask(folder, server.url).returncode == 1
        assert ask(folder, server.url).stdout == "Port 8080.\n"
