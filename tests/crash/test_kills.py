"""SIGKILL at random moments of a run; what a new process makes of the file that is left.

1. Runs of edits only end as if nothing had happened: same entries, log, packets, files and answer.
2. Runs with processes start each process at most once; one that was cut off is recorded and told to the model.
3. A file that was being created is created.
After every kill the file passes the audit.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from audit import audit
from crash.harness import Case, ended, files, kill_after, killed_once, new_case, snapshot

import engine

CAMPAIGN = int(os.environ.get("ENGINE_CAMPAIGN", "0"))
"""How many kills a long campaign by hand makes; without it the few below."""
EDITS = CAMPAIGN or 8
PROCESSES = CAMPAIGN // 2 or 5
CREATIONS = CAMPAIGN // 10 or 2
KILLS_IN_A_ROW = CAMPAIGN // 5 or 5
MARKERS = 5

FILES = {
    "settings.ini": "[server]\nport = 8080\nhost = localhost\n",
    "notes.md": "# Notes\n\nThe port is 8080.\n",
    "old.txt": "to be removed\n",
    "docs/draft.md": "A draft.\n",
}


def edit(path: str, search: str, replace: str) -> str:
    return f'<set path="{path}"><<SEARCH\n{search}\nSEARCH\n<<REPLACE\n{replace}\nREPLACE</set>'


EDIT_SCRIPT = [
    '<get path="settings.ini"/><get path="notes.md"/><update status="102">reading</update>',
    edit("settings.ini", "port = 8080", "port = 9090") + '<update status="102">one edit</update>',
    edit("notes.md", "8080", "9090")
    + '<set path="known://port" tags="port">The port is 9090.</set>'
    + '<set path="src/new.py">print("new")\n</set><update status="102">three writes</update>',
    '<set path="notes.md"><<APPEND\nThe owner is Ada.\nAPPEND</set><update status="102">appended</update>',
    '<rm path="old.txt"/><mv path="docs/draft.md" to="docs/guide.md"/><update status="102">moved</update>',
    '<set path="known://port">The port is 9090, both files say so.</set>'
    '<set path="unknown://owner">Who is Ada?</set><update status="102">known</update>',
    edit("settings.ini", "host = localhost", "host = example.org")
    + '<cp path="settings.ini" to="settings.bak"/><update status="102">copied</update>',
    '<set path="unknown://owner" visibility="archived"/><update status="102">tidied</update>',
    '<update status="200">The port is 9090.</update>',
]

PROCESS_SCRIPT = [
    f'<sh>echo start >> marker_{number}; sleep 0.04; echo end >> marker_{number}</sh><update status="102">{number}</update>'
    for number in range(MARKERS)
] + ['<update status="102">looking back</update>', '<update status="200">All have run.</update>']


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any], float]:
    """The result of an unkilled run of edits, its snapshot, and the seconds that it took."""
    return _unkilled(new_case(tmp_path_factory.mktemp("edited"), FILES, EDIT_SCRIPT))


@pytest.fixture(scope="module")
def processed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any], float]:
    """The same of an unkilled run with processes."""
    return _unkilled(new_case(tmp_path_factory.mktemp("processed"), {}, PROCESS_SCRIPT))


def _unkilled(case: Case) -> tuple[dict[str, Any], dict[str, Any], float]:
    process = case.start()
    began = time.monotonic()
    result = ended(process)
    spent = time.monotonic() - began
    assert result["status"] == 200, result
    audit(case.database)
    return result, snapshot(case), spent


@pytest.mark.parametrize("kill", range(EDITS))
def test_killed_run_of_edits_ends_as_if_it_had_not_been(
    tmp_path: Path, edited: tuple[dict[str, Any], dict[str, Any], float], kill: int
) -> None:
    result, expected, spent = edited
    moment = _moment(kill, EDITS, spent)
    case = killed_once(_cases(tmp_path, FILES, EDIT_SCRIPT), moment)
    audit(case.database)
    assert case.finish() == result
    audit(case.database)
    assert snapshot(case) == expected


@pytest.mark.parametrize("kill", range(PROCESSES))
def test_killed_process_is_interrupted_and_told_and_never_started_again(
    tmp_path: Path, processed: tuple[dict[str, Any], dict[str, Any], float], kill: int
) -> None:
    result, _, spent = processed
    case = killed_once(_cases(tmp_path, {}, PROCESS_SCRIPT), _moment(kill, PROCESSES, spent))
    audit(case.database)
    assert case.finish() == result
    audit(case.database)
    with engine.open(case.database) as db:
        shells = db.rows("select turn, state, outcome from run_log where action = 'sh' order by turn")
        assert [shell["turn"] for shell in shells] == list(range(1, MARKERS + 1))
        interrupted = [shell["turn"] for shell in shells if shell["outcome"] == "interrupted"]
        assert len(interrupted) <= 1
        for turn in interrupted:
            packet = db.value("select body from packet_texts where turn = ? and role = 'user'", (turn + 1,))
            assert re.search(rf'{{"turn":{turn},"action":"sh",.*"outcome":"interrupted"', packet), packet
    # a marker of an interrupted process may hold its start, its end or neither; every other one holds both
    for turn, text in _markers(case.root).items():
        assert text.count("start") <= 1
        assert text == "start\nend\n" or turn in interrupted, (turn, text)


@pytest.mark.parametrize("kill", range(CREATIONS))
def test_killed_creation_leaves_a_file_that_the_next_open_completes(tmp_path: Path, kill: int) -> None:
    new = _cases(tmp_path, FILES, EDIT_SCRIPT)
    whole = new()
    began = time.monotonic()
    engine.open(whole.database).close()
    moment = _moment(kill, CREATIONS, time.monotonic() - began)
    case = killed_once(new, moment)
    audit(case.database)
    assert case.finish()["status"] == 200
    audit(case.database)


def test_run_that_is_killed_again_and_again_still_ends_the_same(
    tmp_path: Path, edited: tuple[dict[str, Any], dict[str, Any], float]
) -> None:
    result, expected, spent = edited
    case = new_case(tmp_path / "case", FILES, EDIT_SCRIPT)
    source = random.Random(25)
    for _ in range(KILLS_IN_A_ROW):
        if not kill_after(case.start(), source.uniform(0.1, 0.6) * spent):
            break
        audit(case.database)
    assert case.finish() == result
    audit(case.database)
    assert snapshot(case) == expected


def _moment(kill: int, kills: int, spent: float) -> float:
    """A random moment in part number `kill` of `kills` of the `spent` seconds; the same at every call but for `spent`."""
    return (kill + random.Random(kill).random()) / kills * spent


def _cases(folder: Path, present: dict[str, str], responses: list[str]) -> Callable[[], Case]:
    """Makes new cases in folders of their own."""
    numbers = count()
    return lambda: new_case(folder / str(next(numbers)), present, responses)


def _markers(root: Path) -> dict[int, str]:
    """The text of each marker file, by the turn that writes it; empty where there is none."""
    found = files(root)
    return {number + 1: found.get(f"marker_{number}", "") for number in range(MARKERS)}
