"""The size of compiled statements is counted with their triggers.

spec: @dispatch_path
"""

from __future__ import annotations

from contextlib import closing

import apsw
import pytest
from opcodes import HOT, opcodes

import engine


def test_triggers_are_counted_each_once() -> None:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute("create table a (x); create table b (x); create table c (x)")
        connection.execute("create trigger a__copy after insert on a begin insert into b values (1); end")
        connection.execute(
            "create trigger c__copy after insert on c begin insert into b values (1); insert into b values (2); end"
        )
        once, twice = (opcodes(connection, f"insert into {table} values (1)") for table in "ac")
        connection.execute(f"create trigger b__count after insert on b begin {'select random(); ' * 50} end")
        grown = opcodes(connection, "insert into a values (1)") - once
        assert grown > 100
        assert opcodes(connection, "insert into c values (1)") - twice < 1.5 * grown


@pytest.mark.parametrize("what", HOT)
def test_the_hot_statements_compile(db: engine.Database, what: str) -> None:
    assert opcodes(db.connection, HOT[what]) > 10
