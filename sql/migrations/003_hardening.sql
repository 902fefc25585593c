-- Version 3: names that say what they hold, fences that the texts inside of them cannot
-- close, and what runs over real projects taught.
-- spec: @rebuild @fences

create table _file_constraints (
    id integer primary key,
    project_id integer not null
        constraint file_constraints_project references projects (id) on delete cascade,
    pattern text not null constraint file_constraints_pattern_not_empty check (trim(pattern) <> ''),
    rule text not null constraint file_constraints_rule check (rule in ('add', 'readonly', 'ignore')),
    created_at integer not null,
    constraint file_constraints_once unique (project_id, pattern)
) strict;

insert into _file_constraints (id, project_id, pattern, rule, created_at)
select id, project_id, pattern, visibility, created_at
from file_constraints;

drop table file_constraints;

alter table _file_constraints rename to file_constraints;

alter table contents add column fence text;

update contents
set fence = fence_suffix(body, summary)
where instr(body, ':::') or instr(summary, ':::');

alter table entries add column shown_path text;

update entries
set shown_path = fence_path(path)
where fence_path(path) is not null;

update _entry_metadata
set head = fence_json(head)
where head <> fence_json(head);

-- a test that is red and a search without a hit are work
update outcomes
set strikes = 0
where name = 'exit';

alter table tools add column reads integer not null default 0
    constraint tools_reads_flag check (reads in (0, 1));

alter table projects add column root_names text
    constraint projects_root_names_json check (root_names is null or json_valid(root_names));

alter table leases add column sandboxes text
    constraint leases_sandboxes_json check (sandboxes is null or json_valid(sandboxes));

-- archiving comes before and after the step that was the third
update turns
set ladder = case ladder when 4 then 6 else 4 end
where ladder in (3, 4);

update demotions
set step = 4
where step = 3;

create index idx_turns_costs on turns (run_id, cost) where cost is not null;

create index idx_turns_unknown_costs on turns (run_id) where response is not null and cost is null;

create table command_policies (
    id integer primary key,
    name text not null constraint command_policies_name_not_empty check (trim(name) <> ''),
    level text not null constraint command_policies_level check (level in ('shipped', 'project', 'run')),
    project_id integer constraint command_policies_project references projects (id) on delete cascade,
    run_id integer constraint command_policies_run references runs (id) on delete cascade,
    program text not null constraint command_policies_program_not_empty check (trim(program) <> ''),
    arguments text not null default '*',
    except_arguments text,
    condition text not null default 'always'
        constraint command_policies_condition check (condition in ('always', 'bare', 'heredoc')),
    decision text not null constraint command_policies_decision check (decision in ('refuse', 'ask', 'accept')),
    message text,
    added_by text not null default 'client',
    created_at integer not null default 0,
    constraint command_policies_owner check (
        (level = 'project') = (project_id is not null) and (level = 'run') = (run_id is not null)
    ),
    constraint command_policies_message check (decision <> 'refuse' or trim(coalesce(message, '')) <> '')
) strict;

create unique index idx_command_policies_shipped on command_policies (program, arguments, condition)
where level = 'shipped';

create table _explained_lines (
    id integer primary key,
    run_id integer,
    project_id integer,
    line text not null
) strict;

create table grants (
    id integer primary key,
    project_id integer not null constraint grants_project references projects (id) on delete cascade,
    run_id integer constraint grants_run references runs (id) on delete cascade,
    kind text not null constraint grants_kind check (kind in ('file_write', 'file_delete', 'process')),
    target text constraint grants_target check (target is not null or run_id is not null),
    granted_by text not null,
    created_at integer not null,
    revoked_at integer
) strict;

create index idx_grants_project_id on grants (project_id, kind) where revoked_at is null;

create table _result_statuses (
    state text not null,
    outcome text not null,
    status integer not null,
    primary key (state, outcome)
) strict, without rowid;

-- layers of the system message, instructions for agents

alter table chunks add column layer text;

alter table chunks add column source text;

alter table packet_sections add column stamps text;

create index idx_file_stats_instructions on file_stats (project_id, path)
where path glob '*[A-Zr][A-Zu][.l][me][ds]';

create table document_links (
    entry_id integer not null constraint document_links_entry references entries (id) on delete cascade,
    content_id integer not null constraint document_links_content references contents (id) on delete cascade,
    ordinal integer not null,
    line integer not null,
    title text not null,
    target text not null,
    primary key (entry_id, content_id, ordinal)
) strict, without rowid;

-- skills

create table _skills (
    id integer primary key,
    -- project:N or global
    scope text not null constraint skills_scope check (scope = 'global' or scope glob 'project:[0-9]*'),
    name text not null constraint skills_name_length check (length(name) between 1 and 200),
    description text not null,
    kind text not null constraint skills_kind check (kind in ('folder', 'file', 'zip', 'url')),
    -- found: in a folder of the project, as long as it is there; added: by a person
    origin text not null constraint skills_origin check (origin in ('found', 'added')),
    -- the path or address that it was read from
    source text not null,
    -- what it was made of, to see whether that has changed
    made_of text not null,
    -- why it is not offered; null: it is
    problem text,
    -- files that are no text, or too many
    left_out integer not null default 0,
    added_by text not null,
    changed_at integer not null,
    constraint skills_once unique (scope, name)
) strict;

-- what a person adds to system messages

alter table personas add column origin text not null default 'engine'
    constraint personas_origin check (origin in ('engine', 'own'));

alter table runs add column system_prompt text;
