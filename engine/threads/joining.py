"""Behavioural threads of a run: hung into the connection that drives it, and added, enabled and explained by a person.

What threads do stands in sql/270 to 277. The triggers here are the wires between a run and its threads. They are
temporary ones, made where threads are in force: on any other connection no statement is larger for them.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.effects.gate import owner_of
from engine.errors import Conflict, NotFound, ValidationError
from engine.threads.files import WrittenThread, read_threads, told

if TYPE_CHECKING:
    from engine.db.database import Row, Store

_JOINS = "select run from _runs_with_threads where run = ?"
_FAULTS = """
    select *
    from (select * from _thread_faults union all select thread_id, point, ordinal, fault from _unheard_patterns)
    where thread_id = ?
"""
_UNHEARD = """
    select distinct
        'thread ' || t.name || ', point ' || u.point || ': its ' || u.part || ' of ' || u.event || ' never happens now'
        as told
    from _unheard_patterns as u
    join threads as t on t.id = u.thread_id and t.removed_at is null
    order by t.name, u.point, u.ordinal
"""
_CHECKS = """
    select 1
    from runs as r
    join thread_states as s on s.run_id = r.id and s.active
    join thread_patterns as p on p.thread_id = s.thread_id and p.event = 'check'
    where r.alias = ?
"""
# Before, not after: a plugin's tool begins its work when its command has become 'performing'.
_BEFORE_A_COMMAND = """
create temp trigger if not exists commands__offer_to_threads
before update of state on main.commands
when old.state = 'queued'
    and new.state = 'performing'
    and new.writer = 'model'
    and exists (select 1 from thread_states where run_id = new.run_id and active)
begin
    insert into _offer_command (command_id) values (new.id);
    select raise(ignore) from commands where id = new.id and state = 'failed';
end
"""
_BEHIND_THE_COMMANDS = """
create temp trigger if not exists commands__offer_checks
after update of state on main.commands
when new.state = 'resolved'
    and old.state <> 'resolved'
    and exists (
        select 1
        from thread_states as s
        join thread_patterns as p on p.thread_id = s.thread_id and p.event = 'check'
        where s.run_id = new.run_id and s.active
    )
    and exists (select 1 from turns where id = new.turn_id and phase = 'dispatching')
    and not exists (select 1 from commands where turn_id = new.turn_id and state <> 'resolved')
begin
    insert into _offer_check (turn_id) values (new.turn_id);
end
"""
_AT_THE_VOTE = """
create temp trigger if not exists turns__offer_to_threads
after update of phase on main.turns
when new.phase = 'voting' and exists (select 1 from thread_states where run_id = new.run_id and active)
begin
    insert into _offer_turn (turn_id) values (new.id);
