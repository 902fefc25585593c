-- Selection: what the threads of a run request, wait for and block, and which event is next.
-- An event that some thread blocks does not happen. One that happens moves each thread that requests it or waits for
-- it to its next point, and ends each that it interrupts. Of the requests that nobody blocks the one of the lowest
-- priority number is next. 274 asks these views, step by step.
-- spec: @threads @thread_steps

-- views

-- The patterns of the points at which the threads of runs stand. One that needs a tool takes no part where that is closed.
create view _thread_bids as
select s.run_id, s.thread_id, t.name, t.priority, s.point, p.ordinal, p.part, p.event, p.fields, p.message
from thread_states as s
cross join threads as t on t.id = s.thread_id
cross join thread_patterns as p on p.thread_id = s.thread_id and p.point = s.point
where s.active
    and (t.tool is null or exists (select 1 from _loop_tools as o where o.loop_id = s.loop_id and o.name = t.tool));

-- The patterns that match the event that the threads of a run are being asked about.
create view _thread_matches as
select
    b.run_id, b.thread_id, b.name, b.priority, b.point, b.ordinal, b.part, b.message,
    o.turn_id, o.loop_id, o.command_id, o.event, o.fields
from _thread_offers as o
cross join _thread_bids as b on b.run_id = o.run_id and b.event = o.event
where not exists (
        select 1
        from json_each(b.fields) as f
        left join json_each(o.fields) as v on v.key = f.key
        where case f.key when 'path' then pattern_match(f.value, v.value) else v.value glob f.value end is not 1
    );

-- The block that forbids the event, where one does, and how often it has forbidden the same in this loop, this time
-- included.
create view _thread_blocks as
select
    b.*,
    1 + (
        select count(*)
        from turns as t
        cross join events as v on v.id > t.seen_at and v.turn_id = t.id and v.kind = 'thread.blocked'
        where t.loop_id = b.loop_id
            and json_extract(v.detail, '$.thread_id') = b.thread_id
            and json_extract(v.detail, '$.event') = b.event
            and json_extract(v.detail, '$.fields') = b.fields
    ) as times,
    'Blocked by the thread ' || b.name || ': ' || coalesce(
        replace(
            replace(
                replace(
                    replace(b.message, '{unread}', coalesce(json_extract(b.fields, '$.unread'), '')),
                    '{open}', coalesce(json_extract(b.fields, '$.open'), '')
                ), '{path}', coalesce(json_extract(b.fields, '$.path'), '')
            ), '{line}', coalesce(substr(json_extract(b.fields, '$.line'), 1, 200), '')
        ), ''
    ) as told
from _thread_matches as b
where b.part = 'block'
    and not exists (
        select 1
        from _thread_matches as o
        where o.run_id = b.run_id
            and o.part = 'block'
            and (o.priority, o.name, o.thread_id, o.ordinal) < (b.priority, b.name, b.thread_id, b.ordinal)
    );

-- Where the event takes each thread that requests it, waits for it, or is ended by it; to_point is null where it ends.
create view _thread_moves as
select
    m.run_id,
    m.thread_id,
    m.name,
    m.point as from_point,
    case
        when max(m.part = 'interrupt') then null
        when exists (select 1 from thread_patterns as p where p.thread_id = m.thread_id and p.point = m.point + 1)
            then m.point + 1
        else (select t.repeat_from from threads as t where t.id = m.thread_id)
    end as to_point,
    case when max(m.part = 'interrupt') then 'interrupt' when max(m.part = 'request') then 'request' else 'wait' end as why
from _thread_matches as m
where m.part <> 'block'
group by m.run_id, m.thread_id;

create view _next_thread_events as
-- The event that the threads of each run request next: of those that nobody blocks, that of the lowest priority number, then
-- by name. With at_end 0 it is that within a turn: what only the end of a turn brings, ask, tell and
-- check, is left out. With 1 it is that of its end, with 2 check alone.
select r.alias as run, n.run_id, n.at_end, n.event, n.thread_id, n.thread, n.point
from (
    select
        b.run_id,
        k.value as at_end,
        b.event,
        b.thread_id,
        b.name as thread,
        b.point,
        row_number() over (partition by b.run_id, k.value order by b.priority, b.name, b.thread_id, b.ordinal) as place
    from (
        -- each event once for all who say something of it: many threads request, and each would look for those who block
        select *, max(part = 'block') over (partition by run_id, event) as is_blocked
        from _thread_bids
    ) as b
    cross join json_each('[0, 1, 2]') as k
    where b.part = 'request'
        and not b.is_blocked
        and case k.value
            when 0 then b.event not in ('ask', 'tell', 'check')
            when 1 then b.event <> 'check'
            else b.event = 'check'
        end
) as n
join runs as r on r.id = n.run_id
where n.place = 1;
