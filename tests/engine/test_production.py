"""The page "In production": its commands are run, each container with a home of its own.

There is no daemon of containers where tests run. What stands behind `docker run` is run in bubblewrap: the volume is its
/data, its home is empty, and it has the variables of the Dockerfile and of the command.

spec: @production @trusted_folders
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_cli import ENGINE, SECONDS, environment, run_command, script
from sandboxed import require_sandbox
from terminal import Terminal

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "engine" / "maintenance" / "SPEC.md").read_text("utf-8").partition("{#production}")[2]
ANSWERS = [
    '<get path="notes.md"/>',
    '<set path="links.md">None is broken.</set><update status="102">Written.</update>',
    '<update status="200">All links work.</update>',
]


@pytest.fixture
def _sandboxed() -> None:
    require_sandbox()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


def lines(language: str) -> Iterator[str]:
    return (line for block in blocks(language) for line in block.splitlines())


def docker_lines() -> list[str]:
    return [line for line in lines("sh") if line.startswith("docker run")]


def image_variables() -> dict[str, str]:
    """What the Dockerfile sets."""
    found = next(line for line in lines("dockerfile") if line.startswith("ENV "))
    return dict(word.split("=", 1) for word in shlex.split(found.removeprefix("ENV ")))


def in_container(volume: Path, words: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `engine` with these words in a new container of the image, with `volume` at /data."""
    top = [each for each in Path("/").iterdir() if each.name not in ("data", "dev", "proc", "tmp")]
    shown = [word for each in top for word in ("--symlink" if each.is_symlink() else "--ro-bind", *_shown(each))]
    line = ["bwrap", "--tmpfs", "/", *shown, "--dev", "/dev", "--proc", "/proc", "--dir", "/tmp/home"]
    if ROOT.is_relative_to("/tmp"):  # where the checkout lies
        line += ["--ro-bind", str(ROOT), str(ROOT)]
    line += ["--bind", str(volume), "/data", "--chdir", "/data", "--clearenv"]
    base = {"PATH": os.environ["PATH"], "HOME": "/tmp/home", "ENGINE_CACHE": "/tmp/cache"}
    for name, value in (base | image_variables() | variables).items():
        line += ["--setenv", name, value]
    return subprocess.run(
        [*line, *ENGINE, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def _shown(each: Path) -> tuple[str, str]:
    return (os.readlink(each) if each.is_symlink() else str(each), str(each))


@pytest.mark.usefixtures("_sandboxed")
def test_a_run_goes_on_in_container_after_container(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir(mode=0o700)
    (volume / "notes.md").write_text("[home](https://example.org)\n")
    script(volume / "answers.jsonl", ANSWERS)
    ended = []
    for line in docker_lines():
        words = shlex.split(line)
        image = words.index("agent")
        assert words[:image] == ["docker", "run", "--rm", "-v", "agent:/data", "-e", "OPENAI_API_KEY"]
        command = words[image + 1 :]
        if "||" in command:
            command = command[: command.index("||")]
        done = in_container(volume, command, ENGINE_MODEL="scripted:/data/answers.jsonl")
        ended.append((command[0], done.returncode, done.stderr))
    assert [(name, code) for name, code, _ in ended] == [("run", 6), ("proposals", 0), ("accept", 0)], ended
    assert (volume / "links.md").read_text() == "None is broken.\n"


@pytest.mark.usefixtures("_sandboxed")
def test_without_the_variable_a_new_container_lets_nothing_act(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir(mode=0o700)
    script(volume / "answers.jsonl", ANSWERS)
    model = {"ENGINE_MODEL": "scripted:/data/answers.jsonl"}
    assert in_container(volume, ["run", "--run", "nightly", "Check"], **model).returncode == 6
    refused = in_container(volume, ["accept", "nightly"], **model, ENGINE_TRUST="")
    assert "is not known to be yours" in refused.stderr


def test_backups_retention_and_updates_work_as_they_stand_there(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.md").write_text("nothing\n")
    model = script(tmp_path / "answers.jsonl", ['<update status="200">Done.</update>'])
    begun = run_command(folder, *ENGINE, "run", "--run", "nightly", "--model", model, "Check")
    assert begun.returncode == 0, begun.stderr
    programs = tmp_path / "bin"
    programs.mkdir()
    quoted = " ".join(shlex.quote(word) for word in ENGINE)
    (programs / "engine").write_text(f'#!/bin/sh\nexec {quoted} "$@"\n')
    (programs / "engine").chmod(0o755)
    if shutil.which("sqlite3") is None:
        copy = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute(sys.argv[2])"
        (programs / "sqlite3").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{copy}" "$@"\n')
        (programs / "sqlite3").chmod(0o755)
    commands = [line for line in lines("sh") if not line.startswith("docker")]
    assert len(commands) >= 10
    variables = environment(tmp_path) | {"PATH": f"{programs}:{os.environ['PATH']}"}
    for line in commands:
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, (line, done.stderr)
    assert (folder / "nightly.jsonl").stat().st_size > 1000
    kept = run_command(folder, *ENGINE, "runs", "--json", "--db", "backup.db")
    assert [row["run"] for row in json.loads(kept.stdout)] == ["nightly"]


def unit() -> configparser.ConfigParser:
    found = configparser.ConfigParser(interpolation=None)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read_string(blocks("ini")[0])
    return found


def test_the_service_serves_and_ends_at_sigterm(tmp_path: Path) -> None:
    """As systemd starts and stops it; the port is another one, which is free."""
    words = shlex.split(unit()["Service"]["ExecStart"])
    assert words[0] == "/opt/agent/bin/engine"
    words[words.index("--port") + 1] = "0"
    folder = tmp_path / "srv"
    folder.mkdir()
    served = Terminal(folder, *words[1:], ENGINE_RPC_TOKEN="x" * 40)
    try:
        served.expect("ws://")
        served.interrupt(signal.SIGTERM)
        assert served.wait() in (0, 130, 143)
    finally:
        served.close()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    text = blocks("ini")[0].replace("/opt/agent/bin/engine", sys.executable)
    text = text.replace("EnvironmentFile=/etc/agent.env", "").replace("User=agent", "User=root")
    place = tmp_path / "agent.service"
    place.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", str(place)], capture_output=True, text=True, check=False)
    assert "agent.service" not in done.stderr, done.stderr


def test_the_image_names_no_file_that_is_not_made_and_ends_as_the_user_of_the_volume() -> None:
    steps = dict(line.split(" ", 1) for line in lines("dockerfile"))
    assert steps["ENTRYPOINT"] == '["engine"]'
    assert steps["WORKDIR"] == steps["VOLUME"] == "/data"
    assert steps["USER"] == "agent"
    assert image_variables()["ENGINE_TRUST"] == "/data/.engine"
    minor = re.search(r"python:3\.(\d+)", steps["FROM"])
    assert minor is not None
    assert int(minor[1]) >= 11
