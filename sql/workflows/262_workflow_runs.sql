-- Workflow runs: how far each step of a workflow is.
-- A run of a workflow is a run of the role 'workflow'; each step that began is a child run of it. What it was begun with
-- stands in rows, so that a process that takes over sees what has ended and what is ready. A step begins when all that it
-- needs have ended well; when one fails, those under way are cancelled and the others are skipped.
-- spec: @workflow_runs @_ready_steps

-- tables

-- The runs of workflows.
create table if not exists workflow_runs (
    run_id integer primary key constraint workflow_runs_run references runs (id) on delete cascade,
    workflow_id integer not null constraint workflow_runs_workflow references workflows (id),
    -- the effect of its driver: it lasts as long as the workflow
    effect_id integer,
    -- the names of its models as they were found when it began, by how its workflow calls them; a JSON object
    models text not null default '{}' constraint workflow_runs_models_json check (json_valid(models))
) strict;

create index if not exists idx_workflow_runs_workflow_id on workflow_runs (workflow_id);

-- The values of the variables of a run.
create table if not exists workflow_values (
    run_id integer not null constraint workflow_values_run references workflow_runs (run_id) on delete cascade,
    name text not null,
    value text not null,
    -- given: by whoever started it; default: that of the workflow; undeclared: given, and the workflow has no such variable
    origin text not null constraint workflow_values_origin check (origin in ('given', 'default', 'undeclared')),
    constraint workflow_values_once primary key (run_id, name)
) strict, without rowid;

-- The states of a step in a run of its workflow.
create table if not exists step_states (
    name text primary key,
    -- 1: it does not change any more
    ended integer not null constraint step_states_ended_flag check (ended in (0, 1)),
    meaning text not null
) strict, without rowid;

-- The steps of each run of a workflow.
create table if not exists step_runs (
    run_id integer not null constraint step_runs_run references workflow_runs (run_id) on delete cascade,
    step text not null,
    layer integer not null,
    position integer not null,
    state text not null default 'waiting' constraint step_runs_state references step_states (name),
    -- why it is failed, cancelled or skipped
    reason text,
    -- the run that does it, which may have been purged since; null: it has not begun
    child_run_id integer,
    started_at integer,
    ended_at integer,
    constraint step_runs_once primary key (run_id, step)
) strict, without rowid;

create index if not exists idx_step_runs_state on step_runs (run_id, state, layer, position);

-- seeds

insert into step_states (name, ended, meaning) values
    ('waiting', 0, 'the step has not begun'),
    ('running', 0, 'the run of the step works, or waits for a person'),
    ('completed', 1, 'the run of the step succeeded'),
    ('failed', 1, 'the run of the step did not succeed'),
    ('cancelled', 1, 'the step was stopped, because another step failed or the workflow was aborted'),
    ('skipped', 1, 'the step never began, because another step failed or the workflow was aborted')
on conflict (name) do update set ended = excluded.ended, meaning = excluded.meaning;

-- views

-- A run of a workflow asks no model: its steps and the runs below them do its work.
create view _working_runs__workflows as
select w.run_id, c.run_id as working_run_id
from workflow_runs as w
join children as c on c.root_run_id = w.run_id;

create view _working_loops__workflows as
select l.id as loop_id, c.loop_id as working_loop_id
from loops as l
join workflow_runs as w on w.run_id = l.run_id
join children as c on c.root_run_id = w.run_id
where l.sequence = 1;

-- The effect by which a run of a workflow works.
create view _working_effects__workflows as
select run_id, effect_id
from workflow_runs;

-- The state of each step: in an abort those under way are cancelled with it, and the others never begin.
create view _step_states as
select
    s.run_id, s.step, s.layer, s.position, s.child_run_id, s.started_at, s.ended_at, w.workflow_id,
    case
        when f.state <> 'cancelled' then s.state
        when s.state = 'waiting' then 'skipped'
        when s.state = 'running' then 'cancelled'
        else s.state
    end as state,
    case when f.state = 'cancelled' and s.state in ('waiting', 'running') then 'the workflow was aborted' else s.reason end
        as reason
