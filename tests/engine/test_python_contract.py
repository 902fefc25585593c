"""What an app may rely on: opening, registering, attaching, rows and transactions, runs in both colours.

spec: @python_contract @async_contract @embedding @models_protocol
"""

from __future__ import annotations

import asyncio
import json
import pickle
import sqlite3
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from audit import audit
from driving import DONE, GO_ON, START_MS, Clock, begin, script
from fresh import fresh

import engine
from engine.trust.known_files import ForeignFile

NOTE = '<set path="known://a">x</set>'


def test_a_file_is_created_and_opened_again(tmp_path: Path) -> None:
    with engine.open(tmp_path / "a.db") as db:
        begin(db, "demo")
    with engine.open(str(tmp_path / "a.db")) as db:
        assert db.value("select alias from runs") == "demo"
        assert db.value("pragma journal_mode") == "wal"
        assert db.value("pragma synchronous") == 2
    with engine.open(tmp_path / "a.db", synchronous="NORMAL") as db:
        assert db.value("pragma synchronous") == 1


def test_a_read_only_database_is_read_and_not_written(tmp_path: Path) -> None:
    with engine.open(tmp_path / "a.db") as db:
        begin(db, "demo")
    with engine.open(tmp_path / "a.db", read_only=True) as db:
        assert db.rows("select run from run_overview") == [{"run": "demo"}]
        with pytest.raises(engine.EngineError, match="403"):
            db.insert("verb_set", run="demo", path="known://a", body="x")


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    db = engine.open(tmp_path / "a.db")
    db.close()
    db.close()


def test_rows_row_and_value_read(db: engine.Database) -> None:
    assert db.rows("select 1 as a, 'x' as b union all select 2, 'y'") == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert db.row("select 1 as a where false") is None
    assert db.value("select ? + :two", (1, 2)) == 3
    assert db.value("select :n", {"n": "named"}) == "named"
    assert db.value("select 1 where false") is None


def test_a_transaction_is_all_or_nothing(db: engine.Database) -> None:
    begin(db, "demo")
    with pytest.raises(engine.PermissionDenied):
        write_two(db, "system://1")
    assert db.value("select count(*) from known_entries where scheme = 'known'") == 0
    write_two(db, "known://b")
    assert db.value("select count(*) from known_entries where scheme = 'known'") == 2


def write_two(db: engine.Database, second: str) -> None:
    with db.transaction():
        db.insert("verb_set", run="demo", path="known://a", body="x")
        with db.transaction():
            db.insert("verb_set", run="demo", path=second, body="y")


def test_errors_carry_the_status_of_the_rule_that_raised_them(db: engine.Database) -> None:
    begin(db, "demo")
    with pytest.raises(engine.PermissionDenied) as error:
        db.insert("verb_set", run="demo", path="system://1", body="x")
    assert error.value.status == 403
    assert str(error.value).startswith("403 ")
    assert isinstance(error.value, engine.EngineError)


def test_the_clock_is_the_callers() -> None:
    with fresh(clock=Clock()) as db:
        begin(db, "demo")
        assert db.value("select created_at from runs") == START_MS
        assert db.value("select created_at from run_overview") == "2026-01-01 00:00:00"


def test_a_result_says_how_it_went_and_what_it_took(db: engine.Database, tmp_path: Path) -> None:
    usage = {"prompt_tokens": 10, "cost": 0.5}
    result = db.run("Go", model=script(tmp_path, {"text": NOTE + DONE, "usage": usage}), run="demo")
    assert (result.run, result.status, result.answer, result.turns) == ("demo", 200, "Done.", 1)
    assert (result.cost, result.reason) == (0.5, None)
    assert json.loads(result.to_json())["usage"]["prompt_tokens"] == 10
    assert db.run("Go on", run="demo", model=script(tmp_path, "-", "All said.")).answer == "All said."


def test_a_new_run_is_named_after_its_prompt(tmp_path: Path) -> None:
    with fresh(clock=Clock()) as db:
        model = script(tmp_path, DONE)
        first, second = db.run("Go", model=model), db.run("Go", model=model)
        assert (first.run, second.run) == ("go", "go-2")


