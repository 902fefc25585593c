"""`engine files`, `models`, `doctor`: what belongs to a project, which models there are, what is missing.

spec: @file_constraints
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from engine_cli import READ_AND_ANSWER, engine, script

WRITE = [
    '<set path="src/main.py">x = 1\n</set><update status="102">written</update>',
    '<update status="200">End.</update>',
]


def listed(folder: Path) -> dict[str, str | None]:
    """The files that `engine files` lists, each with its constraint."""
    told = json.loads(engine(folder, "files", "--json").stdout)
    return {row["path"]: row["constraint"] for row in told["files"]}


# --- files


def test_files_lists_a_folder_without_a_database_and_makes_none(folder: Path) -> None:
    assert list(listed(folder)) == ["logo.bin", "notes.md", "settings.ini", "src/main.py", "src/util.py"]
    assert engine(folder, "files").stdout.splitlines()[0].split() == ["bytes", "constraint", "path"]
    assert not (folder / ".engine").exists()


def test_patterns_add_protect_hide_and_are_removed(folder: Path) -> None:
    (folder / ".env.example").write_text("A=1\n", encoding="utf-8")
    assert engine(folder, "files", "add", ".env.example").returncode == 0
    assert engine(folder, "files", "readonly", "src").returncode == 0
    assert engine(folder, "files", "ignore", "*.bin").returncode == 0
    assert listed(folder) == {
        ".env.example": "add", "notes.md": None, "settings.ini": None, "src/main.py": "readonly", "src/util.py": "readonly"
    }  # fmt: skip
    assert "readonly  src/**" in engine(folder, "files").stderr
    assert engine(folder, "files", "rm", "src", "*.bin", ".env.example").returncode == 0
    assert set(listed(folder).values()) == {None}
    assert "logo.bin" in listed(folder)


def test_a_readonly_folder_is_not_written_even_with_yolo(folder: Path, tmp_path: Path) -> None:
    engine(folder, "files", "readonly", "src")
    before = (folder / "src" / "main.py").read_text()
    engine(folder, "run", "--yolo", "--model", script(tmp_path / "s.jsonl", WRITE), "Write")
    assert (folder / "src" / "main.py").read_text() == before


def test_a_file_that_no_get_finds_is_not_to_be_read_first(folder: Path, tmp_path: Path) -> None:
    """Of one that a person or git ignores the model was told to read it again, which it cannot."""
    engine(folder, "files", "ignore", "notes.md")
    model = script(tmp_path / "s.jsonl", ['<get path="notes.md"/>', '<set path="notes.md">x</set>', *WRITE])
    assert "not found  get notes.md" in engine(folder, "run", "--yolo", "--run", "demo", "--model", model, "Go").stderr
    told = next(row["body"] for row in json.loads(engine(folder, "log", "--json").stdout) if row["status"] == 409)
    assert "outside the project ('engine files add notes.md'): write to another path" in told


def test_an_ignored_file_is_not_in_the_manifest(folder: Path, tmp_path: Path) -> None:
    engine(folder, "files", "ignore", "settings.ini")
    engine(folder, "run", "--model", script(tmp_path / "s.jsonl", READ_AND_ANSWER), "Read")
    assert "settings.ini" not in engine(folder, "packet", "--role", "user").stdout


@pytest.mark.parametrize("pattern", ["./src/main.py", "src//main.py", "src/../src/main.py", "{root}/src/main.py"])
def test_a_file_is_protected_however_it_is_written(folder: Path, tmp_path: Path, pattern: str) -> None:
    pattern = pattern.format(root=folder)
    assert "readonly: src/main.py" in engine(folder, "files", "readonly", pattern).stderr
    assert listed(folder)["src/main.py"] == "readonly"
    before = (folder / "src" / "main.py").read_text()
    engine(folder, "run", "--yolo", "--model", script(tmp_path / "s.jsonl", WRITE), "Write")
    assert (folder / "src" / "main.py").read_text() == before
    assert engine(folder, "files", "rm", pattern).returncode == 0
    assert listed(folder)["src/main.py"] is None


def test_a_folder_is_named_by_its_slash_or_by_what_is_on_disk(folder: Path) -> None:
    engine(folder, "files", "readonly", f"{folder}/src", "./later/")
    told = json.loads(engine(folder, "files", "--json").stdout)["constraints"]
    assert [row["pattern"] for row in told] == ["later/**", "src/**"]


@pytest.mark.parametrize("pattern", ["../x", "/etc/*", "", ".", "a/../../b"])
def test_a_pattern_that_leads_out_of_the_folder_is_refused(folder: Path, pattern: str) -> None:
    assert engine(folder, "files", "add", pattern).returncode == 2
    assert not (folder / ".engine").exists()


def test_removing_a_pattern_that_is_not_there_removes_none(folder: Path) -> None:
    engine(folder, "files", "add", "a")
    assert engine(folder, "files", "rm", "a", "b").returncode == 2
    assert json.loads(engine(folder, "files", "--json").stdout)["constraints"] == [{"pattern": "a", "rule": "add"}]


# --- models


def models(folder: Path, **env: str) -> dict[str, dict[str, object]]:
    """The rows of `engine models`, by alias."""
    return {row["alias"]: row for row in json.loads(engine(folder, "models", "--json", env=env).stdout)}


def test_models_of_the_environment_are_listed_with_what_they_lack_and_no_file_is_made(folder: Path) -> None:
    names = {"ENGINE_MODEL_fast": "openai/gpt-5-mini", "ENGINE_CONTEXT_fast": "100000"}
    without = models(folder, **names)
    assert (without["fast"]["usable"], without["fast"]["context_length"]) == ("no", 100000)
    assert "OPENAI_API_KEY" in str(without["fast"]["hint"])
    assert "engine models install local" in str(without["local"]["hint"]) or "pip install" in str(
        without["local"]["hint"]
    )
    assert not (folder / ".engine").exists()


def test_a_key_is_never_shown(folder: Path) -> None:
    env = {"ENGINE_MODEL_fast": "openai/gpt-5-mini", "OPENAI_API_KEY": "sk-secret-figure"}
    for command in (["models"], ["models", "--json"], ["doctor"], ["doctor", "--json"]):
        done = engine(folder, *command, env=env)
        assert "sk-secret-figure" not in done.stdout + done.stderr
    assert "OPENAI_API_KEY" in engine(folder, "doctor", env=env).stdout


def test_an_alias_is_added_used_and_removed(folder: Path) -> None:
    script(folder / "answers.jsonl", READ_AND_ANSWER)
    assert engine(folder, "models", "add", "demo", "scripted:answers.jsonl", "--context", "9000").returncode == 0
    row = models(folder)["demo"]
    assert (row["actual"], row["context_length"]) == (f"scripted:{folder / 'answers.jsonl'}", 9000)
    assert engine(folder, "run", "--model", "demo", "Which port?").stdout == "The port is 8080.\n"
    assert engine(folder, "models", "rm", "demo").returncode == 0
    assert "demo" not in models(folder)


def test_an_alias_calls_tools_natively_until_it_is_added_without(folder: Path) -> None:
    engine(folder, "models", "add", "fast", "openai/gpt-5-mini", "--native")
    assert models(folder)["fast"]["tool_calling"] == "native"
    engine(folder, "models", "add", "fast", "openai/gpt-5-mini")
    assert models(folder)["fast"]["tool_calling"] == "xml"
    assert models(folder, ENGINE_MODEL_x="openai/y", ENGINE_TOOLS_x="native")["x"]["tool_calling"] == "native"
    assert models(folder, ENGINE_MODEL_x="openai/y", ENGINE_EFFORT_x="high")["x"]["effort"] == "high"


def test_an_alias_without_its_key_is_kept_and_what_it_lacks_is_said(folder: Path) -> None:
    done = engine(folder, "models", "add", "smart", "anthropic/claude")
    assert done.returncode == 0
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert f"for the runs of {folder}/.engine/engine.db; --user makes it hold for all your runs" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["add", "x", "nonsense"], 2),
        (["add", "x", "scripted:none.jsonl"], 2),
        (["add", " ", "local"], 2),
        (["install", "gpt"], 2),
        (["rm", "nope"], 2),
        (["rm", "local"], 1),
    ],
)
def test_a_model_that_cannot_be_is_refused(folder: Path, arguments: list[str], code: int) -> None:
    engine(folder, "files", "add", "x")
    done = engine(folder, "models", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert list(models(folder)) == ["local"]


# --- doctor


def test_doctor_tells_versions_extras_keys_and_what_is_missing(folder: Path) -> None:
    done = engine(folder, "doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert {"engine", "python", "sqlite", "extra models", "extra local", "local weights", "keys", "git", "bash"} <= set(
        checks
    )
    extras = {name.removeprefix("extra ") for name in checks if name.startswith("extra ")}
    declared = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert extras == declared.keys() - {"dev"}
    assert checks["local weights"] == {
        "name": "local weights", "state": "optional", "detail": "not here", "fix": "engine models install local"
    }  # fmt: skip
    assert checks["default model"]["state"] == "missing"
    assert done.returncode == 1
    assert not (folder / ".engine").exists()


def test_doctor_is_content_where_a_prompt_can_run(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", READ_AND_ANSWER)
    done = engine(folder, "doctor", env={"ENGINE_MODEL": model})
    assert done.returncode == 0, done.stdout


def test_doctor_names_a_database_that_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "no.db").write_text("not a database", encoding="utf-8")
    done = engine(folder, "doctor", "--db", str(tmp_path / "no.db"), env={"ENGINE_MODEL": "local"})
    assert done.returncode == 1
    assert "is not a database" in done.stdout
