"""Attempts to get out of the sandbox, as root and as another user, each with files and servers that are really there.

1. Nothing outside of the project is written, by any name of it.
2. Keys, homes, the database, sockets and other processes cannot be reached.
3. What git runs cannot be changed, put in another's place, or made where it was missing.
4. A command that only reads writes nothing that stays.
5. No right of root is left, and none can be had.
6. Limits hold, and all that was started ends with the command.

spec: @sandbox @sandbox_hides @sandbox_limits
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from sandboxed import LONG_S, NOBODY, SECRET, Place, give, open_up, python_of_all, require_sandbox, skip, sleepers
from timing import wait_until

from engine.errors import ValidationError
from engine.processes import shell as processes
from engine.processes.shell import run_process
from engine.sandbox import Confined, Confinement, Limits, find
from engine.sandbox.secrets_on_disk import look
from engine.system.identity import this_process

ATTEMPTS = (Path(__file__).parent.parent / "escapes.py").read_text(encoding="utf-8")


@pytest.fixture(params=["itself", "nobody"])
def place(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Place:
    """A project in a folder of all, with keys, a repository with a submodule, a database and links that lead out."""
    require_sandbox()
    user = NOBODY if request.param == "nobody" else None
    if user is not None and os.geteuid() != 0:
        skip("only root can run a command as another user")
    open_up(tmp_path)
    root, outside, home = tmp_path / "project", tmp_path / "outside", tmp_path / "home"
    for folder in (root / "deep" / "er", root / "data", root / ".ssh", outside, home / ".ssh", root / "sub"):
        folder.mkdir(parents=True)
    (outside / "kept").write_text("kept")
    for name in (".env", "deep/er/.env.local", "data/agent.db", "data/agent.db-wal", ".ssh/key"):
        (root / name).write_text(SECRET)
    (home / ".ssh" / "id_ed25519").write_text(SECRET)
    os.link(root / ".env", root / "hard")
    (root / "soft").symlink_to(".env")
    (root / "link").symlink_to(outside)
    (root / "to_home").symlink_to(home)
    subprocess.run([shutil.which("git") or "git", "init", "-q", str(root)], check=True)
    shutil.rmtree(root / ".git" / "hooks", ignore_errors=True)
    module = root / ".git" / "modules" / "sub"
    module.mkdir(parents=True)
    for name in ("HEAD", "config"):
        (module / name).write_text("[core]\n" if name == "config" else "ref: refs/heads/main\n")
    (root / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    if user is not None:
        give(tmp_path, user)
    return Place(root, user, {"database": root / "data" / "agent.db"})


def given_of(place: Place, servers: list[socket.socket]) -> dict[str, object]:
    """Listening sockets of all kinds, and what the attempts are told of the world."""
    folder = place.root.parent
    tcp = socket.create_server(("127.0.0.1", 0))
    servers.append(tcp)
    abstract = f"engine-{os.getpid()}"
    for address in (str(place.root / "s.sock"), str(folder / "o.sock"), "\0" + abstract):
        server = socket.socket(socket.AF_UNIX)
        servers.append(server)
        server.bind(address)
        server.listen()
        if address[0] == "/":
            os.chmod(address, 0o777)
    me = this_process()
    return {
        "outside": str(folder / "outside"), "root": str(place.root), "home": str(folder / "home"),
        "secret": SECRET, "pid": me.pid, "started": me.started, "port": tcp.getsockname()[1],
        "socket": str(folder / "o.sock"), "abstract": abstract,
    }  # fmt: skip


def tree(folder: Path) -> dict[str, bytes]:
    """All files of a folder with their bytes."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_no_attempt_gets_out(place: Place) -> None:
    before = tree(place.root.parent)
    servers: list[socket.socket] = []
    try:
        given = given_of(place, servers)
        managed = place.attempt(ATTEMPTS, given)
    finally:
        for server in servers:
            server.close()
    assert managed == []
    (place.root / "attempt.py").unlink()
    after = tree(place.root.parent)
    made = {"project/s", "project/c"}
    gone = {name.replace("project/moved/", "project/deep/"): text for name, text in after.items() if name not in made}
    assert gone == before
    assert not (place.root / ".engine").exists(), "nothing stays of what stood in for missing names"
    assert not (place.root / ".git" / "hooks").exists()


