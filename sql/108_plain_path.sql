-- The plain path: a short way for commands that need no check of entries and no decision.
-- Most commands give one entry of the engine a new body, or are an update or a thought. _plain_commands lists those
-- that no rule refuses, that have no fault and that open no proposal. On the plain path they leave the same rows as all
-- steps of perform_command would, with fewer statements.
-- spec: @plain_path

-- views

-- Queued commands without a refusal or a fault that need no look-up of entries. A set is plain if it gives one entry of
-- the engine a whole new body and nothing else: no edit, no pattern, no visibility; its writer may write the scheme,
-- and the body is below the size limit.
create view _plain_commands as
select c.id as command_id
from commands as c
left join schemes as s on s.name = path_scheme(c.path)
where c.state = 'queued'
    and case c.action
        when 'set'
            then c.body is not null
                and c.destination is null
                and s.default_scope = 'run'
                and s.name not in ('run', 'log', 'unknown')
                and coalesce(
                    json_extract(c.attributes, '$.visibility'), json_extract(c.attributes, '$.state'),
                    json_extract(c.attributes, '$.outcome'), json_extract(c.attributes, '$.append'),
                    json_extract(c.attributes, '$.pattern'), json_extract(c.attributes, '$.filter'),
                    json_extract(c.attributes, '$.manifest')
                ) is null
                and (
                    not s.gated
                    or length(c.body) <= (select 2 * cast(value as integer) from settings where name = 'max_entry_tokens')
                )
                and not path_is_pattern(c.path)
                and path_error(c.path) is null
                and exists (select 1 from scheme_writers as w where w.scheme = s.name and w.writer = c.writer)
                and (c.writer <> 'model' or not edit_has_marks(c.body))
        when 'think' then c.writer = 'model'
        when 'update'
            then c.writer = 'model'
                and cast(coalesce(json_extract(c.attributes, '$.status'), 102) as text) in ('102', '200', '204', '422')
    end
    and not exists (select 1 from vetoes as v where v.command_id = c.id)
    and (
        c.turn_id is null
        or c.action = 'update'
        or not exists (select 1 from commands as f where f.turn_id = c.turn_id and f.state in ('failed', 'cancelled'))
    )
    and (
        c.writer <> 'model'
        or exists (select 1 from loop_tools as o where o.loop_id = c.loop_id and o.name = c.action)
    );

-- Perform a plain command: insert into _perform_plain (command_id).
create view _perform_plain as
select id as command_id
from commands
where false;

-- triggers

-- A set writes its entry, an update keeps its status (102 where none is given), and the log entry of a thought is
-- archived.
create trigger _perform_plain__perform
instead of insert on _perform_plain
begin
    -- triggers of plugins on 'performing' run as for any other command
    update commands
    set state = 'performing',
        entry_id = case
            when action = 'set'
                then (select p.entry_id from _run_paths as p where p.run_id = commands.run_id and p.path = commands.path)
        end
    where id = new.command_id;
    insert into write_entry (run_id, path, body, attributes, visibility, state, writer, turn, loop_id)
    select
        c.run_id, c.path, c.body, k.attributes, 'visible', 'resolved', c.writer,
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
