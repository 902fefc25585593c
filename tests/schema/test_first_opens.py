"""The first opens of a file: many at once all succeed, a file is there whole or not at all, the cache is trusted by no more
than its hash.

spec: @opening
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from campaign import CAMPAIGN
from golden import schema_dump

import engine
from engine.cli.databases import open_to_write
from engine.db import connections
from engine.db.connections import connect_to_read
from engine.schema import update
from engine.schema.build import installed
from engine.schema.header import check_header
from engine.schema.images import kept, kept_fingerprint
from engine.schema.objects import fingerprint
from engine.system import locate
from engine.system.places import cache_folder

BUILD = installed().having(())
"""That of a new file."""
OPEN = """
import sys, time
import engine
from engine.schema.build import installed
installed().having(()).fresh
print("ready", flush=True)
for line in sys.stdin:
    path, made = line.split()
    try:
        with engine.open(path) as db:
            db.insert("verb_set", run=made, path="run://" + made, body="go", attributes='{"model":"m"}')
            found = db.value("select count(*) from schemes")
        print("ok", found, flush=True)  # when it is closed, and its log is gone
    except Exception as error:
        print(type(error).__name__, error, flush=True)
"""
PROCESSES = 4
ROUNDS = CAMPAIGN or 2


@pytest.fixture
def openers() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that wait for the name of a file to open."""
    openers = [
        subprocess.Popen([sys.executable, "-c", OPEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    try:
        assert [line(opener) for opener in openers] == ["ready"] * PROCESSES
        yield openers
    finally:
        for opener in openers:
            assert opener.stdin is not None
            opener.stdin.close()
            opener.wait()
            assert opener.stdout is not None
            opener.stdout.close()


def test_processes_that_open_a_file_first_at_once_all_succeed(
    tmp_path: Path, openers: list[subprocess.Popen[str]]
) -> None:
    for number, state in enumerate(["missing", "empty", "older"] * ROUNDS):
        path = tmp_path / f"{number}.db"
        if state == "empty":
            path.touch()
        elif state == "older":
            with engine.open(path) as db:
                db.execute("update engine_meta set value = 'another' where key = 'sources'")
        for place, opener in enumerate(openers):
            assert opener.stdin is not None
            opener.stdin.write(f"{path} run_{place}\n")
            opener.stdin.flush()
        said = [line(opener) for opener in openers]
        assert {each.split()[0] for each in said} == {"ok"}, (state, said)
        with engine.open(path) as db:
            assert db.value("select count(*) from runs") == PROCESSES
            assert db.value("pragma journal_mode") == "wal"
    assert {each.name.split(".")[1] for each in tmp_path.iterdir()} == {"db"}


class Appearing(type(Path())):  # type: ignore[misc]
    """A path whose file another process makes between two looks at it."""

    def exists(self) -> bool:
        if not super().exists():
            shutil.copy(self.with_suffix(".made"), self)
        return True


class Disappearing(type(Path())):  # type: ignore[misc]
    """A path whose file another process removes between two looks at it."""

    def exists(self) -> bool:
        there = super().exists()
        self.unlink(missing_ok=True)
        return bool(there)


def test_a_file_that_is_made_between_two_looks_at_it_is_read(tmp_path: Path) -> None:
    engine.open(tmp_path / "one.made").close()
    check_header(Appearing(tmp_path / "one.db"))


def fail_with(db: engine.Database) -> None:
    """What a command does with a file that it has made, where it fails."""
    with suppress(ArithmeticError), db:
        raise ArithmeticError


def test_a_file_that_is_removed_while_it_is_opened_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "one.db"
    first, connect = engine.open(path, config=True), connections.connected
    first.keep_if_used()

    def connect_in_time(name: str | Path, flags: int) -> apsw.Connection:
        connection = connect(name, flags)
        if path.exists() and first.is_idle:
            fail_with(first)  # between the opening of the file and the first look into it
            assert not path.exists()
        return connection

    monkeypatch.setattr(connections, "connected", connect_in_time)
    with engine.open(path) as db:
        db.start("Go", run="kept", model="scripted:none")
    with engine.open(path, read_only=True) as db:
        assert [run.run for run in db.runs()] == ["kept"]


def test_a_folder_that_a_command_that_fails_removes_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, path, removed = locate.make_folder, tmp_path / ".engine" / "engine.db", list[Path]()

    def make_in_vain(place: Path) -> None:
        make(place)
        if not removed:
            shutil.rmtree(place.parent)
            removed.append(place)

    monkeypatch.setattr(locate, "make_folder", make_in_vain)
    with open_to_write(path) as db:
        db.start("Go", run="kept", model="scripted:none")
    assert path.with_name(".gitignore").exists()


def test_a_folder_in_which_the_next_file_is_made_is_ignored_by_git_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, remove = tmp_path / ".engine" / "engine.db", Path.rmdir

    def remove_too_late(folder: Path) -> None:
        path.touch()
        remove(folder)

    locate.make_folder(path)
    monkeypatch.setattr(Path, "rmdir", remove_too_late)
    locate.remove_folder(path)
    assert sorted(each.name for each in path.parent.iterdir()) == [".gitignore", "engine.db"]


def test_a_file_that_is_removed_before_it_is_read_is_missing(tmp_path: Path) -> None:
    engine.open(tmp_path / "one.db").close()
    with pytest.raises(engine.NotFound, match="there is no such file"):
        connect_to_read(Disappearing(tmp_path / "one.db"), int)


def test_a_write_waits_as_long_as_an_opening(tmp_path: Path) -> None:
    """It gave up after 5 s, and of sixteen commands that ran at once one failed."""
    with engine.open(tmp_path / "one.db") as db, engine.open(tmp_path / "one.db", read_only=True) as other:
        for each in (db, other):
            assert each.value("pragma busy_timeout") == connections.OPENING_TIMEOUT_MS


@pytest.mark.parametrize("other", ["has it open", "has written to it", "uses it", "has made it", "was first"])
def test_a_command_that_fails_removes_no_file_of_another_and_waits_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    monkeypatch.setattr(connections, "BUSY_TIMEOUT_MS", 600_000)
    path, began = tmp_path / "one.db", time.monotonic()
    made = engine.open(path, config=True)
    if other == "has made it":
        made.close()
        made = engine.open(path, config=True)
    elif other == "was first":
        with engine.open(path) as db:
            db.start("Go", run="kept", model="scripted:none")
    made.keep_if_used()
    with engine.open(path) as db:
        if other in ("has written to it", "uses it"):
            db.start("Go", run="kept", model="scripted:none")
        if other in ("has it open", "uses it"):
            fail_with(made)
    if made.is_idle:
        fail_with(made)
    assert path.exists()
    assert time.monotonic() - began < 300
    assert path.read_bytes()[18:20] == b"\2\2", "it is in WAL mode, as it was"


def test_a_file_that_is_rebuilt_while_it_is_looked_at_is_seen_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, compare = tmp_path / "one.db", update.compare
    engine.open(path).close()

    def compare_slowly(*given: Any) -> Any:
        with closing(apsw.Connection(str(path))) as other:  # another build notes its rules
            other.execute("update engine_meta set value = 'another' where key = 'sources'")
        return compare(*given)

    with closing(apsw.Connection(str(path))) as keeps_the_log:
        keeps_the_log.execute("select * from engine_meta").fetchall()
        monkeypatch.setattr(update, "is_fresh", lambda *_: False)
        monkeypatch.setattr(update, "compare", compare_slowly)
        with engine.open(path, read_only=True) as db:
            assert db.differs is None
        monkeypatch.undo()
        with engine.open(path, read_only=True) as db:
            assert db.differs is not None


def line(opener: subprocess.Popen[str]) -> str:
    assert opener.stdout is not None
    return opener.stdout.readline().strip()


def test_threads_that_open_a_file_first_at_once_all_succeed(tmp_path: Path) -> None:
    failed: list[BaseException] = []

    def open_it(path: Path, barrier: threading.Barrier) -> None:
        try:
            barrier.wait()
            engine.open(path).close()
        except BaseException as error:
            failed.append(error)

    for number in range(ROUNDS):
        barrier = threading.Barrier(PROCESSES)
        path = tmp_path / f"{number}.db"
        if number % 2:
            path.touch()
        threads = [threading.Thread(target=open_it, args=(path, barrier)) for _ in range(PROCESSES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []


def test_a_log_that_comes_and_goes_is_no_special_file(tmp_path: Path) -> None:
    log, done = tmp_path / "t.db-shm", threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            log.touch()
            log.unlink()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for _ in range(3_000):
            check_header(tmp_path / "t.db")
    finally:
        done.set()
        thread.join()


def test_a_file_made_by_sqlite_is_the_one_that_is_copied(tmp_path: Path) -> None:
    for path in (tmp_path / "copied.db", tmp_path / "made.db"):
        if path.name == "made.db":
            path.touch()
        engine.open(path).close()
    assert schema_dump(tmp_path / "copied.db") == schema_dump(tmp_path / "made.db")
    with engine.open(tmp_path / "copied.db") as copied, engine.open(tmp_path / "made.db") as made:
        for each in BUILD.fresh.objects:
            if each.type == "table" and not each.name.startswith(("content_search", "text_search")):
                # each file has a mark of its own
                every = f'select * from "{each.name}"' + " where key <> 'mark'" * (each.name == "engine_meta")
                assert sorted(map(str, copied.rows(every))) == sorted(map(str, made.rows(every)))


def test_a_file_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    path.write_bytes(b"mine")
    assert not BUILD.fresh.write(path, "0" * 32, private=False)
    assert path.read_bytes() == b"mine"
    (tmp_path / "link.db").symlink_to(tmp_path / "target.db")
    engine.open(tmp_path / "link.db").close()
    assert (tmp_path / "target.db").is_file()
    assert (tmp_path / "link.db").is_symlink()


def test_a_database_in_memory_is_whole_and_its_own() -> None:
    with engine.open(":memory:") as one, engine.open(":memory:") as other:
        one.insert("verb_set", run="demo", path="run://demo", body="go", attributes='{"model":"m"}')
        assert [db.value("select count(*) from runs") for db in (one, other)] == [1, 0]


def test_a_default_database_is_closed_to_others_whatever_its_folder(tmp_path: Path) -> None:
    (tmp_path / ".engine").mkdir(mode=0o755)
    engine.open(tmp_path / ".engine" / "engine.db").close()
    assert (tmp_path / ".engine" / "engine.db").stat().st_mode & 0o777 == 0o600


# --- the cache


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache as a process made it."""
    folder = tmp_path_factory.mktemp("made")
    program = "import engine, sys; engine.open(sys.argv[1]).close()"
    env = {**os.environ, "ENGINE_CACHE": str(folder / "cache")}
    subprocess.run([sys.executable, "-c", program, folder / "t.db"], env=env, check=True)
    return folder / "cache"


@pytest.fixture
def image(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The image in a cache of its own."""
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path / "cache"))
    shutil.copytree(made, tmp_path / "cache")
    (found,) = (cache_folder() / "schemas").glob("*.image")
    return found


def key() -> str:
    return f"{BUILD.version}-{BUILD.hash}"


def test_what_is_kept_is_what_is_made(image: Path) -> None:
    assert image.stat().st_mode & 0o777 == 0o600
    assert kept(key()) == BUILD.fresh
    assert kept_fingerprint(key()) == BUILD.fingerprint == fingerprint(BUILD.fresh.objects)


@pytest.mark.parametrize("damage", ["byte", "missing"])
def test_a_fingerprint_that_cannot_be_relied_on_is_made_again(image: Path, damage: str) -> None:
    place = image.with_suffix(".fingerprint")
    if damage == "byte":
        place.write_bytes(place.read_bytes()[:-1] + b"?")
    else:
        place.unlink()
    assert kept_fingerprint(key()) is None
    assert BUILD._replace().fingerprint == BUILD.fingerprint
    assert kept_fingerprint(key()) == BUILD.fingerprint


def test_fingerprints_are_equal_only_of_the_same_objects() -> None:
    one = (("view", "a", "a", "create view a as select 1"), ("table", "t", "t", "create table t (x)"))
    assert fingerprint(one) == fingerprint(one[::-1])
    others = [
        one[:1],
        (*one, ("index", "i", "t", "create index i on t (x)")),
        (("view", "a", "a", "create view a as select 2"), one[1]),
        (("view", "aa", "", "create view a as select 1"), one[1]),
        (("viewa", "", "a", "create view a as select 1"), one[1]),
    ]
    assert len({fingerprint(each) for each in (one, *others)}) == 1 + len(others)


@pytest.mark.parametrize("damage", ["byte", "cut", "mode", "folder", "link", "owner", "other"])
def test_an_image_that_cannot_be_relied_on_is_not_used(tmp_path: Path, image: Path, damage: str) -> None:
    data = image.read_bytes()
    if damage == "byte":
        image.write_bytes(data[:-1000] + bytes([data[-1000] ^ 1]) + data[-999:])
    elif damage == "cut":
        image.write_bytes(data[:-1])
    elif damage == "mode":
        image.chmod(0o622)
    elif damage == "folder":
        image.parent.chmod(0o777)
    elif damage == "link":
        image.rename(tmp_path / "elsewhere")
        image.symlink_to(tmp_path / "elsewhere")
    elif damage == "owner":
        if os.geteuid() != 0:
            pytest.skip("only root may give files away")
        os.chown(image, 65534, -1)
    if damage == "other":
        assert kept("another") is None
        return
    assert kept(key()) is None
    # a build that is asked anew makes what is not kept
    assert BUILD._replace().fresh == BUILD.fresh
