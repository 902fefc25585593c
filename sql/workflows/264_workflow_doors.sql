-- Doors of workflows: start, continue and end a workflow run.
-- The driver of the run performs one effect as long as the workflow lasts. When no step is left, the loop ends and
-- its effect with it.
-- spec: @workflow_runs

-- views

create view verb_start_workflow as
-- Start a run of a workflow: insert into verb_start_workflow (run, workflow_id, variables, attributes, models). The
-- name is a new one; variables, attributes (options of the run, as of set run://…) and models (full names by how the
-- workflow calls them) are JSON objects. Its steps wait until the run is driven.
select r.alias as run, w.workflow_id, null as variables, null as attributes, w.models
from workflow_runs as w
join runs as r on r.id = w.run_id
where false;

-- Give a run of a workflow its values and steps: insert into _fill_workflow (run_id, workflow_id, variables, models).
create view _fill_workflow as
select run_id, workflow_id, null as variables, models
from workflow_runs
where false;

create view _take_up_workflow as
-- Take up a run of a workflow that waited for a person: insert into _take_up_workflow (run, lease).
select alias as run, null as lease
from runs
where false;

create view _end_workflow as
-- End a run of a workflow of which no step waits or is under way: insert into _end_workflow (run, lease). Nothing happens
-- before, but that the run waits where its steps do.
select alias as run, null as lease
from runs
where false;

-- triggers

-- All variables that are missing are told at once.
create trigger verb_start_workflow__start
instead of insert on verb_start_workflow
begin
    select fail(404, 'workflow ' || coalesce(new.workflow_id, 'null') || ': not found; see the view workflow_list')
    where not exists (select 1 from workflows where id = new.workflow_id);
    select fail(409, 'workflow ' || name || ': has no steps; add a step')
    from workflows as w
    where w.id = new.workflow_id
        and not exists (select 1 from workflow_steps as s where s.workflow_id = w.id);
    select fail(409, 'run ' || new.run || ': already exists; choose a new name for the workflow run')
    where exists (select 1 from runs where alias = new.run);
    select fail(400, 'workflow: variables must be a JSON object of texts, not ' || quote(substr(new.variables, 1, 80)))
    where new.variables is not null
        and case when json_valid(new.variables) then json_type(new.variables) else '' end <> 'object';
    select fail(
        400,
        'variable ' || quote(substr(key, 1, 80)) || case
            when type in ('array', 'object') or instr(value, char(0)) then ': must be a text, not '
                || quote(substr(value, 1, 80))
            else ': use 1 to 64 letters, digits, ''_'' and ''-''; the first must not be a digit'
        end
    )
    from json_each(coalesce(new.variables, '{}'))
    where type in ('array', 'object')
        or instr(value, char(0))
        or instr(key, char(0))
        or length(key) not between 1 and 64
        or key glob '*[^a-zA-Z0-9_-]*'
        or key glob '[0-9-]*';
    select fail(
        400,
        'workflow ' || (select name from workflows where id = new.workflow_id) || ': needs '
        || group_concat(name || coalesce(' (' || nullif(description, '') || ')', ''), ', ')
        || '; give each variable a value'
    )
    from (
        select name, description
        from workflow_variables
        where workflow_id = new.workflow_id
            and required
            and json_type(coalesce(new.variables, '{}'), '$."' || name || '"')
            in ('text', 'integer', 'real', 'true', 'false') is not true
        order by position
    )
    having count(*) > 0;
    insert into _ensure_run (alias, attributes, role)
    values (new.run, coalesce(new.attributes, '{}'), 'workflow');
    insert into _fill_workflow (run_id, workflow_id, variables, models)
    select id, new.workflow_id, coalesce(new.variables, '{}'), coalesce(new.models, '{}')
    from runs
    where alias = new.run;
    insert into loops (run_id, sequence, mode, model, prompt, config, created_at)
    select
        r.id, r.next_loop, coalesce(new.attributes ->> '$.mode', 'act'), r.model,
        'Workflow ' || w.name || ': ' || w.description,
        (
            select coalesce(json_group_object(f.key, f.value), '{}')
            from json_each(coalesce(new.attributes, '{}')) as f
            where f.key in (select name from run_options where scope = 'loop')
        ),
        now()
    from runs as r
    join workflows as w on w.id = new.workflow_id
    where r.alias = new.run;
    update runs
    set next_loop = next_loop + 1
    where alias = new.run;
    insert into _move_loop (loop_id, status)
    select l.id, 102
    from loops as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run;
