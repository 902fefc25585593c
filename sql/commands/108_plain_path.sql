-- The plain path: how most commands are performed.
-- Most commands give one entry of the engine a new body, or are an update or a thought. No rule refuses these, they have no
-- fault and open no proposal, so _perform_plain leaves the same rows as the long way (107) with fewer statements.
-- spec: @plain_path

-- views

-- Queued commands without a refusal or a fault that need no look-up of entries. A set is plain if it gives one entry of
-- the engine a whole new body and nothing else: no edit, no pattern, no visibility; its writer may write the scheme,
-- and the body is below the size limit.
create view _plain_commands as
select c.id as command_id
from commands as c
-- a path that is not in its canonical form takes the long way
left join schemes as s on s.name = substr(c.path, 1, instr(c.path, '://') - 1)
where c.state = 'queued'
    and (
        (
            c.action = 'set'
            and c.body is not null
            and c.destination is null
            and s.default_scope = 'run'
            -- one by one: SQLite makes a table of a list of more than two values
            and s.name <> 'run'
            and s.name <> 'log'
            and s.name <> 'unknown'
            -- none of these is given
            and (
                c.attributes in ('{}', '{"attributes":{}}')
                or json_extract(
                    c.attributes, '$.visibility', '$.state', '$.outcome', '$.append', '$.pattern', '$.filter', '$.manifest'
                ) = '[null,null,null,null,null,null,null]'
            )
            and (
                not s.gated
                or length(c.body) <= (select 2 * cast(value as integer) from settings where name = 'max_entry_tokens')
            )
            and not path_is_pattern(c.path)
            and path_error(c.path) is null
            and exists (select 1 from _scheme_writers as w where w.scheme = s.name and w.writer = c.writer)
            and (c.writer <> 'model' or not edit_has_marks(c.body))
        )
        or (c.action = 'think' and c.writer = 'model')
        or (
            c.action = 'update'
            and c.writer = 'model'
            and cast(coalesce(json_extract(c.attributes, '$.status'), 102) as text) in ('102', '200', '204', '422')
        )
    )
    and not exists (select 1 from vetoes as v where v.command_id = c.id)
    and (
        c.turn_id is null
        or c.action = 'update'
        or not exists (select 1 from _aborting_commands as f where f.turn_id = c.turn_id)
    )
    and (
        c.writer <> 'model'
        or exists (select 1 from _loop_tools as o where o.loop_id = c.loop_id and o.name = c.action)
    );

-- Perform a command if it is plain: insert into _perform_plain (command_id).
create view _perform_plain as
select id as command_id
from commands
where false;

-- triggers

-- A set writes its entry, an update keeps its status (102 where none is given), and the log entry of a thought is
-- archived.
create trigger _perform_plain__perform
instead of insert on _perform_plain
when exists (select 1 from _plain_commands where command_id = new.command_id)
begin
    -- triggers of plugins on 'performing' run as for any other command
    update commands
    set state = 'performing',
        entry_id = case
            when action = 'set'
                then (select p.entry_id from _run_paths as p where p.run_id = commands.run_id and p.path = commands.path)
        end
    where id = new.command_id;
    insert into _write_found (entry_id, run_id, path, body, attributes, visibility, state, writer, turn, loop_id)
    select
        c.entry_id, c.run_id, c.path, c.body, k.attributes, 'visible', 'resolved', c.writer,
        (select sequence from turns where id = c.turn_id), c.loop_id
    from commands as c
    join _kept_attributes as k on k.command_id = c.id
    where c.id = new.command_id and c.state = 'performing' and c.action = 'set';
    update commands
    set state = 'resolved',
        message = case action when 'update' then trim(coalesce(body, ''), char(32, 9, 10, 13)) else '' end,
        attributes = case action
            when 'update'
                then json_set(attributes, '$.status', cast(coalesce(json_extract(attributes, '$.status'), '102') as integer))
            else attributes
        end,
        quiet = action = 'think'
    where id = new.command_id and state = 'performing';
end;
