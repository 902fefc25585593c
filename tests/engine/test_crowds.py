"""Many clients of one server need few handles: those who follow runs share one, short calls wait for one that comes back.
Each can end its own prompt, whether or not a driver has taken it up.

spec: @async_contract @following @abort @python_contract
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from driving import DONE, script
from fresh import fresh

import engine
from engine.api.following import Follower, follow
from engine.api.lookout import Lookout

CROWD = 24


async def told_to(db: engine.Database, run: str) -> list[engine.Event]:
    return [event async for event in db.events_async(run)]


async def until_followed(db: engine.Database) -> None:
    """Return when the first who follows has found its run."""
    while not any(lookout._db for lookout in db._handles.lookouts.values()):
        await asyncio.sleep(0.01)
    for lookout in db._handles.lookouts.values():
        await lookout.read(lambda _: None)  # the first one reads until then


def test_those_who_follow_share_a_handle_and_each_is_told_its_run(tmp_path: Path) -> None:
    async def go(db: engine.Database) -> None:
        runs = [db.start("Go", model=script(tmp_path, DONE), run=f"run{n}").run for n in range(CROWD)]
        followers = [asyncio.create_task(told_to(db, run)) for run in runs]
        await until_followed(db)
        assert db._handles._used == 1
        ended = [await db.resume_async(run) for run in runs]
        assert [result.status for result in ended] == [200] * CROWD
        for run, told in zip(runs, await asyncio.gather(*followers), strict=True):
            of_run = db.sql("select event_id from run_progress where run = ? order by event_id", (run,))
            assert [event["id"] for event in told] == [row["event_id"] for row in of_run]
        assert db._handles._used == 0
        assert not db._handles.lookouts

    with fresh() as db:
        asyncio.run(go(db))


def test_who_follows_is_woken_by_the_end_of_a_run_that_is_purged() -> None:
    async def go(db: engine.Database) -> None:
        run = db.start("Go", model="scripted:none").run
        following = asyncio.create_task(told_to(db, run))
        await until_followed(db)
        await db.call_async(lambda own: own.purge(run))
        assert await asyncio.wait_for(following, 300) == []

    with fresh() as db:
        asyncio.run(go(db))


def test_who_follows_is_told_of_prompts_that_another_handle_ends(tmp_path: Path) -> None:
    """A handle of its own, as another process has it: nothing here is told of what it writes."""

    async def go(db: engine.Database) -> list[engine.Event]:
        db.start("Go", model=script(tmp_path, DONE), run="demo")
        following = asyncio.create_task(told_to(db, "demo"))

        def resume() -> None:
            with engine.open(db.path) as other:
                other.resume("demo")

        await until_followed(db)
        await asyncio.to_thread(resume)
        return await asyncio.wait_for(following, 300)

    with fresh() as db:
        assert [event["type"] for event in asyncio.run(go(db))] == ["turn", "command", "loop"]


def test_a_loop_that_was_closed_while_somebody_followed_keeps_no_handle() -> None:
    """`asyncio.run` ends what is followed, who closes a loop by hand may not."""
    with fresh() as db:
        handles = db._handles

        async def follow_and_never_leave() -> None:
            lookout = Lookout.over(handles)
            lookout.enter("demo")
            await lookout.read(lambda _: None)

        for _ in range(2):
            loop = asyncio.new_event_loop()
            loop.run_until_complete(follow_and_never_leave())
            loop.close()
            assert (handles._used, len(handles.lookouts)) == (1, 1)
        handles.close()
        assert (handles._used, len(handles.lookouts)) == (0, 0)


def test_who_follows_is_told_that_the_file_is_gone(tmp_path: Path) -> None:
    """Both waited for ever."""
    db = engine.open(tmp_path / "engine.db")
    db.start("Go", model="scripted:none", run="demo")

    async def go() -> None:
        following = asyncio.create_task(told_to(db, "demo"))
        await until_followed(db)
        db.path.rename(tmp_path / "other.db")
        with pytest.raises(engine.EngineError, match="was removed or replaced while run demo was followed"):
            await asyncio.wait_for(following, 300)

    asyncio.run(go())
    with pytest.raises(engine.EngineError, match="was removed or replaced while run demo was followed"):
        next(follow(db, "demo", 0))
    db.close()


def test_a_crowd_of_short_calls_needs_few_connections() -> None:
    async def go(db: engine.Database) -> None:
        def start(own: engine.Database) -> int:
            own.start("Go", model="scripted:none")
            return own.value("select 1") + own.sql("select 1 as one")[0]["one"]

        assert await asyncio.gather(*(db.call_async(start) for _ in range(100))) == [2] * 100
        assert db.value("select count(*) from runs") == 100
        assert db._pool is not None
        assert db._pool.size <= 4

    with fresh() as db:
        asyncio.run(go(db))


def test_calls_that_wait_for_each_other_need_no_more() -> None:
    async def go(db: engine.Database) -> None:
        all_there = threading.Barrier(100)

        def work(own: engine.Database) -> None:
            own.value("select 1")
            all_there.wait(300)
            own.start("Go", model="scripted:none")

        await asyncio.gather(*(db.call_async(work) for _ in range(100)))
        assert db._pool is not None
        assert db._pool.size <= 4

    with fresh() as db:
        asyncio.run(go(db))


def test_who_gave_a_prompt_ends_that_one_wherever_it_stands() -> None:
    with fresh() as db:
        first, second, third = (db.start("Go", model="scripted:none", run="demo") for _ in range(3))
        assert [first.loops, second.loops, third.loops] == [1, 2, 3]
        db.abort("demo", "not needed", loop=second.loops)
        db.abort("demo", loop=first.loops)
        with db.transaction():
            started = db.start("Go", model="scripted:none", run="demo")
            db.abort("demo", loop=started.loops)
        assert [db.result("demo", n).status for n in (1, 2, 3, 4)] == [499, 499, 100, 499]
        assert db.result("demo", 2).reason == "not needed"
        with pytest.raises(engine.NotFound, match="run 'demo': has no prompt 9"):
            db.abort("demo", loop=9)
        with pytest.raises(TypeError, match="loop"):
            db.abort("demo", loop="1")  # type: ignore[arg-type]


def test_who_follows_a_new_run_does_not_read_the_events_of_those_before_it(tmp_path: Path) -> None:
    with fresh() as db:
        db.run("Go", model=script(tmp_path, DONE), run="old")
        before = db.value("select max(id) from events")
        db.start("Go", model=script(tmp_path, DONE), run="new")
        follower = Follower(db, "new", 0)
        assert follower._last >= before
        db.resume("new")
        assert [event["type"] for event in follower.news()] == ["turn", "command", "loop"]
        assert follower.ended
        assert [event["id"] for event in Follower(db, "new", before + 10**6).news()] == []
