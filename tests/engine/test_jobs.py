"""Commands in the background: started by the gate of any command, read and ended while the run goes on, gone with it.

1. Dispatch goes on; the model reads the output, its tail too, and is told of the end and the exit code. 2. An rm ends one
before anything else is done; the end of the loop, an abort, an error of the app and a dead driver end all. 3. What floods,
forks, ignores SIGTERM, closes its output or prints bytes that are no text does no harm. 4. Limits and refusals. 5. Another
process follows and cancels, foreground commands too. 6. 100 MB enter neither memory nor file; --keep-output has them all.

spec: @background_jobs @cancelling @streaming_entries @kept_output
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, Clock, begin, script
from engine_cli import engine as run_engine
from fresh import fresh
from sandboxed import expect_gone
from sqltest import STEPS
from timing import wait_until

import engine
from engine.errors import Conflict, NotFound, PermissionDenied, ValidationError

AWAIT = "until [ -e {0} ]; do sleep 0.02; done"
"""A command line that ends once a file is there."""
AWAIT_PID = "until [ -s pid ]; do sleep 0.02; done"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


PRINTED = "select coalesce(sum(printed), 0) > {0} from job_channels"
ENDED = "select not exists (select 1 from jobs where ended_at is null)"


def wait(query: str) -> str:
    """A command that is accepted once `query` is true in the file."""
    return f"<sh>: '{query}'</sh>"


def drive(db: engine.Database, root: Path, *answers: str, **options: Any) -> engine.Result:
    """Drive a run with `answers`, without a sandbox, which has tests of its own."""

    def accept(proposal: Any) -> bool:
        if proposal["detail"].startswith(": "):
            wait_until(lambda: db.value(proposal["detail"][3:-1]) == 1)
        return True

    options = {"on_proposal": accept, "sandbox": "off", "no_repo": True, "run": "demo", **options}
    return db.run("Go", model=script(root.parent, *answers), root=root, **options)


def record(db: engine.Database, path: str) -> dict[str, Any]:
    found = db.row("select state, outcome, status, body from known_entries where run = 'demo' and path = ?", (path,))
    assert found is not None, path
    return found


def body(db: engine.Database, path: str) -> str:
    return str(record(db, path)["body"])


def packet(db: engine.Database, turn: int) -> str:
    """The last message of the packet of a turn, as the model got it."""
    query = "select body from packet_texts where run = 'demo' and turn = ? and role = 'user'"
    return str(db.value(query, (turn,)))


def test_a_job_runs_while_the_model_goes_on_and_its_end_is_told(db: engine.Database, root: Path) -> None:
    seen: list[tuple[str, int]] = []

    def watch(event: Any) -> None:
        if event["type"] == "command" and event["action"] == "sh":
            seen.append((event["target"].split()[0], event["status"]))

    job = "seq 1 300; echo up; " + AWAIT.format("stop") + "; echo down; exit 3"
    drive(
        db,
        root,
        f'<sh background="1" tags="job">{job}</sh>{GO_ON}',
        wait(PRINTED.format(1094)),
        '<get path="sh://turn_1/**"/>',
        '<get path="sh://turn_1/*_1" manifest/>',
        "<sh>touch stop</sh>",
        wait(ENDED),
        GO_ON,
        DONE,
        on_event=watch,
    )
    log, out = db.tuples(
        "select path from _process_paths where effect_id = 1 and (channel = 1 or path like 'log%') order by 1"
    )
    assert record(db, log[0])["outcome"] == "exit:3"
    assert "in the background, exit=3" in body(db, log[0])
    assert body(db, out[0]) == "".join(f"{n}\n" for n in range(1, 301)) + "up\ndown\n"
    started = next(line for line in packet(db, 2).splitlines() if '"status":102' in line and "log://turn_1/sh" in line)
    assert '"action":"sh"' in started
    assert "up\n" in packet(db, 4)
    assert "exit=3" not in packet(db, 5)
    assert "exit=3" in packet(db, 7)
    assert seen[0] == ("seq", 200)
    assert ("seq", 500) in seen
    assert db.row("select state, outcome, exit_code, background from processes where effect_id = 1") == {
        "state": "done",
        "outcome": "exit:3",
        "exit_code": 3,
        "background": 1,
    }


def test_get_reads_a_part_of_what_a_running_job_printed(db: engine.Database, root: Path) -> None:
    drive(
        db,
        root,
        f'<sh background="1">seq 1 5000; {AWAIT.format("never")}</sh>{GO_ON}',
        wait(PRINTED.format(23892)),
        f'<get path="{PATH_OF_SEQ}" line="-2"/><get path="{PATH_OF_SEQ}" line="1" limit="1"/>',
        DONE,
    )
    told = [row[0] for row in db.tuples("select message from commands where action = 'get' order by id")]
    assert told[0].endswith("total]\n4999\n5000")
    assert told[1].endswith("total]\n1")
    assert len(packet(db, 3)) < 20_000


PATH_OF_SEQ = "sh://turn_1/seq_1_5000%3B_until_%5B_-e_never_%5D%3B_do_sleep_0.02%3B_done_1"


def test_an_rm_ends_a_job_before_the_next_command(db: engine.Database, root: Path) -> None:
    drive(
        db,
        root,
        f'<sh background="1">trap "" TERM; echo $$ > pid; touch up; while :; do sleep 0.05; done</sh>{GO_ON}',
        f"<sh>{AWAIT.format('up')}</sh>",
        '<rm path="sh://turn_1/*_1"/><sh>kill -0 $(cat pid) && echo alive; true</sh>',
        GO_ON,
        DONE,
    )
    expect_gone((root / "pid").read_text())
    assert db.value("select outcome from jobs") == "cancelled"
    assert db.value("select body from known_entries where path like 'sh://turn_3/%_1'") == ""
    assert "its output was removed" in packet(db, 4)


def test_jobs_end_with_their_loop_and_the_next_prompt_has_its_own(db: engine.Database, root: Path) -> None:
    drive(db, root, f'<sh background="1">echo $$ > pid; sleep 600 & wait</sh><sh>{AWAIT_PID}</sh>{DONE}')
    expect_gone((root / "pid").read_text())
    job = db.row("select state, outcome, json_extract(detail, '$.note') as note from jobs")
    assert job == {"state": "cancelled", "outcome": "cancelled", "note": "its loop ended"}
    assert db.value("select count(*) from entry_chunks") == 0


def test_an_error_of_the_app_ends_jobs_as_interrupted(db: engine.Database, root: Path) -> None:
    def fail(event: Any) -> None:
        if event["type"] == "command" and event["action"] == "update":
            raise RuntimeError("the app")

    with pytest.raises(RuntimeError, match="the app"):
        drive(
            db,
            root,
            f'<sh background="1">echo $$ > pid; sleep 600</sh><sh>{AWAIT_PID}</sh>{GO_ON}',
            GO_ON,
            DONE,
            on_event=fail,
        )
    expect_gone((root / "pid").read_text())
    assert db.value("select outcome from jobs") == "interrupted"
    db.resume("demo")
    assert "interrupted: the engine was stopped" in packet(db, 3)
    assert db.value("select count(*) from jobs") == 1


def test_an_abort_ends_jobs(db: engine.Database, root: Path) -> None:
    def abort(event: Any) -> None:
        if event["type"] == "command" and event["action"] == "env":
            db.abort("demo")

    answers = f'<sh background="1">echo $$ > pid; sleep 600</sh><sh>{AWAIT_PID}</sh><env>true</env>'
    assert drive(db, root, answers, GO_ON, on_event=abort).status == 499
    expect_gone((root / "pid").read_text())
    assert db.row("select state, outcome from jobs") == {"state": "cancelled", "outcome": "cancelled"}


def test_what_a_job_prints_is_never_more_than_text(db: engine.Database, root: Path) -> None:
    command = r"printf '\000\033[2Jred\xff\xfe:::end\n'; exec >&- 2>&-; sleep 600"
    drive(db, root, f'<sh background="1">{command}</sh>{wait(PRINTED.format(13))}', GO_ON, DONE)
    assert db.value("select body from known_entries where path like 'sh://turn_1/printf%_1'") == (
        "\ufffd\nred\ufffd\ufffd:::end\n"
    )


def test_a_job_that_forks_away_leaves_nothing(db: engine.Database, root: Path) -> None:
    command = (
        "for i in 1 2 3; do (trap '' TERM HUP; setsid sleep 600 & echo $! >> pids) & done; wait; touch up; sleep 600"
    )
    drive(db, root, f'<sh background="1">{command}</sh><sh>{AWAIT.format("up")}</sh>', DONE)
    pids = (root / "pids").read_text().split()
    assert len(pids) == 3
    expect_gone(*pids)


def test_a_flood_keeps_its_beginning_and_its_latest_part(db: engine.Database, root: Path) -> None:
    db.execute("update settings set value = '200000' where name = 'process_output_bytes'")
    command = (
        "echo first; yes | head -c 3000000; until [ -e more ]; do sleep 0.02; done; yes no | head -c 300000; echo last"
    )
    drive(
        db,
        root,
        f'<sh background="1">{command}</sh>{wait(PRINTED.format(100_001))}',
        "<sh>touch more</sh>",
        wait(ENDED),
        DONE,
    )
    text = str(db.value("select body from known_entries where path like 'sh://turn_1/echo%_1'"))
    assert text.startswith("first\ny\ny\n")
    assert text.endswith("no\nno\nlast\n")
    assert "left out …]" in text
    assert len(text) < 201_000
    note = str(db.value("select json_extract(detail, '$.note') from jobs"))
    assert "left out of its output: " in note
    assert "--keep-output FILE" in note


def test_of_50_jobs_only_so_many_start(db: engine.Database, root: Path) -> None:
    drive(db, root, "".join(f'<sh background="1">sleep 60{n:02}</sh>' for n in range(50)) + GO_ON, DONE)
    assert db.value("select count(*) from jobs") == 4
    refused = db.rows(
        "select outcome, count(*) as n from commands where action = 'sh' and state <> 'resolved' group by 1 order by 1"
    )
    assert refused == [{"outcome": "aborted", "n": 45}, {"outcome": "conflict", "n": 1}]
    assert "sh://turn_1/sleep_6000_1" in str(db.value("select message from commands where outcome = 'conflict'"))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ('<env background="1">sleep 60</env>', "only a model's <sh"),
        ('<sh keep="1">sleep 60</sh>', "only a background command is kept"),
    ],
)
def test_what_cannot_run_in_the_background_is_refused(db: engine.Database, root: Path, answer: str, told: str) -> None:
    drive(db, root, answer, DONE)
    row = db.row("select outcome, message from commands where action in ('sh', 'env')")
    assert row is not None
    assert row["outcome"] == "validation"
    assert told in row["message"]
    assert db.value("select count(*) from jobs") == 0


def test_a_flag_that_says_no_and_a_native_call_mean_what_they_say(db: engine.Database, root: Path) -> None:
    drive(db, root, '<sh background="false">echo fore</sh>', DONE)
    assert db.value("select count(*) from jobs") == 0
    schema = json.loads(db.value("select schema from tools where name = 'sh'"))
    assert schema["properties"]["background"]["type"] == "boolean"


def test_a_job_needs_the_same_decision_as_any_command(db: engine.Database, root: Path) -> None:
    asked: list[Any] = []

    def reject(proposal: Any) -> bool:
        asked.append(proposal)
        return False

    drive(db, root, '<sh background="1">touch done</sh>', DONE, on_proposal=reject)
    assert [(each["kind"], each["detail"], each["background"]) for each in asked] == [("process", "touch done", 1)]
    assert not (root / "done").exists()
    assert db.value("select count(*) from jobs") == 0


def test_a_policy_refuses_a_job_like_any_command(db: engine.Database, root: Path) -> None:
    drive(db, root, '<sh background="1">vim notes.md</sh>', DONE)
    assert db.value("select outcome from commands where action = 'sh'") == "rejected"


def test_a_job_of_another_run_is_out_of_reach(db: engine.Database, root: Path) -> None:
    drive(
        db,
        root,
        f'<sh background="1">touch up; {AWAIT.format("stop")}; exit 7</sh><sh>{AWAIT.format("up")}</sh>',
        f"<sh>{AWAIT.format('forked')}; touch stop</sh>",
        wait(ENDED),
        DONE,
        on_event=lambda event: other(db, root) if event["type"] == "turn" and event["turn"] == 2 else None,
    )
    assert db.value("select exit_code from jobs") == 7


def other(db: engine.Database, root: Path) -> None:
    """A fork of the run, and a stranger, try to end its job."""
    db.fork("demo", "fork")
    for run, options in (("fork", {}), ("stranger", {"root": root})):
        db.run("Go", run=run, model=script(root.parent, '<rm path="sh://turn_1/*"/>', DONE), no_repo=True, **options)
        assert db.value("select count(*) from jobs where ended_at is null") == 1
    with pytest.raises(NotFound):
        db.cancel("stranger", "sh://turn_1/x_1")
    (root / "forked").touch()


def test_a_database_in_memory_runs_no_job(root: Path) -> None:
    with engine.open(":memory:") as db:
        drive(db, root, '<sh background="1">touch done</sh>', DONE)
        assert "in memory" in str(db.value("select message from commands where action = 'sh'"))
    assert not (root / "done").exists()


def test_a_job_runs_in_the_sandbox(db: engine.Database, root: Path) -> None:
    from engine import sandbox

    if sandbox.find("auto")[0] is None:
        pytest.skip("there is no sandbox here")
    outside = root.parent / "outside"
    drive(
        db,
        root,
        f'<sh background="1">touch in; touch {outside}; touch up</sh><sh>{AWAIT.format("up")}</sh>',
        DONE,
        sandbox="auto",
    )
    assert (root / "in").exists()
    assert not outside.exists()
    assert db.value("select sandbox from processes where background") == "bubblewrap"


@pytest.fixture
def elsewhere(tmp_path: Path, root: Path) -> Iterator[tuple[engine.Database, str]]:
    """A run that a thread drives over a handle of its own, with a job and a foreground command; and this thread's handle."""
    path = tmp_path / "t.db"
    log = {
        "job": "echo one; touch up; " + AWAIT.format("two") + "; echo two; sleep 600",
        "fore": "echo fore; sleep 601",
    }
    with fresh() as made:
        made.close()
    db = engine.open(path)
    model = script(tmp_path, f'<sh background="1">{log["job"]}</sh><sh>{log["fore"]}</sh>', GO_ON, DONE)

    def work() -> None:
        with engine.open(path) as own:
            own.run("Go", run="demo", model=model, root=root, yolo=True, sandbox="off", no_repo=True)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: db.value("select count(*) from processes where state = 'started'") == 2)
    try:
        yield db, str(db.value("select path from _process_paths where effect_id = 1 and channel = 1"))
    finally:
        thread.join()
        db.close()


