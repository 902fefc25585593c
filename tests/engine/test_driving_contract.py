"""What a caller may do while a run is driven, and what it may answer.

1. `on_proposal` answers with True, False, a text or None; anything else is a TypeError, and nothing is decided.
2. A decision is dated by the clock of the database.
3. A run is cannot be driven inside a transaction.
4. A proposal that the decision on another one has settled is not asked about.

spec: @python_contract @driver_loop
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from driving import DONE, START_MS, Clock, begin, script
from fresh import fresh

import engine

WRITE = '<set path="a.txt">x</set>'


@pytest.mark.parametrize(
    "answer", [0, 1, [], {}, math.nan, 1.0, b"yes", "", object()], ids=lambda answer: type(answer).__name__
)
def test_an_answer_that_means_nothing_decides_nothing(
    db: engine.Database, tmp_path: Path, workspace_dir: Path, answer: object
) -> None:
    model = script(tmp_path, WRITE, DONE)
    with pytest.raises(TypeError, match=r"on_proposal returned .*True to accept"):
        db.run("Go", run="demo", model=model, root=workspace_dir, on_proposal=lambda _: answer)  # type: ignore[arg-type, return-value]
    assert db.rows("select path from open_proposals where run = 'demo'") != []
    assert db.value("select count(*) from resolutions") == 0
    assert not (workspace_dir / "a.txt").exists()
    assert db.resume("demo", on_proposal=lambda _: True).status == 200
    assert (workspace_dir / "a.txt").exists()


def test_a_text_is_no_answer_to_a_command_line(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    model = script(tmp_path, "<sh>touch made.txt</sh>", DONE)
    with pytest.raises(engine.ValidationError, match=r"log://turn_1/sh/touch_made\.txt: its text cannot be replaced"):
        db.run("Go", run="demo", model=model, root=workspace_dir, on_proposal=lambda _: "no, better not")
    assert db.value("select count(*) from resolutions") == 0
    assert not (workspace_dir / "made.txt").exists()


@pytest.mark.parametrize("answer", [True, False, "by a person"])
def test_a_decision_of_a_callback_is_dated(tmp_path: Path, workspace_dir: Path, answer: bool | str) -> None:
    with fresh(clock=Clock(step=1)) as db:
        db.run("Go", run="demo", model=script(tmp_path, WRITE, DONE), root=workspace_dir, on_proposal=lambda _: answer)
        (decided,) = db.rows("select created_at, decided_by from resolutions")
        assert decided["created_at"] > START_MS
        assert decided["decided_by"] == "callback"


def test_a_run_is_not_driven_inside_a_transaction(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    model = script(tmp_path, "<sh>touch made.txt</sh>", DONE)
    with db.transaction(), pytest.raises(engine.Conflict, match="cannot work inside a transaction"):
        db.run("Go", run="demo", model=model, root=workspace_dir, yolo=True)
    assert db.value("select count(*) from runs where alias = 'demo'") == 0
    assert not (workspace_dir / "made.txt").exists()
    begin(db, "demo", model=model)
    with db.transaction(), pytest.raises(engine.Conflict, match="409"):
        db.resume("demo")
    assert db.value("select count(*) from turns") == 0
    assert db.resume("demo").status in (200, 202)


def test_a_prompt_that_cannot_be_driven_is_not_stored(db: engine.Database, tmp_path: Path) -> None:
    """It stayed in line, and who tried again had it done twice."""
    model = script(tmp_path, DONE, DONE)
    db.insert("setting_layers", name="threads", layer="file", value="nope")
    for give in (db.run, db.start):
        with pytest.raises(engine.ValidationError, match="there is no built-in thread 'nope'"):
            give("Go", run="demo", model=model)
    with db.transaction():  # of an app that goes on
        with pytest.raises(engine.ValidationError, match="there is no built-in thread 'nope'"):
            db.start("Go", run="demo", model=model)
        db.insert("verb_set", run="other", path="run://other", body="x", attributes='{"model": "m"}')
    assert [run.run for run in db.runs()] == ["other"]
    db.execute("delete from setting_layers where name = 'threads'")
    assert db.run("Go", run="demo", model=model).status == 200
    with engine.open(db.path) as other:
        refused: list[str] = []

        def give_too(event: engine.Event) -> None:
            if event["type"] == "turn":
                with pytest.raises(engine.LeaseHeld) as error:
                    other.run("And this", run="demo")
                refused.append(error.value.message)

        assert db.run("Go on", run="demo", on_event=give_too).status == 200
    assert refused == ["run demo: another process works on it; wait, or stop it: engine abort demo"]
    assert db.rows("select loop, status from loop_list where run = 'demo'") == [
        {"loop": 1, "status": 200},
        {"loop": 2, "status": 200},
    ]


def test_an_empty_name_names_no_run(db: engine.Database, tmp_path: Path) -> None:
    """It began a new run, as if none had been named."""
    model = script(tmp_path, DONE)
    for give in (db.run, db.start):
        with pytest.raises(engine.ValidationError, match="the name of the run is empty"):
            give("Go", run="", model=model)
    assert db.runs() == []


def test_a_prompt_that_is_refused_when_it_is_stored_leaves_no_lease(db: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, DONE, DONE)
    assert db.run("Go", run="demo", model=model).status == 200

    def refuse(driver: object) -> None:
        raise RuntimeError("the app is not ready")

    with pytest.raises(RuntimeError, match="not ready"):
        db.run("Go on", run="demo", on_driver=refuse)
    assert db.value("select count(*) from leases") == 0
    assert db.resume("demo").status == 200


def test_a_proposal_that_another_decision_settled_is_not_asked_about(
    db: engine.Database, tmp_path: Path, workspace_dir: Path
) -> None:
    asked = []

    def reject_all(proposal: dict[str, object]) -> bool:
        asked.append(proposal["target"])
        db.resolve("demo", accept=False)
        return False

    (workspace_dir / "c.txt").write_text("c")
    (workspace_dir / "d.txt").write_text("d")
    model = script(tmp_path, '<rm path="*.txt"/>', DONE)
    db.run("Remove", run="demo", model=model, root=workspace_dir, on_proposal=reject_all, overwrite_unseen=True)
    assert asked == ["c.txt"]
    assert db.value("select count(*) from resolutions") == 1
