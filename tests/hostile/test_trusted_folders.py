"""`ENGINE_TRUST` lets files act that a container has made before, and no others.

1. A file that was made in one container is driven in the next. 2. Whatever leads another file into the folder, or the folder
to another place, does not count. 3. Nobody but the environment says which folder counts. 4. No run writes there, and no
command sees the variable.

spec: @trusted_folders
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_cli import ENGINE, SECONDS, engine, environment, script
from sandboxed import require_sandbox
from test_foreign_files import WRITES, accepted, planted

import engine as library
from engine.processes.shell import run_process
from engine.project.root_paths import RootPaths
from engine.sandbox import Confinement, find
from engine.trust import trusted_folders
from engine.trust.known_files import ForeignFile

ANSWERS = ["<ask_user>Which port?</ask_user>", '<update status="200">Done.</update>']


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a container that starts anew; no file is known there."""
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    monkeypatch.delenv("ENGINE_TRUST", raising=False)
    return place


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """The folder that is on a volume."""
    place = Path(os.path.realpath(tmp_path)) / "volume"
    place.mkdir(mode=0o755)
    return place


def foreign(folder: Path, name: str = "agent.db") -> Path:
    """A file from elsewhere in this folder, in which an accepted write waits."""
    (folder / ".engine").mkdir()
    place = planted(folder, accepted(WRITES)).rename(folder / name)
    (folder / ".engine").rmdir()
    return place


def drives(path: Path) -> bool:
    """Whether the file may be opened to write."""
    try:
        library.open(path).close()
    except ForeignFile:
        return False
    return True


def test_a_waiting_run_goes_on_in_a_new_container(volume: Path, tmp_path: Path) -> None:
    """Before, `accept` and `resume` were refused there, because the notes of the first container are gone with it."""
    model = script(tmp_path / "s.jsonl", ANSWERS)
    (volume / "work").mkdir()

    def container(name: str, *words: str, trust: str) -> subprocess.CompletedProcess[str]:
        place = tmp_path / name
        place.mkdir()
        variables = environment(place) | {"XDG_STATE_HOME": str(place / "state"), "ENGINE_TRUST": trust}
        line = [*ENGINE, *words, "--db", str(volume / "agent.db")]
        folder = volume / "work"
        return subprocess.run(line, cwd=folder, env=variables, stdin=-3, capture_output=True, text=True, timeout=300)

    first = container("first", "run", "--run", "demo", "--model", model, "Ask me", trust="")
    assert first.returncode == 6, first.stderr
    second = container("second", "reject", "demo", "--reason", "8080", trust="")
    assert "is not known to be yours" in second.stderr
    third = container("third", "reject", "demo", "--reason", "8080", trust=f"/nowhere:{volume}")
    assert third.returncode == 0, third.stderr
    fourth = container("fourth", "resume", "demo", trust=str(volume))
    assert (fourth.returncode, fourth.stdout) == (0, "Done.\n"), fourth.stderr
    assert not any(path.is_file() for path in (tmp_path / "fourth" / "state").rglob("files/*"))


