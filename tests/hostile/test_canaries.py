"""Keys that are planted in every source are used, each by its model, and stand in no byte that is written.

1. A run that succeeds and prints all that its commands can read; prompts with a key from each source; all that looks.
2. A provider that refuses and repeats what it was sent; a crash with its traceback.
3. An engine that is killed while the model is asked: what `/proc` shows of it and of what it started, and what it leaves.

spec: @keys @keys_of_commands
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from loopback import Answer, Handler, refusing, saying, serving, silence

CANARY = "zq4711canary"
SOURCES = {"openai": "environment", "openrouter": ".env", "xai": "project", "cerebras": "user", "google": "named"}
"""The provider whose key stands in each source."""
KEYS = {provider: f"plain-{CANARY}-{source.strip('.')}-0123456789" for provider, source in SOURCES.items()}
IN_ADDRESS = base64.b64encode(f"ada:{CANARY}-url".encode()).decode()
"""How the user and the password of an address are sent."""
SENT = {**{provider: f"Bearer {key}" for provider, key in KEYS.items()}, "ollama": f"Basic {IN_ADDRESS}"}
PLANTED = (".env", ".engine/keys.toml", "home/.config/engine/keys.toml", "key")
ENGINE = (
    "import json, sys; from engine.cli.main import main; more = json.load(sys.stdin); main(); "
    "[main(each) for each in more]"
)
READ_ALL = (
    "env; cat /proc/self/environ /proc/$PPID/environ /proc/[0-9]*/environ .env .engine/keys.toml; ps auxeww; true"
)
SAID = '<update status="200">Hello.</update>'
LOOKING = [
    ["runs"], ["show", "demo"], ["log", "demo"], ["packet", "demo"], ["packet", "google"], ["context", "demo"], ["files"],
    ["config"], ["config", "demo"], ["models"], ["keys", "list"], ["keys", "list", "--json"], ["trust"],
    ["sql", "select * from model_calls"],
]  # fmt: skip


class Planted:
    """A project and a home with a key in each source, and a server in the place of every provider."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.said = b""
        for name in ("home/.config/engine", "project/.engine", "tmp"):
            (folder / name).mkdir(parents=True, mode=0o700)
        (self.project / "notes.md").write_text("# Notes\n")
        (self.project / ".env").write_text(f"OPENROUTER_API_KEY='{KEYS['openrouter']}'\n")
        for place, provider in ((self.project / ".engine", "xai"), (folder / "home/.config/engine", "cerebras")):
            (place / "keys.toml").write_text(f'{provider} = "{KEYS[provider]}"\n')
            (place / "keys.toml").chmod(0o600)
        (folder / "key").write_text(KEYS["google"])
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "ENGINE_CACHE": str(folder / "cache"),
            "OPENAI_API_KEY": KEYS["openai"],
            "OTHER_TOKEN": f"{CANARY}-other",
            **{f"{provider.upper()}_BASE_URL": url for provider in SOURCES},
            "OLLAMA_BASE_URL": url.replace("//", f"//ada:{CANARY}-url@"),
        }

    def start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start the engine with these arguments; it may leave a core dump in the project."""
        return subprocess.Popen(
            ["/bin/sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", sys.executable, "-c", program, *arguments],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *commands: list[str], program: str = ENGINE) -> None:
        """Run the commands in one process; the first is its own command line."""
        process = self.start(program, *commands[0])
        stdout, stderr = process.communicate(json.dumps(commands[1:]).encode(), 300)
        self.said += stdout + stderr

    def everything(self) -> bytes:
        """All that was said, and every byte of every file but those that were planted."""
        planted = {self.project / PLANTED[0], self.project / PLANTED[1], *(self.folder / name for name in PLANTED[2:])}
        files = (path for path in self.folder.rglob("*") if path.is_file() and path not in planted)
        return self.said + b"".join(path.read_bytes() for path in files)


def prompt(provider: str, *options: str) -> list[str]:
    """The command line that asks a model of a provider in a run of the provider's name."""
    named = ["--key-from", f"google=file:{Path('..') / 'key'}"] if provider == "google" else []
    return ["run", "--yolo", "--model", f"{provider}/pub/tiny", "--run", provider, *named, *options, "Hi"]


def by_key(heard: list[str | None], answers: list[Answer]) -> Answer:
    """Note the authorization, and answer as the next of `answers` does; the last one again and again."""

    def answer(handler: Handler) -> None:
        heard.append(handler.headers["Authorization"])
        (answers.pop(0) if len(answers) > 1 else answers[0])(handler)

    return answer


