-- Version 4: many hands: runs that do a part of another run's work, criteria of acceptance, plans and other relations,
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

create unique index idx_children_effect_id on children (effect_id);

-- acceptance

-- relations and plans

-- workflows

-- behavioural threads

-- knowledge

-- the outside world
