-- Doors of steps: begin a step that is ready, and store how it ended.
-- The driver asks _ready_steps what can begin, and tells _start_step and _end_step; what follows from that, such as
-- that the failure of a step ends the others, stands here.
-- spec: @_ready_steps @workflow_steps

-- views

-- The effects of the steps of workflows, and of runs below them, that write or remove a file.
create view _step_writes as
select f.id as effect_id, f.turn_id, s.run_id, s.step, s.child_run_id, s.started_at, t.value as path
from effects as f
join children as c on c.run_id = f.run_id
join children as o
    on o.root_run_id = c.root_run_id and (o.run_id = c.run_id or instr(c.lineage, '/' || o.run_id || '/'))
join step_runs as s on s.run_id = o.parent_run_id and s.child_run_id = o.run_id
join json_each(json_array(f.detail ->> '$.path', f.detail ->> '$.leads_to')) as t
where f.kind in ('file_write', 'file_delete') and t.value is not null and f.turn_id is not null;

-- Those of them whose file a step has written that worked at the same time.
create view _step_rivals as
select w.effect_id, w.path, o.step, r.alias
from _step_writes as w
join step_runs as o on o.run_id = w.run_id and o.step <> w.step and coalesce(o.ended_at > w.started_at, 1)
join write_claims as k on k.run_id = o.child_run_id and k.path = w.path
join runs as r on r.id = o.child_run_id;

create view _claim_refusals__workflows as
select
    effect_id,
    path || ': step ' || step || ' (run ' || alias || ') works at the same time and has written it; do not change this file,'
    || ' and report the change that it needs.' as refusal
from _step_rivals;

create view _start_step as
-- Begin a step that is ready: insert into _start_step (run, step, prompt, lease). It gets a run of its own. Nothing happens
-- where it is not ready any more.
select r.alias as run, s.step, null as prompt, null as lease
from step_runs as s
join runs as r on r.id = s.run_id
where false;

create view _end_step as
-- Take how the run of a step has ended: insert into _end_step (run, step, lease). Where it has failed, steps under way are
-- cancelled, and those that wait are skipped. Nothing happens where it has not ended, or was taken.
select r.alias as run, s.step, null as lease
from step_runs as s
join runs as r on r.id = s.run_id
where false;

-- End the other steps of a run: insert into _stop_steps (run_id, step), 'step' being the one that failed.
create view _stop_steps as
select run_id, step
from step_runs
where false;

-- triggers

create trigger _start_step__guard
instead of insert on _start_step
when not exists (
    select 1
    from step_runs as s
    join runs as r on r.id = s.run_id
    where r.alias = new.run and s.step = new.step
)
begin
    select fail(404, 'run ' || quote(new.run) || ': has no step ' || quote(new.step) || '; see the view step_list');
end;

-- The run of the step and its state are one change, so that no step begins twice.
create trigger _start_step__start
instead of insert on _start_step
when exists (select 1 from _ready_steps where run = new.run and step = new.step)
begin
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    from _effect_leases as l
    join workflow_runs as w on w.effect_id = l.effect_id
    join runs as r on r.id = w.run_id
    where r.alias = new.run and l.token is not new.lease;
    insert into _start_child (parent_run_id, alias, role, prompt, attributes)
    select
        r.id,
        case
            when not exists (select 1 from runs as o where o.alias = r.alias || '-' || new.step)
                then r.alias || '-' || new.step
        end,
        'step',
        new.prompt,
        json_patch(
            (
                select json_group_object(o.key, o.value)
                from loops as l
                join json_each(l.config) as o on o.key in ('max_turns', 'condense_ratio', 'task_prompt')
                where l.run_id = r.id and l.status = 102
            ),
            (select p.options from _step_options as p where p.run_id = r.id and p.step = new.step)
        )
    from runs as r
    where r.alias = new.run;
    update step_runs
    set state = 'running', started_at = now(), child_run_id = (select max(id) from runs)
    where step = new.step and run_id = (select id from runs where alias = new.run);
end;

create trigger _end_step__guard
instead of insert on _end_step
when not exists (
    select 1
    from step_runs as s
    join runs as r on r.id = s.run_id
    where r.alias = new.run and s.step = new.step
)
begin
    select fail(404, 'run ' || quote(new.run) || ': has no step ' || quote(new.step) || '; see the view step_list');
end;

create trigger _end_step__end
instead of insert on _end_step
when exists (
    select 1
    from runs as r
    join step_runs as s on s.run_id = r.id and s.step = new.step and s.state = 'running'
    join _step_results as x on x.run_id = s.run_id and x.step = s.step
    join workflow_runs as w on w.run_id = r.id
    -- an abort may have ended it in the meantime
    join effects as f on f.id = w.effect_id and f.state in ('pending', 'started')
    where r.alias = new.run and coalesce(x.status, 0) not in (100, 102)
)
begin
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    from _effect_leases as l
    join workflow_runs as w on w.effect_id = l.effect_id
    join runs as r on r.id = w.run_id
    where r.alias = new.run and l.token is not new.lease;
    update step_runs
    set state = x.state, reason = x.reason, ended_at = now()
    from (
        select
            o.run_id,
            o.step,
            case when o.status in (200, 204) then 'completed' else 'failed' end as state,
            case
                when o.status is null then 'its run was purged'
                when o.status = 403 then 'a command was rejected'
                when o.status not in (200, 204)
                    then coalesce(o.reason, (select name from statuses where code = o.status))
                -- a step that ended well may have a result that was not accepted
                else o.reason
            end as reason
        from _step_results as o
    ) as x
    where step_runs.run_id = (select id from runs where alias = new.run)
        and step_runs.step = new.step
        and x.run_id = step_runs.run_id
        and x.step = step_runs.step;
    insert into _stop_steps (run_id, step)
    select s.run_id, s.step
    from step_runs as s
    join runs as r on r.id = s.run_id
    where r.alias = new.run and s.step = new.step and s.state = 'failed';
end;

-- What is under way is aborted with all that it has delegated. What does not need the step that failed is skipped, too.
create trigger _stop_steps__stop
instead of insert on _stop_steps
begin
    insert into _abort_run (run_id, reason)
    select r.id, 'step ' || new.step || ' failed'
    from step_runs as s
    join children as c on c.run_id = s.child_run_id or instr(c.lineage, '/' || s.child_run_id || '/')
    join runs as r on r.id = c.run_id and r.status in (100, 102, 202)
    where s.run_id = new.run_id and s.state = 'running' and c.root_run_id = new.run_id;
    update step_runs
    set state = 'cancelled', reason = 'step ' || new.step || ' failed', ended_at = now()
    where run_id = new.run_id and state = 'running';
    update step_runs
    set state = 'skipped',
        ended_at = now(),
        reason = case
            when exists (
                with recursive needed (step) as (
                    select step_runs.step
                    union
                    select n.needs
                    from needed as o
                    join workflow_runs as w on w.run_id = new.run_id
                    cross join workflow_needs as n on n.workflow_id = w.workflow_id and n.step = o.step
                )
                select 1
                from needed
                where step = new.step
            ) then 'it needs step ' || new.step || ', which failed'
            else 'step ' || new.step || ' failed'
        end
    where run_id = new.run_id and state = 'waiting';
end;

-- A step claims what it writes, unless another one has.
create trigger _claim_files__claim_step
instead of insert on _claim_files
begin
    insert or ignore into write_claims (turn_id, path, run_id)
    select turn_id, path, child_run_id
    from _step_writes as w
    where effect_id = new.effect_id
        and not exists (select 1 from _step_rivals as o where o.effect_id = w.effect_id and o.path = w.path);
end;
