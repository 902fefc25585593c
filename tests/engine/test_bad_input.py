"""Bad input, as a person meets it: each gives a clear error and changes nothing."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from engine_cli import ENGINE, READ_AND_ANSWER, database, engine, run_command, script
from sandboxed import require_sandbox

import engine as library


@pytest.fixture
def reading(tmp_path: Path) -> str:
    return script(tmp_path / "reading.jsonl", READ_AND_ANSWER)


def contents(folder: Path) -> dict[str, bytes]:
    """All files beneath a folder, but for the engine's own and its cache."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not {".engine", "cache"}.intersection(path.parts)
    }


def without_power(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`engine` in a process that permissions hold for, which they do not for root."""
    prefix = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may read and write everything, and there is no setpriv")
        prefix = [
            "setpriv",
            "--bounding-set=-dac_override,-dac_read_search",
            "--inh-caps=-dac_override,-dac_read_search",
        ]
    return run_command(folder, *prefix, *ENGINE, *arguments)


def assert_refused(done: subprocess.CompletedProcess[str], code: int, *said: str) -> None:
    """The command failed with `code` and one line on stderr that holds what it should."""
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("engine: ")
    for text in said:
        assert text in done.stderr


# --- the command line


def test_a_long_argument_is_not_repeated_whole(folder: Path) -> None:
    done = engine(folder, "run", "--model", "x" * 100_000, "Hi")
    assert done.returncode == 2
    assert len(done.stderr) < 3_000
    assert "'engine models' lists the aliases" in done.stderr


@pytest.mark.parametrize("before", [("",), ("--",), ("run", "Hi", ""), ("config", "--")], ids=" ".join)
def test_an_error_of_usage_repeats_no_long_argument_and_obeys_none(folder: Path, before: tuple[str, ...]) -> None:
    """No such command, no such option, one word too many, no option of a command."""
    done = engine(folder, *before[:-1], before[-1] + "\x1b[2J\u202e" + "x" * 100_000)
    assert done.returncode == 2
    assert len(done.stderr) < 3_000
    assert "\\x1b[2J" in done.stderr
    assert not {"\x1b", "\u202e"} & set(done.stderr)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("statis",), "did you mean 'engine status'?"),
        (("sessions",), "did you mean 'engine runs'?"),
        (("RUN", "Hi"), "did you mean 'engine run'?"),
        (("tools", "lst"), "did you mean 'engine tools list'?"),
        (("tools", "qqq"), "the commands are list, count, show, rm"),
        (("qqq",), "'engine help --all' lists all commands"),
        (("fix the bug",), 'engine run "…"'),
    ],
)
def test_a_command_that_there_is_not_names_what_may_be_meant(folder: Path, words: tuple[str, ...], meant: str) -> None:
    done = engine(folder, *words)
    assert done.returncode == 2
    assert meant in done.stderr


def test_a_refused_command_leaves_no_new_file(workspace_dir: Path) -> None:
    for words in (("skills", "add", "/nope"), ("run", "--model", "nope", "Hi"), ("files", "add", "../x")):
        assert engine(workspace_dir, *words).returncode == 2
        assert not (workspace_dir / ".engine").exists()
    (workspace_dir / ".engine").mkdir()
    (workspace_dir / ".engine" / "mine").touch()
    assert engine(workspace_dir, "skills", "add", "/nope").returncode == 2
    assert [each.name for each in (workspace_dir / ".engine").iterdir()] == ["mine"]


@pytest.mark.parametrize("prompt", ["", "  \n\t ", "-"])
def test_an_empty_prompt_is_refused_and_makes_no_database(folder: Path, reading: str, prompt: str) -> None:
    assert_refused(engine(folder, "run", "--model", reading, prompt), 2, "prompt is empty")
    assert not (folder / ".engine").exists()


@pytest.mark.parametrize(("given", "kept"), [("caf\udce9?", "caf\ufffd?"), ("a\0b", "a\ufffdb")])
def test_a_prompt_that_is_no_clean_text_is_taken_as_far_as_it_is(
    folder: Path, reading: str, given: str, kept: str
) -> None:
    done = engine(folder, "run", "--model", reading, "--run", "demo", "-", stdin=given)
    assert (done.returncode, done.stdout) == (0, "The port is 8080.\n")
    assert json.loads(engine(folder, "sql", "--json", "select prompt from loop_list").stdout) == [{"prompt": kept}]


def test_another_text_that_is_not_unicode_is_refused(folder: Path, reading: str) -> None:
    engine(folder, "run", "--model", reading, "--run", "demo", "Go")
    assert_refused(engine(folder, "accept", "demo", "log://a\udce9"), 2, "is not UTF-8")


def test_a_folder_that_is_not_there_is_refused(folder: Path, reading: str) -> None:
    done = engine(folder, "run", "--root", "none", "--model", reading, "Go")
    assert_refused(done, 2, "no such folder", "none")
    assert not (folder / ".engine").exists()


def test_a_root_that_is_a_file_is_refused(folder: Path, reading: str) -> None:
    done = engine(folder, "run", "--root", "notes.md", "--model", reading, "Go")
    assert_refused(done, 2, "not a folder", "notes.md")
    assert not (folder / ".engine").exists()


def test_a_root_that_may_not_be_read_is_refused(folder: Path, reading: str) -> None:
    (folder / "src").chmod(0)
    done = without_power(folder, "run", "--root", "src", "--model", reading, "Go")
    (folder / "src").chmod(0o700)
    assert_refused(done, 1, "cannot read the folder", "src")


@pytest.mark.parametrize("model", ["nope", "nope/model", "scripted:", "replay:nothing", "openai/"])
def test_an_unknown_model_is_refused(folder: Path, model: str) -> None:
    assert_refused(engine(folder, "run", "--model", model, "Go"), 2, "model")
    assert not (folder / ".engine").exists()


def test_a_missing_key_is_named(folder: Path) -> None:
    assert_refused(engine(folder, "run", "--model", "anthropic/claude", "Go"), 1, "ANTHROPIC_API_KEY")
    assert not (folder / ".engine").exists()


def test_without_any_model_it_says_how_to_get_one(folder: Path) -> None:
    assert_refused(engine(folder, "run", "Go"), 2, "engine models install local", "OPENAI_API_KEY")


def test_a_refused_prompt_leaves_an_existing_run_as_it_was(folder: Path, reading: str) -> None:
    engine(folder, "run", "--model", reading, "--run", "demo", "Go")
    before = engine(folder, "sql", "--json", "select * from loops join runs").stdout
    assert_refused(engine(folder, "run", "--run", "demo", "--model", "nope", "Again"), 2, "nope")
    assert_refused(engine(folder, "run", "--run", "demo", "--persona", "reviewer", "Again"), 1, "persona")
    assert engine(folder, "sql", "--json", "select * from loops join runs").stdout == before


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_keeps_no_prompt_from_its_answer(folder: Path, reading: str, closed: str) -> None:
    command = shlex.join([*ENGINE, "run", "--model", reading, "--run", "demo", "Go"])
    done = run_command(folder, "bash", "-c", f"{command} {closed}")
    assert (done.returncode, done.stdout) == (0, "" if closed == ">&-" else "The port is 8080.\n"), done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    command = f"mkdir gone && cd gone && rmdir ../gone && {shlex.join([*ENGINE, 'runs'])}"
    done = run_command(tmp_path, "bash", "-c", command)
    assert_refused(done, 2, "the current folder no longer exists")


def test_a_folder_that_cannot_be_written_is_told_with_the_way_round(folder: Path, reading: str) -> None:
    folder.chmod(0o555)
    try:
        assert_refused(without_power(folder, "run", "--model", reading, "Go"), 1, "Permission denied", "--db PATH")
    finally:
        folder.chmod(0o755)


def test_no_writable_folder_for_temporary_files_is_told(folder: Path) -> None:
    require_sandbox()
    done = run_command(folder, "bwrap", "--ro-bind", "/", "/", *ENGINE, "doctor", "--json")
    sandbox = next(check for check in json.loads(done.stdout) if check["name"] == "sandbox")
    assert (sandbox["state"], sandbox["detail"]) == (
        "missing", "no folder for temporary files is writable; set TMPDIR to a writable folder"
    )  # fmt: skip


# --- scripts


def test_a_script_that_is_not_there_is_refused(folder: Path) -> None:
    assert_refused(engine(folder, "run", "--model", "scripted:none.jsonl", "Go"), 2, "none.jsonl")
    assert not (folder / ".engine").exists()


def test_a_broken_script_fails_the_prompt_and_says_where(folder: Path, tmp_path: Path) -> None:
    before = contents(folder)
    for text in ("not json\n", '{"txet": "x"}\n', "[1]\n", '{"usage": {"tokens": 1}}\n', '"\xff"\n', ""):
        (tmp_path / "s.jsonl").write_bytes(text.encode("latin-1"))
        done = engine(folder, "run", "--model", f"scripted:{tmp_path / 's.jsonl'}", "Go")
        assert (done.returncode, done.stdout) == (1, ""), text
        assert ": failed: " in done.stderr, text
        assert "s.jsonl" in done.stderr.splitlines()[-1], text
        assert contents(folder) == before, text


# --- files


def told(folder: Path, tmp_path: Path, path: str, **how: Any) -> str:
    """What the model is told when it gets `path`, in a run that ends well."""
    answers: list[str | Mapping[str, Any]] = [
        f'<get path="{path}"/><update status="102">reading</update>',
        '<update status="200">Done.</update>',
        '<update status="200">Done.</update>',
    ]
    run = without_power if how.get("powerless") else engine
    done = run(folder, "run", "--model", script(tmp_path / "s.jsonl", answers), "--run", "demo", "Read")
    assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
    log = engine(folder, "log", "demo", "--turn", "1").stdout
    lines = log.splitlines()
    return next(" ".join(lines[place : place + 2]) for place, line in enumerate(lines) if " get " in line)


def test_an_unreadable_file_is_told_to_the_model(folder: Path, tmp_path: Path) -> None:
    (folder / "notes.md").chmod(0)
    line = told(folder, tmp_path, "notes.md", powerless=True)
    (folder / "notes.md").chmod(0o600)
    assert "cannot be read" in line


def test_a_binary_file_is_told_to_the_model(folder: Path, tmp_path: Path) -> None:
    assert "is a binary file" in told(folder, tmp_path, "logo.bin")


def test_a_file_of_50_mb_is_listed_and_not_taken_in(folder: Path, tmp_path: Path) -> None:
    with (folder / "huge.log").open("wb") as file:
        file.write(b"a line of a log\n" * 3_276_800)
    assert "too many to read whole" in told(folder, tmp_path, "huge.log")
    assert database(folder).stat().st_size < 5_000_000


# --- paths that lead out of the root


@pytest.fixture
def outside(folder: Path) -> Path:
    """A folder beside the root whose name begins like the root's, with a file that is to stay as it is."""
    beside = folder.parent / f"{folder.name}-two"
    beside.mkdir()
    (beside / "secret.txt").write_text("secret word: Zwetschge\n", encoding="utf-8")
    (folder / "link").symlink_to(beside)
    (folder / "link.txt").symlink_to(beside / "secret.txt")
    return beside


WAYS_OUT = [
    "../workspace-two/secret.txt",
    "{outside}/secret.txt",
    "link/secret.txt",
    "link.txt",
    "src/../../workspace-two/secret.txt",
]
DEEDS = [
    '<set path="{path}">taken over\n</set>',
    '<set path="{path}"><<APPEND\nmore\nAPPEND</set>',
    '<rm path="{path}"/>',
    '<mv path="notes.md" to="{path}"/>',
    '<cp path="notes.md" to="{path}"/>',
    '<get path="{path}"/>',
    '<cp path="{path}" to="stolen.txt"/>',
]


@pytest.mark.parametrize("way", WAYS_OUT)
def test_no_path_of_a_model_leads_out_of_the_root(folder: Path, tmp_path: Path, outside: Path, way: str) -> None:
    path = way.format(outside=outside)
    end = '<update status="200">End.</update>'
    for number, deed in enumerate(DEEDS):
        # a link inside the root may itself be removed or replaced; what it leads to may not
        before = {name: data for name, data in contents(folder.parent).items() if "link" not in name}
        answers = [f'{deed.format(path=path)}<update status="102">done</update>', *[end] * 3]
        model = script(folder.parent / f"link-{number}.jsonl", answers)
        engine(folder, "run", "--yolo", "--model", model, "--run", f"demo-{number}", "Do it")
        after = {name: data for name, data in contents(folder.parent).items() if "link" not in name}
        assert after == before, deed
    with library.open(database(folder), read_only=True) as db:
        assert db.value("select count(distinct run) from packet_texts") == len(DEEDS)
        assert db.rows("select run from packet_texts where body like '%Zwetschge%'") == []


@pytest.mark.parametrize("name", [".git/config", ".engine/engine.db", ".GIT/hooks/x"])
def test_the_folders_of_git_and_engine_are_not_written(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("[core]\n", encoding="utf-8")
    before = contents(folder)
    answers = [
        f'<set path="{name}">mine</set><update status="102">done</update>',
        *['<update status="200">End.</update>'] * 3,
    ]
    engine(folder, "run", "--yolo", "--model", script(tmp_path / "s.jsonl", answers), "Do it")
    assert contents(folder) == before


# --- databases


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A sound engine file with one run, in a folder of its own."""
    (tmp_path / "theirs").mkdir()
    path = tmp_path / "theirs" / "agent.db"
    with library.open(path) as db:
        db.insert("verb_set", run="demo", path="run://demo", body="hello", attributes='{"model":"m"}')
        db.execute("pragma wal_checkpoint(truncate)")
    return path


def assert_database_refused(folder: Path, path: Path, model: str, said: str) -> None:
    """Neither running nor looking touches the file; both say why."""
    before = path.read_bytes()
    for command in (["run", "--model", model, "Go"], ["runs"], ["sql", "select 1"]):
        done = engine(folder, command[0], "--db", str(path), *command[1:])
        assert_refused(done, 1, str(path), said)
    assert path.read_bytes() == before
    assert [other.name for other in path.parent.iterdir()] == [path.name]


def test_the_database_of_another_application_is_left_alone(folder: Path, theirs: Path, reading: str) -> None:
    path = theirs.with_name("other.db")
    theirs.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("create table mine (a); insert into mine values (1);")
    assert_database_refused(folder, path, reading, "another application")


def test_a_text_file_is_no_database(folder: Path, theirs: Path, reading: str) -> None:
    theirs.write_text("these are notes, and long enough to be a header of a database\n" * 3, encoding="utf-8")
    assert_database_refused(folder, theirs, reading, "is not a database")


def test_the_database_of_a_newer_engine_is_looked_at_and_left_alone(folder: Path, theirs: Path, reading: str) -> None:
    with closing(sqlite3.connect(theirs)) as connection:
        connection.execute("pragma user_version = 99")
        connection.execute("pragma wal_checkpoint(truncate)")
    before = theirs.read_bytes()
    assert_refused(engine(folder, "run", "--db", str(theirs), "--model", reading, "Go"), 1, str(theirs), "newer engine")
    for command in (["runs"], ["sql", "select alias from runs"]):
        done = engine(folder, *command, "--db", str(theirs))
        assert (done.returncode, "demo" in done.stdout) == (0, True)
        assert len(done.stderr.splitlines()) == 1
        assert "newer engine (version 99, this one knows" in done.stderr
    assert theirs.read_bytes() == before
    assert [other.name for other in theirs.parent.iterdir()] == [theirs.name]


def test_a_truncated_database_is_left_alone(folder: Path, theirs: Path, reading: str) -> None:
    os.truncate(theirs, 20_000)
    assert_database_refused(folder, theirs, reading, "is damaged")


def test_a_folder_is_no_database(folder: Path, reading: str) -> None:
    assert_refused(engine(folder, "run", "--db", "src", "--model", reading, "Go"), 1, "is a folder")


def test_a_database_in_no_folder_is_refused(folder: Path, reading: str) -> None:
    done = engine(folder, "run", "--db", "none/agent.db", "--model", reading, "Go")
    assert_refused(done, 2, "no such folder")
    assert not (folder / "none").exists()


def test_a_read_only_database_is_looked_at_and_not_written(folder: Path, theirs: Path, reading: str) -> None:
    theirs.chmod(0o444)
    before = theirs.read_bytes()
    assert_refused(without_power(folder, "run", "--db", str(theirs), "--model", reading, "Go"), 1, "cannot be written")
    shown = without_power(folder, "runs", "--db", str(theirs))
    assert shown.returncode == 0, shown.stderr
    assert "demo" in shown.stdout
    models = without_power(folder, "models", "--db", str(theirs))
    assert (models.returncode, "local" in models.stdout) == (0, True), models.stderr
    written = without_power(folder, "entry", "set", "demo", "known://x", "y", "--db", str(theirs))
    assert_refused(written, 1, "cannot be written")
    assert theirs.read_bytes() == before


def test_a_locked_database_is_refused(
    folder: Path, theirs: Path, reading: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BUSY_TIMEOUT_MS", "OPENING_TIMEOUT_MS"):
        monkeypatch.setattr(f"engine.db.connections.{name}", 100)
    # by apsw: locks of two SQLite libraries in one process do not see each other
    with closing(apsw.Connection(str(theirs))) as connection:
        connection.execute("begin immediate")
        done = engine(folder, "run", "--db", str(theirs), "--model", reading, "Go")
        connection.execute("rollback")
    assert_refused(done, 1, "is locked by another process")
    assert len(engine(folder, "runs", "--db", str(theirs)).stdout.splitlines()) == 2
