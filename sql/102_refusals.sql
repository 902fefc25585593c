-- Refusals: why a command may not be performed at all, whatever it would find.
-- Asked when its turn comes, before anything is looked for: an unknown or closed tool, a path that is none, a scheme or a
-- record that is not the writer's, a command line run too often, ask mode, and what a plugin forbids.
-- spec: @dispatch_path @writer_tiers @failure_reporting

-- tables

-- Commands that a plugin forbids: its trigger 'after insert on commands' adds a row, and the command is refused when its
-- turn comes.
create table if not exists vetoes (
    command_id integer primary key constraint vetoes_command references commands (id) on delete cascade,
    outcome text not null default 'permission' constraint vetoes_outcome references outcomes (name),
    message text not null
) strict;

-- views

-- The paths at which a command writes.
create view written_paths as
select id as command_id, path
from commands
where action in ('set', 'rm', 'mv') and path is not null
union all
select id, destination
from commands
where action in ('cp', 'mv') and destination is not null;

-- Commands that decide on a proposal: a state set on its path, by anybody but the model.
create view deciding_commands as
select c.id as command_id
from commands as c
where c.action = 'set'
    and c.writer <> 'model'
    and json_extract(c.attributes, '$.state') is not null
    and exists (select 1 from proposals as p where p.run_id = c.run_id and p.path = c.path);

-- Why a command may not be performed; the least rank is told.
create view command_refusals as
select v.command_id, 5 as rank, v.outcome, v.message
from vetoes as v
union all
select c.id, 10, 'validation',
    'There is no tool <' || c.action || '>. Tools: ' || (
        select group_concat(name, ', ') from (select name from loop_tools where loop_id = c.loop_id order by ordinal)
    ) || '.'
from commands as c
where c.writer = 'model' and c.action not in (select name from tools)
union all
select c.id, 15, 'permission', 'The tool <' || c.action || '> is not open in this loop (mode ' || l.mode || ').'
from commands as c
join loops as l on l.id = c.loop_id
where c.writer = 'model'
    and c.action in (select name from tools)
    and c.action not in (select name from loop_tools where loop_id = c.loop_id)
union all
select c.id, 20, 'validation', 'Invalid path: ' || coalesce(path_error(c.path), path_error(c.destination))
from commands as c
where coalesce(path_error(c.path), path_error(c.destination)) is not null
    and c.action in (select action from entry_actions)
union all
-- a record may be hidden, its text is never touched; the text of a decision is no text of the record
select c.id, 25, 'method_not_allowed', 'log:// is a record and cannot be rewritten; keep what you learned in known://.'
from commands as c
where c.writer in ('model', 'client')
    and (
        (c.action = 'set' and path_scheme(c.path) = 'log' and c.body is not null)
        or (c.action in ('cp', 'mv') and path_scheme(c.destination) = 'log')
    )
    and not exists (select 1 from deciding_commands as d where d.command_id = c.id)
union all
-- what only reads is never refused; what writes needs a scheme that its writer may write. To decide is open to everybody
select c.id, 30, 'permission',
    '403: writer "' || c.writer || '" not permitted for scheme "' || coalesce(path_scheme(w.path), 'file') || '"'
from commands as c
join written_paths as w on w.command_id = c.id
where not path_is_pattern(w.path)
    and not exists (
        select 1
        from scheme_writers as sw
        where sw.writer = c.writer
            and sw.scheme = coalesce((select name from schemes where name = coalesce(path_scheme(w.path), 'file')), '*')
    )
    and not exists (select 1 from deciding_commands as d where d.command_id = c.id)
union all
select c.id, 35, 'repeated',
    'Refused: this loop ran it ' || case s.value when '1' then 'once' when '2' then 'twice' else s.value || ' times' end
    || ' already, once more tells nothing new. Read what it printed, or run something else.'
from commands as c
cross join settings as s on s.name = 'max_repeated_commands' and cast(s.value as integer) > 0
where c.writer = 'model'
    and c.action in ('sh', 'env')
    and (
        select count(*)
        from turns as t
        cross join commands as o on o.turn_id = t.id
        where t.loop_id = c.loop_id
            and o.id < c.id
            and o.action in ('sh', 'env')
            and coalesce(o.outcome, '') not in ('aborted', 'rejected', 'cancelled', 'permission', 'validation')
            and trim((select b.body from command_bodies as b where b.command_id = o.id), char(32, 9, 10, 13))
            = trim(c.body, char(32, 9, 10, 13))
    ) >= cast(s.value as integer)
union all
select c.id, 40, 'permission', 'Rejected: ask mode changes no file (' || coalesce(c.destination, c.path, 'a patch') || ').'
from commands as c
join loops as l on l.id = c.loop_id
where c.writer = 'model'
    and l.mode = 'ask'
    and json_extract(c.attributes, '$.manifest') is null
    and (
        (c.action = 'set' and c.body is not null and path_scheme(c.path) is null)
        or (c.action = 'rm' and path_scheme(c.path) is null)
        or (c.action = 'mv' and c.destination is not null and path_scheme(c.path) is null)
        or (c.action in ('cp', 'mv') and c.destination is not null and path_scheme(c.destination) is null)
    );

-- Refuse a command: insert into refused_commands (command_id, outcome, message).
create view refused_commands as
select id as command_id, outcome, message
from commands
where false;

-- triggers

-- SQLite does not say which of two triggers is first: a veto that comes when a command from outside is performed already
-- undoes it.
create trigger vetoes__undo
after insert on vetoes
when (select turn_id is null and state <> 'queued' from commands where id = new.command_id)
begin
    select fail(
        (select status from outcomes where name = new.outcome), action || ' ' || coalesce(path, '') || ': ' || new.message
    )
    from commands
    where id = new.command_id;
end;

create trigger refused_commands__refuse
instead of insert on refused_commands
begin
    update commands
    set state = 'failed', outcome = new.outcome, message = new.message
    where id = new.command_id;
end;
