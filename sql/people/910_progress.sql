-- Progress: what happens in a run, event by event, for a person who watches it.
-- spec: @run_progress

-- views

-- What is told of events of turns that have no text of their own. A part gives the turn, the kind of event and the words.
create view _event_words as
select id as turn_id, cast(null as text) as kind, cast(null as text) as words
from turns
where false;

create view run_progress as
-- What happened in a run after an event: select * from run_progress where run = 'demo' and event_id > :last order by
-- event_id. It reads the new events, not all entries of the run. 'created_at' is the time in UTC.
select
    r.alias as run, ev.id as event_id, 'turn' as type, t.sequence as turn, t.context_tokens,
    b.ceiling,
    (select c.cost from _run_costs as c where c.run_id = r.id) as cost,
    null as action, null as target, null as status, null as outcome, null as body, null as path,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch') as created_at
from events as ev
join turns as t on t.id = ev.turn_id
join runs as r on r.id = ev.run_id
join _loop_ceilings as b on b.loop_id = t.loop_id
where ev.kind = 'turn.asked'
union all
select
    r.alias, ev.id, 'command', t.sequence, null, null, null, c.action, coalesce(c.path, c.body),
    coalesce(
        case when c.action = 'update' and c.state = 'resolved' then json_extract(c.attributes, '$.status') end, k.status
    ),
    c.outcome, c.message, c.log_path,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
from events as ev
cross join run_views as v on v.run_id = ev.run_id and v.entry_id = ev.entry_id and v.since >= ev.id
join entries as e on e.id = ev.entry_id and e.kind = 'log'
join commands as c on c.turn_id = ev.turn_id and c.log_path = e.path
join command_results as k on k.command_id = c.id
join turns as t on t.id = ev.turn_id
join runs as r on r.id = ev.run_id
where ev.kind in ('entry.created', 'entry.written') and c.state in ('resolved', 'failed', 'cancelled')
    -- only the last write of the entry; a later change of visibility is no write
    and not exists (
        select 1
        from events as x
        where x.id > ev.id and x.id <= v.since and x.entry_id = ev.entry_id and x.kind = 'entry.written'
    )
union all
-- a background command that has ended; its start was told as its command
select
    r.alias, ev.id, 'command', t.sequence, null, null, null, c.action, c.body, v.status, j.outcome, v.body, c.log_path,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
from events as ev
join _background_processes as j on j.effect_id = json_extract(ev.detail, '$.effect')
join effects as f on f.id = j.effect_id
join commands as c on c.id = f.command_id
join turns as t on t.id = f.turn_id
join runs as r on r.id = ev.run_id
join known_entries as v on v.run = r.alias and v.path = c.log_path
where ev.kind = 'job.ended'
union all
select
    r.alias, ev.id, 'error', t.sequence, null, null, null, 'error', json_extract(a.attributes, '$.target'),
    json_extract(a.attributes, '$.status'), v.outcome, b.body, e.path,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
from events as ev
cross join run_views as v on v.run_id = ev.run_id and v.entry_id = ev.entry_id and v.since >= ev.id
join entries as e on e.id = ev.entry_id and e.kind = 'log'
join _metadata as a on a.id = v.metadata_id
left join contents as b on b.id = v.content_id
join turns as t on t.id = ev.turn_id
join runs as r on r.id = ev.run_id
where ev.kind in ('entry.created', 'entry.written') and json_extract(a.attributes, '$.action') = 'error'
    -- an error that a later step of the ladder replaced is told once, in its last form
    and not exists (
        select 1
        from events as x
        where x.id > ev.id and x.id <= v.since and x.entry_id = ev.entry_id and x.kind = 'entry.written'
    )
    and json_extract(a.attributes, '$.source') is not 'acceptance'
