-- rm, cp, mv: remove, copy and rename entries.
-- rm removes an entry of the engine at once, and proposes the removal of each file. cp and mv take one entry and write
-- its body to the destination as a set does. mv then removes the source: an entry of the engine at once or, where the
-- destination is a file, when that file is written; a file by a second proposal. mv without a destination changes only
-- the visibility.
-- spec: @verb_rm @verb_cp @verb_mv

-- seeds

insert into tools (name, ordinal, gathers, advertised, modes, hidden_by, schema, meaning) values
    ('rm', 60, 0, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "path": {"type": "string", "description": "a file, an entry such as known://topic, or a glob over them"},
            "body": {"type": "string", "description": "only entries whose text has these words"},
            "manifest": {"type": "boolean", "description": "only list what the path finds, with its tokens"}
        }, "required": ["path"]}'),
        'remove or delete entries and files'),
    ('cp', 70, 0, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "path": {"type": "string", "description": "the source, named exactly; a glob with manifest"},
            "to": {"type": "string", "description": "the destination; an entry there is replaced"},
            "visibility": {
                "type": "string", "enum": ["visible", "summarized", "archived"],
                "description": "of the copy"},
            "manifest": {"type": "boolean", "description": "only list what the path finds, with its tokens"}
        }, "required": ["path", "to"]}'),
        'copy an entry or a file'),
    ('mv', 80, 0, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "path": {"type": "string", "description": "the source, named exactly; a glob with manifest or visibility"},
            "to": {"type": "string", "description": "the new path; none: only the visibility changes"},
            "visibility": {
                "type": "string", "enum": ["visible", "summarized", "archived"],
                "description": "of what was moved"},
            "manifest": {"type": "boolean", "description": "only list what the path finds, with its tokens"}
        }, "required": ["path"]}'),
        'move or rename an entry or a file')
on conflict (name) do update
    set ordinal = excluded.ordinal, gathers = excluded.gathers, advertised = excluded.advertised,
        modes = excluded.modes, hidden_by = excluded.hidden_by, schema = excluded.schema, meaning = excluded.meaning;

insert into _entry_actions (action, needs, example, forbidden) values
    ('rm', 'a path', '<rm path="known://topic"/>', 'may not remove'),
    ('cp', 'a path and a destination', '<cp path="a" to="b"/>', null),
    ('mv', 'a path and a destination', '<mv path="a" to="b"/>', 'may not move')
on conflict (action) do update
    set needs = excluded.needs, example = excluded.example, forbidden = excluded.forbidden;

-- views

-- Remove an entry of the engine from the view of a command's run, or propose the removal of a file: insert into
-- _remove_entry (command_id, path). A path without an entry is ignored.
create view _remove_entry as
select id as command_id, path
from commands
where false;

-- triggers

-- The command is resolved here unless the removal of a file was proposed.
create trigger _run_rm__run
instead of insert on _run_rm
begin
    insert into _check_body (command_id, path, whole)
    select command_id, path, 1
    from _command_entries
    where command_id = new.id and path_scheme(path) is null;
    insert into _remove_entry (command_id, path)
    select t.command_id, t.path
    from _command_entries as t
    cross join commands as c on c.id = t.command_id and c.state = 'performing'
    where t.command_id = new.id
    order by t.path;
    insert into _resolve_command (command_id, message) values (new.id, 'removed');
end;

-- Without a destination change the visibility. Otherwise write the body to the destination and, for mv, remove the
-- source.
create trigger _run_cp_mv__run
instead of insert on _run_cp_mv
begin
    insert into _show_entry (run_id, entry_id, visibility, turn)
    select
        new.run_id, t.entry_id, json_extract(new.attributes, '$.visibility'),
        (select sequence from turns where id = new.turn_id)
    from _command_entries as t
    cross join run_views as v on v.run_id = new.run_id and v.entry_id = t.entry_id
    where t.command_id = new.id
        and new.destination is null
        and v.visibility <> json_extract(new.attributes, '$.visibility');
    insert into _resolve_command (command_id, message)
    select new.id, new.path || ' set to ' || json_extract(new.attributes, '$.visibility')
    where new.destination is null;
    insert into _write_body (command_id, path, attributes, visibility, edit)
    select
        new.id,
        new.destination,
        coalesce(
            (select attributes from _kept_attributes where command_id = new.id),
            nullif(json_object('tags', json_extract(b.attributes, '$.tags')), '{"tags":null}')
        ),
        json_extract(new.attributes, '$.visibility'),
        json_object('state', 'resolved', 'body', coalesce(b.body, ''), 'whole', 1,
            'exact', b.kind = 'file',
            -- a script that is moved, or copied to a new file, stays one
            'executable', case
                when b.kind = 'file'
                    and (new.action = 'mv' or not exists (
                        select 1 from _run_paths as p where p.run_id = new.run_id and p.path = new.destination
                    ))
                    then (select nullif(n.is_executable, 0) from _modes_now as n where n.entry_id = b.entry_id)
            end,
            'warnings', json(case
            when exists (select 1 from _run_paths as p where p.run_id = new.run_id and p.path = new.destination)
                then '["what was there is overwritten"]'
            else '[]'
        end))
    from _command_entries as t
    cross join _entry_bodies as b on b.run_id = new.run_id and b.entry_id = t.entry_id
    where t.command_id = new.id and new.destination is not null;
    -- where the destination is a file, an entry of the engine stays until it is written
    insert into _remove_entry (command_id, path)
    select id, path
    from commands
    where id = new.id
        and action = 'mv'
        and destination is not null
        and (state = 'performing' or (state in ('proposed', 'accepted') and path_scheme(path) is null));
    insert into _resolve_command (command_id, message)
    select
        id,
        case when action = 'cp' then 'copied to ' else 'moved to ' end || destination || coalesce('; ' || message, '')
    from commands
    where id = new.id and destination is not null;
end;

-- Only the view of the run is deleted: the entry stays for other runs and for the past. The proposal keeps the hash of
-- the file: the effect fails if the file has changed by then.
create trigger _remove_entry__remove
instead of insert on _remove_entry
begin
    delete from run_views
    where path_scheme(new.path) is not null
        and (run_id, entry_id) = (
            select c.run_id, p.entry_id
            from commands as c
            cross join _run_paths as p on p.run_id = c.run_id and p.path = new.path
            where c.id = new.command_id
        );
    insert into _open_proposal (command_id, kind, target, detail)
    select c.id, 'file_delete', new.path, json_object('before', e.hash, 'diff', edit_diff(new.path, b.body, null))
    from commands as c
    cross join _run_paths as p on p.run_id = c.run_id and p.path = new.path
    cross join entries as e on e.id = p.entry_id and e.kind = 'file'
    left join contents as b on b.id = e.content_id
    where c.id = new.command_id and coalesce(json_extract(e.attributes, '$.kind'), '') <> 'missing';
end;
