"""A run does not die of its own length: before the hard 413 the ladder archives what has been out of use for longest.

1. A model that never archives goes through, whatever the number of its turns. 2. What is archived is told, kept, and found.
3. What is visible, open questions, the prompt and the plan stay. 4. 413 is left for a prompt that alone does not fit.
5. A turn costs as much late as early.

spec: @archiving @budget_enforcement
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from counters import Counters
from driving import DONE, GO_ON, script

import engine

FACT = "what was found in this step, in some words, " * 4


def steps(count: int, shown: str = "visible") -> list[str]:
    """Answers that write one new entry each and never archive any."""
    return [
        f'<set path="known://f{number}" visibility="{shown}">{number} {FACT}</set>{GO_ON}'
        for number in range(1, count + 1)
    ]


def window(db: engine.Database, folder: Path, free: int) -> int:
    """A context limit that leaves `free` tokens beside the smallest packet."""
    db.run("Go", model=script(folder, DONE), run="measured")
    return int((db.value("select context_tokens from turns") + free) / 0.9)


def archived(db: engine.Database) -> list[dict[str, Any]]:
    return db.rows(
        "select t.sequence as turn, d.step, d.path, d.turn as written from demotions as d join turns as t "
        "on t.id = d.turn_id where d.step in (3, 5) order by d.turn_id, d.turn, d.path"
    )


def test_a_model_that_never_archives_goes_through(db: engine.Database, tmp_path: Path) -> None:
    start = '<set path="known://plan">- [ ] all</set><set path="unknown://why">Why?</set>' + GO_ON
    model = script(tmp_path, start, *steps(98), DONE)
    limit = window(db, tmp_path, 9000)
    db.execute("update settings set value = '200' where name = 'max_loop_turns'")
    result = db.run("Find all", model=model, run="demo", context_limit=limit)
    assert (result.status, result.turns) == (200, 100)
    ceiling = db.value(
        "select max(ceiling) from _loop_ceilings as b join loops as l on l.id = b.loop_id where l.sequence = 1"
    )
    sizes = db.rows(
        "select t.sequence, context_tokens from turns as t join runs as r on r.id = t.run_id where alias = 'demo'"
    )
    assert max(row["context_tokens"] for row in sizes) <= ceiling
    found = archived(db)
    turns = sorted({row["turn"] for row in found})
    broken = db.value("select count(*) from turns where ladder > 0")
    assert 2 <= len(turns) <= broken <= 20, "seldom, so that the prefix of packets breaks seldom"
    assert {row["step"] for row in found} == {3}
    after = [row["context_tokens"] for row in sizes if row["sequence"] in turns]
    assert max(after) < 0.95 * ceiling
    for turn in turns:
        facts = [row["written"] for row in found if row["turn"] == turn and row["path"].startswith("known://")]
        records = [row["written"] for row in found if row["turn"] == turn and row["path"].startswith("log://")]
        assert facts == sorted(facts)
        assert all(written < turn - 20 for written in records)
    packet = db.value("select body from packet_texts where run = 'demo' and turn = 100 and role = 'user'")
    for kept in ("known://plan", "unknown://why", "Find all", "known://f98"):
        assert kept in packet
    assert "<<:::known://f1\n" not in packet
    assert "<<:::log://turn_1/set/known%3A//f1\n" not in packet


def test_what_was_archived_is_told_in_a_line_and_found(db: engine.Database, tmp_path: Path) -> None:
    limit = window(db, tmp_path, 6000)
    last = ['<get path="known://**" manifest/>' + GO_ON, '<get path="known://f1"/>' + GO_ON, DONE]
    model = script(tmp_path, *steps(60, "summarized"), *last)
    result = db.run("Find all", model=model, run="demo", context_limit=limit)
    assert (result.status, result.turns) == (200, 63)
    (first, *_) = db.rows("select body, soft from run_log join turn_errors using (status) where target = 'budget'")
    line = first["body"].splitlines()[0]
    assert "is above the ceiling of" in line
    assert "Archived " in line
    assert '<get path="known://**" manifest/> lists them.' in line
    listed = db.value("select message from commands where json_extract(attributes, '$.manifest') is not null")
    assert "60 matched" in listed
    assert "* known://f1 - " in listed
    assert db.value("select visibility from known_entries where path = 'known://f1'") == "visible"
    assert db.value("select count(*) from known_entries where path like 'known://f%' and length(body) > 100") == 60
    assert db.value("select max(streak) from turns") == 0


def test_what_is_in_view_stays(db: engine.Database, tmp_path: Path) -> None:
    limit = window(db, tmp_path, 7000)
    first = '<set path="known://kept">' + "kept in view " * 40 + "</set>" + GO_ON
    show = '<get path="known://kept"/>' + GO_ON
    model = script(tmp_path, first, show, *steps(60, "summarized"), DONE)
    result = db.run("Find all", model=model, run="demo", context_limit=limit)
    assert result.status == 200
    assert archived(db)
    assert db.value("select visibility from known_entries where path = 'known://kept'") == "visible"
    assert db.value("select count(*) from demotions where path = 'known://kept'") == 0
    assert db.value("select count(*) from demotions where step = 4") == 0, "the prompt is left as it is"


def test_a_prompt_that_alone_does_not_fit_is_a_413_and_nothing_is_archived(db: engine.Database, tmp_path: Path) -> None:
    db.run("Find", model=script(tmp_path, *steps(3), DONE), run="demo")
    result = db.run("On", run="demo", model=script(tmp_path, DONE), context_limit=1000)
    assert result.status == 413
    assert archived(db) == []


@pytest.mark.parametrize("tail", [0, 1])
def test_many_prompts_do_not_fill_the_window(db: engine.Database, tmp_path: Path, tail: int) -> None:
    limit = window(db, tmp_path, 2000)
    model = script(tmp_path, *[f'<update status="200">{number}: {FACT}</update>' for number in range(25)])
    for number in range(25):
        result = db.run(f"Question {number}: {FACT * (1 + tail)}", run="demo", model=model, context_limit=limit)
        assert result.status == 200
    assert db.value("select count(*) from demotions where step in (3, 5) and path like 'prompt://%'") > 0


def test_a_turn_reads_no_more_late_than_early(db: engine.Database, tmp_path: Path) -> None:
    """Counted are the steps of SQLite's machine, which are the same on every machine."""
    limit = window(db, tmp_path, 5000)
    db.execute("update settings set value = '1000' where name = 'max_loop_turns'")
    taken, counters = [0], Counters()

    def count(event: dict[str, Any]) -> None:
        taken[-1] += counters.of(event)

    def hear(event: dict[str, Any]) -> None:
        if event["type"] == "turn":
            taken.append(0)

    db.connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, count)
    model = script(tmp_path, *steps(110), DONE)
    result = db.run("Find all", model=model, run="demo", context_limit=limit, on_event=hear)
    db.connection.trace_v2(0, None)
    assert (result.status, result.turns) == (200, 111)
    early, late = sum(taken[40:70]) / 30, sum(taken[80:110]) / 30
    assert 10_000 < late < 1.25 * early, json.dumps(taken)