from workflow_runs as w
join effects as f on f.id = w.effect_id
cross join step_runs as s on s.run_id = w.run_id;

create view _ready_steps as
-- The steps that can begin now, in their order: they wait, all that they need are completed, and their workflow goes on.
select
    r.alias as run,
    s.step,
    s.layer,
    s.position,
    w.workflow_id,
    s.run_id
from workflow_runs as w
join runs as r on r.id = w.run_id
cross join step_runs as s on s.run_id = w.run_id and s.state = 'waiting'
where not exists (
        select 1
        from workflow_needs as n
        cross join step_runs as o on o.run_id = s.run_id and o.step = n.needs
        where n.workflow_id = w.workflow_id and n.step = s.step and o.state <> 'completed'
    )
    -- an abort may have ended it in the meantime
    and exists (select 1 from effects as f where f.id = w.effect_id and f.state in ('pending', 'started'))
order by s.run_id, s.layer, s.position;

-- How the work of each step has ended that began: the status and the answer of its loop; null where its run was purged.
create view _step_results as
select
    s.run_id,
    s.step,
    r.alias as child,
    l.status,
    l.answer,
    l.reason
from step_runs as s
left join children as c on c.run_id = s.child_run_id and c.parent_run_id = s.run_id
left join runs as r on r.id = c.run_id
left join loops as l on l.id = c.loop_id
where s.child_run_id is not null;

create view step_list as
-- The steps of each run of a workflow in their order: state, why, which run did it, what it answered, and what that cost in
-- US dollars (null: unknown): select * from step_list where run = 'review'.
select
    r.alias as run,
    s.step,
    d.title,
    s.layer,
    s.state,
    s.reason,
    x.child,
    case x.status when 102 then (select t.status from _run_statuses as t where t.run_id = s.child_run_id) else x.status end
        as status,
    x.answer,
    case when x.child is not null then (select c.cost from _run_costs as c where c.run_id = s.child_run_id) end
        as cost,
    case when x.child is not null then (select count(*) from turns as t where t.run_id = s.child_run_id) end as turns,
    (s.ended_at - s.started_at) / 1000.0 as seconds,
    (
        select group_concat(n.needs, ', ')
        from workflow_needs as n
        where n.workflow_id = s.workflow_id and n.step = s.step
    ) as needs,
    strftime('%Y-%m-%d %H:%M:%S', s.started_at / 1000.0, 'unixepoch') as started_at,
    strftime('%Y-%m-%d %H:%M:%S', s.ended_at / 1000.0, 'unixepoch') as ended_at
from _step_states as s
join runs as r on r.id = s.run_id
join workflow_steps as d on d.workflow_id = s.workflow_id and d.step = s.step
left join _step_results as x on x.run_id = s.run_id and x.step = s.step
order by s.run_id, s.layer, s.position;

create view workflow_run_list as
-- The runs of workflows, with their status and how many of their steps are in which state: select * from workflow_run_list.
select
    r.alias as run,
    w.name as workflow,
    (select t.status from _run_statuses as t where t.run_id = r.id) as status,
    count(*) as steps,
    sum(s.state = 'completed') as completed,
    sum(s.state = 'running') as running,
    sum(s.state = 'waiting') as waiting,
    sum(s.state in ('failed', 'cancelled', 'skipped')) as not_done,
    strftime('%Y-%m-%d %H:%M:%S', r.created_at / 1000.0, 'unixepoch') as created_at,
    strftime('%Y-%m-%d %H:%M:%S', r.updated_at / 1000.0, 'unixepoch') as updated_at
from workflow_runs as m
join runs as r on r.id = m.run_id
join workflows as w on w.id = m.workflow_id
left join _step_states as s on s.run_id = m.run_id
group by m.run_id;

-- Whether each run of a workflow counts as accepted: where all of its steps do that were verified. One without such a step
-- has no row.
create view _run_acceptances__workflows as
select w.run_id, min(a.accepted) as accepted
from workflow_runs as w
join children as c on c.parent_run_id = w.run_id
join _loop_acceptances as a on a.loop_id = c.loop_id
group by w.run_id;

