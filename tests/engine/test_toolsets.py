"""Tools of a prompt: functions for one driving, sets by name, and sets that rows hide.

spec: @toolsets
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script
from function_tools import opened

import engine

NAMES = "select name from _turn_tools as o join turns as t on t.id = o.turn_id join runs as r on r.id = t.run_id "
LOG = (
    "select run, action, status, body from run_log"
    " where turn > 0 and action not in ('update', 'error') order by run, turn, ordinal"
)


def refund(order: str) -> str:
    """Give the money back."""
    return f"refunded {order}"


def invoice(order: str) -> str:
    """Write an invoice."""
    return f"invoice {order}"


def told(db: engine.Database, run: str, turn: int = 1) -> set[str]:
    """The functions that a model was told of."""
    system = db.value("select body from packet_texts where run = ? and turn = ? and role = 'system'", (run, turn))
    return {name for name in ("refund", "invoice", "look") if f"## <{name}" in system}


def test_a_prompt_has_the_tools_that_it_chooses(tmp_path: Path) -> None:
    def look() -> str:
        """Look."""
        return "seen"

    billing = engine.Toolset("billing", [refund, invoice])
    with opened(tmp_path / "t.db", billing, look) as db:
        model = script(tmp_path, "<refund>A1</refund>" + GO_ON, DONE)
        for run, tools in (
            ("all", None),
            ("none", []),
            ("set", ["billing"]),
            ("one", ["look"]),
            ("two", ["look", "billing"]),
        ):
            db.run("Go", run=run, model=model, tools=tools)
        assert [told(db, run) for run in ("all", "none", "set", "one", "two")] == [
            {"refund", "invoice", "look"}, set(), {"refund", "invoice"}, {"look"}, {"refund", "invoice", "look"},
        ]  # fmt: skip
        assert {run: status for run, _, status, _ in (tuple(row.values()) for row in db.rows(LOG))} == {
            "all": 200, "none": 403, "set": 200, "one": 403, "two": 200,
        }  # fmt: skip
        # the next prompt of a run has all again, and one that is started keeps what it chose for whoever drives it
        db.run("On", run="none", model=script(tmp_path, DONE, DONE, DONE))
        assert told(db, "none", 3) == {"refund", "invoice", "look"}
        db.start("Go", run="later", model=script(tmp_path, DONE), tools=["look"])
        db.resume("later")
        assert told(db, "later") == {"look"}


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("has_others", [False, True])
def test_a_function_for_one_driving_is_that_of_its_run(tmp_path: Path, asynchronous: bool, has_others: bool) -> None:
    """Two runs at once have functions of one name, each its own; afterwards nobody has them."""

    def tool_for(who: str) -> Any:
        def look() -> str:
            return f"seen by {who}"

        return look

    others = [invoice] if has_others else []
    with engine.open(tmp_path / "t.db", tools=others) as db:
        model = script(tmp_path, "<look/>" + GO_ON, DONE)
        if asynchronous:

            async def both() -> None:
                await asyncio.gather(
                    *(db.run_async("Go", run=run, model=model, tools=[tool_for(run)]) for run in ("a", "b"))
                )

            asyncio.run(both())
        else:
            for run in ("a", "b"):
                db.run("Go", run=run, model=model, tools=[tool_for(run)])
        assert [row["body"] for row in db.rows(LOG)] == ["look()\nseen by a", "look()\nseen by b"]
        assert told(db, "a") == {"look"}
        db.run("On", run="a", model=script(tmp_path, DONE, DONE, "<look/>" + GO_ON, DONE))
        assert db.rows(LOG)[1]["status"] == 403
        db.start("Go", run="c", model=model)
        db.resume("c", tools=[tool_for("c")])
        assert db.rows(LOG)[-1]["body"] == "look()\nseen by c"


def test_a_set_is_hidden_while_rows_say_so(tmp_path: Path) -> None:
    def look(context: engine.Context[None]) -> str:
        """Let the customer in."""
        context.db.execute("insert into customers values (?)", (context.run,))
        return "in"

    billing = engine.Toolset("billing", [refund], when="select count(*) from customers where run = :run")
    with opened(tmp_path / "t.db", billing, look) as db:
        db.execute("create table customers (run text not null) strict")
        answers = ["<refund>A1</refund>" + GO_ON, "<look/>" + GO_ON, "<refund>A2</refund>" + GO_ON, DONE]
        db.run("Go", run="demo", model=script(tmp_path, *answers))
        assert [told(db, "demo", turn) for turn in (1, 2, 3)] == [{"look"}, {"look"}, {"look", "refund"}]
        assert [row["status"] for row in db.rows(LOG)] == [403, 200, 200]


def test_what_is_no_tool_and_no_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the name must consist of letters"):
        engine.Toolset("a b", [refund])
    with pytest.raises(TypeError, match="must be a list of functions"):
        engine.Toolset("billing", refund)  # type: ignore[arg-type]
    with pytest.raises(engine.ValidationError, match="given twice"):
        engine.open(tmp_path / "t.db", tools=[engine.Toolset("a", [refund]), engine.Toolset("a", [invoice])])
    with opened(tmp_path / "t.db", engine.Toolset("billing", [refund])) as db:
        with pytest.raises(engine.NotFound, match=r"no tool or toolset 'biling'; the app has billing, refund"):
            db.run("Go", model="scripted:none", tools=["biling"])
        with pytest.raises(TypeError, match="tools must be a list"):
            db.run("Go", model="scripted:none", tools=refund)
        assert db.runs() == []
        other = engine.Toolset("x", [invoice], when="delete from runs")
        with pytest.raises(engine.PermissionDenied):
            db.run("Go", run="demo", model=script(tmp_path, DONE), tools=[other])
