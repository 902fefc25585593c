-- Hooks: commands of a person's own that are asked at points of a run, and may refuse what comes.
-- The driver puts those of the user's and the project's configuration into run_hooks when it begins to drive; what a file
-- says of itself is no hook. Where a hook is to be asked, the turn is held (_turn_holds); the driver runs its command,
-- reports how it ended, and what it refuses is refused here. 281 has these steps. The triggers that the driver hangs into
-- its own connection (engine/driving/hook_offers.py) say when to look; without hooks nothing of this is compiled.
-- needs: nothing
-- spec: @hooks @hook_points

-- tables

-- The hooks of each run, as its driver found them.
create table if not exists run_hooks (
    id integer primary key,
    run_id integer not null constraint run_hooks_run references runs (id) on delete cascade,
    name text not null,
    point text not null constraint run_hooks_point references hook_points (name),
    -- a JSON array of GLOBs over the names of tools
    tools text not null constraint run_hooks_tools check (json_valid(tools)),
    line text not null,
    timeout_s real not null,
    -- 1: where it fails itself, it refuses
    required integer not null default 0 constraint run_hooks_required_flag check (required in (0, 1)),
    layer text not null constraint run_hooks_layer check (layer in ('user', 'project')),
    -- the file that names it
    source text not null,
    constraint run_hooks_once unique (run_id, point, name)
) strict;

create table if not exists hook_points (
    name text primary key,
    ordinal integer not null,
    meaning text not null
) strict, without rowid;

-- Each time that a hook was asked.
create table if not exists hook_calls (
    id integer primary key,
    run_id integer not null constraint hook_calls_run references runs (id) on delete cascade,
    loop_id integer not null,
    turn_id integer not null,
    -- the command that it was asked about; null: the prompt, or the end
    command_id integer,
    point text not null,
    hook text not null,
    line text not null,
    layer text not null,
    source text not null,
    -- null: not known yet; interrupted: its driver ended, and it is asked again
    verdict text constraint hook_calls_verdict
        check (verdict is null or verdict in ('allowed', 'refused', 'failed', 'interrupted')),
    -- 1: what it was asked about does not happen
    refuses integer not null default 0 constraint hook_calls_refuses_flag check (refuses in (0, 1)),
    reason text,
    exit_code integer,
    started_at integer not null,
    ended_at integer
) strict;

create index if not exists idx_hook_calls_turn_id on hook_calls (turn_id);
create index if not exists idx_hook_calls_refused on hook_calls (loop_id) where refuses;

-- The open turns that are held, each from the first command that waits.
create table if not exists hook_holds (
    turn_id integer primary key constraint hook_holds_turn references turns (id) on delete cascade,
    ordinal real not null,
    -- 1: a hook is to be asked now
    is_due integer not null constraint hook_holds_due_flag check (is_due in (0, 1))
) strict;

-- seeds

insert into hook_points (name, ordinal, meaning) values
    ('before_prompt', 1, 'a prompt is about to be sent for the first time'),
    ('before_tool', 2, 'a command of the model is about to be performed'),
    ('after_tool', 3, 'a command of the model was performed'),
    ('end', 4, 'the prompt is about to end as done')
on conflict (name) do update set ordinal = excluded.ordinal, meaning = excluded.meaning;

-- views

-- Where the open turns of runs stand: what hooks may be asked about. Commands behind one that failed are aborted anyway.
-- Each part names the condition of idx_turns_one_open, so that one turn of the run is read and not all.
create view _hook_subjects as
select
    t.id as turn_id, t.run_id, t.loop_id, 'before_prompt' as point, -1 as ordinal, null as command_id, null as tool,
    1 as is_due
from turns as t
where t.phase = 'assembling'
    and t.phase <> 'judged'
    and not exists (select 1 from turns as o where o.loop_id = t.loop_id and o.id < t.id)
    -- the prompt of a run below is the model's
    and not exists (select 1 from children as k where k.run_id = t.run_id and k.loop_id = t.loop_id)
union all
select
    t.id, t.run_id, t.loop_id, 'before_tool', c.ordinal, c.id, c.action,
    not exists (
        select 1 from commands as o where o.turn_id = t.id and o.ordinal < c.ordinal and o.state <> 'resolved'
    )
from turns as t
cross join commands as c on c.turn_id = t.id
where t.phase = 'dispatching'
    and t.phase <> 'judged'
    and c.writer = 'model'
    and c.state = 'queued'
    and not exists (select 1 from vetoes as v where v.command_id = c.id)
    and not exists (
        select 1
        from commands as o
        where o.turn_id = t.id and o.ordinal < c.ordinal and o.state in ('failed', 'cancelled')
    )
union all
select t.id, t.run_id, t.loop_id, 'after_tool', c.ordinal + 1, c.id, c.action, 1
from turns as t
cross join commands as c on c.turn_id = t.id
where t.phase = 'dispatching'
    and t.phase <> 'judged'
    and c.writer = 'model'
    and c.state in ('resolved', 'failed')
    -- what did not happen has no end
    and coalesce(c.outcome, '') not in ('aborted', 'blocked', 'blocked_again', 'rejected')
    and not exists (select 1 from vetoes as v where v.command_id = c.id)