def test_what_keeps_a_run_from_starting_is_raised_and_leaves_nothing(db: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, DONE)
    with pytest.raises(engine.ValidationError, match="400 the prompt is empty"):
        db.run(" \n", model=model)
    with pytest.raises(engine.NotFound, match="404 model 'nonsense': not found"):
        db.run("Go", model="nonsense")
    with pytest.raises(engine.NotFound, match="no such folder"):
        db.run("Go", model=model, root=tmp_path / "nowhere")
    with pytest.raises(engine.NotFound, match="404 persona 'nobody'"):
        db.run("Go", model=model, persona="nobody")
    with pytest.raises(engine.ValidationError, match="mode must be ask or act"):
        db.run("Go", model=model, mode="play")
    with pytest.raises(TypeError, match="nonsense"):
        db.run("Go", model=model, nonsense=1)
    assert db.value("select count(*) from runs") == 0


def test_options_reach_the_run_and_its_loop(db: engine.Database, tmp_path: Path) -> None:
    model = script(tmp_path, DONE)
    db.run(
        "Go",
        model=model,
        run="demo",
        mode="ask",
        persona="reviewer",
        temperature=0.5,
        context_limit=20_000,
        max_turns=3,
        no_web=True,
        project="mine",
    )
    assert db.row("select persona, temperature, context_limit from runs") == {
        "persona": "reviewer",
        "temperature": 0.5,
        "context_limit": 20_000,
    }
    assert db.row(
        "select mode, json_extract(config, '$.max_turns') as turns, config -> '$.no_web' as web from loops"
    ) == {
        "mode": "ask",
        "turns": 3,
        "web": "1",
    }
    assert db.value("select project from run_overview") == "mine"


