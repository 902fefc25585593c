"""Sandboxes in runs: which is chosen, what is told, and what is refused.

1. In ask mode env runs without a decision and changes nothing; without a sandbox it is a proposal.
2. A sandbox that is required and missing refuses the prompt, and the command of a prompt from elsewhere.
3. Without one, whoever watches is told so, in one line.
4. A plugin's sandbox is used by its name, and by auto where bubblewrap is missing.
5. The doctor tries it out, whatever the folder for temporary files is called.

spec: @sandbox @sandboxed_env @sandbox_network @plugins
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, script
from engine_cli import engine as command
from sandboxed import require_sandbox

import engine
from engine import plugins
from engine.errors import EngineError
from engine.sandbox import Confined, Confinement, bubblewrap, check_choice
from engine.sandbox.proxy import Proxy
from engine.sandbox.secrets_on_disk import homes
from engine.sandbox.trial import ATTEMPTS, try_out
from engine.system import places

LOOK = "<env>cat notes.md; echo x > made; id -u</env>"
TOLD = "select command, sandbox, project, network, exit_code, outcome from processes"


class Labelled:
    """A sandbox that marks what it runs, and confines nothing."""

    name = "labelled"

    def missing(self) -> str | None:
        return None

    @contextmanager
    def confine(self, asked: Confinement) -> Iterator[Confined]:
        label = "read-only" if not asked.writable else "writable"
        yield Confined(["/usr/bin/env", f"LABEL={label}"], {"DISPLAY": None, "ADDED": "yes"})

    @plugins.hookimpl
    def engine_sandboxes(self) -> list[Labelled]:
        return [self]


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A system without bwrap."""
    monkeypatch.setattr(bubblewrap, "_PLACES", str(tmp_path))
    bubblewrap._try.cache_clear()
    yield
    bubblewrap._try.cache_clear()


@pytest.fixture
def labelled() -> Iterator[Labelled]:
    sandbox = Labelled()
    plugins.manager().register(sandbox)
    try:
        yield sandbox
    finally:
        plugins.manager().unregister(sandbox)


def run(db: engine.Database, root: Path, folder: Path, *answers: str, **options: Any) -> engine.Result:
    return db.run("Look", root=root, run="demo", model=script(folder, *answers), **options)


