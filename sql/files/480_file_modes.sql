-- File modes: whether a project's files may be executed.
-- A chmod does not change the text of a file, so the entry stays the same. The mode that scans find is stored here,
-- for a rewind. A file that was never executable has no row.
-- spec: @file_modes

-- tables

-- Each change of a file's executable bit, by the clock of events; what holds is the row with the highest 'began'.
create table if not exists file_modes (
    entry_id integer not null,
    -- 0: as it was when the engine first looked for it
    began integer not null,
    -- null: nobody has looked yet
    is_executable integer constraint file_modes_flag check (is_executable in (0, 1)),
    -- the undo or rewind that decided it; null: a scan found it
    command_id integer constraint file_modes_command references commands (id) on delete set null,
    primary key (entry_id, began)
) strict, without rowid;

create index if not exists idx_file_modes_command_id on file_modes (command_id) where command_id is not null;

-- views

-- Keep what a scan found of a file's mode, where it is another than was known: insert into _note_mode (project_id, path,
-- is_executable). It comes before the text of the file is taken, so that both have the same clock.
create view _note_mode as
select project_id, path, null as is_executable
from file_stats
where false;

-- Keep the mode that a command is to give a file: insert into _decide_mode (command_id, path, is_executable). A scan that
-- finds the file so has nothing to tell of it then.
create view _decide_mode as
select command_id, null as path, is_executable
from file_modes
where false;

-- Whether each project's file may be executed now; only files of which a mode is kept.
create view _modes_now as
select entry_id, coalesce(is_executable, 0) as is_executable
from file_modes as m
where began = (select max(o.began) from file_modes as o where o.entry_id = m.entry_id);

-- The files that may be executed, as far as scans know.
create view _executable_files as
select e.scope, e.path
from _modes_now as m
join entries as e on e.id = m.entry_id
where m.is_executable;

-- Each text that a project's file has had, with the clock when it began. No two rows are alike; 'union' keeps SQLite from
-- taking a query over it apart into two that share a part.
create view _file_texts as
select e.scope, e.id as entry_id, v.began, v.ended, v.content_id, v.hash, v.attributes, 0 as is_present
from entries as e
join entry_versions as v on v.entry_id = e.id
where e.kind = 'file'
union
select scope, id, since, 9e18, content_id, hash, attributes, 1
from entries
where kind = 'file' and since is not null;

-- Each state that a project's file has had: a text, or since a chmod the same text with another mode. 'decided' is the
-- command that changed the mode alone.
create view _file_states as
select
    t.*,
    coalesce(
        (
            select m.is_executable
            from file_modes as m
            where m.entry_id = t.entry_id and m.began <= t.began
            order by m.began desc
            limit 1
        ), 0
    ) as is_executable,
    0 as is_mode,
    null as decided
from _file_texts as t
union
select
    t.scope, t.entry_id, m.began, t.ended, t.content_id, t.hash, t.attributes, 0, m.is_executable, 1, m.command_id
from file_modes as m
join _file_texts as t on t.entry_id = m.entry_id and t.began < m.began and m.began < t.ended;

-- triggers

-- Of a file that an older version has read the first look says how it always was.
create trigger _note_mode__note
instead of insert on _note_mode
begin
    update file_modes
    set is_executable = new.is_executable
    where is_executable is null
        and entry_id = (select id from entries where scope = 'project:' || new.project_id and path = new.path);
    insert into file_modes (entry_id, began, is_executable)
    select e.id, c.clock, new.is_executable
    from entries as e
    join (select coalesce(max(id), 0) + 1 as clock from events) as c
    where e.scope = 'project:' || new.project_id
        and e.path = new.path
        and new.is_executable <> coalesce((select m.is_executable from _modes_now as m where m.entry_id = e.id), 0)
        and not exists (select 1 from file_modes as m where m.entry_id = e.id and m.began >= c.clock);
end;

create trigger _decide_mode__keep
instead of insert on _decide_mode
begin
    insert into file_modes (entry_id, began, is_executable, command_id)
    select e.id, (select max(id) + 1 from events), new.is_executable, c.id
    from commands as c
    join runs as r on r.id = c.run_id
    join entries as e on e.scope = 'project:' || r.project_id and e.path = new.path
    where c.id = new.command_id
        and new.is_executable <> coalesce((select m.is_executable from _modes_now as m where m.entry_id = e.id), 0);
end;
