-- File effects: how the entry of a file changes when the driver has written or deleted the file.
-- The text that was written is the new head of the entry; a file that is new belongs to the project from then on. A
-- file that was deleted leaves the views of its run.
-- spec: @files @effects

-- views

-- Effects on files that have ended, with all that _take_file needs to know.
create view _file_effects as
select
    f.id as effect_id,
    f.kind,
    f.run_id,
    r.project_id,
    'project:' || r.project_id as scope,
    p.target as path,
    p.content_id,
    p.detail,
    x.detail as result,
    m.action,
    m.path as source,
    m.writer,
    m.loop_id,
    t.sequence as turn
from effects as f
cross join proposals as p on p.id = f.proposal_id
cross join runs as r on r.id = f.run_id
cross join commands as m on m.id = f.command_id
cross join effect_results as x on x.effect_id = f.id
left join turns as t on t.id = f.turn_id
where f.kind in ('file_write', 'file_delete');

-- Update the entry of a file to what an effect did: insert a row of _file_effects.
create view _take_file as
select *
from _file_effects
where false;

-- triggers

-- The new text is the head of the entry. A file that did not exist gets the constraint 'add', so that it belongs to the
-- project.
create trigger _take_file__write
instead of insert on _take_file
when new.kind = 'file_write'
begin
    insert into file_constraints (project_id, pattern, rule, created_at)
    select new.project_id, new.path, 'add', now()
    where not coalesce(json_extract(new.detail, '$.exists'), 0)
    on conflict (project_id, pattern) do nothing;
    insert into _write_entry (run_id, path, content_id, attributes, visibility, state, writer, turn, loop_id)
    values (
        new.run_id,
        new.path,
        new.content_id,
        -- a null takes away what the entry was: no text, or gone
        json_set(coalesce(json_extract(new.detail, '$.attributes'), '{}'), '$.kind', null, '$.picture', null),
        json_extract(new.detail, '$.visibility'),
        'resolved',
        new.writer,
        new.turn,
        new.loop_id
    );
    -- mv of an entry to a file: the source is removed now that the file is written
    delete from run_views
    where new.action = 'mv'
        and run_id = new.run_id
        and entry_id in (
            select o.entry_id from _run_paths as o where o.run_id = new.run_id and o.path = new.source and o.kind <> 'file'
        );
    update entries
    set hash = json_extract(new.result, '$.sha256')
    where scope = new.scope and path = new.path;
    insert or replace into file_stats (project_id, path, kind, size, mtime_ns, sha256)
    values (
        new.project_id, new.path, 'text', coalesce(json_extract(new.result, '$.size'), 0),
        coalesce(json_extract(new.result, '$.mtime_ns'), 0), json_extract(new.result, '$.sha256')
    );
    insert into _late_call (door, a, b)
    select door, new.run_id, new.path
    from _file_watchers
    where exists (select 1 from children where run_id = new.run_id or root_run_id = new.run_id);
end;

-- This run loses its view at once, and so do others of its tree; any other run with its next _sync_files.
-- The entry stays for the past.
create trigger _take_file__delete
instead of insert on _take_file
when new.kind = 'file_delete'
begin
    insert or replace into file_stats (project_id, path, kind, size, mtime_ns)
    values (new.project_id, new.path, 'missing', 0, 0);
    update entries
    set content_id = null,
        hash = null,
        attributes = '{"kind":"missing"}',
        since = (select max(id) + 1 from events)
    where scope = new.scope and path = new.path;
    delete from run_views
    where run_id = new.run_id
        and entry_id in (select id from entries where scope = new.scope and path = new.path);
    insert into _late_call (door, a, b)
    select door, new.run_id, new.path
    from _file_watchers
    where exists (select 1 from children where run_id = new.run_id or root_run_id = new.run_id);
end;
