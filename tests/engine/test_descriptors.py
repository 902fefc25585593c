"""No file that is opened and closed takes SQLite's locks from a database that this process has open.

spec: @locks
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from io import BufferedReader
from pathlib import Path

import pytest

import engine
from engine.system import descriptors
from engine.system.durable import _remove_leftovers, held_folder, open_regular

_LOOK = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); print(c.execute(sys.argv[2]).fetchone()[0]); c.close()"


def elsewhere(place: Path, query: str) -> str:
    """What a query tells in another process, which opens and closes the database."""
    return subprocess.run(
        [sys.executable, "-c", _LOOK, str(place), query], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a database is made."""
    return tmp_path / "engine.db"


def test_a_second_handle_leaves_the_first_its_locks(place: Path) -> None:
    """The log stays when another process closes the file, and what the first handle commits then is there."""
    with engine.open(place) as first:
        engine.open(place).close()
        with engine.open(place, read_only=True):
            pass
        assert elsewhere(place, "select count(*) from runs") == "0"
        assert Path(f"{place}-wal").exists()
        first.start("Hello", run="late", model="scripted:none.jsonl")
        assert elsewhere(place, "select alias from runs") == "late"


def test_threads_that_make_one_file_keep_its_locks(place: Path) -> None:
    """Of threads that open a new file at once one makes it, and none closes a descriptor of it afterwards."""
    barrier, handles = threading.Barrier(6), list[engine.Database]()

    def begin() -> None:
        barrier.wait()
        handles.append(engine.open(place))

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert elsewhere(place, "select count(*) from runs") == "0"
    assert Path(f"{place}-wal").exists()
    for handle in handles:
        handle.close()


@pytest.fixture
def app(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A database of the app's own, in the project's folder, that it has open."""
    with closing(sqlite3.connect(tmp_path / "app.db")) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table notes (body text)")
        connection.commit()
        yield connection


def test_a_database_of_the_app_is_no_file_to_read(app: sqlite3.Connection, tmp_path: Path) -> None:
    """A run over the folder reads all files of it; the app's database and its -shm file are left alone."""
    (tmp_path / "script.jsonl").write_text(
        '{"text": "<get path=\\"app.db\\"/><update status=\\"200\\">done</update>"}\n'
    )
    (tmp_path / "notes.md").write_text("a text\n")
    with engine.open(tmp_path / ".engine.db") as db:
        db.run("Look", root=tmp_path, model="scripted:script.jsonl", yolo=True)
        seen = db.value("select count(*) from entries where path = 'notes.md'")
    assert seen
    assert elsewhere(tmp_path / "app.db", "select count(*) from notes") == "0"
    assert (tmp_path / "app.db-wal").exists()
    app.execute("insert into notes values ('late')")
    app.commit()
    assert elsewhere(tmp_path / "app.db", "select body from notes") == "late"


def file_status(file: BufferedReader) -> os.stat_result:
    """The device and the inode of an open file, and more."""
    return os.fstat(file.fileno())


@pytest.mark.parametrize("name", ["app.db", "app.db-shm", "other name"])
def test_a_database_in_use_is_refused(app: sqlite3.Connection, tmp_path: Path, name: str) -> None:
    """Under any name; and read again as soon as nobody in the process has it open."""
    os.link(tmp_path / "app.db", tmp_path / "other name")
    with held_folder(tmp_path) as folder:
        for _ in range(3):
            with pytest.raises(OSError, match="open as a database"):
                open_regular(name, folder)
        app.close()
        if (tmp_path / name).exists():
            with open_regular(name, folder) as file:
                assert file.read(16) == descriptors.MAGIC
            assert not any(os.path.samestat(os.fstat(kept), file_status(file)) for kept in descriptors._kept)


def test_other_databases_are_read(tmp_path: Path) -> None:
    """One that nobody in this process has open is a file like any other."""
    with closing(sqlite3.connect(tmp_path / "closed.db")) as connection:
        connection.execute("create table t (x)")
    with held_folder(tmp_path) as folder, open_regular("closed.db", folder) as file:
        assert file.read(16) == descriptors.MAGIC


def test_a_number_that_another_file_gets_meanwhile_is_no_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "closed.db"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("create table t (x)")
    reader, folder = descriptors.open_to_read(place), os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    is_ours = descriptors._is_ours

    def look(descriptor: int) -> bool:
        os.dup2(folder, reader)  # what a thread does that closes its file while another one opens a folder
        return is_ours(descriptor)

    monkeypatch.setattr(descriptors, "_is_ours", look)
    for each in (descriptors.open_to_read(place), reader, folder):
        os.close(each)


def test_readers_do_not_take_each_other_for_users(tmp_path: Path) -> None:
    """Threads that read a database which nobody has open."""
    with closing(sqlite3.connect(tmp_path / "closed.db")) as connection:
        connection.execute("create table t (x)")
    refused = list[OSError]()

    def read() -> None:
        for _ in range(200):
            try:
                with held_folder(tmp_path) as folder, open_regular("closed.db", folder) as file:
                    file.read(16)
            except OSError as error:
                refused.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == []


def test_a_fork_inherits_no_lock(tmp_path: Path) -> None:
    """A process that is forked while another thread opens a file opens files itself."""
    program = (
        "import os, signal, sys, threading, engine; from engine.system import descriptors\n"
        "stop, held = threading.Event(), threading.Event()\n"
        "def hold():\n"
        "    while not stop.is_set():\n"
        "        with descriptors.MAKING: held.set()\n"
        "threading.Thread(target=hold).start(); held.wait()\n"
        "for n in range(20):\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        signal.alarm(100)\n"
        "        with descriptors.MAKING: os._exit(0)\n"
        "    if os.waitpid(child, 0)[1]: print('hung'); break\n"
        "stop.set()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == ""


def is_locked_as_a_database(place: Path) -> bool:
    """Whether this process holds the lock that SQLite takes for reading; asking gives it up."""
    with place.open("rb") as file:
        first, count = 0x40000002, 510
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, first, count, 0)
        found = fcntl.fcntl(file.fileno(), fcntl.F_OFD_GETLK, asked)
    return bool(struct.unpack("hhqqi4x", found)[0] != fcntl.F_UNLCK)


@pytest.mark.skipif(not hasattr(fcntl, "F_OFD_GETLK"), reason="asks Linux for its locks")
def test_who_looks_for_leftovers_takes_no_lock_from_a_database_that_is_made_meanwhile(tmp_path: Path) -> None:
    made = threading.Event()
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)

    def look() -> None:
        while not made.is_set():
            _remove_leftovers(folder)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    try:
        places = [tmp_path / f"{number}.db" for number in range(40)]
        handles = [engine.open(place) for place in places]
    finally:
        made.set()
        for looker in lookers:
            looker.join()
        os.close(folder)
    assert [place.name for place in places if not is_locked_as_a_database(place)] == []
    for handle in handles:
        handle.close()
