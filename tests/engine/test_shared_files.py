"""What one run of a tree does to the files is there for the others at once: child to parent, parent to child, siblings.

spec: @shared_files
"""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from delegating import DONE, GO_ON, Cast

import engine

HOW = {
    "set": '<set path="new.txt">made\n</set>',
    "sh": "<sh>echo made > new.txt</sh>",
    "mv": '<mv path="old.txt">new.txt</mv>',
    "cp": '<cp path="old.txt">new.txt</cp>',
    "rm": '<rm path="old.txt"/>',
    "sh rm": "<sh>rm old.txt</sh>",
}
LOOK = '<get path="new.txt"/><get path="old.txt"/>'
FOUND = "select target, status from run_log where run = ? and action = 'get' order by turn, path"


def expected(how: str) -> dict[str, int]:
    return {
        "new.txt": 404 if "rm" in how else 200,
        "old.txt": 404 if how in ("mv", "rm", "sh rm") else 200,
    }


@pytest.fixture(params=["git", "plain"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "old.txt").write_text("old\n", "utf-8")
    if request.param == "git":
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        subprocess.run(["git", "-C", str(folder), "add", "."], check=True)
    return folder


def drive(db: engine.Database, parts: dict[str, Any], root: Path) -> None:
    options: dict[str, Any] = {"max_depth": 2, "yolo": True, "sandbox": "off", "root": root, "overwrite_unseen": True}
    assert db.run("Go", run="demo", model=Cast(parts), **options).status == 200


def looked(db: engine.Database, run: str) -> dict[str, int]:
    return {row["target"]: row["status"] for row in db.rows(FOUND, (run,))}


@pytest.mark.parametrize("again", [False, True], ids=["its last turn", "a turn before"])
@pytest.mark.parametrize("how", HOW)
def test_a_parent_sees_what_its_child_did(db: engine.Database, root: Path, how: str, again: bool) -> None:
    """In the same turn, by the command behind the task."""
    child = [HOW[how] + (GO_ON if again else DONE), DONE]
    drive(db, {"demo": ["<subtask>Make it</subtask>" + LOOK + GO_ON, DONE], "demo-1": child}, root)
    assert looked(db, "demo") == expected(how)


@pytest.mark.parametrize("how", HOW)
def test_a_child_sees_what_its_parent_did(db: engine.Database, root: Path, how: str) -> None:
    drive(db, {"demo": [HOW[how] + "<subtask>Look</subtask>" + GO_ON, DONE], "demo-1": [LOOK + GO_ON, DONE]}, root)
    assert looked(db, "demo-1") == expected(how)


@pytest.mark.parametrize("how", HOW)
def test_a_sibling_sees_what_another_did(db: engine.Database, root: Path, how: str) -> None:
    """Both are under way: one looks when the other has done it and begun its next turn."""
    made, began = threading.Event(), threading.Event()

    def first(request: Any) -> str:
        began.wait(300)
        return HOW[how] + GO_ON

    def second(request: Any) -> str:
        made.set()
        return DONE

    def look(request: Any) -> str:
        began.set()
        made.wait(300)
        return LOOK + GO_ON

    parts = {
        "demo": ["<subtask>Make it</subtask><subtask>Look</subtask>" + GO_ON, DONE],
        "demo-1": [first, second],
        "demo-2": [look, DONE],
    }
    drive(db, parts, root)
    assert looked(db, "demo-2") == expected(how)
