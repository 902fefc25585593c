-- Work: which runs work or wait, what a run may do, which tools exist, and what happened.
-- They answer an operator's questions in one statement each, call no function of the engine, and write nothing.
-- spec: @open_work @run_capabilities @tool_list @event_list

-- views

create view open_work as
-- The prompts that have not ended, and what each waits for: select * from open_work. 'state' is running (a process drives
-- it), waiting (for a person), queued (behind another prompt of its run) or stopped (no process drives it: resume it).
-- 'waits_for' is model, command, run (one that it gave work to), person, prompt, driver or engine; 'what' says which.
-- 'holder' is the process that drives it, as JSON, 'lease_expires_at' when its lease expires unless it is renewed.
select
    w.run,
    w.loop,
    w.state,
    case
        when w.state = 'queued' then 'prompt'
        when w.below is not null then 'run'
        when w.state = 'waiting' then 'person'
        when w.state = 'stopped' then 'driver'
        when w.step = 'ask' then 'model'
        when w.effect is not null then 'command'
        else 'engine'
    end as waits_for,
    case
        when w.state = 'queued'
            then (
                select 'prompt ' || max(o.sequence)
                from loops as o
                where o.run_id = w.run_id and o.sequence < w.loop and o.status in (100, 102)
            )
        when w.below is not null then w.below
        when w.state = 'waiting'
            then (
                select p.action || coalesce(' ' || substr(p.target, 1, 200), '')
                from proposals as p
                where p.run_id = w.run_id and p.state = 'proposed'
                order by p.id
                limit 1
            )
        when w.state = 'stopped' then null
        when w.step = 'ask' then w.model
        else w.effect
    end as what,
    w.turn,
    w.prompt,
    strftime('%Y-%m-%d %H:%M:%S', w.since / 1000.0, 'unixepoch') as began_at,
    w.holder,
    strftime('%Y-%m-%d %H:%M:%S', w.expires_at / 1000.0, 'unixepoch') as lease_expires_at
from (
    select
        r.id as run_id,
        r.alias as run,
        l.sequence as loop,
        coalesce(l.model, r.model) as model,
        case
            when exists (
                select 1
                from loops as o
                where o.run_id = l.run_id and o.sequence < l.sequence and o.status in (100, 102)
            ) then 'queued'
            when n.step = 'wait' and not exists (select 1 from _open_children as k where k.parent_run_id = r.id)
                then 'waiting'
            when d.run_id is not null then 'running'
            when n.step = 'wait' then 'waiting'
            when u.root_run_id is not null and exists (select 1 from _leases_in_force as t where t.run_id = u.root_run_id)
                then 'running'
            else 'stopped'
        end as state,
        n.step,
        n.turn,
        (select group_concat(k.alias, ', ') from _open_children as k where k.parent_run_id = r.id and l.status = 102)
            as below,
        (
            select coalesce(substr(f.detail ->> '$.command', 1, 200), f.kind)
            from effects as f
            where f.run_id = r.id and f.state = 'started'
            order by f.id
            limit 1
        ) as effect,
        l.prompt,
        coalesce(
            (select max(p.created_at) from proposals as p where p.run_id = r.id and p.state = 'proposed' and l.status = 102),
            (select t.created_at from turns as t where t.id = n.turn_id and l.status = 102),
            l.created_at
        ) as since,
        case l.status when 102 then d.holder end as holder,
        case l.status when 102 then d.expires_at end as expires_at
    from loops as l
    join runs as r on r.id = l.run_id
    join _next_steps as n on n.run_id = r.id
    left join _leases_in_force as d on d.run_id = r.id
    left join children as u on u.run_id = r.id
    where l.status in (100, 102)
) as w
order by w.run, w.loop;

-- The runs that were given work and have not ended, by the run that gave it.
create view _open_children as
select c.parent_run_id, r.alias
from children as c
join loops as l on l.id = c.loop_id and l.status in (100, 102)
join runs as r on r.id = c.run_id
order by c.run_id;

-- Where the tools come from that neither the engine nor a plugin brings. A part gives the name, and the server if there is
-- one.
create view _tool_origins as
select null as name, null as server
where false;

create view tool_list as
-- The tools of the file: select * from tool_list. 'source' is installed (it comes with the engine or a plugin), function
-- (of an app) or mcp (of the server 'server'). 'offered' is 1 if models may see it now: a tool of an app or a server only
-- while a process that has it drives a run. 'calls' counts the commands of models that named it.
select
    t.name,
    case
        when f.server is not null then 'mcp'
        when f.name is not null then 'function'
        else 'installed'
    end as source,
    f.server,
    t.advertised or exists (select 1 from _leases_in_force as d where d.tools ->> t.name) as offered,
    (select group_concat(value, ', ') from json_each(t.modes)) as modes,
    (select group_concat(value, ', ') from json_each(t.hidden_by)) as hidden_by,
    coalesce(c.calls, 0) as calls,
    strftime('%Y-%m-%d %H:%M:%S', c.last_at / 1000.0, 'unixepoch') as last_called_at,
    t.meaning,
    t.schema
from tools as t
left join _tool_origins as f on f.name = t.name
left join (
    select action, count(*) as calls, max(created_at) as last_at
    from commands
    where turn_id is not null
    group by action
) as c on c.action = t.name
order by t.ordinal, t.name;

-- The tier of the model behind each alias. A part gives it; null: none fits its name.
create view _alias_tiers as
select null as name, null as actual, null as tier
where false;

