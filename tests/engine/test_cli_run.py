"""`engine run`: stdout is the answer, stderr the progress, the exit code the status."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from audit import audit
from engine_cli import EDIT_AND_RUN, READ_AND_ANSWER, database, engine, engine_process, script

import engine as library


@pytest.fixture
def reading(tmp_path: Path) -> str:
    return script(tmp_path / "reading.jsonl", READ_AND_ANSWER)


def test_only_the_answer_is_on_stdout(folder: Path, reading: str) -> None:
    done = engine_process(folder, "run", "--model", reading, "--run", "demo", "Which port?")
    assert (done.returncode, done.stdout) == (0, "The port is 8080.\n")


def test_progress_tells_turns_commands_tokens_and_cost(folder: Path, reading: str) -> None:
    lines = engine(folder, "run", "--model", reading, "--run", "demo", "Which port?").stderr.splitlines()
    assert any(line.startswith("[1]") and "tokens used" in line and line.endswith("free") for line in lines)
    assert any(line.startswith("[2]") and "free, $0.0010" in line for line in lines)
    assert "[1] get notes.md" in lines
    assert "[2] update" in lines
    assert "The port is 8080." not in "".join(lines), "the answer is on stdout"
    assert lines[-1] == "demo: done (2 turns, 900 + 20 tokens, $0.0030)"


def test_an_answer_after_which_the_run_went_on_is_told(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "two.jsonl", ['<update status="200">One.</update>', '<update status="200">Two.</update>'])
    done = engine(
        folder,
        "run",
        "--yolo",
        "--no-repo",
        "--model",
        model,
        "--accept-command",
        "mkdir once && false",
        "--accept-attempts",
        "2",
        "Go",
    )
    lines = done.stderr.splitlines()
    assert [line.strip() for line in lines if "One." in line] == ["One."]
    assert "Two." not in done.stderr
    assert done.stdout == "Two.\n"


def test_an_answer_of_which_nobody_said_that_it_was_at_its_end_is_told(folder: Path, tmp_path: Path) -> None:
    said = "it may be cut off"
    for name, answer, is_told in (
        ("open", {"text": "The port is 80", "finish_reason": "incomplete"}, True),
        ("closed", {"text": '<update status="200">8080</update>', "finish_reason": "incomplete"}, False),
        ("ended", "The port is 8080.", False),
    ):
        done = engine(
            folder, "run", "--model", script(tmp_path / f"{name}.jsonl", [answer]), "--run", name, "Which port?"
        )
        assert (done.returncode, said in done.stderr) == (0, is_told), name
        assert (said in engine(folder, "log", name).stdout) == is_told, name


def test_json_is_one_object_with_status_answer_usage_and_cost(folder: Path, reading: str) -> None:
    done = engine(folder, "run", "--json", "--model", reading, "--run", "demo", "Which port?")
    result = json.loads(done.stdout)
    assert result["run"] == "demo"
    assert (result["status"], result["answer"], result["turns"]) == (200, "The port is 8080.", 2)
    assert (result["usage"]["prompt_tokens"], result["cost"]) == (900, 0.003)


def test_an_unknown_price_is_unknown_on_every_screen(folder: Path) -> None:
    model = script(folder / "free.jsonl", ['<think>hm</think><update status="102">on</update>', "That is it."])
    lines = engine(folder, "run", "--model", model, "--run", "demo", "Which port?").stderr.splitlines()
    assert any(line.startswith("[2]") and line.endswith("free, price unknown") for line in lines)
    assert lines[-1] == "demo: done (2 turns, 0 + 0 tokens, price unknown)"
    for words in (["runs"], ["show", "demo"], ["log", "demo"]):
        assert not re.search(r"\$|\b0\.0", engine(folder, *words).stdout), words
    (row,) = json.loads(engine(folder, "runs", "--json").stdout)
    assert row["cost"] is None
    shown = json.loads(engine(folder, "show", "demo", "--json").stdout)
    assert (shown["cost"], [turn["cost"] for turn in shown["timeline"]]) == (None, [None, None])
    again = engine(folder, "run", "--json", "--model", model, "--run", "more", "Which port?")
    assert json.loads(again.stdout)["cost"] is None


def test_a_dash_reads_the_prompt_from_stdin(folder: Path, reading: str) -> None:
    assert engine(folder, "run", "--model", reading, "--run", "demo", "-", stdin="Which port?\n").returncode == 0
    rows = json.loads(engine(folder, "sql", "--json", "select prompt from loop_list").stdout)
    assert rows == [{"prompt": "Which port?\n"}]


def test_the_first_run_makes_a_private_folder_that_git_ignores(folder: Path, reading: str) -> None:
    engine(folder, "run", "--model", reading, "Which port?")
    made = folder / ".engine"
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert (made / ".gitignore").read_text() == "*\n"
    assert database(folder).is_file()


def test_a_folder_below_uses_the_database_above(folder: Path, reading: str) -> None:
    engine(folder, "run", "--model", reading, "--run", "above", "Which port?")
    assert engine(folder / "src", "run", "--model", reading, "--run", "below", "Which port?").returncode == 0
    assert not (folder / "src" / ".engine").exists()
    runs = json.loads(engine(folder / "src", "runs", "--json").stdout)
    assert [run["run"] for run in runs] == ["below", "above"]


def test_db_names_another_file(folder: Path, tmp_path: Path, reading: str) -> None:
    assert engine(folder, "run", "--db", "../other.db", "--model", reading, "Which port?").returncode == 0
    assert not (folder / ".engine").exists()
    assert "The port is 8080." in engine(folder, "runs", "--db", str(tmp_path / "other.db")).stdout
    audit(tmp_path / "other.db")


def test_the_path_of_a_script_is_kept_absolute(folder: Path) -> None:
    script(folder / "answers.jsonl", READ_AND_ANSWER)
    engine(folder, "run", "--model", "scripted:answers.jsonl", "--run", "demo", "Which port?")
    told = json.loads(engine(folder, "config", "demo", "--json").stdout)
    assert told["model"] == f"scripted:{folder / 'answers.jsonl'}"


def test_a_named_run_goes_on_with_the_next_answer(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "two.jsonl", ['<update status="200">One.</update>', '<update status="200">Two.</update>'])
    assert engine(folder, "run", "--model", model, "--run", "demo", "First").stdout == "One.\n"
    assert engine(folder, "run", "--run", "demo", "Second").stdout == "Two.\n"


def test_a_run_keeps_its_folder(folder: Path, tmp_path: Path, reading: str) -> None:
    engine(folder, "run", "--model", reading, "--run", "demo", "Which port?")
    done = engine(folder, "run", "--run", "demo", "--root", str(tmp_path), "And now?")
    assert done.returncode == 1
    assert "the folder of a run cannot change" in done.stderr


def test_ask_mode_and_flags_reach_the_prompt(folder: Path, reading: str) -> None:
    flags = ["--ask", "--no-repo", "--no-web", "--no-interaction", "--no-proposals", "--max-turns", "7"]
    engine(folder, "run", *flags, "--model", reading, "--run", "demo", "Which port?")
    with library.open(database(folder)) as db:
        loop = db.row("select mode, config from loops")
    assert loop is not None
    assert loop["mode"] == "ask"
    assert json.loads(loop["config"]) == {
        "no_repo": 1, "no_web": 1, "no_interaction": 1, "no_proposals": 1, "max_turns": 7
    }  # fmt: skip


def test_temperature_persona_and_context_limit_belong_to_the_run(folder: Path, reading: str) -> None:
    given = ["--temperature", "0.7", "--persona", "reviewer", "--context-limit", "20000"]
    engine(folder, "run", *given, "--model", reading, "--run", "demo", "Which port?")
    told = json.loads(engine(folder, "config", "demo", "--json").stdout)
    assert (told["temperature"], told["persona"], told["context_limit"]) == (0.7, "reviewer", 20000)


def test_fork_starts_from_a_turn_of_another_run(folder: Path, tmp_path: Path, reading: str) -> None:
    engine(folder, "run", "--model", reading, "--run", "demo", "Which port?")
    model = script(tmp_path / "child.jsonl", ['<update status="200">Child.</update>'])
    done = engine(folder, "run", "--fork", "demo@2", "--run", "child", "--model", model, "Say child")
    assert (done.returncode, done.stdout) == (0, "Child.\n")
    timeline = json.loads(engine(folder, "show", "child", "--json").stdout)["timeline"]
    assert [turn["turn"] for turn in timeline] == [2]


@pytest.mark.parametrize("point", ["nope", "demo@9", "demo@x", "@1"])
def test_a_fork_of_nothing_is_refused(folder: Path, reading: str, point: str) -> None:
    engine(folder, "run", "--model", reading, "--run", "demo", "Which port?")
    done = engine(folder, "run", "--fork", point, "--run", "child", "--model", reading, "Go")
    assert done.returncode == 2
    assert "child" not in engine(folder, "runs").stdout


def test_yolo_accepts_edits_and_commands(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "edit.jsonl", EDIT_AND_RUN)
    done = engine(folder, "run", "--yolo", "--model", model, "Change it")
    assert (done.returncode, done.stdout) == (0, "Changed.\n")
    assert "The port is 9090." in (folder / "notes.md").read_text()
    assert (folder / "marker").read_text() == "done\n"


ENDINGS: list[tuple[int, list[str | Mapping[str, Any]]]] = [
    (0, ['<update status="204">Nothing to do.</update>']),
    (3, ['<update status="422">Impossible.</update>']),
    (1, [{"error": {"status": 500, "message": "broke"}}]),
    (1, [{"error": {"status": 401, "message": "wrong key"}}]),
    (
        4,
        [{"text": '<get path="none.md"><update status="102">again</update>'}] * 4
        + ['<update status="102"></update>'] * 9,
    ),
    (5, [{"error": {"status": 413, "message": "too long"}}] * 3),
]


@pytest.mark.parametrize(("code", "answers"), ENDINGS, ids=["204", "422", "500", "401", "499", "413"])
def test_the_exit_code_tells_how_the_prompt_ended(
    folder: Path, tmp_path: Path, code: int, answers: list[str | Mapping[str, Any]]
) -> None:
    done = engine(folder, "run", "--model", script(tmp_path / "s.jsonl", answers), "Try")
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_no_colour_without_a_terminal(folder: Path, reading: str) -> None:
    done = engine(folder, "run", "--model", reading, "Which port?", env={"TERM": "xterm-256color"})
    assert "\x1b" not in done.stdout + done.stderr


def test_a_folder_with_too_many_files_is_refused_and_resumed_when_some_are_left_out(folder: Path, reading: str) -> None:
    engine(folder, "files", "add", "nothing")
    with library.open(database(folder)) as db:
        db.execute("update settings set value = '3' where name = 'scan_max_files'")
    done = engine(folder, "run", "--model", reading, "--run", "demo", "Which port?")
    assert done.returncode == 5
    assert "engine files ignore PATTERN" in done.stderr
    assert "engine resume demo" in done.stderr
    engine(folder, "files", "ignore", "src", "*.bin")
    assert engine(folder, "resume").stdout == "The port is 8080.\n"
