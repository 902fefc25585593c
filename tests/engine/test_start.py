"""What a command imports, seen in a process of its own.

What the imports take in milliseconds is measured by `make bench`.

spec: @start
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import engine

LOOKS = ("runs", "show demo", "log demo", "show demo --json", "log demo --full")
HEAVY = {
    "asyncio",
    "engine.acp",
    "engine.driving",
    "engine.mcp",
    "engine.rpc",
    "httpx2",
    "jinja2",
    "lxml",
    "numpy",
    "prompt_toolkit",
    "pydantic",
    "pygments",
    "rich",
    "tomllib",
}
"""What drives, draws, serves or speaks to a model: nothing that looks at a file needs it."""

Imported = Callable[..., set[str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose file has a run with a command and words of its model."""
    folder = tmp_path_factory.mktemp("looked at")
    answers = ['"I note it. <set path=\\"known://port\\">8080</set>"', '"<update status=\\"200\\">Done.</update>"']
    (folder / "answers.jsonl").write_text("\n".join(answers) + "\n", encoding="utf-8")
    with engine.open(folder / "t.db") as db:
        db.run("Note the port", run="demo", model=f"scripted:{folder / 'answers.jsonl'}")
    return folder


def modules_of(folder: Path, words: str) -> set[str]:
    """The modules that a process has when `engine WORDS` has ended well."""
    code = (
        "import atexit, sys; atexit.register(lambda: print('imported', *sys.modules, file=sys.stderr)); "
        "from engine.start import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return set(done.stderr.rpartition("imported ")[2].split())


def test_the_version_needs_no_command_line(folder: Path) -> None:
    found = modules_of(folder, "--version")
    assert {each for each in found if each.startswith("engine")} == {"engine", "engine.start", "engine.version"}
    assert not found & {"typer", "apsw", "inspect"}


@pytest.mark.parametrize("words", LOOKS)
def test_what_looks_at_a_file_imports_nothing_that_acts(folder: Path, words: str) -> None:
    assert not modules_of(folder, f"{words} --db t.db") & HEAVY


def test_what_runs_imports_what_it_needs(folder: Path) -> None:
    """Else the list above could hold names that there are not."""
    found = modules_of(folder, "run --db t.db --run other --model scripted:answers.jsonl Go")
    assert {"engine.driving", "jinja2"} <= found & HEAVY