def test_the_variable_alone_decides_and_nothing_is_kept(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = foreign(volume)
    assert not drives(path)
    monkeypatch.setenv("ENGINE_TRUST", str(volume))
    assert drives(path)
    assert "is yours" in engine(volume, "trust", "--db", str(path), env=_state() | {"ENGINE_TRUST": str(volume)}).stderr
    monkeypatch.delenv("ENGINE_TRUST")
    assert not drives(path)


def _state() -> dict[str, str]:
    return {"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]}


def _in_a_folder_below(path: Path) -> Path:
    (path.parent / "clone").mkdir()
    return path.rename(path.parent / "clone" / path.name)


def _elsewhere_behind_a_link(path: Path) -> Path:
    other = path.parent.parent / "downloads"
    other.mkdir()
    path.rename(other / path.name)
    path.symlink_to(other / path.name)
    return path


def _with_a_second_name(path: Path) -> Path:
    os.link(path, path.parent.parent / "kept.db")
    return path


def _writable(mode: int) -> Callable[[Path], Path]:
    def loosen(path: Path) -> Path:
        path.chmod(mode)
        return path

    return loosen


def _in_a_folder_that_is(mode: int) -> Callable[[Path], Path]:
    def loosen(path: Path) -> Path:
        path.parent.chmod(mode)
        return path

    return loosen


def _with_a_log(make: Callable[[Path], object]) -> Callable[[Path], Path]:
    def plant(path: Path) -> Path:
        make(Path(f"{path}-wal"))
        return path

    return plant


def _log_that_its_group_may_write(log: Path) -> None:
    log.write_bytes(bytes(32))  # SQLite gives an empty one the mode of its database
    log.chmod(0o664)


def _log_with_a_second_name(log: Path) -> None:
    log.touch()
    os.link(log, log.parent.parent / "log")


def _below_a_folder_that_all_may_write(path: Path) -> Path:
    path.parent.parent.chmod(0o777)
    return path


WAYS: dict[str, Callable[[Path], Path]] = {
    "a file in a folder below, such as a clone": _in_a_folder_below,
    "a link in the folder to a file elsewhere": _elsewhere_behind_a_link,
    "a file that has another name, too": _with_a_second_name,
    "a file that its group may write": _writable(0o664),
    "a file that all may write": _writable(0o646),
    "a log that its group may write": _with_a_log(_log_that_its_group_may_write),
    "a log that has another name, too": _with_a_log(_log_with_a_second_name),
    "a folder that its group may write": _in_a_folder_that_is(0o775),
    "a folder that all may write": _in_a_folder_that_is(0o777),
    "a folder like /tmp": _in_a_folder_that_is(0o1777),
    "a folder that others can replace": _below_a_folder_that_all_may_write,
}


@pytest.mark.parametrize("way", WAYS)
def test_what_others_can_have_put_there_does_not_count(volume: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    path = foreign(volume)
    monkeypatch.setenv("ENGINE_TRUST", str(volume))
    assert drives(path)
    monkeypatch.delenv("ENGINE_TRUST")
    path = WAYS[way](path)
    monkeypatch.setenv("ENGINE_TRUST", str(volume))
    try:
        assert not drives(path)
    finally:
        volume.parent.chmod(0o700)


def test_a_folder_behind_a_link_does_not_count_and_its_real_name_is_told(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, link = foreign(volume), volume.parent / "link"
    link.symlink_to(volume)
    monkeypatch.setenv("ENGINE_TRUST", str(link))
    for each in (path, link / path.name):
        with pytest.raises(ForeignFile, match=f"ENGINE_TRUST: '{link}' is behind a symbolic link; name {volume}"):
            library.open(each)


_OTHER_NAMES = [".", "volume", "./volume", "~/volume", "{0}/", "{0}/../volume", "{0}/.", "/{0}", "$PWD/volume"]


@pytest.mark.parametrize("name", _OTHER_NAMES)
def test_a_name_that_is_not_the_folders_own_does_not_count(
    volume: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = foreign(volume)
    monkeypatch.chdir(volume if name == "." else volume.parent)
    monkeypatch.setenv("ENGINE_TRUST", name.format(volume))
    assert not drives(path)


def test_a_link_elsewhere_to_a_file_in_the_folder_is_that_file(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = foreign(volume)
    (volume.parent / "shortcut.db").symlink_to(path)
    monkeypatch.setenv("ENGINE_TRUST", str(volume))
    assert drives(volume.parent / "shortcut.db")


def test_a_link_that_is_turned_after_the_file_was_opened_counts_for_nothing(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is judged is the file that SQLite opened, not what its path leads to by then."""
    good = foreign(volume)
    other = volume.parent / "downloads"
    other.mkdir()
    evil = shutil.copy(good, other / "evil.db")
    link = volume.parent / "link.db"
    link.symlink_to(evil)
    monkeypatch.setenv("ENGINE_TRUST", str(volume))
    seen = trusted_folders.holds

    def turned(file: str) -> bool:
        link.unlink()
        link.symlink_to(good)
        return seen(file)

    monkeypatch.setattr(trusted_folders, "holds", turned)
    assert not drives(link)


def test_no_file_of_a_project_sets_the_variable(volume: Path) -> None:
    path = foreign(volume)
    (volume / ".env").write_text(f"ENGINE_TRUST={volume}\n")
    (volume / "engine.toml").write_text(f'trust = "{volume}"\n')
    done = engine(volume, "resume", "demo", "--db", str(path), env=_state())
    assert done.returncode != 0
    (volume / "engine.toml").unlink()
    done = engine(volume, "resume", "demo", "--db", str(path), env=_state())
    assert "is not known to be yours" in done.stderr


def test_objects_of_strangers_stay_untrusted(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = volume / "agent.db"
    with library.open(path) as db:
        db.execute("create table loot (x)")
        db.connection.execute(
            "create trigger evil after insert on runs begin insert into loot values (new.id); end"
        ).fetchall()
    monkeypatch.setenv("ENGINE_TRUST", str(volume))
    with pytest.raises(library.EngineError, match="evil"):
        library.open(path)


def test_doctor_says_which_folders_count(volume: Path) -> None:
    told = engine(volume, "doctor", env=_state() | {"ENGINE_TRUST": f"relative:{volume}"}).stdout
    assert f"ENGINE_TRUST: {volume}" in " ".join(told.split())
    assert "'relative' is no absolute path without dots" in " ".join(told.split())


def test_a_file_that_came_with_a_clone_does_not_count(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository can bring `.engine/engine.db` along: a clone into an empty volume fills the folder that is named."""
    path, folder = foreign(volume), volume / ".engine"
    folder.mkdir()
    path = path.rename(folder / "engine.db")
    path.chmod(0o644)
    monkeypatch.setenv("ENGINE_TRUST", str(folder))
    with pytest.raises(
        ForeignFile, match=r"ENGINE_TRUST: .*engine\.db, which others can read, as if it came with a clone"
    ):
        library.open(path)
    path.chmod(0o600)
    assert drives(path)


def test_commands_do_not_get_the_variable(volume: Path) -> None:
    """Neither as theirs nor from the engine's process, sandboxed or not."""
    work = volume / "work"
    work.mkdir()
    look = 'echo "own:$ENGINE_TRUST." > seen; cat /proc/[0-9]*/environ 2>/dev/null | grep -az ^ENGINE_TRUST= >> seen'
    model = script(volume / "s.jsonl", [f"<sh>{look}</sh>", '<update status="200">Done.</update>'])
    for kind in ("off", *(["bubblewrap"] if find("bubblewrap")[1] is None else [])):
        words = ["run", "--model", model, "--yolo", "--sandbox", kind, "--db", str(volume / f"{kind}.db"), "Look"]
        done = engine(work, *words, env=_state() | {"ENGINE_TRUST": str(volume)})
        assert done.returncode == 0, done.stderr
        seen = (work / "seen").read_text()
        assert "own:." in seen
        assert str(volume) not in seen
        (work / "seen").unlink()


@pytest.mark.parametrize("is_there", ["all of it", "the folder above", "nothing"])
def test_no_sandboxed_command_puts_a_database_into_the_folder(
    volume: Path, monkeypatch: pytest.MonkeyPatch, is_there: str
) -> None:
    require_sandbox()
    folder = volume / "below" / "kept"
    if is_there != "nothing":
        folder.parent.mkdir()
    if is_there == "all of it":
        folder.mkdir()
        (folder / "agent.db").write_bytes(b"as it was")
    monkeypatch.setenv("ENGINE_TRUST", str(folder))
    attack = (
        "cat below/kept/agent.db; echo evil > below/kept/agent.db; echo evil > below/kept/other.db; "
        "mv below/kept below/old; mv below old; rm -r below; mkdir -p below/kept; "
        "echo evil > below/kept/agent.db; echo evil > below/kept/new.db; touch tried"
    )
    sandbox, _ = find("bubblewrap")
    assert sandbox is not None
    said: list[str] = []
    with sandbox.confine(Confinement(volume, writable=True)) as confined:
        run_process(
            attack,
            cwd=volume,
            timeout_s=SECONDS,
            on_start=lambda _: None,
            on_output=lambda _, text: said.append(text),
            confined=confined,
        )
    assert (volume / "tried").exists(), said
    assert "as it was" not in "".join(said)
    found = {path.name: path.read_bytes() for path in folder.glob("*")}
    assert found == ({"agent.db": b"as it was"} if is_there == "all of it" else {})


def test_no_command_is_sandboxed_in_a_folder_that_counts(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could put another database beside its own."""
    require_sandbox()
    monkeypatch.setenv("ENGINE_TRUST", str(volume))
    sandbox, _ = find("bubblewrap")
    assert sandbox is not None
    with (
        pytest.raises(library.ValidationError, match="keep databases in another folder"),
        sandbox.confine(Confinement(volume, writable=True)),
    ):
        pass


def test_no_verb_leads_into_the_folder(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (volume / "kept").mkdir()
    (volume / "link").symlink_to(volume / "kept")
    (volume / "evil").write_bytes(b"SQLite format 3\0")
    monkeypatch.setenv("ENGINE_TRUST", str(volume / "kept"))
    paths = RootPaths(volume)
    for name in ("kept", "kept/agent.db", "./kept/new/agent.db", "link/agent.db"):
        with pytest.raises(library.PermissionDenied, match="belongs to the engine"):
            paths.resolve(name)
    assert paths.resolve("evil") == volume / "evil"


def test_what_is_forgotten_is_told_to_count_still(volume: Path) -> None:
    path = foreign(volume)
    words = ("trust", "--forget", "--db", str(path))
    assert "because ENGINE_TRUST names" in engine(volume, *words, env=_state() | {"ENGINE_TRUST": str(volume)}).stderr
    assert "no longer trusted" in engine(volume, *words, env=_state()).stderr
