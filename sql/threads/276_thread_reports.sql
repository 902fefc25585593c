-- Reports on threads: their rules, and what they did in a run.
-- spec: @thread_reports

-- views

create view thread_list as
-- All threads, with the run or folder that each was added for, and where those of the engine are enabled: select * from
-- thread_list. 'in_force' is the number of runs in which one takes part.
select
    t.id as thread_id,
    t.name,
    t.level,
    coalesce(
        r.alias, j.root, j.name,
        (
            select group_concat(place, ', ')
            from (
                select coalesce(ur.alias, uj.root, uj.name) as place
                from thread_uses as u
                left join runs as ur on ur.id = u.run_id
                left join projects as uj on uj.id = u.project_id
                where u.thread_id = t.id
                order by place
            )
        )
    ) as "of",
    case
        when t.level <> 'shipped' and not t.disabled then 'on'
        when t.level = 'shipped' and exists (select 1 from _named_threads as n where n.name in (t.name, 'all')) then 'on'
        when exists (select 1 from thread_uses as u where u.thread_id = t.id) then 'on'
        else 'off'
    end as state,
    t.priority,
    t.purpose,
    t.added_by,
    strftime('%Y-%m-%d %H:%M:%S', nullif(t.created_at, 0) / 1000.0, 'unixepoch') as created_at
from threads as t
left join runs as r on r.id = t.run_id
left join projects as j on j.id = t.project_id
where t.removed_at is null
order by t.priority, t.name;

create view thread_points as
-- What each thread says at its points: select * from thread_points where thread = 'finish_clean'.
select t.name as thread, p.point, p.part, p.event, p.fields, p.message, t.id as thread_id
from threads as t
join thread_patterns as p on p.thread_id = t.id
where t.removed_at is null
order by t.name, t.id, p.point, p.ordinal;

create view thread_positions as
-- Where the threads of each run stand, as of the last time that it was driven: select * from thread_positions where run =
-- 'demo'. 'says' is what the thread says at its point; 'point' is null where it has ended.
select
    r.alias as run,
    t.name as thread,
    s.point,
    case
        when s.point is null then 'ended'
        else (
            select group_concat(said, '; ')
            from (
                select p.part || ' ' || p.event || case p.fields when '{}' then '' else ' ' || p.fields end as said
                from thread_patterns as p
                where p.thread_id = s.thread_id and p.point = s.point
                order by p.ordinal
            )
        )
    end as says,
    s.run_id,
    s.thread_id
from thread_states as s
join runs as r on r.id = s.run_id
join threads as t on t.id = s.thread_id
where s.active
order by t.priority, t.name;

create view thread_log as
-- What the threads of a run did, in order: the events that one of them blocked, and those that moved some of them, with the
-- point where each stood: select * from thread_log where run = 'demo'. 'to_point' is null where a thread has ended; 'by' is
-- the thread that requested the event.
select
    r.alias as run,
    t.sequence as turn,
    v.id as event_id,
    'blocked' as kind,
    json_extract(v.detail, '$.thread') as thread,
    json_extract(v.detail, '$.point') as point,
    json_extract(v.detail, '$.point') as to_point,
    json_extract(v.detail, '$.event') as event,
    json_extract(v.detail, '$.fields') as fields,
    null as "by",
    json_extract(v.detail, '$.told') as told
from events as v
join turns as t on t.id = v.turn_id
join runs as r on r.id = t.run_id
where v.kind = 'thread.blocked'
union all
select
    r.alias,
    t.sequence,
    v.id,
    case json_extract(m.value, '$.why') when 'request' then 'requested' when 'wait' then 'waited' else 'interrupted' end,
    json_extract(m.value, '$.thread'),
    json_extract(m.value, '$.from'),
    json_extract(m.value, '$.to'),
    json_extract(v.detail, '$.event'),
    json_extract(v.detail, '$.fields'),
    json_extract(v.detail, '$.by'),
    null
from events as v
join turns as t on t.id = v.turn_id
join runs as r on r.id = t.run_id
cross join json_each(v.detail, '$.moved') as m
where v.kind = 'thread.selected'
order by 3, 5;
