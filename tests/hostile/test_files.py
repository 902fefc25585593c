"""Files that are not what they seem, and processes that change them at the wrong moment.

1. A process that swaps a folder and a link gets no write, removal or read out of the root.
2. Other names of what is protected (hard links, links) are recognised.
3. Pipes, devices, sockets, files that grow and strange names hold nothing up and break nothing.
4. A listing looks at each file a few times, also in 1,500 nested folders, and leaves out what no entry can name.

spec: @own_files @secret_files @file_writes
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, script

import engine
from engine import EngineError
from engine.project.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "notes.md").write_text("# Notes\n")
    (folder / "sub" / "a.txt").write_text("inside\n")
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.txt").write_text("outside\n")
    return folder


ENOUGH = 50
TOO_MANY = 100_000
"""How many tries, writes and swaps there must be, and after how many tries it is given up."""


@contextmanager
def swapping(folder: Path, outside: Path) -> Iterator[list[int]]:
    """Swaps `folder` and a link to `outside` again and again; how often so far."""
    done, count = threading.Event(), [0]
    kept, link = folder.with_name("kept"), folder.with_name("link")
    link.symlink_to(outside)

    def swap() -> None:
        while not done.wait(random.random() / 1000):
            with suppress(OSError):
                os.rename(folder, kept)
                os.rename(link, folder)
                os.rename(folder, link)
                os.rename(kept, folder)
                count[0] += 1
            # a write makes the folder anew while it is away, and then no rename goes through any more
            while kept.exists():
                with suppress(OSError):
                    shutil.rmtree(folder)
                    os.rename(kept, folder)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield count
    finally:
        done.set()
        thread.join()


def test_a_folder_that_is_swapped_for_a_link_leads_nothing_out(root: Path, outside: Path) -> None:
    workspace = Workspace(root)
    before = {path.name: path.read_text() for path in outside.iterdir()}
    tries = landed = 0
    with swapping(root / "sub", outside) as swapped:
        while min(tries, landed, swapped[0]) < ENOUGH:
            tries += 1
            assert tries < TOO_MANY, (landed, swapped)
            with suppress(EngineError):
                workspace.write("sub/new.txt", f"{tries}\n", before=None)
                landed += 1
            with suppress(EngineError):
                workspace.delete("sub/new.txt", before=None)
            with suppress(EngineError):
                workspace.delete("sub/a.txt", before=workspace.read("sub/a.txt", 100).sha256)
            with suppress(EngineError):
                assert workspace.read("sub/a.txt", 100).text != "outside\n"
            with suppress(EngineError):
                workspace.write("sub/deep/er/new.txt", "x", before=None)
            shutil.rmtree(root / "sub" / "deep", ignore_errors=True)
            with suppress(OSError):
                (root / "sub" / "new.txt").unlink()
    assert {path.name: path.read_text() for path in outside.iterdir()} == before


def test_a_link_that_goes_while_it_is_read_is_an_error_of_the_engine(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "away").symlink_to(outside)
    workspace = Workspace(root)

    def gone(path: str, **_: int) -> str:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)

    monkeypatch.setattr(os, "readlink", gone)
    for act in (
        lambda: workspace.write("away/a.txt", "x", before=None),
        lambda: workspace.delete("away/a.txt", before=hashlib.sha256(b"outside\n").hexdigest()),
        lambda: workspace.expect("away/a.txt", before=None, after=None),
    ):
        with pytest.raises(EngineError):
            act()
    assert (outside / "a.txt").read_text() == "outside\n"


def test_a_link_that_takes_the_place_of_a_file_is_not_read(
    root: Path, outside: Path, tmp_path: Path, db: engine.Database
) -> None:
    for harm, name in (("ln -sf ../outside/a.txt notes.md", "one"), ("rm notes.md; ln -s .env notes.md", "two")):
        (root / ".env").write_text("TOKEN=planted\n")
        (root / "notes.md").unlink(missing_ok=True)
        (root / "notes.md").write_text("# Notes\n")
        answers = ('<get path="notes.md"/>', f"<sh>{harm}</sh>", "<sh>true</sh>", '<get path="notes.md"/>', DONE)
        result = db.run("Go", run=name, root=root, yolo=True, model=script(tmp_path, *answers))
        assert result.status in (200, 499)
    texts = " ".join(row["body"] for row in db.rows("select body from contents"))
    assert "planted" not in texts
    assert "outside\n" not in texts.replace("../outside/", "")


def test_a_hard_link_to_a_file_of_keys_is_one(root: Path) -> None:
    (root / ".env").write_text("TOKEN=1\n")
    (root / "plain.txt").hardlink_to(root / ".env")
    workspace = Workspace(root)

    def members(*added: str) -> list[str]:
        return [member.path for member in workspace.members(added=added, ignored=[], limit=10)]

    assert members("**") == ["notes.md", "sub/a.txt"]
    assert members(".env") == [".env", "notes.md", "plain.txt", "sub/a.txt"]
    with pytest.raises(EngineError, match=r"403 .*another name of a file that may hold keys"):
        workspace.expect_no_keys("plain.txt", [])
    workspace.expect_no_keys("plain.txt", [".env"])


def test_hard_links_of_a_scan_are_looked_up_once(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        (root / f"f{number}.txt").write_text(f"{number}\n")
        (tmp_path / f"copy{number}").hardlink_to(root / f"f{number}.txt")
    (root / ".env").write_text("TOKEN=planted\n")
    (root / "plain.txt").hardlink_to(root / ".env")
    listed, scandir = [], os.scandir

    def counted(place: str) -> Any:
        listed.append(str(place))
        return scandir(place)

    monkeypatch.setattr(os, "scandir", counted)
    with engine.open(tmp_path / "own.db") as db:
        db.run("Go", root=root, model=script(tmp_path, DONE))
        read = {row["path"]: row["kind"] for row in db.rows("select path, kind from project_files")}
    assert read["f49.txt"] == "text"
    assert "plain.txt" not in read
    assert len(listed) < 50


def test_a_rewrite_keeps_no_set_uid_bit(root: Path) -> None:
    place = root / "notes.md"
    place.chmod(0o6755)
    workspace = Workspace(root)
    workspace.write("notes.md", "new\n", before=workspace.read("notes.md", 100).sha256)
    assert stat.S_IMODE(place.stat().st_mode) == 0o755


def test_what_is_no_file_holds_nothing_up(root: Path, tmp_path: Path) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        with suppress(OSError):
            listening.bind(str(root / "socket"))
        (root / "device").symlink_to("/dev/zero")
        (root / "loop").symlink_to("loop")
        with open(root / "sparse", "wb") as file:
            file.truncate(1 << 40)
        workspace = Workspace(root)
        paths = [member.path for member in workspace.members(added=["**"], ignored=[], limit=20)]
        assert paths == ["notes.md", "sparse", "sub/a.txt"]
        assert workspace.read("sparse", 1_000_000).kind == "too_large"
        for name in ("pipe", "socket", "loop"):
            with suppress(EngineError):
                assert workspace.read(name, 100).kind in ("unreadable", "missing")
            with pytest.raises(EngineError):
                workspace.write(name, "x", before=None)
            with pytest.raises(EngineError):
                workspace.delete(name, before="0" * 64)


def test_a_file_that_grows_while_it_is_read_is_too_large(root: Path) -> None:
    place, done = root / "log", threading.Event()
    place.write_bytes(b"x" * 10)

    def grow() -> None:
        with place.open("ab") as file:
            while not done.is_set() and file.tell() < 50_000_000:
                file.write(b"x" * 100_000)
                file.flush()

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        kinds = {Workspace(root).read("log", 500_000).kind for _ in range(200)}
    finally:
        done.set()
        thread.join()
    assert kinds <= {"text", "too_large"}


NAMES = [
    "a\nb",
    "a\x1b[31mb",
    "a\tb",
    "\u202eb",
    "a" * 255,
    b"\xff\xfe".decode("utf-8", "surrogateescape"),
    "-rf",
    "a b",
]


def test_strange_names_break_no_listing(root: Path, tmp_path: Path, db: engine.Database) -> None:
    for name in NAMES:
        with open(os.fsencode(root) + b"/" + os.fsencode(name), "w") as file:
            file.write("x\n")
    result = db.run("Go", run="demo", root=root, model=script(tmp_path, '<get path="**"/>', DONE))
    assert result.status == 200
    listed = {row["path"] for row in db.rows("select path from project_files")}
    assert listed >= {"notes.md", "-rf", "a b", "a" * 255}
    assert not any("\udcff" in path for path in listed)


LONG = ["x" * 256, "x" * 5000, "a/" * 300 + "f", "d/" * 3000 + "f", "\x1b[31m", "a\0b", "~root/x", "C:\\x", "//x", "."]


@pytest.mark.parametrize("path", LONG, ids=range(len(LONG)))
def test_a_path_that_the_system_refuses_is_a_failure_of_its_command(
    root: Path, tmp_path: Path, db: engine.Database, path: str
) -> None:
    verbs = [
        f'<get path="{path}"/>',
        f'<set path="{path}">text</set>',
        f'<rm path="{path}"/>',
        f'<cp path="notes.md" to="{path}"/>',
        f'<mv path="{path}" to="b.md"/>',
        f'<mv path="notes.md" to="{path}"/>',
    ]
    for number, verb in enumerate(verbs):
        db.run("Go", run=f"r{number}", root=root, yolo=True, model=script(tmp_path, verb, DONE, DONE))
    assert db.value("select count(*) from command_results where outcome like 'error%'") == 0


def nested(root: Path, depth: int) -> None:
    """A file in each of `depth` folders, one in the other."""
    here = os.getcwd()
    os.chdir(root)
    try:
        for _ in range(depth):
            Path("f").write_text("x")
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)


def test_a_listing_of_nested_folders_looks_at_each_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, lstat = [0], os.lstat

    def counted(*given: Any, **named: Any) -> os.stat_result:
        looks[0] += 1
        return lstat(*given, **named)

    nested(tmp_path, 1500)
    monkeypatch.setattr(os, "lstat", counted)
    try:
        # those with a path of up to 2,048 characters
        assert len(Workspace(tmp_path).members(added=[], ignored=[], limit=10_000)) == 1024
        assert 1024 <= looks[0] <= 6 * 1024
    finally:
        monkeypatch.undo()
        # the libraries of Python call themselves once for each folder
        subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)


def test_a_file_whose_path_is_too_long_is_left_out(root: Path, tmp_path: Path, db: engine.Database) -> None:
    folder = root.joinpath(*["d" * 199] * 10)
    folder.mkdir(parents=True)
    for length in (2047, 2048, 2049):
        (folder / ("f" * (length - 2000))).write_text("x")
    result = db.run("Go", run="demo", root=root, model=script(tmp_path, DONE))
    assert result.status == 200
    lengths = [row["length"] for row in db.rows("select length(path) as length from project_files order by 1 desc")]
    assert lengths[:3] == [2048, 2047, len("sub/a.txt")]


def test_the_database_is_private_also_in_a_folder_that_was_there(tmp_path: Path) -> None:
    folder = tmp_path / ".engine"
    folder.mkdir(mode=0o755)
    with engine.open(folder / "engine.db") as db:
        db.execute("create table apps (a)")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert set(modes.values()) == {0o600}, modes
