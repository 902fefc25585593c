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

-- acceptance

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

-- behavioural threads

-- knowledge

-- the outside world
