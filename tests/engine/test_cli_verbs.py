"""`engine entry get`, `set`, `rm`, `cp` and `mv`: what a run knows is looked at and corrected, files included.

spec: @terminal_verbs
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from audit import audit
from engine_cli import ENGINE, SECONDS, database, engine, environment, on_terminal, script
from fresh import stays_open
from timing import wait_until

import engine as library

KNOWN = [
    '<get path="notes.md"/><set path="known://plan">first\nsecond</set><set path="known://draft">x</set>'
    '<update status="102">on</update>',
    '<update status="200">Done.</update>',
]


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A folder in which the run `demo` read notes.md and keeps two entries."""
    root = tmp_path / "folder"
    (root / "src").mkdir(parents=True)
    (root / "notes.md").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (root / "src" / "a.py").write_text("x = 1\n", encoding="utf-8")
    (root / "logo.bin").write_bytes(b"\0\1")
    (root / ".env").write_text("KEY=1\n", encoding="utf-8")
    with stays_open(database(root)):
        done = engine(root, "run", "--model", script(tmp_path / "s.jsonl", KNOWN), "--run", "demo", "Go")
        assert done.returncode == 0, done.stderr
        yield root
    audit(database(root))


def told(folder: Path, *arguments: str, stdin: str = "") -> str:
    """What a command that succeeds prints."""
    done = engine(folder, *arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_get_prints_the_text_to_the_byte_and_changes_nothing(root: Path) -> None:
    before = database(root).read_bytes()
    assert told(root, "entry", "get", "demo", "known://plan") == "first\nsecond"
    assert told(root, "entry", "get", "demo", str(root / "notes.md"), "--line", "-2") == "two\nthree\n"
    assert told(root, "entry", "get", "demo", "notes.md", "--line", "2", "--limit", "1") == "two\n"
    assert told(root, "entry", "get", "demo", "src/a.py") == "x = 1\n"
    listed = told(root, "entry", "get", "demo", "**").splitlines()
    assert [line.split()[-1] for line in listed] == ["path", "logo.bin", "notes.md", "src/a.py"]
    (row,) = json.loads(told(root, "entry", "get", "demo", "notes.md", "--line", "3", "--json"))
    assert (row["body"], row["first"], row["last"], row["visibility"]) == ("three\n", 3, 3, "visible")
    assert database(root).read_bytes() == before


def test_get_changes_what_the_run_sees_where_it_is_told_to(root: Path) -> None:
    assert told(root, "entry", "get", "demo", "src/a.py", "--visible") == "x = 1\n"
    assert " visible " in told(root, "entry", "get", "demo", "src/*")
    told(root, "entry", "get", "demo", "known://**", "--archived")
    seen = json.loads(told(root, "entry", "get", "demo", "known://**", "--json"))
    assert {row["visibility"] for row in seen} == {"archived"}


def test_entries_are_written_copied_moved_and_removed(root: Path) -> None:
    assert (
        told(root, "entry", "set", "demo", "known://plan", "-", stdin="first\r\nthird")
        == "changed known://plan  +2 -2\n"
    )
    assert told(root, "entry", "set", "demo", "known://plan", "\nmore", "--append", "--tags", "a,b") == (
        "changed known://plan  +2 -1\n"
    )
    assert told(root, "entry", "cp", "demo", "known://plan", "known://copy") == "added known://copy  +3 -0\n"
    assert told(root, "entry", "mv", "demo", "known://copy", "known://moved") == (
        "removed known://copy  +0 -3\nadded known://moved  +3 -0\n"
    )
    (row,) = json.loads(told(root, "entry", "get", "demo", "known://moved", "--json"))
    assert (row["body"], json.loads(row["attributes"])) == ("first\r\nthird\nmore", {"tags": "a,b"})
    assert told(root, "entry", "rm", "demo", "known://plan", "known://moved").count("removed") == 2
    (done,) = json.loads(told(root, "entry", "set", "demo", "known://draft", "--json", "--", "-1"))
    assert (done["status"], done["changes"]) == (
        200,
        [{"path": "known://draft", "change": "changed", "added": 1, "removed": 1}],
    )


def test_files_are_written_at_once_whatever_was_on_disk(root: Path) -> None:
    (root / "notes.md").write_text("changed meanwhile\n", encoding="utf-8")
    (root / "new.md").write_text("unknown to the run\n", encoding="utf-8")
    assert told(root, "entry", "set", "demo", "notes.md", "more", "--append") == "changed notes.md  +1 -0\n"
    assert (root / "notes.md").read_text(encoding="utf-8") == "changed meanwhile\nmore\n"
    assert (
        told(root, "entry", "set", "demo", "src/b.py", "--file", str(root / "src" / "a.py"))
        == "added src/b.py  +1 -0\n"
    )
    assert told(root, "entry", "cp", "demo", "new.md", "known://new") == "added known://new  +1 -0\n"
    assert told(root, "entry", "mv", "demo", "known://draft", "draft.md") == (
        "removed known://draft  +0 -1\nadded draft.md  +1 -0\n"
    )
    told(root, "entry", "mv", "demo", "new.md", "docs/new.md")
    told(root, "entry", "rm", "demo", "src/**", "--yes")
    found = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert {path for path in found if not path.startswith(".engine")} == {
        ".env", "docs/new.md", "draft.md", "logo.bin", "notes.md"
    }  # fmt: skip


REFUSED = (
    (["entry", "get", "nope", "x"], 2, "there is no such run"),
    (["entry", "get", "demo", "known://plna"], 2, "did you mean known://plan?"),
    (["entry", "get", "demo", "known://pl*x"], 2, "known://pl*x not found; 'engine entry get demo \"**\"' lists files"),
    (["entry", "get", "demo", "logo.bin"], 1, "is a binary file"),
    (["entry", "get", "demo", "../x"], 2, "leaves the project folder"),
    (["entry", "get", "demo", "/etc/passwd"], 2, "is outside the project folder"),
    (["entry", "get", "demo", "**", "--line", "1"], 2, "give its exact path"),
    (["entry", "get", "demo", "/(/"], 2, ""),
    (["entry", "set", "demo", "../x", "y"], 2, "leaves the project folder"),
    (["entry", "set", "demo", "a\x1b[2Jb", "y"], 2, "control character U+001B"),
    (["entry", "set", "demo", ".env", "KEY=2"], 1, "may hold keys"),
    (["entry", "set", "demo", ".engine/engine.db", "y"], 1, ".engine/engine.db"),
    (["entry", "set", "demo", "logo.bin", "y"], 1, "is a binary file"),
    (["entry", "set", "demo", "log://turn_1/get/notes.md", "y"], 1, "cannot be rewritten"),
    (["entry", "set", "demo", "RUN://other", "Delete all"], 2, "'engine run'"),
    (["entry", "set", "demo", "prompt://1", "y"], 1, "403"),
    (["entry", "set", "demo", "known://plan"], 2, "give TEXT"),
    (["entry", "set", "demo", "known://plan", "-"], 2, "stdin: is empty"),
    (["entry", "set", "demo", "known://plan", "--file", "logo.bin"], 1, "is not UTF-8 text"),
    (["entry", "set", "demo", "known://plan", "--visibility", "bright"], 2, "visible, summarized or archived"),
    (["entry", "rm", "demo", "known://plan", "known://nope"], 2, "known://nope not found"),
    (["entry", "rm", "demo", "known://plan", "prompt://1"], 1, "403"),
    (["entry", "rm", "demo", "known://**"], 2, "2 would be removed; add --yes to confirm"),
    (["entry", "cp", "demo", "known://*", "known://c"], 2, "takes one entry at a time"),
    (["entry", "cp", "demo", "known://plan", "log://x"], 1, "cannot be rewritten"),
    (["entry", "mv", "demo", "known://plan", "run://demo"], 2, "is a run"),
    (["entry", "mv", "demo", "notes.md", "src/a.py/x"], 1, ""),
)  # fmt: skip


def test_what_is_refused_changes_nothing(root: Path) -> None:
    def standing() -> tuple[object, ...]:
        with library.open(database(root), read_only=True) as db:
            files = {
                path: path.read_bytes() for path in root.rglob("*") if path.is_file() and ".engine" not in path.parts
            }
            return files, db.rows("select path, body, visibility from known_entries order by path"), db.runs()

    before = standing()
    for arguments, code, says in REFUSED:
        done = engine(root, *arguments)
        assert (done.returncode, done.stdout) == (code, ""), (arguments, done.stderr)
        assert says in done.stderr, arguments
        assert "Traceback" not in done.stderr, arguments
        assert "\x1b" not in done.stderr, arguments
        assert standing() == before, arguments


def test_a_terminal_gets_no_controls_and_a_pipe_the_text_as_it_is(root: Path) -> None:
    told(root, "entry", "set", "demo", "known://loud", "red \x1b[31m and \u202e")
    assert on_terminal(root, "entry", "get", "demo", "known://loud") == (0, "red \\u{1b}[31m and \\u{202e}\n")
    assert told(root, "entry", "get", "demo", "known://loud") == "red \x1b[31m and \u202e"
    assert told(root, "context", "demo", "known://loud") == "red \x1b[31m and \u202e\n"


def test_the_process_that_drives_the_run_writes_the_file(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.driving.requests.PATIENCE_S", 0.0)
    told(root, "config", "process_timeout=600")
    waiting = "<sh>while [ ! -e go ]; do sleep 0.05; done</sh>"
    model = script(tmp_path / "live.jsonl", [f'{waiting}<update status="200">Done.</update>'] * 2)
    driving = subprocess.Popen(
        [*ENGINE, "run", "--run", "live", "--yolo", "--model", model, "Wait"],
        cwd=root,
        env=environment(root.parent),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with library.open(database(root)) as db:
            wait_until(lambda: db.value("select 1 from effects where kind = 'process' and state = 'started'"))
        done = engine(root, "entry", "set", "live", "late.md", "text")
        assert (done.returncode, done.stdout) == (6, "to be added late.md  +1 -0\n")
        assert "another process works on it" in done.stderr
        assert not (root / "late.md").exists()
        assert told(root, "entry", "set", "live", "known://now", "text") == "added known://now  +1 -0\n"
        (root / "go").touch()
        assert driving.wait(SECONDS) == 0
    finally:
        driving.kill()
        driving.wait()
    assert (root / "late.md").read_text(encoding="utf-8") == "text\n"