union all
select t.id, t.run_id, t.loop_id, 'end', 9e18, null, null, 1
from turns as t
cross join _turn_findings as f on f.turn_id = t.id
where t.phase = 'dispatching'
    and t.phase <> 'judged'
    and not exists (
        select 1
        from commands as c
        where c.turn_id = t.id and c.state in ('queued', 'performing', 'proposed', 'accepting', 'accepted')
    )
    and not (f.failed or f.faulty or f.cycles or f.rejected)
    and case
        when f.update_id is null then not f.acts and (f.commands > 0 or f.prose <> '')
        else exists (
            select 1
            from commands as u
            where u.id = f.update_id and u.state = 'resolved' and u.attributes ->> '$.status' in (200, 204)
        )
    end;

-- The hooks that are still to be asked in open turns. One that refuses spares the others.
create view _open_hooks as
select
    h.run_id, s.turn_id, s.loop_id, s.command_id, s.point, s.ordinal, s.is_due,
    h.name, h.line, h.timeout_s, h.required, h.layer, h.source,
    p.ordinal as place
from _hook_subjects as s
cross join run_hooks as h on h.run_id = s.run_id and h.point = s.point
cross join hook_points as p on p.name = h.point
where (s.tool is null or exists (select 1 from json_each(h.tools) as g where s.tool glob g.value))
    and not exists (
        select 1
        from hook_calls as k
        where k.turn_id = s.turn_id
            and k.point = s.point
            and k.command_id is s.command_id
            and (k.refuses or (k.hook = h.name and k.verdict in ('allowed', 'refused', 'failed')))
    );

create view _turn_holds__hooks as
select turn_id, ordinal, is_due
from hook_holds;

-- The hook that each run asks next, and what it is given on standard input, as JSON.
create view _next_hooks as
select
    o.run_id, o.turn_id, o.command_id, o.point, o.name, o.line, o.timeout_s, o.layer, o.source, j.root,
    json_patch('{}', json_object(
        'version', 1,
        'point', o.point,
        'hook', o.name,
        'run', r.alias,
        'prompt_number', l.sequence,
        'prompt', l.prompt,
        'turn', t.sequence,
        'folder', j.root,
        'mode', l.mode,
        'model', coalesce(l.model, r.model),
        'tool', c.action,
        'path', c.path,
        'to', c.destination,
        'body', (select b.body from _command_bodies as b where b.command_id = c.id),
        'attributes', case when c.attributes <> '{}' then json(c.attributes) end,
        'status', case
            when o.point = 'after_tool' then (select k.status from command_results as k where k.command_id = c.id)
        end,
        'outcome', case when o.point = 'after_tool' then c.outcome end,
        'message', case when o.point = 'after_tool' then c.message end,
        'answer', case
            when o.point = 'end'
                then coalesce(
                    (
                        select u.message
                        from commands as u
                        where u.turn_id = t.id and u.action = 'update'
                        order by u.ordinal desc
                        limit 1
                    ), t.prose
                )
        end
    )) as input
from (
    select *, row_number() over (partition by run_id order by ordinal, place, name) as rank
    from _open_hooks
    where is_due
) as o
join runs as r on r.id = o.run_id
join projects as j on j.id = r.project_id
join turns as t on t.id = o.turn_id
join loops as l on l.id = o.loop_id
left join commands as c on c.id = o.command_id
where o.rank = 1;

create view hook_log as
-- What hooks were asked and what they said: select * from hook_log where run = 'demo'. 'source' is the file that names the
-- hook, 'tool' and 'target' are the command that it was asked about; 'verdict' is allowed, refused, failed (of the hook
-- itself) or interrupted, and 'refuses' is 1 where what it was asked about did not happen. Times are UTC.
select
    r.alias as run,
    t.sequence as turn,
    k.point,
    k.hook,
    k.line,
    k.source,
    c.action as tool,
    coalesce(c.path, c.body) as target,
    k.verdict,
    k.refuses,
    k.reason,
    k.exit_code,
    round((k.ended_at - k.started_at) / 1000.0, 1) as seconds,
    strftime('%Y-%m-%d %H:%M:%S', k.started_at / 1000.0, 'unixepoch') as started_at,
    k.id as call_id,
    k.command_id
from hook_calls as k
join runs as r on r.id = k.run_id
join turns as t on t.id = k.turn_id
left join commands as c on c.id = k.command_id;

-- An id is given again: what a hook said of a turn or a command to come would be its answer.
create view _acts__hooks as
select 9 as rank, 'record' as kind, null as run, 'has answers of hooks about what is not there' as what
where exists (
        select 1
        from hook_calls as k
        where k.turn_id not in (select id from turns)
            or k.command_id not in (select id from commands)
    );

-- The statuses of verdicts, for the log and for who watches; a hook that allowed is told to neither.
create view _told_hooks as
select
    h.*,
    case h.verdict when 'failed' then 500 else 403 end as status,
    h.point || coalesce(' of ' || h.tool, '') as subject,
    case h.verdict when 'failed' then 'the hook failed' else 'refused' end || coalesce(': ' || h.reason, '') as told
from hook_log as h
where h.verdict in ('refused', 'failed');

create view _log_additions__hooks as
select
    h.run, h.turn, 800 as ordinal, 'system' as writer, 'hook' as action, h.hook as target, 'resolved' as state,
    h.verdict as outcome, h.status, h.subject || ': ' || h.told as body, null as path, null as command_id,
    null as decided_by, h.started_at as created_at
from _told_hooks as h;

create view _run_progress__hooks as
select
    h.run, ev.id as event_id, 'hook' as type, h.turn, null as context_tokens, null as ceiling, null as cost,
    h.point as action, h.hook as target, h.status, h.verdict as outcome, h.told as body, null as path,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch') as created_at
from events as ev
cross join _told_hooks as h on h.call_id = json_extract(ev.detail, '$.call')
where ev.kind = 'hook.ended';
