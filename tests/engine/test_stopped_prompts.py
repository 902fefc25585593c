"""What stops a prompt names its goal and how to go on; more turns or seconds go on with it.

1. The reason, in Python, in views and at the terminal. 2. Going on: the same prompt, in the same run, with its options and
another limit. 3. Where no limit has stopped it, that is refused. 4. A child's result says it to the parent.

spec: @stopped_prompts @verdict @clock_limit @delegation_ends
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from delegating import Cast, gives
from driving import DONE, GO_ON, Clock, script
from engine_cli import engine as command
from engine_cli import script as command_script
from fresh import fresh

import engine

GOAL = "make the tests pass"


def acts(*numbers: int) -> list[str]:
    """Answers that go on, each another one."""
    return [f'<set path="known://a{number}">x</set>{GO_ON}' for number in numbers]


# 1. the reason


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        (f"\n  {GOAL}\nand then report", GOAL),
        ("word " * 40, ("word " * 40)[:59].rstrip() + "…"),
        ("a\tb\u2028c", "a b"),
    ],
)
def test_the_reason_names_the_goal_in_a_line(db: engine.Database, tmp_path: Path, prompt: str, told: str) -> None:
    result = db.run(prompt, run="demo", model=script(tmp_path, *acts(1, 2, 3)), max_turns=2)
    assert (result.status, result.reason) == (499, f'stopped at the limit of 2 turns; "{told}" is not done')
    assert db.value("select reason from loop_list where run = 'demo'") == result.reason


def test_seconds_and_errors_name_it_too(tmp_path: Path) -> None:
    clock = Clock(step=40_000)
    with fresh(clock=clock) as db:
        late = db.run(GOAL, model=script(tmp_path, *acts(*range(9))), max_seconds=60)
    assert late.reason == f'stopped at the limit of 60 seconds; "{GOAL}" is not done'
    with fresh() as db:
        failed = db.run(GOAL, run="demo", model=script(tmp_path, *[""] * 9))
        stopped = db.row("select stopped_by, used from stopped_prompts")
    assert failed.reason is not None
    assert failed.reason.endswith(f'; "{GOAL}" is not done')
    assert stopped == {"stopped_by": "strikes", "used": failed.turns}


def test_the_terminal_names_a_command_that_goes_on(folder: Path, tmp_path: Path) -> None:
    model = command_script(tmp_path / "s.jsonl", [*acts(1, 2, 3), DONE])
    place = tmp_path / "elsewhere.db"
    given = ["--db", str(place), "--run", "demo", "--no-repo"]
    done = command(folder, "run", *given, "--model", model, "--max-turns", "2", GOAL)
    assert done.returncode == 4
    *_, told, how = done.stderr.splitlines()
    assert told.startswith(f'demo: stopped at the limit of 2 turns; "{GOAL}" is not done (2 turns, ')
    assert how == f"Continue: engine resume --db {place} demo --max-turns 4"
    bare = command(folder, "resume", "--db", str(place), "demo")
    assert (bare.returncode, bare.stderr.splitlines()[-1]) == (7, how)
    again = command(folder, *how.removeprefix("Continue: engine ").split())
    assert (again.returncode, again.stdout) == (0, "Done.\n"), again.stderr


def test_a_rejection_names_a_command_that_goes_on(folder: Path, tmp_path: Path) -> None:
    model = command_script(tmp_path / "s.jsonl", ["<sh>true</sh>", DONE])
    command(folder, "run", "--run", "demo", "--model", model, GOAL)
    done = command(folder, "reject", "demo", "--continue")
    how = 'Continue: engine run --run demo "what to do differently"'
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, how)
    assert command(folder, "run", "--run", "demo", "differently").returncode == 0


# 2. going on


def test_more_turns_go_on_where_it_stands_with_its_options(db: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, *acts(1, 2, 3), DONE)
    db.run(GOAL, run="demo", model=model, max_turns=2, mode="ask", no_web=True)
    result = db.resume("demo", max_turns=5)
    assert (result.status, result.answer, result.turns) == (200, "Done.", 2)
    first, second = db.rows("select prompt, mode, status from loop_list order by loop")
    assert (first["status"], second["status"]) == (499, 200)
    assert {key: first[key] for key in ("prompt", "mode")} == {key: second[key] for key in ("prompt", "mode")}
    config = json.loads(db.value("select config from loops where sequence = 2"))
    assert config == {"max_turns": 5, "no_web": 1}
    assert "known://a1" in db.value("select body from packet_texts where turn = 3 and role = 'user'")


def test_more_seconds_go_on(tmp_path: Path) -> None:
    clock = Clock(step=40_000)
    with fresh(clock=clock) as db:
        db.run(GOAL, run="demo", model=script(tmp_path, *acts(1, 2, 3), *[DONE] * 9), max_seconds=60)
        more = db.value("select more from stopped_prompts")
        clock.step = 1
        assert (more, db.resume("demo", max_seconds=more).status) == (120, 200)


# 3. refusals


def test_only_what_a_limit_has_stopped_takes_another_one(db: engine.Database, tmp_path: Path) -> None:
    with pytest.raises(engine.NotFound, match="404 run 'nobody'"):
        db.resume("nobody", max_turns=3)
    db.run("Go", run="done", model=script(tmp_path, DONE))
    with pytest.raises(engine.Conflict, match="409 run done: no limit stopped its latest prompt; give it"):
        db.resume("done", max_turns=3)
    db.run("Go", run="waits", model=script(tmp_path, "<sh>ls</sh>"), root=tmp_path)
    with pytest.raises(engine.Conflict, match="resume the run without a new limit"):
        db.resume("waits", max_seconds=3)
    db.abort("waits")
    with pytest.raises(engine.Conflict, match="409 run waits: no limit stopped its latest prompt"):
        db.resume("waits", max_turns=3)
    db.run("Go", run="stopped", model=script(tmp_path, *acts(1, 2)), max_turns=1)
    with pytest.raises(engine.ValidationError, match="max_turns"):
        db.resume("stopped", max_turns=0)


# 4. children


def test_a_parent_reads_what_stopped_its_child_and_how_to_go_on(db: engine.Database) -> None:
    db.execute("update settings set value = '2' where name = 'max_loop_turns'")
    cast = Cast({"demo": [gives(GOAL), DONE], "demo-1": acts(1, 2, 3)})
    assert db.run("Go", run="demo", model=cast, max_depth=1).status == 200
    report = db.value("select body from run_log where run = 'demo' and action = 'subtask'")
    assert report.startswith("demo-1 ended at 499 after 2 turns.")
    assert report.endswith(f'\nstopped at the limit of 2 turns; "{GOAL}" is not done')
    assert "do the rest yourself, or delegate it to another <subtask>." in report
    assert "→ 499" in db.value("select body from known_entries where path glob 'subtask://*/log'")