def test_another_handle_follows_a_job_and_cancels_what_runs(elsewhere: tuple[engine.Database, str], root: Path) -> None:
    db, path = elsewhere
    followed = db.output("demo", path)
    assert next(followed)["text"] == "one\n"
    (root / "two").touch()
    assert next(followed) == {"path": path, "channel": 1, "text": "two\n", "left_out": False}
    assert [piece["text"] for piece in db.output("demo", path, follow=False)] == ["one\n", "two\n"]
    db.cancel("demo", path.removesuffix("_1"), reason="enough", by="Ada")
    assert list(followed) == []
    assert db.value("select json_extract(detail, '$.note') from jobs") == "stopped by Ada: enough"
    with pytest.raises(Conflict, match="is not running"):
        db.cancel("demo", path)
    fore = str(db.value("select log_path from commands where body like 'echo fore%'"))
    wait_until(lambda: "fore\n" in [piece["text"] for piece in db.output("demo", fore, follow=False)])
    db.cancel("demo", fore, by="Ada")
    list(db.output("demo", fore))
    wait_until(lambda: db.value("select 1 from runs where status = 200") == 1)
    row = db.row("select outcome, message from commands where log_path = ?", (fore,))
    assert row is not None
    assert row["outcome"] == "cancelled"
    assert "stopped by Ada" in row["message"]
    assert "fore\n" in [piece["text"] for piece in db.output("demo", fore)]
    with pytest.raises(NotFound, match="is neither a command"):
        db.output("demo", "known://x")
    with pytest.raises(NotFound, match="no such run"):
        db.output("nobody", path)