end;

-- The run has a command, whose effect its driver performs as long as the workflow lasts.
create trigger _fill_workflow__fill
instead of insert on _fill_workflow
begin
    insert into commands (run_id, writer, action, path, state, created_at)
    select new.run_id, 'client', 'workflow', name, 'accepted', now()
    from workflows
    where id = new.workflow_id;
    insert into effects (run_id, command_id, kind, detail)
    select c.run_id, c.id, 'workflow', json_object('workflow', c.path)
    from commands as c
    where c.id = (select max(id) from commands);
    insert into workflow_runs (run_id, workflow_id, effect_id, models)
    select f.run_id, new.workflow_id, f.id, new.models
    from effects as f
    where f.id = (select max(id) from effects);
    insert into workflow_values (run_id, name, value, origin)
    select
        new.run_id, g.key,
        case g.type when 'true' then 'true' when 'false' then 'false' else cast(g.value as text) end,
        case when v.name is null then 'undeclared' else 'given' end
    from json_each(new.variables) as g
    left join workflow_variables as v on v.workflow_id = new.workflow_id and v.name = g.key
    where g.type <> 'null'
    union all
    select new.run_id, v.name, v.default_value, 'default'
    from workflow_variables as v
    where v.workflow_id = new.workflow_id
        and v.default_value is not null
        and not exists (select 1 from json_each(new.variables) as g where g.key = v.name and g.type <> 'null');
    insert into step_runs (run_id, step, layer, position)
    select new.run_id, step, layer, position
    from workflow_steps
    where workflow_id = new.workflow_id;
    insert into events (at, run_id, kind, detail)
    select now(), new.run_id, 'workflow.started', json_object('workflow', name)
    from workflows
    where id = new.workflow_id;
end;

create trigger _take_up_workflow__take_up
instead of insert on _take_up_workflow
begin
    select fail(404, 'run ' || quote(new.run) || ': not a workflow run; see the view workflow_run_list')
    where not exists (
        select 1 from workflow_runs as w join runs as r on r.id = w.run_id where r.alias = new.run
    );
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    from _effect_leases as l
    join workflow_runs as w on w.effect_id = l.effect_id
    join runs as r on r.id = w.run_id
    where r.alias = new.run and l.token is not new.lease;
    update runs
    set status = 102, updated_at = now()
    where alias = new.run and status = 202;
end;

create trigger _end_workflow__guard
instead of insert on _end_workflow
when not exists (
    select 1
    from workflow_runs as w
    join runs as r on r.id = w.run_id
    where r.alias = new.run
)
begin
    select fail(404, 'run ' || quote(new.run) || ': not a workflow run; see the view workflow_run_list');
end;

-- Where steps wait for a person, the run waits with them.
create trigger _end_workflow__rest
instead of insert on _end_workflow
when exists (
    select 1
    from _resting_runs as w
    join runs as r on r.id = w.run_id
    where r.alias = new.run
)
begin
    update runs
    set status = 202, updated_at = now()
    where alias = new.run and status = 102;
end;

create trigger _end_workflow__end
instead of insert on _end_workflow
when exists (
    select 1
    from _workflow_ends as e
    join runs as r on r.id = e.run_id
    where r.alias = new.run
)
begin
    update loops
    set answer = (select e.answer from _workflow_ends as e where e.run_id = loops.run_id)
    where status = 102 and run_id = (select id from runs where alias = new.run);
    insert into _move_loop (loop_id, status, reason)
    select l.id, e.status, e.reason
    from runs as r
    join _workflow_ends as e on e.run_id = r.id
    join loops as l on l.run_id = r.id and l.status = 102
    where r.alias = new.run;
    insert into events (at, run_id, kind, detail)
    select now(), r.id, 'workflow.ended', json_object('status', e.status)
    from runs as r
    join _workflow_ends as e on e.run_id = r.id
    where r.alias = new.run;
    insert into _finish_effect (effect_id, state, outcome, message, lease)
    select
        e.effect_id, case e.status when 200 then 'resolved' else 'failed' end, case e.status when 500 then 'error' end,
        case e.status when 500 then e.reason else 'all steps are completed' end, new.lease
    from runs as r
    join _workflow_ends as e on e.run_id = r.id
    where r.alias = new.run;
end;
