"""A callback of a driven run does what it likes, and the run stays sound: nothing is lost, nothing is done twice.

1. A callback that raises. 2. One that leaves a transaction open. 3. One that closes the file, or drives. 4. One whose
answer is none: a generator, a coroutine. 5. What a caller may do inside a transaction.

spec: @python_contract @driver_loop
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, script

import engine

WRITE = '<set path="a.txt">x</set><update status="102">on</update>'


@pytest.fixture
def options(tmp_path: Path, workspace_dir: Path) -> dict[str, Any]:
    """A run that proposes a file and then is done."""
    return {"run": "demo", "model": script(tmp_path, WRITE, DONE), "root": workspace_dir}


def goes_on(db: engine.Database, folder: Path) -> None:
    """The run is free, nothing was decided, and it can be driven to its end."""
    assert not db.connection.in_transaction
    assert db.value("select count(*) from leases") == 0
    assert not (folder / "a.txt").exists()
    assert db.resume("demo", on_proposal=lambda _: True).status == 200
    assert (folder / "a.txt").read_text("utf-8") == "x\n"
    assert db.value("select count(*) from resolutions") == 1


def fail(_: object) -> None:
    raise RuntimeError("mine")


@pytest.mark.parametrize("callback", ["on_event", "on_proposal"])
def test_a_callback_that_raises_ends_the_driving_only(
    db: engine.Database, options: dict[str, Any], workspace_dir: Path, callback: str
) -> None:
    with pytest.raises(RuntimeError, match="mine"):
        db.run("Go", **options, **{callback: fail})
    goes_on(db, workspace_dir)


@pytest.mark.parametrize("callback", ["on_event", "on_proposal"])
def test_a_transaction_left_open_is_rolled_back(
    db: engine.Database, options: dict[str, Any], workspace_dir: Path, callback: str
) -> None:
    def begin(_: object) -> bool:
        db.execute("begin")
        db.execute("update settings set value = '7' where name = 'max_loop_turns'")
        return True

    with pytest.raises(engine.Conflict, match="begin did not commit its transaction"):
        db.run("Go", **options, **{callback: begin})
    assert db.value("select value from settings where name = 'max_loop_turns'") != "7"
    goes_on(db, workspace_dir)


@pytest.mark.parametrize("callback", ["on_event", "on_proposal"])
def test_the_file_is_not_closed_under_its_driver(
    db: engine.Database, options: dict[str, Any], workspace_dir: Path, callback: str
) -> None:
    with pytest.raises(engine.Conflict, match="close the file when the run has ended"):
        db.run("Go", **options, **{callback: lambda _: db.close()})
    goes_on(db, workspace_dir)


def test_a_closed_file_says_so(tmp_path: Path) -> None:
    db = engine.open(tmp_path / "t.db")
    db.close()
    db.close()
    with pytest.raises(engine.Conflict, match="is closed; open it again"):
        db.rows("select 1")
    with pytest.raises(engine.Conflict, match="is closed"):
        db.insert("verb_set", run="demo", path="known://a", body="x")


@pytest.mark.parametrize(
    "act",
    [
        lambda db: db.run("Other", run="demo"),
        lambda db: db.resume("demo"),
        lambda db: db.purge("demo"),
    ],
    ids=["run", "resume", "purge"],
)
def test_a_driven_run_is_not_driven_or_purged_by_its_callback(
    db: engine.Database, options: dict[str, Any], act: Callable[[engine.Database], object]
) -> None:
    def other(_: object) -> bool:
        act(db)
        return True

    with pytest.raises(engine.Conflict, match="works on it"):
        db.run("Go", **options, on_proposal=other)
    assert db.value("select count(*) from leases") == 0
    assert db.value("select count(*) from resolutions") == 0
    assert db.value("select count(*) from open_proposals") == 1


def test_a_callback_drives_another_run(db: engine.Database, options: dict[str, Any], tmp_path: Path) -> None:
    def delegate(_: object) -> bool:
        return db.run("Other", run="other", model=script(tmp_path, DONE)).status == 200

    assert db.run("Go", **options, on_proposal=delegate).status == 200
    assert db.rows("select status from runs order by id") == [{"status": 200}, {"status": 200}]


def generator(_: object) -> Any:
    yield True


async def coroutine(_: object) -> bool:
    return True


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("callback", [generator, coroutine])
def test_an_answer_that_is_none_yet_decides_nothing(
    db: engine.Database, options: dict[str, Any], workspace_dir: Path, callback: Any
) -> None:
    with pytest.raises(TypeError, match="on_proposal returned"):
        db.run("Go", **options, on_proposal=callback)
    goes_on(db, workspace_dir)


def record_and_fail(db: engine.Database, options: dict[str, Any]) -> None:
    db.resolve("demo", accept=True, by="Ada")
    db.fork("demo", "child")
    db.abort("demo")
    for drives in (
        lambda: db.purge("demo"),
        lambda: db.resume("demo"),
        lambda: asyncio.run(db.resume_async("demo")),
        lambda: asyncio.run(db.run_async("Go", **options)),
    ):
        with pytest.raises(engine.Conflict):
            drives()
    fail(None)


def test_inside_a_transaction_what_is_recorded_is_rolled_back_whole(
    db: engine.Database, options: dict[str, Any], workspace_dir: Path
) -> None:
    assert db.run("Go", **options).status == 202
    with pytest.raises(RuntimeError, match="mine"), db.transaction():
        record_and_fail(db, options)
    assert db.value("select count(*) from runs") == 1
    goes_on(db, workspace_dir)


def test_who_decided_is_named(db: engine.Database, options: dict[str, Any]) -> None:
    class Ada:
        decided_by = "Ada"

        def __call__(self, _: object) -> bool:
            return True

    assert db.run("Go", **options, on_proposal=Ada()).status == 200
    assert db.rows("select decided_by from decisions") == [{"decided_by": "Ada"}]
    with pytest.raises(engine.ValidationError, match="name of the person who decides is empty"):
        db.resolve("demo", accept=True, by=" ")