def echoing(status: int) -> Answer:
    """Refuse, and repeat the key and the address."""

    def answer(handler: Handler) -> None:
        told = f"wrong key: {handler.headers['Authorization']} at http://ada:{CANARY}-url@host/v1"
        refusing(status, {"error": {"message": told, "type": told, "code": told}, "detail": told})(handler)

    return answer


@pytest.fixture
def _linux() -> None:
    pytest.importorskip("httpx2")
    if sys.platform != "linux":
        pytest.skip("there is no /proc")


@pytest.mark.usefixtures("_linux")
def test_no_byte_of_a_run_holds_a_key_from_any_source(tmp_path: Path) -> None:
    work = f'<sh>{{ {READ_ALL}; }} > all.txt 2>&1; cat all.txt</sh><update status="102">looked</update>'
    heard: list[str | None] = []
    with serving(by_key(heard, [saying(work), saying(SAID)])) as server:
        planted = Planted(tmp_path, server.url)
        first = ["run", "--yolo", "--sandbox", "auto", "--model", "openai/tiny", "--run", "demo", "Look"]
        planted.run(first, *map(prompt, SENT), *LOOKING, ["fork", "demo", "--as", "child"], ["doctor"])
    # the last one is that of the doctor, who asks which models there are
    assert heard == [SENT[provider] for provider in ("openai", "openai", *SENT, "openai")]
    assert b"--debug" not in planted.said, "an error that nobody worded"
    assert "PATH=" in (planted.project / "all.txt").read_text()
    assert b"key of openrouter: .env" in planted.said
    found = planted.everything()
    if b"NO SANDBOX" in planted.said:
        found = without_what_commands_may_read(found)
    assert not leaked(found)


def leaked(found: bytes) -> list[bytes]:
    """What is said around each place that holds a part of a key."""
    parts = (CANARY.encode(), IN_ADDRESS.encode())
    return [found[max(0, at - 60) : at + 20] for part in parts if (at := found.find(part)) >= 0]


def without_what_commands_may_read(found: bytes) -> bytes:
    """Without a sandbox a command reads the files of its user; those of the project are what this one printed."""
    for provider in ("openrouter", "xai"):
        found = found.replace(KEYS[provider].encode(), b"")
    return found


CRASH = """
import engine.models.remote as remote

def broken(self, request, *rest, **more):
    raise RuntimeError(f"no answer for {self._at.key} at {self._at.url}")

remote.RemoteModel.complete = broken
"""


@pytest.mark.usefixtures("_linux")
def test_no_refusal_and_no_crash_shows_a_key(tmp_path: Path) -> None:
    heard: list[str | None] = []
    with serving(by_key(heard, [*map(echoing, (401, 400, 404, 403)), echoing(422)])) as server:
        planted = Planted(tmp_path, server.url)
        planted.run(*map(prompt, SENT), *LOOKING[:7])
        assert set(heard) == set(SENT.values())
        planted.run(["--debug", *prompt("openrouter")], program=CRASH + ENGINE)
    assert planted.said.count(b"no answer for") >= planted.said.count(b"Traceback") > 0
    assert not leaked(planted.everything())


@pytest.mark.usefixtures("_linux")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGABRT])
def test_an_engine_that_is_killed_shows_and_leaves_no_key(tmp_path: Path, end: signal.Signals) -> None:
    shown: list[bytes] = []
    pids: list[int] = []

    def look(then: Callable[[Handler], None]) -> Answer:
        def answer(handler: Handler) -> None:
            shown.extend(environments(pids[0]))
            os.kill(pids[0], end)
            then(handler)

        return answer

    with serving(look(silence)) as server:
        planted = Planted(tmp_path, server.url)
        if end == signal.SIGABRT:  # a key that comes from a file alone must not be in a dump either
            for name in ("OPENAI_API_KEY", "OTHER_TOKEN", "OLLAMA_BASE_URL"):
                del planted.environment[name]
        process = planted.start("from engine.cli.main import main; main()", *prompt("cerebras"))
        pids.append(process.pid)
        stdout, stderr = process.communicate(b"", 300)
    assert process.returncode == -end
    assert any(b"TMPDIR=" in each for each in shown)
    planted.said += stdout + stderr + b"".join(shown)
    assert not leaked(planted.everything())


def environments(pid: int) -> list[bytes]:
    """What `/proc` shows of the environments of a process and of those below it, where that can be read."""
    found = []
    for each in [pid, *children(pid)]:
        try:
            found.append(Path(f"/proc/{each}/environ").read_bytes())
        except OSError:
            found.append(b"TMPDIR= is not shown")
    return found


def children(pid: int) -> list[int]:
    """The processes that a process started, and those that they started."""
    try:
        own = [int(each) for path in Path(f"/proc/{pid}/task").glob("*/children") for each in path.read_text().split()]
    except OSError:
        return []
    return own + [below for each in own for below in children(each)]
