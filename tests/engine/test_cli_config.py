"""`engine config`: the settings of the file, and what can be changed of a run.

spec: @settings
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine_cli import READ_AND_ANSWER, database, engine, on_terminal, script


def settings(folder: Path, *names: str) -> dict[str, Any]:
    """The rows of `engine config --json`, by name."""
    return {row["name"]: row for row in json.loads(engine(folder, "config", *names, "--json").stdout)}


def test_settings_are_listed_with_value_default_and_meaning_and_no_file_is_made(folder: Path) -> None:
    told = settings(folder)["process_timeout"]
    assert (told["value"], told["default"], told["is_set"]) == ("45", "45", 0)
    assert "seconds after which a shell command is stopped" in engine(folder, "config", "--all").stdout
    assert not (folder / ".engine").exists()


def test_a_setting_is_set_shown_and_given_its_default_again(folder: Path) -> None:
    done = engine(folder, "config", "process_timeout=90", "max_strikes=5")
    assert done.returncode == 0
    assert [line.split()[:3] for line in done.stdout.splitlines()[1:]] == [
        ["max_strikes", "5", "3"],
        ["process_timeout", "90", "45"],
    ]
    assert engine(folder, "config", "process_timeout=").returncode == 0
    assert {name: row["is_set"] for name, row in settings(folder, "process_timeout").items()} == {"process_timeout": 0}
    assert settings(folder)["max_strikes"]["is_set"] == 1


def test_several_settings_are_shown_and_a_slip_is_told(folder: Path) -> None:
    assert set(settings(folder, "process_timeout", "max_strikes")) == {"process_timeout", "max_strikes"}
    slip = engine(folder, "config", "process_timeout", "120")
    assert slip.returncode == 2
    assert "a change is one word, as in process_timeout=120" in " ".join(slip.stderr.split())


def test_at_a_terminal_settings_are_described_at_its_width(folder: Path) -> None:
    engine(folder, "config", "process_timeout=120")
    code, said = on_terminal(folder, "config", columns=60, NO_COLOR="1")
    engine(folder, "config", "--unset", "process_timeout")
    assert code == 0
    lines = [line.rstrip() for line in said.splitlines()]
    assert max(map(len, lines)) <= 60
    place = lines.index("process_timeout = 120  (file; default 45)")
    assert lines[place + 1] == "    seconds after which a shell command is stopped"


def test_a_setting_is_made_empty_where_that_is_allowed(folder: Path) -> None:
    assert engine(folder, "config", "--empty", "delegated_condense_ratio").returncode == 0
    assert settings(folder)["delegated_condense_ratio"]["value"] is None
    assert "cannot be empty" in engine(folder, "config", "--empty", "max_strikes").stderr
    assert engine(folder, "config", "delegated_condense_ratio=").returncode == 0
    assert settings(folder)["delegated_condense_ratio"]["is_set"] == 0


def test_no_value_takes_back_what_a_user_said(folder: Path) -> None:
    own = folder.parent / ".config" / "engine" / "config.toml"
    assert engine(folder, "config", "--user", "max_strikes=5", "--empty", "instruction_files").returncode == 0
    assert own.read_text() == 'max_strikes = 5\ninstruction_files = ""\n'
    assert engine(folder, "config", "--user", "max_strikes=", "nope=").returncode == 2
    told = engine(folder, "config", "--user", "max_strikes=", "instruction_files=", "--json")
    assert (own.read_text(), [row["origin"] for row in json.loads(told.stdout)]) == ("", ["default", "default"])


REFUSED = (
    (["max_strike=4"], "did you mean max_strikes?"),
    (["max_strikes=0"], "must be a whole number from 1 on, not '0'"),
    (["max_strikes=4", "process_timeout=soon"], "process_timeout"),
    (["nobody", "model=local"], "no such run"),
    (["persona=nope"], "'nope' not found; the personas are "),
    (["--unset", "nope"], "not found"),
    (["nope="], "not found"),
    (["--empty", "max_strikes"], "max_strikes: cannot be empty"),
    (["max_strikes=4", "--unset", "max_strikes"], "max_strikes cannot be set and unset at the same time"),
    (["instruction_files=A.md", "--empty", "instruction_files"], "cannot be set and emptied at the same time"),
    (["max_strikes", "4"], "max_strikes=4"),
)


def test_a_change_that_is_refused_changes_nothing(folder: Path) -> None:
    for words, told in REFUSED:
        done = engine(folder, "config", *words)
        assert (done.returncode, told in done.stderr) == (2, True), (words, done.stderr)
        assert not database(folder).exists(), words
    engine(folder, "config", "min_cycles=4")
    before = settings(folder)
    assert [name for name, row in before.items() if row["is_set"]] == ["min_cycles"]
    for words, _ in REFUSED:
        assert engine(folder, "config", *words).returncode == 2, words
        assert settings(folder) == before, words


def test_a_model_that_lacks_its_key_is_kept_and_that_is_said(folder: Path) -> None:
    done = engine(folder, "config", "model=openai/gpt-5")
    assert (done.returncode, "OPENAI_API_KEY" in done.stderr) == (0, True)
    assert settings(folder)["model"]["value"] == "openai/gpt-5"


def test_a_run_has_values_of_its_own(folder: Path, tmp_path: Path) -> None:
    engine(folder, "run", "--model", script(tmp_path / "s.jsonl", READ_AND_ANSWER), "--run", "demo", "Go")
    assert engine(folder, "config", "demo", "temperature=0.5", "context_limit=4096").returncode == 0
    told = json.loads(engine(folder, "config", "demo", "--json").stdout)
    assert (told["temperature"], told["context_limit"]) == (0.5, 4096)
    for words in (["demo", "temperature=hot"], ["demo", "temprature=1"], ["demo", "temperature="]):
        assert engine(folder, "config", *words).returncode == 2
    assert json.loads(engine(folder, "config", "demo", "--json").stdout) == told


def test_what_differs_from_the_default_is_listed_and_all_on_demand(folder: Path) -> None:
    assert "every setting has its default value" in engine(folder, "config").stderr
    engine(folder, "config", "process_timeout=90")
    lines = engine(folder, "config").stdout.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["process_timeout", "90"]]
    assert "'engine config --all' lists every setting" in engine(folder, "config").stderr
    assert len(engine(folder, "config", "--all").stdout.splitlines()) > 40
    assert len(json.loads(engine(folder, "config", "--json").stdout)) > 40
    assert engine(folder, "config", "accept_attempts").stdout.splitlines()[1].startswith("accept_attempts")
