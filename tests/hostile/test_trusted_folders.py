"""`ENGINE_TRUST` lets files act that a container has made before, and no others.

1. A file that was made in one container is driven in the next. 2. Whatever leads another file into the folder, or the folder
to another place, does not count. 3. Nobody but the environment says which folder counts.

spec: @trusted_folders
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_cli import ENGINE, engine, environment, script
from test_foreign_files import WRITES, accepted, planted

import engine as library
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


def _below_a_folder_that_all_may_write(path: Path) -> Path:
    path.parent.parent.chmod(0o777)
    return path


WAYS: dict[str, Callable[[Path], Path]] = {
    "a file in a folder below, such as a clone": _in_a_folder_below,
    "a link in the folder to a file elsewhere": _elsewhere_behind_a_link,
    "a file that has another name, too": _with_a_second_name,
    "a file that its group may write": _writable(0o664),
    "a file that all may write": _writable(0o646),
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
