-- Version 4: many hands: runs that do a part of another run's work, criteria of acceptance, plans and other relations,
-- workflows, and behavioural threads.
-- spec: @rebuild @runs_table

alter table runs add column role text not null default 'main'
    constraint runs_role check (role in ('main', 'subtask', 'execute', 'judge', 'workflow', 'step'));

alter table runs add column depth integer not null default 0 constraint runs_depth check (depth >= 0);

-- delegation

-- acceptance

-- relations and plans

-- workflows

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

-- the outside world
