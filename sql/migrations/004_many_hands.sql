-- Version 4: many hands: runs that do a part of another run's work, criteria of acceptance, plans and other relations,
-- workflows, and behavioural threads.
-- spec: @rebuild @runs_table

alter table runs add column role text not null default 'main'
    constraint runs_role check (role in ('main', 'subtask', 'execute', 'judge', 'workflow', 'step'));

alter table runs add column depth integer not null default 0 constraint runs_depth check (depth >= 0);

-- delegation

-- acceptance

-- relations and plans

-- workflows

-- behavioural threads

-- knowledge

-- the outside world
