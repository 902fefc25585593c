-- Projects: the folder that runs work in, and which of its files belong.
-- A run belongs to one project; runs of one project share its files. A project without a root has no files.
-- spec: @projects @file_constraints

-- tables

create table if not exists projects (
    id integer primary key,
    name text not null constraint projects_name_unique unique,
    root text constraint projects_root_unique unique,
    config_path text,
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
