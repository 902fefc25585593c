"""Tools and answers that were made to do harm: what a tool may not do beside its result, and what may not hold a turn up.

1. Statements of tools; 2. tools that do not end; 3. triggers that refuse only when the result is stored;
4. classes whose checks raise odd errors.

spec: @context_db @toolsets @answer_types
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from driving import DONE, GO_ON, script
from test_tool_context import log_of, shop

import engine

# 1. statements of tools

CALL = "late_call{}('verb_set', 'demo', 'known://a', 'b', 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)"


@pytest.mark.parametrize(
    "statement",
    [
        f"with a as (select {CALL.format('')} as v) insert into refunds (order_name) select 'x' || v from a",
        f"with told as (select {CALL.format(' /* ( */ -- (')[:-1]}) as v) select v from told".replace("-- (", "-- (\n"),
        "with refunds_once as (select fail(500, 'x') as v) select v from refunds_once",
        "with a as (select \"load_extension\"('x') as v) select v from a",
    ],
)
def test_a_function_that_acts_is_refused_behind_a_name_of_the_statement(tmp_path: Path, statement: str) -> None:
    raised: list[engine.EngineError] = []

    def act(context: engine.Context[None]) -> None:
        with pytest.raises(engine.EngineError) as error:
            context.db.rows(statement)
        raised.append(error.value)

    with shop(tmp_path, act) as db:
        assert db.run("Go", run="demo", model=script(tmp_path, "<act/>" + GO_ON, DONE)).status == 200
        assert [error.status for error in raised] == [403], raised
        assert db.value("select count(*) from refunds") == 0


def test_values_are_kept_as_they_were_when_they_were_written(tmp_path: Path) -> None:
    def act(context: engine.Context[None]) -> None:
        value = bytearray(b"one")
        context.db.execute("insert into papers values (?)", (value,))
        context.db.execute("insert into papers values (:a)", {"a": memoryview(value)})
        value[:] = b"two"

    with shop(tmp_path, act) as db:
        db.execute("create table papers (body blob) strict")
        db.run("Go", run="demo", model=script(tmp_path, "<act/>" + GO_ON, DONE))
        assert [row["body"] for row in db.rows("select body from papers")] == [b"one", b"one"]


def test_a_condition_that_is_no_text_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="toolset 'till': when must be a select as text, not 5"):
        engine.Toolset("till", [], when=5)  # type: ignore[arg-type]


# 2. tools that do not end


@pytest.mark.parametrize("writes", [False, True])
def test_a_statement_without_end_does_not_outlive_the_time_of_its_tool(tmp_path: Path, writes: bool) -> None:
    raised: list[BaseException] = []
    ended = threading.Event()

    @engine.tool(timeout=2)
    def act(context: engine.Context[None]) -> None:
        try:
            if writes:
                context.db.execute("insert into refunds (order_name) values ('A1')")
            context.db.rows("with recursive n (i) as (select 1 union all select i + 1 from n) select max(i) from n")
        except BaseException as error:
            raised.append(error)
        ended.set()

    with shop(tmp_path, act) as db:
        began = time.monotonic()
        assert db.run("Go", run="demo", model=script(tmp_path, "<act/>" + GO_ON, DONE)).status == 200
        assert time.monotonic() - began < 60
        assert ended.wait(60)
        assert [status for _, status, _ in log_of(db)] == [504]
        assert len(raised) == 1
        assert db.value("select count(*) from refunds") == 0


@pytest.mark.parametrize("entry", [engine.Entry(5, "x"), engine.Entry("known://a", b"x")])  # type: ignore[arg-type]
def test_an_entry_that_is_no_text_fails_its_call(tmp_path: Path, entry: engine.Entry) -> None:
    def act(context: engine.Context[None]) -> engine.Entry:
        context.db.execute("insert into refunds (order_name) values ('A1')")
        return entry

    with shop(tmp_path, act) as db:
        assert db.run("Go", run="demo", model=script(tmp_path, "<act/>" + GO_ON, DONE)).status == 200
        assert log_of(db) == [("act", 500, "act()\nTypeError: Entry: path and body must be texts")]
        assert db.value("select count(*) from refunds") == 0


# 3. triggers that refuse only when the result is stored


@pytest.mark.parametrize(
    "refusal",
    [
        "select fail(404, 'gone')",
        "select fail(504, 'gone')",
        "insert into verb_set (run, path, body) select 'nobody', 'known://a', 'b'",
        "select raise(rollback, 'gone')",
    ],
)
def test_a_trigger_that_refuses_when_the_result_is_stored_fails_the_call(tmp_path: Path, refusal: str) -> None:
    def act(context: engine.Context[engine.Database]) -> None:
        context.db.execute("insert into refunds (order_name) values ('A1')")
        context.app.execute("update balances set amount = 1")

    with shop(tmp_path, act, trust=True) as db, engine.open(tmp_path / "t.db", trust=True) as other:
        db.execute(
            f"create trigger told after insert on refunds begin {refusal} where (select amount from balances) = 1; end"
        )
        run = db.run("Go", run="demo", model=script(tmp_path, "<act/>" + GO_ON, DONE), context=other)
        assert run.status == 200
        assert [status for _, status, _ in log_of(db)] == [409]
        assert db.value("select count(*) from refunds") == 0


# 4. classes whose checks raise odd errors


class Mute(Exception):
    """An error that cannot be told."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    "error", [Mute(), LookupError("half \ud800 of it"), ZeroDivisionError("a\0b"), RecursionError(), SystemExit(3)]
)
def test_what_a_class_raises_is_told_to_the_model(tmp_path: Path, error: BaseException) -> None:
    pydantic = pytest.importorskip("pydantic")

    class Order(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        number: int

        @pydantic.field_validator("number")
        @classmethod
        def known(cls, value: int) -> int:
            if value == 1:
                raise error
            return value

    answers = [f'<update status="200">{{"number": {number}}}</update>' for number in (1, 2)]
    with shop(tmp_path) as db:
        result = db.run("Go", run="demo", model=script(tmp_path, *answers), output=Order)
        assert result.output.number == 2
        assert db.value("select count(*) from refused_answers") == 1
