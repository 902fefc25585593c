-- Version 4: many hands: runs that do a part of another run's work, criteria of acceptance, plans and other relations,
-- workflows, and behavioural threads.
-- spec: @rebuild @runs_table

alter table runs add column role text not null default 'main'
    constraint runs_role check (role in ('main', 'subtask', 'execute', 'judge', 'workflow', 'step'));

alter table runs add column depth integer not null default 0 constraint runs_depth check (depth >= 0);

-- delegation

create table children (
    run_id integer primary key constraint children_run references runs (id) on delete cascade,
    parent_run_id integer not null,
    -- the run at the top of the tree
    root_run_id integer not null,
    -- the loop of that run which all this is for; null: it had none
    root_loop_id integer,
    -- the runs above it from the top down, by id: '/1/', below its child 5 '/1/5/'
    lineage text not null,
    -- the loop of the parent that was active, or its latest one; null: it had none
    parent_loop_id integer,
    -- its loop that does the work
    loop_id integer not null,
    -- the parent's effect that waits for it; null: none does
    effect_id integer
) strict;

create index idx_children_root_run_id on children (root_run_id);

create index idx_children_parent_run_id on children (parent_run_id);

create index idx_children_effect_id on children (effect_id);

create table model_tiers (
    -- a GLOB
    pattern text not null,
    -- how hard it thinks, as its name ends: -high, :high; '': any
    effort text not null default '',
    tier integer not null constraint model_tiers_tier check (tier between 1 and 9),
    primary key (pattern, effort)
) strict, without rowid;

create table executor_models (
    -- a GLOB over the lower case of its name; the longest one that fits counts
    pattern text primary key,
    -- an alias, or provider/name
    model text not null constraint executor_models_model_not_empty check (trim(model) <> '')
) strict, without rowid;

create table write_claims (
    turn_id integer not null constraint write_claims_turn references turns (id) on delete cascade,
    path text not null,
    run_id integer not null constraint write_claims_run references runs (id) on delete cascade,
    primary key (turn_id, path)
) strict, without rowid;

-- acceptance

-- relations and plans

-- workflows

create table workflows (
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

create index idx_workflows_name on workflows (name);

create table workflow_variables (
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

create table workflow_steps (
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
    constraint workflow_steps_once primary key (workflow_id, step)
) strict, without rowid;

create table workflow_needs (
    workflow_id integer not null,
    step text not null,
    needs text not null,
    constraint workflow_needs_once primary key (workflow_id, step, needs),
    constraint workflow_needs_step foreign key (workflow_id, step) references workflow_steps (workflow_id, step),
    constraint workflow_needs_needed foreign key (workflow_id, needs) references workflow_steps (workflow_id, step)
) strict, without rowid;

create index idx_workflow_needs_needed on workflow_needs (workflow_id, needs);

create table workflow_runs (
    run_id integer primary key constraint workflow_runs_run references runs (id) on delete cascade,
    workflow_id integer not null constraint workflow_runs_workflow references workflows (id),
    -- the effect of its driver: it lasts as long as the workflow
    effect_id integer,
    -- the names of its models as they were found when it began, by how its workflow calls them; a JSON object
    models text not null default '{}' constraint workflow_runs_models_json check (json_valid(models))
) strict;

create index idx_workflow_runs_workflow_id on workflow_runs (workflow_id);

create table workflow_values (
    run_id integer not null constraint workflow_values_run references workflow_runs (run_id) on delete cascade,
    name text not null,
    value text not null,
    -- given: by whoever started it; default: that of the workflow; undeclared: given, and the workflow has no such variable
    origin text not null constraint workflow_values_origin check (origin in ('given', 'default', 'undeclared')),
    constraint workflow_values_once primary key (run_id, name)
) strict, without rowid;

create table step_states (
    name text primary key,
    -- 1: it does not change any more
    ended integer not null constraint step_states_ended_flag check (ended in (0, 1)),
    meaning text not null
) strict, without rowid;

create table step_runs (
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

create index idx_step_runs_state on step_runs (run_id, state, layer, position);

-- behavioural threads

-- knowledge

-- the outside world
