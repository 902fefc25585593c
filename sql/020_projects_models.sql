-- Projects and models: what a run works on, and what it asks.
-- A run belongs to one project; runs of one project share its files, and a project without a root has none. A model is
-- known by its alias; the adapter is chosen by its actual name.
-- spec: @projects @file_constraints @models_table

-- tables

create table if not exists projects (
    id integer primary key,
    name text not null constraint projects_name_unique unique,
    root text constraint projects_root_unique unique,
    created_at integer not null
) strict;

create table if not exists file_constraints (
    id integer primary key,
    project_id integer not null
        constraint file_constraints_project references projects (id) on delete cascade,
    pattern text not null constraint file_constraints_pattern_not_empty check (trim(pattern) <> ''),
    -- add: belongs, though git does not track it; readonly: belongs and is never written; ignore: does not belong
    visibility text not null
        constraint file_constraints_visibility check (visibility in ('add', 'readonly', 'ignore')),
    created_at integer not null,
    constraint file_constraints_once unique (project_id, pattern)
) strict;

create table if not exists models (
    id integer primary key,
    alias text not null constraint models_alias_unique unique
        constraint models_alias_not_empty check (trim(alias) <> ''),
    -- provider/name, scripted:FILE, replay:DB#RUN or local
    actual text not null constraint models_actual_not_empty check (trim(actual) <> ''),
    context_length integer
        constraint models_context_length_range check (context_length is null or context_length >= 256),
    -- the longest answer in tokens that its provider lets one ask for; null: whatever the provider gives
    max_output integer constraint models_max_output_range check (max_output is null or max_output >= 1),
    -- which sections and texts a packet has: full, or compact for small local models
    profile text not null default 'full' constraint models_profile check (profile in ('full', 'compact')),
    -- how commands come: as markup in the text, or as calls of tools that the provider's API was given
    tool_calling text not null default 'xml' constraint models_tool_calling check (tool_calling in ('xml', 'native')),
    origin text not null default 'client'
        constraint models_origin check (origin in ('client', 'environment', 'built-in')),
    created_at integer not null
) strict;

-- seeds

insert into models (alias, actual, context_length, profile, origin, created_at) values
    ('local', 'local', 4096, 'compact', 'built-in', 0)
on conflict (alias) do nothing;
