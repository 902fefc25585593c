"""A backup is the state of one moment, is checked, and a run goes on from it.

1. While runs are driven: each copy passes the audit, and one that is restored goes on. 2. A kill in the middle, a full disk,
a target that exists: nothing is left under the name. 3. Damage and strangers.

spec: @backups
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from audit import audit
from driving import DONE, script
from engine_cli import engine as cli

import engine
from engine.errors import Conflict, EngineError, NotFound
from engine.maintenance import backups
from engine.maintenance.backups import back_up


def test_copies_that_are_made_while_runs_work_are_sound_and_go_on(tmp_path: Path) -> None:
    """Another process drives a run. It is killed, and the run goes on from a copy."""
    steps = [f'<set path="known://fact_{n}">{n}</set><update status="102">more</update>' for n in range(12)]
    lines = [json.dumps({"text": step, "delay_s": 0.1}) for step in (*steps, DONE)]
    (tmp_path / "slow.jsonl").write_text("\n".join(lines) + "\n")
    engine.open(tmp_path / "live.db").close()
    program = (
        "import engine\n"
        f"with engine.open('live.db') as db: db.run('Collect', run='facts', model='scripted:{tmp_path}/slow.jsonl')"
    )
    copies, turns = [], []
    with subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path) as driver:
        while driver.poll() is None and len({*turns}) < 4:
            copies.append(back_up(tmp_path / "live.db", tmp_path / f"copy-{len(copies)}.db"))
            with engine.open(copies[-1].file, read_only=True) as db:
                turns.append(db.value("select count(*) from turns"))
        driver.kill()
    for copy in copies:
        assert hashlib.sha256(Path(copy.file).read_bytes()).hexdigest() == copy.sha256
        audit(Path(copy.file))
    assert turns == sorted(turns)
    begun = [copy.file for copy, count in zip(copies, turns, strict=True) if count]
    (tmp_path / "live.db").unlink()  # the disk is lost
    restored = tmp_path / "elsewhere.db"
    shutil.copy(begun[0], restored)
    assert "not known to be yours" in cli(tmp_path, "resume", "--db", str(restored)).stderr
    with engine.open(restored, trust=True) as db:
        result = db.resume("facts")
        assert (result.status, db.value("select count(*) from turns")) == (200, 13)
    audit(restored)
    assert not list(tmp_path.glob(".*partial*"))


def test_what_is_only_in_the_log_is_copied(tmp_path: Path) -> None:
    with engine.open(tmp_path / "a.db") as db:
        db.run("Hi", run="one", model=script(tmp_path, DONE))
        assert (tmp_path / "a.db-wal").stat().st_size > 0
        made = back_up(tmp_path / "a.db", tmp_path)
    assert made.runs == 1
    assert Path(made.file).name.startswith("a-20")
    assert Path(made.file).stat().st_mode & 0o777 == 0o600


def test_nothing_is_left_where_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with engine.open(tmp_path / "a.db") as db:
        db.run("Hi", run="one", model=script(tmp_path, DONE))
    (tmp_path / "there.db").write_text("mine")
    (tmp_path / "link.db").symlink_to(tmp_path / "none")
    for name in ("there.db", "link.db"):
        with pytest.raises(Conflict, match="exists already"):
            back_up(tmp_path / "a.db", tmp_path / name)
    for file, target in ((tmp_path / "none.db", tmp_path / "x.db"), (tmp_path / "a.db", tmp_path / "none" / "x.db")):
        with pytest.raises(NotFound):
            back_up(file, target)
    assert (tmp_path / "there.db").read_text() == "mine"

    def damaged(db: engine.Database, made: Path, _: object) -> None:
        data = bytearray((tmp_path / "a.db").read_bytes())
        data[20 * 4096 : 60 * 4096] = os.urandom(40 * 4096)
        made.write_bytes(data)

    monkeypatch.setattr(backups, "_copy", damaged)
    with pytest.raises(EngineError, match="is not sound"):
        back_up(tmp_path / "a.db", tmp_path / "x.db")
    monkeypatch.undo()

    def full(*_: object) -> None:
        raise apsw.FullError("database or disk is full")

    monkeypatch.setattr(backups, "_copy", full)
    with pytest.raises(EngineError, match="cannot be written"):
        back_up(tmp_path / "a.db", tmp_path / "x.db")
    assert sorted(path.name for path in tmp_path.glob("*.db")) == ["a.db", "link.db", "there.db"]
    assert not list(tmp_path.glob(".*"))


def test_a_kill_in_the_middle_leaves_no_copy_under_the_name(tmp_path: Path) -> None:
    with engine.open(tmp_path / "a.db") as db:
        db.run("Hi", run="one", model=script(tmp_path, DONE))
    program = (
        "import os, signal; from pathlib import Path; from engine.maintenance import backups\n"
        "backups.back_up(Path('a.db'), Path('x.db'), lambda *_: os.kill(os.getpid(), signal.SIGKILL))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "x.db").exists()
    assert back_up(tmp_path / "a.db", tmp_path / "x.db").runs == 1


def test_a_file_of_strangers_is_copied_and_nothing_of_it_acts(tmp_path: Path) -> None:
    with engine.open(tmp_path / "a.db") as db:
        db.run("Hi", run="one", model=script(tmp_path, DONE))
    with closing(apsw.Connection(str(tmp_path / "a.db"))) as connection:
        for _ in connection.execute(
            "create table seen (a); create trigger evil after insert on turns begin insert into seen values (1); end"
        ):
            pass
    made = back_up(tmp_path / "a.db", tmp_path / "x.db")
    with engine.open(made.file, read_only=True) as db:
        assert db.unknown
        assert db.value("select count(*) from seen") == 0


def test_the_command_says_what_it_has_made(tmp_path: Path) -> None:
    with engine.open(tmp_path / "a.db") as db:
        db.run("Hi", run="one", model=script(tmp_path, DONE))
    assert cli(tmp_path, "backup", "a.db", "x.db").stdout.endswith("MB, 1 run, checked\n")
    told = json.loads(cli(tmp_path, "backup", "a.db", ".", "--json").stdout)
    assert (told["runs"], told["bytes"]) == (1, Path(tmp_path, told["file"]).stat().st_size)
    assert cli(tmp_path, "backup", "a.db", "x.db").returncode == 1
    assert cli(tmp_path, "backup", "none.db", "y.db").returncode == 2
