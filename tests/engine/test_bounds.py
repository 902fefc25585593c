"""What a prompt, its tree, a day and the file may spend.

1. A limit ends the prompt, says what was spent, and is never exceeded. 2. It counts what runs below do, and holds for all
runs of a day and of the file. 3. Runs that work at once share it through reservations, which are given back. 4. More of it
goes on. 5. Prices: unknown, free, a person's. 6. Values that are none. 7. A file without limits does nothing for them.

spec: @bounds @spending @reservations
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from delegating import Cast, gives
from driving import DONE, GO_ON, Clock, opened, script
from engine_cli import engine as command
from engine_cli import script as command_script
from fresh import fresh

import engine
from engine.errors import Conflict, EngineError, ValidationError
from engine.models.messages_request import messages_request
from engine.models.protocol import Completion, Message, Price, Request, Usage
from engine.models.thinking import Thinking

GOAL = "make the tests pass"
DAY_MS = 86_400_000
PRICE = Price(1, 10, 1)


class Paid:
    """A model that writes as much as it may and costs 1 dollar a million tokens read, 10 a million written."""

    name = "paid"

    def __init__(self, price: Price | None = PRICE, *, says: Callable[[Request], str] | None = None) -> None:
        self.price = price
        self.asked: list[Request] = []
        self.together = self.most_together = 0
        self._says = says or (lambda request: f'<set path="known://a{request.position}">x</set>{GO_ON}')
        self._lock = threading.Lock()

    def price_at(self, _: int) -> Price | None:
        """What it costs."""
        return self.price

    def complete(self, request: Request, *_: Any) -> Completion:
        """An answer of the longest length that the request allows, or of 4,000 tokens."""
        with self._lock:
            self.asked.append(request)
            self.together += 1
            self.most_together = max(self.together, self.most_together)
        text = self._says(request)
        written = min(request.max_tokens or 4000, 4000)
        read = sum(len(message.content) for message in request.messages) // 4
        usage = Usage(read, 0, written, 0, self.price and (read * self.price.input + written * self.price.output) / 1e6)
        with self._lock:
            self.together -= 1
        return Completion(text, "", usage)


def spent(db: engine.Database, column: str = "cost") -> float:
    """What the file has spent."""
    return float(db.value(f"select coalesce(sum({column}), 0) from spending"))


# 1. the end


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ({"max_cost": 0.1}, "stopped at the limit of $0.1 ($0."),
        ({"max_tokens": 20_000}, "stopped at the limit of 20,000 tokens ("),
        ({"max_calls": 2}, "stopped at the limit of 2 model calls; "),
    ],
)
def test_a_limit_ends_the_prompt_and_is_not_exceeded(db: engine.Database, limit: dict[str, Any], told: str) -> None:
    result = db.run(GOAL, run="demo", model=Paid(), **limit)
    assert result.status == 499
    assert result.reason is not None
    assert result.reason.startswith(told)
    assert result.reason.endswith(f'; "{GOAL}" is not done')
    name, most = next(iter(limit.items()))
    column = name.removeprefix("max_")
    assert 0.5 * most < spent(db, column) <= most + 1e-9
    assert db.value(f"select {column} from prompt_spending") == spent(db, column)
    stopped = db.row("select stopped_by, used, more from stopped_prompts")
    assert stopped == {"stopped_by": name, "used": spent(db, column), "more": 2 * most}


def test_an_answer_gets_what_is_left(db: engine.Database) -> None:
    model = Paid()
    db.run(GOAL, model=model, max_tokens=20_000)
    lengths = [request.max_tokens or 0 for request in model.asked]
    assert lengths == sorted(lengths, reverse=True)
    assert 256 <= lengths[-1] < 4000 < lengths[0] <= 16_384
    assert all(request.is_bounded for request in model.asked)


def test_an_end_by_itself_is_no_end_by_a_limit(db: engine.Database) -> None:
    result = db.run(GOAL, model=Paid(says=lambda _: DONE), max_calls=1)
    assert (result.status, result.answer) == (200, "Done.")


def test_thoughts_count_as_part_of_a_bounded_answer() -> None:
    thinks = Thinking(("none", "high"))
    asked = Request((Message("user", "Hello"),), None, 4000, None, 9, 0, "a", effort="high", is_bounded=True)
    body = messages_request(asked, "claude-sonnet-4", thinks)
    assert (body["max_tokens"], body["thinking"]["budget_tokens"]) == (4000, 2000)
    little = Request((Message("user", "Hello"),), None, 300, None, 9, 0, "a", effort="high", is_bounded=True)
    body = messages_request(little, "claude-sonnet-4", thinks)
    assert (body["max_tokens"], body["thinking"]) == (300, {"type": "disabled"})


def test_what_no_provider_told_is_estimated(db: engine.Database, tmp_path: Path) -> None:
    db.run(GOAL, model=script(tmp_path, f"{'word ' * 400}{GO_ON}", DONE), max_calls=9)
    read, written = db.tuples("select context_tokens, length(response) from turns")[0]
    assert read + written / 8 < spent(db, "tokens")
    assert spent(db, "calls") == 2


# 2. trees, days, the file


def test_a_tree_shares_the_limit_of_its_prompt(db: engine.Database) -> None:
    model = Cast({"top": [gives("one", "two", "three")]}, cost=0.01)
    model.price_at = lambda _: Price(0, 0, 0)  # type: ignore[attr-defined]
    result = db.run(GOAL, run="top", model=model, max_depth=1, max_calls=3)
    assert (result.status, spent(db, "calls")) == (499, 3)
    told = db.tuples("select run, reason from loop_list where status = 499 and run <> 'top'")
    assert told
    assert all("3 model calls of the prompt of run top" in reason for _, reason in told)
    own = db.value("select calls from prompt_spending join loops as l on l.id = loop_id join runs on runs.id = l.run_id "
                   "where alias = 'top'")  # fmt: skip
    assert own == 3


def test_a_child_may_have_less_than_its_parent(db: engine.Database) -> None:
    db.run(GOAL, run="top", model=Cast({"top": [gives("one")]}), max_depth=1, max_calls=9)
    parent = db.value("select id from runs where alias = 'top'")
    attributes = json.dumps({"max_calls": 1})
    db.insert("_start_child", parent_run_id=parent, role="subtask", prompt="work", attributes=attributes)
    limits = db.rows("select run, name, most from spending_limits")
    assert {"run": "top-2", "name": "max_calls", "most": 1.0} in limits


def test_a_day_begins_anew_and_the_prompt_goes_on() -> None:
    clock = Clock()
    with fresh(clock=clock) as db:
        db.execute("update settings set value = '2' where name = 'max_day_calls'")
        first = db.run(GOAL, run="demo", model=Paid())
        assert first.reason == f'stopped at the limit of 2 model calls a day, max_day_calls; "{GOAL}" is not done'
        assert db.resume("demo").status == 499
        assert spent(db, "calls") == 2
        clock.now += DAY_MS
        again = db.resume("demo")
        assert (again.turns, spent(db, "calls")) == (2, 4)


def test_a_file_counts_what_it_spent_before(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        db.run("Hello", model=script(tmp_path, *[{"text": DONE, "usage": {"cost": 0.25}}]))
        assert not db.has("bounds")
        db.execute("update settings set value = '0.2' where name = 'max_file_cost'")
        result = db.run(GOAL, run="demo", model=script(tmp_path, DONE))
        assert result.reason is not None
        assert result.reason.startswith("stopped at the limit of $0.2 for this file, max_file_cost ($0.25 spent)")
        assert db.sql("select name, most, spent, reserved from spending_limits") == [
            {"name": "max_file_cost", "most": 0.2, "spent": 0.25, "reserved": 0}
        ]


def test_the_setting_holds_for_prompts_without_a_limit(db: engine.Database) -> None:
    db.execute("update settings set value = '3' where name = 'max_loop_calls'")
    model = Paid()
    assert (db.run(GOAL, model=model).turns, db.run(GOAL, model=model, max_calls=1).turns) == (3, 1)
    assert db.value("select value from run_settings where name = 'max_loop_calls' order by run desc limit 1") == "1"


def test_a_prompt_that_is_handed_over_keeps_its_limit(db: engine.Database) -> None:
    desk = Paid(says=lambda _: '<handoff persona="billing">He is logged in.</handoff>')
    other = Paid()
    other.name = "other"
    billing = engine.Handoff("billing", "You do refunds.", model=other)
    result = db.run("Refund it.", model=desk, handoffs=[billing], max_calls=3)
    assert (result.status, len(desk.asked), len(other.asked)) == (499, 1, 2)


# 3. at once


@pytest.mark.parametrize("setting", ["max_file_cost", "max_day_tokens", "max_file_calls"])
def test_fifty_runs_at_once_share_a_limit(setting: str) -> None:
    model = Paid()
    most = {"max_file_cost": 0.6, "max_day_tokens": 90_000, "max_file_calls": 70}[setting]

    async def crowd(db: engine.Database) -> list[engine.Result]:
        return await asyncio.gather(*(db.run_async(GOAL, model=model, max_turns=2) for _ in range(50)))

    with fresh() as db:
        db.execute("update settings set value = ? where name = ?", (str(most), setting))
        results = asyncio.run(crowd(db))
        used = spent(db, setting.rpartition("_")[2])
        assert 0.7 * most < used <= most + 1e-9
        assert {result.status for result in results} == {499}
        assert any(setting in str(result.reason) for result in results)
        assert db.value("select count(*) from _live_reservations") == 0


def test_a_call_waits_for_the_part_of_another(db: engine.Database) -> None:
    began, go_on = threading.Event(), threading.Event()

    def says(request: Request) -> str:
        if request.run == "first":
            began.set()
            assert go_on.wait(60)
        return DONE

    model = Paid(says=says)
    db.execute("update settings set value = '30000' where name = 'max_file_tokens'")

    async def both() -> tuple[engine.Result, engine.Result]:
        first = asyncio.create_task(db.run_async("a", run="first", model=model))
        await asyncio.to_thread(began.wait, 60)
        second = asyncio.create_task(db.run_async("b", run="second", model=model))
        while not await asyncio.to_thread(db.value, "select 1 from _next_steps where run = 'second' and step = 'ask'"):
            await asyncio.sleep(0.01)
        reserved = await asyncio.to_thread(db.value, "select reserved from spending_limits")
        assert (len(model.asked), 16_384 < reserved < 30_000) == (1, True)
        go_on.set()
        return await first, await second

    first, second = asyncio.run(both())
    assert (first.status, second.status, model.most_together) == (200, 200, 1)


def test_a_driver_that_is_gone_gives_its_part_back(db: engine.Database) -> None:
    """As a kill leaves it: the call is open and nobody renews the lease."""
    db.execute("update settings set value = '1' where name = 'max_file_calls'")
    db.start("a", run="killed", model=Paid())
    db.insert("_claim_lease", run="killed", token="gone", holder="{}")
    db.insert("_begin_turn", run="killed", lease="gone")
    turn = db.value("select turn_id from _next_steps where run = 'killed'")
    db.insert("_submit_packet", turn_id=turn, chars=100, lease="gone")
    db.insert("_reserve_call", turn_id=turn, price="[1, 1, 1]", lease="gone")
    db.insert("_open_call", turn_id=turn)
    assert db.value("select count(*) from _live_reservations") == 1
    assert db.value("select reserved from spending_limits") == 1
    db.execute("update leases set expires_at = 1")
    assert db.value("select count(*) from _live_reservations") == 0
    model = Paid(says=lambda _: DONE)
    assert db.run("b", model=model).status == 200
    # the call that was interrupted is a call
    assert db.resume("killed").status == 499


def test_a_call_that_fails_gives_its_part_back(db: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, {"error": {"status": 500, "message": "broken"}})
    db.run(GOAL, model=model, max_tokens=20_000, max_calls=1)
    assert (spent(db, "tokens"), spent(db, "calls")) == (0, 1)
    assert db.value("select count(*) from _live_reservations") == 0


# 4. on


def test_a_higher_limit_goes_on(db: engine.Database) -> None:
    def says(request: Request) -> str:
        return DONE if request.position == 3 else f"<set path='known://a{request.position}'>x</set>{GO_ON}"

    first = db.run(GOAL, run="demo", model=Paid(says=says), max_calls=2)
    again = db.resume("demo", max_calls=5)
    assert (first.status, again.status, again.answer, spent(db, "calls")) == (499, 200, "Done.", 4)
    with pytest.raises(Conflict, match="no limit stopped its latest prompt"):
        db.resume("demo", max_cost=1)


def test_the_terminal_says_what_was_spent_and_how_to_go_on(folder: Path, tmp_path: Path) -> None:
    model = command_script(
        tmp_path / "s.jsonl", [f'<set path="known://a{n}">x</set>{GO_ON}' for n in range(3)] + [DONE]
    )
    given = ["--run", "demo", "--no-repo", "--model", model]
    done = command(folder, "run", *given, "--max-calls", "2", "--max-cost", "1", GOAL)
    assert done.returncode == 4, done.stderr
    *_, told, how = done.stderr.splitlines()
    assert told.startswith(f'demo: stopped at the limit of 2 model calls; "{GOAL}" is not done (2 turns, ')
    assert how == "Continue: engine resume demo --max-calls 4"
    again = command(folder, *how.removeprefix("Continue: engine ").split())
    assert (again.returncode, again.stdout) == (0, "Done.\n"), again.stderr
    command(folder, "config", "max_file_calls=4")
    done = command(folder, "run", *given, GOAL)
    *_, told, how = done.stderr.splitlines()
    assert "stopped at the limit of 4 model calls for this file, max_file_calls" in told
    assert how == "Continue: engine config max_file_calls=8 && engine resume demo"


# 5. prices


def test_a_limit_of_cost_needs_a_price(db: engine.Database) -> None:
    result = db.run(GOAL, run="demo", model=Paid(None, says=lambda _: DONE), max_cost=1)
    assert result.reason == (
        "stopped: max_cost cannot be kept, because no price is known for object:paid; "
        "engine models add NAME object:paid --price IN/OUT says it"
    )
    db.execute(
        "insert into models (alias, actual, price_input, price_output, created_at) values ('p', 'object:paid', 1, 2, 0)"
    )
    assert db.resume("demo", max_cost=1).status == 200
    assert db.run(GOAL, model=Paid(None, says=lambda _: DONE), max_tokens=100_000).status == 200


def test_free_models_may_go_on_without_money(db: engine.Database, tmp_path: Path) -> None:
    assert db.run(GOAL, model=script(tmp_path, GO_ON, DONE), max_cost=0).status == 200
    assert db.run(GOAL, model=Paid(), max_cost=0).status == 499
    told = script(tmp_path, {"text": GO_ON, "usage": {"cost": 0.3}}, DONE)
    assert db.run(GOAL, model=told, max_cost=0.2).turns == 1


# 6. values


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "1", 1e400, True])
@pytest.mark.parametrize("name", ["max_cost", "max_tokens", "max_calls"])
def test_a_limit_that_is_none_is_refused(db: engine.Database, name: str, value: Any) -> None:
    with pytest.raises((EngineError, TypeError)):
        db.run(GOAL, model=Paid(), **{name: value})
    with pytest.raises((EngineError, TypeError)):
        db.resume("demo", **{name: value})
    assert db.value("select count(*) from loops") == 0


def test_hostile_values_of_sql(db: engine.Database) -> None:
    for value in ("-1", "nan", "inf", "1e999", "x", "0x10", "1; drop table runs"):
        with pytest.raises(ValidationError):
            db.execute("update settings set value = ? where name = 'max_day_cost'", (value,))
        attributes = json.dumps({"max_cost": value})
        with pytest.raises(ValidationError):
            db.insert("verb_set", run="a", path="run://a", body="x", attributes=attributes)
    db.start("a", run="b", model=Paid(), max_cost=1e300)
    db.insert("_begin_turn", run="b")
    turn = db.value("select turn_id from _next_steps where run = 'b'")
    db.insert("_submit_packet", turn_id=turn, chars=100)
    for price in ("[-1, -1, 0]", '["x", null]', "[]", "[1e308, 1e308, 1e308]", "{}", "x", '["1", "1"]'):
        with pytest.raises(ValidationError, match="US dollars per million tokens"):
            db.insert("_reserve_call", turn_id=turn, price=price)
    huge = db.run(GOAL, model=Paid(says=lambda _: DONE), max_cost=1e300, max_tokens=2**53, max_calls=2**53)
    assert huge.status == 200


def test_a_driver_reserves_before_it_calls(db: engine.Database) -> None:
    db.start("a", run="demo", model="scripted:none", max_calls=2)
    db.insert("_begin_turn", run="demo")
    turn = db.value("select turn_id from _next_steps where run = 'demo'")
    db.insert("_submit_packet", turn_id=turn, chars=100)
    with pytest.raises(Conflict, match="a limit holds for it; insert into _reserve_call first"):
        db.insert("_open_call", turn_id=turn)
    with pytest.raises(EngineError, match="not found; see the view _next_steps"):
        db.insert("_reserve_call", turn_id=99)
    db.insert("_reserve_call", turn_id=turn)
    db.insert("_open_call", turn_id=turn)
    db.execute("update turns set response = ? where id = ?", (GO_ON, turn))
    db.insert("_dispatch", run="demo")
    # one that opens none is counted all the same
    db.insert("_begin_turn", run="demo")
    turn = db.value("select turn_id from _next_steps where run = 'demo'")
    db.insert("_submit_packet", turn_id=turn, chars=100)
    db.execute("update turns set response = ? where id = ?", (GO_ON, turn))
    db.insert("_dispatch", run="demo")
    assert db.value("select reason from loop_list") == 'stopped at the limit of 2 model calls; "a" is not done'


# 7. nothing


def test_a_file_without_limits_does_nothing_for_them(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        said: list[str] = []
        db.connection.exec_trace = lambda _, sql, __: said.append(sql) is None
        db.run(GOAL, model=script(tmp_path, GO_ON, DONE))
        db.connection.exec_trace = None
        assert not db.has("bounds")
        assert said
        assert not [sql for sql in said if "reserv" in sql or "spen" in sql]
