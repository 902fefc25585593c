-- Runs: the agents of a file, with their options and their status.
-- A run never ends: a new prompt, which opens a loop (035), continues it.
-- spec: @runs_table @run_state_machine

-- tables

-- The changes of status that a run may make.
create table if not exists run_transitions (
    from_status integer not null constraint run_transitions_from references statuses (code),
    to_status integer not null constraint run_transitions_to references statuses (code),
    primary key (from_status, to_status)
) strict, without rowid;

-- The attributes that set run://alias takes, and the values that they may have.
create table if not exists run_options (
    name text primary key,
    -- loop: an option of the loop that the prompt opens, kept in loops.config; run: any other
    scope text not null constraint run_options_scope check (scope in ('loop', 'run')),
    kind text not null constraint run_options_kind check (kind in ('flag', 'whole', 'number', 'text', 'schema', 'options')),
    -- the bounds of a number; null: none
    least real,
    most real,
    meaning text not null,
    -- 1: it is refused in a run that works in no folder
    needs_folder integer not null default 0 constraint run_options_needs_folder_flag check (needs_folder in (0, 1))
) strict, without rowid;

-- The agents of this file, each with a name.
create table if not exists runs (
    id integer primary key,
    project_id integer not null constraint runs_project references projects (id),
    -- the run that it was forked from or that delegated to it
    parent_run_id integer constraint runs_parent references runs (id),
    -- the parent's turn that a fork continues from; null: not a fork
    forked_at integer,
    alias text not null constraint runs_alias_unique unique
        constraint runs_alias_form check (alias <> '' and alias not glob '*[^a-zA-Z0-9_.-]*'),
    -- the alias of its model; null: none was named
    model text,
    persona text not null default 'default',
    temperature real
        constraint runs_temperature_range check (temperature is null or temperature between 0 and 2),
    -- largest context window, in tokens; null: that of its model
    context_limit integer
        constraint runs_context_limit_range check (context_limit is null or context_limit >= 256),
    status integer not null default 100 constraint runs_status references statuses (code),
    -- the number of its next turn; a fork counts on from the turn of its parent
    next_turn integer not null default 1,
    next_loop integer not null default 1,
    -- how many responses and final failures its model has given: the position of a scripted or replayed model
    responses integer not null default 0,
    created_at integer not null,
    updated_at integer not null,
    -- what its system message says for all of its prompts, besides its persona
    system_prompt text,
    -- main: a person or an app started it, forks too; the others were started by their parent to do a part of its work
    role text not null default 'main'
        constraint runs_role check (role in ('main', 'subtask', 'execute', 'judge', 'workflow', 'step')),
    -- how many runs above it have delegated; 0: nobody did
    depth integer not null default 0 constraint runs_depth check (depth >= 0),
    -- how hard its model thinks; null: as the alias or the setting effort says
    effort text constraint runs_effort check (effort in ('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
    -- what a person calls it in lists; null: the beginning of its first prompt
    title text,
    -- a JSON array of texts; null: none
    labels text constraint runs_labels_json check (labels is null or json_valid(labels)),
    -- since when lists leave it out; null: they do not
    archived_at integer
) strict;

create index if not exists idx_runs_parent_run_id on runs (parent_run_id);

create index if not exists idx_runs_project_id on runs (project_id);

-- The scopes in which a run looks a path up.
create table if not exists run_scopes (
    run_id integer not null constraint run_scopes_run references runs (id) on delete cascade,
    scope text not null,
    -- run, project, global: where the run creates entries of that default scope; inherited: a scope of a run that it
    -- was forked from, in which it creates none
    kind text not null constraint run_scopes_kind check (kind in ('run', 'project', 'global', 'inherited')),
    primary key (run_id, scope)
) strict, without rowid;

-- seeds

insert into run_options (name, scope, kind, least, most, meaning) values
    ('yolo', 'loop', 'flag', null, null, 'accept every proposal, except questions'),
    ('accept_edits', 'loop', 'flag', null, null, 'accept changes and removals of files'),
    ('no_repo', 'loop', 'flag', null, null, 'do not scan the files of the project'),
    ('no_web', 'loop', 'flag', null, null, 'close the tools that search the web or fetch pages'),
    ('no_interaction', 'loop', 'flag', null, null, 'do not let the model ask questions'),
    ('no_proposals', 'loop', 'flag', null, null, 'close the tools that need a decision'),
    ('overwrite_unseen', 'loop', 'flag', null, null, 'let the run overwrite and remove files that it has not read'),
    ('no_processes', 'loop', 'flag', null, null, 'close the tools that run commands'),
    ('max_turns', 'loop', 'whole', 1, null, 'turns after which the prompt is stopped'),
    ('max_seconds', 'loop', 'number', 0, null, 'seconds after which the prompt is stopped; 0: no limit'),
    ('max_depth', 'loop', 'whole', 0, 8, 'how many levels deep the run may delegate; 0: it may not delegate'),
    (
        'condense_ratio', 'loop', 'number', 0, 1,
        'summarize old tool results if a packet fills more than this share of the ceiling; 0: never'
    ),
    (
        'sandbox', 'loop', 'text', null, null,
        'sandbox of shell commands: auto, require (no command runs without a sandbox), off, or the name of a sandbox'
    ),
    ('network', 'loop', 'text', null, null, 'what shell commands may reach: all, or domains separated by commas'),
    (
        'narrow_tools', 'loop', 'whole', 0, 100,
        'number of tools the prompt sees besides the core tools, those that fit it best; 0: all'
    ),
    (
        'tools', 'loop', 'text', null, null,
        'names of the app''s tools that the run may use, separated by commas; without it: all'
    ),
    ('answer_cache', 'loop', 'whole', 0, 1, '1: cached answers may be used; 0: not'),
    ('model', 'run', 'text', null, null, 'alias of the model'),
    ('mode', 'run', 'text', null, null, 'ask or act'),
    ('persona', 'run', 'text', null, null, 'name of the persona, chosen when the run starts'),
    ('project', 'run', 'text', null, null, 'name of the project'),
    ('root', 'run', 'text', null, null, 'the folder of the project'),
    ('fork', 'run', 'text', null, null, 'name of the run to copy'),
    ('at', 'run', 'whole', 1, null, 'turn of that run where the copy begins'),
    ('temperature', 'run', 'number', 0, 2, 'sampling temperature'),
    (
        'model_options', 'loop', 'options', null, null,
        'settings of the model, as a JSON object: top_p, top_k, max_output, stop, seed, service_tier, extra_body'
    ),
    ('effort', 'run', 'text', null, null, 'how hard the model thinks: none, minimal, low, medium, high, xhigh or max'),
    ('context_limit', 'run', 'whole', 256, null, 'context window in tokens'),
    ('system_prompt', 'run', 'text', null, null, 'text that is added to the system message'),
    ('task_prompt', 'loop', 'text', null, null, 'text that is added to the system message for this prompt')
on conflict (name) do update set
    scope = excluded.scope, kind = excluded.kind, least = excluded.least, most = excluded.most, meaning = excluded.meaning;

insert or ignore into run_transitions (from_status, to_status) values
    (100, 102), (100, 499),
    (102, 200), (102, 202), (102, 500), (102, 499),
    (202, 102), (202, 200), (202, 499), (202, 500),
    (200, 102), (200, 499),
    (500, 102), (500, 499),
    (499, 102);

-- views

-- The options of a run with the kind of their values, as value_error takes it.
create view _run_option_kinds as
select name, case when name in ('mode', 'sandbox', 'effort') then name else kind end as kind, least, most
from run_options;

-- Refuse options of a run that are unknown or have a wrong value: insert into _check_options (run, attributes).
-- 'attributes' is a JSON object.
create view _check_options as
select alias as run, null as attributes
from runs
where false;

-- triggers

-- Check the options that are known for their kind and bounds, all for being one value, all for being known, and sandbox
-- for the form of a name.
create trigger _check_options__check
instead of insert on _check_options
begin
    select fail(400, 'run ' || new.run || ': ' || o.name || ' ' || value_error(g.value, o.kind, o.least, o.most))
    from json_each(new.attributes) as g
    join _run_option_kinds as o on o.name = g.key
    where value_error(g.value, o.kind, o.least, o.most) is not null;
    select fail(
        400,
        'run ' || new.run || ': ' || case
            when g.key in (select name from run_options) then g.key || ' must be a single value, not ' || g.value
            else quote(g.key) || ' is not an option; the options are '
                || (select group_concat(name, ', ') from run_options)
        end
    )
    from json_each(new.attributes) as g
    left join run_options as o on o.name = g.key
    where o.name is null or g.type = 'array' or (g.type = 'object' and o.kind not in ('schema', 'options'));
end;

-- A run changes its status only along run_transitions, and with its loops: it works (102) or waits (202) while one is
-- active, and else does not. The doors that start, steer and end a run move the loop first.
create trigger runs__guard_transition
before update of status on runs
when new.status <> old.status
    and (
        (old.status, new.status) not in (select from_status, to_status from run_transitions)
        or (new.status in (102, 202)) <> exists (select 1 from loops as l where l.run_id = new.id and l.status = 102)
    )
begin
    select fail(
        409,
        'run ' || old.alias || ': its status cannot change from ' || old.status || ' to ' || new.status
        || '; start, resume or abort the run instead'
    );
end;

-- A run keeps the persona that it started with.
create trigger runs__guard_persona
before update of persona on runs
when new.persona <> old.persona
begin
    select fail(409, 'run ' || old.alias || ': the persona is chosen when a run starts; start a new run to change it');
end;

-- Say what an alias may consist of; the constraint runs_alias_form would only give its name.
create trigger runs__guard_alias
before insert on runs
when new.alias = '' or new.alias glob '*[^a-zA-Z0-9_.-]*' or instr(new.alias, char(0))
begin
    select fail(400, 'run ' || quote(new.alias) || ': use only letters, digits, ''_'', ''-'' and ''.''');
end;

-- Write an event for each change of a run's status.
create trigger runs__record_status
after update of status on runs
when new.status <> old.status
begin
    insert into events (at, run_id, kind, detail)
    values (now(), new.id, 'run.status', json_object('from', old.status, 'to', new.status));
end;
