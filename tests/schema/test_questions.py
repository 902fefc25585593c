"""The questions of an auditor: each is one short statement, which Python's own `sqlite3` answers on a file of real runs.

spec: @people_views
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from people import file_of_real_runs

LONGEST = 110
LINE = "echo built; echo careful >&2"
QUESTIONS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "who approved what, and when": (
        "select turn, kind, decision, decided_by, decided_at > '2' from decisions where run = 'demo'",
        [(2, "process", "accept", "yolo", 1), (3, "file_write", "accept", "yolo", 1)],
    ),
    "what did the run change in a file": (
        "select turn, change, added, removed from file_changes where run = 'demo' and path = 'notes.md'",
        [(3, "changed", 1, 0)],
    ),
    "what did the run cost, in how many calls": (
        "select sum(cost), sum(calls) from cost_by_day where run = 'demo'",
        [(pytest.approx(0.004), 4)],
    ),
    "how many tokens were paid for": (
        "select sum(prompt_tokens), sum(completion_tokens) from turn_timeline where run = 'demo'",
        [(3600, 80)],
    ),
    "how did each run end": (
        "select run, status, answer from run_overview order by run",
        [("child", 100, None), ("demo", 200, "Done."), ("waits", 202, None)],
    ),
    "what was in view of a turn, of all files": (
        "select path, visibility from context_at where run = 'demo' and turn = 2 and path = 'notes.md'",
        [("notes.md", "visible")],
    ),
    "what was the model sent on a turn": (
        "select role from packet_texts where run = 'demo' and turn = 2 and body like '%port is 8080%'",
        [("user",)],
    ),
    "the proposals that wait for a decision": (
        "select run, turn, action, target from open_proposals",
        [("waits", 2, "sh", LINE)],
    ),
    "which prompts have not ended": ("select run, status, prompt from open_prompts", [("waits", 202, "Go")]),
    "which shell commands were asked for": (
        "select run, turn, target from run_log where action = 'sh' order by run",
        [("demo", 2, LINE), ("waits", 2, LINE)],
    ),
    "what does the run know, word for word": (
        "select path, body from known_entries where run = 'demo' and scheme = 'known'",
        [("known://port", "The port is 8080.")],
    ),
    "on which turn did the model say this": (
        "select turn from said where run = 'demo' and kind = 'response' and body like '%More.%'",
        [(3,)],
    ),
}


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = file_of_real_runs(tmp_path_factory.mktemp("questions"))
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        yield connection


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_by_one_short_statement(stock: sqlite3.Connection, question: str) -> None:
    query, answer = QUESTIONS[question]
    assert len(query) < LONGEST
    assert stock.execute(query).fetchall() == answer
