-- Views for people: runs, logs and timelines for any program that can read SQLite.
-- They call no function of the engine, so the stock sqlite3 shell can read them.
-- spec: @people_views @run_state_view

-- views

-- What the answers of each run cost in US dollars; null where the price of one of them is unknown.
create view _run_costs as
select
    r.id as run_id,
    case
        when exists (
            select 1
            from turns as t indexed by idx_turns_unknown_costs
            where t.run_id = r.id and t.response is not null and t.cost is null
        ) then null
        else (
            select coalesce(sum(t.cost), 0.0)
            from turns as t indexed by idx_turns_costs
            where t.run_id = r.id and t.cost is not null
        )
    end as cost
from runs as r;

-- The runs that do the work of each run: itself. A part gives more, for a run that asks no model.
create view _working_runs as
select id as run_id, id as working_run_id
from runs;

-- The loops that do the work of a loop besides itself. A part gives them.
create view _working_loops as
select null as loop_id, null as working_loop_id
where false;

-- Whether the result of each loop counts as accepted; one that was not verified has no row. A part gives them.
create view _loop_acceptances as
select null as loop_id, null as accepted
where false;

-- Whether the work of each run counts as accepted, where others do it. A part gives them.
create view _run_acceptances as
select null as run_id, null as accepted
where false;

-- What the log tells besides commands, errors and ends, in the columns of run_log.
create view _log_additions as
select
    null as run, null as turn, null as ordinal, null as writer, null as action, null as target, null as state,
    null as outcome, null as status, null as body, null as path, null as command_id, null as decided_by, null as at
where false;

-- What the work of each run cost in US dollars; null where the price of one of its answers is unknown.
create view _work_costs as
select
    r.id as run_id,
    (
        select case when count(c.cost) = count(*) then sum(c.cost) end
        from _run_costs as c
        where c.run_id in (select w.working_run_id from _working_runs as w where w.run_id = r.id)
    ) as cost
from runs as r;

-- The answers that were paid for, one a turn, with the model that gave it and when, in Unix milliseconds. A turn that was
-- asked again has one answer.
create view _answers as
select
    t.id as turn_id,
    t.run_id,
    coalesce(c.model, l.model, r.model) as model,
    coalesce(c.ended_at, t.created_at) as at
from turns as t
join runs as r on r.id = t.run_id
join loops as l on l.id = t.loop_id
left join model_calls as c
    on c.id = (select max(k.id) from model_calls as k where k.turn_id = t.id and k.state = 'answered')
where t.response is not null;

create view run_overview as
-- One row a run, with its status (of a run that has ended, that of the prompt that ended last), latest answer and cost in US
-- dollars (null: unknown): select * from run_overview.
-- 'parent' is the run that it was forked from or that gave it work; 'tree_cost' is the cost with all runs below it. The cost
-- of a workflow is that of its steps. 'title' is what a person called it, else the beginning of its first prompt; 'labels'
-- is a JSON array; 'archived_at' is when it was taken out of lists (null: it was not).
select
    r.alias as run,
    p.name as project,
    r.model,
    (select s.status from _run_statuses as s where s.run_id = r.id) as status,
    (select count(*) from loops as l where l.run_id = r.id) as loops,
    (select count(*) from turns as t where t.run_id = r.id) as turns,
    (select l.answer from loops as l where l.run_id = r.id and l.answer is not null order by l.sequence desc limit 1)
        as answer,
    (select c.cost from _work_costs as c where c.run_id = r.id) as cost,
    strftime('%Y-%m-%d %H:%M:%S', r.created_at / 1000.0, 'unixepoch') as created_at,
    strftime('%Y-%m-%d %H:%M:%S', r.updated_at / 1000.0, 'unixepoch') as updated_at,
    (select o.alias from runs as o where o.id = r.parent_run_id) as parent,
    (select c.cost from _tree_costs as c where c.run_id = r.id) as tree_cost,
    coalesce(
        r.title,
        (
            -- the setting auto_titles is on
            select case when length(line) > 60 then substr(line, 1, 59) || '…' else line end
            from (
                select trim(replace(substr(t.text, 1, instr(t.text || char(10), char(10)) - 1), char(9), ' ')) as line
                from (
                    select ltrim(replace(l.prompt, char(13), ' '), char(32, 9, 10)) as text
                    from loops as l
                    where l.run_id = r.id
                    order by l.sequence
                    limit 1
                ) as t
            )
            where '1' = (select s.value from settings as s where s.name = 'auto_titles')
        )
    ) as title,
    coalesce(r.labels, '[]') as labels,
    strftime('%Y-%m-%d %H:%M:%S', r.archived_at / 1000.0, 'unixepoch') as archived_at
from runs as r
join projects as p on p.id = r.project_id;