def test_env_in_ask_mode_needs_no_decision_and_changes_nothing(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    require_sandbox()
    result = run(db, workspace_dir, tmp_path, LOOK, DONE, mode="ask")
    assert result.status == 200
    assert [tuple(row.values()) for row in db.rows("select decision, decided_by from decisions")] == [
        ("accept", "sandbox")
    ]
    (row,) = db.rows(TOLD)
    assert (row["sandbox"], row["project"], row["network"], row["exit_code"]) == ("bubblewrap", "read-only", "none", 0)
    assert not (workspace_dir / "made").exists()
    (printed,) = db.rows("select body from known_entries where path glob 'env://*_1'")
    assert "The port is 8080." in printed["body"]


def test_a_shell_of_a_hidden_folder_is_not_needed(
    db: engine.Database, workspace_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_sandbox()
    own = tmp_path / "own"
    own.mkdir()
    shell = shutil.which("bash") or "/bin/sh"
    (own / "bash").symlink_to(shell)
    monkeypatch.setenv("PATH", str(own), prepend=os.pathsep)
    db.run("Look", run="demo", root=workspace_dir, mode="ask", model=script(tmp_path, "<env>echo said</env>", DONE))
    assert db.value("select exit_code from processes") == 0


def test_sh_is_asked_about_and_changes_the_project_only(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    require_sandbox()
    asked: list[str] = []

    def accept(proposal: engine.Proposal) -> bool:
        asked.append(proposal["kind"])
        return True

    line = f"<sh>echo x > made; echo x > {tmp_path}/outside; cat *.db</sh>"
    result = run(db, workspace_dir, tmp_path, line, DONE, on_proposal=accept)
    assert (result.status, asked) == (200, ["process"])
    assert (workspace_dir / "made").read_text() == "x\n"
    assert not (tmp_path / "outside").exists()
    assert db.rows(TOLD)[0]["project"] == "writable"


def test_without_a_sandbox_env_waits_and_the_absence_is_told(
    db: engine.Database, workspace_dir: Path, tmp_path: Path, no_bubblewrap: None
) -> None:
    events: list[Any] = []
    result = run(db, workspace_dir, tmp_path, LOOK, LOOK, DONE, on_event=events.append)
    assert result.status == 202
    assert len(db.proposals("demo")) == 1
    told = [event["body"] for event in events if event["type"] == "sandbox"]
    assert told == [
        "no sandbox: bubblewrap: bwrap is not installed; install the package bubblewrap. "
        "Shell commands have all rights of your user"
    ]


def test_a_sandbox_that_is_required_and_missing_refuses_the_prompt(
    db: engine.Database, workspace_dir: Path, tmp_path: Path, no_bubblewrap: None
) -> None:
    for options in ({"sandbox": "require"}, {"sandbox": "bubblewrap"}, {"network": "example.org"}):
        with pytest.raises(engine.EngineError, match=r"403 sandbox .*bwrap is not installed"):
            run(db, workspace_dir, tmp_path, LOOK, **options)
    assert db.value("select count(*) from runs") == 0


def test_a_command_that_comes_up_without_its_sandbox_fails(
    db: engine.Database, workspace_dir: Path, tmp_path: Path, no_bubblewrap: None
) -> None:
    db.execute("update settings set value = 'require' where name = 'sandbox'")
    result = run(db, workspace_dir, tmp_path, "<sh>echo x > made</sh>", DONE, DONE, yolo=True)
    (row,) = db.rows("select outcome, message from command_results where action = 'sh'")
    assert row["outcome"] == "permission"
    assert "it needs a sandbox, and none is available" in row["message"]
    assert result.status == 200
    assert not (workspace_dir / "made").exists()


def test_off_is_said_by_a_prompt_or_by_the_environment(
    db: engine.Database, workspace_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_SANDBOX", "off")
    assert run(db, workspace_dir, tmp_path, LOOK, DONE, yolo=True).status == 200
    assert db.rows(TOLD)[0]["sandbox"] is None
    assert (workspace_dir / "made").exists(), "yolo trusts an env to only read"


def test_the_sandbox_of_a_plugin_is_used(
    db: engine.Database, workspace_dir: Path, tmp_path: Path, no_bubblewrap: None, labelled: Labelled
) -> None:
    line = "<env>echo $LABEL $ADDED</env>"
    for choice in ("labelled", "auto", "require"):
        model = script(tmp_path, line, DONE)
        assert db.run("Look", root=workspace_dir, model=model, sandbox=choice, mode="ask").status == 200
    assert [row["sandbox"] for row in db.rows(TOLD)] == ["labelled"] * 3
    printed = db.rows("select body from known_entries where path glob 'env://*_1'")
    assert {row["body"] for row in printed} == {"read-only yes\n"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"sandbox": "no_such"},
            "sandbox 'no_such': unknown; the sandboxes are auto, require, off, bubblewrap",
        ),
        ({"network": "http://x"}, "network: 'http://x' is not a domain"),
        ({"network": "all", "sandbox": "off"}, "network: only a sandbox can limit the network"),
    ],
)
def test_what_is_no_choice_is_refused(
    db: engine.Database, workspace_dir: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(engine.EngineError, match=message):
        run(db, workspace_dir, tmp_path, LOOK, **options)
    assert db.value("select count(*) from runs") == 0


def test_a_choice_is_the_given_one_before_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_SANDBOX", "require")
    assert (check_choice("auto"), check_choice(None)) == ("auto", "require")


def test_the_doctor_makes_each_attempt(workspace_dir: Path) -> None:
    require_sandbox()
    checks = json.loads(command(workspace_dir, "doctor", "--json").stdout)
    found = [check for check in checks if check["name"] == "sandbox"]
    assert found[0]["detail"] == "bubblewrap"
    assert [check["detail"] for check in found[1:]] == [f"stopped: {attempt}" for attempt in ATTEMPTS.values()]


def test_a_long_name_of_the_folder_for_temporary_files_hinders_no_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("long" * 25)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    assert set(try_out(None)) == set(ATTEMPTS)
    with Proxy("example.org") as proxy, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(proxy.socket))
    monkeypatch.setattr(places, "_SHORT", str(tmp_path / "missing"))
    with pytest.raises(EngineError, match="is too long for a Unix socket; set TMPDIR to a folder with a"):
        try_out(None)
    assert not list(long.iterdir())


def test_without_a_sandbox_the_doctor_finds_what_is_open() -> None:
    stopped = try_out(None)
    open_now = {"write outside", "read .env", "read database", "change git hooks", "change git config", "reach network"}
    assert not any(stopped[name] for name in open_now | {"reach socket", "signal process"})


def test_the_terminal_tells_in_one_line_that_there_is_none(
    workspace_dir: Path, tmp_path: Path, no_bubblewrap: None
) -> None:
    done = command(workspace_dir, "run", "--model", script(tmp_path, LOOK, DONE), "--ask", "Look")
    lines = [line for line in done.stderr.splitlines() if "NO SANDBOX" in line]
    assert len(lines) == 1
    assert lines[0].startswith("NO SANDBOX: bubblewrap: bwrap is not installed")
    refused = command(
        workspace_dir, "run", "--sandbox", "require", "--run", "new", "--model", script(tmp_path, LOOK), "Look"
    )
    assert refused.returncode == 1
    assert "sandbox 'require': not available" in refused.stderr
    both = command(workspace_dir, "run", "--network", "--domains", "example.org", "Look")
    assert both.returncode == 2


def test_the_home_of_a_service_is_hidden_where_its_environment_does_not_name_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    services = [user for user in pwd.getpwall() if 0 < user.pw_uid < 1000 and user.pw_dir.startswith("/var/")]
    service = next((user for user in services if os.path.isdir(user.pw_dir)), None)
    if service is None:
        pytest.skip("no service of this machine has a home")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: service.pw_uid)
    assert Path(os.path.realpath(service.pw_dir)) in homes()


def test_an_environment_of_python_is_there_and_brings_no_home_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "conda").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CONDA_PREFIX", str(home / "conda"))
    monkeypatch.setenv("VIRTUAL_ENV", str(home))
    visible = list(bubblewrap._visible(Confinement(tmp_path, writable=True)))
    assert home / "conda" in visible
    assert not any(home.is_relative_to(path) for path in visible)
