"""Patterns that would take for ever fail as the model reads it; the run goes on, and can be stopped meanwhile.

1. one query, 2. many, 3. a stop, 4. a protected file, 5. the helper process.

spec: @limits @patterns @file_constraints
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from driving import DONE, script

import engine
from engine.driving.loop import Driver
from engine.functions.limits import Allowance, allowance
from engine.functions.patterns import helper, queries
from engine.functions.patterns.kinds import pattern_error, pattern_match, pattern_search

DOCUMENT = "<r>" + "<a/>" * 9000 + "</r>"
ENDLESS = "/r/*[../*[../*[@q]]]"
JSON_ENDLESS = "$..[?count(@..*)>9999999]"
JSON_DOCUMENT = "[" + '{"a":[1,2]},' * 30_000 + "1]"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that a query reaches soon."""
    monkeypatch.setattr(helper, "QUERY_SECONDS", 0.3)


def test_a_query_without_end_fails_its_command_and_the_run_goes_on(db: engine.Database, tmp_path: Path) -> None:
    answer = f'<set path="unknown://x">{DOCUMENT}</set><get path="unknown://*">{ENDLESS}</get>'
    result = db.run("Go", model=script(tmp_path, answer, DONE), run="demo", root=None)
    assert (result.status, result.turns) == (200, 2)
    command = db.row("select state, outcome from commands where action = 'get' and writer = 'model'")
    assert command == {"state": "failed", "outcome": "validation"}
    packet = db.value("select body from packet_texts where turn = 2 and role = 'user'")
    assert "takes longer than 0.3 s: use a simpler one" in packet


@pytest.mark.parametrize(
    ("pattern", "text"), [(ENDLESS, DOCUMENT), (JSON_ENDLESS, JSON_DOCUMENT), ("//*//*", "<a>" * 250)]
)
def test_a_query_without_end_finds_nothing_and_says_why(pattern: str, text: str) -> None:
    text += "</a>" * text.count("<a>")
    with Allowance():
        assert pattern_error(pattern) is None
        found = pattern_search(pattern, text)
        assert found == 0 or pattern_error(pattern) is None
        assert "longer than" in (pattern_error(pattern) or "longer than")
    with Allowance():
        assert pattern_error(pattern) is None, "the next statement may try it again"


def test_what_needs_too_much_memory_is_ended() -> None:
    pattern = "//a[contains(concat(" + ",".join(["concat(" + ",".join(["."] * 40) + ")"] * 40) + "),'b')]"
    with Allowance():
        assert pattern_search(pattern, f"<a>{'a' * 1_900_000}</a>") == 0
        assert "MB of memory" in (pattern_error(pattern) or "") or "longer than" in (pattern_error(pattern) or "")
        assert pattern_search("//a[1]/b//c[1]", "<a><b><c/></b></a>") == 1, "the next query has a process again"


def test_all_patterns_of_a_statement_share_its_seconds() -> None:
    with Allowance(0.5) as allowed:
        for number in range(20):
            assert pattern_match(f"/^(a|aa)+{number}$/", "a" * 5_000 + "b") == 0
        assert allowed.left <= 0
        assert "took 0.5 s in all" in (pattern_error("/^(a|aa)+19$/") or "")


@pytest.mark.parametrize(("given", "most"), [(None, 500.0), (400, 400.0), (600, 500.0), (0.001, 1.0)])
def test_patterns_take_no_longer_than_their_loop_has_left(
    db: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: float | None, most: float
) -> None:
    monkeypatch.setattr("engine.driving.dispatching.STATEMENT_SECONDS", 500.0)
    left: list[float] = []
    db.connection.create_scalar_function("look", lambda: left.append(allowance().left))
    db.execute(
        "create temp trigger looks after insert on main.commands when new.writer = 'model' begin select look(); end"
    )
    db.run("Go", model=script(tmp_path, DONE), run="demo", root=None, max_seconds=given)
    db.execute("drop trigger temp.looks")
    assert [0 < each <= most for each in left] == [True] * len(left)
    assert left or given == 0.001, "without time the model is not asked"


def test_a_stop_ends_a_query_under_way(db: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper, "QUERY_SECONDS", 600.0)
    asked = threading.Event()
    began = helper.run

    def run(*arguments: str) -> object:
        asked.set()
        return began(*arguments)

    monkeypatch.setattr(queries, "run", run)
    answer = f'<set path="unknown://x">{DOCUMENT}</set><get path="unknown://*">{ENDLESS}</get>'
    db.insert(
        "verb_set", run="demo", path="run://demo", body="Go", attributes=f'{{"model":"{script(tmp_path, answer)}"}}'
    )
    driver = Driver(db, "demo")
    watcher = threading.Thread(target=lambda: (asked.wait(60), driver.stop()))
    watcher.start()
    monkeypatch.setattr("engine.functions.limits.STATEMENT_SECONDS", 600.0)
    driver.drive()
    watcher.join()
    assert db.value("select count(*) from known_entries where path = 'unknown://x'") == 0, (
        "the dispatch was rolled back"
    )
    assert not db.connection.in_transaction
    with engine.open(db.path) as other:
        other.execute("update settings set value = value")


def test_a_pattern_that_cannot_be_matched_protects_its_files(db: engine.Database, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    name = "a" * 60 + "!"
    (tmp_path / "root" / name).write_text("old\n", encoding="utf-8")
    db.execute(
        "insert into projects (name, root, created_at) values ('p', ?, 0)", (os.path.realpath(tmp_path / "root"),)
    )
    db.execute(
        "insert into file_constraints (project_id, pattern, rule, created_at) values (1, ?, 'readonly', 0)",
        ("/^(a|aa)+$/",),
    )
    answer = f'<set path="{name}">new</set>'
    db.run("Go", model=script(tmp_path, answer, DONE), run="demo", root=tmp_path / "root", yolo=True)
    assert (tmp_path / "root" / name).read_text(encoding="utf-8") == "old\n"


def test_the_helper_has_neither_keys_nor_the_library_of_the_database() -> None:
    secret = "CANARY_4711"
    program = (
        "from pathlib import Path\n"
        "from engine.functions.patterns import helper\n"
        "from engine.functions.patterns.kinds import pattern_search\n"
        "assert pattern_search('//a[1]/b//c', '<a/>') == 0\n"
        "process = helper._idle[0]._process\n"
        "print(Path(f'/proc/{process.pid}/environ').read_text())\n"
        "print('apsw' in Path(f'/proc/{process.pid}/maps').read_text())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "OPENAI_API_KEY": secret},
        capture_output=True,
        text=True,
        check=True,
    )
    assert secret not in done.stdout
    assert done.stdout.split()[-1] == "False"
    assert done.stderr == ""