union all
select
    r.alias, ev.id, 'context', t.sequence, null, null, null, 'condensed', null, 200, null,
    json_extract(ev.detail, '$.entries')
    || case json_extract(ev.detail, '$.entries') when 1 then ' old result, ' else ' old results, ' end
    || json_extract(ev.detail, '$.tokens')
    || case json_extract(ev.detail, '$.tokens') when 1 then ' token, ' else ' tokens, ' end
    || case json_extract(ev.detail, '$.entries') when 1 then 'is' else 'are' end || ' summarized from now on',
    'log://turn_' || t.sequence || '/budget/condensed',
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
from events as ev
join turns as t on t.id = ev.turn_id
join runs as r on r.id = ev.run_id
where ev.kind = 'context.condensed'
union all
select
    r.alias, ev.id, 'strike', t.sequence, null, null, null, null, null, null, null,
    'strike ' || t.streak || ' of ' || s.value
    || case
        when not exists (select 1 from _turn_faults as f where f.turn_id = t.id)
            and exists (select 1 from _turn_cycles as y where y.turn_id = t.id)
            then ': it does what the turns before it did'
        else ''
    end,
    null,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
from events as ev
join turns as t on t.id = ev.turn_id and t.streak > 0
join runs as r on r.id = ev.run_id
join settings as s on s.name = 'max_strikes'
where ev.kind = 'turn.judged' and coalesce(json_extract(ev.detail, '$.voter'), 'strikes') = 'strikes'
union all
select
    r.alias, ev.id, 'proposal', t.sequence, null, null, null, json_extract(ev.detail, '$.action'),
    json_extract(ev.detail, '$.target'), 202, null, null, json_extract(ev.detail, '$.path'),
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
from events as ev
join runs as r on r.id = ev.run_id
left join turns as t on t.id = ev.turn_id
where ev.kind = 'proposal.opened'
union all
select
    r.alias, ev.id, 'sandbox', null, null, null, null, null, null, 403, null,
    'no sandbox: ' || json_extract(ev.detail, '$.reason') || case json_extract(ev.detail, '$.choice')
        when 'auto' then '. Shell commands have all rights of your user'
        else '. Shell commands are refused'
    end,
    null,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
from events as ev
join runs as r on r.id = ev.run_id
where ev.kind = 'sandbox.missing'
union all
select
    r.alias, ev.id, case ev.kind when 'answer.cached' then 'cached' when 'rules.read' then 'rules' else 'embedder' end,
    t.sequence, null, null,
    case ev.kind when 'answer.cached' then t.cost end, null, null,
    case when ev.kind = 'embedder.failed' or json_extract(ev.detail, '$.problem') is not null then 500 else 200 end,
    null,
    coalesce(
        json_extract(ev.detail, '$.text'),
        json_extract(ev.detail, '$.reason') || '; tools are found by their words alone',
        (select w.words from _event_words as w where w.turn_id = ev.turn_id and w.kind = ev.kind)
    ),
    null,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
from events as ev
join turns as t on t.id = ev.turn_id
join runs as r on r.id = ev.run_id
where ev.kind in ('answer.cached', 'embedder.failed', 'rules.read')
union all
select
    r.alias, ev.id, 'server', null, null, null, null, json_extract(ev.detail, '$.server'), null,
    case json_extract(ev.detail, '$.level') when 'connected' then 200 else 502 end, null,
    json_extract(ev.detail, '$.text'), null,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
from events as ev
join runs as r on r.id = ev.run_id
where ev.kind = 'mcp.server'
union all
select
    r.alias, ev.id, 'step', null, null, null, null, json_extract(ev.detail, '$.step'), null, null,
    json_extract(ev.detail, '$.to'), json_extract(ev.detail, '$.reason'), null,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
from events as ev
join runs as r on r.id = ev.run_id
where ev.kind = 'workflow.step'
union all
select
    r.alias, ev.id, 'loop', null, null, null, null, null, null, s.code, s.name,
    json_extract(ev.detail, '$.reason'), null,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
from events as ev
join runs as r on r.id = ev.run_id
join statuses as s on s.code = json_extract(ev.detail, '$.to')
where ev.kind = 'loop.status' and json_extract(ev.detail, '$.to') <> 102;

-- The prose of a stored response, as dispatch reads it; dispatch has the call itself, because a view makes its program
-- longer.
create view _response_prose as
select
    t.id as turn_id,
    response_parse(
        case when text_repetition(t.response) is null then t.response else '' end,
        (select json_group_array(word) from _tool_words),
        cast((select value from settings where name = 'max_commands') as integer),
        exists (select 1 from _cut_responses as x where x.turn_id = t.id)
    ) ->> '$.text' as prose
from turns as t;
