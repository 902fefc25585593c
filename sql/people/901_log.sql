-- Log: the commands of a run with their results, and the prompts and answers.
-- The views call no function of the engine.
-- spec: @people_views

-- views

-- What the log tells besides commands, errors and ends, in the columns of run_log.
create view _log_additions as
select
    null as run, null as turn, null as ordinal, null as writer, null as action, null as target, null as state,
    null as outcome, null as status, null as body, null as path, null as command_id, null as decided_by, null as created_at
where false;

create view run_log as
-- The commands and errors of a run in their order, with what came of each: select * from run_log where run = 'demo'. A
-- prompt that ended otherwise than by its model has a row with the action 'end'.
-- 'created_at' is the time in UTC: of a command when it was recorded, of an error when its turn ended. The turns before a
-- fork or a rewind stand under the run that took them: past_turns says which.
select
    r.alias as run,
    t.sequence as turn,
    c.ordinal,
    c.writer,
    c.action,
    coalesce(c.path, substr(c.body, 1, 120)) as target,
    c.state,
    c.outcome,
    coalesce(
        case when c.action = 'update' and c.state = 'resolved' then json_extract(c.attributes, '$.status') end,
        k.status
    ) as status,
    coalesce(c.message, '') as body,
    c.log_path as path,
    c.id as command_id,
    (
        select group_concat(decided_by, ', ')
        from (select distinct decided_by from decisions where command_id = c.id)
    ) as decided_by,
    -- 0: from before commands had a time
    strftime('%Y-%m-%d %H:%M:%S', nullif(c.created_at, 0) / 1000.0, 'unixepoch') as created_at
from commands as c
join command_results as k on k.command_id = c.id
join runs as r on r.id = c.run_id
left join turns as t on t.id = c.turn_id
union all
select
    r.alias, t.sequence,
    -- what was demoted for a packet comes before the commands of the answer to it
    case e.slug
        when 'budget' then -1 else 1000 + e.id - (select min(x.id) from turn_errors as x where x.turn_id = t.id)
    end,
    'system', 'error', e.slug, case e.soft when 1 then 'resolved' else 'failed' end,
    case e.soft when 0 then 'status:' || e.status end, e.status, e.message,
    'log://turn_' || t.sequence || '/error/' || e.slug, null, null,
    strftime(
        '%Y-%m-%d %H:%M:%S',
        case e.slug when 'budget' then t.created_at else coalesce(t.ended_at, t.created_at) end / 1000.0,
        'unixepoch'
    )
from turn_errors as e
join turns as t on t.id = e.turn_id
join runs as r on r.id = t.run_id
where json_extract(e.detail, '$.source') is not 'acceptance'
union all
select
    r.alias, t.sequence, -2, 'system', 'condense', 'budget', 'resolved', null, 200,
    d.entries || case d.entries when 1 then ' old result, ' else ' old results, ' end
    || d.tokens || case d.tokens when 1 then ' token, ' else ' tokens, ' end
    || case d.entries when 1 then 'is' else 'are' end || ' summarized from now on',
    'log://turn_' || t.sequence || '/budget/condensed', null, null,
    strftime('%Y-%m-%d %H:%M:%S', t.created_at / 1000.0, 'unixepoch')
from (
    select turn_id, count(*) as entries, sum(tokens) as tokens from demotions where step = 1 group by turn_id
) as d
join turns as t on t.id = d.turn_id
join runs as r on r.id = t.run_id
union all
select * from _log_additions
union all
-- an end that no command tells: a rejection, a limit, an abort, a model that failed, a prompt that does not fit
select
    r.alias, (select max(t.sequence) from turns as t where t.loop_id = l.id), 1000000000, 'system', 'end',
    'prompt ' || l.sequence, case l.status when 499 then 'cancelled' else 'failed' end, s.name, l.status, l.reason,
    'run://' || r.alias, null, null,
    strftime('%Y-%m-%d %H:%M:%S', l.ended_at / 1000.0, 'unixepoch')
from loops as l
join runs as r on r.id = l.run_id
join statuses as s on s.code = l.status
where l.status in (403, 413, 499, 500) and l.reason is not null
order by 1, 2, 3, 12;

create view audit_entries as
-- The prompts, packets, responses and reasoning of runs as entries: run://, system://, user://, assistant:// and
-- reasoning://, with the time (UTC) of each.
select
    r.alias as run, 'run://' || r.alias as path, null as turn, l.prompt as body,
    (select s.status from _run_statuses as s where s.run_id = r.id) as status,
    strftime('%Y-%m-%d %H:%M:%S', l.created_at / 1000.0, 'unixepoch') as created_at
from runs as r
left join loops as l on l.run_id = r.id and l.sequence = r.next_loop - 1
union all
select p.run, p.role || '://' || p.turn, p.turn, p.body, 200, p.sent_at
from packet_texts as p
union all
select
    r.alias, 'assistant://' || t.sequence, t.sequence, t.response, t.status,
    strftime('%Y-%m-%d %H:%M:%S', a.at / 1000.0, 'unixepoch')
from turns as t
join runs as r on r.id = t.run_id
join _answers as a on a.turn_id = t.id
union all
select
    r.alias, 'reasoning://' || t.sequence, t.sequence, t.reasoning, t.status,
    strftime('%Y-%m-%d %H:%M:%S', a.at / 1000.0, 'unixepoch')
from turns as t
join runs as r on r.id = t.run_id
join _answers as a on a.turn_id = t.id
where t.reasoning is not null;
