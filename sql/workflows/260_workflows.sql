-- Workflows: work in steps, where a step can need the results of other steps.
-- A workflow is what a file says, or rows that an app writes: variables, and steps with instructions. It never
-- changes: a text that was changed is another workflow, so that a run of it goes on with the steps that it began
-- with. A step stands in a layer above all that it needs, which makes a cycle impossible, and an order that needs no
-- search.
-- needs: delegation
-- spec: @workflows @workflow_texts

-- tables

-- The workflows of this file; of those with one name in one project the latest is used.
create table if not exists workflows (
    id integer primary key,
    -- null: of all projects
    project_id integer constraint workflows_project references projects (id),
    name text not null constraint workflows_name_form
        check (length(name) between 1 and 64 and name not glob '*[^a-z0-9_.-]*'),
    description text not null,
    -- that of its author
    version integer,
    -- the alias of the model of those steps that name none
    model text,
    -- jsonc or yaml; rows: it was written as rows
    syntax text not null default 'rows' constraint workflows_syntax check (syntax in ('jsonc', 'yaml', 'rows')),
    -- as it was read; null: it was written as rows
    text text,
    -- the file that it was read from
    source text,
    created_at integer not null default 0
) strict;

create index if not exists idx_workflows_name on workflows (name);

-- What a workflow is given when it runs.
create table if not exists workflow_variables (
    workflow_id integer not null constraint workflow_variables_workflow references workflows (id),
    name text not null constraint workflow_variables_name_form
        check (length(name) between 1 and 64 and name not glob '*[^a-zA-Z0-9_-]*' and name not glob '[0-9-]*'),
    position integer not null,
    description text not null default '',
    -- 1: it must be given, even where it has a default
    required integer not null default 0 constraint workflow_variables_required_flag check (required in (0, 1)),
    -- what it is where it is not given; null: then it is left out
    default_value text,
    constraint workflow_variables_once primary key (workflow_id, name)
) strict, without rowid;

-- The steps of a workflow. The order of layer and position is that in which they are begun, and the last one's result is
-- that of the workflow.
create table if not exists workflow_steps (
    workflow_id integer not null constraint workflow_steps_workflow references workflows (id),
    step text not null constraint workflow_steps_step_form
        check (length(step) between 1 and 64 and step not glob '*[^a-zA-Z0-9_-]*'),
    -- 1: it needs none; else more than the layer of each step that it needs
    layer integer not null constraint workflow_steps_layer check (layer >= 1),
    -- its place in the file
    position integer not null,
    -- its line in the file
    line integer,
    title text,
    instruction text not null constraint workflow_steps_instruction check (trim(instruction) <> ''),
    -- null: that of the workflow, else that of the run
    model text,
    -- the names of its tools, a JSON array; null: those that the run has
    tools text constraint workflow_steps_tools_json check (json_valid(tools)),
    -- what its result must meet: criteria, a command line, how often it may try, and the model that judges
    accept text,
    accept_command text,
    accept_attempts integer constraint workflow_steps_accept_attempts check (accept_attempts >= 1),
    accept_model text,
    -- the form of its answer, a JSON Schema
    output text constraint workflow_steps_output_json check (json_valid(output)),
    constraint workflow_steps_once primary key (workflow_id, step)
) strict, without rowid;

-- Which step needs the result of which.
create table if not exists workflow_needs (
    workflow_id integer not null,
    step text not null,
    needs text not null,
    constraint workflow_needs_once primary key (workflow_id, step, needs),
    constraint workflow_needs_step foreign key (workflow_id, step) references workflow_steps (workflow_id, step),
    constraint workflow_needs_needed foreign key (workflow_id, needs) references workflow_steps (workflow_id, step)
) strict, without rowid;

create index if not exists idx_workflow_needs_needed on workflow_needs (workflow_id, needs);

-- views

create view workflow_list as
-- The workflows of this file, those that were replaced by a later one of their name excepted; project is null for those of
-- all projects.
select
    w.name,
    p.name as project,
    w.description,
    w.version,
    (select count(*) from workflow_steps as s where s.workflow_id = w.id) as steps,
    (select count(*) from workflow_runs as r where r.workflow_id = w.id) as runs,
    w.syntax,
    w.source,
    strftime('%Y-%m-%d %H:%M:%S', nullif(w.created_at, 0) / 1000.0, 'unixepoch') as created_at,
    w.id as workflow_id
from workflows as w
left join projects as p on p.id = w.project_id
where w.id = (select max(o.id) from workflows as o where o.name = w.name and o.project_id is w.project_id);

-- The steps that have the model of the run: neither they nor their workflow name one.
create view _steps_of_any_model as
select s.workflow_id
from workflow_steps as s
join workflows as w on w.id = s.workflow_id
where coalesce(s.model, w.model) is null;