@pytest.mark.parametrize("place", ["nobody"], indirect=True)
def test_without_a_sandbox_the_same_attempts_succeed(place: Place) -> None:
    servers: list[socket.socket] = []
    try:
        managed = place.attempt(ATTEMPTS, given_of(place, servers), sandbox=None)
    finally:
        for server in servers:
            server.close()
    assert {
        "write outside", "remove outside", "write by a link", "read .env", "read .env by another name", "read home", "TCP",
        "unix socket in the project", "unix socket outside", "see other processes", "git config",
        "swap .git", "swap the database", "git file of a submodule",
    } <= set(managed)  # fmt: skip


def test_a_command_that_reads_writes_nothing_that_stays(place: Place) -> None:
    before = tree(place.root.parent)
    said = place.run(
        "touch new .git/new ~/new; echo x > .git/config; git status --short >/dev/null && echo told; "
        "cat sub/.git; echo x > /tmp/own && cat /tmp/own; cat .env; ls .engine",
        writable=False,
    )
    assert said.out == "told\ngitdir: ../.git/modules/sub\nx\n"
    assert "Read-only file system" in said.err
    assert tree(place.root.parent) == before
    assert not (place.root / ".engine").exists()


def test_git_works_in_the_sandbox(place: Place) -> None:
    (place.root / "work.txt").write_text("one\n")
    if place.user:
        give(place.root, place.user)
    said = place.run(
        "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b;"
        "git add work.txt && git commit -qm one && git checkout -qb two && git stash list && git log --format=%s"
    )
    assert (said.out, said.err) == ("one\n", "")


def test_files_that_a_person_shows_and_examples_can_be_read(place: Place) -> None:
    (place.root / ".env.example").write_text("EXAMPLE=1\n")
    if place.user:
        give(place.root, place.user)
    said = place.run("cat .env.example deep/er/.env.local", shown=["deep/er/.env.local"])
    assert said.out == f"EXAMPLE=1\n{SECRET}"


def test_a_file_that_leads_git_elsewhere_is_removed(place: Place) -> None:
    place.run("echo ../evil > .git/commondir")
    assert not (place.root / ".git" / "commondir").exists()


def test_linked_hooks_are_not_replaced(place: Place) -> None:
    (place.root / "githooks").mkdir()
    (place.root / ".git" / "hooks").symlink_to("../githooks")
    if place.user:
        give(place.root, place.user)
    said = place.run(
        "rm .git/hooks; echo x > .git/hooks/pre-commit; mkdir .git/new; git status --short >/dev/null && echo told"
    )
    assert said.out == "told\n"
    assert (place.root / ".git" / "hooks").is_symlink()
    assert not (place.root / "githooks" / "pre-commit").exists()


def test_commands_that_run_at_once_take_nothing_from_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in for what is not there stays until the last of them ends."""
    require_sandbox()
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    attack = (
        "echo x > .git/config.worktree; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; mkdir -p .engine; "
        "echo x > .engine/engine.db; echo x > agent.db-journal; touch tried"
    )
    asked = Confinement(root, writable=True, database=root / "agent.db")
    sandbox, _ = find("bubblewrap")
    assert sandbox is not None

    def run(confined: Confined, command: str) -> None:
        options = {"on_start": lambda _: None, "on_output": lambda *_: None, "cancelled": threading.Event()}
        run_process(command, cwd=root, timeout_s=LONG_S, confined=confined, **options)  # type: ignore[arg-type]

    with ExitStack() as second:
        with sandbox.confine(asked) as confined:
            run(confined, "true")
            other = second.enter_context(sandbox.confine(asked))
            run(other, "true")
        for _ in range(2):
            run(other, attack)
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*")) == [".git", ".git/config", "tried"]


def test_a_socket_that_is_gone_at_the_start_hinders_nothing(tmp_path: Path) -> None:
    require_sandbox()
    sandbox, _ = find("bubblewrap")
    assert sandbox is not None
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.sock"))
        server.listen()
        with sandbox.confine(Confinement(tmp_path, writable=True)) as confined:
            (tmp_path / "s.sock").unlink()
            said: list[str] = []
            done = run_process(
                "ls",
                cwd=tmp_path,
                timeout_s=LONG_S,
                on_start=lambda _: None,
                on_output=lambda _, text: said.append(text),
                confined=confined,
            )
    assert (done.exit_code, said, list(tmp_path.iterdir())) == (0, [], [])


def test_a_forged_list_of_what_stands_in_removes_nothing_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache may lie in the project, as it does where that is the home."""
    require_sandbox()
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "project" / "cache"))
    (root := tmp_path / "project").mkdir()
    (root / "link").symlink_to(tmp_path)
    (tmp_path / "empty").touch()
    names = [
        str(path).encode().hex() for path in (tmp_path / "empty", root / "link" / "empty", root / "link", root / "\0")
    ]
    sandbox, _ = find("bubblewrap")
    assert sandbox is not None
    for forged in (json.dumps(names), json.dumps([1, None]), '{"a": 1}', "7", "["):
        with sandbox.confine(Confinement(root, writable=True)):
            (listing,) = (path for path in (root / "cache" / "sandbox").iterdir() if "." not in path.name)
            listing.write_text(forged)
    assert (tmp_path / "empty").exists()
    assert (root / "link").is_symlink()


