"""A path that is absolute and inside the root names the file of the project, however the root is spelled.

1. Roots behind links. 2. Patches. 3. What lies outside stays refused. 4. What git would take is a member, unless a setting
says otherwise.

spec: @absolute_paths @files
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from driving import DONE, GO_ON, script

import engine
from engine.functions.paths import path_locate
from engine.project.root_names import root_names


def outcomes(db: engine.Database) -> list[tuple[str, str | None]]:
    """Path and outcome of each command of the model but updates."""
    query = "select path, outcome from commands where turn_id is not null and action <> 'update' order by id"
    return [(row["path"], row["outcome"]) for row in db.rows(query)]


def test_a_root_behind_a_link_is_known_by_both_names(
    db: engine.Database, tmp_path: Path, workspace_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(workspace_dir)
    (tmp_path / "home").symlink_to(tmp_path)
    monkeypatch.setenv("PWD", str(tmp_path / "home" / "workspace" / "src"))
    gets = [
        workspace_dir / "notes.md",
        tmp_path / "link" / "src" / "main.py",
        tmp_path / "home" / "workspace" / "settings.ini",
    ]
    answer = "".join(f'<get path="{path}"/>' for path in gets)
    write = f'<set path="{tmp_path}/link//src/./new.py">x = 1\n</set>'
    model = script(tmp_path, answer + GO_ON, write + DONE)
    result = db.run("Look", model=model, root=tmp_path / "link", yolo=True)
    assert (result.status, result.turns) == (200, 2)
    assert outcomes(db) == [("notes.md", None), ("src/main.py", None), ("settings.ini", None), ("src/new.py", None)]
    assert (workspace_dir / "src" / "new.py").read_text() == "x = 1\n"


def test_a_patch_may_name_its_files_absolutely(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    patch = (
        f"*** Begin Patch\n*** Update File: {workspace_dir}/src/util.py\n@@\n-LIMIT = 10\n+LIMIT = 20\n"
        f"*** Add File: {workspace_dir}/src/made.py\n+a = 1\n*** End Patch"
    )
    result = db.run("Change", model=script(tmp_path, f"<set>{patch}</set>{DONE}"), root=workspace_dir, yolo=True)
    assert result.status == 200
    assert (workspace_dir / "src" / "util.py").read_text() == "LIMIT = 20\n"
    assert (workspace_dir / "src" / "made.py").read_text() == "a = 1\n"


def test_a_path_outside_the_root_is_refused_as_before(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    (tmp_path / "workspace2").mkdir()
    outside = [tmp_path / "workspace2" / "a", workspace_dir / ".." / "a", Path("/etc/hostname")]
    model = script(tmp_path, "".join(f'<set path="{path}">x</set>' for path in outside[:1]) + GO_ON, DONE)
    db.run("Look", model=model, root=workspace_dir, yolo=True, run="demo")
    assert outcomes(db) == [(str(outside[0]), "validation")]
    roots = db.value("select root_names from projects")
    assert [path_locate(str(path), roots) for path in outside] == [str(path) for path in outside]
    assert not (tmp_path / "workspace2" / "a").exists()


def test_names_fold_as_the_file_system_does(tmp_path: Path) -> None:
    names = json.loads(root_names(str(tmp_path), []))
    assert (names["names"], names["folds"]) == ([str(tmp_path)], int(os.path.exists(str(tmp_path).swapcase())))
    folding = json.dumps({"names": ["/Users/Ren\u00e9"], "folds": 1})
    assert path_locate("/users/RENE\u0301/A.py", folding) == "A.py"
    assert path_locate("/users/RENE\u0301/A.py", folding.replace(": 1", ": 0")) == "/users/RENE\u0301/A.py"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(("setting", "expected"), [("1", ["notes.md", "settings.ini"]), ("0", ["notes.md"])])
def test_untracked_files_are_members_unless_a_setting_says_no(
    db: engine.Database, tmp_path: Path, workspace_dir: Path, setting: str, expected: list[str]
) -> None:
    for words in (["init"], ["add", "notes.md"]):
        subprocess.run(["git", *words], cwd=workspace_dir, check=True, capture_output=True)
    (workspace_dir / ".gitignore").write_text("src\nlogo.bin\n.gitignore\n")
    db.execute("update settings set value = ? where name = 'untracked_files'", (setting,))
    db.run("Look", model=script(tmp_path, DONE), root=workspace_dir)
    assert [row["path"] for row in db.rows("select path from project_files order by path")] == expected
