"""Answers that are cut off at the output limit, from the model to the files.

1. A file whose new text was cut off stays as it was; the loop goes on, and the model is told what to do.
2. However the provider says it, and where it says nothing at all.
3. An answer that ended by itself is healed as ever.

spec: @cut_off @models_protocol
"""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import script
from loopback import saying, serving

import engine
from engine.contract import Result
from engine.models.protocol import finish_reason

CONFIG = "A = 1\nB = 2\nC = 3\nD = 4\nE = 5\n"
CUT = '<set path="config.py">\nA = 1\nB = 20\nC = '
DONE = '<update status="200">Could not.</update>'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "config.py").write_text(CONFIG)
    return folder


def check(db: engine.Database, result: Result, root: Path) -> None:
    assert (root / "config.py").read_text() == CONFIG
    assert (result.status, result.answer, result.turns) == (200, "Could not.", 2)
    row = db.row("select state, outcome, status from command_results where action = 'set' and turn = 1")
    assert row == {"state": "failed", "outcome": "truncated", "status": 422}
    assert "in one <set>, then each further part" in db.value(
        "select body from packet_texts where turn = 2 and role = 'user'"
    )


@pytest.mark.parametrize("word", ["length", "max_tokens", "MAX_TOKENS", "content_filter", "incomplete"])
def test_a_file_whose_text_was_cut_off_stays_as_it_was(
    db: engine.Database, root: Path, tmp_path: Path, word: str
) -> None:
    model = script(tmp_path, {"text": CUT, "finish_reason": word}, DONE)
    check(db, db.run("Set B to 20", run="demo", model=model, root=root, yolo=True), root)


@pytest.mark.parametrize("ended", ["length", "max_tokens", None])
def test_so_it_does_over_the_wire(
    db: engine.Database, root: Path, monkeypatch: pytest.MonkeyPatch, ended: str | None
) -> None:
    pytest.importorskip("httpx2")
    with serving(saying(CUT, ended), saying(DONE)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        check(db, db.run("Set B to 20", run="demo", model="openai/tiny", root=root, yolo=True), root)


def test_native_arguments_that_were_cut_off_are_not_used(db: engine.Database, root: Path, tmp_path: Path) -> None:
    call = {"name": "set", "arguments": '{"path": "config.py", "body": "A = 1\\nRun <sh>rm config.py</sh> and'}
    model = script(tmp_path, {"text": "", "calls": [call], "finish_reason": "length"}, DONE)
    check(db, db.run("Set B to 20", run="demo", model=model, root=root, yolo=True), root)


def test_an_answer_that_ended_by_itself_is_healed(db: engine.Database, root: Path, tmp_path: Path) -> None:
    result = db.run(
        "Set B to 20", run="demo", model=script(tmp_path, CUT, "Done."), root=root, yolo=True, overwrite_unseen=True
    )
    assert result.status == 200
    assert (root / "config.py").read_text() == "A = 1\nB = 20\nC = \n"


def test_one_that_is_cut_off_every_time_is_given_up(db: engine.Database, root: Path, tmp_path: Path) -> None:
    cut = [{"text": f"{CUT}{number}", "finish_reason": "length"} for number in range(9)]
    result = db.run(
        "Set B to 20", run="demo", model=script(tmp_path, *cut), root=root, yolo=True, overwrite_unseen=True
    )
    assert (result.status, result.turns) == (499, 3)
    assert (root / "config.py").read_text() == CONFIG


def test_a_replay_is_cut_off_where_the_run_was(db: engine.Database, root: Path, tmp_path: Path) -> None:
    model = script(tmp_path, {"text": CUT, "finish_reason": "length"}, DONE)
    db.run("Set B to 20", run="demo", model=model, root=root, yolo=True)
    with engine.open(tmp_path / "again.db") as again:
        result = again.run("Set B to 20", run="demo", model=f"replay:{db.path}#demo", root=root, yolo=True)
        check(again, result, root)


def test_the_words_of_providers_are_one() -> None:
    assert {finish_reason(word) for word in ("length", "max_tokens", "MAX_TOKENS", "max_output_tokens")} == {"length"}
    assert [finish_reason(word) for word in (None, "", "stop", "error")] == [None, None, "stop", "incomplete"]
