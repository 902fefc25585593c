"""Statements of people hold their limits: time, memory, size of a value, size of the result; and say which they broke.

spec: @limits
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine.db.query import answer
from engine.functions import limits

NUMBERS = "with recursive n(i) as (select 1 union all select i + 1 from n) "
LETTERS = "printf('%.*c', {}, 'a')"


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("select printf('%*d', 1000000000, 1)", 413, "32,000,000 bytes"),
        ("select zeroblob(900000000)", 413, "32,000,000 bytes"),
        ("select length(randomblob(900000000))", 413, "32,000,000 bytes"),
        ("select " + "replace(" * 9 + "'aaaaaaaaaa'" + ", 'a', 'aaaaaaaaaa')" * 9, 413, "32,000,000 bytes"),
        ("select '" + "a" * 2_000_000 + "'", 413, "1,000,000 characters"),
        (NUMBERS + "select group_concat(hex(i)) from n", 504, "longer than 0.3 s"),
        (NUMBERS + "select json_group_array(i) from n", 504, "longer than 0.3 s"),
        (NUMBERS + "select i from n order by i desc", 504, "longer than 0.3 s"),
        (NUMBERS + "select count(*) from n a, n b, n c", 504, "longer than 0.3 s"),
        ("select 'a' like printf('%.*c', 501, '%')", 400, "too complex"),
        ("select 1" + " + 1" * 2000, 400, "too large"),
        ("select text_slice('a', 'b', 'c')", 400, r"text_slice\(\) cannot use the values"),
        ("select body_summary('a.py', zeroblob(600))", 400, r"body_summary\(\) cannot use the values"),
        ("select replace(x'ff', 'a', 'b')", 400, "not UTF-8"),
        (f"select pattern_match('/(a|aa)+$/', {LETTERS.format(5000)} || 'b')", 504, "would be wrong: regex"),
        (f"select pattern_search('//a[1]//b//c', '<a>' || {LETTERS.format(99)} || '</a>')", None, ""),
    ],
)  # fmt: skip
def test_a_statement_that_is_too_much_says_what_of(
    db: engine.Database, query: str, status: int | None, said: str
) -> None:
    if status is None:
        assert len(answer(db, query, seconds=300).rows) == 1
        return
    with pytest.raises(engine.EngineError, match=said) as caught:
        answer(db, query, seconds=0.3 if status == 504 else 300)
    assert caught.value.status == status
    db.execute("update settings set value = value")
    assert not db.connection.in_transaction


def test_the_memory_of_a_statement_is_limited(db: engine.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SQL_MEMORY_BYTES", 20_000_000)
    with pytest.raises(engine.Overflow, match="more than 20,000,000 bytes of memory"):
        db.sql(NUMBERS + "select count(*) from (select distinct randomblob(100000) from n)")


def test_the_size_of_a_result_is_limited(db: engine.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SQL_RESULT_BYTES", 20_000_000)
    with pytest.raises(engine.Overflow, match="the result has more than 20,000,000 bytes"):
        db.sql(NUMBERS + "select printf('%.*c', 100000, 'a') from n")


def test_limits_of_a_statement_end_with_it(db: engine.Database) -> None:
    before = [db.connection.limit(kind) for kind in range(12)]
    db.sql("select 1")
    with pytest.raises(engine.Overflow):
        db.sql("select zeroblob(900000000)")
    assert [db.connection.limit(kind) for kind in range(12)] == before


def test_the_command_ends_its_process_where_nothing_else_ends_a_function(tmp_path: Path) -> None:
    engine.open(tmp_path / "t.db").close()
    query = f"select instr({LETTERS.format(30_000_000)}, {LETTERS.format(15_000_000)} || 'b')"
    done = subprocess.run(
        [sys.executable, "-m", "engine", "sql", "--timeout", "0.2", "--db", str(tmp_path / "t.db"), query],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)),
    )
    assert done.returncode == 1
    assert done.stderr == "engine: a function in the query took longer than 0.2 s; use shorter texts\n"
