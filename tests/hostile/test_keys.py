"""Keys stay with the engine: no command, entry, packet, file or message shows one.

1. Commands get an environment without secrets, by name, by value, and by what a secret value stands in again.
2. A command reads neither the environment of the engine nor that of any process above it, as root or not.
3. Whatever is run with planted keys, no byte of files or output holds one: nor what a model, a plugin or a crash says.
4. Credentials in a base URL are neither printed nor stored.

spec: @keys_of_commands @models_protocol
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import failing, refusing, serving

from engine.system.secrets import clean_environment, masked

CANARY = "zq4711canary"
"""A part of every planted key."""
KEYS = {
    "OPENAI_API_KEY": f"sk-{CANARY}-0123456789",
    "GITHUB_PAT": f"{CANARY}-pat",
    "MYSQL_PWD": f"{CANARY}-pwd",
    "DEPLOY_PASS": f"{CANARY}-pass",
    "SENTRY_DSN": f"https://{CANARY}@example.org/1",
    "NPM_CONFIG__AUTH": f"{CANARY}-auth",
    "DATABASE_URL": f"postgres://ada:{CANARY}@db/x",
    "SESSION_COOKIE": f"{CANARY}-cookie",
    "http_proxy_of_office": f"http://ada:{CANARY}@proxy:3128",
    "HARMLESS_NAME": f"ghp_{CANARY}0123456789",
    "COPY_OF_A_KEY": f"Bearer:{CANARY}-pat",
    "OPENAI_BASE_URL": f"http://ada:{CANARY}@127.0.0.1:9/v1?key={CANARY}",
}
READ_ALL = "env; cat /proc/self/environ /proc/$PPID/environ /proc/[0-9]*/environ; ps eww -e; ps auxeww; true"
COMMANDS = [
    ["runs"], ["show", "demo"], ["log", "demo"], ["packet", "demo"], ["context", "demo"], ["proposals"],
    ["context", "--diff", "1", "2"], ["config", "demo"], ["files"], ["models"], ["doctor"], ["trust"],
    ["sql", "select * from run_log"], ["fork", "demo", "--as", "child"], ["resume", "demo"], ["abort", "child"],
    ["run", "--model", "none/such", "Hi"], ["run", "--model", "openai/x", "--max-seconds", "1", "Hi"],
    ["runs", "purge", "child", "--yes"],
]  # fmt: skip
# The command line of the process, then those that it reads.
ENGINE = [
    sys.executable,
    "-c",
    "import json, sys; from engine.cli.main import main; more = json.load(sys.stdin); main(); [main(each) for each in more]",
]
NOBODY = 65534


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "x"),
        ("github_token", "x"),
        ("MySecretThing", "x"),
        ("AWS_CREDENTIALS_FILE", "x"),
        ("DATABASE_URL", "sqlite:///x"),
        ("AZURE_PAT", "x"),
        ("MYSQL_PWD", "x"),
        ("SMTP_PASS", "x"),
        ("PASS", "x"),
        ("PGPASS", "x"),
        ("DBPASS", "x"),
        ("MYSQLPWD", "x"),
        ("dbpw2", "x"),
        ("AZURE_SAS", "x"),
        ("BLOBSAS", "x"),
        ("SENTRY_DSN", "x"),
        ("NPM_AUTH", "x"),
        ("npm_config__auth", "x"),
        ("SESSION_COOKIE", "x"),
        ("SLACK_WEBHOOK", "x"),
        ("VCAP_SERVICES", "{}"),
        ("http_proxy", "http://ada:word@proxy:3128"),
        ("HTTPS_PROXY", "ada:word@proxy:3128"),
        ("ORIGIN", "https://token@host/repo.git"),
        ("A", "ghp_0123456789abcdef"),
        ("B", "AKIA0123456789ABCDEF"),
        ("C", "-----BEGIN RSA PRIVATE KEY-----"),
        ("D", "Authorization: Basic YWRhOnBhc3M="),
        ("E", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"),
    ],
)
def test_a_secret_is_not_given_to_commands(name: str, value: str) -> None:
    assert clean_environment({name: value, "PATH": "/bin"}) == {"PATH": "/bin"}


def test_what_commands_need_is_given_to_them() -> None:
    needed = {
        "PATH": "/home/ada/bin:/bin",
        "HOME": "/home/ada",
        "PWD": "/home/ada",
        "OLDPWD": "/",
        "SSH_AUTH_SOCK": "/run/agent",
        "GIT_ASKPASS": "/usr/bin/ask",
        "XDG_SESSION_ID": "1",
        "no_proxy": "localhost,127.0.0.1",
        "http_proxy": "http://proxy:3128",
        "REPO": "ssh://git@host/repo.git",
        "EMAIL": "ada@example.org",
        "COMPASS": "north",
        "GATEWAY_BYPASS": "yes",
        "PGPASSFILE": "/home/ada/.pgpass",
        "LS_COLORS": "rs=0:di=01;34",
    }
    assert clean_environment({**needed, "SSH_KEY_FOLDER": "/home/ada", "COPY": "none"}) == {**needed, "COPY": "none"}


def test_a_secret_value_under_another_name_is_not_given_either() -> None:
    environ = {"A_KEY": "not-a-known-shape", "ARGUMENTS": "--with not-a-known-shape", "PATH": "/bin"}
    assert clean_environment(environ) == {"PATH": "/bin"}


def test_addresses_are_shown_without_their_user() -> None:
    assert masked("at https://ada:word@host/v1: no", "") == "at https://host/v1: no"


def landlock_version() -> int:
    return int(ctypes.CDLL(None).syscall(444, None, 0, 1)) if sys.platform == "linux" else 0


AS_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
# so that it can read the installation of who tests; it is no right to look into processes
AS_NOBODY += ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search", "--"]


class Place:
    """A folder with a project and a home of their own, in which commands run as `user`, below a process with the keys."""

    def __init__(self, folder: Path, user: int | None) -> None:
        self.folder = folder
        self.user = user
        self.said = b""
        self.program = ENGINE[2]
        for name in ("home", "project"):
            (folder / name).mkdir()
        (folder / "project" / "notes.md").write_text("# Notes\n")

    def engine(self, *commands: list[str], crashes: bool = False) -> None:
        """Run the commands in one process; the first is its own command line. What it dumps stays in the project."""
        if self.user is not None:
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, self.user, self.user)
        done = subprocess.run(
            # a process above the engine whose environment holds the keys from its start, as a terminal's does
            [
                *([] if self.user is None else AS_NOBODY),
                "/bin/sh",
                "-c",
                'ulimit -c unlimited; "$@"; exit $?',
                "sh",
                *ENGINE[:2],
                self.program,
                *commands[0],
            ],
            cwd=self.folder / "project",
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder / "home"), **KEYS},
            input=json.dumps(commands[1:]).encode(),
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert (b"Traceback" in done.stderr) == crashes, done.stderr.decode()
        self.said += done.stdout + done.stderr

    def everything(self) -> bytes:
        """All that was said, and every byte of every file, the script of the model excepted."""
        files = (path for path in self.folder.rglob("*") if path.is_file() and path.suffix != ".jsonl")
        return self.said + b"".join(path.read_bytes() for path in files)


@pytest.fixture(params=["this user", "another user"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if sys.platform != "linux":
        pytest.skip("there is no /proc")
    user = NOBODY if request.param == "another user" else None
    if user is not None and (os.geteuid() != 0 or not shutil.which("setpriv")):
        pytest.skip("only root can change the user")
    if (user is not None or os.geteuid() != 0) and landlock_version() < 2:
        pytest.skip("this kernel has no Landlock")
    folder = Path(tempfile.mkdtemp(prefix="engine-keys-"))
    try:
        yield Place(folder, user)
    finally:
        shutil.rmtree(folder)


def test_no_byte_that_a_run_leaves_holds_a_key(place: Place) -> None:
    answers = [
        f"<sh>{{ {READ_ALL}; }} > all.txt 2>&1; cat all.txt</sh><env>{READ_ALL}</env>"
        '<update status="102">looked</update>',
        '<sh>echo "$OPENAI_API_KEY$GITHUB_PAT" >&2; exit 3</sh><set path="a.md">text</set>'
        '<get path="none"/><update status="102">failed</update>',
        {"error": {"status": 500, "message": "the provider broke"}},
    ]
    script = place.folder / "script.jsonl"
    script.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    place.engine(["run", "--yolo", "--run", "demo", "--model", f"scripted:{script}", "Look"], *COMMANDS)
    text = (place.folder / "project" / "all.txt").read_text()
    assert "PATH=" in text
    assert CANARY.encode() not in place.everything()


PLUGIN = """
import os
import sys