create view verb_write_workflow as
-- Add a workflow from its text: insert into verb_write_workflow (project_id, syntax, text, source). All that is wrong
-- with it is a 400. A text that is the latest of its name already adds nothing.
select project_id, syntax, text, source
from workflows
where false;

-- Add what a text says: insert into _add_workflow (project_id, syntax, text, source, read), 'read' as of workflow_read.
create view _add_workflow as
select project_id, syntax, text, source, null as read
from workflows
where false;

-- triggers

create trigger verb_write_workflow__write
instead of insert on verb_write_workflow
begin
    select fail(404, 'project ' || new.project_id || ': not found; see the table projects')
    where new.project_id is not null and new.project_id not in (select id from projects);
    select fail(400, 'workflow: syntax must be jsonc or yaml, not ' || quote(new.syntax))
    where coalesce(new.syntax, '') not in ('jsonc', 'yaml');
    select fail(400, 'workflow: has no text')
    where new.text is null;
    insert into _add_workflow (project_id, syntax, text, source, read)
    select new.project_id, new.syntax, new.text, new.source, read
    from (select workflow_read(new.text, new.syntax, (select json_group_array(name) from tools)) as read)
    where not exists (
        select 1
        from workflow_list as l
        join workflows as w on w.id = l.workflow_id
        where l.name = read ->> '$.workflow.name'
            and w.project_id is new.project_id
            and w.syntax = new.syntax
            and w.text = new.text
    );
end;

create trigger _add_workflow__add
instead of insert on _add_workflow
begin
    select fail(400, case when new.source is null then 'workflow' else quote(new.source) end || ': ' || (
        select group_concat('line ' || (value ->> '$.line') || ': ' || (value ->> '$.message'), '; ')
        from json_each(new.read, '$.problems')
    ))
    where json_array_length(new.read, '$.problems') > 0;
    insert into workflows (project_id, name, description, version, model, syntax, text, source, created_at)
    select
        new.project_id, value ->> '$.name', value ->> '$.description', value ->> '$.version', value ->> '$.model',
        new.syntax, new.text, new.source, now()
    from (select new.read -> '$.workflow' as value);
    insert into workflow_variables (workflow_id, name, position, description, required, default_value)
    select
        w.id, v.value ->> '$.name', v.key, v.value ->> '$.description', v.value ->> '$.required', v.value ->> '$.default'
    from (select max(id) as id from workflows) as w
    cross join json_each(new.read, '$.workflow.variables') as v;
    insert into workflow_steps (
        workflow_id, step, layer, position, line, title, instruction, model, tools, accept, accept_command, accept_attempts,
        accept_model, output
    )
    select
        w.id, s.value ->> '$.id', s.value ->> '$.layer', s.value ->> '$.position', s.value ->> '$.line',
        s.value ->> '$.title', s.value ->> '$.instruction', s.value ->> '$.model', nullif(s.value -> '$.tools', 'null'),
        s.value ->> '$.accept', s.value ->> '$.accept_command', s.value ->> '$.accept_attempts',
        s.value ->> '$.accept_model', s.value ->> '$.output'
    from (select max(id) as id from workflows) as w
    cross join json_each(new.read, '$.workflow.steps') as s;
    insert into workflow_needs (workflow_id, step, needs)
    select w.id, s.value ->> '$.id', n.value
    from (select max(id) as id from workflows) as w
    cross join json_each(new.read, '$.workflow.steps') as s
    cross join json_each(s.value, '$.needs') as n;
end;

-- A step is in a layer above that of each step that it needs. So no steps need each other in a circle.
create trigger workflow_needs__guard_layers
before insert on workflow_needs
when not exists (
    select 1
    from workflow_steps as s
    join workflow_steps as n on n.workflow_id = s.workflow_id and n.step = new.needs and n.layer < s.layer
    where s.workflow_id = new.workflow_id and s.step = new.step
)
begin
    select fail(
        409,
        'step ' || coalesce(new.step, 'NULL') || ' of workflow ' || coalesce(new.workflow_id, 'NULL')
        || ': needs step ' || coalesce(new.needs, 'NULL') || ', so its layer must be higher'
    );
end;

-- Tools are named in a list of texts, and exist.
create trigger workflow_steps__guard_tools
before insert on workflow_steps
when new.tools is not null
begin
    select fail(400, 'step ' || new.step || ': tools must be a list of names, not ' || quote(new.tools))
    where json_type(new.tools) <> 'array'
        or exists (select 1 from json_each(new.tools) as t where t.type <> 'text');
    select fail(400, 'step ' || new.step || ': there is no tool ' || quote(t.value))
    from json_each(new.tools) as t
    where t.value not in (select name from tools);
end;
