"""Settings in layers: what the user, the project and the file say, and how `engine config` changes each.

1. The file wins over the project, the project over the user, the user over the default; each says where it comes from.
2. Nothing that a project says loosens anything until this user has confirmed just that.
3. A mistake in a file is one line with its place; what a person wrote stays as it is.
4. An app reads none of this unless it asks for it.

spec: @configuration @settings
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from engine_cli import READ_AND_ANSWER, database, engine, script
from every_run import every_run

import engine as library
from engine.errors import ValidationError
from engine.system import toml_files


def told(folder: Path, name: str) -> tuple[Any, str]:
    """The value and the origin of a setting."""
    (row,) = json.loads(engine(folder, "config", name, "--json").stdout)
    return row["value"], row["origin"]


def user_file(folder: Path) -> Path:
    """The user's own defaults, for commands in `folder`."""
    return folder.parent / ".config" / "engine" / "config.toml"


def test_each_layer_wins_over_those_below_and_says_where_a_value_comes_from(folder: Path) -> None:
    seen = [told(folder, "max_strikes")]
    for words in (
        ["--user", "max_strikes=4"],
        ["--project", "max_strikes=5"],
        ["max_strikes=6"],
        ["--unset", "max_strikes"],
        ["--project", "--unset", "max_strikes"],
        ["--user", "--unset", "max_strikes"],
    ):
        assert engine(folder, "config", *words).returncode == 0
        seen.append(told(folder, "max_strikes"))
    assert seen == [
        ("3", "default"), ("4", "user"), ("5", "project"), ("6", "file"), ("5", "project"), ("4", "user"), ("3", "default"),
    ]  # fmt: skip
    assert user_file(folder).stat().st_mode & 0o777 == 0o600


def test_a_run_says_what_its_prompt_and_its_own_values_are(folder: Path) -> None:
    model = script(folder.parent / "s.jsonl", READ_AND_ANSWER)
    engine(folder, "config", "--user", "max_strikes=4", f"model={model}")
    done = engine(folder, "run", "--run", "demo", "--max-turns", "7", "--temperature", "0.5", "Go")
    assert (done.returncode, model in done.stderr) == (0, True)
    rows = json.loads(engine(folder, "config", "demo", "--json").stdout)["settings"]
    found = {row["name"]: (row["value"], row["origin"]) for row in rows}
    assert found["max_loop_turns"] == ("7", "prompt")
    assert found["temperature"] == ("0.5", "run")
    assert found["max_strikes"] == ("4", "user")
    assert found["min_cycles"] == ("3", "default")
    assert "max_loop_turns    7 (prompt)" in engine(folder, "config", "demo").stdout


def test_a_change_that_does_not_count_here_is_told(folder: Path) -> None:
    engine(folder, "config", "process_timeout=99")
    for layer in ("--user", "--project"):
        done = engine(folder, "config", layer, "process_timeout=7", "min_cycles=4")
        assert "process_timeout: here it stays '99', because this file sets it" in done.stderr
        assert "'engine config process_timeout=' removes it" in done.stderr
        assert "min_cycles:" not in done.stderr
    engine(folder, "config", "process_timeout=")
    assert "because the project sets it; 'engine config --project process_timeout='" in (
        engine(folder, "config", "--user", "process_timeout=8").stderr
    )
    engine(folder, "config", "--project", "process_timeout=")
    assert "stays" not in engine(folder, "config", "--user", "process_timeout=9").stderr


def test_a_project_loosens_nothing_until_this_user_confirms_it(folder: Path) -> None:
    place = folder / "engine.toml"
    place.write_text('sandbox_memory = 0\nmodel = "scripted:evil.jsonl"\ntemperature = 1\n')
    assert told(folder, "temperature") == ("1", "project")
    assert (told(folder, "sandbox_memory"), told(folder, "model")) == (("4096", "default"), (None, "default"))
    assert "--confirm': model, sandbox_memory" in engine(folder, "config", "min_cycles=4").stderr
    assert "ignored: model, sandbox_memory" in engine(folder, "doctor").stdout
    assert engine(folder, "config", "--confirm", "sandbox_memory").returncode == 0
    assert (told(folder, "sandbox_memory"), told(folder, "model")) == (("0", "project"), (None, "default"))
    # another value, and the same in another folder, are other rights
    place.write_text("sandbox_memory = 9\n")
    assert told(folder, "sandbox_memory") == ("4096", "default")
    copy = folder.parent / "copy"
    copy.mkdir()
    (copy / "engine.toml").write_text("sandbox_memory = 0\n")
    assert told(copy, "sandbox_memory") == ("4096", "default")
    # what is in the file does not confirm itself
    with library.open(database(folder)) as db:
        db.insert("_set_layer", name="sandbox_memory", layer="project", value="9", confirmed=1)
    engine(folder, "config", "min_cycles=3")
    with library.open(database(folder), read_only=True) as db:
        assert db.value("select value from settings where name = 'sandbox_memory'") == "4096"


