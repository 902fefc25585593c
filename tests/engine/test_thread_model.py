"""Behavioural threads in SQL do what a small model of them does, whatever the program and whatever the turns.

spec: @threads @thread_steps
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

import pytest
from campaign import examples
from driving import begin, turn
from fresh import fresh
from hypothesis import given
from hypothesis import strategies as st
from thread_model import Pattern, Run, Thread

import engine
from engine.threads.joining import join_threads

SIGNALS = ("red", "green", "blue")
PATHS = ("known://a", "known://b")
_numbers = count(1)

of_commands = st.builds(
    Pattern,
    st.just("wait"),
    st.sampled_from(("command", "done", "failed")),
    st.sampled_from((None, "known://*", *PATHS)),
)
of_signals = st.builds(Pattern, st.just("wait"), st.sampled_from(SIGNALS))
waits = (
    of_commands | of_signals | st.builds(Pattern, st.just("wait"), st.sampled_from(("finish", "turn", "ask", "tell")))
)
requests = st.builds(Pattern, st.just("request"), st.sampled_from((*SIGNALS, "ask", "tell")))
blocks = st.builds(Pattern, st.just("block"), st.just("command"), st.sampled_from(("known://*", *PATHS))) | st.builds(
    Pattern, st.just("block"), st.sampled_from((*SIGNALS, "finish", "ask", "tell"))
)
interrupts = waits.map(lambda each: Pattern("interrupt", each.event, each.path))


@st.composite
def points(draw: st.DrawFn, *, rests: bool = False) -> list[Pattern]:
    """What a thread says at one point; one that `rests` requests nothing."""
    leaves = waits if rests else waits | requests
    return [
        *draw(st.lists(leaves, min_size=1, max_size=2)),
        *draw(st.lists(blocks, max_size=1)),
        *draw(st.lists(interrupts, max_size=1)),
    ]


@st.composite
def programs(draw: st.DrawFn) -> list[Thread]:
    made = []
    for number in range(draw(st.integers(1, 4))):
        each = draw(st.lists(points(), min_size=0, max_size=2))
        repeat = draw(st.booleans())
        each.insert(draw(st.integers(0, len(each))), draw(points(rests=True)))
        if not repeat and draw(st.booleans()):
            each.append([draw(blocks)])
        made.append(Thread(f"t{number}", draw(st.integers(1, 3)), each, 1 if repeat else None, draw(st.booleans())))
    return made


turns = st.lists(
    st.tuples(st.lists(st.sampled_from(PATHS), max_size=3), st.sampled_from(("102", "102", "200", "text"))),
    min_size=1,
    max_size=5,
)


@pytest.fixture(scope="module")
def file() -> Iterator[engine.Database]:
    with fresh() as db:
        db.execute("update settings set value = '1000' where name in ('max_strikes', 'min_cycles')")
        # a thread that requests each event of threads, so that any may be waited for
        begin(db, "other")
        store(db, "other", Thread("source", 1, [[Pattern("request", each)] for each in SIGNALS], None, False))
        yield db


def store(db: engine.Database, run: str, thread: Thread) -> None:
    db.execute(
        "insert into threads (name, level, run_id, purpose, priority, repeat_from, each_prompt) "
        "select ?, 'run', id, 'tested', ?, ?, ? from runs where alias = ?",
        (thread.name, thread.priority, thread.repeat_from, thread.each_prompt, run),
    )
    for point, patterns in enumerate(thread.points, 1):
        for ordinal, each in enumerate(patterns, 1):
            told = each.part == "block" and each.event in ("command", "finish")
            told = told or (each.part == "request" and each.event in ("ask", "tell"))
            db.execute(
                "insert into thread_patterns (thread_id, point, ordinal, part, event, fields, message) "
                "select max(id), ?, ?, ?, ?, ?, ? from threads",
                (
                    point,
                    ordinal,
                    each.part,
                    each.event,
                    json.dumps({"path": each.path} if each.path else {}),
                    f"{thread.name} says so." if told else None,
                ),
            )


@examples(30)
@given(program=programs(), life=turns)
def test_any_program_does_what_the_model_does(
    file: engine.Database, program: list[Thread], life: list[tuple[list[str], str]]
) -> None:
    run = f"r{next(_numbers)}"
    begin(file, run)
    for thread in program:
        store(file, run, thread)
    join_threads(file, run)
    model = Run(program)
    for number, (paths, end) in enumerate(life, 1):
        said = "".join(f'<set path="{path}">turn {number}</set>' for path in paths)
        said += "The answer." if end == "text" else f'<update status="{end}">on</update>'
        numbered = turn(file, run, said)
        expected, performed = [], True
        for path in paths:
            performed = performed and model.command(path)
            expected.append("resolved" if performed else ("failed" if "failed" not in expected else "aborted"))
        healed = end == "text" and not paths
        updated = end != "text" and model.update(end, clean=performed)
        if end != "text":
            expected.append("resolved" if updated and (performed or end == "102") else "failed")
        model.end_turn(healed=healed)
        assert states(file, numbered) == expected
        assert errors(file, numbered) == sorted(model.asked)
        assert positions(file, run) == {thread.name: thread.point for thread in model.threads}
        assert logged(file, run) == model.log
        assert blocked(file, run) == model.blocks
        ended = not model.goes_on and performed and (healed or (end == "200" and updated))
        assert file.value(
            "select status from loops where id = (select loop_id from turns where id = ?)", (numbered,)
        ) == (200 if ended else 102)
        if ended:
            begin(file, run, "And now?")
            model.new_loop()
    file.insert("verb_set", run=run, path=f"run://{run}", state="cancelled")


def states(db: engine.Database, turn_id: int) -> list[str]:
    return [
        "aborted" if row["outcome"] == "aborted" else row["state"]
        for row in db.rows("select state, outcome from commands where turn_id = ? order by ordinal", (turn_id,))
    ]


def errors(db: engine.Database, turn_id: int) -> list[str]:
    return sorted(
        row["message"].split()[2]
        for row in db.rows(
            "select message from turn_errors where turn_id = ? and message like 'The thread %'", (turn_id,)
        )
    )


def positions(db: engine.Database, run: str) -> dict[str, int | None]:
    return {row["thread"]: row["point"] for row in db.rows("select * from thread_positions where run = ?", (run,))}


def logged(
    db: engine.Database, run: str
) -> list[tuple[str, str | None, list[tuple[str, int | None, int | None, str]]]]:
    found = db.rows(
        "select detail from events where kind = 'thread.selected' and run_id = (select id from runs where alias = ?) "
        "order by id",
        (run,),
    )
    return [
        (
            detail["event"],
            detail["by"],
            [(each["thread"], each["from"], each["to"], each["why"]) for each in detail["moved"]],
        )
        for detail in (json.loads(row["detail"]) for row in found)
    ]


def blocked(db: engine.Database, run: str) -> list[tuple[str, str, int]]:
    query = "select event, thread, point from thread_log where run = ? and kind = 'blocked' order by event_id"
    return [(row["event"], row["thread"], row["point"]) for row in db.rows(query, (run,))]
