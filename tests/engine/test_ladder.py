"""A packet fits or the loop ends at 413; what was taken out of sight is told, kept, and can be had again.

spec: @budget_enforcement @condensation @model_failures @calibration @fork
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, begin, script, turn
from fresh import fresh

import engine

LONG = "word " * 200


def notes(count: int) -> str:
    return "".join(f'<set path="known://{number}">{number} {LONG}</set>' for number in range(count))


def ceiling_of(db: engine.Database) -> int:
    return int(db.value("select ceiling from _loop_ceilings order by loop_id desc"))


def sent(db: engine.Database) -> list[int]:
    return [row["context_tokens"] for row in db.rows("select context_tokens from turns where seen_at > 0 order by id")]


def told(db: engine.Database) -> list[str]:
    return [
        row["path"] for row in db.rows("select path from known_entries where path like '%/error/budget' order by turn")
    ]


def system_tokens(folder: Path) -> int:
    """What the smallest packet takes."""
    with fresh() as db:
        db.run("Go", model=script(folder, DONE))
        return sent(db)[0]


def test_as_much_as_has_to_is_put_in_short_and_can_be_had_again(db: engine.Database, tmp_path: Path) -> None:
    limit = int((system_tokens(tmp_path) + 5000) / 0.9)
    model = script(tmp_path, notes(8) + GO_ON, '<get path="known://0"/>' + GO_ON, DONE)
    events: list[dict[str, Any]] = []
    result = db.run("Go", model=model, run="demo", context_limit=limit, on_event=events.append)
    assert (result.status, result.turns) == (200, 3)
    errors = [event["path"] for event in events if event["type"] == "error"]
    assert errors == told(db) == [f"log://turn_{turn}/error/budget" for turn in (2, 3)], "told once in each packet"
    assert max(sent(db)) <= ceiling_of(db)
    text = db.value("select body from packet_texts where turn = 2 and role = 'user'")
    assert "* known://0 (turn 1, " in text
    shown = dict(db.tuples("select path, visibility from known_entries where path like 'known://%'"))
    assert shown["known://0"] == "visible", "it was got again, and others had to go"
    assert list(shown.values()).count("visible") < 8
    assert db.value("select count(*) from known_entries where path like 'known://%' and length(body) > 1000") == 8
    assert db.value("select count(*) from known_entries where state <> 'resolved' and path like 'known://%'") == 0


def test_a_fork_demotes_what_its_parent_would_have(db: engine.Database, tmp_path: Path) -> None:
    limit = int((system_tokens(tmp_path) + 5000) / 0.9)
    db.run("Go", model=script(tmp_path, notes(8) + DONE), run="parent", context_limit=limit)
    child = db.fork("parent", "child")
    assert db.run("On", run=child, model=script(tmp_path, DONE)).status == 200
    found = db.rows(
        "select d.path from demotions as d join turns as t on t.id = d.turn_id where t.sequence = 2 and d.step = 4"
    )
    gone = [row["path"] for row in found if row["path"].startswith("known://")]
    assert gone == [f"known://{number}" for number in range(len(gone))]
    assert 1 < len(gone) < 8
    assert db.value("select visibility from known_entries where run = 'child' and path = 'known://1'") == "summarized"
    assert db.value("select visibility from known_entries where run = 'parent' and path = 'known://1'") == "visible"


def test_an_oversized_first_prompt_is_put_in_short_and_kept(db: engine.Database, tmp_path: Path) -> None:
    limit = int((system_tokens(tmp_path) + 2000) / 0.9)
    result = db.run("Read this. " + LONG * 20, model=script(tmp_path, DONE), run="demo", context_limit=limit)
    assert result.status == 200
    assert db.value("select group_concat(step || ' ' || path) from demotions") == "4 prompt://1"
    prompt = db.row("select visibility, length(body) as chars from known_entries where path = 'prompt://1'")
    assert prompt == {"visibility": "summarized", "chars": len("Read this. " + LONG * 20)}
    text = db.value("select body from packet_texts where role = 'user'")
    assert "Read this." in text, "its beginning still says what is to be done"
    assert "Context overflow" in text


def test_a_limit_below_the_system_message_ends_at_413_without_a_call(db: engine.Database, tmp_path: Path) -> None:
    result = db.run("Go", model=script(tmp_path, DONE), run="demo", context_limit=1000)
    assert result.status == 413
    assert "raise --context-limit" in str(result.reason)
    assert db.value("select count(*) from model_calls") == 0
    assert db.value("select status from runs") == 500
    db.execute("update runs set context_limit = null")
    assert db.run("Go on", run="demo").status == 200, "with a higher limit the run goes on"


def test_what_was_queued_behind_a_413_runs_next(db: engine.Database, tmp_path: Path) -> None:
    answers = script(tmp_path, DONE, DONE)
    for alias, length in (("small", 1000), ("large", 30000)):
        db.execute(
            "insert into models (alias, actual, context_length, created_at) values (?, ?, ?, 1)",
            (alias, answers, length),
        )
    for prompt, model in (("first", "small"), ("second", "large"), ("third", "small")):
        begin(db, "demo", prompt, model=model)
    db.resume("demo")
    assert [row["status"] for row in db.rows("select status from loops order by id")] == [413, 200, 413]
    assert db.value("select count(*) from model_calls") == 1
    assert db.value("select count(*) from turns where phase <> 'judged'") == 0


def test_a_fork_of_a_turn_that_was_made_to_fit_is_sent_the_same(db: engine.Database, tmp_path: Path) -> None:
    limit = int((system_tokens(tmp_path) + 5000) / 0.9)
    db.run("Go", model=script(tmp_path, notes(8) + GO_ON, GO_ON, DONE), run="parent", context_limit=limit)
    assert told(db) == ["log://turn_2/error/budget"]
    child = db.fork("parent", "child", at=3)
    query = (
        "select path, visibility from known_entries where run = ? and (scheme = 'known' or path like '%/error/budget')"
    )
    seen = {run: {(row["path"], row["visibility"]) for row in db.rows(query, (run,))} for run in ("parent", "child")}
    assert seen["parent"] == seen["child"]
    assert ("known://1", "summarized") in seen["child"]
    assert db.run("On", run=child, model=script(tmp_path, DONE)).status == 200
    assert db.value("select count(*) from demotions as d join turns as t on t.id = d.turn_id where t.run_id = 2") == 0


def test_a_provider_that_counts_far_more_is_believed(db: engine.Database, tmp_path: Path) -> None:
    estimated = system_tokens(tmp_path)
    limit = int(estimated * 2.2 / 0.9)
    model = script(
        tmp_path,
        {"text": notes(1) + GO_ON, "usage": {"prompt_tokens": estimated * 3}},
        {"text": DONE, "usage": {"prompt_tokens": 10}},
    )
    result = db.run("Go", model=model, run="demo", context_limit=limit)
    assert result.status == 413, "at the rate that was reported even the smallest packet is too long"
    assert db.value("select count(*) from demotions where step = 4") > 0


def test_a_provider_that_counts_far_less_is_believed_within_reason(db: engine.Database, tmp_path: Path) -> None:
    characters = 2 * system_tokens(tmp_path)
    for prompt_tokens, rate in ((characters // 7, 6.6), (1, 2)):
        with fresh() as other:
            model = script(tmp_path, {"text": DONE, "usage": {"prompt_tokens": prompt_tokens}})
            other.run("Go", model=model, run="demo")
            begin(other, "demo", "On", model=model)
            other.insert("_begin_turn", run="demo")
            assert other.value("select chars_per_token from loops where sequence = 2") == pytest.approx(rate, abs=0.1)


@pytest.mark.parametrize("refusals", [1, 2])
def test_a_packet_that_the_provider_refuses_is_sent_once_more(
    db: engine.Database, tmp_path: Path, refusals: int
) -> None:
    too_long = {"error": {"status": 413, "message": "context length exceeded"}}
    model = script(tmp_path, notes(2) + GO_ON, *([too_long] * refusals), DONE)
    result = db.run("Go", model=model, run="demo")
    assert result.status == (200 if refusals == 1 else 413)
    assert db.value("select count(*) from packets where turn_id = 2") == 2, (
        "the packet sent last is the one that is kept"
    )
    assert {row["step"] for row in db.rows("select step from demotions")} == {4}
    assert (
        "was rejected by the model" in db.value("select body from known_entries where path like '%/error/budget'")
        or refusals == 2
    )


def test_a_condensed_packet_keeps_bodies_and_tells_once(db: engine.Database, tmp_path: Path) -> None:
    limit = int((system_tokens(tmp_path) + 9800) / 0.9)
    slices = "".join(f'<get path="known://{number}" line="1" limit="9"/>' for number in range(9))
    model = script(
        tmp_path, notes(9) + '<set path="known://**" visibility="summarized"/>' + GO_ON, slices + GO_ON, GO_ON, DONE
    )
    result = db.run("Go", model=model, run="demo", context_limit=limit, condense_ratio=0.75)
    assert result.status == 200
    gets = db.rows(
        "select path, visibility, length(body) as chars from known_entries where path like '%/get/%' order by path"
    )
    assert sorted(row["visibility"] for row in gets) == ["summarized"] * 5 + ["visible"] * 4
    assert all(row["chars"] > 1000 for row in gets)
    assert db.value("select count(*) from known_entries where path like '%/budget/condensed'") == 1
    assert told(db) == [], "there was no overflow"
    again = gets[0]["path"]
    begin(db, "demo", "And?")
    turn(db, "demo", f'<get path="{again}"/>{DONE}')
    assert db.value("select visibility from known_entries where path = ?", (again,)) == "visible"


def test_a_packet_that_grew_little_by_little_gives_up_what_is_oldest(db: engine.Database, tmp_path: Path) -> None:
    reads = [f'<get path="known://{number % 8}" line="1" limit="{number + 2}"/>{GO_ON}' for number in range(18)]
    limit = int((system_tokens(tmp_path) + 12000) / 0.9)
    quiet = '<set path="known://**" visibility="summarized"/>' + GO_ON
    db.execute("update settings set value = 'known://*' where name = 'kept_in_context'")
    result = db.run("Go", model=script(tmp_path, notes(8) + quiet, *reads, DONE), run="demo", context_limit=limit)
    assert result.status == 200
    assert max(sent(db)) <= ceiling_of(db)
    steps = db.rows("select turn_id, path, turn, step from demotions where path like '%/get/%' order by turn_id, turn")
    older = [row for row in steps if row["step"] == 2]
    assert len(older) > 1
    first = [row["turn"] for row in older if row["turn_id"] == older[0]["turn_id"]]
    assert first == list(range(2, 2 + len(first))), "the oldest first"
    after = db.value("select min(sequence) from turns where ladder = 2 and id = ?", (older[0]["turn_id"],))
    assert len(first) < after - 3, "and no more than needed"
    assert db.value("select ladder from turns where sequence = ?", (after + 1,)) == 0, "with something to spare"


def test_where_nothing_would_help_older_entries_stay_in_view(db: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, notes(2) + GO_ON, "<think>a</think>" + GO_ON, DONE)
    db.run("Go", model=model, run="demo")
    assert db.run("On", run="demo", model=script(tmp_path, DONE), context_limit=1000).status == 413
    assert db.value("select group_concat(visibility) from known_entries where scheme = 'known'") == "visible,visible"


@pytest.mark.parametrize("refused", [False, True])
def test_a_kill_between_two_steps_goes_on_from_there(tmp_path: Path, refused: bool) -> None:
    limit = int((system_tokens(tmp_path) + (90000 if refused else 5000)) / 0.9)
    model = script(tmp_path, *[DONE] * 3)
    with fresh() as db:
        db.insert(
            "verb_set",
            run="demo",
            path="run://demo",
            body="Go",
            attributes=json.dumps({"model": model, "context_limit": limit}),
        )
        turn(db, "demo", notes(8) + GO_ON)
        db.insert("_begin_turn", run="demo")
        turn_id = db.value("select id from turns where phase = 'assembling'")
        if refused:
            db.insert("_submit_packet", turn_id=turn_id, chars=20000)
            db.insert("_open_call", turn_id=turn_id)
            db.insert("_fail_call", turn_id=turn_id, status=413, message="too long")
        else:
            db.insert("_submit_packet", turn_id=turn_id, chars=4 * limit)
        assert db.row("select phase, ladder from turns where id = ?", (turn_id,)) == {
            "phase": "assembling",
            "ladder": 4,
        }
        path = db.path
        db.close()
        with engine.open(path) as again:
            assert again.resume("demo").status == 200
            assert told(again) == ["log://turn_2/error/budget"]
            assert again.value("select count(*) from demotions where path like 'known://%'") == 8
            assert again.value("select count(*) from events where kind = 'context.demoted'") == 1
            assert again.value("select count(*) from packets where turn_id = ?", (turn_id,)) == 2