def test_hooks_in_other_folders_are_not_changed(place: Place, tmp_path: Path) -> None:
    config, module = place.root / ".git" / "config", place.root / ".git" / "modules" / "sub" / "config"
    included = tmp_path / "included"
    included.write_text("[core]\n\thooksPath = tools/hooks\n")
    config.write_text(config.read_text() + f'[core]\n\tHOOKSPATH = "git hooks"\n[include]\n\tpath = {included}\n')
    module.write_text("[core]\n\thooksPath = own\n\tworktree = ../../../sub\n")
    (tmp_path / "home" / ".gitconfig").write_text("[core]\n\thooksPath = .githooks\n")
    for name in ("git hooks", "tools", "sub/own"):
        (place.root / name).mkdir()
    (place.root / "git hooks" / "pre-commit").write_text("old")
    if place.user:
        give(place.root, place.user)
    names = "'git hooks' tools/hooks .githooks sub/own"
    place.run(
        f"for name in {names}; do mkdir -p $name; echo x > $name/pre-commit; rm -rf $name; mv $name n; echo y > $name; done"
        "; mkdir a; mv tools a/; echo x > tools-new; touch done"
    )
    assert (place.root / "git hooks" / "pre-commit").read_text() == "old"
    assert not (place.root / "sub" / "own" / "pre-commit").exists()
    assert not (place.root / "tools" / "hooks").exists()
    assert not (place.root / ".githooks").exists()
    assert sorted(path.name for path in (place.root / "tools").iterdir()) == []
    assert (place.root / "done").exists()


def test_a_work_tree_keeps_its_git_file_and_its_repository(place: Place, tmp_path: Path) -> None:
    tree_of = tmp_path / "tree"
    tree_of.mkdir()
    (tree_of / ".git").write_text(f"gitdir: {place.root}/.git\n")
    if place.user:
        give(tree_of, place.user)
    other = Place(tree_of, place.user)
    said = other.run(
        f"echo x > .git; rm -f .git; mv .git y; echo x > {place.root}/.git/config; cat .git; git status -s | head -1"
    )
    assert said.out.startswith(f"gitdir: {place.root}/.git\n")
    assert "x" not in (place.root / ".git" / "config").read_text().split()


