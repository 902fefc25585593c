-- Overview: the runs of a file, their prompts and their turns, for any program that can read SQLite.
-- The views call no function of the engine, so the stock sqlite3 shell can read them.
-- spec: @people_views

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

-- The loop in which the work on a loop's prompt went on, and that has its answer. A part gives them.
create view _continuing_loops as
select null as loop_id, null as last_id
where false;

-- Whether the result of each loop counts as accepted; one that was not verified has no row. A part gives them.
create view _loop_acceptances as
select null as loop_id, null as accepted
where false;

-- Whether the work of each run counts as accepted, where others do it. A part gives them.
create view _run_acceptances as
select null as run_id, null as accepted
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

create view loop_results as
-- How each prompt ended and what it used; status 202 while its run waits for a decision, and no answer before its end. A
-- run of a workflow used what its steps did. A prompt that was handed over ended as the last of its loops did. 'tree_cost'
-- is the cost with all runs that the prompt gave work to.
select
    r.alias as run,
    l.sequence as loop,
    (select s.status from _prompt_statuses as s where s.loop_id = e.id) as status,
    case when e.ended_at is not null then e.answer end as answer,
    case when e.status in (200, 204) then e.output end as output,
    e.reason,
    count(t.id) as turns,
    coalesce(sum(t.prompt_tokens), 0) as prompt_tokens,
    coalesce(sum(t.cached_tokens), 0) as cached_tokens,
    coalesce(sum(t.completion_tokens), 0) as completion_tokens,
    coalesce(sum(t.reasoning_tokens), 0) as reasoning_tokens,
    -- null: the price of one of its answers is unknown
    case max(t.response is not null and t.cost is null) when 1 then null else coalesce(sum(t.cost), 0.0) end as cost,
    strftime('%Y-%m-%d %H:%M:%S', l.created_at / 1000.0, 'unixepoch') as created_at,
    strftime('%Y-%m-%d %H:%M:%S', e.ended_at / 1000.0, 'unixepoch') as ended_at,
    -- null: it has no criteria, or was not verified
    coalesce(
        (select a.accepted from _loop_acceptances as a where a.loop_id = e.id),
        case l.sequence when 1 then (select a.accepted from _run_acceptances as a where a.run_id = r.id) end
    ) as accepted,
    case max(t.run_id = r.id and t.response is not null and t.cost is null)
        when 1 then null
        else coalesce(sum(case when t.run_id = r.id then t.cost end), 0.0) + (
            select case when count(k.cost) = count(*) then coalesce(sum(k.cost), 0.0) end
            from children as c
            join _tree_costs as k on k.run_id = c.run_id
            where c.parent_run_id = r.id
                and (
                    c.parent_loop_id = l.id
                    or c.parent_loop_id in (select w.working_loop_id from _working_loops as w where w.loop_id = l.id)
                )
        )
    end as tree_cost
from runs as r
join loops as l on l.run_id = r.id
join loops as e on e.id = coalesce((select k.last_id from _continuing_loops as k where k.loop_id = l.id), l.id)
left join turns as t
    on t.loop_id in (
        select l.id
        union all
        select w.working_loop_id
        from _working_loops as w
        where w.loop_id = l.id
    )
group by r.alias, l.sequence;