create view run_log as
-- The commands and errors of a run in their order, with what came of each: select * from run_log where run = 'demo'. A
-- prompt that ended otherwise than by its model has a row with the action 'end'.
-- 'at' is the time in UTC: of a command when it was recorded, of an error when its turn ended. The turns before a fork or a
-- rewind stand under the run that took them: past_turns says which.
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
    strftime('%Y-%m-%d %H:%M:%S', nullif(c.created_at, 0) / 1000.0, 'unixepoch') as at
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
    || case d.entries when 1 then 'is' else 'are' end || ' shown in short from now on',
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

create view turn_timeline as
-- One row a turn: how many commands and errors it had (a packet that was too long counts as one), how long its packet was
-- (context_tokens, an estimate; the other tokens are what the provider reported, null: nothing), what its answer cost in US
-- dollars (null: unknown, or there is none), and when (UTC) it began and ended. 'status' is the end of its prompt, 102 of a
-- turn after which the prompt goes on, 202 of one that waits for a decision. The turns before a fork or a rewind stand under
-- the run that took them: past_turns says which.
select
    r.alias as run,
    l.sequence as loop,
    t.sequence as turn,
    l.mode,
    coalesce(l.model, r.model) as model,
    case when t.phase <> 'judged' and r.status = 202 then 202 else t.status end as status,
    (select count(*) from commands as c where c.turn_id = t.id) as commands,
    (select count(*) from turn_errors as e where e.turn_id = t.id)
    + (select count(*) from commands as c where c.turn_id = t.id and c.state = 'failed') as errors,
    t.streak as strikes,
    t.context_tokens,
    t.prompt_tokens,
    t.cached_tokens,
    t.completion_tokens,
    t.reasoning_tokens,
    t.cost,
    t.ms_model,
    t.ms_engine,
    (select lower(hex(p.sha256)) from packets as p where p.turn_id = t.id and p.role = 'user') as packet_sha256,
    t.phase,
    strftime('%Y-%m-%d %H:%M:%S', t.created_at / 1000.0, 'unixepoch') as created_at,
    strftime('%Y-%m-%d %H:%M:%S', t.ended_at / 1000.0, 'unixepoch') as ended_at
from turns as t
join runs as r on r.id = t.run_id
join loops as l on l.id = t.loop_id
order by 1, 3;

create view loop_list as
-- One row a prompt: the prompt, its status (202: its run waits for a decision), the reason (null: the model ended it, or
-- nobody has) and the answer, and when (UTC) it was given, taken up and ended.
select
    r.alias as run,
    l.sequence as loop,
    l.mode,
    coalesce(l.model, r.model) as model,
    l.prompt,
    (select s.status from _prompt_statuses as s where s.loop_id = l.id) as status,
    l.reason,
    l.answer,
    (select count(*) from turns as t where t.loop_id = l.id) as turns,
    l.streak as strikes,
    strftime('%Y-%m-%d %H:%M:%S', l.created_at / 1000.0, 'unixepoch') as created_at,
    strftime('%Y-%m-%d %H:%M:%S', l.started_at / 1000.0, 'unixepoch') as started_at,
    strftime('%Y-%m-%d %H:%M:%S', l.ended_at / 1000.0, 'unixepoch') as ended_at
from loops as l
join runs as r on r.id = l.run_id
order by 1, 2;

-- What happened in each run, in the order of time, as a JSON array: the commands and errors of its turns, each prompt at the
-- turn that took it up, and each command from outside a turn behind the turn that had begun. What was written stands in it
-- with its text.
create view _run_histories as
select
    r.id as run_id,
    (
        select json_group_array(json_object(
            'tool', h.tool, 'path', h.path, 'status', h.status, 'body', h.body, 'turn', h.turn, 'target', h.target
        ))
        from (
            select *
            from (
                select
                    k.*,
                    coalesce(k.turn, max(k.begun) over (order by k.at, k.command_id is null, k.command_id), 0) as place
                from (
                    select
                        g.action as tool, g.path, g.status,
                        case
                            when g.action in ('set', 'think') and g.state = 'resolved' then coalesce(b.body, g.body)
                            else g.body
                        end as body,
                        g.turn, g.target, g.ordinal, g.command_id, c.created_at as at,
                        case when g.command_id is not null then g.turn end as begun
                    from run_log as g
                    left join commands as c on c.id = g.command_id
                    left join command_bodies as b on b.command_id = g.command_id
                    where g.run = r.alias
                        and not (
                            g.command_id is not null and g.turn is null
                            and lower(c.path) glob 'run://*' and c.body is not null
                        )
                    union all
                    select
                        'set', 'prompt://' || l.turn, 200, l.prompt, l.turn, 'run://' || r.alias, -3, null,
                        l.created_at, null
                    from (
                        select p.*, (select min(t.sequence) from turns as t where t.loop_id = p.id) as turn
                        from loops as p
                        where p.run_id = r.id
                    ) as l
                    union all
                    -- no row of the history: when each turn began
                    select null, null, null, null, null, null, null, null, t.created_at, t.sequence
                    from turns as t
                    where t.run_id = r.id
                ) as k
            )
            where tool is not null
            order by place, turn is null, case when turn is null then at else ordinal end, command_id
        ) as h
    ) as history
