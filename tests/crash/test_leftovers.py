"""Temporary files that a kill in the middle of a write leaves beside their target.

1. The next write in that folder removes them.
2. One that another process is writing stays, and so does every other file.
3. Many who write in one folder at once do not take each other's for leftovers.
"""

from __future__ import annotations

import fcntl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from crash.harness import files

from engine.project.workspace import Workspace

LEFT = ".engine-0123456789abcdef.tmp"


def test_leftover_of_a_killed_write_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / LEFT).write_text("half of it")
    (tmp_path / ".engine-notes.tmp").write_text("a person's own")
    Workspace(tmp_path).write("notes.md", "whole\n", before=None)
    assert files(tmp_path) == {"notes.md": "whole\n", ".engine-notes.tmp": "a person's own"}


def test_temporary_file_that_is_being_written_stays(tmp_path: Path) -> None:
    with (tmp_path / LEFT).open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        Workspace(tmp_path).write("notes.md", "whole\n", before=None)
        assert set(files(tmp_path)) == {"notes.md", LEFT}


def test_many_write_in_one_folder_at_once(tmp_path: Path) -> None:
    def write(writer: int) -> None:
        for number in range(40):
            Workspace(tmp_path).write(f"{writer}_{number}.txt", "whole\n", before=None)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert set(files(tmp_path).values()) == {"whole\n"}
    assert len(files(tmp_path)) == 8 * 40