-- How each run of a workflow has ended of which no step waits or is under way: with the status and the answer of its loop. A
-- step that failed gives the reason, else the last step gives the answer, and each step that has a reason gives that.
create view _workflow_ends as
select
    w.run_id,
    w.effect_id,
    case when f.step is null then 200 else 500 end as status,
    case when f.step is null then x.answer end as answer,
    case
        when f.step is not null then 'step ' || f.step || ' failed: ' || coalesce(f.reason, '')
        else (
            select group_concat('step ' || o.step || ': ' || o.reason, '; ')
            from (select step, reason from step_runs where run_id = w.run_id order by layer, position) as o
        )
    end as reason
from workflow_runs as w
left join step_runs as f on f.run_id = w.run_id and f.state = 'failed'
left join _step_results as x
    on x.run_id = w.run_id
    and x.step = (
        select o.step
        from step_runs as o
        where o.run_id = w.run_id
        order by o.layer desc, o.position desc
        limit 1
    )
where not exists (select 1 from step_runs as o where o.run_id = w.run_id and o.state in ('waiting', 'running'))
group by w.run_id;

-- The steps, in the columns of run_story.
create view _run_story__workflows as
select
    s.run, 1 as loop, null as turn, 0 as place, row_number() over (partition by s.run order by s.layer, s.step) as step,
    'step' as kind, 'step' as action, s.step as target, coalesce(s.status, 100) as status, s.state as outcome,
    null as exit_code, s.seconds, null as changes, null as outputs, null as decided_by, substr(s.answer, 1, 1000) as body,
    s.state || coalesce(', run ' || s.child, '') || coalesce(': ' || s.reason, '') as message, s.started_at as created_at
from step_list as s
where s.state <> 'waiting';

-- What a file would do by its workflows, in the columns of _acts.
create view _acts__workflows as
select
    4 as rank,
    'step' as kind,
    r.alias as run,
    'would do the step ' || quote(s.step) || coalesce(' with ' || nullif(quote(coalesce(d.model, o.model)), 'NULL'), '')
    || coalesce(
        ', and check the result with the command ' || nullif(quote(substr(d.accept_command, 1, 200)), 'NULL'), ''
    ) as what
from workflow_runs as w
join effects as f on f.id = w.effect_id and f.state in ('pending', 'started')
join runs as r on r.id = w.run_id
join workflows as o on o.id = w.workflow_id
cross join step_runs as s on s.run_id = w.run_id and s.state = 'waiting'
join workflow_steps as d on d.workflow_id = w.workflow_id and d.step = s.step
union all
select 6, 'model', null, 'has work done by ' || quote(substr(w.model, 1, 200)) || ' in the workflow ' || quote(f.name)
from (
    select id as workflow_id, model from workflows
    union
    select workflow_id, model from workflow_steps
    union
    select workflow_id, accept_model from workflow_steps
    union
    select r.workflow_id, j.value from workflow_runs as r join json_each(r.models) as j
) as w
join workflows as f on f.id = w.workflow_id
where w.model glob 'scripted:*' or w.model glob 'replay:*' or w.model glob 'gguf:*'
    or lower(w.model) glob 'http://*' or lower(w.model) glob 'https://*';

-- triggers

-- A step goes from waiting to running or skipped, and from running to an end.
create trigger step_runs__guard_transition
before update of state on step_runs
when new.state <> old.state
    and not (
        old.state = 'waiting' and new.state in ('running', 'skipped')
        or old.state = 'running' and new.state in ('completed', 'failed', 'cancelled')
    )
begin
    select fail(409, 'step ' || old.step || ': its state cannot change from ' || old.state || ' to ' || new.state);
end;

-- Write an event for each change of a step's state.
create trigger step_runs__record_state
after update of state on step_runs
when new.state <> old.state
begin
    insert into events (at, run_id, kind, detail)
    values (
        now(), new.run_id, 'workflow.step',
        json_object('step', new.step, 'from', old.state, 'to', new.state, 'reason', new.reason)
    );
end;
