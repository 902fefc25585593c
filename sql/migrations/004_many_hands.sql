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

-- The checks of results, one row each time a command ran or a judge was asked.
create table acceptance_checks (
    id integer primary key,
    run_id integer not null constraint acceptance_checks_run references runs (id) on delete cascade,
    loop_id integer not null,
    -- the turn whose result is checked; it is open until then
    turn_id integer not null,
    -- counts the results of the loop that were checked, from 1
    attempt integer not null,
    kind text not null constraint acceptance_checks_kind check (kind in ('command', 'judge')),
    -- the command line that runs, or the command that has the judge asked
    command_id integer not null,
    -- error: the check itself failed; interrupted: it is made again; null: not known yet
    verdict text constraint acceptance_checks_verdict
        check (verdict is null or verdict in ('pass', 'fail', 'error', 'interrupted')),
    -- what the verdict counts as: that of an error is a matter of the setting judge_fail
    counts text constraint acceptance_checks_counts check (counts is null or counts in ('pass', 'fail')),
    reasons text,
    started_at integer not null,
    ended_at integer
) strict;

create index idx_acceptance_checks_turn_id on acceptance_checks (turn_id);

create index idx_acceptance_checks_loop_id on acceptance_checks (loop_id);

create unique index idx_acceptance_checks_command_id on acceptance_checks (command_id);

-- relations and plans

-- workflows

-- behavioural threads

-- knowledge

-- the outside world
