"""A run without a folder: its file effects fail with an error of their own, alone and in a patch.

spec: @file_writes @effects
"""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import DONE, script

import engine

PATCH = '<set path="a.txt">*** Begin Patch\n*** Add File: a.txt\n+a\n*** Add File: b.txt\n+b\n*** End Patch\n</set>'


@pytest.mark.parametrize("answer", ['<set path="a.txt">text\n</set>', PATCH], ids=["write", "patch"])
def test_a_file_of_a_run_without_a_folder_is_refused(
    tmp_path: Path, db: engine.Database, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    (here := tmp_path / "here").mkdir()
    monkeypatch.chdir(here)
    db.run("Go", run="demo", yolo=True, model=script(tmp_path, answer, DONE, DONE))
    told = db.rows("select outcome, status, message from command_results where run = 'demo' and path = 'a.txt'")
    assert [(row["outcome"], row["status"]) for row in told] == [("permission", 403)]
    assert "this run has no folder" in told[0]["message"]
    assert list(here.iterdir()) == []
