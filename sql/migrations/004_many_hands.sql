-- Version 4: many hands: runs that do a part of another run's work, criteria of acceptance, plans and other relations,
create table _graph_changes (
    id integer primary key constraint graph_changes_one_row check (id = 1),
    changes integer not null
) strict;

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

-- The checks of results, one row each time a command ran or a judge was asked.
create table acceptance_checks (
    id integer primary key,
    run_id integer not null constraint acceptance_checks_run references runs (id) on delete cascade,
    loop_id integer not null,
    -- the turn whose result is checked; it is open until then
    turn_id integer not null,
    -- counts the results of the loop that were checked, from 1
    attempt integer not null,
    kind text not null constraint acceptance_checks_kind check (kind in ('command', 'judge')),
    -- the command line that runs, or the command that has the judge asked
    command_id integer not null,
    -- error: the check itself failed; interrupted: it is made again; null: not known yet
    verdict text constraint acceptance_checks_verdict
        check (verdict is null or verdict in ('pass', 'fail', 'error', 'interrupted')),
    -- what the verdict counts as: that of an error is a matter of the setting judge_fail
    counts text constraint acceptance_checks_counts check (counts is null or counts in ('pass', 'fail')),
    reasons text,
    started_at integer not null,
    ended_at integer
) strict;

create index idx_acceptance_checks_turn_id on acceptance_checks (turn_id);

create index idx_acceptance_checks_loop_id on acceptance_checks (loop_id);

create unique index idx_acceptance_checks_command_id on acceptance_checks (command_id);

-- relations and plans

create table node_statuses (
    name text primary key,
    -- 1: nothing is left to do
    is_settled integer not null constraint node_statuses_settled_flag check (is_settled in (0, 1)),
    meaning text not null
) strict, without rowid;

create table nodes (
    id integer primary key,
    scope text not null constraint nodes_scope
        check (scope = 'global' or scope glob 'run:[1-9]*' or scope glob 'project:[1-9]*'),
    name text not null constraint nodes_name_length check (length(name) between 1 and 500),
    -- plan, step, file, run, or a word of the app's own
    type text not null constraint nodes_type_length check (length(type) between 1 and 100),
    status text constraint nodes_status references node_statuses (name),
    description text not null default '',
    -- whatever else is known of it
    context text not null default '{}' constraint nodes_context_object
        check (case when json_valid(context) then json_type(context) else '' end = 'object'),
    created_at integer not null,
    constraint nodes_name_once_per_scope unique (scope, name)
) strict;

create table edges (
    child_id integer not null constraint edges_child references nodes (id) on delete cascade,
    parent_id integer not null constraint edges_parent references nodes (id) on delete cascade,
    primary key (child_id, parent_id)
) strict, without rowid;

create index idx_edges_parent_id on edges (parent_id, child_id);

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

-- All threads. One that comes with the engine counts only where somebody has enabled it.
create table threads (
    id integer primary key,
    name text not null
        constraint threads_name_form check (name <> '' and name not glob '*[^a-z0-9_-]*' and length(name) <= 40),
    -- shipped: comes with the engine
    level text not null constraint threads_level check (level in ('shipped', 'project', 'run')),
    project_id integer constraint threads_project references projects (id) on delete cascade,
    run_id integer constraint threads_run references runs (id) on delete cascade,
    purpose text not null,
    -- of several requests the one of the lowest number is selected, then by name
    priority integer not null default 100 constraint threads_priority check (priority between 1 and 1000),
    -- the point to which it returns from the last one; null: then it ends
    repeat_from integer,
    -- 1: it begins anew with each prompt
    each_prompt integer not null default 0 constraint threads_each_prompt_flag check (each_prompt in (0, 1)),
    -- it takes part only in loops where this tool is open; null: in all
    tool text,
    -- 1: a person has switched it off
    disabled integer not null default 0 constraint threads_disabled_flag check (disabled in (0, 1)),
    added_by text not null default 'client',
    created_at integer not null default 0,
    -- its row stays, for what the events say of it
    removed_at integer,
    constraint threads_owner check (
        (level = 'project') = (project_id is not null) and (level = 'run') = (run_id is not null)
    )
) strict;

create unique index idx_threads_name on threads (name, coalesce(project_id, 0), coalesce(run_id, 0))
where removed_at is null;

-- What a thread says at each of its points, from 1: the events that it requests, waits for, blocks, or is ended by.
create table thread_patterns (
    thread_id integer not null constraint thread_patterns_thread references threads (id) on delete cascade,
    point integer not null constraint thread_patterns_point check (point > 0),
    ordinal integer not null,
    part text not null constraint thread_patterns_part check (part in ('request', 'wait', 'block', 'interrupt')),
    event text not null,
    -- a JSON object: a field of the event, and the GLOB that its text has to match; a path pattern for 'path'
    fields text not null default '{}'
        constraint thread_patterns_fields check (json_valid(fields) and json_type(fields) = 'object'),
    -- what the model is told of a block, an ask or a tell
    message text,
    constraint thread_patterns_place primary key (thread_id, point, ordinal)
) strict, without rowid;

