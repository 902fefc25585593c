"""Settings by environment variables: each setting has one, and it holds above files and below prompts and runs.

spec: @environment_settings @configuration
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from engine_cli import database, engine, script

import engine as library

DONE = '<update status="200">done</update>'
TEXTS = {
    "commit": "edit",
    "core_tools": "get,update",
    "effort": "high",
    "instruction_files": "CLAUDE.md",
    "judge_fail": "closed",
    "model_options": '{"seed": 1}',
    "sandbox": "require",
    "skill_folders": "own/skills",
}
with library.open(":memory:") as _db:
    SETTINGS = _db.rows("select name, kind, value, least, most from settings order by name")


def another(row: dict[str, Any]) -> str:
    """A value of a setting that is allowed and not its default."""
    if row["kind"] == "text":
        return TEXTS.get(row["name"], "something")
    least, most = row["least"] or 0, row["most"]
    for value in (least + 1, least + 0.5, least, most):
        if value is not None and (most is None or value <= most) and (row["kind"] == "number" or value == int(value)):
            text = f"{value:g}"
            if text != row["value"]:
                return text
    raise AssertionError(row)


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row["name"])
def test_each_setting_has_a_variable(row: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"ENGINE_{row['name'].upper()}"
    monkeypatch.setenv(name, another(row))
    with library.open(":memory:", config=True) as db:
        found = db.row("select value, origin, source from setting_list where name = ?", (row["name"],))
        assert found == {"value": another(row), "origin": "env", "source": name}
        assert db.value("select value from settings where name = ?", (row["name"],)) == another(row)
    with library.open(":memory:") as db:
        assert db.value("select origin from setting_list where name = ?", (row["name"],)) == "default"


def shown(folder: Path, name: str, **env: str) -> tuple[str, str]:
    (row,) = json.loads(engine(folder, "config", name, "--json", env=env).stdout)
    return row["value"], row["origin"]


def test_it_holds_above_the_files_and_the_database(folder: Path) -> None:
    for value, layer in (("4", "--user"), ("5", "--project"), ("6", "")):
        assert engine(folder, "config", *filter(None, [layer]), f"max_strikes={value}").returncode == 0
        assert shown(folder, "max_strikes")[0] == value
        assert shown(folder, "max_strikes", ENGINE_MAX_STRIKES="7") == ("7", "env")
    assert shown(folder, "max_strikes", ENGINE_MAX_STRIKES=" ") == ("6", "file")
    told = engine(folder, "config", "max_strikes=8", env={"ENGINE_MAX_STRIKES": "7"})
    assert "max_strikes: the variable ENGINE_MAX_STRIKES says '7'" in told.stderr
    assert shown(folder, "max_strikes") == ("8", "file")


def test_a_prompt_and_a_run_say_more_than_the_environment(folder: Path, tmp_path: Path) -> None:
    go_on = ['<update status="102">on</update>'] * 9
    env = {"ENGINE_MAX_LOOP_TURNS": "2", "ENGINE_TEMPERATURE": "1"}
    run = ("run", "--model", script(tmp_path / "s.jsonl", go_on))
    assert "2 turns" in engine(folder, *run, "--run", "a", "Go", env=env).stderr
    assert "1 turn," in engine(folder, *run, "--run", "b", "--max-turns", "1", "Go", env=env).stderr
    engine(folder, "config", "b", "temperature=0.5", env=env)
    with library.open(database(folder), read_only=True) as db:
        rows = dict(db.tuples("select name, origin from run_settings where run = 'b'"))
    assert (rows["max_loop_turns"], rows["temperature"]) == ("prompt", "run")


@pytest.mark.parametrize(("said", "stored"), [("true", "1"), ("False", "0"), ("1", "1")])
def test_true_and_false_are_1_and_0(folder: Path, said: str, stored: str) -> None:
    assert shown(folder, "prompt_figures", ENGINE_PROMPT_FIGURES=said) == (stored, "env")


def test_a_value_that_is_none_names_the_variable_and_nothing_is_done(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", [DONE])
    done = engine(folder, "run", "--model", model, "Go", env={"ENGINE_MAX_STRIKES": "many"})
    assert done.returncode == 2
    assert "ENGINE_MAX_STRIKES: setting max_strikes: must be a whole number" in done.stderr
    assert not database(folder).exists()


def test_the_environment_of_one_process_is_not_that_of_the_next(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", [DONE] * 3)
    engine(folder, "run", "--run", "demo", "--model", model, "Go", env={"ENGINE_MAX_STRIKES": "7"})
    with library.open(database(folder), read_only=True) as db:
        assert db.value("select value from settings where name = 'max_strikes'") == "7"
    engine(folder, "run", "--run", "demo", "Go")
    with library.open(database(folder), read_only=True) as db:
        assert db.value("select value from settings where name = 'max_strikes'") == "3"
        assert db.value("select count(*) from setting_layers where layer = 'env'") == 0


def test_what_a_driver_was_told_holds_while_it_drives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "agent.db"
    with library.open(path) as db:
        db.insert("verb_set", run="demo", path="run://demo", body="go")
    monkeypatch.setenv("ENGINE_MAX_STRIKES", "7")
    with library.open(path, config=True) as driver:
        driver.insert("_claim_lease", run="demo", token="t", holder="{}")
    monkeypatch.delenv("ENGINE_MAX_STRIKES")
    monkeypatch.setenv("ENGINE_MAX_JOBS", "9")
    query = "select name, value from setting_layers where layer = 'env' order by name"
    with library.open(path, config=True) as other:
        assert other.tuples(query) == [("max_jobs", "9"), ("max_strikes", "7")]
        other.insert("_release_lease", token="t")
    with library.open(path, config=True) as later:
        assert later.tuples(query) == [("max_jobs", "9")]


def test_an_app_that_sets_what_the_environment_says_is_kept_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_MAX_STRIKES", "7")
    with library.open(":memory:", config=True) as db:
        db.execute("update settings set value = '5' where name = 'max_strikes'")
        assert db.value("select value from settings where name = 'max_strikes'") == "7"
        db.insert("_unset_layer", name="max_strikes", layer="env")
        assert db.value("select value from settings where name = 'max_strikes'") == "5"


def test_a_setting_s_variable_names_no_model(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", [DONE])
    env = {"ENGINE_MODEL_TIMEOUT": "9", "ENGINE_MODEL_FAST": model, "ENGINE_CONTEXT_LENGTH": "5000"}
    rows = json.loads(engine(folder, "models", "--json", env=env).stdout)
    names = {row["alias"] for row in rows}
    assert "fast" in names
    assert "timeout" not in names
    assert shown(folder, "model_timeout", **env) == ("9", "env")
    assert shown(folder, "context_length", **env) == ("5000", "env")


def test_the_model_of_the_environment_wins_over_the_file_and_not_over_the_run(folder: Path, tmp_path: Path) -> None:
    mine, other = (script(tmp_path / f"{name}.jsonl", [DONE] * 3) for name in ("mine", "other"))
    engine(folder, "config", f"model={other}")
    engine(folder, "run", "--run", "demo", "Go", env={"ENGINE_MODEL": mine})
    engine(folder, "run", "--run", "demo", "Go", env={"ENGINE_MODEL": other})
    with library.open(database(folder), read_only=True) as db:
        assert db.tuples("select model from loop_list order by loop") == [(mine,), (mine,)]


def test_no_sandbox_is_said_by_the_environment_and_never_stands_in_a_file(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", [DONE])
    done = engine(folder, "run", "--model", model, "Go", env={"ENGINE_SANDBOX": "off"})
    assert done.returncode == 0, done.stderr
    with library.open(database(folder), read_only=True) as db:
        assert db.value("select value from settings where name = 'sandbox'") == "auto"
        assert db.value("select count(*) from setting_layers where layer = 'env'") == 0


def test_a_slip_in_a_variable_is_told(folder: Path) -> None:
    env = {"ENGINE_MAX_LOOP_TURN": "3", "ENGINE_DEBUG": "", "ENGINE_MODEL_TURNS": "x/y"}
    for words in (("config",), ("doctor",)):
        done = engine(folder, *words, env=env)
        said = done.stdout + done.stderr
        assert "ENGINE_MAX_LOOP_TURN" in said
        assert "ENGINE_MAX_LOOP_TURNS?" in said
        assert "ENGINE_MODEL_TURNS" not in said


def test_demo_mode_is_switched_on_by_the_environment(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", [DONE])
    engine(folder, "run", "--run", "demo", "--model", model, "Pay Acme")
    env = {"ENGINE_DEMO": "1", "ENGINE_DEMO_NAMES": "Acme"}
    assert "Acme" not in engine(folder, "runs", env=env).stdout
    assert "Acme" in engine(folder, "runs", env={**env, "ENGINE_DEMO": "0"}).stdout
