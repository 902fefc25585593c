"""`engine status`, `engine events` and `engine tools`: what an operator asks of a file.

spec: @engine_status @engine_events @engine_tools @open_work @run_capabilities @tool_list @event_list
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from engine_cli import ENGINE, READ_AND_ANSWER, SECONDS, database, engine, environment, script

import engine as library

ASK = ["<sh>make all</sh>"]


@pytest.fixture
def waiting(folder: Path, tmp_path: Path) -> Path:
    """A folder with a run that waits for a decision on a command."""
    done = engine(folder, "run", "--run", "demo", "--model", script(tmp_path / "s.jsonl", ASK), "Build it")
    assert "waits for 1 decision" in done.stderr
    return folder


def told(folder: Path, *arguments: str) -> Any:
    done = engine(folder, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_status_tells_what_waits_for_whom_the_sizes_and_the_cost_of_today(waiting: Path) -> None:
    about = told(waiting, "status", "--json")
    (work,) = about["work"]
    assert (work["run"], work["state"], work["waits_for"], work["what"]) == ("demo", "waiting", "person", "sh make all")
    assert about["file"]["bytes"] >= database(waiting).stat().st_size
    assert about["counts"]["runs"] == 1
    assert about["today"]["answers"] == 1
    shown = engine(waiting, "status")
    assert "a decision sh make all" in shown.stdout
    assert "engine proposals demo" in shown.stderr


def test_status_of_an_idle_file_says_that_nothing_runs(folder: Path, tmp_path: Path) -> None:
    engine(folder, "run", "--model", script(tmp_path / "s.jsonl", READ_AND_ANSWER), "Which port?")
    done = engine(folder, "status")
    assert "no run is working or waiting" in done.stderr
    assert "2 turns" in done.stdout
    assert "2 answers, $0.0030" in done.stdout


def test_a_run_whose_driver_is_dead_is_stopped(waiting: Path) -> None:
    with library.open(database(waiting)) as db:
        gone = subprocess.Popen(["true"])
        gone.wait(SECONDS)
        from engine.system import identity

        dead = identity.ProcessIdentity(**{**json.loads(identity.this_process().to_json()), "pid": gone.pid})
        db.resolve("demo", accept=False)
        db.insert("_claim_lease", run="demo", token="t", holder=dead.to_json())
    (work,) = told(waiting, "status", "--json")["work"]
    assert (work["state"], work["waits_for"], work["driver"]["state"]) == ("stopped", "driver", "dead")
    assert "engine resume demo" in engine(waiting, "status").stderr


def test_capabilities_of_a_run_stand_in_one_answer(waiting: Path) -> None:
    may = told(waiting, "status", "demo", "--json")["capabilities"]
    with library.open(database(waiting)) as db:
        assert db.capabilities("demo") == may
        with pytest.raises(library.NotFound, match="no such run"):
            db.capabilities("none")
    assert may["folder"] == str(waiting)
    assert may["mode"] == "act"
    assert {"get", "set", "sh"} <= set(may["tools"])
    assert may["closed_tools"]["subtask"] == "max_depth is 0"
    assert may["limits"]["max_loop_turns"] == {"value": 99, "origin": "default"}
    assert "known" in may["writes"]
    assert "tools     " in engine(waiting, "status", "demo").stdout


def test_events_are_listed_by_type_time_run_and_place(waiting: Path) -> None:
    rows = told(waiting, "events", "--json")
    assert [row["id"] for row in rows] == list(range(1, len(rows) + 1))
    assert {row["type"] for row in told(waiting, "events", "--type", "run.[cs]*", "--json")} == {
        "run.created",
        "run.status",
    }
    assert told(waiting, "events", "--after", str(rows[-2]["id"]), "--json") == rows[-1:]
    assert told(waiting, "events", "--limit", "2", "--json") == rows[-2:]
    assert told(waiting, "events", "demo", "--since", "2h", "--json") == [row for row in rows if row["run"] == "demo"]
    assert told(waiting, "events", "--since", "2100-01-01", "--json") == []
    lines = engine(waiting, "events", "--jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert "proposal.opened" in engine(waiting, "events").stdout


@pytest.mark.parametrize("since", ["yesterday", "2026-13-01", "-1h", ""])
def test_a_time_that_is_none_is_refused(waiting: Path, since: str) -> None:
    done = engine(waiting, "events", "--since", since)
    assert done.returncode == 2
    assert "is not a time" in done.stderr


def test_events_are_exported_by_day(waiting: Path, tmp_path: Path) -> None:
    rows = told(waiting, "events", "--json")
    for _ in range(2):  # a second export replaces the files
        assert engine(waiting, "events", "--export", str(tmp_path / "audit")).returncode == 0
        files = sorted((tmp_path / "audit").iterdir())
        assert [file.name for file in files] == sorted({f"{row['day']}.jsonl" for row in rows})
        lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        assert lines == rows


def test_follow_prints_events_as_they_come(waiting: Path) -> None:
    with subprocess.Popen(
        [*ENGINE, "events", "--follow", "--jsonl"],
        cwd=waiting,
        env=environment(waiting.parent),
        stdout=subprocess.PIPE,
        text=True,
    ) as follower:
        assert follower.stdout is not None
        try:
            seen = json.loads(follower.stdout.readline())
            assert seen["id"] == 1
            engine(waiting, "runs", "label", "demo", "urgent")
            while seen["type"] != "run.described":
                seen = json.loads(follower.stdout.readline())
        finally:
            follower.terminate()


def refund(order: int) -> str:
    """Refund an order."""
    return f"refunded {order}"


def test_tools_are_listed_counted_shown_and_removed(folder: Path, tmp_path: Path) -> None:
    engine(folder, "run", "--model", script(tmp_path / "s.jsonl", READ_AND_ANSWER), "Which port?")
    with library.open(database(folder), tools=[refund]):
        pass
    (tool,) = told(folder, "tools", "list", "--source", "function", "--json")
    assert (tool["name"], tool["offered"], tool["schema"]["required"]) == ("refund", False, ["order"])
    counts = {row["source"]: row["tools"] for row in told(folder, "tools", "count", "--json")}
    assert counts["function"] == 1
    assert next(row for row in told(folder, "tools", "--json") if row["name"] == "get")["calls"] == 1
    assert "order (required)" in engine(folder, "tools", "show", "refund").stdout
    assert "did you mean refund?" in engine(folder, "tools", "show", "refnd").stderr
    assert "removed: refund" in engine(folder, "tools", "rm", "--unused").stderr
    assert told(folder, "tools", "list", "--source", "function", "--json") == []
    assert "cannot be removed" in engine(folder, "tools", "rm", "sh").stderr
    assert engine(folder, "tools", "rm", "none").returncode != 0
    with library.open(database(folder), tools=[refund]):
        pass
    assert told(folder, "tools", "list", "--source", "function", "--json") == [tool]


def test_a_tool_that_is_offered_now_is_not_removed(db: library.Database) -> None:
    from engine.tools.app_tools import AppTools

    db.use_tools(AppTools([refund]))
    db.insert("verb_set", run="demo", path="run://demo", body="go")
    db.insert("_claim_lease", run="demo", token="t", holder="{}")
    AppTools([refund]).offer(db, "demo", "t")
    assert db.value("select offered from tool_list where name = 'refund'") == 1
    with pytest.raises(library.Conflict, match="the driver of run demo offers it"):
        db.insert("verb_remove_tool", name="refund")
    db.insert("_release_lease", token="t")
    db.insert("verb_remove_tool", name="refund")
    assert db.value("select count(*) from tools where name = 'refund'") == 0
