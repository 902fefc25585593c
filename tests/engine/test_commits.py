"""Commits: real git repositories, and what of them a run may commit.

spec: @commits
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, script
from engine_cli import engine as command_line
from sandboxed import require_sandbox

import engine as library
from engine.errors import ValidationError
from engine.functions.commits import commit_message


def git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a commit."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "A")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    root = tmp_path / "folder"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    (root / "mine.txt").write_text("mine\n", encoding="utf-8")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def drive(
    folder: Path,
    mode: str,
    *answers: str,
    prompt: str = "Change it",
    root: Path | None = None,
    status: int = 200,
    **options: Any,
) -> list[dict[str, Any]]:
    """Drive a prompt with the setting; the events of commits."""
    told: list[Any] = []
    options = {"yolo": True, "sandbox": "off", "overwrite_unseen": True, "on_event": told.append, **options}
    run = "demo" if root is None else root.name
    with library.open(folder.parent / "t.db") as db:
        db.insert("_set_layer", name="commit", layer="file", value=mode)
        before = db.value("select responses from runs where alias = ?", (run,)) or 0
        model = script(folder.parent, *[""] * before, *answers)
        result = db.run(prompt, run=run, model=model, root=root or folder, **options)
    assert result.status == status, result.reason
    return [event for event in told if event["type"] == "commit"]


def edit(path: str, body: str) -> str:
    return f'<set path="{path}">{body}</set>'


def subjects(folder: Path) -> list[str]:
    return git(folder, "log", "--format=%s").splitlines()


def test_each_edit_is_a_commit_of_what_the_run_changed(folder: Path) -> None:
    (folder / "mine.txt").write_text("staged\n", encoding="utf-8")
    git(folder, "add", "mine.txt")
    (folder / "loose.txt").write_text("not tracked\n", encoding="utf-8")
    told = drive(folder, "edit", edit("a.txt", "two") + edit("b/new.txt", "new") + '<rm path="a.txt"/>', DONE)
    assert [event["status"] for event in told] == [200, 200, 200]
    assert told[0]["body"].endswith(": Change it")
    assert subjects(folder) == ["Change it", "Change it", "Change it", "first"]
    changed = git(folder, "log", "--format=", "--name-status").split()
    assert changed[:6] == ["D", "a.txt", "A", "b/new.txt", "M", "a.txt"]
    # what the person has staged is staged still, and what is his stays his
    assert git(folder, "status", "--porcelain").splitlines() == ["M  mine.txt", "?? loose.txt"]
    assert "Engine-Run: demo" in git(folder, "log", "-1", "--format=%B")


def test_a_prompt_is_one_commit_once_it_is_done(folder: Path) -> None:
    failing = [edit("a.txt", "two"), '<update status="422">cannot</update>']
    assert drive(folder, "prompt", *failing, status=422) == []
    assert subjects(folder) == ["first"]
    told = drive(
        folder, "prompt", edit("c.txt", "three"), edit("c.txt", "four"), DONE, prompt="Now do it\n\nAll of it."
    )
    assert len(told) == 1
    assert git(folder, "log", "-1", "--format=%B").strip() == "Now do it\n\nNow do it\n\nAll of it.\n\nEngine-Run: demo"
    assert git(folder, "log", "-1", "--format=", "--name-only").split() == ["a.txt", "c.txt"]
    assert git(folder, "status", "--porcelain") == ""


def test_a_file_with_changes_of_the_person_is_left_out(folder: Path) -> None:
    (folder / "a.txt").write_text("of the person\n", encoding="utf-8")
    (folder / ".gitignore").write_text("secret\n", encoding="utf-8")
    told = drive(folder, "prompt", edit("a.txt", "two"), edit("b.txt", "new"), DONE)
    assert told[0]["body"].endswith("left out: a.txt (had changes that were not committed)")
    assert git(folder, "log", "-1", "--format=", "--name-only").split() == ["b.txt"]
    # and once they are committed by hand, an edit of them is committed
    git(folder, "commit", "-qam", "mine")
    assert drive(folder, "prompt", edit("a.txt", "three"), DONE)[0]["status"] == 200
    assert git(folder, "log", "-1", "--format=", "--name-only").split() == ["a.txt"]


def test_what_is_staged_of_an_edited_file_stays_staged(folder: Path) -> None:
    (folder / "a.txt").write_text("staged\n", encoding="utf-8")
    git(folder, "add", "a.txt")
    (folder / "a.txt").write_text("one\n", encoding="utf-8")
    told = drive(folder, "edit", edit("a.txt", "two"), DONE)
    assert [event["body"] for event in told] == ["not committed: no file is left; left out: a.txt (is staged)"]
    assert git(folder, "show", ":a.txt") == "staged\n"
    assert subjects(folder) == ["first"]


def test_a_folder_below_names_with_signs_and_a_new_repository(folder: Path, tmp_path: Path) -> None:
    below = folder / "sub"
    below.mkdir()
    names = ["-f", "*.txt", "a b.md", "x'y", ":(top)z"]
    drive(
        folder,
        "prompt",
        "".join(edit(f"./{name}", "x") for name in names[:1]) + edit("plain.md", "x"),
        DONE,
        root=below,
    )
    assert "sub/plain.md" in git(folder, "log", "-1", "--format=", "--name-only").splitlines()
    for name in names:
        (below / name).write_text("x\n", encoding="utf-8")
    assert len(subjects(folder)) == 2
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q", "-b", "main")
    assert drive(folder, "edit", edit("first.md", "x"), DONE, root=fresh)[0]["status"] == 200
    assert git(fresh, "log", "--format=", "--name-only").split() == ["first.md"]


def test_in_the_middle_of_a_merge_and_outside_of_git_nothing_is_committed(folder: Path, tmp_path: Path) -> None:
    (folder / ".git" / "MERGE_HEAD").write_text(git(folder, "rev-parse", "HEAD"), encoding="utf-8")
    told = drive(folder, "edit", edit("a.txt", "two"), DONE)
    assert [(event["status"], event["body"]) for event in told] == [
        (409, "not committed: git is in the middle of a merge; finish it, and the next commit holds this")
    ]
    assert subjects(folder) == ["first"]
    (folder / ".git" / "MERGE_HEAD").unlink()
    assert drive(folder, "edit", edit("b.txt", "two"), DONE)[0]["status"] == 200
    assert git(folder, "log", "-1", "--format=", "--name-only").split() == ["a.txt", "b.txt"]
    plain = tmp_path / "plain"
    plain.mkdir()
    assert "is in no git repository" in drive(folder, "edit", edit("x", "y"), DONE, root=plain)[0]["body"]


def test_a_hook_of_git_runs_and_may_refuse(folder: Path) -> None:
    hook = folder / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nprintf '\\033]0;x\\007no commits today' >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    told = drive(folder, "edit", edit("new.txt", "two"), DONE)
    assert told[0]["body"] == "not committed: no commits today"
    # nothing is left in the index
    assert git(folder, "status", "--porcelain") == "?? new.txt\n"
    hook.write_text("#!/bin/sh\ntouch ran\n", encoding="utf-8")
    assert drive(folder, "edit", edit("new.txt", "three"), DONE)[0]["status"] == 200
    assert (folder / "ran").exists()


def test_what_a_hook_of_git_runs_of_the_project_stays_in_the_sandbox(folder: Path) -> None:
    require_sandbox()
    hook = folder / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nsh ./check.sh\n", encoding="utf-8")
    hook.chmod(0o755)
    plant = "printf 'touch ../owned' > .git/hooks/pre-commit; true"
    told = drive(
        folder, "edit", f"<sh>{plant}</sh>", edit("check.sh", "touch ../owned; touch inside"), DONE, sandbox="require"
    )
    assert [event["status"] for event in told] == [200], told
    assert (folder / "inside").exists()
    assert not (folder.parent / "owned").exists()
    assert "check.sh" in hook.read_text()


def test_an_undo_names_the_commit_that_stays(folder: Path) -> None:
    (folder / ".engine").mkdir(mode=0o700)
    change = '<set path="a.txt"><<SEARCH\none\nSEARCH\n<<REPLACE\ntwo\nREPLACE</set>'
    model = script(folder.parent, change, DONE)
    assert command_line(folder, "config", "commit=edit").returncode == 0
    extra = {f"GIT_{name}": "a@b.c" for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")}
    done = command_line(
        folder, "run", "Change it", "--run", "demo", "--yolo", "--sandbox", "off", "--model", model, env=extra
    )
    assert "committed" in done.stdout + done.stderr, done.stderr
    undone = command_line(folder, "undo", "demo", "--yes")
    assert undone.returncode == 0, undone.stderr
    assert "git commit -m 'Undo: Change it' -- a.txt" in undone.stderr + undone.stdout
    assert (folder / "a.txt").read_text() == "one\n"
    rows = json.loads(command_line(folder, "sql", "--json", "select subject, paths from undone_commits").stdout)
    assert [(row["subject"], row["paths"]) for row in rows] == [("Change it", '["a.txt"]')]


def test_a_clone_makes_no_commits_until_that_was_confirmed(folder: Path) -> None:
    (folder / "engine.toml").write_text('commit = "edit"\n', encoding="utf-8")
    model = script(folder.parent, edit("a.txt", "two"), DONE)
    done = command_line(folder, "run", "go", "--yolo", "--sandbox", "off", "--model", model)
    assert done.returncode == 0
    assert "ignored until you run 'engine config --confirm': commit" in done.stderr
    assert subjects(folder) == ["first"]


def test_messages_are_made_of_prompts() -> None:
    assert commit_message("Fix it", "r") == "Fix it\n\nEngine-Run: r\n"
    long = commit_message("word " * 40, "r") or ""
    subject, _, rest = long.partition("\n")
    assert len(subject) <= 72
    assert subject.endswith("…")
    assert rest.startswith("\nword word")
    assert commit_message("\x1b]0;x\x07\n\u202eevil\n", "r") == "evil\n\nEngine-Run: r\n"
    assert commit_message(None, "r") is None
    with pytest.raises(ValidationError, match="use edit, prompt, or nothing"), library.open(":memory:") as db:
        db.insert("_set_layer", name="commit", layer="file", value="always")
