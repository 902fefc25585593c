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
create table file_modes (
    entry_id integer not null,
    -- 0: as it was when the engine first looked for it
    began integer not null,
    -- null: nobody has looked yet
    is_executable integer constraint file_modes_flag check (is_executable in (0, 1)),
    -- the undo or rewind that decided it; null: a scan found it
    command_id integer constraint file_modes_command references commands (id) on delete set null,
    primary key (entry_id, began)
) strict, without rowid;

create index idx_file_modes_command_id on file_modes (command_id) where command_id is not null;

insert into file_modes (entry_id, began)
select id, 0
from entries
where kind = 'file' and since is not null;
