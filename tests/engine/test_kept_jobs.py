"""Background commands that are kept outlive their run, and end with the open file, or the process, that started them.

1. The next prompt of the run reads and ends one, over the same handle and over another. 2. Closing the file ends them, and
so do the end of Python and a kill. 3. An abort ends them, of a child too; a purge and a rewind are refused meanwhile. 4.
Limits are those of any job. 5. The command line stays attached to them, and a signal ends them.

spec: @kept_jobs
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from audit import audit
from driving import DONE, GO_ON, Clock, heed_signals, opened, script
from engine_cli import ENGINE, SECONDS, database, environment
from engine_cli import engine as run_engine
from sandboxed import expect_gone, is_gone
from terminal import Terminal
from timing import interrupted, wait_until

import engine
from engine.errors import Conflict, NotFound

ALIVE = "select count(*) from jobs where ended_at is null"
PID = "echo $$ > pid; "
LINGER = "until [ -e stop ]; do sleep 0.02; done"
KEEP = '<sh background="1" keep="1">{}</sh>'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def db(tmp_path: Path) -> Iterator[engine.Database]:
    with opened(tmp_path) as db:
        yield db


def drive(db: engine.Database, root: Path, *answers: Any, **options: Any) -> engine.Result:
    # a script goes on behind what the run was answered before
    answers = (DONE,) * int(db.value("select responses from runs where alias = 'demo'") or 0) + answers
    options = {"yolo": True, "sandbox": "off", "no_repo": True, "run": "demo", **options}
    return db.run("Go", model=script(root.parent, *answers), root=root, **options)


def keep(db: engine.Database, root: Path, command: str = "echo up; sleep 600", **options: Any) -> str:
    """Start a kept command in a run that ends; returns the path of its output, without the channel."""
    (root / "job").write_text(PID + command)
    answers = (KEEP.format("bash job") + f"<sh>until [ -s pid ]; do sleep 0.02; done</sh>{GO_ON}", DONE)
    assert drive(db, root, *answers, **options).status == 200
    return "sh://turn_1/bash_job"


def ended(db: engine.Database) -> dict[str, Any] | None:
    return db.row("select state, outcome, json_extract(detail, '$.note') as note from jobs where ended_at is not null")


def packet(db: engine.Database, turn: int) -> str:
    query = "select body from packet_texts where run = 'demo' and turn = ? and role = 'user'"
    return str(db.value(query, (turn,)))


def test_a_kept_job_outlives_its_run_and_the_next_prompt_reads_and_ends_it(db: engine.Database, root: Path) -> None:
    asked: list[Any] = []

    def accept(proposal: Any) -> bool:
        asked.append((proposal["background"], proposal["kept"]))
        return True

    path = keep(
        db,
        root,
        "echo up; until [ -e more ]; do sleep 0.02; done; echo more; sleep 600",
        on_proposal=accept,
        yolo=False,
    )
    assert asked == [(1, 1), (0, 0)]
    assert "it continues after the task" in packet(db, 2)
    pid = (root / "pid").read_text()
    assert not is_gone(pid)
    (root / "more").touch()
    wait_until(lambda: "more" in "".join(piece["text"] for piece in db.output("demo", path, follow=False)))
    drive(db, root, f'<get path="{path}_1" line="1"/>{GO_ON}', f'<rm path="{path}_1"/><sh>kill -0 {pid}</sh>', DONE)
    assert "up\nmore\n" in packet(db, 3)
    assert db.value("select message from commands where action = 'get'").endswith("total]\nup\nmore")
    assert (
        db.value("select outcome from commands where action = 'sh' order by id desc") == "exit:1"
    )  # it had ended before
    assert ended(db) == {"state": "cancelled", "outcome": "cancelled", "note": "its output was removed"}
    expect_gone(pid)


def test_closing_the_file_ends_what_is_kept_however_it_resists(tmp_path: Path, root: Path) -> None:
    command = (
        "trap '' TERM HUP INT; for i in 1 2 3; do (trap '' TERM HUP; setsid sleep 600 & echo $! >> pids) & done; "
        "wait; echo $$ >> pids; touch up; while :; do sleep 0.05; done"
    )
    with opened(tmp_path) as db:
        keep(db, root, command)
        wait_until((root / "up").exists)
        again = db.again()
        again.close()  # what it shares does not end with it
        assert db.value(ALIVE) == 1
        path = db.path
    pids = (root / "pids").read_text().split()
    assert len(pids) == 4
    expect_gone(*pids)
    with engine.open(path) as db:
        assert ended(db) == {"state": "cancelled", "outcome": "interrupted", "note": None}
        drive(db, root, DONE)
        assert "interrupted: the engine was stopped" in packet(db, 3)


def keep_and_end(tmp_path: Path, root: Path, ends: str, sandbox: str = "off") -> Path:
    """Have a process keep a command and end, by a kill or not; returns its file."""
    path = tmp_path / "t.db"
    model = script(tmp_path, KEEP.format(f"{PID}touch up; sleep 600") + DONE)
    code = (
        "import engine, os, sys, time; db = engine.open(sys.argv[1]); db.run('Go', run='demo', model=sys.argv[2], "
        "root=sys.argv[3], yolo=True, sandbox=sys.argv[5], no_repo=True)\n"
        "while not os.path.exists(sys.argv[3] + '/up'): time.sleep(0.02)\n"
        "if sys.argv[4]: os.kill(os.getpid(), 9)"
    )
    arguments = [str(path), model, str(root), ends, sandbox]
    subprocess.run([sys.executable, "-c", code, *arguments], check=False, timeout=SECONDS)
    return path


@pytest.mark.parametrize(("ends", "sandbox"), [("", "off"), ("kill", "off"), ("kill", "auto")])
def test_a_process_that_ends_leaves_nothing_that_it_kept(tmp_path: Path, root: Path, ends: str, sandbox: str) -> None:
    path = keep_and_end(tmp_path, root, ends, sandbox)
    if sandbox == "off":
        expect_gone((root / "pid").read_text())
    with engine.open(path) as db:
        assert db.value("select state from jobs") == "cancelled"
        assert db.value("select outcome from jobs") == "interrupted"
        assert db.value("select count(*) from known_entries where state = 'streaming'") == 0
        assert db.value("select status from runs") == 200
    audit(path)


def test_a_command_whose_start_was_interrupted_is_ended(db: engine.Database, root: Path) -> None:
    """It was forgotten while it ran: nobody waited for its end, and its file was closed."""

    def here(frame: FrameType, event: str) -> bool:
        return (
            event == "return"
            and frame.f_code.co_name == "start"
            and "_started" in frame.f_code.co_names
            and (frame.f_locals["self"].name.startswith("job"))
        )

    with interrupted(here), pytest.raises(KeyboardInterrupt):
        keep(db, root)
    db.close()
    assert not [each for each in threading.enumerate() if each.name.startswith("job")]


def test_a_keeper_that_may_be_dead_is_asked_first(tmp_path: Path, root: Path) -> None:
    path = keep_and_end(tmp_path, root, "kill")
    with closing(sqlite3.connect(path)) as file, file:  # it ran on another machine
        (holder,) = file.execute(
            "select json_set(detail ->> '$.keeper', '$.boot_id', 'b', '$.machine', 'm') from jobs"
        ).fetchone()
        file.execute("update jobs set detail = json_object('keeper', ?)", (holder,))
    clock = Clock()
    with engine.open(path, clock=clock) as db:
        drive(db, root, DONE)
        with pytest.raises(Conflict, match="engine abort demo"):
            db.purge("demo")
        db.abort("demo")
    with engine.open(path, clock=clock) as db:
        assert db.value(ALIVE) == 1
    clock.now += 1_000_000
    with engine.open(path, clock=clock) as db:
        assert db.value("select outcome from jobs") == "cancelled"
        db.purge("demo")


def test_another_handle_follows_drives_and_ends_what_is_kept(db: engine.Database, root: Path) -> None:
    path = keep(db, root)
    with engine.open(db.path) as other:
        followed = other.output("demo", path)
        assert next(followed)["text"] == "up\n"
        drive(other, root, f'<get path="{path}_1" line="1"/>{GO_ON}', DONE)
        assert other.value("select message from commands where action = 'get'").endswith("total]\nup")
        assert other.value(ALIVE) == 1
        other.cancel("demo", path, by="Ada", reason="enough")
        assert list(followed) == []
    assert ended(db) == {"state": "cancelled", "outcome": "cancelled", "note": "stopped by Ada: enough"}
    expect_gone((root / "pid").read_text())


def test_what_an_async_run_keeps_lives_as_long_as_the_file(tmp_path: Path, root: Path) -> None:
    model = script(tmp_path, KEEP.format(f"{PID}echo up; sleep 600") + DONE)

    async def work() -> str:
        async with await engine.open_async(tmp_path / "t.db") as db:
            await db.run_async("Go", run="demo", model=model, root=root, yolo=True, sandbox="off", no_repo=True)
            pieces = db.output("demo", str(db.value("select path from _process_paths where channel = 1")))
            assert next(pieces)["text"] == "up\n"
            assert db.value(ALIVE) == 1
        return (root / "pid").read_text()

    expect_gone(asyncio.run(work()))
    with engine.open(tmp_path / "t.db") as db:
        assert db.value("select outcome from jobs") == "interrupted"


def test_what_a_child_keeps_ends_with_the_last_handle(tmp_path: Path, root: Path) -> None:
    """The handle of the child is one of a pool, which knows the handle that was opened."""
    db = engine.open(tmp_path / "t.db")
    part = script(tmp_path, KEEP.format("sleep 600") + DONE)
    db.insert("models", alias="part", actual=part, created_at=0)
    drive(db, root, f'<subtask model="part">Serve</subtask>{GO_ON}', DONE, max_depth=1)
    watched = db.kept_jobs.watched
    assert watched is not None
    assert len(watched.alive()) == 1
    del db
    gc.collect()
    wait_until(lambda: not watched.alive())
    assert str(tmp_path / "t.db") not in [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
    with engine.open(tmp_path / "t.db") as db:
        assert db.value("select outcome from jobs") == "interrupted"


def test_an_abort_ends_what_a_run_and_its_children_keep(db: engine.Database, root: Path) -> None:
    part = script(root.parent, KEEP.format("sleep 600") + DONE)
    db.insert("models", alias="part", actual=part, created_at=0)
    drive(
        db, root, f'<subtask model="part">Serve</subtask>{GO_ON}', KEEP.format("sleep 601") + GO_ON, DONE, max_depth=1
    )
    assert db.value(ALIVE) == 2
    assert db.value("select count(distinct run_id) from jobs") == 2
    with pytest.raises(NotFound, match="'nobody': there is no such run"):
        db.insert("_end_kept_jobs", run="nobody")
    # by SQL only: db.abort is the same
    db.insert("verb_set", run="demo", path="run://demo", state="cancelled", outcome="enough")
    db.kept_jobs.wait()
    notes = db.tuples("select outcome, json_extract(detail, '$.note') from jobs")
    assert notes == [("cancelled", "stopped by an abort: enough")] * 2


def test_a_purge_and_a_rewind_are_refused_while_something_is_kept(db: engine.Database, root: Path) -> None:
    path = keep(db, root)
    for refused in (lambda: db.purge("demo"), lambda: db.rewind("demo", 2)):
        with pytest.raises(Conflict, match=r"still runs in the background.*stop it.*engine abort demo"):
            refused()
    assert not is_gone((root / "pid").read_text())
    db.fork("demo", "fork")
    assert db.value("select state from known_entries where run = 'fork' and path = ?", (f"{path}_1",)) == "cancelled"
    db.cancel("demo", path)
    db.kept_jobs.wait()
    db.rewind("demo", 2)
    db.purge("fork")


def test_kept_jobs_count_and_end_like_any_other(db: engine.Database, root: Path) -> None:
    drive(db, root, "".join(KEEP.format(f"sleep 60{n}") for n in range(3)) + DONE)
    drive(db, root, '<sh background="1" keep="1" timeout="1">sleep 700</sh>' + DONE)
    wait_until(lambda: db.value("select count(*) from jobs where outcome = 'timeout'") == 1)
    drive(db, root, '<sh background="1" keep="false">sleep 701</sh>' + DONE)
    assert db.value(ALIVE) == 3
    drive(db, root, KEEP.format("sleep 702") + KEEP.format("sleep 703") + GO_ON, DONE)
    assert db.value("select count(*) from commands where outcome = 'conflict'") == 1
    assert db.value(ALIVE) == 4


def test_what_could_not_be_recorded_is_recorded_when_the_run_goes_on(db: engine.Database, root: Path) -> None:
    keep(db, root, LINGER)
    db.execute("create trigger full before update of ended_at on jobs begin select raise(abort, 'no'); end")
    (root / "stop").touch()
    db.kept_jobs.wait()
    assert db.value(ALIVE) == 1
    db.execute("drop trigger full")
    drive(db, root, DONE)
    assert db.value("select outcome from jobs") == "interrupted"


def test_a_flood_after_the_run_stays_small_and_all_of_it_is_kept_for_the_person(
    db: engine.Database, root: Path
) -> None:
    kept = root.parent / "all.txt"
    path = keep(db, root, f"echo first; {LINGER}; yes 0123456789abcde | head -c 104857600; echo last", keep_output=kept)
    (root / "stop").touch()
    db.kept_jobs.wait()
    text = "".join(piece["text"] for piece in db.output("demo", path))
    assert text.startswith("first\n012")
    assert text.endswith("bcde\nlast\n")
    assert len(text) < 1_001_000
    assert sum(each.stat().st_size for each in db.path.parent.glob(f"{db.path.name}*")) < 40e6
    assert kept.stat().st_size > 104_857_600


# the command line


@pytest.fixture
def model(tmp_path: Path) -> str:
    return script(tmp_path, KEEP.format(f"{PID}echo up; {LINGER}; exit 3") + DONE)


OPTIONS = ("--yolo", "--sandbox", "off", "--no-repo", "--run", "demo")


def test_the_command_stays_until_what_it_keeps_has_ended(folder: Path, model: str) -> None:
    process = subprocess.Popen(
        [*ENGINE, "run", *OPTIONS, "--model", model, "--json", "Go"],
        cwd=folder,
        env=environment(folder.parent),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = ""
    while not said.endswith("}\n"):  # the result is there while the command waits
        line = process.stdout.readline()
        assert line, said
        said += line
    assert json.loads(said)["status"] == 200
    with engine.open(database(folder)) as db:
        path = str(db.value("select path from _process_paths where channel = 1"))
        wait_until(lambda: "up\n" in "".join(piece["text"] for piece in db.output("demo", path, follow=False)))
    assert "up\n" in run_engine(folder, "runs", "output", "demo", path).stdout
    assert "still runs in the background" in run_engine(folder, "runs", "purge", "demo", "--yes").stderr
    (folder / "stop").touch()
    _, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert "  engine runs output demo 'sh://turn_1/" in stderr
    assert "has ended, exit code 3" in stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_what_the_command_keeps(folder: Path, model: str, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [*ENGINE, "run", *OPTIONS, "--model", model, "Go"],
        cwd=folder,
        env=environment(folder.parent),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )
    assert process.stderr is not None
    said = ""
    while "Ctrl-C ends it" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    wait_until(lambda: (folder / "pid").exists() and (folder / "pid").read_text().strip())
    process.send_signal(number)
    said += process.communicate(timeout=SECONDS)[1]
    assert process.returncode == 0
    assert "was ended" in said
    expect_gone((folder / "pid").read_text())


def test_a_signal_while_what_is_kept_is_ended_does_not_wait_for_itself() -> None:
    """It comes at each line that ending them takes."""
    code = """
