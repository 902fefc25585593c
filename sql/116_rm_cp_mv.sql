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
            "body": {"type": "string", "description": "keep those whose text holds these words"},
            "manifest": {"type": "boolean", "description": "only list what the path finds, with its tokens"}
        }, "required": ["path"]}'),
        'remove entries'),
    ('cp', 70, 0, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "path": {"type": "string", "description": "the source, named exactly; a glob with manifest"},
            "to": {"type": "string", "description": "the destination; what stands there is overwritten"},
            "visibility": {
                "type": "string", "enum": ["visible", "summarized", "archived"],
                "description": "of the copy"},
            "manifest": {"type": "boolean", "description": "only list what the path finds, with its tokens"}
        }, "required": ["path", "to"]}'),
        'copy an entry'),
    ('mv', 80, 0, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "path": {"type": "string", "description": "the source, named exactly; a glob with manifest or visibility"},
            "to": {"type": "string", "description": "the new path; none: only the visibility changes"},
            "visibility": {
                "type": "string", "enum": ["visible", "summarized", "archived"],
                "description": "of what was moved"},
            "manifest": {"type": "boolean", "description": "only list what the path finds, with its tokens"}
        }, "required": ["path"]}'),
        'move an entry')
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

-- Propose the removal of a file: insert into _propose_removal (command_id, path). A path that is no file is ignored.
create view _propose_removal as
select id as command_id, path
from commands
where false;

-- Remove the entries of the engine that a command works on from a run's view: insert into _remove_entries (command_id,
-- run_id). Files stay until their proposals are accepted.
create view _remove_entries as
select id as command_id, run_id
from commands
where false;

-- triggers

-- The command is resolved here unless the removal of a file was proposed.
create trigger _run_command__rm
instead of insert on _run_command
when new.action = 'rm'
begin
    insert into _propose_removal (command_id, path)
    select command_id, path
    from _command_entries
    where command_id = new.id
    order by path;
    insert into _remove_entries (command_id, run_id) values (new.id, new.run_id);
    update commands
    set state = 'resolved', message = 'removed'
    where id = new.id and state = 'performing';
end;

-- Without a destination change the visibility. Otherwise write the body to the destination and, for mv, remove the
-- source.
create trigger _run_command__cp_mv
instead of insert on _run_command
when new.action in ('cp', 'mv')
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
    update commands
    set state = 'resolved', message = new.path || ' set to ' || json_extract(new.attributes, '$.visibility')
    where id = new.id and new.destination is null;
    insert into _write_body (command_id, path, attributes, visibility, edit)
    select
        new.id,
        new.destination,
        coalesce(
            (select attributes from _kept_attributes where command_id = new.id),
            nullif(json_object('tags', json_extract(b.attributes, '$.tags')), '{"tags":null}')
        ),
        json_extract(new.attributes, '$.visibility'),
        json_object('state', 'resolved', 'body', coalesce(b.body, ''))
    from _command_entries as t
    cross join _entry_bodies as b on b.run_id = new.run_id and b.entry_id = t.entry_id
    where t.command_id = new.id and new.destination is not null;
    insert into _remove_entries (command_id, run_id)
    select id, run_id
    from commands
    where id = new.id and action = 'mv' and path_scheme(destination) is not null and state = 'performing';
    insert into _propose_removal (command_id, path)
    select id, path
    from commands
    where id = new.id
        and action = 'mv'
        and destination is not null
        and state in ('performing', 'proposed', 'accepted');
    update commands
    set state = 'resolved',
        message = case when new.action = 'cp' then 'copied to ' else 'moved to ' end || new.destination
    where id = new.id and state = 'performing';
end;

-- Only the views of the run are deleted: the entries stay for other runs and for the past.
create trigger _remove_entries__remove
instead of insert on _remove_entries
begin
    delete from run_views
    where run_id = new.run_id
        and entry_id in (
            select t.entry_id
            from _command_entries as t
            cross join entries as e on e.id = t.entry_id
            where t.command_id = new.command_id and e.kind <> 'file'
        );
end;

-- The proposal keeps the hash of the file: the effect fails if the file has changed by then.
create trigger _propose_removal__propose
instead of insert on _propose_removal
begin
    insert into open_proposal (command_id, kind, target, detail)
    select c.id, 'file_delete', new.path, json_object('before', e.hash, 'diff', edit_diff(new.path, b.body, null))
    from commands as c
    cross join _run_paths as p on p.run_id = c.run_id and p.path = new.path
    cross join entries as e on e.id = p.entry_id and e.kind = 'file'
    left join contents as b on b.id = e.content_id
    where c.id = new.command_id and coalesce(json_extract(e.attributes, '$.kind'), '') <> 'missing';
end;