def test_names_in_the_home_are_shown_only_where_listed(place: Place, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n")
    (home / ".netrc").write_text(SECRET)
    (home / ".tokens").write_text("token = ghp_0123456789abcdef\n")
    said = place.run(
        "cat ~/.gitconfig; ls -A ~; echo x > ~/.gitconfig || echo kept; mkdir -p ~/.cache/x && echo own",
        home=[".gitconfig", ".tokens", "../outside"],
    )
    assert said.out == "[user]\n\tname = Ada\n.gitconfig\nkept\nown\n"
    assert not (home / ".cache").exists()


def test_limits_of_memory_and_files_hold(place: Place) -> None:
    hungry = "python3 -I -S -c 'x = bytearray(400_000_000)' 2>/dev/null || echo refused"
    long = "head -c 3000000 /dev/zero > long; stat -c %s long"
    said = place.run(f"PATH=/usr/bin:/usr/local/bin:$PATH; {hungry}; {long}", limits=Limits(200_000_000, 1_000_000, 0))
    assert said.out == "refused\n1000000\n", said


def test_the_number_of_processes_is_limited(place: Place) -> None:
    if place.user is None and os.geteuid() == 0 and not can_count():
        pytest.skip("the number of processes of root is limited by cgroups only, and none can be made here")
    bomb = "import os, time\nfor n in range(60):\n    try: os.fork() or time.sleep(99)\n    except OSError: break\nprint(n)"
    said = place.run(f"{python_of_all(place.user)} -I -S -c '{bomb}'", limits=Limits(processes=20))
    assert int(said.out) < 20


def seconds_of(place: Place) -> str:
    """How long the sleepers of one test sleep: another may run at the same time."""
    return f"6000.{place.root.stat().st_ino}"


def test_all_ends_with_the_command(place: Place) -> None:
    sleep = f"sleep {seconds_of(place)}"
    said = place.run(f"setsid {sleep} >/dev/null 2>&1 & ({sleep} >/dev/null 2>&1 &) ; echo ended")
    assert said.out == "ended\n"
    wait_until(lambda: not sleepers(seconds_of(place)))


@pytest.mark.parametrize("place", ["itself"], indirect=True)
def test_what_is_asked_to_end_says_a_last_word(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_TERMINATE_SECONDS", 600.0)
    said = place.run("trap 'echo last; exit' TERM; echo first; while :; do sleep 0.05; done", until="first")
    assert (said.out, said.result.ended) == ("first\nlast\n", "cancelled")


@pytest.mark.parametrize("place", ["nobody"], indirect=True)
def test_what_ignores_the_time_out_is_killed(place: Place) -> None:
    sleep = f"sleep {seconds_of(place)}"
    said = place.run(f"trap '' TERM; (trap '' TERM; setsid {sleep}) & {sleep}", timeout_s=0.5)
    assert said.result.ended == "timed_out"
    wait_until(lambda: not sleepers(seconds_of(place)))


def test_exit_codes_and_signals_are_those_of_the_command(place: Place) -> None:
    assert [place.run(line).result.exit_code for line in ("exit 3", "kill -9 $$")] == [3, 137]


def test_the_whole_file_system_is_no_project() -> None:
    require_sandbox()
    with pytest.raises(ValidationError, match="choose another folder"):
        Place(Path("/")).run("true")


def can_count() -> bool:
    """Whether a cgroup can be made that counts processes."""
    for base in map(Path, ("/sys/fs/cgroup/pids", "/sys/fs/cgroup")):
        group = base / f"engine-test-{os.getpid()}"
        with suppress(OSError):
            group.mkdir()
            found = (group / "pids.max").exists()
            group.rmdir()
            return found
    return False


def test_one_command_cannot_prepare_the_way_for_the_next(place: Place) -> None:
    home = place.root.parent / "home"
    prepare = [
        "mkdir -p node_modules n/.git m/.git closed hid box away/er; mv deep node_modules/deep; mv data closed; mv .ssh hid",
        f"ln -s {home}/.ssh n/.git/hooks; ln -s {home} n/.git/modules; ln -s {home}/.ssh/id_ed25519 n/.git/config",
        f"ln -s {home} m/.git/worktrees; cp -r node_modules/deep away",
        "mv node_modules/deep box/deep; chmod 0 box; mv link to_home n",
    ]
    read = [
        "chmod 755 box; cat node_modules/deep/er/.env* box/deep/er/.env* away/deep/er/.env*",
        "cat hid/.ssh/key .ssh/key closed/data/*",
        f"cat {home}/.ssh/* n/.git/hooks/* n/.git/config n/.git/modules/.ssh/* n/to_home/.ssh/*",
        "echo x > n/link/new; echo read",
    ]
    place.run("; ".join(prepare))
    assert not (place.root / "deep").exists()
    said = place.run("; ".join(read))
    assert said.out.endswith("read\n")
    assert SECRET not in said.out
    assert not (place.root.parent / "outside" / "new").exists()


def test_sockets_elsewhere_are_found(tmp_path: Path) -> None:
    # one in a folder that other sandboxes show would be in the way of tests that run at the same time
    path = tmp_path / "s"
    (tmp_path / "project").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        assert path in look(tmp_path / "project", None, []).sockets
