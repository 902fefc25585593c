-- Behavioural threads: small programs that block, ask and wait, beside the model.
-- A thread is a sequence of points. At each point it can request events, wait for events, and block events. Events of
-- a run (a command will be carried out, a test has ended, a turn has ended) move the threads that wait for them. An
-- event that a thread blocks does not happen. A thread can refuse a command, vote on a turn, and send a message to
-- the model. 271 has the threads of the engine, 272 the events, 273 and 274 the steps.
-- needs: nothing
-- spec: @threads @thread_events

-- tables

-- All threads. One that comes with the engine counts only where somebody has enabled it.
create table if not exists threads (
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

create unique index if not exists idx_threads_name on threads (name, coalesce(project_id, 0), coalesce(run_id, 0))
where removed_at is null;

-- What a thread says at each of its points, from 1: the events that it requests, waits for, blocks, or is ended by.
create table if not exists thread_patterns (
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
create table if not exists thread_uses (
    thread_id integer not null constraint thread_uses_thread references threads (id) on delete cascade,
    project_id integer constraint thread_uses_project references projects (id) on delete cascade,
    run_id integer constraint thread_uses_run references runs (id) on delete cascade,
    added_by text not null default 'client',
    constraint thread_uses_owner check ((project_id is null) <> (run_id is null)),
    constraint thread_uses_once unique (thread_id, project_id, run_id)
) strict;

-- At which point each thread of a run stands; events keep how it came there.
create table if not exists thread_states (
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
create table if not exists _thread_clocks (
    run_id integer primary key constraint _thread_clocks_run references runs (id) on delete cascade,
    turn_id integer,
    ordinal integer not null default -1,
    result_id integer not null default 0
) strict;

-- The event that the threads of a run are being asked about.
create table if not exists _thread_offers (
    run_id integer primary key constraint _thread_offers_run references runs (id) on delete cascade,
    turn_id integer not null,
    loop_id integer not null,
    command_id integer,
    event text not null,
    fields text not null
) strict;

-- The events of the engine's own: 'offered' ones can be blocked, a 'fact' has happened, a 'request' is what a thread may
-- ask the engine for.
create table if not exists thread_events (
    name text primary key,
    origin text not null constraint thread_events_origin check (origin in ('offered', 'fact', 'request')),
    -- the names of its fields, as a JSON array
    fields text not null,
    meaning text not null
) strict, without rowid;

-- Which programs run tests: a GLOB over the name, and one over the arguments. A person may add rows.
create table if not exists test_programs (
    program text not null,
    arguments text not null default '*',
    constraint test_programs_once primary key (program, arguments)
) strict, without rowid;

-- seeds

insert into thread_events (name, origin, fields, meaning) values
    (
        'command', 'offered', '["action","path","to","line","test","unread","status"]',
        'a command of the model will be carried out next'
    ),
    ('finish', 'offered', '["status","open"]', 'the loop will end as done next'),
    ('done', 'fact', '["action","path","to","line","status"]', 'a command was carried out'),
    ('failed', 'fact', '["action","path","to","line","outcome"]', 'a command failed'),
    ('edit', 'fact', '["path","change"]', 'a file was written or removed'),
    ('ran', 'fact', '["line","exit","test"]', 'a process has ended'),
    ('turn', 'fact', '[]', 'a turn has ended'),
    ('ask', 'request', '[]', 'the model reads the message, and the loop continues'),
    ('tell', 'request', '[]', 'the model reads the message'),
    ('check', 'request', '[]', 'the command line of the setting check runs after the commands of the turn')
on conflict (name) do update set origin = excluded.origin, fields = excluded.fields, meaning = excluded.meaning;

insert or ignore into test_programs (program, arguments)
select json_extract(s.value, '$[0]'), a.value
from json_each(
    '[
    ["pytest", ["*"]], ["py.test", ["*"]], ["tox", ["*"]], ["nox", ["*"]],
    ["python*", ["-m pytest*", "-m unittest*", "*test_*", "*tests*", "* test*", "test*"]],
    ["make", ["*test*", "*check*"]], ["ctest", ["*"]], ["bats", ["*"]],
    ["npm", ["*test*"]], ["pnpm", ["*test*"]], ["yarn", ["*test*"]], ["bun", ["test*", "run test*"]],
    ["npx", ["*jest*", "*vitest*", "*mocha*"]], ["jest", ["*"]], ["vitest", ["*"]], ["mocha", ["*"]],
    ["node", ["--test*"]], ["deno", ["test*"]], ["cargo", ["test*", "nextest*"]], ["go", ["test*"]],
    ["mvn*", ["*test*", "*verify*"]], ["gradle*", ["*test*", "*check*"]], ["dotnet", ["test*"]],
    ["rspec", ["*"]], ["rake", ["*test*", "*spec*"]], ["mix", ["test*"]], ["phpunit", ["*"]],
    ["*test*.sh", ["*"]], ["*test*.py", ["*"]], ["sh", ["*test*.sh*"]], ["bash", ["*test*.sh*"]]
    ]'
) as s
cross join json_each(s.value, '$[1]') as a;

-- views

-- The names of threads of the engine that the setting 'threads' has on any layer: a layer adds some and takes none away,
-- for a thread only forbids and asks.
create view _named_threads as
select distinct trim(j.value, char(32, 9, 10, 13)) as name
from setting_layers as l
-- the text as a JSON array: its commas part it
cross join json_each('[' || replace(json_quote(l.value), ',', '","') || ']') as j
where l.name = 'threads' and l.value is not null and trim(j.value, char(32, 9, 10, 13)) <> '';

-- The command line that checks edits; no row where none is set.
create view _check_lines as
select trim(value, char(32, 9, 10, 13)) as line
from settings
where name = 'check' and trim(value, char(32, 9, 10, 13)) <> '';

create view threads_in_force as
-- The threads that take part in each run: those of the engine that a setting or a person enabled, and those that were added
-- for its project, for itself, or for a run that it comes from: select * from threads_in_force where run = 'demo'.
select r.id as run_id, r.alias as run, t.id as thread_id, t.name, t.level, t.priority, t.purpose
from (
    select
        o.id,
        o.alias,
        o.project_id,
        -- itself, what it was forked from, and what delegated to it
        (
            with recursive line (id) as (
                select o.id
                union
                select p.parent_run_id
                from line as l
                join runs as p on p.id = l.id
                where p.parent_run_id is not null
            )
            select json_group_array(id) from line
        ) as line
    from runs as o
) as r
join threads as t on t.removed_at is null
where (
        t.level = 'shipped'
        and (
            exists (select 1 from _named_threads as n where n.name in (t.name, 'all'))
            or (t.name = 'check_after_edit' and exists (select 1 from _check_lines))
            or exists (
                select 1
                from thread_uses as u
                where u.thread_id = t.id
                    and (
                        u.project_id = r.project_id
                        or exists (select 1 from json_each(r.line) as l where l.value = u.run_id)
                    )
            )
        )
    )
    or (
        not t.disabled
        and (
            t.project_id = r.project_id
            or exists (select 1 from json_each(r.line) as l where l.value = t.run_id)
        )
    );
