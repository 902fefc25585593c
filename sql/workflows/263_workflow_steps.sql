-- Steps of workflows: what the run of each is given, how many may begin, and which workflows wait.
-- A step reads its instruction, the variables and the results of the steps that it needs; nothing else is handed on.
-- spec: @workflow_steps @_ready_steps

-- views

-- What the steps behind a step are given of its answer: as much as the setting workflow_result_chars allows. Where it ended
-- with a reason, such as that its result was not accepted, that stands in front.
create view _handed_results as
select
    x.run_id,
    x.step,
    coalesce(
        '[' || case when coalesce(x.answer, '') = '' then 'no result: ' else '' end || s.reason || ']'
        || case when coalesce(x.answer, '') = '' then '' else char(10) end, ''
    )
    || case
        when length(x.answer) > c.chars
            then substr(x.answer, 1, c.chars) || char(10) || '[cut here: these are ' || c.chars || ' of its '
                || length(x.answer) || ' characters]'
        else coalesce(x.answer, '')
    end as text
from _step_results as x
join step_runs as s on s.run_id = x.run_id and s.step = x.step
join (select cast(value as integer) as chars from settings where name = 'workflow_result_chars') as c;

-- What the prompt of each step of a run is made of: its instruction, the variables, and the results of those that it needs,
-- as JSON arrays. The criteria are told behind it, as behind any prompt.
create view _step_prompts as
select
    s.run_id,
    s.step,
    m.name as workflow,
    d.instruction,
    (
        select json_group_array(json_object('name', v.name, 'value', v.value, 'tag', fence_tag('variable', v.value)))
        from workflow_values as v
        where v.run_id = s.run_id
    ) as variables,
    (
        select json_group_array(json_object('step', o.step, 'answer', o.text, 'tag', fence_tag('result', o.text)))
        from workflow_needs as n
        cross join _handed_results as o on o.run_id = s.run_id and o.step = n.needs
        where n.workflow_id = w.workflow_id and n.step = s.step
    ) as results
from workflow_runs as w
cross join step_runs as s on s.run_id = w.run_id
join workflow_steps as d on d.workflow_id = w.workflow_id and d.step = s.step
join workflows as m on m.id = w.workflow_id;


-- The options that the run of each step gets: JSON. Those that this build has no row for are left out.
create view _step_options as
select
    w.run_id,
    d.step,
    (
        select json_group_object(o.key, o.value)
        from json_each(json_object(
            'model', coalesce((select j.value from json_each(w.models) as j where j.key = d.model), d.model),
            'mode', (select l.mode from loops as l where l.run_id = w.run_id and l.status = 102),
            'tools', case
                when d.tools is not null then coalesce((select group_concat(t.value, ',') from json_each(d.tools) as t), '')
            end,
            'accept', d.accept,
            'accept_command', d.accept_command,
            'accept_attempts', d.accept_attempts,
            'accept_model', coalesce(
                (select j.value from json_each(w.models) as j where j.key = d.accept_model), d.accept_model
            ),
            'output', d.output
        )) as o
        where o.value is not null and (o.key = 'tools' or o.key in (select name from run_options))
    ) as options
from workflow_runs as w
join (
    select
        s.workflow_id, s.step, coalesce(s.model, f.model) as model, s.tools, s.accept, s.accept_command,
        s.accept_attempts, s.accept_model, s.output
    from workflow_steps as s
    join workflows as f on f.id = s.workflow_id
) as d on d.workflow_id = w.workflow_id;

-- The steps under way, each with its run. A run that was purged is none, nor is one that got its id since.
create view _running_steps as
select s.run_id, r.id as child_run_id, r.status
from step_runs as s
join children as c on c.run_id = s.child_run_id and c.parent_run_id = s.run_id
join runs as r on r.id = c.run_id
where s.state = 'running';

-- How many more steps of each run may begin now: what the setting max_parallel_children leaves. A step that waits for a
-- person holds up no other.
create view _free_steps as
select
    w.run_id,
    (select cast(value as integer) from settings where name = 'max_parallel_children') - (
        select count(*) from _running_steps as s where s.run_id = w.run_id and s.status <> 202
    ) as free
from workflow_runs as w;

-- Runs of workflows whose steps under way all wait for a person, while no other can begin. What a step has delegated may be
-- what waits.
create view _resting_runs__workflows as
select w.run_id
from workflow_runs as w
join effects as f on f.id = w.effect_id and f.state = 'started'
where exists (select 1 from step_runs as s where s.run_id = w.run_id and s.state = 'running')
    and not exists (select 1 from _ready_steps as s where s.run_id = w.run_id)
    and not exists (
        select 1
        from _running_steps as s
        where s.run_id = w.run_id
            and (
                s.status <> 202
                or not exists (
                    select 1
                    from proposals as p
                    where p.state = 'proposed'
                        and (
                            p.run_id = s.child_run_id
                            or p.run_id in (
                                select d.run_id
                                from children as d
                                where d.root_run_id = w.run_id and instr(d.lineage, '/' || s.child_run_id || '/')
                            )
                        )
                )
            )
    );
