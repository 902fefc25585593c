-- Steps of hooks: one is asked, its answer is stored, and what it refuses does not happen.
-- What a hook does stands in 280; the words of its answer are read by hook_verdict.
-- spec: @hooks @hook_points @hook_answers

-- views

create view _offer_hook as
-- Give a run a hook, or take all of its hooks away where 'name' is null: insert into _offer_hook (run, lease, name, point,
-- tools, line, timeout_s, required, layer, source). Only who drives the run may.
select
    r.alias as run, null as lease, h.name, h.point, h.tools, h.line, h.timeout_s, h.required, h.layer, h.source
from run_hooks as h
join runs as r on r.id = h.run_id
where false;

-- Look whether a turn is to be held: insert into _hold_turn (turn_id), by _late_call.
create view _hold_turn as
select turn_id
from hook_holds
where false;

create view _begin_hook as
-- Say that the hook of _next_hooks is about to be asked: insert into _begin_hook (run, lease).
select r.alias as run, t.lease
from turns as t
join runs as r on r.id = t.run_id
where false;

create view _end_hook as
-- Report how the hook that a run was asking ended: insert into _end_hook (run, lease, ended, exit_code, stdout, stderr).
-- 'ended' is exited, timed_out or failed_to_start.
select r.alias as run, t.lease, null as ended, null as exit_code, null as stdout, null as stderr
from turns as t
join runs as r on r.id = t.run_id
where false;

-- Have what a hook refuses not happen: insert into _refuse_by_hook (call_id), by _late_call.
create view _refuse_by_hook as
select id as call_id
from hook_calls
where false;

-- What hooks refuse, in words. The third time that the same is refused in a loop counts as a strike.
create view _hook_refusals as
select
    k.id as call_id, k.run_id, k.turn_id, k.loop_id, k.command_id, k.point,
    'The hook ' || k.hook
    || case k.point
        when 'before_prompt' then ' refuses this prompt'
        when 'before_tool' then ' refuses this'
        when 'after_tool' then ' says of <' || c.action || '>' || coalesce(' ' || c.path, '')
        else ' does not let the prompt end'
    end
    || case when k.verdict = 'failed' then ', because it failed' else '' end || coalesce(': ' || k.reason, '') as told,
    case
        when (
            select count(*)
            from hook_calls as o
            left join commands as d on d.id = o.command_id
            where o.loop_id = k.loop_id
                and o.hook = k.hook
                and o.point = 'before_tool'
                and o.refuses
                and (d.action, d.path, d.body) is (c.action, c.path, c.body)
        ) > 2 then 'blocked_again'
        else 'blocked'
    end as outcome
from hook_calls as k
left join commands as c on c.id = k.command_id
where k.refuses;

-- The calls whose answer is awaited.
create view _asked_hooks as
select k.id as call_id, r.alias as run, h.required
from hook_calls as k
join runs as r on r.id = k.run_id
left join run_hooks as h on h.run_id = k.run_id and h.point = k.point and h.name = k.hook
where k.verdict is null;

-- triggers

create trigger _offer_hook__offer
instead of insert on _offer_hook
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    from _leases_in_force as l
    join runs as r on r.id = l.run_id and r.alias = new.run
    where l.token is not new.lease;
    delete from run_hooks
    where new.name is null and run_id = (select id from runs where alias = new.run);
    delete from hook_holds
    where new.name is null
        and turn_id in (select t.id from turns as t join runs as r on r.id = t.run_id where r.alias = new.run);
    insert into run_hooks (run_id, name, point, tools, line, timeout_s, required, layer, source)
    select id, new.name, new.point, new.tools, new.line, new.timeout_s, new.required, new.layer, new.source
    from runs
    where alias = new.run and new.name is not null;
    insert into _late_call (door, a)
    select '_hold_turn', t.id
    from runs as r
    join turns as t on t.run_id = r.id and t.phase <> 'judged'
    where r.alias = new.run and new.name is not null;
end;

create trigger _hold_turn__look
instead of insert on _hold_turn
begin
    delete from hook_holds
    where turn_id = new.turn_id;
    insert into hook_holds (turn_id, ordinal, is_due)
    select turn_id, min(ordinal), max(is_due)
    from _open_hooks
    where turn_id = new.turn_id
    group by turn_id;
end;

