"""Whole runs with a scripted model: how they start, pause, go on, fail and end.

spec: @driver_loop @verdict @pause_and_resume @model_failures @cycle_detection @on_event @crash_safety
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from campaign import examples
from driving import GO_ON, script
from fresh import fresh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from engine.driving import runs
from engine.driving.loop import Driver

DONE = '<update status="200">Done it.</update>'


def log_of(db: engine.Database, run: str) -> list[tuple[Any, ...]]:
    rows = db.rows("select turn, action, state, outcome from run_log where run = ? and turn is not null", (run,))
    return [tuple(row.values()) for row in rows]


def test_a_run_reads_edits_and_answers(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    model = script(
        tmp_path,
        f'<get path="settings.ini"/>{GO_ON}',
        '<set path="settings.ini"><<SEARCH\nport = 8080\nSEARCH\n<<REPLACE\nport = 9090\nREPLACE</set>' + DONE,
    )
    result = db.run("Move the port", model=model, root=workspace_dir, yolo=True, run="demo")
    assert (result.run, result.status, result.answer, result.turns) == ("demo", 200, "Done it.", 2)
    assert "port = 9090" in (workspace_dir / "settings.ini").read_text()
    assert log_of(db, "demo") == [
        (1, "get", "resolved", None),
        (1, "update", "resolved", None),
        (2, "set", "resolved", None),
        (2, "update", "resolved", None),
    ]


def test_a_prompt_that_comes_when_the_driver_is_at_its_end_is_taken_up(db: engine.Database, tmp_path: Path) -> None:
    """It was refused a driver, because there was one, and nobody looked for it any more."""
    given: list[int] = []

    def hear(event: engine.Event) -> None:
        if event["type"] == "loop" and len(given) < 2:
            with engine.open(db.path) as other:
                given.append(other.start("And this", run="demo").loops)
                with pytest.raises(engine.Conflict, match="another process works on it"):
                    other.resume("demo")

    assert db.run("Go", model=script(tmp_path, *[DONE] * 3), run="demo", on_event=hear).turns == 1
    assert given == [2, 3]
    assert [db.result("demo", loop).status for loop in (1, 2, 3)] == [200, 200, 200]


@pytest.mark.parametrize(("stop_at", "statuses"), [("loop", [200, 100]), ("turn", [200, 102])])
def test_a_stop_reaches_who_takes_up_the_prompts_that_came_at_the_end(
    db: engine.Database, tmp_path: Path, stop_at: str, statuses: list[int]
) -> None:
    drivers: list[Driver] = []

    def hear(event: engine.Event) -> None:
        ended = db.value("select count(*) from loops where status = 200")
        if event["type"] == "loop":
            db.start("And this", run="demo")
        if ended and event["type"] == stop_at:
            drivers[0].stop()

    db.start("Go", model=script(tmp_path, DONE, DONE), run="demo")
    runs.drive(db, "demo", on_event=hear, on_driver=drivers.append)
    assert len(drivers) == 1
    assert [row["status"] for row in db.rows("select status from loop_list order by loop")] == statuses
    db.resume("demo")
    assert db.result("demo", 2).status == 200


def test_usage_and_cost_are_summed_over_the_loop(db: engine.Database, tmp_path: Path) -> None:
    usage = {"prompt_tokens": 100, "cached_tokens": 60, "completion_tokens": 10, "reasoning_tokens": 4, "cost": 0.25}
    model = script(tmp_path, {"text": GO_ON, "usage": usage, "reasoning": "hm"}, {"text": DONE, "usage": usage})
    result = db.run("Do it", model=model)
    assert result.usage == {
        "prompt_tokens": 200,
        "cached_tokens": 120,
        "completion_tokens": 20,
        "reasoning_tokens": 8,
    }
    assert result.cost == 0.5
    assert db.value("select reasoning from turns where sequence = 1") == "hm"


def test_a_proposal_waits_and_the_run_goes_on_when_it_is_decided(
    db: engine.Database, tmp_path: Path, workspace_dir: Path
) -> None:
    model = script(tmp_path, '<set path="new.txt">text</set><set path="known://x">y</set>' + GO_ON, DONE)
    waiting = db.run("Write it", model=model, root=workspace_dir, run="demo")
    assert (waiting.status, waiting.turns) == (202, 1)
    assert not (workspace_dir / "new.txt").exists()
    (proposal,) = db.rows("select * from open_proposals")
    assert (proposal["run"], proposal["action"], proposal["target"]) == ("demo", "set", "new.txt")
    assert db.resume("demo").status == 202, "nobody has decided yet"
    db.resolve("demo", proposal["path"], accept=True)
    assert db.value("select status from runs") == 202, "a decision alone does not drive"
    assert not (workspace_dir / "new.txt").exists()
    assert db.resume("demo").status == 200
    assert (workspace_dir / "new.txt").read_text() == "text\n"


def test_on_proposal_decides_while_the_run_is_driven(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    asked: list[dict[str, Any]] = []

    def decide(proposal: dict[str, Any]) -> bool | str:
        asked.append(proposal)
        return "9090" if proposal["kind"] == "question" else True

    model = script(tmp_path, "<ask_user>Which port?</ask_user>" + GO_ON, '<set path="port.txt">9090</set>' + DONE)
    result = db.run("Write the port", model=model, root=workspace_dir, on_proposal=decide)
    assert result.status == 200
    assert [row["kind"] for row in asked] == ["question", "file_write"]
    assert db.value("select message from commands where action = 'ask_user'") == "Which port?\n→ 9090"
    assert (workspace_dir / "port.txt").read_text() == "9090\n"


def test_a_rejection_with_a_reason_goes_on_and_the_next_packet_shows_it(
    db: engine.Database, tmp_path: Path, workspace_dir: Path
) -> None:
    model = script(tmp_path, '<set path="a.txt">x</set><think>later</think>' + GO_ON, DONE)
    db.run("Write it", model=model, root=workspace_dir, run="demo")
    db.resolve("demo", accept=False, reason="not that file")
    result = db.resume("demo")
    assert (result.status, result.answer, result.turns) == (200, "Done it.", 2)
    assert log_of(db, "demo")[1][2:] == ("failed", "aborted")
    packet = db.value("select body from packet_texts where turn = 2 and role = 'user'")
    assert "not that file" in packet
    assert not (workspace_dir / "a.txt").exists()


def test_yolo_decides_without_asking(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    model = script(tmp_path, "<sh>echo made > made.txt</sh>" + GO_ON, DONE)
    result = db.run("Make it", model=model, root=workspace_dir, yolo=True, on_proposal=lambda _: pytest.fail("asked"))
    assert result.status == 200
    assert (workspace_dir / "made.txt").read_text() == "made\n"
    assert db.value("select decided_by from resolutions") == "yolo"


@pytest.mark.parametrize("period", [1, 2, 3, 4])
def test_a_cycle_ends_the_loop_and_the_model_is_not_told(db: engine.Database, tmp_path: Path, period: int) -> None:
    answers = [f"<think>step {number % period}</think>{GO_ON}" for number in range(40)]
    result = db.run("Go", model=script(tmp_path, *answers), run="demo")
    what = "turn" if period == 1 else f"{period} turns"
    assert (result.status, result.reason) == (499, f'stopped: the same {what} over and over; "Go" is not done')
    assert result.turns == 3 * period + 2, "the third repeat is the first strike"
    assert db.value("select count(*) from turn_errors") == 0
    assert "over and over" not in "".join(row["body"] for row in db.rows("select body from packet_texts"))


def test_a_cycle_longer_than_the_limit_is_none(db: engine.Database, tmp_path: Path) -> None:
    answers = [f"<think>step {number % 5}</think>{GO_ON}" for number in range(20)]
    assert db.run("Go", model=script(tmp_path, *answers, DONE)).status == 200


def test_the_order_of_commands_does_not_hide_a_cycle(db: engine.Database, tmp_path: Path) -> None:
    one, two = '<set path="known://a">x</set>', '<set path="known://b">y</set>'
    answers = [(one + two if number % 2 else two + one) + GO_ON for number in range(9)]
    reason = db.run("Go", model=script(tmp_path, *answers)).reason
    assert reason == 'stopped: the same turn over and over; "Go" is not done'


def test_other_bodies_are_other_turns(db: engine.Database, tmp_path: Path) -> None:
    answers = [f'<set path="known://a">{number}</set>{GO_ON}' for number in range(8)]
    assert db.run("Go", model=script(tmp_path, *answers, DONE)).status == 200


@pytest.mark.parametrize(
    ("status", "loop", "run"), [(400, 500, 500), (401, 500, 500), (404, 500, 500), (429, 500, 500), (500, 500, 500)]
)
def test_a_model_that_fails_ends_the_loop(
    db: engine.Database, tmp_path: Path, status: int, loop: int, run: int
) -> None:
    model = script(tmp_path, {"error": {"status": status, "message": "broken key"}})
    result = db.run("Go", model=model, run="demo")
    assert (result.status, result.reason) == (loop, "broken key")
    assert db.value("select status from runs") == run
    assert db.rows("select state, status from model_calls") == [{"state": "failed", "status": status}]


def test_a_status_that_nobody_knows_counts_as_500(db: engine.Database, tmp_path: Path) -> None:
    result = db.run("Go", model=script(tmp_path, {"error": {"status": 418, "message": "teapot"}}))
    assert (result.status, result.reason) == (500, "teapot")


def test_a_model_that_is_too_slow_costs_a_strike(db: engine.Database, tmp_path: Path) -> None:
    slow = {"error": {"status": 504, "message": "too slow"}}
    result = db.run("Go", model=script(tmp_path, slow, slow, DONE))
    assert (result.status, result.turns) == (200, 3)
    again = db.run("Go", model=script(tmp_path, slow, slow, slow))
    assert (again.status, again.turns, again.reason) == (
        499,
        3,
        'stopped after 3 turns with errors in a row; "Go" is not done',
    )


def test_a_packet_that_the_model_refuses_is_demoted_once(db: engine.Database, tmp_path: Path) -> None:
    full = {"error": {"status": 413, "message": "context exceeded"}}
    prompt = "Go on with this: " + "word " * 200
    result = db.run(prompt, model=script(tmp_path, full, DONE), run="once")
    assert (result.status, result.turns) == (200, 1)
    assert db.value("select visibility from known_entries where path = 'prompt://1'") == "summarized"
    twice = db.run(prompt, model=script(tmp_path, full, full), run="twice")
    assert (twice.status, twice.turns) == (413, 1)
    assert db.value("select status from runs where alias = 'twice'") == 500
    assert db.value("select count(*) from run_log where run = 'twice' and action = 'error'") == 1


def test_a_failed_loop_leaves_the_queue_and_it_runs_next(db: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, {"error": {"status": 500, "message": "broke"}}, DONE)
    db.insert("verb_set", run="demo", path="run://demo", body="first", attributes=f'{{"model":"{model}"}}')
    db.insert("verb_set", run="demo", path="run://demo", body="second")
    db.resume("demo")
    assert db.rows("select loop, status from loop_list") == [
        {"loop": 1, "status": 500},
        {"loop": 2, "status": 200},
    ]


def test_the_answer_is_that_of_the_own_prompt(db: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, "the first answer", "the second answer")
    db.insert("verb_set", run="demo", path="run://demo", body="first", attributes=f'{{"model":"{model}"}}')
    result = db.run("second", run="demo")
    assert result.answer == "the second answer"
    assert [row["answer"] for row in db.rows("select answer from loop_list")] == [
        "the first answer",
        "the second answer",
    ]


def test_an_abort_from_another_thread_ends_the_call(tmp_path: Path) -> None:
    with fresh() as db:
        model = script(tmp_path, {"text": DONE, "delay_s": 3600})
        aborting = list[threading.Thread]()

        def abort_when_asked(event: dict[str, Any]) -> None:
            if event["type"] == "turn":
                aborting.append(threading.Thread(target=_abort, args=(db.path,)))
                aborting[-1].start()

        result = db.run("Go", model=model, run="demo", on_event=abort_when_asked)
        aborting[0].join()
        assert (result.status, result.reason) == (499, "enough")
        assert db.value("select count(*) from leases") == 0


def _abort(path: Path) -> None:
    with engine.open(path) as other:
        other.abort("demo", "enough")


def test_what_happens_is_told_in_order(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    events: list[dict[str, Any]] = []
    model = script(tmp_path, "<sh>echo hello</sh>" + GO_ON, '<get path="known://none"/>' + GO_ON, DONE)
    db.run("Go", model=model, root=workspace_dir, yolo=True, on_event=events.append)
    printed = next(place for place, event in enumerate(events) if event["type"] == "output")
    latest = events[printed - 1]["id"]
    events = [event for event in events if event["type"] != "sandbox"]  # which a machine without one tells, too
    assert [(event["type"], event.get("action")) for event in events] == [
        ("turn", None),
        ("delta", None),
        ("proposal", "sh"),
        ("begin", "sh"),
        ("output", None),
        ("command", "sh"),
        ("command", "update"),
        ("turn", None),
        ("delta", None),
        ("command", "get"),
        ("command", "update"),
        ("turn", None),
        ("delta", None),
        ("command", "update"),
        ("loop", None),
    ]
    begun = {key: events[3][key] for key in ("turn", "target", "path")}
    assert begun == {"turn": 1, "target": "echo hello", "path": "log://turn_1/sh/echo_hello"}
    assert events[4] == {"type": "output", "id": latest, "channel": 1, "text": "hello\n"}
    assert events[9]["status"] == 404


def test_a_run_that_was_left_in_the_middle_goes_on_where_it_stood(tmp_path: Path) -> None:
    with fresh() as db:
        model = script(tmp_path, GO_ON, '<set path="known://a">x</set>' + GO_ON, DONE)

        class Killed(BaseException):
            pass

        def die(event: dict[str, Any]) -> None:
            if event["type"] == "delta" and "known://a" in event["text"]:
                raise Killed

        with pytest.raises(Killed):
            db.run("Go", model=model, run="demo", on_event=die)
        assert db.value("select step from resumable_runs") == "ask"
        result = db.resume("demo")
        assert (result.status, result.turns) == (200, 3)
        assert [row["state"] for row in db.rows("select state from model_calls order by id")] == [
            "answered",
            "interrupted",
            "answered",
            "answered",
        ]


PIECES = st.sampled_from(
    [
        '<set path="known://a">',
        "</set>",
        '<get path="',
        '"/>',
        '<update status="102">',
        "</update>",
        "<think>",
        "</think>",
        "<rm path='**'/>",
        "<<SEARCH",
        "REPLACE",
        "s/a/b/",
        "known://",
        "run://demo",
        "log://turn_1/get/x",
        '{"name":"get","arguments":{"path":"a"}}',
        "```",
        "\n",
        "\0",
        "\ud83d",
        "&lt;",
        'status="1e999"',
        "status='{}'",
        '<mv path="known://a" to="known://',
        '<cp path="known://*" to="known://b"/>',
        "(a+)+$",
        'visibility="nowhere"',
        'limit="-1" line="x"',
    ]
)


@settings(examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answers=st.lists(st.lists(PIECES | st.text(max_size=20), max_size=8).map("".join), min_size=1, max_size=4))
def test_no_text_of_a_model_breaks_a_run(db: engine.Database, tmp_path: Path, answers: list[str]) -> None:
    result = db.run("Go", model=script(tmp_path, *answers, *[DONE] * 4))
    assert result.status in (200, 202, 204, 422, 499, 500)
    assert (db.value("select step from _next_steps where run = ?", (result.run,)) == "end") is (result.status != 202)
    if result.status == 202:
        db.abort(result.run)


def test_a_rule_that_breaks_fails_its_command_only(db: engine.Database, tmp_path: Path) -> None:
    db.execute(
        "create trigger commands__break after update of state on commands "
        "when new.state = 'performing' and new.path = 'known://b' begin select json('{'); end"
    )
    model = script(
        tmp_path,
        '<set path="known://a">x</set><set path="known://b">y</set><set path="known://c">z</set>' + DONE,
        DONE,
    )
    result = db.run("Go", model=model, run="demo")
    assert (result.status, result.turns) == (200, 2)
    assert log_of(db, "demo")[:4] == [
        (1, "set", "resolved", None),
        (1, "set", "failed", "error"),
        (1, "set", "failed", "aborted"),
        (1, "update", "failed", "conflict"),
    ]
    assert "malformed JSON" in db.value("select body from run_log where outcome = 'error'")
    assert db.value("select streak from turns where sequence = 1") == 1
    db.execute("drop trigger commands__break")
