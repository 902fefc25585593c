"""More questions of an auditor: of runs that failed, were stopped, were approved, gave work away and had too much in view.

Each is one short statement, which Python's own `sqlite3` answers.

spec: @demoted_entries @file_changes
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from delegating import GO_ON, Cast, ended, gives

import engine

LONGEST = 110
FAILS = "echo bad >&2; exit 3"
QUESTIONS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "which commands failed, and why": (
        "select run, action, target, outcome from run_log where state = 'failed' and action = 'sh'",
        [("failing", "sh", FAILS, "exit:3")],
    ),
    "what did a command print": (
        "select run, channel, body, exit_code from command_outputs where body <> ''",
        [("failing", "stderr", "bad\n", 3)],
    ),
    "why did a run stop before its end": (
        "select run, status, reason from loop_list where run = 'limited'",
        [("limited", 499, 'stopped at the limit of 1 turn; "Go" is not done')],
    ),
    "what was taken out of view to make room, and why": (
        "select distinct run, turn, became, reason, tokens > 100 from demoted_entries",
        [("full", 2, "summarized", "packet too long", 1)],
    ),
    "what was approved, with its diff": (
        "select decided_by, diff like '%-one%+two%' from decisions where run = 'approved' and kind = 'file_write'",
        [("Ada", 1)],
    ),
    "which prompt is behind the change of a file": (
        "select run, prompt from file_changes where path = 'made.txt'",
        [("parent-1", "Have it made")],
    ),
    "what did each model cost, day by day": (
        "select day > '2', sum(known_cost) from cost_by_day where model like '%/paid.jsonl' group by day, model",
        [(1, pytest.approx(0.05))],
    ),
    "which runs came from which": (
        "select run, parent from run_overview where parent is not null",
        [("parent-1", "parent")],
    ),
}


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """A file whose runs failed, were stopped, were approved by a person, gave work away and had too much in view."""
    folder = tmp_path_factory.mktemp("hard")
    (folder / "work").mkdir()
    (folder / "work" / "a.txt").write_text("one\n", encoding="utf-8")
    root = folder / "work"
    facts = "".join(f'<set path="known://{number}">{number} {"word " * 200}</set>' for number in range(8))
    change = '<get path="a.txt"/>' + GO_ON, '<set path="a.txt">two\n</set>' + GO_ON
    parts = {
        "failing": [f"<sh>{FAILS}</sh>" + GO_ON, ended()],
        "limited": [GO_ON],
        "approved": [*change, ended()],
        "parent": [gives("Make it"), ended()],
        "parent-1": ['<set path="made.txt">made\n</set>' + GO_ON, ended("Made.")],
        "full": [facts + GO_ON, ended()],
        "paid": [GO_ON] * 5,
    }
    with engine.open(folder / "t.db") as db:
        for name, answers in parts.items():
            lines = (
                {"text": text, "usage": {"prompt_tokens": 9, "completion_tokens": 1, "cost": 0.01}} for text in answers
            )
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

        def run(name: str, prompt: str = "Go", **options: Any) -> engine.Result:
            return db.run(prompt, run=name, model=f"scripted:{folder / name}.jsonl", **options)

        run("failing", root=root, yolo=True)
        run("limited", max_turns=1)
        run("approved", root=root)
        db.resolve("approved", db.proposals("approved")[0]["path"], accept=True, by="Ada")
        db.resume("approved")
        cast = Cast({name: parts[name] for name in ("parent", "parent-1")})
        db.run("Have it made", run="parent", model=cast, root=root, yolo=True, max_depth=1)
        run("paid")
        least = int(db.value("select min(context_tokens) from turns where context_tokens > 0"))
        run("full", context_limit=int((least + 5000) / 0.9))
    with closing(sqlite3.connect(f"file:{folder / 't.db'}?mode=ro", uri=True)) as connection:
        yield connection


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_hard_question_is_answered_by_one_short_statement(hard: sqlite3.Connection, question: str) -> None:
    query, answer = QUESTIONS[question]
    assert len(query) < LONGEST
    assert hard.execute(query).fetchall() == answer
