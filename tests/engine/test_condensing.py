"""Old results of tools are put in short above a ratio: in steps that are worth it, told once, and nothing is lost.

spec: @condensation @run_progress @prefix_stability
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script
from fresh import fresh

import engine

LONG = "word " * 200
NOTES = "".join(f'<set path="known://{number}" visibility="summarized">{number} {LONG}</set>' for number in range(9))


def slices(*numbers: int) -> str:
    """Reads parts of notes: results that stand in the log."""
    return "".join(f'<get path="known://{number}" line="1" limit="{9 + number}"/>' for number in numbers)


def limit_with(folder: Path, room: int) -> int:
    """A context limit that leaves `room` tokens beside the smallest packet with the notes in short."""
    with fresh() as db:
        db.run("Go", model=script(folder, NOTES + GO_ON, DONE))
        smallest = db.value("select context_tokens from turns where sequence = 2")
    return int((smallest + room) / 0.9)


def condensed(db: engine.Database) -> list[int]:
    """The turns in which something was condensed."""
    return [row["sequence"] for row in db.rows("select sequence from turns where condensed order by sequence")]


def whole_results(db: engine.Database) -> list[str]:
    query = "select path from known_entries where path like '%/get/%' and visibility = 'visible' order by path"
    return [row["path"] for row in db.rows(query)]


def test_results_of_every_turn_are_condensed_in_steps(db: engine.Database, tmp_path: Path) -> None:
    turns = 17
    reads = [f'<get path="known://{number % 9}" line="1" limit="{number + 2}"/>{GO_ON}' for number in range(turns)]
    limit = limit_with(tmp_path, 9000)
    result = db.run("Go", model=script(tmp_path, NOTES + GO_ON, *reads, DONE), context_limit=limit, condense_ratio=0.5)
    assert result.status == 200
    found = condensed(db)
    assert len(found) >= 2, "it goes on"
    assert len(found) <= turns / 3, "not with each turn: that would end the provider's cache with each turn"
    ceiling = db.value("select max(ceiling) from _loop_ceilings")
    freed = db.rows("select sum(tokens) as tokens from demotions where step = 1 group by turn_id order by turn_id")
    assert all(row["tokens"] >= ceiling // 16 for row in freed[1:])
    assert db.value("select count(*) from known_entries where path like '%/budget/condensed'") == len(found)
    assert db.value("select count(*) from (select 1 from demotions group by entry_id having count(*) > 1)") == 0
    assert len(whole_results(db)) >= 4
    newest = db.rows("select path from known_entries where path like '%/get/%' order by turn desc limit 4")
    assert {row["path"] for row in newest} <= set(whole_results(db)), "the newest four are whole"
    assert db.value("select count(*) from known_entries where path like '%/get/%' and length(body) < 1000") == 0


def test_what_is_read_again_is_new_again(db: engine.Database, tmp_path: Path) -> None:
    again = '<get path="log://turn_2/get/known%3A/0"/>'
    limit = limit_with(tmp_path, 5700)
    model = script(tmp_path, NOTES + GO_ON, slices(*range(9)) + GO_ON, again + GO_ON, GO_ON, DONE)
    db.run("Go", model=model, context_limit=limit, condense_ratio=0.75)
    assert condensed(db)[0] == 3
    assert "log://turn_2/get/known%3A/0" in whole_results(db)
    assert db.value("select count(*) from demotions where path = 'log://turn_2/get/known%3A/0'") == 1


def test_what_the_engine_says_takes_no_place_of_a_result(db: engine.Database, tmp_path: Path) -> None:
    db.run("Go", model=script(tmp_path, NOTES + DONE), run="demo")
    run = db.value("select id from runs")
    results = [f"log://turn_1/get/{number}" for number in range(5)]
    said = ["log://turn_1/error/budget", "log://turn_1/budget/condensed", "log://turn_1/update/long"]
    for path in [*results, *said]:
        db.insert(
            "_write_entry", run_id=run, path=path, body=path + LONG, writer="system", turn=1, visibility="visible"
        )
    db.insert("verb_set", run="demo", path="run://demo", body="On", attributes="{}")
    db.insert("_begin_turn", run="demo")
    assert [row["path"] for row in db.rows("select path from _condensable_results")] == results[:1]


def test_a_result_that_is_condensed_at_once_was_told_all_the_same(db: engine.Database, tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    model = script(tmp_path, NOTES + GO_ON, slices(*range(9)) + GO_ON, DONE)
    limit = limit_with(tmp_path, 5700)
    db.run("Go", model=model, run="demo", context_limit=limit, condense_ratio=0.75, on_event=events.append)
    assert condensed(db) == [3]
    gets = [event["target"] for event in events if event["type"] == "command" and event["action"] == "get"]
    assert gets == [f"known://{number}" for number in range(9)]
    (context,) = [event for event in events if event["type"] == "context"]
    assert (context["turn"], context["action"]) == (3, "condensed")
    assert context["body"].startswith("5 old results, ")
    told = db.row("select turn, status, body from run_log where action = 'condense'")
    assert told == {"turn": 3, "status": 200, "body": context["body"]}


def test_a_packet_that_is_still_too_long_goes_down_the_ladder(db: engine.Database, tmp_path: Path) -> None:
    limit = limit_with(tmp_path, 3800)
    model = script(tmp_path, NOTES + GO_ON, slices(*range(9)) + GO_ON, DONE)
    assert db.run("Go", model=model, context_limit=limit, condense_ratio=0.75).status == 200
    steps = db.rows("select step, count(*) as entries from demotions group by step order by step")
    assert steps == [{"step": 1, "entries": 5}, {"step": 3, "entries": 9}]
    packet = db.value("select body from packet_texts where turn = 3 and role = 'user'")
    assert packet.count("Condensed: 5 old results") == packet.count("Context overflow: ") == 1
    assert db.value("select context_tokens <= (select ceiling from _loop_ceilings) from turns where sequence = 3")


@pytest.mark.parametrize(
    ("setting", "ratio"), [("0.75", 0.75), ("0.4", 0.4), (None, None)], ids=["default", "other", "empty"]
)
def test_a_run_that_was_delegated_to_has_a_ratio_of_its_own(
    db: engine.Database, setting: str | None, ratio: float | None
) -> None:
    db.insert("verb_set", run="parent", path="run://parent", body="Go", attributes='{"model":"m"}')
    for run, forked_at in (("child", None), ("fork", 1)):
        db.execute(
            "insert into runs (project_id, alias, parent_run_id, forked_at, model, persona, created_at, updated_at) "
            "select project_id, ?, id, ?, model, persona, created_at, updated_at from runs where alias = 'parent'",
            (run, forked_at),
        )
        db.insert("verb_set", run=run, path=f"run://{run}", body="Go", attributes='{"model":"m"}')
    db.execute("update settings set value = ? where name = 'delegated_condense_ratio'", (setting,))
    for run in ("parent", "child", "fork"):
        db.insert("_begin_turn", run=run)
    found = db.rows(
        "select r.alias, q.ratio from _condense_ratios as q join turns as t on t.id = q.turn_id "
        "join runs as r on r.id = t.run_id"
    )
    assert found == ([] if ratio is None else [{"alias": "child", "ratio": ratio}])


# whole files


def files(folder: Path, count: int, words: int) -> Path:
    root = folder / "root"
    root.mkdir()
    for number in range(count):
        (root / f"f{number}.txt").write_text(f"file {number} " + "word " * words, encoding="utf-8")
    return root


def shown(db: engine.Database) -> list[int]:
    rows = db.rows("select path from known_entries where path glob 'f?.txt' and visibility = 'visible' order by path")
    return [int(row["path"][1:].split(".")[0]) for row in rows]


def reads(count: int) -> list[str]:
    return [f'<get path="f{number}.txt"/><update status="102">{number}</update>' for number in range(count)]


def test_whole_files_are_old_results_too(db: engine.Database, tmp_path: Path) -> None:
    root = files(tmp_path, 8, 400)
    result = db.run("Go", model=script(tmp_path, *reads(8), DONE), root=root, context_limit=18_000, condense_ratio=0.5)
    assert result.status == 200
    assert condensed(db), "it is condensed before the packet is too long"
    assert db.value("select count(*) from turn_errors where slug = 'budget'") == 0
    gone = [row["path"] for row in db.rows("select path from demotions where step = 1 order by turn_id, path")]
    assert gone == [f"f{number}.txt" for number in range(len(gone))], "the one that was read first goes first"
    assert shown(db)[-4:] == [4, 5, 6, 7], "the newest four are whole"


def test_a_file_that_is_read_again_is_new(db: engine.Database, tmp_path: Path) -> None:
    root = files(tmp_path, 8, 400)
    answers = [*reads(4), f'<get path="f0.txt"/>{GO_ON}', *reads(8)[4:7], DONE]
    db.run("Go", model=script(tmp_path, *answers), root=root, context_limit=18_000, condense_ratio=0.45)
    gone = {row["path"] for row in db.rows("select path from demotions where step = 1")}
    assert "f1.txt" in gone
    assert 0 in shown(db), "it was read after f1.txt"


@pytest.mark.parametrize("words", [700, 1200, 2400])
def test_the_file_that_was_read_last_is_the_last_to_go(db: engine.Database, tmp_path: Path, words: int) -> None:
    root = files(tmp_path, 7, words)
    result = db.run("Go", model=script(tmp_path, *reads(7), DONE), run="demo", root=root, context_limit=18_000)
    assert result.status == 200
    for turn in range(2, 9):
        text = db.value("select body from packet_texts where turn = ? and role = 'user'", (turn,))
        assert f"file {turn - 2} word word" in text.partition("<visible>")[2], f"turn {turn} sees what it has just read"
    assert db.value("select max(context_tokens) <= (select ceiling from _loop_ceilings) from turns")


def test_a_file_that_never_fits_goes_alone(db: engine.Database, tmp_path: Path) -> None:
    root = files(tmp_path, 3, 300)
    (root / "f3.txt").write_text("word " * 9_000, encoding="utf-8")
    result = db.run("Go", model=script(tmp_path, *reads(4), DONE), run="demo", root=root, context_limit=18_000)
    assert result.status == 200
    assert [row["path"] for row in db.rows("select path from demotions")] == ["f3.txt"]
    assert shown(db) == [0, 1, 2]
