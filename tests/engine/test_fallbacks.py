"""Another model goes on with a prompt where one fails.

1. On which failures, and which not. 2. What is told and what it costs. 3. Several turns, several models, limits. 4. The
terminal. 5. Values that are none.

spec: @fallbacks @model_failures
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON
from engine_cli import engine as command
from engine_cli import script as command_script

import engine
from engine.errors import EngineError, NotFound, ValidationError
from engine.models.protocol import STATUS_BY_CATEGORY, Completion, ModelError, Request, Usage

OTHERS = (
    "timeout", "gateway", "unreachable", "certificate", "warmup", "rate_limit", "server", "auth", "not_found",
)  # fmt: skip
"""The failures after which another model is asked."""


class Failing:
    """A model that fails at each position from `first` on, and goes on before."""

    def __init__(self, name: str, category: str = "server", first: int = 0, cost: float = 0.5) -> None:
        self.name = name
        self.asked: list[Request] = []
        self._fails = category, first
        self._cost = cost

    def complete(self, request: Request, *_: Any) -> Completion:
        """An answer that goes on, or the failure."""
        self.asked.append(request)
        category, first = self._fails
        if request.position >= first:
            raise ModelError(category, f"{self.name} is broken", final=True)
        text = f'<set path="known://{self.name}{request.position}">x</set>{GO_ON}'
        return Completion(text, "", Usage(10, 0, 5, 0, self._cost))


class Good(Failing):
    """A model that is done at once."""

    def complete(self, request: Request, *_: Any) -> Completion:
        """Its answer."""
        self.asked.append(request)
        return Completion(f'<update status="200">{self.name} did it.</update>', "", Usage(10, 0, 5, 0, self._cost))


# 1. on which


@pytest.mark.parametrize("category", sorted(STATUS_BY_CATEGORY))
def test_some_failures_ask_the_next_model(db: engine.Database, category: str) -> None:
    first, second = Failing("first", category), Good("second")
    result = db.run("Go", run="demo", model=[first, second])
    assert (result.answer == "second did it.") == (category in OTHERS)
    assert (result.status == 200) == (category in OTHERS)
    status = STATUS_BY_CATEGORY[category]
    assert db.value("select max(falls_back) from fallback_failures where status = ?", (status,)) == (category in OTHERS)


def test_a_person_says_on_which(db: engine.Database) -> None:
    db.execute("update fallback_failures set falls_back = 0 where status = 500")
    assert db.run("Go", model=[Failing("first"), Good("second")]).status == 500
    db.execute("update fallback_failures set falls_back = 1 where status = 400")
    assert db.run("Go", model=[Failing("third", "invalid"), Good("second")]).status == 200
    with pytest.raises(EngineError, match="falls_back"):
        db.execute("update fallback_failures set falls_back = 2 where status = 400")


def test_a_model_with_another_behind_it_is_given_up_sooner(db: engine.Database) -> None:
    db.start("Go", run="demo", model=[Good("first"), Good("second")])
    db.insert("_begin_turn", run="demo")
    deadlines = "select deadline_s from _model_requests where run = 'demo'"
    assert db.value(deadlines) == 30
    db.execute("update settings set value = '5' where name = 'fallback_deadline'")
    assert db.value(deadlines) == 5
    db.start("Go", run="alone", model=Good("first"))
    db.insert("_begin_turn", run="alone")
    assert db.value("select deadline_s from _model_requests where run = 'alone'") == 600


# 2. told


def test_it_is_told_and_the_cost_is_that_of_who_answered(db: engine.Database) -> None:
    events: list[dict[str, Any]] = []
    first, second = Failing("first", "rate_limit", first=1, cost=0.5), Good("second", cost=0.25)
    result = db.run("Go", run="demo", model=[first, second], on_event=events.append)  # type: ignore[arg-type]
    assert (result.turns, result.cost, result.tree_cost) == (3, 0.75, 0.75)
    loops = [(event["status"], event.get("body")) for event in events if event["type"] == "loop"]
    assert loops == [(204, "object:first failed (429); object:second goes on"), (200, None)]
    assert [event["body"] for event in events if event["type"] == "error"] == ["first is broken"]
    assert db.sql("select * from prompt_fallbacks") == [
        {
            "run": "demo", "loop": 1, "turn": 2, "model": "object:first", "next_model": "object:second", "status": 429,
            "message": "first is broken",
        }
    ]  # fmt: skip
    assert db.value("select decided_by from prompt_handoffs") == "engine"
    assert [row["model"] for row in db.sql("select model from model_calls order by id")] == [
        "object:first", "object:first", "object:second",
    ]  # fmt: skip
    # it sees what was done
    assert "known://first0" in "".join(message.content for message in second.asked[0].messages)


# 3. several


def test_the_models_are_asked_in_their_order_until_one_answers(db: engine.Database) -> None:
    models = [Failing("a"), Failing("b", "auth"), Failing("c", "timeout"), Good("d"), Good("e")]
    result = db.run("Go", run="demo", model=models)
    assert (result.answer, [len(model.asked) for model in models]) == ("d did it.", [1, 1, 1, 1, 0])
    all_fail = db.run("Go", run="demo", model=[Failing("a"), Failing("b", "auth")])
    assert (all_fail.status, all_fail.reason) == (500, "b is broken")
    # a later prompt begins with the model of the run
    assert db.run("Go", run="demo").reason == "a is broken"


def test_a_model_that_stands_there_twice_counts_once(db: engine.Database) -> None:
    one, other = Failing("one"), Failing("other")
    assert db.run("Go", model=[one, other, one, other], fallback_models=[other]).status == 500
    assert (len(one.asked), len(other.asked)) == (1, 1)


def test_limits_and_tools_go_on(db: engine.Database) -> None:
    first, second = Failing("first", first=1), Failing("second", first=99)
    result = db.run("Go", model=[first, second], max_calls=3, tools=[])
    assert (result.status, len(first.asked), len(second.asked)) == (499, 2, 1)
    assert db.value("select count(distinct config ->> '$.tools') from loops") == 1
    assert db.value("select count(*) from loops where config ->> '$.tools' = ''") == 2


def test_a_kill_between_the_two_goes_on_with_the_next(db: engine.Database) -> None:
    first, second = Failing("first"), Good("second")
    db.start("Go", run="demo", model=[first, second])
    db.insert("_begin_turn", run="demo")
    turn = db.value("select turn_id from _next_steps where run = 'demo'")
    db.insert("_submit_packet", turn_id=turn, chars=100)
    db.insert("_open_call", turn_id=turn)
    db.insert("_fail_call", turn_id=turn, status=503, message="gone")
    assert db.row("select status, prompt from loops where sequence = 2") == {"status": 100, "prompt": "Go"}
    assert db.resume("demo").answer == "second did it."
    assert first.asked == []


# 4. the terminal


def test_the_terminal_says_who_goes_on(folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text(json.dumps({"error": {"status": 503, "message": "overloaded"}}) + "\n")
    good = command_script(tmp_path / "good.jsonl", ["", DONE])
    done = command(folder, "run", "--no-repo", "--model", f"scripted:{broken}", "--fallback", good, "Go")
    assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
    assert f"scripted:{broken} failed (503); {good} goes on" in done.stderr


# 5. values


def test_what_is_no_list_of_models_is_refused(db: engine.Database) -> None:
    wrong: list[Any] = [[], [7], [None], [b"a"], [object()], [["a"]], {"a": 1}, 7]
    for each in wrong:
        with pytest.raises((TypeError, EngineError)):
            db.run("Go", model=each)
    for each in ["a", 7, [7], [None], {"a": 1}]:
        with pytest.raises((TypeError, EngineError)):
            db.run("Go", model=Good("a"), fallback_models=each)
    with pytest.raises(NotFound, match="no-such"):
        db.run("Go", model=[Good("a"), "no-such"])
    for text in ("x", "{}", "[1]", '[""]', '["a","a"]', json.dumps([f"m{n}" for n in range(9)]), "7", "[null]"):
        attributes = json.dumps({"model": "scripted:none", "fallback_models": text})
        with pytest.raises(ValidationError, match="at most 8 names of models"):
            db.insert("verb_set", run="a", path="run://a", body="x", attributes=attributes)
    assert db.value("select count(*) from loops") == 0