def test_a_run_keeps_its_model_and_a_setting_gives_one(
    db: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = script(tmp_path, DONE, DONE)
    assert db.run("Go", model=model, run="demo").status == 200
    assert db.run("Go", run="demo").status == 200, "the run's own"
    monkeypatch.setenv("ENGINE_MODEL", script(tmp_path, DONE))
    assert db.run("Go", run="second").status == 200, "the environment's"
    db.execute("update settings set value = ? where name = 'model'", (script(tmp_path, "from the setting"),))
    assert db.run("Go", run="third").answer == "from the setting"


def test_models_of_the_environment_are_aliases(
    db: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_MODEL_fast", script(tmp_path, DONE))
    monkeypatch.setenv("ENGINE_CONTEXT_fast", "20000")
    result = db.run("Go", model="fast")
    assert result.status == 200
    assert db.row("select context_length, origin from models where alias = 'fast'") == {
        "context_length": 20_000,
        "origin": "environment",
    }


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ENGINE_CONTEXT_fast", "0", "ENGINE_CONTEXT_fast: must be a whole number from 256 on, not '0'"),
        ("ENGINE_CONTEXT_fast", "many", "ENGINE_CONTEXT_fast: must be a whole number from 256 on, not 'many'"),
        ("ENGINE_MODEL_", "openai/x", "ENGINE_MODEL_: the alias is missing"),
    ],
)
def test_an_environment_that_no_model_can_have_is_refused(
    db: engine.Database, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv("ENGINE_MODEL_fast", "openai/x")
    monkeypatch.setenv(name, value)
    with pytest.raises(engine.ValidationError, match=said):
        db.run("Go", model="fast")


def test_an_alias_that_the_environment_gives_to_another_model_forgets_how_long_its_answers_may_be(
    db: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_MODEL_fast", script(tmp_path, DONE))
    db.insert("models", alias="fast", actual="openai/x", max_output=999, created_at=0)
    assert db.run("Go", model="fast").status == 200
    assert db.value("select max_output from models where alias = 'fast'") is None


def test_abort_and_resolve_and_sql(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    db.run("Go", model=script(tmp_path, "<set path='a.txt'>x</set>"), run="demo", root=workspace_dir)
    with pytest.raises(engine.NotFound, match="has no open proposal"):
        db.resolve("demo", "log://turn_1/none", accept=True)
    db.abort("demo", "not today")
    assert db.sql("select status, reason from loop_list") == [{"status": 499, "reason": "not today"}]
    with pytest.raises(engine.PermissionDenied):
        db.sql("delete from runs")
    with pytest.raises(engine.NotFound, match="404 run 'nobody'"):
        db.resolve("nobody", accept=True)


def test_runs_are_awaited_side_by_side(tmp_path: Path) -> None:
    async def both(db: engine.Database) -> list[int]:
        slow = {"text": GO_ON, "delay_s": 0.2}
        runs = [db.run_async("Go", model=script(tmp_path, slow, DONE), run=f"run{n}") for n in range(3)]
        return [result.status for result in await asyncio.gather(*runs)]

    with fresh() as db:
        assert asyncio.run(both(db)) == [200, 200, 200]


def test_a_run_that_waits_is_resumed_asynchronously(tmp_path: Path, workspace_dir: Path) -> None:
    async def go(db: engine.Database) -> list[int]:
        model = script(tmp_path, "<set path='a.txt'>x</set>" + GO_ON, DONE)
        first = await db.run_async("Go", model=model, run="demo", root=workspace_dir)
        db.resolve("demo", accept=True)
        return [first.status, (await db.resume_async("demo")).status]

    with fresh() as db:
        assert asyncio.run(go(db)) == [202, 200]


def test_a_cancelled_task_leaves_its_loop_to_be_resumed(tmp_path: Path) -> None:
    async def cancel(db: engine.Database) -> None:
        task = asyncio.create_task(
            db.run_async("Go", model=script(tmp_path, {"text": DONE, "delay_s": 300}), run="demo")
        )
        while not db.value("select count(*) from model_calls"):
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with fresh() as db:
        asyncio.run(cancel(db))
        assert db.row("select status, reason from loops") == {"status": 102, "reason": None}
        assert db.value("select count(*) from leases") == 0
        assert db.value("select step from resumable_runs where run = 'demo'") == "ask"
        Path(db.value("select model from runs").removeprefix("scripted:")).write_text(
            json.dumps(DONE), encoding="utf-8"
        )
        assert db.resume("demo").status == 200


def test_errors_of_an_asynchronous_run_are_raised_to_who_awaits_it() -> None:
    with fresh() as db, pytest.raises(engine.ValidationError, match="the prompt is empty"):
        asyncio.run(db.run_async("", model="scripted:none"))


def test_a_connection_of_the_standard_library_drives_a_run(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    engine.open(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    engine.register(connection)
    connection.execute(
        """insert into verb_set (run, path, body, attributes) values ('demo', 'run://demo', 'Go', '{"model":"m"}')"""
    )
    connection.execute("insert into _begin_turn (run) values ('demo')")
    connection.execute("insert into _submit_packet (turn_id, chars) values (1, 10)")
    connection.execute("update turns set response = ? where id = 1", (NOTE + DONE,))
    connection.execute("insert into _dispatch (run) values ('demo')")
    assert connection.execute("select status, answer from loop_list").fetchall() == [(200, "Done.")]
    with pytest.raises(sqlite3.OperationalError):
        connection.execute("insert into _begin_turn (run) values ('demo')")
    assert connection.execute("select last_error()").fetchone() == (
        "409 run demo: has nothing to do; give it a prompt",
    )
    connection.close()
    audit(path)


def test_an_app_attaches_an_engine_file_to_its_own_database(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "app.db"))
    connection.execute("create table customers (name text); insert into customers values ('Ada')").fetchall()
    engine.attach(connection, tmp_path / "agent.db", "agent")
    connection.execute("""insert into agent.verb_set (run, path, body, attributes)
        select 'demo', 'run://demo', 'Write to ' || name, '{"model":"m"}' from customers""")
    assert connection.execute("select prompt from agent.loop_list").fetchall() == [("Write to Ada",)]
    connection.close()
    audit(tmp_path / "agent.db")
    with pytest.raises(engine.ValidationError, match="is not a valid name"):
        engine.attach(apsw.Connection(":memory:"), tmp_path / "agent.db", "a b")


def test_one_import_is_enough_for_all_that_the_package_has() -> None:
    """Nothing else has been imported, as in an app that catches `engine.errors.Conflict`."""
    code = (
        "import engine; assert engine.errors.Conflict is engine.Conflict; assert engine.contract.Run is engine.Run\n"
        "assert not hasattr(engine, 'nothing') and not hasattr(engine, '_nothing') and not hasattr(engine, 'db.nothing')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_errors_come_out_of_a_pickle_as_they_went_in(tmp_path: Path) -> None:
    """An app that uses processes gets them so; one that cannot be made again breaks its pool."""
    foreign = ForeignFile(tmp_path / "a.db", [("model", "demo", "asks a model")])
    for error in (engine.Conflict("demo: is driven"), engine.EngineError("teapot", 418), foreign):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.status) == (type(error), str(error), error.status)
        assert again.__dict__ == error.__dict__
