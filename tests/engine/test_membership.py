"""Which files a project has: what git tracks, else what a walk finds; plus added, less ignored ones.

spec: @files
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import Overflow
from engine.project.workspace import Member, Workspace
from engine.system.key_files import _KEY_ENDINGS, KEY_FILES, any_holds_keys, holds_keys

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    return folder


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def git(root: Path, *arguments: str) -> None:
    user = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org"]
    subprocess.run(["git", *user, *arguments], cwd=root, check=True, capture_output=True)


def paths(root: Path, added: Sequence[str] = (), ignored: Sequence[str] = (), limit: int = 100) -> list[str]:
    return [member.path for member in Workspace(root).members(added=added, ignored=ignored, limit=limit)]


# --- outside git


def test_a_walk_finds_sources_and_skips_the_rest(root: Path) -> None:
    make(root, "b.py", "a/z.py", "a/y/x.py", "a b/ä.txt", "build/out.js")
    make(
        root,
        ".env",
        ".hidden/a",
        "a/.cache/b",
        "node_modules/m/i.js",
        "a/__pycache__/z.pyc",
        ".engine/agent.db",
    )
    make(root, "venv/pyvenv.cfg", "venv/lib/site.py", "a/env/pyvenv.cfg", "a/env/b.py")
    assert paths(root) == ["a b/ä.txt", "a/y/x.py", "a/z.py", "b.py", "build/out.js"]
    assert paths(root, added=[".hidden/**"]) == [".hidden/a", "a b/ä.txt", "a/y/x.py", "a/z.py", "b.py", "build/out.js"]


def test_a_member_has_size_and_time(root: Path) -> None:
    make(root, "a")
    os.utime(root / "a", ns=(1, 1_234_567_891))
    assert Workspace(root).members(added=(), ignored=(), limit=1) == [Member("a", 1, 1_234_567_891)]


def test_links_are_followed_only_to_files_inside(root: Path, tmp_path: Path) -> None:
    make(root, "real/a", ".git/config")
    make(tmp_path, "outside/b")
    (root / "file").symlink_to("real/a")
    (root / "folder").symlink_to("real")
    (root / "cycle").symlink_to(".")
    (root / "leaves").symlink_to(tmp_path / "outside/b")
    (root / "leaves-too").symlink_to(tmp_path / "outside")
    (root / "dangling").symlink_to("none")
    (root / "config").symlink_to(".git/config")
    assert paths(root) == ["file", "real/a"]
    assert paths(root, added=["folder", "folder/*", "leaves", "leaves-too/b", "leaves-too/*"]) == [
        "file",
        "real/a",
    ]


def test_what_is_no_file_is_no_member(root: Path) -> None:
    make(root, "a")
    os.mkfifo(root / "pipe")
    assert paths(root) == ["a"]


def test_a_name_that_is_not_unicode_is_left_out(root: Path) -> None:
    make(root, "a")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff")).touch()
    assert paths(root) == ["a"]
    if shutil.which("git"):
        git(root, "init")
        git(root, "add", ".")
        assert paths(root) == ["a"]


def test_a_virtual_environment_may_be_the_root(root: Path) -> None:
    make(root, "pyvenv.cfg", "a.py")
    assert paths(root) == ["a.py", "pyvenv.cfg"]


# --- in git


@needs_git
def test_members_in_git_are_the_files_that_it_tracks_or_would_take(root: Path) -> None:
    make(root, "b", "a/c", ".github/ci.yml", ".editorconfig", "gone", "ä\n")
    git(root, "init")
    git(root, "add", ".")
    git(root, "commit", "-m", "first")
    (root / ".gitignore").write_text("*.log\n")
    make(
        root,
        "new",
        "a/new",
        "out.log",
        "node_modules/m",
        "a/__pycache__/c.pyc",
        "env/pyvenv.cfg",
        "env/lib/x.py",
        ".env",
    )
    (root / "gone").unlink()
    tracked = [".editorconfig", ".github/ci.yml", "a/c", "b", "ä\n"]
    assert paths(root) == sorted([*tracked, ".gitignore", "a/new", "new"])
    members = Workspace(root).members(added=(), ignored=["a"], limit=100, untracked=False)
    assert [member.path for member in members] == [".editorconfig", ".github/ci.yml", "b", "ä\n"]


@needs_git
def test_a_folder_within_a_work_tree_has_its_own_part(root: Path) -> None:
    make(root, "top", "sub/a", "sub/deep/b")
    git(root, "init")
    git(root, "add", ".")
    assert paths(root / "sub") == ["a", "deep/b"]


@needs_git
def test_tracked_links_are_judged_like_others(root: Path, tmp_path: Path) -> None:
    make(root, "real/a", "swapped/b")
    make(tmp_path, "outside/b")
    (root / "file").symlink_to("real/a")
    (root / "leaves").symlink_to(tmp_path / "outside/b")
    git(root, "init")
    git(root, "add", ".")
    shutil.rmtree(root / "swapped")
    (root / "swapped").symlink_to(tmp_path / "outside")
    assert paths(root) == ["file", "real/a"]


@needs_git
def test_the_engine_folder_is_never_scanned_even_if_tracked(root: Path) -> None:
    make(root, "a", ".engine/agent.db", "sub/.engine/x")
    git(root, "init")
    git(root, "add", "-f", ".")
    assert paths(root, added=[".engine/**", ".engine", "sub/.engine/x", ".git/config", ".git/**"]) == ["a"]


@needs_git
def test_a_conflicted_file_is_one_member(root: Path) -> None:
    make(root, "a")
    git(root, "init", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-m", "first")
    git(root, "checkout", "-b", "other")
    (root / "a").write_text("theirs")
    git(root, "commit", "-am", "theirs")
    git(root, "checkout", "main")
    (root / "a").write_text("ours")
    git(root, "commit", "-am", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "merge", "other")
    assert paths(root) == ["a"]


@needs_git
def test_the_callers_git_variables_do_not_lead_elsewhere(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(root, "mine/a", "theirs/b")
    for name in ("mine", "theirs"):
        git(root / name, "init")
        git(root / name, "add", ".")
    monkeypatch.setenv("GIT_DIR", str(root / "theirs/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(root / "theirs/.git/index"))
    assert paths(root / "mine") == ["a"]


@needs_git
def test_no_program_of_the_repository_is_run(root: Path) -> None:
    make(root, "a")
    git(root, "init")
    git(root, "add", ".")
    (root / "evil").write_text("#!/bin/sh\ntouch ran\n")
    (root / "evil").chmod(0o755)
    git(root, "config", "core.fsmonitor", str(root / "evil"))
    git(root, "status")
    assert (root / "ran").exists()
    (root / "ran").unlink()
    assert paths(root) == ["a", "evil"]
    assert not (root / "ran").exists()


@needs_git
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_that_git_refuses_is_walked(root: Path) -> None:
    make(root, "a", "untracked")
    git(root, "init")
    git(root, "add", "a")
    os.chown(root, 65534, 65534)
    os.chown(root / ".git", 65534, 65534)
    assert paths(root) == ["a", "untracked"]


def test_a_broken_repository_is_walked(root: Path) -> None:
    make(root, "a", ".git/HEAD")
    assert paths(root) == ["a"]


@pytest.mark.parametrize("script", [None, "#!/bin/sh\nexit 1\n"], ids=["absent", "failing"])
def test_without_a_working_git_the_folder_is_walked(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None
) -> None:
    make(root, "a")
    programs = tmp_path / "bin"
    programs.mkdir()
    if script:
        (programs / "git").write_text(script)
        (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert paths(root) == ["a"]


# --- added and ignored


@needs_git
def test_added_files_join_those_of_git(root: Path) -> None:
    make(root, "a.py", "docs/b.md", "docs/deep/c.md", "docs/d.txt", "notes/e", "plain")
    git(root, "init")
    (root / ".git" / "info" / "exclude").write_text("docs\nnotes\nplain\n")
    git(root, "add", "a.py")
    assert paths(root, added=["docs/**/*.md"]) == ["a.py", "docs/b.md", "docs/deep/c.md"]
    assert paths(root, added=["./plain", "notes", "none", "a.py"]) == ["a.py", "notes/e", "plain"]


def test_a_pattern_reaches_a_skipped_folder_only_by_name(root: Path) -> None:
    make(
        root,
        "a.js",
        "node_modules/ours/b.js",
        "node_modules/theirs/c.js",
        ".github/d.yml",
        ".env",
        ".env.local",
    )
    assert paths(root, added=["**"]) == ["a.js"]
    assert paths(root, added=["node_modules/ours/*.js"]) == ["a.js", "node_modules/ours/b.js"]
    assert paths(root, added=[".github/*"]) == [".github/d.yml", "a.js"]
    assert paths(root, added=[".env"]) == [".env", "a.js"]
    assert paths(root, added=[".env.*"]) == [".env.local", "a.js"]


def test_an_added_pattern_does_not_leave_the_root(root: Path, tmp_path: Path) -> None:
    make(root, "a")
    make(tmp_path, "outside/b")
    outside = str(tmp_path / "outside")
    leaving = [
        outside,
        f"{outside}/b",
        f"{outside}/*",
        "../outside/b",
        "../outside/*",
        "..",
        "a/../../outside/b",
    ]
    meaningless = ["/", "", ".", "\0", "\ud800"]
    assert paths(root, added=leaving + meaningless) == ["a"]


def test_ignored_files_are_left_out_also_when_added(root: Path) -> None:
    make(root, "a.py", "a.log", "logs/b", "logs/deep/c", "data/d.csv")
    assert paths(root, ignored=["*.log", "logs", "data/**"]) == ["a.py"]
    assert paths(root, ignored=["logs/", "data/*"]) == ["a.log", "a.py"]
    assert paths(root, added=["a.log"], ignored=["*.log", "logs", "data"]) == ["a.py"]


def test_too_many_files_are_an_overflow_that_says_how_to_narrow(root: Path) -> None:
    make(root, *(f"{number}" for number in range(5)))
    assert len(paths(root, limit=5)) == 5
    with pytest.raises(Overflow, match=r"413 .* has more than 4 files; .*'engine files ignore PATTERN'"):
        paths(root, limit=4)
    assert paths(root, ignored=["3"], limit=4) == ["0", "1", "2", "4"]


def commit(folder: Path) -> None:
    for arguments in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True)


def test_files_of_submodules_and_of_repositories_inside_belong_to_the_project(tmp_path: Path) -> None:
    """They were left out without a word, and a write to one said that it had changed."""
    library, root = tmp_path / "library", tmp_path / "root"
    for folder in (library / "src", root / "made" / "deep"):
        folder.mkdir(parents=True)
    (library / "src/l.c").write_text("x\n")
    commit(library)
    (root / "a.c").write_text("x\n")
    commit(root)
    add = ["git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendor/library"]
    subprocess.run(add, cwd=root, check=True)
    (root / "vendor/library/.gitignore").write_text("*.o\n")
    (root / "vendor/library/l.o").write_text("x\n")
    (root / "made/deep/n.txt").write_text("x\n")
    commit(root / "made/deep")
    commit(root / "made")
    names = [member.path for member in Workspace(root, None).members(added=[], ignored=[], limit=100)]
    assert names == [
        ".gitmodules", "a.c", "made/deep/n.txt", "vendor/library/.gitignore", "vendor/library/src/l.c"
    ]  # fmt: skip


def test_a_repository_that_leads_into_itself_is_listed_once(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.txt").write_text("x\n")
    commit(tmp_path)
    (tmp_path / "inner/.git").write_text("gitdir: ../.git\n")
    names = [member.path for member in Workspace(tmp_path, None).members(added=[], ignored=[], limit=100)]
    assert names == ["a.txt"]


PARTS = st.sampled_from(
    [*sorted(KEY_FILES), *sorted(_KEY_ENDINGS), ".env", ".Env.local", ".ssh", "/", "a", "İ", ".", "\n"]
)


@given(st.lists(st.lists(PARTS, min_size=1, max_size=5).map("".join), min_size=1, max_size=4))
def test_a_look_at_many_names_misses_none_that_holds_keys(names: list[str]) -> None:
    found = any_holds_keys(names)
    assert found or not any(map(holds_keys, names))
