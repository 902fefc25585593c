"""A fleet: many tasks, each once, in files of their own, whoever is killed meanwhile.

1. Prompts, workflows and evaluations end, and their results are rows. 2. Retries by the kind of failure. 3. One ceiling for
all, without overshoot; rates of providers. 4. Stopping, cancelling, resuming. 5. The manifest refuses what is too late, and
one from elsewhere. 6. Files of tasks with mistakes.

spec: @fleet_run @fleet_manifest @fleet_tasks @fleet_workers @fleet_at_most_once @fleet_ceiling @fleet_rates
spec: @fleet_looks @fleet_growth
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from engine_cli import engine as cli

import engine
from engine.errors import Conflict, EngineError, NotFound, PermissionDenied, ValidationError
from engine.fleet.carrying import Attempt
from engine.fleet.executors import LocalProcesses
from engine.fleet.manifest import Manifest
from engine.fleet.metering import key_of
from engine.fleet.rates import read_rates
from engine.fleet.running import Fleet, clear_dead, prepared
from engine.fleet.tasks import expect_new, read_tasks
from engine.fleet.worker import Worker
from engine.system.identity import this_process

NOBODY = this_process()._replace(pid=4_000_000, started="1").to_json()
"""A process of this machine that is gone."""
SETTINGS: dict[str, Any] = {
    "files": "out/{id}.db", "roots": None, "concurrency": 2, "max_cost": None, "call_cost": None, "max_output": 100,
    "options": "{}",
}  # fmt: skip


def script(folder: Path, *answers: Any, name: str = "s.jsonl", cost: float = 0.001) -> str:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "cost": cost}
    lines = [{"text": each, "usage": usage} if isinstance(each, str) else each for each in answers]
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted:{folder / name}"


THREE = ('<set path="known://a">1</set>', '<get path="known://a"/>', '<update status="200">ok</update>')


def made(
    folder: Path, tasks: list[dict[str, Any]], *, model: str | None = None, rates: Any = (), **settings: Any
) -> Manifest:
    (folder / "t.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    options = {"model": model} if model else {}
    read = read_tasks(folder / "t.jsonl", str(folder / "out" / "{id}.db"), None, options)
    return Manifest.make(folder / "t.fleet.db", {**SETTINGS, **settings}, read, rates)


def worked(manifest: Manifest, slots: int = 2) -> list[dict[str, Any]]:
    """The results after a worker of this process has done what it can."""
    Worker(manifest, slots, "test").work()
    return manifest.rows("select * from task_results")


def prompts(count: int) -> list[dict[str, Any]]:
    return [{"id": f"t{number}", "prompt": f"Do {number}"} for number in range(count)]


def test_each_task_is_answered_once_in_its_own_file(tmp_path: Path) -> None:
    with made(tmp_path, prompts(5), model=script(tmp_path, *THREE)) as manifest:
        results = worked(manifest)
        assert {(row["state"], row["answer"], row["turns"], row["attempts"]) for row in results} == {
            ("done", "ok", 3, 1)
        }
        assert sum(row["cost"] for row in results) == pytest.approx(0.015)
        assert manifest.rows("select tasks, done, is_over, workers from fleet_status") == [
            {"tasks": 5, "done": 5, "is_over": 1, "workers": 0}
        ]
        assert manifest.value("select count(*) from calls") == 0  # nothing asks for them
    found = engine.analysis(tmp_path / "out").sql("select file, run, turns, loops from run_overview order by run")
    assert [(Path(row["file"]).stem, row["run"], row["turns"], row["loops"]) for row in found] == [
        (f"t{number}", f"t{number}", 3, 1) for number in range(5)
    ]


def test_processes_carry_a_fleet_out_and_replace_one_that_is_killed(tmp_path: Path) -> None:
    slow = [{"text": text, "delay_s": 0.05} for text in THREE]
    with made(tmp_path, prompts(8), model=script(tmp_path, *slow)) as manifest:
        fleet, killed = Fleet(manifest, LocalProcesses(), 3, 2), []

        def kill_one(status: dict[str, Any]) -> None:
            hand = fleet._hands[0]
            if status["running"] and not killed and hand is not None:
                hand.process.kill()  # type: ignore[attr-defined]
                killed.append(1)

        status = fleet.run(kill_one)
        assert (status["done"], status["is_over"], status["workers"]) == (8, 1, 0)
        assert killed
        assert {row["turns"] for row in manifest.rows("select turns from task_results")} == {3}


def test_a_workflow_and_an_evaluation_are_tasks(tmp_path: Path) -> None:
    model = script(tmp_path, '<update status="200">four</update>')
    (tmp_path / "steps.yaml").write_text(
        "name: steps\ndescription: Say it\nvars:\n  what: {required: true}\n"
        "steps:\n  - id: a\n    instruction: Say {{ what }}\n"
    )
    (tmp_path / "cases.yaml").write_text(
        "cases:\n  - name: sum\n    prompt: What is 2 + 2?\n    checks: [{contains: four}]\n"
    )
    tasks = [
        {"id": "flow", "workflow": "steps.yaml", "vars": {"what": "four"}},
        {"id": "good", "eval": "cases.yaml"},
    ]
    with made(tmp_path, tasks, model=model) as manifest:
        flow, good = worked(manifest)
    assert (flow["state"], flow["answer"]) == ("done", "four"), flow["reason"]
    assert (good["state"], json.loads(good["answer"])["verdict"]) == ("done", "passed"), good["reason"]


def test_a_failure_is_tried_again_where_that_can_help(tmp_path: Path) -> None:
    limited = {"error": {"status": 429, "message": "slow down"}}
    tasks = [
        {"id": "later", "prompt": "a", "model": script(tmp_path, limited, limited, *THREE, name="a.jsonl")},
        {
            "id": "never",
            "prompt": "b",
            "model": script(tmp_path, {"error": {"status": 401, "message": "no"}}, name="b.jsonl"),
        },
        {"id": "gone", "prompt": "c", "model": "scripted:none.jsonl", "root": str(tmp_path / "t.jsonl" / "x")},
        {"id": "asks", "prompt": "d", "model": script(tmp_path, "<ask_user>Which?</ask_user>", name="d.jsonl")},
    ]
    with made(tmp_path, tasks) as manifest:
        manifest.execute("update failure_kinds set first_wait_ms = 10, longest_wait_ms = 20")
        results = {row["task"]: row for row in worked(manifest)}
        assert (results["later"]["state"], results["later"]["attempts"], results["later"]["answer"]) == (
            "done",
            3,
            "ok",
        )
        assert (results["never"]["state"], results["never"]["outcome"], results["never"]["attempts"]) == (
            "failed", "refused", 1,
        )  # fmt: skip
        assert results["gone"]["state"] == "failed"
        assert (results["asks"]["state"], results["asks"]["outcome"]) == ("failed", "waits")
        log = manifest.rows("select outcome from attempt_log where task = 'later'")
        assert [row["outcome"] for row in log] == ["done", "rate_limit", "rate_limit"]


def test_retries_of_a_kind_have_an_end(tmp_path: Path) -> None:
    limited = [{"error": {"status": 429, "message": "slow down"}}] * 20
    with made(tmp_path, prompts(1), model=script(tmp_path, *limited)) as manifest:
        manifest.execute("update failure_kinds set first_wait_ms = 1, longest_wait_ms = 1, retries = 2")
        (result,) = worked(manifest)
        assert (result["state"], result["attempts"], result["outcome"]) == ("failed", 3, "rate_limit")
        manifest.call("_retry_failed", name=None)
        (result,) = worked(manifest)
        assert (result["state"], result["attempts"]) == ("failed", 4)


def test_all_tasks_together_stay_below_the_ceiling(tmp_path: Path) -> None:
    """Each call costs 0.10 at most, and does: with 1.05 there are ten, whoever makes them, and none is half made."""
    with made(tmp_path, prompts(6), model=script(tmp_path, *THREE, cost=0.1), max_cost=1.05, call_cost=0.1) as manifest:
        worked(manifest, slots=3)
        (status,) = manifest.rows("select * from fleet_status")
        assert (status["is_over"], status["is_at_ceiling"]) == (0, 1)
        assert 0.9 < status["spent"] <= 1.05
        assert status["cost"] == pytest.approx(status["spent"])
        assert manifest.value("select reserved from totals") == pytest.approx(0)
        # what has not ended goes on where it stood
        manifest.execute("update fleet set max_cost = 2, ceiling_at = null")
        results = worked(manifest)
        assert {(row["state"], row["turns"]) for row in results} == {("done", 3)}
        assert sum(row["cost"] for row in results) == pytest.approx(1.8)


def test_a_call_that_was_lost_counts_with_its_bound(tmp_path: Path) -> None:
    with made(tmp_path, prompts(1), max_cost=1.0, call_cost=0.4) as manifest:
        worker = manifest.begin_worker("gone", NOBODY)
        work = manifest.claim(worker)
        assert work is not None
        assert manifest.open_call(work["token"], "c1", "x", 10, 0.4)["verdict"] == "go"
        assert manifest.open_call(work["token"], "c2", "x", 10, 0.4)["verdict"] == "go"
        assert manifest.open_call(work["token"], "c3", "x", 10, 0.4)["verdict"] == "wait"
        manifest.call("_settle_call", id="c1", tokens=5, cost=0.1)
        assert manifest.rows("select spent, reserved from totals") == [{"spent": 0.1, "reserved": 0.4}]
        assert clear_dead(manifest) == 1
        assert manifest.rows("select spent, reserved from totals") == [{"spent": 0.5, "reserved": 0.0}]
        with pytest.raises(Conflict, match="given up"):
            manifest.open_call(work["token"], "c4", "x", 10, 0.1)


def test_a_model_without_a_price_is_not_asked_below_a_ceiling(tmp_path: Path) -> None:
    with made(tmp_path, prompts(1), model=script(tmp_path, *THREE), max_cost=1.0) as manifest:
        (result,) = worked(manifest)
        assert (result["state"], result["outcome"], result["turns"]) == ("failed", "no_price", 1) or result["cost"] == 0


def test_a_minute_has_room_for_so_many_calls(tmp_path: Path) -> None:
    with made(tmp_path, prompts(2), rates=read_rates(["x=3,1000"])) as manifest:
        work = manifest.claim(manifest.begin_worker("here"))
        assert work is not None
        told = [manifest.open_call(work["token"], f"c{n}", "x", 10, 0.0) for n in range(4)]
        assert [each["verdict"] for each in told] == ["go", "go", "go", "wait"]
        assert 50_000 < told[-1]["wait_ms"] <= 60_001
        assert manifest.open_call(work["token"], "y1", "y", 10, 0.0)["verdict"] == "go"  # another key
        manifest.execute("update calls set began_at = began_at - 61000")
        assert manifest.open_call(work["token"], "c5", "x", 2000, 0.0)["verdict"] == "go"
        assert manifest.open_call(work["token"], "c6", "x", 10, 0.0)["verdict"] == "wait"  # the tokens are used up
        manifest.call("_settle_call", id="c5", tokens=20, cost=0.0)
        assert manifest.open_call(work["token"], "c7", "x", 10, 0.0)["verdict"] == "go"


def test_rates_and_keys_are_those_of_providers() -> None:
    assert read_rates(["openai=500", "anthropic=,9000", "x=1,2"]) == [
        {"key": "openai", "requests": 500, "tokens": None},
        {"key": "anthropic", "requests": None, "tokens": 9000},
        {"key": "x", "requests": 1, "tokens": 2},
    ]
    for wrong in (["openai"], ["openai="], ["openai=0"], ["a=1", "a=2"], ["a b=1"], ["a=-1"]):
        with pytest.raises(ValidationError):
            read_rates(wrong)
    assert [key_of(name) for name in ("openai/gpt-5", "scripted:/tmp/x", "local", "ollama/a/b")] == [
        "openai", "scripted", "local", "ollama",
    ]  # fmt: skip


def test_a_worker_that_stops_lets_runs_stand(tmp_path: Path) -> None:
    slow = [{"text": THREE[0]}, {"text": THREE[2], "delay_s": 30}]
    with made(tmp_path, prompts(2), model=script(tmp_path, *slow)) as manifest:
        worker = Worker(manifest, 2, "test")
        thread = threading.Thread(target=worker.work)
        thread.start()
        while manifest.value("select count(*) from attempts") < 2:
            time.sleep(0.02)
        time.sleep(0.3)
        worker.stop()
        thread.join(60)
        assert not thread.is_alive()
        assert manifest.rows("select waiting, running, workers from fleet_status") == [
            {"waiting": 2, "running": 0, "workers": 0}
        ]
        script(tmp_path, *THREE)
        assert {(row["state"], row["turns"]) for row in worked(manifest)} <= {("done", 3), ("done", 2)}


def test_cancelled_tasks_end(tmp_path: Path) -> None:
    slow = [{"text": THREE[0]}, {"text": THREE[2], "delay_s": 60}]
    with made(tmp_path, prompts(3), model=script(tmp_path, *slow)) as manifest:
        worker = Worker(manifest, 1, "test")
        thread = threading.Thread(target=worker.work)
        thread.start()
        while not manifest.value("select count(*) from attempts"):
            time.sleep(0.02)
        done = cli(tmp_path, "fleet", "cancel", str(manifest.path))
        assert done.returncode == 0, done.stderr
        thread.join(60)
        assert not thread.is_alive()
        assert {row["state"] for row in manifest.rows("select state from task_results")} == {"cancelled"}
        assert manifest.rows("select is_over from fleet_status") == [{"is_over": 1}]


def test_what_an_earlier_attempt_has_done_is_taken(tmp_path: Path) -> None:
    """A worker that is gone had answered the prompt of one task, and had begun that of another one."""
    model = script(tmp_path, *THREE)
    with made(tmp_path, prompts(2), model=model) as manifest:
        gone = manifest.begin_worker("gone", NOBODY)
        first, second = manifest.claim(gone), manifest.claim(gone)
        assert first is not None
        assert second is not None
        (tmp_path / "out").mkdir()
        with engine.open(first["file"]) as db:
            db.run("Do 0", run="t0", model=model)
        with engine.open(second["file"]) as db:
            db.start("Do 1", run="t1", model=model)
        clear_dead(manifest)
        results = worked(manifest)
        assert [(row["state"], row["turns"], row["attempts"]) for row in results] == [("done", 3, 2), ("done", 3, 2)]
    loops = engine.analysis(tmp_path / "out").sql("select run, loops, turns from run_overview order by run")
    assert [(row["loops"], row["turns"]) for row in loops] == [(1, 3), (1, 3)]


def test_whoever_comes_too_late_changes_nothing(tmp_path: Path) -> None:
    with made(tmp_path, prompts(1)) as manifest:
        gone, here = manifest.begin_worker("gone", NOBODY), manifest.begin_worker("here")
        late = manifest.claim(gone)
        assert late is not None
        assert manifest.claim(here) is None  # it is taken
        clear_dead(manifest)
        with pytest.raises(Conflict, match="ended"):
            manifest.claim(gone)
        now = manifest.claim(here)
        assert now is not None
        assert now["number"] == 2
        with pytest.raises(Conflict, match="given up"):
            manifest.call("_end_attempt", token=late["token"], outcome="done", status=200)
        manifest.call("_end_attempt", token=now["token"], status=200, answer="yes")
        for change in (
            "update tasks set state = 'waiting'",
            "update attempts set answer = 'no'",
            "delete from attempts",
            "update attempts set ended_at = null, outcome = null",
        ):
            with pytest.raises(Conflict):
                manifest.execute(change)
        assert manifest.rows("select state, answer, attempts from task_results") == [
            {"state": "done", "answer": "yes", "attempts": 2}
        ]


def test_two_drivers_do_not_share_a_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.fleet.running._GOING_S", 0.1)
    with made(tmp_path, prompts(1)) as manifest:
        manifest.begin_worker("here")
        with pytest.raises(Conflict, match="at work on it already"):
            prepared(manifest.path)


def test_a_manifest_from_elsewhere_does_nothing(tmp_path: Path) -> None:
    with made(tmp_path, prompts(1), model=script(tmp_path, *THREE)) as manifest:
        path = manifest.path
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    assert cli(tmp_path, "fleet", "status", str(copy)).returncode == 0
    refused = cli(tmp_path, "fleet", "resume", str(copy))
    assert refused.returncode == 1
    assert "from elsewhere" in refused.stderr
    assert not (tmp_path / "out").exists()
    with pytest.raises(PermissionDenied):
        Manifest(copy)
    with Manifest(copy, trust=True) as found:
        assert found.value("select count(*) from tasks") == 1
    for change in (
        "create trigger evil after insert on workers begin delete from tasks; end",
        "drop view _next_task; create view _next_task as select 1 as task_id, 1 as number",
    ):
        shutil.copy(path, copy)
        with closing(apsw.Connection(str(copy))) as connection:
            for _ in connection.execute(change):
                pass
        for options in ({"trust": True}, {"read_only": True}):
            with pytest.raises(Conflict, match="was changed"):
                Manifest(copy, **options)
    (tmp_path / "text.db").write_text("no database " * 100)
    for wrong in (tmp_path / "text.db", tmp_path / "out.db"):
        with pytest.raises(EngineError):
            Manifest(wrong, read_only=True)
    with closing(apsw.Connection(str(tmp_path / "other.db"))) as other:
        other.execute("create table t (a)")
    with pytest.raises(ValidationError, match="is not the manifest"):
        Manifest(tmp_path / "other.db", read_only=True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "../x", "prompt": "a"}', "use letters"),
        ('{"id": "a/b", "prompt": "a"}', "use letters"),
        ('{"id": "..", "prompt": "a"}', "use letters"),
        ('{"id": 3, "prompt": "a"}', "use letters"),
        ('{"id": "a", "prompt": ""}', "is empty"),
        ('{"id": "a"}', "has no task"),
        ('{"id": "a", "prompt": "x", "eval": "y"}', "give one of"),
        ('{"id": "a", "prompt": 3}', "has to be a text"),
        ('{"id": "a", "prompt": "x", "sql": "y"}', "unknown key 'sql'"),
        ('{"id": "a", "prompt": "x", "options": {"fork": "y"}}', "option 'fork' cannot be given"),
        ('{"id": "a", "prompt": "x", "options": {"max_turns": "many"}}', "max_turns"),
        ("[1]", "has to be an object"),
        ("{", "line 2"),
        ("[" * 100_000, "line 2"),
        ('{"id": "ok", "prompt": "twice"}', "is that of another task"),
    ],
)
def test_a_mistake_in_the_tasks_is_told_with_its_line(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"id": "ok", "prompt": "x"}\n' + line + "\n")
    with pytest.raises(ValidationError, match="line 2") as refused:
        read_tasks(tmp_path / "t.jsonl", "out/{id}.db", None, {})
    assert said in str(refused.value)
    assert len(str(refused.value)) < 2_000


def test_places_of_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.jsonl").write_text('"just a prompt"\n\n{"id": "b", "prompt": "{id} {0}"}\n')
    first, second = read_tasks(Path("t.jsonl"), "out/{id}.db", "work/{id}", {})
    assert (first[0], first[3], first[4]) == ("task-1", str(tmp_path / "out/task-1.db"), str(tmp_path / "work/task-1"))
    assert json.loads(second[2])["prompt"] == "{id} {0}"
    for wrong, error in (("out.db", ValidationError), ("{id", ValidationError)):
        with pytest.raises(error):
            read_tasks(Path("t.jsonl"), wrong, None, {})
    with pytest.raises(NotFound):
        read_tasks(Path("none.jsonl"), "out/{id}.db", None, {})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "b.db").write_text("mine")
    with pytest.raises(Conflict, match="exists already"):
        expect_new([first, second])
    with made(tmp_path, prompts(1)), pytest.raises(Conflict, match="exists already"):
        made(tmp_path, prompts(1))


def test_an_error_of_ours_is_an_end_of_the_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with made(tmp_path, prompts(1), model=script(tmp_path, *THREE)) as manifest:
        manifest.execute("update failure_kinds set first_wait_ms = 1, longest_wait_ms = 1")

        @contextmanager
        def broken(*_: Any) -> Iterator[dict[str, Any]]:
            raise ZeroDivisionError("nobody's answer")
            yield {}

        monkeypatch.setattr(Attempt, "_counting", broken)
        (result,) = worked(manifest)
        assert (result["state"], result["outcome"], result["attempts"]) == ("failed", "crash", 2)
        assert "nobody's answer" in result["reason"]


def test_the_commands_tell_what_a_person_needs_next(tmp_path: Path) -> None:
    model = script(tmp_path, *THREE)
    (tmp_path / "t.jsonl").write_text(
        '{"id": "good", "prompt": "x"}\n' + json.dumps({"id": "bad", "prompt": "y", "model": "nobody/none"}) + "\n"
    )
    done = cli(tmp_path, "fleet", "run", "t.jsonl", "--files", "out/{id}.db", "--model", model, "--workers", "1")
    assert done.returncode == 1, done.stderr
    assert "1 done, 1 failed" in done.stderr
    assert "engine fleet logs t.fleet.db --failed" in done.stderr
    told = json.loads(cli(tmp_path, "fleet", "status", "t.fleet.db", "--json").stdout)
    assert (told["done"], told["failed"]) == (1, 1)
    (attempt,) = json.loads(cli(tmp_path, "fleet", "logs", "t.fleet.db", "--failed", "--json").stdout)
    assert (attempt["task"], attempt["outcome"]) == ("bad", "refused")
    lines = cli(tmp_path, "fleet", "collect", "t.fleet.db", "--jsonl").stdout.splitlines()
    assert [json.loads(each)["state"] for each in lines] == ["done", "failed"]
    assert "good" in cli(tmp_path, "fleet", "collect", "t.fleet.db", "--csv").stdout
    assert "prompt" in cli(tmp_path, "fleet", "status", "t.fleet.db", "--tasks").stdout
    again = cli(tmp_path, "fleet", "run", "t.jsonl", "--files", "out/{id}.db", "--model", model)
    assert "exists already" in again.stderr
    assert cli(tmp_path, "fleet", "cancel", "t.fleet.db", "nobody").returncode == 2
