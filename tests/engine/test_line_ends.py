"""Line ends of files that a model writes: those of the file stay, whether a part of it is edited or all is written.

spec: @verb_set @edit_syntax
"""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import DONE, GO_ON, script

import engine

WINDOWS = b"one\r\ntwo\r\n"


@pytest.mark.parametrize(
    ("before", "body", "after"),
    [
        (WINDOWS, "one\n2\nthree", b"one\r\n2\r\nthree\r\n"),
        (WINDOWS, "<<SEARCH\ntwo\nSEARCH\n<<REPLACE\n2\nREPLACE", b"one\r\n2\r\n"),
        (WINDOWS, "one\r\n2\n", b"one\r\n2\n"),
        (b"one\r\ntwo", "1\n2", b"1\r\n2"),
        (b"one\r\ntwo\n", "1\n2\n", b"1\n2\n"),
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
    db.insert("verb_set", run="demo", path="a.txt", body="1\n2\n")
    db.run("Go on", run="demo")
    assert (root / "a.txt").read_bytes() == b"1\n2\n"