-- One that an earlier driver was asking is asked again.
create trigger _begin_hook__begin
instead of insert on _begin_hook
begin
    select fail(409, 'run ' || coalesce(new.run, 'NULL') || ': no hook is to be asked')
    where not exists (select 1 from _next_hooks as n join runs as r on r.id = n.run_id where r.alias = new.run);
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    from _leases_in_force as l
    join runs as r on r.id = l.run_id and r.alias = new.run
    where l.token is not new.lease;
    update hook_calls
    set verdict = 'interrupted', ended_at = now()
    where verdict is null and run_id = (select id from runs where alias = new.run);
    insert into hook_calls (run_id, loop_id, turn_id, command_id, point, hook, line, layer, source, started_at)
    select n.run_id, t.loop_id, n.turn_id, n.command_id, n.point, n.name, n.line, n.layer, n.source, now()
    from runs as r
    join _next_hooks as n on n.run_id = r.id
    join turns as t on t.id = n.turn_id
    where r.alias = new.run;
end;

create trigger _end_hook__end
instead of insert on _end_hook
begin
    select fail(409, 'run ' || coalesce(new.run, 'NULL') || ': no hook is asked')
    where not exists (select 1 from _asked_hooks where run = new.run);
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    from _leases_in_force as l
    join runs as r on r.id = l.run_id and r.alias = new.run
    where l.token is not new.lease;
    update hook_calls
    set verdict = a.said ->> '$.verdict',
        reason = a.said ->> '$.reason',
        refuses = case a.said ->> '$.verdict' when 'refused' then 1 when 'failed' then a.required else 0 end,
        exit_code = new.exit_code,
        ended_at = now()
    from (
        select
            call_id,
            coalesce(required, 0) as required,
            hook_verdict(new.ended, new.exit_code, new.stdout, new.stderr) as said
        from _asked_hooks
        where run = new.run
    ) as a
    where hook_calls.id = a.call_id;
    insert into events (at, run_id, turn_id, kind, detail)
    select now(), run_id, turn_id, 'hook.ended', json_object('call', id, 'verdict', verdict)
    from hook_calls
    where id = (select max(k.id) from hook_calls as k join runs as r on r.id = k.run_id where r.alias = new.run);
    insert into _late_call (door, a)
    select '_hold_turn', turn_id
    from hook_calls
    where id = (select max(k.id) from hook_calls as k join runs as r on r.id = k.run_id where r.alias = new.run);
    insert into _late_call (door, a)
    select '_refuse_by_hook', id
    from hook_calls
    where refuses and id = (select max(k.id) from hook_calls as k join runs as r on r.id = k.run_id where r.alias = new.run);
end;

-- A prompt that is refused ends before anything of it is sent, and stays out of later packets. A command that is refused
-- fails when its turn comes; of one that was performed, and of an end, the model reads the reason.
create trigger _refuse_by_hook__refuse
instead of insert on _refuse_by_hook
begin
    insert into vetoes (command_id, outcome, message)
    select command_id, outcome, told
    from _hook_refusals
    where call_id = new.call_id and point = 'before_tool';
    insert into turn_errors (turn_id, status, message, soft)
    select turn_id, 409, told, 1
    from _hook_refusals
    where call_id = new.call_id and point in ('after_tool', 'end');
    insert into votes (turn_id, voter, vote, rank, status, reason)
    select
        f.turn_id, 'hooks', case when s.is_last then 'stop' else 'go_on' end, 15,
        case when s.is_last then 499 else 102 end,
        f.told
    from _hook_refusals as f
    join _last_turns as s on s.turn_id = f.turn_id
    where f.call_id = new.call_id and f.point = 'end';
    insert into votes (turn_id, voter, vote, rank, status, reason)
    select turn_id, 'hooks', 'stop', 70, 403, told
    from _hook_refusals
    where call_id = new.call_id and point = 'before_prompt';
    insert into _show_entry (run_id, entry_id, visibility, turn)
    select f.run_id, v.entry_id, 'archived', t.sequence
    from _hook_refusals as f
    join turns as t on t.id = f.turn_id
    join run_views as v on v.run_id = f.run_id and v.loop_id = f.loop_id
    where f.call_id = new.call_id and f.point = 'before_prompt' and v.visibility <> 'archived';
    insert into _late_call (door, a)
    select '_judge_turn', turn_id
    from _hook_refusals
    where call_id = new.call_id and point = 'before_prompt';
    insert into _late_call (door, a)
    select '_hold_turn', turn_id
    from _hook_refusals
    where call_id = new.call_id;
end;
