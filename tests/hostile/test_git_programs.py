"""A folder from elsewhere may hold a `.git` whose configuration names programs. To look at its files runs none of them.

spec: @files
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from engine.project import membership
from engine.project.workspace import Workspace

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

HOOKS = (
    "post-index-change",
    "pre-commit",
    "post-checkout",
    "fsmonitor-watchman",
    "reference-transaction",
    "pre-auto-gc",
)
PROGRAMS = {
    "core.fsmonitor": "{}",
    "core.pager": "{}",
    "core.editor": "{}",
    "core.askPass": "{}",
    "core.sshCommand": "{}",
    "core.gitProxy": "{}",
    "core.alternateRefsCommand": "{}",
    "core.hooksPath": "hooks",
    "pager.ls-files": "{}",
    "alias.ls-files": "!{}",
    "diff.external": "{}",
    "diff.evil.textconv": "{}",
    "diff.evil.command": "{}",
    "merge.evil.driver": "{}",
    "filter.evil.clean": "{}",
    "filter.evil.smudge": "{}",
    "filter.evil.process": "{}",
    "filter.evil.required": "true",
    "credential.helper": "!{}",
    "gpg.program": "{}",
    "trace2.eventTarget": "{}",
    "remote.origin.url": "ext::{}",
    "remote.origin.uploadpack": "{}",
    "remote.origin.promisor": "true",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "protocol.file.allow": "always",
    "index.sparse": "true",
    "core.untrackedCache": "true",
    "submodule.recurse": "true",
    "submodule.evil.update": "!{}",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a sparse index of which a tree is missing; every program that it names is `evil`."""
    root = tmp_path / "root"
    (root / "hooks").mkdir(parents=True)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    evil = root / "evil"
    evil.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\nexit 1\n", encoding="utf-8")
    evil.chmod(0o755)
    for name in ("seen/a.md", "hidden/b.md", "-rf", "--upload-pack=evil"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("text\n", encoding="utf-8")
    (root / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n", encoding="utf-8")
    git(root, "init")
    git(root, "add", "--", ".")
    git(root, "commit", "-m", "all")
    git(root, "sparse-checkout", "init", "--cone", "--sparse-index")
    git(root, "sparse-checkout", "set", "seen")
    tree = git(root, "rev-parse", "HEAD:hidden").strip()
    (root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    for hook in HOOKS:
        shutil.copy(evil, root / "hooks" / hook)
        shutil.copy(evil, root / ".git" / "hooks" / hook)
    git(root, "config", "core.repositoryFormatVersion", "1")
    git(root, "config", "extensions.partialClone", "origin")
    for key, value in PROGRAMS.items():
        git(root, "config", key, value.format(evil))
    return root


def git(root: Path, *arguments: str) -> str:
    user = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org"]
    return subprocess.run(["git", *user, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "url", ["ext::{0}/evil", "{0}", "{0}/evil", "ssh://example.invalid/x", "git://example.invalid/x"]
)
def test_a_scan_runs_no_program_of_the_repository(root: Path, tmp_path: Path, url: str) -> None:
    git(root, "config", "remote.origin.url", url.format(root))
    workspace = Workspace(root)
    found = [member.path for member in workspace.members(added=["**/*.md"], ignored=[], limit=100)]
    assert {"seen/a.md", "-rf", "--upload-pack=evil"} <= set(found)
    assert workspace.read("seen/a.md", 1000).text == "text\n"
    assert not (tmp_path / "ran").exists()


def test_the_repository_would_run_one(root: Path, tmp_path: Path) -> None:
    git(root, "config", "remote.origin.url", str(root))
    subprocess.run(["git", "ls-files"], cwd=root, check=False, capture_output=True, env=dict(os.environ))
    assert (tmp_path / "ran").exists(), "else the test above shows nothing"


def test_variables_of_git_lead_nowhere(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = str(root / "evil")
    for name in ("GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EDITOR", "GIT_ASKPASS", "GIT_PROXY_COMMAND"):
        monkeypatch.setenv(name, evil)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", evil)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert Workspace(root).members(added=[], ignored=[], limit=100)
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(not Path("/proc/self/wchan").exists(), reason="the kernel does not tell what a process waits for")
@pytest.mark.parametrize("name", [".git/more", ".gitignore", "seen/.gitignore", ".git/info/exclude", ".git/index"])
def test_a_pipe_in_the_way_of_git_holds_nothing_up(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "_GIT_SECONDS", 600)
    git(root, "config", "include.path", "more")
    (root / name).unlink(missing_ok=True)
    os.mkfifo(root / name)
    began = time.monotonic()
    found = Workspace(root).members(added=[], ignored=[], limit=100)
    assert "seen/a.md" in [member.path for member in found]
    assert time.monotonic() - began < membership._GIT_SECONDS / 2
