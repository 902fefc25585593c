-- Schemes: what kinds of entries there are, who may write them and where the model sees them.
-- The scheme is the part of a path before '://'; a path without one is a file of the project. An unregistered scheme
-- follows the row named '*'.
-- spec: @schemes @writer_tiers

-- tables

create table if not exists categories (
    name text primary key,
    meaning text not null
) strict, without rowid;

create table if not exists schemes (
    name text primary key,
    category text not null constraint schemes_category references categories (name),
    default_scope text not null
        constraint schemes_default_scope check (default_scope in ('run', 'project', 'global')),
    default_visibility text not null
        constraint schemes_default_visibility references visibilities (name),
    writable_by text not null constraint schemes_writable_by_array
        check (json_valid(writable_by) and json_type(writable_by) = 'array'),
    model_visible integer not null default 1
        constraint schemes_model_visible_flag check (model_visible in (0, 1)),
    -- 1: bodies are indexed for full-text search
    searchable integer not null default 0
        constraint schemes_searchable_flag check (searchable in (0, 1)),
    -- 1: a body above the setting max_entry_tokens is refused
    gated integer not null default 0 constraint schemes_gated_flag check (gated in (0, 1)),
    meaning text not null
) strict, without rowid;

-- seeds

insert into categories (name, meaning) values
    ('data', 'what the model works with: <summary> and <visible>'),
    ('logging', 'what happened: <log>'),
    ('unknown', 'open questions: <unknowns>'),
    ('prompt', 'the task: <prompt>, older ones in <log>'),
    ('audit', 'kept for people, never shown to the model')
on conflict (name) do update set meaning = excluded.meaning;

insert into schemes (
    name, category, default_scope, default_visibility, writable_by, model_visible, searchable, gated, meaning
) values
    ('file', 'data', 'project', 'archived', '["model","plugin"]', 1, 1, 0, 'a file of the project (a path without scheme)'),
    ('known', 'data', 'run', 'summarized', '["model","plugin"]', 1, 0, 1, 'one fact that the model keeps'),
    ('skill', 'data', 'project', 'visible', '["model","plugin"]', 1, 1, 0, 'a skill document'),
    ('http', 'data', 'run', 'summarized', '["model","plugin"]', 1, 1, 0, 'a page'),
    ('https', 'data', 'run', 'summarized', '["model","plugin"]', 1, 1, 0, 'a page'),
    ('sh', 'data', 'run', 'summarized', '["model","plugin"]', 1, 0, 0, 'output of a shell command, one entry a channel'),
    ('env', 'data', 'run', 'summarized', '["model","plugin"]', 1, 0, 0, 'output of a reading command, one entry a channel'),
    ('unknown', 'unknown', 'run', 'visible', '["model","plugin"]', 1, 0, 0, 'an open question'),
    ('prompt', 'prompt', 'run', 'visible', '["plugin"]', 1, 0, 0, 'what a person asked'),
    ('log', 'logging', 'run', 'visible', '["system","plugin","model"]', 1, 0, 0, 'the record of one action'),
    ('update', 'logging', 'run', 'visible', '["model","plugin"]', 1, 0, 0, 'a signal of the model'),
    ('error', 'logging', 'run', 'visible', '["model","plugin"]', 1, 0, 0, 'an error'),
    ('run', 'audit', 'run', 'archived', '["client"]', 0, 0, 0, 'a run; written to start, prompt or cancel it'),
    ('tool', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'metadata of a tool'),
    ('instructions', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'the system text of a run'),
    ('system', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'a system message as sent'),
    ('user', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'a user message as sent'),
    ('assistant', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'a response as received'),
    ('reasoning', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'reasoning as received'),
    ('model', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'what a provider reported'),
    ('content', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'the text of a response outside its commands'),
    ('*', 'logging', 'run', 'visible', '["model","plugin"]', 1, 0, 0, 'a scheme that nobody registered')
on conflict (name) do nothing;

-- views

-- Who may write what: a writer may when some tier named in writable_by is at or below its own.
create view scheme_writers as
select
    s.name as scheme,
    w.name as writer
from schemes as s
join writer_tiers as w
where exists (
    select 1
    from json_each(s.writable_by) as allowed
    join writer_tiers as t on t.name = allowed.value
    where t.rank <= w.rank
);
