"""Patches of a run's own edits: each accepted edit is an entry that the model can read, and takes no room until it does.

spec: @kept_patches @delegation_ends
"""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import DONE, GO_ON, script

import engine

EDIT = '<set path="settings.ini"><<SEARCH\n8080\nSEARCH\n<<REPLACE\n{}\nREPLACE</set>'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "settings.ini").write_text("8080\n", encoding="utf-8")
    (folder / "old.txt").write_text("old\n", encoding="utf-8")
    return folder


def patches(db: engine.Database, run: str = "demo") -> dict[str, tuple[str, str]]:
    rows = db.rows("select path, body, visibility from known_entries where run = ? and path glob 'patch://*'", (run,))
    return {row["path"]: (row["body"], row["visibility"]) for row in rows}


def test_accepted_edits_are_entries_that_are_archived(db: engine.Database, tmp_path: Path, root: Path) -> None:
    look = f'<get path="settings.ini"/><get path="old.txt"/>{GO_ON}'
    edit = EDIT.format("9090") + '<rm path="old.txt"/><set path="src/new.py">x = 1\n</set>' + GO_ON
    read = f'<get path="patch://**" manifest/><get path="patch://turn_2/settings.ini"/>{GO_ON}'
    db.run("Go", run="demo", model=script(tmp_path, look, edit, read, DONE), root=root, yolo=True)
    kept = patches(db)
    assert set(kept) == {"patch://turn_2/settings.ini", "patch://turn_2/old.txt", "patch://turn_2/src/new.py"}
    assert kept["patch://turn_2/settings.ini"] == (
        "--- a/settings.ini\n+++ b/settings.ini\n@@ -1 +1 @@\n-8080\n+9090\n",
        "visible",
    )
    assert kept["patch://turn_2/old.txt"] == ("--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n", "archived")
    sent = dict(db.tuples("select turn, body from packet_texts where role = 'user'"))
    assert "patch://" not in sent[3], "it takes no room until it is got"
    assert "+9090" in sent[4]


def test_two_edits_of_a_file_in_a_turn_are_one_entry(db: engine.Database, tmp_path: Path, root: Path) -> None:
    edits = EDIT.format("9090") + EDIT.replace("8080", "9090").format("7070") + GO_ON
    model = script(tmp_path, f'<get path="settings.ini"/>{GO_ON}', edits, DONE)
    db.run("Go", run="demo", model=model, root=root, yolo=True)
    assert (root / "settings.ini").read_text("utf-8") == "7070\n"
    body, _ = patches(db)["patch://turn_2/settings.ini"]
    assert body.count("--- a/settings.ini") == 2
    assert "-8080\n+9090" in body
    assert "-9090\n+7070" in body


def test_what_was_rejected_or_failed_has_none(db: engine.Database, tmp_path: Path, root: Path) -> None:
    model = script(tmp_path, f'<get path="settings.ini"/>{GO_ON}', EDIT.format("9090") + GO_ON, DONE)
    db.run("Go", run="demo", model=model, root=root, on_proposal=lambda _: False)
    assert patches(db) == {}


def test_a_text_in_place_of_the_proposed_one_is_what_the_patch_shows(
    db: engine.Database, tmp_path: Path, root: Path
) -> None:
    model = script(tmp_path, f'<get path="settings.ini"/>{GO_ON}', EDIT.format("9090") + GO_ON, DONE)
    db.run("Go", run="demo", model=model, root=root, on_proposal=lambda _: "6060\n")
    assert (root / "settings.ini").read_text("utf-8") == "6060\n"
    body, _ = patches(db)["patch://turn_2/settings.ini"]
    assert body == "--- a/settings.ini\n+++ b/settings.ini\n@@ -1 +1 @@\n-8080\n+6060\n"


def test_a_write_of_a_client_is_no_edit_of_the_run(db: engine.Database, tmp_path: Path, root: Path) -> None:
    db.run("Go", run="demo", model=script(tmp_path, DONE), root=root)
    db.insert("verb_set", run="demo", path="new.txt", body="mine\n")
    db.resume("demo")
    assert (root / "new.txt").read_text("utf-8") == "mine\n"
    assert patches(db) == {}
