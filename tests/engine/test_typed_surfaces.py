"""A typed answer is the same wherever a prompt comes from: a run below, a step of a workflow, a client of RPC.

1. A subtask with a schema hands on JSON; one that never fits says so; a schema that is none is refused.
2. A step of a workflow with `output` hands its JSON on; one whose answer never fits has failed.
3. A client of RPC gives a schema as an object.
4. A model that calls tools natively is given the schema in its tool `update`, and OpenAI's API as the form of its text.

spec: @typed_answers @delegation @workflow_steps @workflows
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from delegating import DONE, GO_ON, Cast
from driving import script
from rpc_client import served
from workflow_steps import said, workflow

import engine

FORM = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}
TEXT = json.dumps(FORM).replace('"', "&quot;")


# 1. a run below


def test_a_subtask_hands_its_answer_on_as_json(db: engine.Database) -> None:
    task = f'<subtask output="{TEXT}">Find the port</subtask>{GO_ON}'
    cast = Cast({"demo": [task, DONE], "demo-1": [said("it is 9090"), said('{"port": 9090}')]})
    db.run("Do it", model=cast, run="demo", max_depth=1)
    (child,) = (run.run for run in db.runs() if run.run != "demo")
    assert db.value("select output from loop_results where run = ?", (child,)) == '{"port":9090}'
    assert db.result(child).output == {"port": 9090}
    told = db.value("select body from run_log where run = 'demo' and action = 'subtask'")
    assert "ended at 200" in told
    assert '{"port":9090}' in told


def test_a_subtask_that_never_fits_and_a_schema_that_is_none_are_told(db: engine.Database) -> None:
    wrong = '<subtask output="{&quot;type&quot;: &quot;float&quot;}">Find the port</subtask>'
    task = f'<subtask output="{TEXT}">Find the port</subtask>'
    cast = Cast({"demo": [wrong + GO_ON, task + GO_ON, DONE], "demo-1": [said("it is 9090")]})
    db.run("Do it", model=cast, run="demo", max_depth=1)
    first, second = (row["body"] for row in db.rows("select body from run_log where action = 'subtask' order by turn"))
    assert "output is not a usable JSON Schema: $.type" in first
    assert "ended at 406" in second
    assert [run for run, _ in cast.asked if run != "demo"] == ["demo-1"] * 3


# 2. a step of a workflow


def test_a_step_hands_its_answer_on_as_json(db: engine.Database, tmp_path: Path) -> None:
    steps: dict[str, dict[str, Any]] = {
        "find": {"answers": [said("9090"), said('{"port": 9090}')], "output": FORM},
        "use": {"answers": [said("used")], "needs": ["find"]},
    }
    result = db.run_workflow(workflow(tmp_path, steps))
    assert (result.status, db.value("select answer from step_list where step = 'find'")) == (200, '{"port":9090}')
    assert '{"port":9090}' in db.value("select prompt from loop_list where run like '%-use'")


def test_a_step_whose_answer_never_fits_has_failed(db: engine.Database, tmp_path: Path) -> None:
    steps: dict[str, dict[str, Any]] = {"find": {"answers": [said("9090")] * 3, "output": FORM}}
    result = db.run_workflow(workflow(tmp_path, steps))
    assert result.status != 200
    assert db.tuples("select state, status from step_list") == [("failed", 406)]
    with pytest.raises(engine.ValidationError, match="output is not a usable JSON Schema"):
        db.run_workflow(workflow(tmp_path, {"find": {"answers": ["x"], "output": {"type": "float"}}}))


# 3. a client of RPC


def test_a_client_of_rpc_gives_a_schema(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    model = script(tmp_path, said("it is 9090"), said('{"port": 9090}'))
    with served(folder) as server, server.client() as client:
        client.call("ask", prompt="Which port?", run="typed", model=model, output=FORM)
        state = client.wait("run/state", run="typed", status=200)
        assert json.loads(state["answer"]) == {"port": 9090}
        rows = client.call("sql", query="select place, fault from refused_answers")
        assert rows == [{"place": "$", "fault": "is not JSON: Expecting value in line 1, column 1"}]
        assert "output" in client.refusal("ask", prompt="Which port?", model=model, output={"$ref": "x.json"})[2]
