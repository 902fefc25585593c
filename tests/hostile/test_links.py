"""Symbolic links in a project: a person sees which file is written, and that file is written or none.

spec: @file_writes @proposals
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from driving import DONE, script

import engine

TEXTS = {"real.md": "# Real\n", "other.md": "# Real\n"}
CHANGE = '<get path="link.md"/>', '<set path="link.md"># New\n</set>', DONE, DONE


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    (folder / "link.md").symlink_to("real.md")
    return folder


def texts(root: Path) -> dict[str, str]:
    return {name: (root / name).read_text() for name in TEXTS}


def test_a_change_through_a_link_shows_the_file_that_is_written(
    root: Path, tmp_path: Path, db: engine.Database
) -> None:
    seen: list[Any] = []

    def accept(proposal: Any) -> bool:
        seen.append(proposal)
        return True

    for run, answer in (
        ("set", '<set path="link.md"># New\n</set>'),
        (
            "patch",
            '<set path="link.md">*** Begin Patch\n*** Update File: link.md\n@@\n-# New\n+# Newer\n*** End Patch\n</set>',
        ),
    ):
        model = script(tmp_path, '<get path="link.md"/>', answer, DONE)
        db.run("Go", run=run, root=root, model=model, on_proposal=accept)
        assert seen[-1]["target"] == "link.md"
        assert "--- a/link.md -> real.md\n+++ b/link.md -> real.md\n" in seen[-1]["detail"]
    assert len(seen) == 2
    assert texts(root) == {**TEXTS, "real.md": "# Newer\n"}
    assert (root / "link.md").is_symlink()


def test_the_name_of_a_file_behind_a_link_draws_no_line(root: Path, tmp_path: Path, db: engine.Database) -> None:
    (root / "link.md").unlink()
    (root / "real.md").rename(root / "real\n+++ harmless.md")
    (root / "link.md").symlink_to("real\n+++ harmless.md")
    seen: list[Any] = []
    db.run("Go", run="demo", root=root, model=script(tmp_path, *CHANGE), on_proposal=seen.append)
    head = seen[0]["detail"].splitlines()[:3]
    assert [line[:3] for line in head] == ["---", "+++", "@@ "]
    assert head[1].startswith("+++ b/link.md -> real&#10;+++ harmless.md")


@pytest.mark.parametrize("harm", ["other", "none", "outside", "file"])
def test_a_link_that_leads_elsewhere_after_the_approval_is_not_followed(
    root: Path, tmp_path: Path, db: engine.Database, harm: str
) -> None:
    (tmp_path / "outside.md").write_text("# Real\n")

    def accept(proposal: Any) -> bool:
        link = root / "link.md"
        link.unlink()
        if harm == "file":
            link.write_text("# Real\n")
        else:
            link.symlink_to({"other": "other.md", "none": "made.md", "outside": "../outside.md"}[harm])
        return True

    db.run("Go", run="demo", root=root, model=script(tmp_path, *CHANGE), on_proposal=accept)
    assert texts(root) == TEXTS
    assert (tmp_path / "outside.md").read_text() == "# Real\n"
    assert not (root / "made.md").exists()
    failed = db.row("select outcome, message from command_results where run = 'demo' and state = 'failed'")
    assert failed is not None
    assert failed["outcome"] == ("permission" if harm == "outside" else "conflict")
    assert "link.md" in failed["message"]


def test_a_file_that_becomes_a_link_is_not_written_through(root: Path, tmp_path: Path, db: engine.Database) -> None:
    def accept(proposal: Any) -> bool:
        (root / "real.md").rename(root / "moved.md")
        (root / "real.md").symlink_to("moved.md")
        return True

    model = script(tmp_path, *(text.replace("link", "real") for text in CHANGE))
    db.run("Go", run="demo", root=root, model=model, on_proposal=accept)
    assert (root / "moved.md").read_text() == "# Real\n"
    assert "change 'moved.md' instead" in db.value("select message from command_results where state = 'failed'")


def test_a_folder_that_becomes_a_link_is_not_written_or_removed_through(
    root: Path, tmp_path: Path, db: engine.Database
) -> None:
    for folder in ("here", "there"):
        (root / folder).mkdir()
        (root / folder / "a.md").write_text("same\n")

    def accept(proposal: Any) -> bool:
        if not (root / "here").is_symlink():
            (root / "here").rename(root / "kept")
            (root / "here").symlink_to("there")
        return True

    answers = '<get path="here/a.md"/>', '<set path="here/a.md">new\n</set>', '<rm path="here/a.md"/>', DONE, DONE
    db.run("Go", run="demo", root=root, model=script(tmp_path, *answers), on_proposal=accept)
    assert (root / "there" / "a.md").read_text() == "same\n"
    assert (root / "kept" / "a.md").read_text() == "same\n"


def test_a_file_that_is_readonly_is_so_behind_a_link(root: Path, tmp_path: Path, db: engine.Database) -> None:
    db.run("Go", run="first", root=root, model=script(tmp_path, DONE))
    db.execute(
        "insert into file_constraints (project_id, pattern, rule, created_at) "
        "select id, 'real.md', 'readonly', 0 from projects"
    )
    db.run("Go", run="demo", root=root, yolo=True, model=script(tmp_path, *CHANGE))
    assert texts(root) == TEXTS
    assert db.value("select outcome from command_results where state = 'failed'") == "readonly"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (
            "../outside.md",
            "is a symbolic link to a place outside the project; to read it, copy the file into the project",
        ),
        ("nowhere.md", "is a symbolic link that leads to nothing"),
    ],
)
def test_why_a_link_cannot_be_read_is_told(
    root: Path, tmp_path: Path, db: engine.Database, target: str, reason: str
) -> None:
    """It was not found."""
    (tmp_path / "outside.md").write_text("secret\n")
    (root / "out.md").symlink_to(target)
    model = script(tmp_path, '<get path="out.md"/>', '<set path="out.md">x</set>', DONE, DONE)
    db.run("Go", run="demo", model=model, root=root, yolo=True)
    told = db.rows("select message from commands where writer = 'model' and action in ('get', 'set') order by id")
    assert [row["message"] for row in told][:1] == [f"out.md: {reason}"]
    assert all(reason in row["message"] for row in told)
    assert "secret" not in "".join(row["body"] for row in db.rows("select body from packet_texts"))
    assert (tmp_path / "outside.md").read_text() == "secret\n"
    assert not (root / "nowhere.md").exists()


def test_a_name_with_a_colon_is_a_name(root: Path, tmp_path: Path, db: engine.Database) -> None:
    """It was listed, and refused as absolute."""
    (root / "a:b.txt").write_text("one\n")
    model = script(tmp_path, '<get path="a:b.txt"/>', '<set path="a:b.txt">two</set>', DONE, DONE)
    db.run("Go", run="demo", model=model, root=root, yolo=True)
    assert (root / "a:b.txt").read_text() == "two\n"