def test_a_killed_driver_leaves_no_job_and_the_next_open_says_so(tmp_path: Path, root: Path) -> None:
    path = tmp_path / "t.db"
    model = script(
        tmp_path, '<sh background="1">echo $$ > pid; echo up; sleep 600</sh><sh>touch fore; sleep 600</sh>', DONE
    )
    code = (
        "import engine, sys; engine.open(sys.argv[1]).run('Go', run='demo', model=sys.argv[2], root=sys.argv[3], "
        "yolo=True, sandbox='off', no_repo=True)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(path), model, str(root)])
    wait_until(
        lambda: (root / "fore").exists() and (root / "pid").exists() and (root / "pid").read_text().strip() != ""
    )
    child.kill()
    child.wait()
    pid = (root / "pid").read_text()
    expect_gone(pid)
    with engine.open(path) as db:
        assert db.value("select outcome from jobs") == "interrupted"
        assert db.value("select count(*) from known_entries where state = 'streaming'") == 0
        assert db.tuples("select state from effects where kind = 'process' order by id") == [
            ("done",),
            ("interrupted",),
        ]
        assert db.resume("demo").status == 200
        assert db.value("select count(*) from jobs") == 1
        assert (root / "pid").read_text() == pid
        assert "interrupted: the engine was stopped" in packet(db, 2)


@pytest.mark.usefixtures("in_folder")
def test_a_hundred_megabytes_enter_neither_memory_nor_file(db: engine.Database, root: Path, tmp_path: Path) -> None:
    kept = tmp_path / "all.txt"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    flood = "echo first; yes 0123456789abcde | head -c 104857600; echo last"
    drive(
        db,
        root,
        f"<sh>{flood}</sh>",
        f'<sh background="1">{flood}</sh>{wait(ENDED)}',
        DONE,
        keep_output=kept,
    )
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 95  # of 200 that were written
    assert sum(each.stat().st_size for each in tmp_path.glob("t.db*")) < 40e6
    text = str(db.value("select body from known_entries where path like 'sh://turn_1/%_1'"))
    assert text.startswith("first\n012")
    assert text.endswith("bcde\nlast\n")
    assert len(text) < 1_001_000
    assert "left out of its output: 103,857,611 bytes, the person has all of it" in str(
        db.value("select message from commands where action = 'sh' and turn_id = 1")
    )
    assert max(len(packet(db, turn)) for turn in (2, 3)) < 50_000
    assert kept.stat().st_size > 209_715_200
    assert kept.stat().st_mode & 0o777 == 0o600


def test_output_is_kept_where_no_command_writes(db: engine.Database, root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root / "x")
    (tmp_path / "way").symlink_to(root)
    os.mkfifo(tmp_path / "fifo")
    for path, error in (
        (root / "out", PermissionDenied),
        (tmp_path / "way" / "out", PermissionDenied),
        (root / ".engine" / "out", PermissionDenied),
        (tmp_path / "link", ValidationError),
        (tmp_path / "fifo", ValidationError),
        (tmp_path / "none" / "out", ValidationError),
        (tmp_path, ValidationError),
    ):
        with pytest.raises(error):
            drive(db, root, DONE, keep_output=path)
    assert db.runs() == []
    drive(db, root, "<sh>printf 'a\\000b'; echo c >&2</sh>", DONE, keep_output=tmp_path / "out")
    data = (tmp_path / "out").read_bytes()
    assert b"_1 <==\na\0b" in data
    assert b"_2 <==\nc\n" in data


def test_a_person_is_told_that_a_command_would_run_on(folder: Path) -> None:
    model = script(folder, '<sh background="1">npm start</sh>', DONE)
    done = run_engine(
        folder, "run", "--run", "demo", "--model", model, "--keep-output", str(folder.parent / "out"), "Go"
    )
    assert done.returncode == 6
    assert "sh, in the background, until the task ends:" in done.stderr
    refused = run_engine(folder, "resume", "demo", "--keep-output", "out")
    assert "is in the working folder" in refused.stderr


def test_a_purge_takes_jobs_along(db: engine.Database, root: Path) -> None:
    drive(db, root, '<sh background="1">sleep 600</sh>', DONE)
    db.purge("demo")
    assert db.value("select (select count(*) from jobs) + (select count(*) from job_channels)") == 0


def test_engine_stream_prints_the_text_that_is_kept_into_a_pipe(folder: Path) -> None:
    model = script(folder, r"<sh>printf 'a\033[2Jb\n'; echo err >&2; exit 4</sh>", DONE)
    run_engine(folder, "run", "--yolo", "--sandbox", "off", "--run", "demo", "--model", model, "Go")
    path = "log://turn_1/sh/printf_'a%5C033%5B2Jb%5Cn'%3B_echo_err_%3E%262%3B_exit_4"
    done = run_engine(folder, "runs", "output", "demo", path, "--follow")
    assert done.stdout == "a\nb\n"
    assert "err\n" in done.stderr
    assert "exit code 4" in done.stderr
    assert run_engine(folder, "runs", "output", "demo").stdout == done.stdout, "without a path it is the last command"
    lines = [
        json.loads(line) for line in run_engine(folder, "runs", "output", "demo", path, "--json").stdout.splitlines()
    ]
    assert [line.get("text") for line in lines] == ["a\nb\n", "err\n", None]
    assert lines[-1] == {"state": "done", "outcome": "exit:4", "exit_code": 4}
    assert run_engine(folder, "runs", "output", "demo", path, "--cancel").returncode == 1
    assert "is not running" in run_engine(folder, "runs", "output", "demo", path, "--cancel").stderr


# what it changes


FOUND = (
    "insert into _report_file (project_id, path, kind, size, mtime_ns, sha256, text) "
    "values (1, 'a', 'text', 4, :n, :n, :n)"
)
SCANNED = "insert into _sync_files (run_id, turn_id) select 1, max(id) from turns"
ACCEPTED = "insert into resolutions (run_id, decision, decided_by) values (1, 'accept', 'Ada')"


def test_what_a_job_changes_is_its_own_until_it_has_ended() -> None:
    """spec: @file_changes"""
    numbers = iter("123456789")

    def next_turn(db: engine.Database, response: str, *statements: str) -> None:
        """A turn whose scan finds another text."""
        values = {"run": "demo", "chars": 100, "response": response + GO_ON}
        for name, door in STEPS.items():
            db.execute(door, values)
            if name == "begin":
                db.execute(FOUND, {"n": next(numbers)})
                db.execute(SCANNED)
        for statement in statements:
            db.execute(statement)
        if statements:
            db.execute(STEPS["dispatch"], {"run": "demo"})

    with fresh(clock=Clock(step=5)) as db:
        begin(db, "demo")
        job = "insert into _start_job (effect_id, identity) select effect_id, '{}' from _pending_effects"
        next_turn(db, '<sh background="1">serve</sh>', ACCEPTED, job)
        next_turn(db, "<think>a</think>")
        started = "insert into _start_effect (effect_id) select effect_id from _pending_effects"
        ended = "insert into _finish_effect (effect_id, state) select effect_id, 'resolved' from _pending_effects"
        next_turn(db, "<sh>make</sh>", ACCEPTED, started, ended)
        next_turn(db, "<think>b</think>")
        db.insert("_finish_job", effect_id=1, exit_code=0)
        next_turn(db, "<think>c</think>")
        next_turn(db, "<think>d</think>")
        found = db.tuples("select turn, cause, command, decided_by from file_changes order by created_at")
    assert found == [
        (1, "process", "serve", "Ada"),
        (1, "process", "serve", "Ada"),
        (3, "process", "serve\nmake", "Ada"),
        (1, "process", "serve", "Ada"),
        (6, "outside", None, None),
    ]
