"""The collector of `.test` files: what it accepts, what it refuses, and how it compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
from sqltest import BadTestFile, RecordFailed, parse_script, run_record, shown

import engine

HEADER = "# description: numbers\n# spec: @numbers\n\n"


def run(records: str) -> None:
    """Run `records` below a valid header against an empty database in memory."""
    connection = apsw.Connection(":memory:")

    def execute(sql: str) -> list[tuple[Any, ...]]:
        return connection.execute(sql).fetchall()

    for record in parse_script(HEADER + records).records:
        run_record(record, execute)


def test_rows_are_compared_in_the_files_form() -> None:
    query = "query\nselect 1, null, '', 'a' || char(10) || 'b',\n    x'00ff'\n"
    run(query + "----\n1  NULL  (empty)  a\\nb  x'00ff'\n")


def test_expected_rows_may_start_with_a_hash() -> None:
    run("# why this one\nquery\nselect '# Notes'\n----\n# Notes\n")


def test_no_rows_are_expected_by_an_empty_list() -> None:
    run("query\nselect 1 where 0\n----\n")


def test_records_share_one_database() -> None:
    write = "statement ok\ncreate table t (a)\n\nstatement ok\ninsert into t\nvalues (1)\n\n"
    run(write + "query\nselect a from t\n----\n1\n")


def test_an_error_matches_a_part_of_its_first_line() -> None:
    run("statement error\nselect * from nowhere\n----\nno such table\n")


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ("query\nselect 1\n----\n2\n", "expected:\n2\ngot:\n1"),
        ("statement ok\nselect * from nowhere\n", "no such table: nowhere"),
        ("statement error\nselect 1\n----\nboom\n", "but it succeeded"),
        ("statement error\nselect * from nowhere\n----\nboom\n", "expected error: boom"),
    ],
)
def test_a_failed_record_tells_both_outcomes(record: str, told: str) -> None:
    with pytest.raises(RecordFailed) as failed:
        run(record)
    assert told in str(failed.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# spec: @a\n\nstatement ok\nselect 1\n", "no '# description: ...'"),
        ("# description: a\n\nstatement ok\nselect 1\n", "no '# spec: ...'"),
        (HEADER, "no record"),
        (HEADER + "querry\nselect 1\n----\n1\n", "line 4: 'querry' is none of"),
        (HEADER + "query\nselect 1\n", "line 4: 'query' has no ----"),
        (HEADER + "statement ok\nselect 1\n----\n", "line 4: 'statement ok' expects nothing"),
        (HEADER + "statement ok\n", "line 4: there is no SQL"),
        (HEADER + "turn\n", "line 4: 'turn' is not 'turn RUN [chars N] [STEP ...]'"),
        (HEADER + "turn demo chars many\n", "line 4: the steps of a turn are begin, offer, store, dispatch"),
        (HEADER + "turn demo begin store\n", "line 4: the steps of a turn are begin, offer, store, dispatch"),
        (HEADER + "turn demo begin\ndone\n", "line 4: there is a response, yet 'store' is not among the steps"),
        (HEADER + "turn demo begin\n----\n", "line 4: a turn expects one line of message"),
        (HEADER + "statement error\nselect 1\n----\n", "expects one line of message"),
    ],
)
def test_a_malformed_file_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(BadTestFile) as refused:
        parse_script(text)
    assert told in str(refused.value)


RUN = "statement ok\ninsert into verb_set (run, path, body) values ('demo', 'run://demo', 'go')\n\n"


def run_file(tmp_path: Path, records: str) -> None:
    """Run `records` below a valid header against a fresh file, in which a run 'demo' has a prompt."""
    with engine.open(tmp_path / "t.db") as db:
        for record in parse_script(HEADER + RUN + records).records:
            run_record(record, lambda sql: db.connection.execute(sql).fetchall())


def test_a_turn_is_taken_from_its_beginning_to_its_verdict(tmp_path: Path) -> None:
    query = "query\nselect sequence, phase, response, context_chars from turns\n----\n"
    run_file(tmp_path, f"turn demo\nIt's\ndone: :run\n\n{query}1  judged  It's\\ndone: :run  100\n")


def test_a_turn_is_taken_step_by_step(tmp_path: Path) -> None:
    query = "query\nselect phase, response, context_chars from turns\n----\n"
    begun = f"turn demo begin\n\n{query}assembling  NULL  NULL\n\n"
    offered = f"turn demo chars 900 offer\n\n{query}asking  NULL  900\n\n"
    stored = f"turn demo store\n\n{query}answered  (empty)  900\n\n"
    run_file(tmp_path, begun + offered + stored + f"turn demo dispatch\n\n{query}judged  (empty)  900\n")


def test_a_turn_may_expect_an_error(tmp_path: Path) -> None:
    run_file(tmp_path, "turn nobody\ndone\n----\n404 run 'nobody': there is no such run\n")
    with pytest.raises(RecordFailed, match="but it succeeded"):
        run_file(tmp_path, "turn demo\ndone\n----\n404\n")


def test_the_stdlib_flag_is_a_header_without_a_value() -> None:
    script = parse_script("# description: a\n# spec: @a\n# stdlib\n\nstatement ok\nselect 1\n")
    assert "stdlib" in script.header


def test_backslashes_stay_unambiguous() -> None:
    assert shown("a\\nb") == "a\\\\nb"