-- The threads of the engine that somebody has enabled, for a project or a run.
create table thread_uses (
    thread_id integer not null constraint thread_uses_thread references threads (id) on delete cascade,
    project_id integer constraint thread_uses_project references projects (id) on delete cascade,
    run_id integer constraint thread_uses_run references runs (id) on delete cascade,
    added_by text not null default 'client',
    constraint thread_uses_owner check ((project_id is null) <> (run_id is null)),
    constraint thread_uses_once unique (thread_id, project_id, run_id)
) strict;

-- At which point each thread of a run stands; events keep how it came there.
create table thread_states (
    run_id integer not null constraint thread_states_run references runs (id) on delete cascade,
    thread_id integer not null constraint thread_states_thread references threads (id) on delete cascade,
    -- null: it has ended
    point integer,
    -- the loop of the last event; null: none yet
    loop_id integer,
    -- 1: it was in force when the run was last driven
    active integer not null default 1 constraint thread_states_active_flag check (active in (0, 1)),
    constraint thread_states_once primary key (run_id, thread_id)
) strict, without rowid;

-- Up to where the threads of a run were told what has happened: the commands of a turn, and the results of effects.
create table _thread_clocks (
    run_id integer primary key constraint _thread_clocks_run references runs (id) on delete cascade,
    turn_id integer,
    ordinal integer not null default -1,
    result_id integer not null default 0
) strict;

-- The event that the threads of a run are being asked about.
create table _thread_offers (
    run_id integer primary key constraint _thread_offers_run references runs (id) on delete cascade,
    turn_id integer not null,
    loop_id integer not null,
    command_id integer,
    event text not null,
    fields text not null
) strict;

-- The events of the engine's own: 'offered' ones can be blocked, a 'fact' has happened, a 'request' is what a thread may
-- ask the engine for.
create table thread_events (
    name text primary key,
    origin text not null constraint thread_events_origin check (origin in ('offered', 'fact', 'request')),
    -- the names of its fields, as a JSON array
    fields text not null,
    meaning text not null
) strict, without rowid;

-- Which programs run tests: a GLOB over the name, and one over the arguments. A person may add rows.
create table test_programs (
    program text not null,
    arguments text not null default '*',
    constraint test_programs_once primary key (program, arguments)
) strict, without rowid;

-- knowledge

create table tool_narrowings (
    loop_id integer primary key constraint tool_narrowings_loop references loops (id) on delete cascade,
    -- 0: nothing was found for the prompt, so all are told
    is_narrowed integer not null constraint tool_narrowings_is_narrowed_flag check (is_narrowed in (0, 1)),
    -- how many tools were told besides the core at most
    most integer not null,
    -- what compared meanings; null: words alone were searched
    embedder text
) strict;

create table _tool_choices (
    loop_id integer not null
        constraint tool_choices_loop references tool_narrowings (loop_id) on delete cascade,
    name text not null,
    -- core: by the setting; used: the run called it before; found: the prompt needs it; null: it is left out
    why text constraint tool_choices_why check (why in ('core', 'used', 'found')),
    -- how well it was found, and by which rankers
    score real,
    found_by text,
    primary key (loop_id, name)
) strict, without rowid;

create table _cached_answers (
    turn_id integer primary key constraint cached_answers_turn references turns (id) on delete cascade,
    -- SHA-256 of its model and of its packet without the prompt
    key blob not null,
    -- what made the vector of its prompt, and that; null: it is found by the same prompt alone
    embedder text,
    vector blob,
    hits integer not null default 0,
    created_at integer not null
) strict;

create index idx_cached_answers_key on _cached_answers (key);

create table _answer_hits (
    turn_id integer primary key constraint answer_hits_turn references turns (id) on delete cascade,
    from_run text not null,
    from_turn integer not null,
    similarity real not null
) strict;

create table _prepared_loops (
    loop_id integer primary key constraint prepared_loops_loop references loops (id) on delete cascade
) strict;

-- texts that were read before have one piece each: they are read anew
alter table search_texts add column line integer not null default 1;

insert into text_search (text_search) values ('delete-all');

delete from search_texts;

delete from text_vectors;

update _search_clock set at = -1, embedder = null;

-- the outside world
create table file_modes (
    entry_id integer not null,
    -- 0: as it was when the engine first looked for it
    began integer not null,
    -- null: nobody has looked yet
    is_executable integer constraint file_modes_flag check (is_executable in (0, 1)),
    -- the undo or rewind that decided it; null: a scan found it
    command_id integer constraint file_modes_command references commands (id) on delete set null,
    primary key (entry_id, began)
) strict, without rowid;

create index idx_file_modes_command_id on file_modes (command_id) where command_id is not null;

insert into file_modes (entry_id, began)
select id, 0
from entries
where kind = 'file' and since is not null;
