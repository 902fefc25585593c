"""Forks: a child starts from what its parent saw, now or at a past turn, and then they part.

spec: @fork @run_views @python_contract
"""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import DONE, GO_ON, script

import engine


def known(db: engine.Database, run: str) -> dict[str, str]:
    rows = db.rows("select path, body from known_entries where run = ? and scheme = 'known'", (run,))
    return {row["path"]: row["body"] for row in rows}


@pytest.fixture
def parent(db: engine.Database, tmp_path: Path) -> str:
    model = script(
        tmp_path,
        '<set path="known://a">one</set>' + GO_ON,
        '<set path="known://a">two</set><set path="known://b">bee</set>' + GO_ON,
        '<rm path="known://b"/>' + DONE,
    )
    return db.run("Keep notes", model=model, run="parent").run


def test_a_fork_from_now_has_the_present_notes(db: engine.Database, parent: str) -> None:
    child = db.fork(parent, "child")
    assert known(db, child) == known(db, parent) == {"known://a": "two"}
    assert db.row("select parent, status from run_overview where run = 'child'") == {"parent": parent, "status": 100}


def test_a_fork_from_a_past_turn_has_the_notes_of_then(db: engine.Database, parent: str) -> None:
    assert known(db, db.fork(parent, "first", at=1)) == {}
    assert known(db, db.fork(parent, "second", at=2)) == {"known://a": "one"}
    assert known(db, db.fork(parent, "third", at=3)) == {"known://a": "two", "known://b": "bee"}


def test_the_childs_packet_has_what_the_parents_had(db: engine.Database, parent: str, tmp_path: Path) -> None:
    child = db.fork(parent, "child", at=3)
    result = db.run("Keep notes", run=child, model=script(tmp_path, DONE))
    assert result.turns == 1
    of_child = db.value("select body from packet_texts where run = 'child' and turn = 3 and role = 'user'")
    of_parent = db.value("select body from packet_texts where run = 'parent' and turn = 3 and role = 'user'")
    for section in ("summary", "visible"):
        start, end = f"<{section}>", f"</{section}>"
        assert (
            of_child[of_child.index(start) : of_child.index(end)]
            == of_parent[of_parent.index(start) : of_parent.index(end)]
        )


def test_neither_side_sees_what_the_other_writes(db: engine.Database, parent: str, tmp_path: Path) -> None:
    child = db.fork(parent, "child")
    for run in (parent, child):
        answered = db.value("select responses from runs where alias = ?", (run,))
        text = f'<set path="known://a">{run}</set><set path="known://{run}">x</set>' + DONE
        model = script(tmp_path, *["said before"] * answered, text)
        db.run("Go on", run=run, model=model)
    assert known(db, parent) == {"known://a": "parent", "known://parent": "x"}
    assert known(db, child) == {"known://a": "child", "known://child": "x"}


def test_a_fork_of_a_fork_reads_what_its_grandparent_wrote(db: engine.Database, parent: str, tmp_path: Path) -> None:
    db.fork(parent, "child")
    db.fork("child", "grandchild")
    db.insert("verb_set", run="grandchild", path="known://a", body="mine")
    assert known(db, "grandchild") == {"known://a": "mine"}
    assert known(db, "child") == known(db, parent) == {"known://a": "two"}


def test_no_body_is_copied(db: engine.Database, parent: str) -> None:
    before = db.value("select count(*) from contents")
    db.fork(parent, "child")
    db.fork(parent, "other", at=2)
    assert db.value("select count(*) from contents") == before


def test_turns_go_on_counting_along_a_line_of_forks(db: engine.Database, parent: str, tmp_path: Path) -> None:
    model = script(tmp_path, DONE)
    db.fork(parent, "now")
    db.fork(parent, "then", at=2)
    for run in ("now", "then"):
        db.run("Go on", run=run, model=model)
    rows = db.rows("select run, turn from turn_timeline where run <> 'parent'")
    assert [(row["run"], row["turn"]) for row in rows] == [("now", 4), ("then", 2)]


def test_a_prompt_and_a_fork_in_one_go(db: engine.Database, parent: str, tmp_path: Path) -> None:
    result = db.run("Again", run="child", fork=parent, at=2, model=script(tmp_path, DONE))
    assert (result.status, known(db, "child")) == (200, {"known://a": "one"})


def test_forking_what_is_not_there_is_refused(db: engine.Database, parent: str) -> None:
    with pytest.raises(engine.NotFound, match="404 run 'nobody': there is no such run, so it cannot be forked"):
        db.fork("nobody", "child")
    with pytest.raises(engine.NotFound, match="404 run parent: has no turn 7; its last turn is 3"):
        db.fork(parent, "child", at=7)
    assert db.value("select count(*) from runs") == 1


def test_a_named_fork_has_its_parents_model(db: engine.Database, parent: str) -> None:
    assert db.run("Again", run="child", fork=parent, at=1).status == 200
    assert len(db.rows("select distinct model from runs")) == 1
