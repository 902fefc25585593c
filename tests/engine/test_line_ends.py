"""What a model cannot see of a file stays: its mark, line ends, last line feed and mode, in an edit and in a whole text.

spec: @verb_set @edit_syntax @whole_writes
"""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import DONE, GO_ON, script

import engine

MARK = b"\xef\xbb\xbf"
WINDOWS = b"one\r\ntwo\r\n"

MOVED = "<set>*** Begin Patch\n*** Update File: a.sh\n*** Move to: b.sh\n*** End Patch</set>"


@pytest.mark.parametrize(
    ("before", "body", "after"),
    [
        (WINDOWS, "one\n2\nthree", b"one\r\n2\r\nthree\r\n"),
        (WINDOWS, "<<SEARCH\ntwo\nSEARCH\n<<REPLACE\n2\nREPLACE", b"one\r\n2\r\n"),
        (WINDOWS, "one\r\n2\n", b"one\r\n2\n"),
        (b"one\r\ntwo", "1\n2", b"1\r\n2"),
        (b"one\r\ntwo\n", "1\n2\n", b"1\n2\n"),
        (b"one\r\ntwo\nthree\r\n", "one\ntwo\n3\n", b"one\r\ntwo\n3\r\n"),
        (MARK + WINDOWS, "one\n2", MARK + b"one\r\n2\r\n"),
        (MARK + WINDOWS, "\ufeffone\n2", MARK + b"one\r\n2\r\n"),
        (MARK + b"one\n", "<<NEW\n1\nNEW", MARK + b"1\n"),
        (b"one", "1\n\n", b"1"),
        (b"one\ntwo\n", "1\n2\n", b"1\n2\n"),
    ],
)
def test_a_file_of_windows_keeps_its_line_ends(
    db: engine.Database, tmp_path: Path, before: bytes, body: str, after: bytes
) -> None:
    """One that was written whole had others, and each line was a change."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_bytes(before)
    model = script(tmp_path, '<get path="a.txt"/>', f'<set path="a.txt">{body}</set>{GO_ON}', DONE)
    db.run("Go", run="demo", model=model, root=root, yolo=True)
    assert (root / "a.txt").read_bytes() == after


def test_what_an_app_writes_is_written_as_it_is(db: engine.Database, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_bytes(WINDOWS)
    db.run("Go", run="demo", model=script(tmp_path, '<get path="a.txt"/>', DONE, DONE), root=root)
    db.insert("verb_set", run="demo", path="a.txt", body="1\n2")
    db.run("Go on", run="demo")
    assert (root / "a.txt").read_bytes() == b"1\n2"


@pytest.mark.parametrize("command", ['<cp path="a.sh" to="b.sh"/>', '<mv path="a.sh" to="b.sh"/>', MOVED])
@pytest.mark.parametrize("text", [b"one\r\ntwo\n", MARK + b"one", b"", b"one\r", WINDOWS])
def test_a_copy_and_a_move_keep_every_byte_and_the_mode(
    db: engine.Database, tmp_path: Path, text: bytes, command: str
) -> None:
    """A copy got a line feed at its end, and a script was none any more."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.sh").write_bytes(text)
    (root / "a.sh").chmod(0o755)
    model = script(tmp_path, f"{command}{GO_ON}", DONE)
    db.run("Go", run="demo", model=model, root=root, yolo=True)
    assert (root / "b.sh").read_bytes() == text
    assert (root / "b.sh").stat().st_mode & 0o111


def test_a_copy_over_a_file_has_the_bytes_of_its_source_and_the_mode_that_was_there(
    db: engine.Database, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_bytes(b"one\n")
    (root / "b.txt").write_bytes(MARK + WINDOWS)
    (root / "a.txt").chmod(0o755)
    model = script(tmp_path, '<get path="b.txt"/>', f'<cp path="a.txt" to="b.txt"/>{GO_ON}', DONE)
    db.run("Go", run="demo", model=model, root=root, yolo=True)
    assert (root / "b.txt").read_bytes() == b"one\n"
    assert not (root / "b.txt").stat().st_mode & 0o111


def test_a_script_that_was_moved_and_brought_back_is_still_a_script(db: engine.Database, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.sh").write_bytes(b"one\n")
    (root / "a.sh").chmod(0o755)
    db.run("Go", run="demo", model=script(tmp_path, f'<mv path="a.sh" to="b.sh"/>{GO_ON}', DONE), root=root, yolo=True)
    db.undo("demo")
    assert sorted(each.name for each in root.iterdir()) == ["a.sh"]
    assert (root / "a.sh").stat().st_mode & 0o111