end
"""


def join_threads(db: Store, run: str) -> None:
    """Let the threads in force take part in a run that this connection is about to drive.

    Raises `ValidationError` (400) for a thread that is no program, and for a setting that names none.
    """
    if db.has("threads"):
        for found in db.rows(_JOINS, (run,)):
            db.insert("verb_join_threads", **found)
            hang_in(db)
            if db.value(_CHECKS, (run,)):
                db.add_wires(_BEHIND_THE_COMMANDS)


def expect_threads(db: Store, run: str) -> None:
    """Raise the `ValidationError` (400) that `verb_join_threads` would raise, and join none."""
    if db.has("threads"):
        for found in db.rows(_JOINS, (run,)):
            db.insert("_expect_threads", **found)


def hang_in(db: Store) -> None:
    """Have what this connection does with runs told to their threads; twice is harmless."""
    db.add_wires(_BEFORE_A_COMMAND, _AT_THE_VOTE)


def add_threads(
    db: Store, place: Path, *, run: str | None = None, root: str | PathLike[str] | None = None, by: str = "client"
) -> list[str]:
    """Add the threads of a file for a run, or for the project at `root`; returns their names.

    Raises `ValidationError` (400) with all that is wrong, one line each, and `Conflict` (409) for a name that is taken; then
    nothing was added.
    """
    written, faults = read_threads(place)
    # where points are broken, what is said of all points together may be wrong
    looked_for = _FAULTS + (" and ordinal is not null" if faults else "")
    with db.savepoint():
        owner = owner_of(db, run, root)
        project_id = owner["project_id"] if run is None else None
        numbers = [_add(db, thread, project_id, owner["run_id"], by) for thread in written]
        for thread, number in zip(written, numbers, strict=True):
            faults += [
                (thread.lines[row["point"] or 0], _fault(thread.title, row)) for row in db.rows(looked_for, (number,))
            ]
        if faults:
            raise ValidationError(told(place, faults))
    return [thread.columns["name"] for thread in written]


def _add(db: Store, thread: WrittenThread, project_id: int | None, run_id: int | None, by: str) -> int:
    name = thread.columns["name"]
    if db.value(
        "select 1 from threads where name = ? and removed_at is null "
        "and (level = 'shipped' or project_id is ? and run_id is ?)",
        (name, project_id, run_id),
    ):
        raise Conflict(f"thread {name!r}: already exists; choose another name, or remove that thread first")
    number = db.value(
        "insert into threads (name, level, project_id, run_id, purpose, priority, repeat_from, each_prompt, tool, added_by, "
        "created_at) values (:name, :level, :project_id, :run_id, :purpose, :priority, :repeat_from, :each_prompt, :tool, "
        ":by, now()) returning id",
        {
            **thread.columns,
            "level": "project" if run_id is None else "run",
            "project_id": project_id,
            "run_id": run_id,
            "by": by,
        },
    )
    for pattern in thread.patterns:
        db.execute(
            "insert into thread_patterns (thread_id, point, ordinal, part, event, fields, message) "
            "values (?, ?, ?, ?, ?, ?, ?)",
            (number, *pattern),
        )
    return int(number)


def _fault(title: str, row: Row) -> str:
    point = "" if row["point"] is None else f", point {row['point']}"
    return f"{title}{point}: {row['fault']}"


def switch_thread(
    db: Store,
    name: str,
    *,
    on: bool,
    run: str | None = None,
    root: str | PathLike[str] | None = None,
    by: str = "client",
) -> Row:
    """Enable or disable a thread: one of the engine for a run or the project at `root`, an added one where it was added.

    Returns its row of `thread_list` as it is now. It holds from the next time that the run is driven. Raises `NotFound`
    (404), and `Conflict` (409) for one of the engine that stays in force, because the setting `threads` names it.
    """
    with db.transaction():
        owner = owner_of(db, run, root)
        found = _of(db, name, owner, run)
        keys = (found["thread_id"], None if run else owner["project_id"], owner["run_id"])
        if found["level"] != "shipped":
            db.execute("update threads set disabled = ? where id = ?", (not on, found["thread_id"]))
        elif on:
            db.execute(
                "insert into thread_uses (thread_id, project_id, run_id, added_by) select ?1, ?2, ?3, ?4 where not exists "
                "(select 1 from thread_uses where thread_id = ?1 and project_id is ?2 and run_id is ?3)",
                (*keys, by),
            )
        else:
            db.execute("delete from thread_uses where thread_id = ? and project_id is ? and run_id is ?", keys)
            if db.value("select 1 from _named_threads where name in (?, 'all')", (name,)):
                raise Conflict(f"thread {name!r}: is used in the setting threads; see 'engine config threads'")
        return _of(db, name, owner, run)


def remove_thread(db: Store, name: str, *, run: str | None = None, root: str | PathLike[str] | None = None) -> Row:
    """Remove a thread that a person added; what it did stays in the events.

    Returns its row of `thread_list`, and as `unheard` a line for each thread that waits for an event of it which no other
    requests. Raises `NotFound` (404), and `Conflict` (409) for one that comes with the engine.
    """
    with db.transaction():
        found = _of(db, name, owner_of(db, run, root), run)
        if found["level"] == "shipped":
            raise Conflict(f"thread {name!r}: is built in; to switch it off: engine allow threads disable {name}")
        before = db.rows(_UNHEARD)
        db.execute("update threads set removed_at = now() where id = ?", (found["thread_id"],))
        unheard = [row["told"] for row in db.rows(_UNHEARD) if row not in before]
    return {**found, "unheard": unheard}


def show_thread(db: Store, name: str) -> list[dict[str, Any]]:
    """The threads of a name, each a row of `thread_list` with its `points`. Raises `NotFound` (404)."""
    found = db.rows("select * from thread_list where name = ?", (name,))
    if not found:
        raise _unknown(name)
    return [
        {**row, "points": db.rows("select * from thread_points where thread_id = ?", (row["thread_id"],))}
        for row in found
    ]


def _of(db: Store, name: str, owner: Row, run: str | None) -> Row:
    found = db.row(
        "select * from thread_list where name = ? and (level = 'shipped' or thread_id in "
        "(select id from threads where case when ? then run_id is ? else project_id is ? end))",
        (name, run is not None, owner["run_id"], owner["project_id"]),
    )
    if found is None:
        raise _unknown(name)
    return found


def _unknown(name: str) -> NotFound:
    return NotFound(f"thread {name!r}: not found here; 'engine allow threads list' lists the threads")


def explain_threads(db: Store, run: str) -> dict[str, list[Row]]:
    """What threads did in a run, as `log` (rows of `thread_log`), and where they stand, as `now` (of `thread_positions`).

    Raises `NotFound` (404).
    """
    if not db.value("select 1 from runs where alias = ?", (run,)):
        raise NotFound(f"run {run!r}: there is no such run; 'engine runs' lists them")
    return {
        "log": db.rows("select * from thread_log where run = ?", (run,)),
        "now": db.rows("select * from thread_positions where run = ?", (run,)),
    }
