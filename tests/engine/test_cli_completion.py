"""Completion of runs, models, settings and paths: in a real bash, and by the protocol that its script speaks.

spec: @completion
"""

from __future__ import annotations

import contextlib
import io
import os
import pty
import select
import shlex
import shutil
import time
from pathlib import Path
from unittest.mock import patch

import pytest
from engine_cli import ENGINE, SECONDS, database, engine, environment, script

import engine as library
from engine.cli.main import complete

ANSWERS = [
    '<set path="known://plan">go</set><set path="known://$(touch pwned) x">b</set><update status="102">on</update>',
    '<update status="200">Done.</update>',
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `demo` and `other`, and entries of which one would be a command in a shell."""
    root = tmp_path_factory.mktemp("completion") / "folder"
    root.mkdir()
    for run in ("demo", "other"):
        model = script(root.parent / f"{run}.jsonl", ANSWERS)
        done = engine(root, "run", "--model", model, "--run", run, "Go")
        assert done.returncode == 0, done.stderr
    return root


def offered(folder: Path, *words: str, shell: str = "bash") -> list[str]:
    """What is offered for the last of these words, which are parted as bash parts them."""
    variables = {"_ENGINE_COMPLETE": f"complete_{shell}", "COMP_WORDS": "\n".join(("engine", *words))}
    variables = environment(
        folder.parent, COMP_CWORD=str(len(words)), _TYPER_COMPLETE_ARGS=" ".join(words), **variables
    )
    said, told = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        patch.dict(os.environ, variables, clear=True),
        patch("sys.argv", ["engine"]),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(told),
    ):
        assert complete() == 0
    assert told.getvalue() == ""
    return said.getvalue().splitlines()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["show", ""], ["other", "demo"]),
        (["show", "de"], ["demo"]),
        (["run", "--model", "lo"], ["local"]),
        (["run", "--model", "xai/"], ["xai/grok-4"]),
        (["config", "min_"], ["min_cycles="]),
        (["context", "demo", "known://p"], ["known://plan"]),
        (["context", "demo", "known", ":", "//p"], ["//plan"]),
        (["entry", "set", "de"], ["demo"]),
        (["context", "--at", ""], ["2", "1"]),
        (["log", "demo", "--turn", ""], ["2", "1"]),
        (["entry", "rm", "demo", "known://x", "known://p"], ["known://plan"]),
        (["entry", "cp", "demo", "known://x", "known://p"], ["known://plan"]),
        (["context", "demo", "known://%"], [r"known://%24\(touch%20pwned\)%20x"]),
    ],
)
def test_what_is_typed_is_completed(told: Path, words: list[str], found: list[str]) -> None:
    assert offered(told, *words) == found


def test_nothing_is_offered_without_a_database_or_with_a_damaged_one(tmp_path: Path) -> None:
    assert offered(tmp_path, "show", "") == []
    (tmp_path / ".engine").mkdir()
    database(tmp_path).write_bytes(os.urandom(5_000))
    assert offered(tmp_path, "show", "") == []
    assert offered(tmp_path, "context", "demo", "") == []


def test_other_shells_get_only_names_that_are_one_word(told: Path) -> None:
    assert "pwned" not in "".join(offered(told, "context", "demo", "known://", shell="fish"))


def test_a_file_with_other_rules_is_completed_without_a_word(folder: Path, tmp_path: Path) -> None:
    engine(folder, "run", "--model", script(tmp_path / "s.jsonl", ANSWERS), "--run", "demo", "Go")
    with library.open(database(folder)) as db:
        db.execute("drop view run_overview")
    assert offered(folder, "show", "") == ["demo"]
    with library.open(database(folder)):
        pass  # which mends it


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_a_run_and_a_path_and_runs_nothing(told: Path, tmp_path: Path) -> None:
    command = tmp_path / "bin" / "engine"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.join(ENGINE)} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    variables = environment(told.parent, TERM="dumb", PS1="> ")
    variables["PATH"] = f"{command.parent}:{variables['PATH']}"
    process, side = pty.fork()
    if not process:
        os.chdir(told)
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], variables)
    try:
        _type(side, 'eval "$(_ENGINE_COMPLETE=source_bash engine)"; echo re""ady\n', "ready")
        _type(side, "engine context de\t", "demo ")
        _type(side, "known://pl\t", "known://plan ")
        _type(side, "\n", "go")
        _type(side, "engine context demo known://%\t", r"known://%24\(touch%20pwned\)%20x ")
        _type(side, "\n", "\nb")
    finally:
        os.close(side)
        os.waitpid(process, 0)
    assert not (told / "pwned").exists()


def _type(side: int, text: str, expected: str) -> None:
    """Type `text` and wait until `expected` is on the screen."""
    os.write(side, text.encode())
    said = ""
    deadline = time.monotonic() + SECONDS
    while expected not in said:
        assert time.monotonic() < deadline, f"{expected!r} did not come, but {said!r}"
        if select.select([side], [], [], 0.1)[0]:
            said += os.read(side, 4096).decode(errors="replace")


def test_skills_and_personas_are_offered(told: Path) -> None:
    with library.open(database(told)) as db:
        of = {"scope": "global", "kind": "file", "origin": "added", "source": "x", "made_of": "x", "added_by": "test"}
        db.insert("verb_write_skill", name="release", description="Releases.", body="Do it.", files="{}", **of)
    assert offered(told, "skills", "show", "re") == ["release"]
    assert offered(told, "run", "--persona", "rev") == ["reviewer"]
