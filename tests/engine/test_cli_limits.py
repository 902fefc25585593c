"""Limits of a prompt, as a person sets them with `engine run` and is told of them.

1. Options with values that make no sense are refused before anything is written.
2. Each limit ends its prompt with exit code 4, and the last line says which one it was.
3. What went wrong on the way is told, live, in `engine log` and in `engine show`; the model is not told of a cycle.

spec: @surfaces @step_budget @clock_limit @cycle_detection @repeated_commands @strikes
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON
from engine_cli import database, engine, script

import engine as library


def run(folder: Path, answers: list[object], *options: str) -> subprocess.CompletedProcess[str]:
    model = script(folder.parent / "answers.jsonl", answers)  # type: ignore[arg-type]
    return engine(folder, "run", "--yolo", "--run", "demo", "--model", model, *options, "Go")


def last(done: subprocess.CompletedProcess[str]) -> str:
    """The line of the result; behind it may stand how to go on."""
    return [line for line in done.stderr.splitlines() if not line.startswith("Continue: ")][-1]


# 1. options


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--max-seconds", "-1"),
        ("--max-seconds", "soon"),
        ("--max-seconds", "nan"),
        ("--max-seconds", "inf"),
        ("--condense-ratio", "7"),
        ("--condense-ratio", "x"),
        ("--condense-ratio", "-0.1"),
        ("--max-turns", "0"),
        ("--max-turns", "2.5"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(folder: Path, option: str, value: str) -> None:
    done = run(folder, [DONE], option, value)
    assert done.returncode == 2
    assert option.removeprefix("--").replace("-", "_") in done.stderr.replace("-", "_")
    assert not database(folder).exists()


def test_options_are_those_of_the_prompt(folder: Path) -> None:
    assert run(folder, [DONE], "--max-turns", "5", "--max-seconds", "60", "--condense-ratio", "0.75").returncode == 0
    with library.open(database(folder)) as db:
        config = db.value("select config from loops")
        assert config == '{"max_turns":5,"max_seconds":60.0,"condense_ratio":0.75,"yolo":1}'


@pytest.mark.parametrize("option", [{"max_seconds": -1}, {"condense_ratio": 7}, {"max_turns": 0}])
def test_python_is_refused_with_400_and_leaves_nothing(db: library.Database, option: dict[str, Any]) -> None:
    with pytest.raises(library.ValidationError, match=f"{next(iter(option))} must be a (whole )?number from"):
        db.run("Go", model="scripted:none", **option)
    assert db.row("select (select count(*) from runs) as runs, (select count(*) from loops) as loops") == {
        "runs": 0,
        "loops": 0,
    }


def test_a_temperature_of_zero_is_one(db: library.Database, tmp_path: Path) -> None:
    db.run("Go", model=script(tmp_path / "a.jsonl", [DONE]), temperature=0)
    assert db.value("select temperature from runs") == 0


# 2. limits


def test_the_clock_ends_a_slow_model(folder: Path) -> None:
    done = run(folder, [{"text": DONE, "delay_s": 300}], "--max-seconds", "3")
    assert done.returncode == 4
    assert "timeout  error - model " in done.stderr
    assert last(done).startswith('demo: stopped at the limit of 3 seconds; "Go" is not done (1 turn, ')


def test_the_clock_ends_a_process(folder: Path) -> None:
    done = run(folder, [f"<sh>sleep 300</sh>{GO_ON}", DONE], "--max-seconds", "3")
    assert done.returncode == 4
    assert "timeout  sh sleep 300 - stopped after the time-out" in done.stderr
    assert "stopped at the limit of 3 seconds" in last(done)


def test_the_clock_leaves_a_decision_open_and_what_is_accepted_is_done(folder: Path) -> None:
    model = script(folder.parent / "a.jsonl", [f"<sh>echo hi > hi</sh>{GO_ON}", DONE])
    waits = engine(folder, "run", "--run", "demo", "--model", model, "--max-seconds", "60", "Go")
    assert waits.returncode == 6
    with library.open(database(folder)) as db:
        db.execute("update loops set started_at = started_at - 100000")
    assert engine(folder, "resume", "demo").returncode == 6, "it goes on waiting"
    done = engine(folder, "accept", "demo", "--continue")
    assert done.returncode == 4
    assert "stopped at the limit of 60 seconds" in last(done)
    assert (folder / "hi").exists()


def test_the_last_turn_ends_the_prompt(folder: Path) -> None:
    done = run(folder, [f"<think>{number}</think>{GO_ON}" for number in range(4)], "--max-turns", "3")
    assert (done.returncode, done.stdout) == (4, "")
    assert last(done).startswith('demo: stopped at the limit of 3 turns; "Go" is not done (3 turns, ')


# 3. what is told


@pytest.mark.parametrize("period", [1, 2, 3, 4])
def test_a_cycle_is_told_to_the_person_alone(folder: Path, period: int) -> None:
    done = run(folder, [f"<think>{number % period}</think>{GO_ON}" for number in range(20)])
    assert done.returncode == 4
    what = "turn" if period == 1 else f"{period} turns"
    assert f'demo: stopped: the same {what} over and over; "Go" is not done ({3 * period + 2} turns, ' in last(done)
    strikes = [line for line in done.stderr.splitlines() if "strike" in line]
    assert [line.split("]")[1].strip() for line in strikes] == [
        f"strike {number} of 3: it does what the turns before it did" for number in (1, 2, 3)
    ]
    with library.open(database(folder)) as db:
        assert db.value("select count(*) from turn_errors") == 0
        assert db.value("select count(*) from packet_texts where role = 'user' and body like '%strike%'") == 0
    assert "strikes" in engine(folder, "show", "demo").stdout


def test_a_command_line_that_is_repeated_is_refused_and_told(folder: Path) -> None:
    answers: list[object] = [f"<env>{line}</env>{GO_ON}" for line in ("echo a", "echo a ", "\necho a\n")]
    done = run(folder, [*answers, DONE])
    assert done.returncode == 0
    assert done.stderr.count("] env echo a") == 2
    assert "[3] conflict  env echo a - Refused: this loop ran it twice already" in done.stderr
    assert "Refused: this loop ran it twice already" in engine(folder, "log", "demo").stdout


def test_how_often_a_command_line_may_run_is_a_setting(folder: Path) -> None:
    assert engine(folder, "files", "add", "nothing").returncode == 0
    answers: list[object] = [f"<think>{number}</think><env>echo a</env>{GO_ON}" for number in range(5)]
    for most, ran in (("1", 1), ("0", 5)):
        with library.open(database(folder)) as db:
            db.execute("update settings set value = ? where name = 'max_repeated_commands'", (most,))
        model = script(folder.parent / f"answers{most}.jsonl", [*answers, DONE])  # type: ignore[list-item]
        done = engine(folder, "run", "--yolo", "--run", f"demo{most}", "--model", model, "Go")
        assert done.stderr.count("] env echo a") == ran
