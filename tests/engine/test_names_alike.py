"""Names that look the same: Unicode has two spellings of é, and a model writes the one that the disk may not have.

spec: @near_names
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from driving import DONE, GO_ON, script
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.functions.paths import path_locate

COMPOSED = "café"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)
BOTH = pytest.mark.parametrize(("stored", "written"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def drive(db: engine.Database, root: Path, *answers: str) -> list[str]:
    """Drive a run through answers; returns the messages of its commands."""
    model = script(root.parent, *(answer + GO_ON for answer in answers), DONE)
    db.run("Go", run="demo", model=model, root=root, yolo=True)
    rows = db.rows("select message from commands where writer = 'model' and action <> 'update' order by id")
    return [row["message"] or "" for row in rows]


PATCH = "<set>*** Begin Patch\n*** Update File: {0}.txt\n@@\n-one\n+two\n*** End Patch</set>"


@BOTH
@pytest.mark.parametrize(
    "edit",
    [
        '<set path="{0}.txt"><<SEARCH\none\nSEARCH\n<<REPLACE\ntwo\nREPLACE</set>',
        '<set path="{0}.txt">two</set>',
        PATCH,
    ],
)
def test_an_edit_under_the_other_spelling_changes_the_file(
    db: engine.Database, root: Path, stored: str, written: str, edit: str
) -> None:
    """It was a miss, and the edit made a second file."""
    (root / f"{stored}.txt").write_text("one\n")
    drive(db, root, f'<get path="{written}.txt"/>', edit.format(written))
    assert [(each.name, each.read_text()) for each in root.iterdir()] == [(f"{stored}.txt", "two\n")]


@BOTH
def test_a_new_file_comes_into_the_folder_that_is_there(
    db: engine.Database, root: Path, stored: str, written: str
) -> None:
    (root / stored).mkdir()
    (root / stored / "a.txt").write_text("one\n")
    drive(db, root, f'<set path="{written}/b.txt">two</set>', f'<mv path="{written}/a.txt" to="{written}/c.txt"/>')
    assert [each.name for each in root.iterdir()] == [stored]
    assert sorted(each.name for each in (root / stored).iterdir()) == ["b.txt", "c.txt"]


def test_of_two_files_that_look_the_same_each_is_meant_by_its_own_spelling(db: engine.Database, root: Path) -> None:
    for name in (COMPOSED, DECOMPOSED):
        (root / f"{name}.txt").write_text(f"{len(name)}\n")
    drive(db, root, f'<get path="{DECOMPOSED}.txt"/>', f'<rm path="{DECOMPOSED}.txt"/>')
    assert [each.name for each in root.iterdir()] == [f"{COMPOSED}.txt"]


@BOTH
def test_an_app_names_a_file_by_either_spelling(db: engine.Database, root: Path, stored: str, written: str) -> None:
    (root / f"{stored}.txt").write_text("one\n")
    drive(db, root)
    db.insert("verb_set", run="demo", path=f"{written}.txt", body="two\n")
    db.run("Go on", run="demo", model=script(root.parent, DONE, DONE))
    assert [(each.name, each.read_text()) for each in root.iterdir()] == [(f"{stored}.txt", "two\n")]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("readme.md", "README.md"),
        ("tool.py", "src/deep/tool.py"),
        ("SRC/Deep/Tool.py", "src/deep/tool.py"),
        ("lib/tool.py", "src/deep/tool.py"),
    ],
)
@pytest.mark.parametrize("action", ['<get path="{0}"/>', '<rm path="{0}"/>', '<cp path="{0}" to="x"/>'])
def test_a_miss_names_the_file_that_may_be_meant(
    db: engine.Database, root: Path, written: str, meant: str, action: str
) -> None:
    (root / "src/deep").mkdir(parents=True)
    for path in ("README.md", "src/deep/tool.py"):
        (root / path).write_text("one\n")
    assert drive(db, root, action.format(written)) == [f"{written} not found; did you mean {meant}?"]


def test_a_miss_without_a_near_file_names_none(db: engine.Database, root: Path) -> None:
    (root / "a.txt").write_text("one\n")
    assert drive(db, root, '<get path="b.txt"/>', '<get path="known://a.txt"/>')[0] == "b.txt not found"


LETTERS = st.text("aé" + DECOMPOSED[3:] + "ü/", max_size=6).filter(
    lambda path: "//" not in path and path.strip("/") == path
)


@given(st.lists(LETTERS.filter(bool), max_size=5), LETTERS)
def test_a_path_is_one_that_looks_the_same_and_stays_it(files: list[str], path: str) -> None:
    known = json.dumps({"names": ["/root"], "files": files})
    found = path_locate(path, known) or ""
    assert path_locate(f"/root/{path}", known) in (found, "." if not path else found)
    assert unicodedata.normalize("NFC", found) == unicodedata.normalize("NFC", path)
    assert path_locate(found, known) == found
    if path in files:
        assert found == path