import os, signal, sys
from engine.processes.watched import Watched
for at in range(12):
    kept, lines = Watched(kept=True), iter(range(99))
    signal.signal(signal.SIGINT, lambda *_: kept.stop())
    def trace(frame, event, _):
        if event == "line" and next(lines, 99) == at:
            os.kill(os.getpid(), signal.SIGINT)
        return trace
    sys.settrace(trace)
    kept.close()
    sys.settrace(None)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=SECONDS)


def test_not_to_wait_ends_what_is_kept_at_once(folder: Path, model: str) -> None:
    done = run_engine(folder, "run", *OPTIONS, "--model", model, "--no-wait", "Go")
    assert done.returncode == 0
    assert "was ended" in done.stderr
    with engine.open(database(folder)) as db:
        assert db.value("select outcome from jobs") == "interrupted"


def test_an_error_that_ends_the_command_tells_what_it_ends(folder: Path) -> None:
    (folder / "plant.py").write_text(
        f"import sqlite3\nfile = sqlite3.connect({str(database(folder))!r})\n"
        "file.execute(\"create trigger planted before insert on turns begin select raise(abort, 'no'); end\")\n"
    )
    plant = f"<sh>until [ -e pid ]; do sleep 0.02; done; {sys.executable} plant.py</sh>"
    model = script(folder.parent, KEEP.format(f"{PID}sleep 600") + plant + GO_ON, DONE)
    done = run_engine(folder, "run", *OPTIONS, "--model", model, "Go")
    assert done.returncode == 2
    assert "was ended with the error that follows\n" in done.stderr
    assert "a constraint of the file refuses this: no; to continue: engine resume demo" in done.stderr
    expect_gone((folder / "pid").read_text())


def test_a_person_is_asked_about_what_is_kept_and_ends_it_by_an_abort(folder: Path, model: str) -> None:
    terminal = Terminal(folder, "run", *OPTIONS[1:], "--model", model, "Go")
    try:
        terminal.expect("in the background, kept after the task has ended")
        terminal.type("y\n")
        terminal.expect("Ctrl-C ends it")
        assert "demo: aborted" in run_engine(folder, "abort", "demo").stderr
        code, stdout = terminal.end()
    finally:
        terminal.close()
    assert (code, stdout) == (0, "Done.\n")
    assert "was ended" in terminal.said
    assert "has no active prompt" in run_engine(folder, "abort", "demo").stderr
