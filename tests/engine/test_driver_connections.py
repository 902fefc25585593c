"""Drivers share the connections of their database, whatever waits, breaks or is closed.

spec: @driver_connections @delegation @async_contract
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from audit import audit
from delegating import Cast, ended, gives
from driving import DONE, GO_ON, opened
from timing import wait_until

import engine
from engine.api.database import Database
from engine.api.pool import Pool
from engine.db import log_sync
from engine.db.lines import Queue
from engine.models.protocol import Completion, Request, Usage

MOST = 4
"""Connections of one database, however many runs it drives."""
CROWD = 24


class Waiting:
    """A model that answers `answer` once it is let go; `asked` counts who waits for it, or has waited."""

    name = "waiting"

    def __init__(self) -> None:
        self.asked = 0
        self.let_go = threading.Event()
        self._lock = threading.Lock()

    def complete(self, request: Request, _: Any = None, cancelled: threading.Event | None = None) -> Completion:
        with self._lock:
            self.asked += 1
        assert self.let_go.wait(300)
        return Completion(DONE, "", Usage(10, 0, 5, 0, 0.0))


def pool_of(db: Database) -> Pool:
    assert db._pool is not None
    return db._pool


def expect_nothing_lent(db: Database) -> None:
    """All of it has been given back: nobody has a turn, and all that read lie there."""
    pool = pool_of(db)
    assert not pool._queue._taken
    assert len(pool._readers) == pool._open_readers
    assert pool.size <= MOST


def files_of(place: Path) -> int:
    """How many descriptors of this process are of a file, or of those that SQLite keeps beside it."""
    count = 0
    for each in Path("/proc/self/fd").iterdir():
        try:
            count += os.readlink(each).startswith(str(place))
        except FileNotFoundError:  # that of the listing
            continue
    return count


async def until(claim: Any) -> None:
    await asyncio.to_thread(wait_until, claim)


def test_a_crowd_that_waits_for_its_model_has_no_connection(tmp_path: Path) -> None:
    async def go(db: Database) -> None:
        model = Waiting()
        runs = [asyncio.create_task(db.run_async("Go", model=model)) for _ in range(CROWD)]
        await until(lambda: model.asked == CROWD)
        expect_nothing_lent(db)
        model.let_go.set()
        assert [result.status for result in await asyncio.gather(*runs)] == [200] * CROWD
        expect_nothing_lent(db)

    with opened(tmp_path) as db:
        asyncio.run(go(db))


def test_runs_that_wait_for_a_person_have_no_connection(tmp_path: Path, workspace_dir: Path) -> None:
    asked: list[str] = []
    decided = threading.Event()

    def decide(proposal: engine.Proposal) -> bool:
        asked.append(proposal["run"])
        assert decided.wait(300)
        return True

    async def go(db: Database) -> None:
        answers = Cast({f"r{n}": [f'<set path="new_{n}.txt">x</set>' + GO_ON, DONE] for n in range(6)})
        runs = [
            asyncio.create_task(db.run_async("Go", run=f"r{n}", model=answers, root=workspace_dir, on_proposal=decide))
            for n in range(6)
        ]
        await until(lambda: len(asked) == 6)
        expect_nothing_lent(db)
        with db.transaction():  # nothing keeps the file
            db.insert("verb_set", run="r0", path="known://noted", body="meanwhile")
        decided.set()
        assert [result.status for result in await asyncio.gather(*runs)] == [200] * 6

    with opened(tmp_path) as db:
        asyncio.run(go(db))
    assert {f"new_{n}.txt" for n in range(6)} <= set(os.listdir(workspace_dir))


def test_an_error_of_a_model_or_of_a_callback_gives_the_connection_back(tmp_path: Path) -> None:
    class Broken(Waiting):
        def complete(self, request: Request, _: Any = None, cancelled: threading.Event | None = None) -> Completion:
            raise RuntimeError("the model broke")

    def told(event: engine.Event) -> None:
        raise RuntimeError("the listener broke")

    async def go(db: Database) -> None:
        for options in ({"model": Broken()}, {"model": Cast({}), "on_event": told}):
            with pytest.raises(RuntimeError, match="broke"):
                await db.run_async("Go", **options)  # type: ignore[arg-type]
            expect_nothing_lent(db)
        assert (await db.run_async("Go", model=Cast({}))).status == 200

    with opened(tmp_path) as db:
        asyncio.run(go(db))


def test_a_database_that_is_closed_lets_what_it_drives_go_on_and_then_has_no_file_open(tmp_path: Path) -> None:
    place = tmp_path / "a.db"

    async def go() -> None:
        db = engine.open(place)
        model = Waiting()
        run = asyncio.create_task(db.run_async("Go", run="demo", model=model))
        await until(lambda: model.asked == 1)
        db.close()
        with pytest.raises(engine.Conflict, match="is closed; open it again"):
            await db.run_async("Go", model=model)
        with pytest.raises(engine.Conflict, match="is closed; open it again"):
            db.shared()
        model.let_go.set()
        assert (await run).status == 200

    asyncio.run(go())
    assert files_of(place) == 0
    audit(place)


def test_children_share_connections_and_leave_none_when_the_database_is_closed(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    tasks = [f"part {n}" for n in range(1, 9)]
    model = Cast({"demo": [gives(*tasks), ended("all")]})
    with engine.open(place) as db:
        db.execute("update settings set value = '8' where name = 'max_parallel_children'")
        result = db.run("Give it away", run="demo", model=model, max_depth=1)
        assert (result.status, result.answer) == (200, "all")
        assert db.value("select count(*) from loop_results where run like 'demo-%' and status = 200") == 8
        expect_nothing_lent(db)
    assert files_of(place) == 0


def test_only_a_run_with_threads_has_their_triggers(tmp_path: Path) -> None:
    def triggers(pool: Pool, threaded: bool) -> int:
        return int(pool._writers[threaded].value("select count(*) from sqlite_temp_schema where type = 'trigger'"))

    with opened(tmp_path) as db:
        db.start("Go", run="threaded", model=Cast({}))
        db.execute(
            "insert into thread_uses (thread_id, run_id, added_by) "
            "select t.id, r.id, 'test' from threads as t, runs as r where r.alias = 'threaded' limit 1"
        )
        for run in ("threaded", "plain"):
            with db.shared() as handle:
                assert (handle.resume(run) if run == "threaded" else handle.run("Go", model=Cast({}))).status == 200
        assert (triggers(pool_of(db), False), triggers(pool_of(db), True)) == (0, 2)


def test_a_function_of_an_app_may_use_its_handle_while_runs_share_connections(tmp_path: Path) -> None:
    seen: list[int] = []

    def count_runs() -> str:
        """Count the runs."""
        seen.append(len(db.runs()))
        return "counted"

    async def go() -> list[int]:
        answers = Cast({f"r{n}": ["<count_runs/>" + GO_ON, DONE] for n in range(3)})
        return [(await db.run_async("Go", run=f"r{n}", model=answers)).status for n in range(3)]

    with engine.open(tmp_path / "a.db", tools=[count_runs]) as db:
        assert asyncio.run(go()) == [200] * 3
    assert seen == [1, 2, 3]


def test_connections_of_a_file_that_was_removed_are_not_used_again(tmp_path: Path) -> None:
    with engine.open(tmp_path / "a.db") as db:
        with db.shared() as handle:
            handle.start("Go", run="first", model=Cast({}))
        before = pool_of(db)
        for each in tmp_path.iterdir():
            each.unlink()
        with db.shared() as handle:
            assert handle.runs() == []
        assert (before.closed, before.size) == (True, 0)
        assert pool_of(db) is not before


def test_a_database_that_is_closed_or_in_memory_shares_nothing(tmp_path: Path) -> None:
    db = engine.open(tmp_path / "a.db")
    db.close()
    with pytest.raises(engine.Conflict, match="is closed; open it again"):
        db.shared()
    with engine.open(":memory:") as memory, pytest.raises(engine.ValidationError, match="has only one handle"):
        memory.shared()


def test_a_statement_that_leaves_a_transaction_open_keeps_nobody_from_writing(tmp_path: Path) -> None:
    with opened(tmp_path) as db, db.shared() as handle:
        with pytest.raises(engine.Conflict, match="begin: is not allowed here; use 'with db"):
            handle.execute("begin immediate")
        assert not handle.in_transaction
        handle.start("Go", run="demo", model=Cast({}))
        db.start("Go", run="second", model=Cast({}))


def test_what_is_told_of_as_committed_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reached = [0]
    synchronize = log_sync._synchronize

    def noted(descriptor: int) -> None:
        written = os.pread(descriptor, 1 << 30, 0)
        synchronize(descriptor)
        reached[0] = hash(written)

    monkeypatch.setattr(log_sync, "_synchronize", noted)
    with opened(tmp_path) as db, db.shared() as handle:
        log = Path(f"{db.place}-wal")
        handle.start("Go", run="demo", model=Cast({}))
        for _ in range(3):
            assert reached[0] == hash(log.read_bytes())
            handle.insert("verb_set", run="demo", path="known://a", body=json.dumps(reached))
        handle.execute_ahead("update settings set value = '7' where name = 'max_parallel_children'")
        assert reached[0] != hash(log.read_bytes()), "what is ahead of a transaction waits for that"


def test_one_synchronization_serves_all_who_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, let_go = threading.Semaphore(0), threading.Event()
    count = []

    def slow(descriptor: int) -> None:
        count.append(descriptor)
        began.release()
        assert let_go.wait(300)

    (tmp_path / "a.db-wal").touch()
    monkeypatch.setattr(log_sync, "_synchronize", slow)
    log = log_sync.LogSync(tmp_path / "a.db")
    waiting = [threading.Thread(target=log.sync) for _ in range(5)]
    waiting[0].start()
    assert began.acquire(timeout=300)
    for each in waiting[1:]:
        each.start()
    wait_until(lambda: log._asked == len(waiting))
    let_go.set()
    for each in waiting:
        each.join()
    log.close()
    assert len(count) == 2, "one had begun before the others had committed"


def test_a_log_that_cannot_be_written_to_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(log_sync, "_synchronize", broken)
    with opened(tmp_path) as db, db.shared() as handle:
        with pytest.raises(
            engine.EngineError, match=r"500 .*: the -wal file cannot be written to disk \(Input/output error\); open it"
        ):
            handle.start("Go", run="demo", model=Cast({}))
        monkeypatch.undo()
        with pytest.raises(engine.EngineError, match="open it again"):  # what was lost stays lost
            handle.start("Go", run="second", model=Cast({}))
    with opened(tmp_path) as db, db.shared() as handle:
        handle.start("Go", run="third", model=Cast({}))


def has_waiting(queue: Queue, count: int) -> bool:
    return len(queue._waiting) == count


def test_writers_take_turns_in_the_order_in_which_they_come() -> None:
    queue, order = Queue(), []

    def take(number: int) -> None:
        with queue.turn_within(300) as mine:
            assert mine
            order.append(number)

    with queue.turn_within(300):
        threads = []
        for number in range(5):
            threads.append(threading.Thread(target=take, args=(number,)))
            threads[-1].start()
            wait_until(partial(has_waiting, queue, number + 1))
        with queue.turn_within(0.01) as mine:
            assert not mine
    for each in threads:
        each.join()
    assert order == [0, 1, 2, 3, 4]
    assert not queue._taken


@pytest.mark.parametrize(("turns", "gets_it"), [(float("nan"), True), (0, False)])
def test_who_waits_to_write_waits_as_long_as_others_get_on(turns: Any, gets_it: bool) -> None:
    """Nobody is refused because many stand before it. NaN differs from itself: as if a turn was noted at each look."""
    queue, told = Queue(), list[bool]()
    queue._turns = turns

    def take() -> None:
        with queue.turn_within(0.001, patiently=True) as mine:
            told.append(mine)

    with queue.turn_within(300):
        thread = threading.Thread(target=take)
        thread.start()
        wait_until(lambda: bool(told) if not gets_it else has_waiting(queue, 1))
    thread.join()
    assert told == [gets_it]


def test_what_is_driven_when_the_database_closes_may_still_delegate(tmp_path: Path) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def first(_: Request) -> str:
        asked.set()
        assert go_on.wait(300)
        return gives("one", "two")

    cast = Cast({"top": [first, DONE], "top-1": [ended()], "top-2": [ended()]})

    async def work() -> int:
        db = engine.open(tmp_path / "t.db")
        driven = asyncio.create_task(db.run_async("Go", run="top", model=cast, max_depth=2))
        await asyncio.to_thread(asked.wait, 300)
        db.close()
        go_on.set()
        return (await driven).status

    assert asyncio.run(work()) == 200


def test_a_removed_file_does_not_come_back_empty(tmp_path: Path) -> None:
    place = tmp_path / "t.db"
    with engine.open(place) as db, db.shared() as one, db.shared() as other:
        one.value("select 1")
        inside, leave = threading.Event(), threading.Event()

        def hold() -> None:
            with one.transaction():
                inside.set()
                leave.wait(300)

        thread = threading.Thread(target=hold)
        thread.start()
        assert inside.wait(300)
        for ending in ("", "-wal", "-shm"):
            Path(f"{place}{ending}").unlink()
        with pytest.raises(engine.EngineError, match="was removed or replaced"):
            other.value("select count(*) from runs")
        assert not place.exists()
        leave.set()
        thread.join()


def test_an_error_that_is_kept_keeps_nobody_from_writing(tmp_path: Path) -> None:
    with opened(tmp_path) as db, db.shared() as one, db.shared() as other:
        kept = None
        try:
            one.rows("select name, cast(x'ff' as text) as bad from settings")
        except Exception as error:
            kept = error
        assert kept is not None
        db.start("Go", run="demo", model=Cast({}))  # another connection commits
        other.start("Go", run="second", model=Cast({}))
        assert other.value("select count(*) from runs") == 2


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_output_is_not_kept_in_the_database(tmp_path: Path, ending: str) -> None:
    with opened(tmp_path) as db:
        place = Path(f"{db.path}{ending}")
        before = place.stat().st_mode
        with pytest.raises(engine.EngineError, match=r"403 .*belongs to the database"):
            db.run("Go", model=Cast({}), keep_output=place)
        assert place.stat().st_mode == before
