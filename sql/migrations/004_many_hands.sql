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
    -- the loop of that run which all this is for; null: it had none
    root_loop_id integer,
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

create index idx_children_effect_id on children (effect_id);

create table model_tiers (
    -- a GLOB
    pattern text not null,
    -- how hard it thinks, as its name ends: -high, :high; '': any
    effort text not null default '',
    tier integer not null constraint model_tiers_tier check (tier between 1 and 9),
    primary key (pattern, effort)
) strict, without rowid;

create table executor_models (
    -- a GLOB over the lower case of its name; the longest one that fits counts
    pattern text primary key,
    -- an alias, or provider/name
    model text not null constraint executor_models_model_not_empty check (trim(model) <> '')
) strict, without rowid;

create table write_claims (
    turn_id integer not null constraint write_claims_turn references turns (id) on delete cascade,
    path text not null,
    run_id integer not null constraint write_claims_run references runs (id) on delete cascade,
    primary key (turn_id, path)
) strict, without rowid;

-- acceptance

-- relations and plans

-- workflows

-- behavioural threads

-- knowledge

-- the outside world
