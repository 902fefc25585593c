"""`engine diff`: what a run changed in the files.

spec: @diff_of_files @list_of_runs
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from audit import audit
from engine_cli import database, engine, on_terminal, script

ANSWERS = [
    '<get path="notes.md"/><get path="old.md"/><update status="102">reading</update>',
    '<set path="notes.md">a\nB\nc\n</set><set path="new.py">x = 1\n</set><update status="102">on</update>',
    '<sh>printf \'y = 2\\n\' >> new.py</sh><set path="b.py">x = 3\n</set><update status="102">on</update>',
    '<rm path="b.py"/><rm path="old.md"/><update status="200">Done.</update>',
]
ALL = """--- /dev/null
+++ b/new.py
@@ -0,0 +1,2 @@
+x = 1
+y = 2
--- a/notes.md
+++ b/notes.md
@@ -1,2 +1,3 @@
 a
-b
+B
+c
--- a/old.md
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `demo` changed files in several turns; the tests only look."""
    root = tmp_path_factory.mktemp("diff") / "folder"
    root.mkdir()
    write_files(root)
    model = script(root.parent / "s.jsonl", ANSWERS)
    engine(root, "run", "--yolo", "--sandbox", "off", "--model", model, "--run", "demo", "Go")
    audit(database(root))
    return root


def write_files(root: Path) -> None:
    (root / "notes.md").write_text("a\nb\n", encoding="utf-8")
    (root / "old.md").write_text("gone\n", encoding="utf-8")


def test_each_file_is_compared_from_before_the_first_change_to_after_the_last(changed: Path, tmp_path: Path) -> None:
    assert engine(changed, "diff").stdout == engine(changed, "diff", "demo").stdout == ALL
    write_files(tmp_path)
    subprocess.run(["patch", "-p1", "--quiet"], input=ALL, text=True, cwd=tmp_path, check=True)
    for name in ("notes.md", "new.py"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (changed / name).read_text(encoding="utf-8")


def test_a_turn_has_what_it_changed_alone(changed: Path) -> None:
    told = engine(changed, "diff", "demo", "3").stdout
    assert "+x = 3" in told
    assert " x = 1\n+y = 2\n" in told, "what a shell command changed is of its turn"
    assert "notes.md" not in told
    none = engine(changed, "diff", "demo", "1")
    assert (none.returncode, none.stdout) == (0, "")
    assert "no file was changed by turn 1" in none.stderr
    assert engine(changed, "diff", "demo", "9").returncode == 2


def test_lines_are_counted(changed: Path) -> None:
    assert engine(changed, "diff", "--stat").stdout.splitlines() == [
        "new.py    created  +2 -0",
        "notes.md  changed  +2 -1",
        "old.md    deleted  +0 -1",
        "3 files, +4 -2",
    ]
    rows = json.loads(engine(changed, "diff", "--json").stdout)
    assert [(row["path"], row["change"], row["added"], row["removed"]) for row in rows] == [
        ("new.py", "created", 2, 0),
        ("notes.md", "changed", 2, 1),
        ("old.md", "deleted", 0, 1),
    ]
    assert "\n".join(row["diff"] for row in rows) + "\n" == ALL


def test_a_terminal_gets_colours_in_a_pager(changed: Path) -> None:
    code, said = on_terminal(changed, "diff", PAGER="cat")
    assert code == 0
    assert "\x1b[32m+x = 1\x1b[0m" in said
    assert "\x1b[31m-b\x1b[0m" in said
    assert "\x1b[" not in on_terminal(changed, "diff", PAGER="cat", NO_COLOR="1")[1]


def test_the_latest_runs_are_listed_and_the_rest_counted(tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", ['<update status="200">Done.</update>'])
    for number in range(22):
        engine(tmp_path, "run", "--no-repo", "--model", model, "--run", f"r{number}", f"Task {number}")
    listed = engine(tmp_path, "runs")
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == [f"r{n}" for n in range(21, 1, -1)]
    assert "2 older runs: 'engine runs --all' lists every run" in listed.stderr
    assert "just now" in listed.stdout or "min ago" in listed.stdout
    assert len(engine(tmp_path, "runs", "--all").stdout.splitlines()) == 23
    assert len(engine(tmp_path, "runs", "-n", "3").stdout.splitlines()) == 4
    found = engine(tmp_path, "runs", "--search", "TASK 0")
    assert [line.split()[0] for line in found.stdout.splitlines()[1:]] == ["r0"]
    assert found.stderr == ""
    assert " ago" not in engine(tmp_path, "runs", "--utc").stdout
    assert len(json.loads(engine(tmp_path, "runs", "--json").stdout)) == 22
    assert len(json.loads(engine(tmp_path, "runs", "--json", "-n", "5").stdout)) == 5
    assert "no such runs" in engine(tmp_path, "runs", "--search", "nothing").stderr
