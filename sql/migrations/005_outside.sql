-- Version 5: the outside world: servers of tools, resources and prompts; how hard models think, titles and labels of runs.
-- spec: @rebuild @mcp_servers @models_table @runs_table @model_calls

-- a grant may be about the tool of an MCP server
create table _new_grants (
    id integer primary key,
    project_id integer not null constraint grants_project references projects (id) on delete cascade,
    -- null: all runs of the project
    run_id integer constraint grants_run references runs (id) on delete cascade,
    kind text not null constraint grants_kind check (kind in ('file_write', 'file_delete', 'process', 'mcp')),
    target text constraint grants_target check (target is not null or run_id is not null),
    granted_by text not null,
    created_at integer not null,
    revoked_at integer
) strict;

insert into _new_grants (id, project_id, run_id, kind, target, granted_by, created_at, revoked_at)
select id, project_id, run_id, kind, target, granted_by, created_at, revoked_at from grants;

drop table grants;

alter table _new_grants rename to grants;

create index idx_grants_project_id on grants (project_id, kind) where revoked_at is null;

create table mcp_items (
    server text not null,
    kind text not null constraint mcp_items_kind check (kind in ('resource', 'template', 'prompt')),
    name text not null,
    title text not null,
    description text not null,
    detail text not null constraint mcp_items_detail_json check (json_valid(detail)),
    primary key (server, kind, name)
) strict, without rowid;

-- what can be found is read anew by the next search
insert into text_search (text_search) values ('delete-all');

drop table search_texts;

create table search_texts (
    id integer primary key,
    kind text not null
        constraint search_texts_kind check (kind in ('tool', 'skill', 'rule', 'reference', 'mcp', 'entry')),
    scope text not null,
    name text not null,
    entry_id integer,
    content_id integer,
    words text not null,
    text text not null,
    digest text not null,
    line integer not null default 1
) strict;

create index idx_search_texts_entry on search_texts (kind, entry_id, content_id);

create index idx_search_texts_digest on search_texts (digest, kind, scope, name, entry_id, content_id);

update _search_clock set at = -1, embedder = null;

alter table models add column effort text constraint models_effort
    check (effort in ('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'));

alter table runs add column effort text constraint runs_effort
    check (effort in ('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'));

alter table model_calls add column effort text;

alter table runs add column title text;

alter table runs add column labels text constraint runs_labels_json check (labels is null or json_valid(labels));

alter table runs add column archived_at integer;