from engine import plugins


class Broken:
    def complete(self, request, on_delta=None, cancelled=None):
        raise RuntimeError(f"no answer for {os.environ['OPENAI_API_KEY']} and {os.environ['GITHUB_PAT']}")


def fail(effect):
    raise RuntimeError(f"no order for {os.environ['MYSQL_PWD']}-{os.environ['OPENAI_API_KEY']}")


class Plugin:
    @plugins.hookimpl
    def engine_model(self, name):
        return Broken() if name.startswith("broken:") else None

    @plugins.hookimpl
    def engine_effects(self):
        return {"process": fail} if "failing" in sys.argv[0] else {}


plugins.manager().register(Plugin())
"""


def test_no_message_of_a_script_a_plugin_or_a_crash_shows_a_key(place: Place) -> None:
    (place.folder / "planted.py").write_text(PLUGIN)
    place.program = f"import sys; sys.path.insert(0, {str(place.folder)!r}); import planted; {ENGINE[2]}"
    said = " ".join(KEYS.values())
    script = place.folder / "script.jsonl"
    script.write_text(json.dumps({"error": {"status": 401, "message": f"refused: {said}"}}) + "\n")
    run = ["run", "--yolo", "--model"]
    place.engine([*run, f"scripted:{script}", "Hi"], [*run, "broken:1", "Hi"], *COMMANDS[:14])
    place.engine(["--debug", *run, "broken:2", "Hi"], crashes=True)
    assert place.said.count(b"no answer for [key]") == 2
    assert b"401" in place.said
    script.write_text(json.dumps("<sh>true</sh>") + "\n" + json.dumps("<update>x</update>") + "\n")
    place.program = f"import sys; sys.argv[0] = 'failing'; {place.program}"
    place.engine([*run, f"scripted:{script}", "--run", "order", "Hi"], ["log", "order"])
    place.program = place.program.replace("failing", "whole")
    assert b"no order for" in place.said
    script.write_text(json.dumps("<sh>kill -ABRT $(cut -d' ' -f4 /proc/$PPID/stat)</sh>") + "\n")
    place.engine(["run", "--yolo", "--sandbox", "off", "--model", f"scripted:{script}", "--run", "dump", "Hi"])
    place.engine(["resume", "dump"], ["log", "dump"])
    assert b"interrupted" in place.said
    assert CANARY.encode() not in place.everything()


@pytest.mark.parametrize(
    "answer",
    [
        failing(401, f"Incorrect API key provided: {KEYS['OPENAI_API_KEY']}"),
        failing(400, f"what is https://ada:{CANARY}@host/v1?"),
        failing(404, f"no model at http://ada:{CANARY}@127.0.0.1/v1"),
        refusing(403, {"detail": f"Bearer {CANARY}.x", "key": KEYS["OPENAI_API_KEY"]}),
    ],
)
def test_no_message_of_a_provider_brings_a_key_into_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    pytest.importorskip("httpx2")
    import engine

    with serving(answer) as server:  # type: ignore[arg-type]
        monkeypatch.setenv("OPENAI_API_KEY", KEYS["OPENAI_API_KEY"])
        monkeypatch.setenv("OPENAI_BASE_URL", server.url.replace("//", f"//ada:{CANARY}@"))
        with engine.open(tmp_path / "a.db") as db:
            result = db.run("Hi", model="openai/tiny")
    assert result.status == 500
    assert CANARY not in result.to_json()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert CANARY.encode() not in stored


def test_an_address_with_credentials_that_cannot_be_reached_is_shown_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx2")
    import engine

    monkeypatch.setenv("OPENAI_API_KEY", "x")
    with engine.open(tmp_path / "a.db") as db:
        db.execute("update settings set value = '1' where name = 'model_deadline'")
        for address in (
            f"http://ada:{CANARY}@127.0.0.1:9/v1",
            f"http://ada:{CANARY}@[bad/v1",
            f"ada:{CANARY}@host",
            f"http://127.0.0.1:9/v1?key={CANARY}",
            f"http://[bad/v1?version=1&key={CANARY}",
            f"host?key={CANARY}",
        ):
            monkeypatch.setenv("OPENAI_BASE_URL", address)
            result = db.run("Hi", model="openai/tiny")
            assert result.status == 500
            assert CANARY not in result.to_json()
    assert CANARY.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
