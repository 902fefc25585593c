"""Tells a client what a run has said and done so far, as updates in their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from acp import schema

from engine.acp.texts import prose

from .tool_calls import CALLS, shown_call
from .updates import message, plan, thought

if TYPE_CHECKING:
    from engine.db.database import Store

    from .sessions import Session

_PAST = """
    select place, step, kind, text, command_id
    from (
        select p.turn as place, -3 as step, 'prompt' as kind, l.prompt as text, null as command_id
        from past_turns as p
        join turns as t on t.id = p.turn_id
        join loops as l on l.id = t.loop_id
        where p.run = :run and t.sequence = (select min(o.sequence) from turns as o where o.loop_id = l.id)
        union all
        select p.turn, -2, 'thought', t.reasoning, null
        from past_turns as p
        join turns as t on t.id = p.turn_id
        where p.run = :run and t.reasoning is not null
        union all
        select p.turn, -1, 'said', s.prose, null
        from past_turns as p
        join turns as t on t.id = p.turn_id
        join loops as l on l.id = t.loop_id
        join _response_prose as s on s.turn_id = t.id
        where p.run = :run and trim(s.prose) not in ('', trim(coalesce(l.answer, '')))
        union all
        select
            p.turn, c.ordinal,
            case
                when c.action = 'think' then 'thought'
                when c.action <> 'update' then 'call'
                when c.state = 'resolved' and c.attributes ->> '$.status' = 102 then 'said'
                else 'quiet'
            end,
            b.body, c.id
        from past_turns as p
        join commands as c on c.turn_id = p.turn_id
        left join _command_bodies as b on b.command_id = c.id
        where p.run = :run
        union all
        select max(p.turn), 1000000, 'said', l.answer, null
        from past_turns as p
        join turns as t on t.id = p.turn_id
        join loops as l on l.id = t.loop_id
        where p.run = :run and l.answer is not null
        group by l.id
    )
    where kind <> 'quiet'
    order by place, step
"""
_PLANS = "select plan from plans where run = ? order by is_shown desc, turn desc limit 1"


def past(db: Store, session: Session) -> Iterator[Any]:
    """The updates that tell of the past of a session's run, and its latest plan."""
    for row in db.rows(_PAST, {"run": session.run}):
        match row["kind"]:
            case "prompt":
                yield schema.UserMessageChunk(
                    session_update="user_message_chunk",
                    content=schema.TextContentBlock(type="text", text=prose(row["text"])),
                )
            case "thought":
                yield thought(f"{row['text'] or ''}\n")
            case "said":
                yield message(f"{row['text'] or ''}\n\n")
            case _:
                for call in db.rows(f"{CALLS} where c.id = ?", (row["command_id"],)):
                    yield schema.ToolCallStart(
                        session_update="tool_call", **shown_call(call, call["run"], session.root)
                    )
    for row in db.rows(_PLANS, (session.run,)):
        yield plan(db, session.run, row["plan"])