def test_the_settings_of_a_file_from_another_build_are_shown_as_they_are(folder: Path) -> None:
    place = every_run().put(folder)
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.executescript("drop view run_log; update engine_meta set value = '' where key = 'sources'")
    before = place.read_bytes()
    rows = json.loads(engine(folder, "config", "--db", str(place), "--json").stdout)
    found = {row["name"]: row["value"] for row in rows if row["origin"] == "file"}
    assert found == {"max_loop_turns": "40", "process_timeout": "5"}
    assert place.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("# ours\nmax_strike = 3\n", 2, "setting 'max_strike': not found"),
        ("max_strikes = 0\n", 1, "setting max_strikes: must be a whole number from 1 on, not '0'"),
        ("\nmax_strikes = 1979-05-27\n", 2, "max_strikes is of the type date"),
        ("[max_strikes]\nx = 1\n", 1, "max_strikes is a table"),
        ("max_strikes = 3\nmax_strikes = 4\n", 2, "is not TOML"),
        ("max_strikes = \n", 1, "is not TOML"),
        ("sandbox = 'off'\n", 1, "to turn the sandbox off"),
        ("x = " + "[" * 20_000, 1, "is nested too deeply"),
        ("\nmax_strikes = " + "9" * 5_000, 2, "a number has too many digits"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(folder: Path, text: str, line: int, said: str) -> None:
    place = user_file(folder)
    place.parent.mkdir(parents=True, mode=0o700)
    place.write_text(text)
    place.chmod(0o600)
    done = engine(folder, "run", "--model", "local", "Hi")
    assert done.returncode in (1, 2, 3)
    assert (done.stderr.count("\n"), said in done.stderr) == (1, True), done.stderr
    assert done.stderr.startswith(f"engine: {place}:{line}: ") or "nested" in done.stderr
    assert not database(folder).exists()


def test_files_that_others_could_write_or_that_are_links_are_refused(folder: Path) -> None:
    engine(folder, "config", "--user", "max_strikes=4")
    user_file(folder).chmod(0o666)
    assert "can be written by others" in engine(folder, "config").stderr
    user_file(folder).chmod(0o600)
    (folder / "engine.toml").symlink_to(user_file(folder))
    assert "is a symbolic link" in engine(folder, "config").stderr
    assert engine(folder, "config", "--project", "max_strikes=9").returncode == 2
    assert "max_strikes = 4" in user_file(folder).read_text()


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("", {"a": 1}, "a = 1\n"),
        ("# top\na = 1 # one\nb = 2", {"a": 'x"y\n'}, '# top\na = "x\\"y\\n"\nb = 2'),
        ("b = 2", {"a": 1.5}, "b = 2\na = 1.5\n"),
        ("a = 1\n# why\nb = 2\n", {"a": None}, "# why\nb = 2\n"),
        ('"a" = 1\n', {"a": 2}, "a = 2\n"),
        ("# top\r\na = 1\r\nb = 2", {"a": 2, "c": 3}, "# top\r\na = 2\r\nb = 2\r\nc = 3\r\n"),
    ],
)
def test_a_change_leaves_the_rest_of_a_file_as_it_is(text: str, changes: dict[str, Any], expected: str) -> None:
    assert toml_files.changed(text, Path("c.toml"), changes) == expected


def test_a_file_that_is_not_understood_is_left_to_the_person(folder: Path) -> None:
    text = 'kept_in_context = """\nmax_strikes = 3\n"""\nmax_strikes = 5\n'
    with pytest.raises(ValidationError, match="edit it by hand"):
        toml_files.changed(text, Path("c.toml"), {"max_strikes": 4})


def test_a_list_and_a_flag_are_texts(folder: Path) -> None:
    (folder / "engine.toml").write_text('kept_in_context = ["a", "b"]\nprompt_figures = true\n')
    assert told(folder, "kept_in_context") == ("a,b", "project")
    assert told(folder, "prompt_figures") == ("1", "project")


def test_an_app_reads_nothing_of_a_person_unless_it_asks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine(folder, "config", "--user", "max_strikes=4")
    engine(folder, "config", "min_cycles=5")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.parent / ".config"))
    monkeypatch.chdir(folder)
    query = "select value, origin from setting_list where name in ('max_strikes', 'min_cycles') order by name"
    with library.open(database(folder)) as db:
        assert [tuple(row.values()) for row in db.rows(query)] == [("3", "default"), ("5", "file")]
    with library.open(database(folder), config=True) as db:
        assert [tuple(row.values()) for row in db.rows(query)] == [("4", "user"), ("5", "file")]
        changes = db.value("select total_changes()")
        with library.open(database(folder), config=True) as again:
            assert again.value("select total_changes()") == 0  # nothing is written where nothing has changed
        assert db.value("select total_changes()") == changes


def test_the_command_line_makes_private_files_wherever_it_is_told_to(folder: Path) -> None:
    place = folder.parent / "elsewhere.db"
    assert engine(folder, "config", "--db", str(place), "min_cycles=4").returncode == 0
    assert place.stat().st_mode & 0o777 == 0o600