from runs as r;

create view run_state as
-- One row a run, for programs: turn, status and latest answer; as JSON the history, the open questions (unknowns), and
-- the usage (telemetry), of a workflow that of its steps.
select
    r.alias as run,
    r.next_turn - 1 as turn,
    (select s.status from _run_statuses as s where s.run_id = r.id) as status,
    coalesce(
        (select l.answer from loops as l where l.run_id = r.id and l.answer is not null order by l.sequence desc limit 1), ''
    ) as answer,
    (select h.history from _run_histories as h where h.run_id = r.id) as history,
    (
        select json_group_array(json_object('path', u.path, 'body', u.body))
        from known_entries as u
        where u.run = r.alias and u.category = 'unknown' and u.visibility <> 'archived'
    ) as unknowns,
    (
        select json_object(
            'context_tokens', coalesce(
                (select t.context_tokens from turns as t where t.run_id = r.id and t.context_tokens is not null
                order by t.sequence desc limit 1), 0
            ),
            'context_size', (
                select b.context_size
                from loops as l
                join _loop_ceilings as b on b.loop_id = l.id
                where l.run_id = r.id
                order by l.sequence desc
                limit 1
            ),
            'prompt_tokens', coalesce(sum(s.prompt_tokens), 0),
            'cached_tokens', coalesce(sum(s.cached_tokens), 0),
            'completion_tokens', coalesce(sum(s.completion_tokens), 0),
            'reasoning_tokens', coalesce(sum(s.reasoning_tokens), 0),
            'cost', (select c.cost from _work_costs as c where c.run_id = r.id),
            'turns', count(*),
            'ms_model', coalesce(sum(s.ms_model), 0),
            'ms_engine', coalesce(sum(s.ms_engine), 0)
        )
        from turns as s
        where s.run_id in (select w.working_run_id from _working_runs as w where w.run_id = r.id)
    ) as telemetry,
    strftime('%Y-%m-%d %H:%M:%S', r.updated_at / 1000.0, 'unixepoch') as updated_at
from runs as r;

create view audit_entries as
-- The prompts, packets, responses and reasoning of runs as entries: run://, system://, user://, assistant:// and
-- reasoning://, with the time (UTC) of each.
select
    r.alias as run, 'run://' || r.alias as path, null as turn, l.prompt as body,
    (select s.status from _run_statuses as s where s.run_id = r.id) as status,
    strftime('%Y-%m-%d %H:%M:%S', l.created_at / 1000.0, 'unixepoch') as at
from runs as r
left join loops as l on l.run_id = r.id and l.sequence = r.next_loop - 1
union all
select p.run, p.role || '://' || p.turn, p.turn, p.text, 200, p.sent_at
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

create view loop_results as
-- How each prompt ended and what it used; status 202 while its run waits for a decision, and no answer before its end.
-- A run of a workflow used what its steps did. 'tree_cost' is the cost with all runs that the prompt gave work to.
select
    r.alias as run,
    l.sequence as loop,
    (select s.status from _prompt_statuses as s where s.loop_id = l.id) as status,
    case when l.ended_at is not null then l.answer end as answer,
    l.reason,
    count(t.id) as turns,
    coalesce(sum(t.prompt_tokens), 0) as prompt_tokens,
    coalesce(sum(t.cached_tokens), 0) as cached_tokens,
    coalesce(sum(t.completion_tokens), 0) as completion_tokens,
    coalesce(sum(t.reasoning_tokens), 0) as reasoning_tokens,
    -- null: the price of one of its answers is unknown
    case max(t.response is not null and t.cost is null) when 1 then null else coalesce(sum(t.cost), 0.0) end as cost,
    strftime('%Y-%m-%d %H:%M:%S', l.created_at / 1000.0, 'unixepoch') as created_at,
    strftime('%Y-%m-%d %H:%M:%S', l.ended_at / 1000.0, 'unixepoch') as ended_at,
    -- null: it has no criteria, or was not verified
    coalesce(
        (select a.accepted from _loop_acceptances as a where a.loop_id = l.id),
        case l.sequence when 1 then (select a.accepted from _run_acceptances as a where a.run_id = r.id) end
    ) as accepted,
    case max(t.loop_id = l.id and t.response is not null and t.cost is null)
        when 1 then null
        else coalesce(sum(case when t.loop_id = l.id then t.cost end), 0.0) + (
            select case when count(k.cost) = count(*) then coalesce(sum(k.cost), 0.0) end
            from children as c
            join _tree_costs as k on k.run_id = c.run_id
            where c.parent_run_id = r.id and c.parent_loop_id = l.id
        )
    end as tree_cost
from runs as r
join loops as l on l.run_id = r.id
left join turns as t
    on t.loop_id in (
        select l.id
        union all
        select w.working_loop_id
        from _working_loops as w
        where w.loop_id = l.id
    )
group by r.alias, l.sequence;