create view run_capabilities as
-- What a run may do: select * from run_capabilities where run = 'demo'. 'kind' is run, model, delegate (a model that it may
-- give work to), tool, flag, limit, write (a scheme that its model may write), file (a rule for files) or grant. 'reason'
-- says why a tool is closed, or where a limit comes from (prompt, run, file, env, project, user, default).
select r.alias as run, 'run' as kind, k.key as name, k.value as value, null as reason
from runs as r
join projects as p on p.id = r.project_id
left join _giving_loops as g on g.run_id = r.id
left join loops as l on l.id = g.loop_id
join json_each(json_object(
    'mode', l.mode, 'persona', r.persona, 'project', p.name, 'folder', p.root, 'role', r.role, 'depth', r.depth
)) as k
where k.value is not null
union all
select r.alias, 'model', k.key, k.value, null
from runs as r
left join _giving_loops as g on g.run_id = r.id
left join loops as l on l.id = g.loop_id
left join models as m on m.alias = coalesce(l.model, r.model)
left join _loop_ceilings as b on b.loop_id = l.id
left join _alias_tiers as a on a.name = coalesce(l.model, r.model)
join json_each(json_object(
    'name', coalesce(l.model, r.model),
    'actual', coalesce(m.actual, l.model, r.model),
    'tier', a.tier,
    'effort', coalesce(r.effort, m.effort, (select value from settings where name = 'effort')),
    'context_length', b.context_size,
    'packet_tokens', b.ceiling,
    'tool_calling', coalesce(m.tool_calling, 'xml')
)) as k
where k.value is not null
union all
select r.alias, 'delegate', a.name, a.actual, 'tier ' || a.tier
from runs as r
join _giving_loops as g on g.run_id = r.id
join loops as l on l.id = g.loop_id
join _alias_tiers as o on o.name = coalesce(l.model, r.model)
join _alias_tiers as a on a.name in (select alias from models)
where r.depth < coalesce(l.config ->> '$.max_depth', (select cast(value as integer) from settings where name = 'max_depth'))
    and (a.name = o.name or o.tier = 1 or a.tier >= o.tier or (o.tier is null and a.tier is null))
union all
select
    r.alias,
    'tool',
    t.name,
    case when o.name is null then 'closed' else 'open' end,
    case
        when o.name is not null then null
        when t.name in ('subtask', 'execute')
            and r.depth >= coalesce(
                l.config ->> '$.max_depth', (select cast(value as integer) from settings where name = 'max_depth')
            )
            then 'max_depth is ' || coalesce(
                l.config ->> '$.max_depth', (select value from settings where name = 'max_depth')
            )
        when not (
                t.advertised or exists (select 1 from leases as d where d.run_id = r.id and d.tools ->> t.name)
            ) then 'offered only while a driver can perform it'
        when l.mode not in (select value from json_each(t.modes)) then 'mode ' || l.mode
        else coalesce(
            (
                select 'option ' || group_concat(f.flag, ', ')
                from json_each(t.hidden_by) as h
                join _loop_flags as f on f.loop_id = l.id and f.flag = h.value
            ), 'closed for this prompt'
        )
    end
from runs as r
join tools as t
left join _giving_loops as g on g.run_id = r.id
left join loops as l on l.id = g.loop_id
left join _loop_tools as o on o.loop_id = l.id and o.name = t.name
union all
select r.alias, 'flag', f.flag, 'on', null
from runs as r
join _giving_loops as g on g.run_id = r.id
join _loop_flags as f on f.loop_id = g.loop_id
where f.flag in (select name from run_options where kind = 'flag')
union all
select s.run, 'limit', s.name, s.value, s.origin
from run_settings as s
where s.value is not null
    and (s.name glob 'max_*' or s.name in ('process_timeout', 'job_timeout', 'model_timeout', 'sandbox', 'web_hosts'))
union all
select
    r.alias, 'limit', 'network', coalesce(l.config ->> '$.network', 'none'),
    case when l.config ->> '$.network' is null then 'default' else 'prompt' end
from runs as r
join _giving_loops as g on g.run_id = r.id
join loops as l on l.id = g.loop_id
union all
select r.alias, 'write', w.scheme, null, null
from runs as r
join _scheme_writers as w on w.writer = 'model'
union all
select r.alias, 'file', c.pattern, c.rule, null
from runs as r
join file_constraints as c on c.project_id = r.project_id
union all
select r.alias, 'grant', g.kind, coalesce(g.target, 'any target'), 'grant ' || g.id
from runs as r
join grants as g on g.project_id = r.project_id and coalesce(g.run_id, r.id) = r.id and g.revoked_at is null
order by 1, 2, 3;

create view event_list as
-- What happened in the file, in order, one row an event: select * from event_list where id > :last order by id. 'type' is
-- such as loop.status, turn.asked or entry.written; 'path' is that of the entry that it is about, 'detail' JSON. 'day' and
-- 'created_at' are in UTC. 'run' is null for what is about no run, and for a run that was purged.
select
    ev.id,
    date(ev.at / 1000.0, 'unixepoch') as day,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch') as created_at,
    r.alias as run,
    t.sequence as turn,
    ev.kind as type,
    e.path,
    ev.detail
from events as ev
left join runs as r on r.id = ev.run_id
left join turns as t on t.id = ev.turn_id
left join entries as e on e.id = ev.entry_id;
