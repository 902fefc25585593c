"""How prompts stand and end: one status in every view for people, in the Python result and in the exit code.

1. Over all ends there are, loop_list, loop_results, open_prompts, run_overview, run_state, turn_timeline and run_log say the
   same, and the exit code is that of this status. 2. A rejection without words is an end of its own, told in a word. 3. A
   run has the status of the prompt that ended last, whatever ended before it. 4. People read words, not numbers.

spec: @run_state_machine @people_views @verdict @pause_and_resume
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from driving import begin
from driving import script as made_script
from engine_cli import database, engine, script

import engine as library
from engine.display.statuses import words_for_end
from engine.terminal.exit_codes import exit_code

ASKS = "<sh>touch made</sh>"
GO = '<get path="notes.md"/>'
MISS = '<get path="none.md"/><update status="102">again</update>'

# how it ends: options, answers, what is said afterwards, status, word, whether run_log has a row of the end
ENDS: dict[str, tuple[list[str], list[str | Mapping[str, Any]], list[str], int, str, bool]] = {
    "done": ([], ['<update status="200">Done.</update>'], [], 200, "done", False),
    "answered in words": ([], ["The port is 8080."], [], 200, "done", False),
    "nothing to do": ([], ['<update status="204">Nothing.</update>'], [], 204, "nothing to do", False),
    "waiting": ([], [ASKS], [], 202, "waiting", False),
    "rejected": ([], [ASKS], ["reject", "demo", "--continue"], 403, "rejected", True),
    "not as asked": (
        ["--schema", "form.json", "--output-attempts", "1"],
        ['<update status="200">x</update>'], [], 406, "not as asked", False,
    ),
    "too large": ([], [{"error": {"status": 413, "message": "too long"}}] * 3, [], 413, "too large", True),
    "cannot": ([], ['<update status="422">Impossible.</update>'], [], 422, "cannot be done", False),
    "turns": (["--max-turns", "2"], [GO + f'<update status="102">{n}</update>' for n in range(9)], [], 499, "aborted", True),
    "strikes": ([], [""] * 9, [], 499, "aborted", True),
    "aborted": ([], [ASKS], ["abort", "demo"], 499, "aborted", True),
    "model": ([], [{"error": {"status": 401, "message": "wrong key"}}], [], 500, "failed", True),
    "gave up": ([], ['<update status="500">It broke.</update>'], [], 500, "failed", False),
}  # fmt: skip
STOPPED = ("turns", "strikes")
"""The terminal says which limit has stopped these, in place of 'aborted'."""
OF_PEOPLE = {
    "loop_list": "select status from loop_list where run = 'demo' and loop = :loop",
    "loop_results": "select status from loop_results where run = 'demo' and loop = :loop",
    "run_overview": "select status from run_overview where run = 'demo'",
    "run_state": "select status from run_state where run = 'demo'",
    "turn_timeline": "select status from turn_timeline where run = 'demo' and loop = :loop order by turn desc limit 1",
    "run_story": "select status from run_story where run = 'demo' and loop = :loop and kind = 'prompt'",
}


@pytest.mark.parametrize("end", ENDS)
def test_all_that_people_read_says_the_same_of_an_end(folder: Path, tmp_path: Path, end: str) -> None:
    options, answers, then, status, word, logged = ENDS[end]
    (folder / "form.json").write_text('{"type": "integer"}')
    model = script(tmp_path / "s.jsonl", answers)
    done = engine(folder, "run", *options, "--run", "demo", "--model", model, "Try")
    if then:
        done = engine(folder, *then)
    if then[:1] != ["abort"]:
        assert done.returncode == exit_code(status), done.stderr
        told = "stopped" if end in STOPPED else word
        assert re.search(rf"^demo: {told}\b", done.stderr, re.M), done.stderr
    assert (exit_code(status) == 0) == (status in (200, 204))
    with library.open(database(folder)) as db:
        assert {view: db.value(query, {"loop": 1}) for view, query in OF_PEOPLE.items()} == dict.fromkeys(
            OF_PEOPLE, status
        )
        assert db.result("demo").status == db.runs()[0].status == status
        assert words_for_end(db, status) == word
        assert db.value("select status from open_prompts where run = 'demo'") == (202 if status == 202 else None)
        ended = db.rows("select status, outcome from run_log where run = 'demo' and action = 'end'")
        assert ended == ([{"status": status, "outcome": word}] if logged else [])
        if status in (202, 204, 422):
            assert db.value("select status from run_log where run = 'demo' order by turn desc, ordinal desc") == status
    shown = engine(folder, "show", "demo").stdout.splitlines()
    assert shown[0] == f"demo: {word}"
    assert not re.search(rf"\b{status}\b", "\n".join(shown[:8])), shown


def test_every_end_is_compared(db: library.Database) -> None:
    ends = db.tuples("select distinct to_status from loop_transitions where to_status <> 102")
    assert {status for (status,) in ends} | {202} == {status for _, _, _, status, _, _ in ENDS.values()}


def test_a_run_has_the_status_of_the_prompt_that_ended_last(db: library.Database, tmp_path: Path) -> None:
    answers = ['<update status="422">No.</update>', '<update status="200">Yes.</update>', ASKS]
    model = made_script(tmp_path, *answers)
    seen = []
    for prompt in ("One", "Two", "Three"):
        db.run(prompt, run="demo", model=model, on_proposal=lambda _: False)
        seen.append((db.runs()[0].status, db.value("select status from runs")))
    assert seen == [(422, 200), (200, 200), (403, 200)]
    assert [row["status"] for row in db.rows("select status from loop_list order by loop")] == [422, 200, 403]
    assert db.value("select count(*) from run_overview where status <> 200") == 1


def test_a_prompt_in_line_is_queued_everywhere(db: library.Database) -> None:
    begin(db, "demo")
    assert {view: db.value(query, {"loop": 1}) for view, query in OF_PEOPLE.items() if view != "turn_timeline"} == {
        view: 100 for view in OF_PEOPLE if view != "turn_timeline"
    }
    assert db.result("demo").status == 100


def test_a_waiting_run_of_the_command_line_says_so_in_json(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", [ASKS])
    engine(folder, "run", "--run", "demo", "--model", model, "Try")
    told = json.loads(engine(folder, "show", "demo", "--json").stdout)
    assert (told["status"], told["prompts"][0]["status"], told["timeline"][0]["status"]) == (202, 202, 202)
