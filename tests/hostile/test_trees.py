"""What lies between delegation, acceptance, workflows and the answer cache: no run below another may more than that
one.

1. What is closed above is closed below. 2. Which models a model can name. 3. Criteria that a model gives. 4. Judges and the
answer cache. 5. Undo, rewind, fork and purge of the runs of a tree.

spec: @children @delegation @model_tiers @judge @answer_cache @purge @undo @rewind
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from delegating import DONE, GO_ON, Cast, ended, gives

import engine
from engine.errors import Conflict

WRITES = '<set path="a.md">by the child</set>'


def drive(db: engine.Database, cast: Cast, root: Path | None = None, run: str = "demo", **options: Any) -> Any:
    return db.run("Do it", model=cast, run=run, root=root, **{"max_depth": 1, **options})


def told(db: engine.Database, action: str = "subtask", run: str = "demo") -> list[tuple[int, str]]:
    asked = "select status, body from run_log where run = ? and action = ? order by turn, ordinal"
    return [(row["status"], row["body"]) for row in db.rows(asked, (run, action))]


# what is closed above


def test_the_tools_that_are_closed_to_a_step_are_closed_to_what_it_delegates_to(
    db: engine.Database, tmp_path: Path
) -> None:
    flow = tmp_path / "flow.yaml"
    flow.write_text(
        "name: flow\ndescription: d\nsteps:\n  - {id: one, instruction: Look, tools: [get, subtask]}\n",
        encoding="utf-8",
    )
    cast = Cast(
        {"flow-one": [gives("write it"), DONE], "flow-one-1": [WRITES + GO_ON, "<sh>touch b</sh>" + GO_ON, DONE]}
    )
    result = db.run_workflow(flow, run="flow", model=cast, root=tmp_path, max_depth=2, yolo=True)
    assert result.status == 200
    assert {status for action in ("set", "sh") for status, _ in told(db, action, "flow-one-1")} == {403}
    assert not (tmp_path / "a.md").exists()
    assert "<sh>" not in cast.seen("flow-one-1")


# models


NAMES = {
    "scripted:/etc/passwd": 404,
    "gguf:/etc/passwd": 404,
    "replay:/etc/passwd#a": 404,
    "openai/gpt-5": 404,
    "http://127.0.0.1/v1": 404,
    "../../etc/passwd": 404,
    "": 404,
    "opus": 403,
}


@pytest.mark.parametrize("attribute", ["model", "accept_model"])
def test_a_model_names_no_file_and_no_model_that_nobody_configured(db: engine.Database, attribute: str) -> None:
    db.execute("insert into models (alias, actual, created_at) values ('opus', 'anthropic/claude-opus-4-5', 0)")
    asked = "".join(gives("do it", **{"accept": "good", attribute: name}).removesuffix(GO_ON) for name in NAMES)
    assert drive(db, Cast({"demo": [asked + GO_ON, DONE]})).status == 200
    assert [status for status, _ in told(db)] == [*NAMES.values()]
    assert [run.run for run in db.runs()] == ["demo"]


@pytest.mark.parametrize("attribute", ["model", "accept_model"])
def test_a_model_that_cannot_be_asked_here_is_refused_and_does_not_stop_the_parent(
    db: engine.Database, attribute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    names = {"a": "nosuch/model", "b": "gguf:/none.gguf", "c": "anthropic/unheard-of"}
    for alias, actual in names.items():
        db.execute("insert into models (alias, actual, created_at) values (?, ?, 0)", (alias, actual))
    asked = "".join(gives("do it", **{"accept": "good", attribute: name}).removesuffix(GO_ON) for name in names)
    assert drive(db, Cast({"demo": [asked + GO_ON, DONE]})).status == 200
    assert [(status, body.endswith("Leave the model out.")) for status, body in told(db)] == [(404, True)] * 3
    assert [run.run for run in db.runs()] == ["demo"]


# criteria


def test_the_criteria_that_a_model_gives_hold_for_its_child(db: engine.Database) -> None:
    given = gives("do it", accept="good", accept_attempts="1")
    cast = Cast({"demo": [given, DONE], "demo-1-1": ["FAIL\nnot good"]})
    assert drive(db, cast).status == 200
    assert [(row["attempt"], row["verdict"]) for row in db.rows("select * from acceptances")] == [(1, "fail")]
    assert "not accepted after 1 attempt" in told(db)[0][1]


def test_attempts_that_are_no_number_are_refused_and_nothing_begins(db: engine.Database) -> None:
    wrong = ("x", "0", "1e9", "99999999999999999999")
    asked = "".join(gives("do it", accept="good", accept_attempts=each).removesuffix(GO_ON) for each in wrong)
    assert drive(db, Cast({"demo": [asked + GO_ON, DONE]})).status == 200
    assert [status for status, _ in told(db)] == [400] * 4
    assert [run.run for run in db.runs()] == ["demo"]


def test_nothing_else_that_a_model_says_of_its_child_counts(db: engine.Database) -> None:
    options = {
        "yolo": "1", "sandbox": "off", "network": "on", "mode": "act", "persona": "reviewer", "system_prompt": "evil",
        "root": "/", "max_depth": "8", "overwrite_unseen": "1", "answer_cache": "1", "temperature": "2", "tools": "sh",
    }  # fmt: skip
    cast = Cast({"demo": [gives("do it", **options), DONE]})
    assert drive(db, cast, mode="ask", no_web=True).status == 200
    child = db.row(
        "select r.*, l.mode, l.config from runs as r join loops as l on l.run_id = r.id where alias = 'demo-1'"
    )
    parent = db.row(
        "select r.*, l.mode, l.config from runs as r join loops as l on l.run_id = r.id where alias = 'demo'"
    )
    assert child is not None
    assert parent is not None
    assert json.loads(child["config"]) == json.loads(parent["config"])
    for column in ("mode", "persona", "system_prompt", "temperature", "project_id", "model"):
        assert child[column] == parent[column], column


# judges and the cache


def test_a_judge_is_never_answered_from_the_cache(db: engine.Database) -> None:
    db.execute("update settings set value = '1' where name = 'answer_cache'")
    same, accepts = [f"the same{ended()}"], ["PASS\nfine"]
    cast = Cast({"one": same, "two": same, "one-1": accepts, "two-1": accepts})
    for run in ("one", "two"):
        assert drive(db, cast, run=run, accept="good").status == 200
    assert ("two-1", 0) in cast.asked
    assert "two-1" not in [row["run"] for row in db.rows("select run from answer_hits")]


def test_an_answer_that_was_not_accepted_is_not_given_again(db: engine.Database) -> None:
    cast = Cast({"one": [f"wrong{ended()}"], "one-1": ["FAIL\nwrong"], "two": [f"right{ended()}"]})
    assert drive(db, cast, run="one", answer_cache=True, accept="good", accept_attempts=1).status == 200
    assert drive(db, cast, run="two", answer_cache=True).answer == "right"
    assert not db.rows("select * from answer_hits")


# undo, rewind, fork and purge of the runs of a tree


def test_each_run_of_a_tree_is_taken_back_forked_and_purged_by_its_own_name(
    db: engine.Database, workspace_dir: Path
) -> None:
    cast = Cast({"demo": [gives("write it"), DONE], "demo-1": [WRITES + ended()]})
    assert drive(db, cast, workspace_dir, yolo=True).status == 200
    with pytest.raises(Conflict, match="has child runs or forks: demo-1; purge them first"):
        db.purge("demo")
    assert db.undo("demo-1").status == 200
    assert not (workspace_dir / "a.md").exists()
    db.run("More", model=cast, run="fork", fork="demo-1")
    assert db.row("select role, depth from runs where alias = 'fork'") == {"role": "main", "depth": 0}
    assert db.value("select group_concat(r.alias) from children as c join runs as r on r.id = c.run_id") == "demo-1"
    for run in ("fork", "demo-1", "demo"):
        db.purge(run)
    assert not db.runs()
    assert not db.rows("select 1 from children union all select 1 from write_claims")


def test_a_rewind_leaves_children_that_wait_with_the_old_line(db: engine.Database, workspace_dir: Path) -> None:
    cast = Cast({"demo": [gives("write it"), DONE], "demo-1": [WRITES + ended()], "demo-2": [ended()]})
    assert drive(db, cast, workspace_dir).status == 202
    assert db.rewind("demo", 1).old == "demo.1"
    assert [proposal["run"] for proposal in db.proposals("demo.1")] == ["demo-1"]
    assert not db.proposals("demo")
    db.resolve("demo.1", accept=True)
    assert db.resume("demo.1").status == 200
    assert (workspace_dir / "a.md").read_text("utf-8").startswith("by the child")
