"""Files that are damaged, or that have others' files beside them: an error of one line or the right data, never a traceback.

Damage is made at random from a seed. 1. Whoever only reads changes nothing. 2. A file that is refused for writing is as it
was, and so is what stands beside it. 3. What is opened tells what was stored, unless bytes of a text were changed, which
SQLite cannot see. `ENGINE_CAMPAIGN=N` tries N damages of each kind.

spec: @opening @looking
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from driving import DONE, script

import engine
from engine.trust import known_files

SEEDS = int(os.environ.get("ENGINE_CAMPAIGN", "3"))
PAGE = 4096
VIEWS = ("run_overview", "run_log", "turn_timeline", "known_entries", "context_at", "packet_texts", "loop_results")
STORED = "select path, body from known_entries where path like 'known://%' order by path"
Files = dict[str, bytes]
"""The files of a folder, by the endings of their names."""


@dataclass(frozen=True)
class Sources:
    """A file with a run whose last changes are in its log, the same without its log, and a log of other databases."""

    logged: Files
    whole: Files
    other_log: bytes
    log_of_an_app: bytes
    stored: tuple[list[engine.db.database.Row], ...]
    """What the file tells with each part of its log."""
    mark: str
    """By which the file is known."""


def files_of(path: Path) -> Files:
    """The database at `path` and what stands beside it."""
    return {each.name.removeprefix(path.name): each.read_bytes() for each in path.parent.glob(f"{path.name}*")}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    folder = tmp_path_factory.mktemp("sources")
    model = script(folder, '<set path="known://a">one</set>', DONE)
    made: list[Files] = []
    told = []
    for name in ("t.db", "other.db"):
        with engine.open(folder / name) as db:
            db.run("Go", run="demo", model=model)
            db.execute("pragma wal_checkpoint(truncate)")
            told.append(db.rows(STORED))
            for number in range(5):
                db.insert("verb_set", run="demo", path=f"known://{name[0]}{number}", body="late" * 20)
                told.append(db.rows(STORED))
            made.append(files_of(folder / name))
            assert len(made[-1]["-wal"]) > 5 * PAGE
    with closing(sqlite3.connect(folder / "app.db")) as app:
        app.execute("pragma journal_mode = wal")
        app.execute("create table mine (a)")
        app.commit()
        log_of_an_app = (folder / "app.db-wal").read_bytes()
    whole = files_of(folder / "t.db")
    with closing(sqlite3.connect(folder / "t.db")) as stock:
        (mark,) = stock.execute("select value from engine_meta where key = 'mark'").fetchone()
    return Sources(made[0], whole, made[1]["-wal"], log_of_an_app, tuple(told[:6]), mark)


def flipped(source: random.Random, data: bytes, start: int = 0) -> bytes:
    """`data` with other bytes at some places behind `start`."""
    changed = bytearray(data)
    for _ in range(source.choice((1, 8, 200))):
        changed[source.randrange(start, len(changed))] ^= source.randrange(1, 256)
    return bytes(changed)


def no_page(source: random.Random, data: bytes) -> bytes:
    """`data` with some pages of zeros or of noise, the first one excepted."""
    changed = bytearray(data)
    for _ in range(source.choice((1, 5))):
        page = source.randrange(1, len(data) // PAGE) * PAGE
        changed[page : page + PAGE] = source.choice((bytes(PAGE), source.randbytes(PAGE)))
    return bytes(changed)


def cut(source: random.Random, data: bytes) -> bytes:
    return data[: source.choice((source.randrange(1, len(data)), source.randrange(1, len(data) // PAGE) * PAGE))]


DAMAGES: dict[str, Callable[[random.Random, Sources], Files]] = {
    "bytes": lambda source, of: {**of.whole, "": flipped(source, of.whole[""])},
    "header": lambda source, of: {**of.whole, "": flipped(source, of.whole[""][:100]) + of.whole[""][100:]},
    "pages": lambda source, of: {**of.whole, "": no_page(source, of.whole[""])},
    "truncated": lambda source, of: {**of.whole, "": cut(source, of.whole[""])},
    "truncated under its log": lambda source, of: {**of.logged, "": cut(source, of.logged[""])},
    "longer": lambda source, of: {**of.whole, "": of.whole[""] + source.randbytes(source.randrange(1, 9000))},
    "log of bytes": lambda source, of: {**of.logged, "-wal": flipped(source, of.logged["-wal"])},
    "log truncated": lambda source, of: {**of.logged, "-wal": cut(source, of.logged["-wal"])},
    "log of noise": lambda source, of: {**of.whole, "-wal": source.randbytes(source.randrange(1, 20_000))},
    "log of another run": lambda source, of: {**of.whole, "-wal": of.other_log},
    "log of an app": lambda source, of: {**of.whole, "-wal": of.log_of_an_app},
    "stale index": lambda source, of: {**of.logged, "-shm": flipped(source, of.logged["-shm"])},
    "index of noise": lambda source, of: {**of.logged, "-shm": source.randbytes(source.randrange(1, 40_000))},
    "journal of noise": lambda source, of: {**of.whole, "-journal": source.randbytes(source.randrange(1, 9000))},
}
EXACT = {"longer", "log of bytes", "log truncated", "log of noise", "stale index", "index of noise", "journal of noise"}
"""After these, what is told is what was stored at some time."""


def laid_out(folder: Path, files: Files, mark: str) -> Path:
    """The path of a database with these files, which is known as the one that they come from."""
    folder.mkdir()
    for ending, data in files.items():
        (folder / f"t.db{ending}").write_bytes(data)
    known_files.note_new(folder / "t.db", mark)
    return folder / "t.db"


def looked_at(db: engine.Database, failures: list[str]) -> None:
    """Read every view; what cannot be read is an error of one line."""
    for view in VIEWS:
        try:
            db.rows(f"select * from {view}")
        except engine.EngineError as error:
            failures.append(str(error))


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_told_in_a_line_and_not_made_worse(tmp_path: Path, sources: Sources, kind: str) -> None:
    for seed in range(SEEDS):
        files = DAMAGES[kind](random.Random(f"{kind} {seed}"), sources)
        path = laid_out(tmp_path / f"read{seed}", files, sources.mark)
        failures: list[str] = []
        told = None
        try:
            with engine.open(path, read_only=True) as db:
                looked_at(db, failures)
                told = db.rows(STORED)
        except engine.EngineError as error:
            failures.append(str(error))
        # the index is made anew by each reader
        assert {**files_of(path), "-shm": b""} == {**files, "-shm": b""}, f"reading changed the files, seed {seed}"
        path = laid_out(tmp_path / f"write{seed}", files, sources.mark)
        try:
            db = engine.open(path)
        except engine.EngineError as error:
            failures.append(str(error))
            assert {**files_of(path), "-shm": b""} == {**files, "-shm": b""}, f"changed though refused, seed {seed}"
        else:
            with db:
                looked_at(db, failures)
                for act in (
                    lambda db=db: db.insert("verb_set", run="new", path="known://b", body="two"),
                    lambda db=db: db.run("Go", model=script(tmp_path, DONE)),
                    lambda db=db: db.rows(STORED),
                ):
                    try:
                        act()
                    except engine.EngineError as error:
                        failures.append(str(error))
        if kind in EXACT and told is not None:
            assert told in sources.stored, f"seed {seed}"
        assert all(len(each.splitlines()) == 1 for each in failures), failures


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.geteuid() != 0 or not shutil.which("unshare"),
    reason="needs root and unshare to mount a folder for reading only",
)
def test_a_file_system_that_is_mounted_for_reading_only_is_looked_at(tmp_path: Path, sources: Sources) -> None:
    model = script(tmp_path, DONE)
    for name, files, shown in (("whole", {"": sources.logged[""]}, True), ("logged", sources.logged, False)):
        path = laid_out(
            tmp_path / name, {ending: data for ending, data in files.items() if ending != "-shm"}, sources.mark
        )
        engine_at = f"{sys.executable} -m engine"
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c",
             'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || { echo cannot mount; exit 9; }\n'
             f'{engine_at} runs --db "$1/t.db" && {engine_at} log demo --db "$1/t.db" >&2; echo "runs $?"\n'
             f'{engine_at} run --db "$1/t.db" --model "$2" Go; echo "run $?"', "sh", str(path.parent), model],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        if "cannot mount" in done.stdout:
            pytest.skip("this container may not mount")
        assert "Traceback" not in done.stderr
        assert done.stdout.endswith("run 1\n"), done.stdout + done.stderr
        assert ("demo" in done.stdout and "runs 0\n" in done.stdout) == shown, done.stdout + done.stderr
        assert shown or "has changes in its -wal file that cannot be read here" in done.stderr
        assert "cannot be written" in done.stderr or "cannot be opened" in done.stderr
