-- Said: all texts of all runs, for searching.
-- The view calls no function of the engine and writes nothing: a search reads the texts when it is made, so that a run
-- pays nothing for an index.
-- spec: @said

-- views

-- The times, as clocks, in which runs had the text of an entry in full view.
create view _readings as
select run_id, entry_id, since as began, 9223372036854775807 as ended
from run_views
where visibility = 'visible'
union all
select run_id, entry_id, began, ended
from run_view_versions
where visibility = 'visible';

-- What the head of each entry of project and global scope holds and held, with its time as clocks.
create view _heads_in_time as
select id as entry_id, coalesce(since, 0) as began, 9223372036854775807 as ended, content_id
from entries
where content_id is not null
union all
select entry_id, began, ended, content_id
from entry_versions
where content_id is not null;

-- What runs wrote to entries of their own; the log and the prompts are told by other rows of `said`.
create view _written_contents as
select v.run_id, e.path, v.turn, v.content_id, v.since as began
from run_views as v
join entries as e on e.id = v.entry_id and e.kind not in ('log', 'prompt')
where v.content_id is not null
union
select h.run_id, e.path, h.turn, h.content_id, h.began
from run_view_versions as h
join entries as e on e.id = h.entry_id and e.kind not in ('log', 'prompt')
where h.content_id is not null
    -- one row a text, whatever its visibility was
    and not exists (
        select 1
        from run_views as v
        where v.run_id = h.run_id and v.entry_id = h.entry_id and v.content_id = h.content_id
    );

create view said as
-- All that was said, done and read in runs, a row a text: select run, turn, kind, path from said where body like '%port%'
-- order by created_at desc. 'kind' is prompt, response, reasoning, command (from outside a turn), result (of a command),
-- error, proposal (a command line, a question or a file), decision, entry (what was written to one, the output of
-- processes too) or read (a file or another shared entry that was in full view). 'created_at' is in UTC.
select
    r.alias as run,
    null as turn,
    strftime('%Y-%m-%d %H:%M:%S', l.created_at / 1000.0, 'unixepoch') as created_at,
    'prompt' as kind,
    'run://' || r.alias as path,
    l.prompt as body
from loops as l
join runs as r on r.id = l.run_id
union all
select
    r.alias, t.sequence, strftime('%Y-%m-%d %H:%M:%S', a.at / 1000.0, 'unixepoch'), 'response',
    'assistant://' || t.sequence, t.response
from _answers as a
join turns as t on t.id = a.turn_id
join runs as r on r.id = t.run_id
union all
select
    r.alias, t.sequence, strftime('%Y-%m-%d %H:%M:%S', a.at / 1000.0, 'unixepoch'), 'reasoning',
    'reasoning://' || t.sequence, t.reasoning
from _answers as a
join turns as t on t.id = a.turn_id
join runs as r on r.id = t.run_id
where t.reasoning is not null
union all
select
    r.alias, null, strftime('%Y-%m-%d %H:%M:%S', nullif(c.created_at, 0) / 1000.0, 'unixepoch'), 'command',
    c.path, c.action || ' ' || coalesce(c.path, '') || coalesce(char(10) || c.body, '')
from commands as c
join runs as r on r.id = c.run_id
where c.turn_id is null
union all
select
    r.alias, t.sequence, strftime('%Y-%m-%d %H:%M:%S', nullif(c.created_at, 0) / 1000.0, 'unixepoch'), 'result',
    coalesce(c.log_path, c.path), c.message
from commands as c
join runs as r on r.id = c.run_id
left join turns as t on t.id = c.turn_id
where c.message <> ''
union all
select
    r.alias, t.sequence,
    strftime('%Y-%m-%d %H:%M:%S', coalesce(t.ended_at, t.created_at) / 1000.0, 'unixepoch'),
    'error', 'log://turn_' || t.sequence || '/error/' || e.slug, e.message
from turn_errors as e
join turns as t on t.id = e.turn_id
join runs as r on r.id = t.run_id
union all
select
    r.alias, t.sequence, strftime('%Y-%m-%d %H:%M:%S', p.created_at / 1000.0, 'unixepoch'), 'proposal', p.path,
    coalesce(p.target, '') || coalesce(char(10) || json_extract(p.detail, '$.diff'), '')
    || coalesce(char(10) || json_extract(p.detail, '$.answer'), '')
from proposals as p
join runs as r on r.id = p.run_id
left join turns as t on t.id = p.turn_id
union all
select
    r.alias, null, strftime('%Y-%m-%d %H:%M:%S', s.created_at / 1000.0, 'unixepoch'), 'decision', s.path,
    s.decision || ' by ' || s.decided_by || coalesce(char(10) || s.reason, '') || coalesce(char(10) || s.body, '')
from resolutions as s
join runs as r on r.id = s.run_id
union all
select
    r.alias, w.turn,
    (
        select strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
        from events as ev
        where ev.id <= w.began
        order by ev.id desc
        limit 1
    ),
    'entry', w.path, c.body
from _written_contents as w
join runs as r on r.id = w.run_id
join contents as c on c.id = w.content_id and c.body <> ''
union all
select
    r.alias,
    (
        select min(t.sequence)
        from turns as t
        where t.run_id = g.run_id and t.seen_at >= g.began
    ),
    (
        select strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
        from events as ev
        where ev.id <= g.began
        order by ev.id desc
        limit 1
    ),
    'read', e.path, c.body
from (
    select v.run_id, v.entry_id, h.content_id, min(max(v.began, h.began)) as began
    from _readings as v
    join _heads_in_time as h on h.entry_id = v.entry_id and h.began < v.ended and v.began < h.ended
    group by v.run_id, v.entry_id, h.content_id
) as g
join runs as r on r.id = g.run_id
join entries as e on e.id = g.entry_id
join contents as c on c.id = g.content_id and c.body <> '';
