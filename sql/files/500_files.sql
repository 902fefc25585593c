-- Files: the project's files as entries of project scope.
-- The driver lists the files on disk, reads those that are new or changed, and reports each. Its text becomes the head of
-- the file's entry, which every run of the project follows. A file is archived until the model reads it, so a large
-- project costs nothing but its manifest.
-- spec: @files @project_manifest @filesystem_freshness

-- tables

-- What was on disk when each file was last read. A file of the same size and time is not read again.
create table if not exists file_stats (
    project_id integer not null constraint file_stats_project references projects (id) on delete cascade,
    path text not null,
    kind text not null
        constraint file_stats_kind check (kind in ('text', 'binary', 'too_large', 'unreadable', 'missing')),
    size integer not null,
    -- -1: the file is new or changed, and is to be read
    mtime_ns integer not null,
    sha256 text,
    -- what a picture is, as JSON: format, width, height; or format and fault; null: it is none
    picture text constraint file_stats_picture_json check (picture is null or json_valid(picture)),
    primary key (project_id, path)
) strict, without rowid;

-- The files whose names may be of instructions (430) or skills (440): they end as AGENTS.md, SKILL.md, .cursorrules or
-- copilot-instructions.md do.
-- One pattern for all, because each file that is read is compared with it.
create index if not exists idx_file_stats_instructions on file_stats (project_id, path)
where path glob '*[A-Zrn][A-Zus][.l][me][ds]';

-- The files whose names are not of ASCII alone: Unicode has several spellings of some letters (504).
create index if not exists idx_file_stats_spelled on file_stats (project_id, path)
where path glob '*[^ -~]*';

-- views

-- The files that end as those with instructions and skills do, README.md among them.
create view _guidance_files as
select project_id, path, kind
from file_stats indexed by idx_file_stats_instructions
where path glob '*[A-Zrn][A-Zus][.l][me][ds]';

-- The doors (run_id, path) that are called late when a run that has a tree has seen its files, or has written one. A part
-- gives their names.
create view _file_watchers as
select null as door
where false;

create view project_files as
-- The files of each project, as the last scan found them. chars and lines are null for a file without text.
select
    p.name as project,
    p.root,
    f.path,
    f.kind,
    f.size,
    c.chars,
    c.lines,
    f.sha256
from file_stats as f
join projects as p on p.id = f.project_id
left join entries as e on e.scope = 'project:' || p.id and e.path = f.path
left join contents as c on c.id = e.content_id
where f.kind <> 'missing';

-- Files without a text that can be shown, and why. is_picture: 1 for one that get can bring all the same, else
-- null or 0 (126).
create view _unreadable_files as
select
    e.id as entry_id,
    case f.kind when 'too_large' then 'overflow' when 'missing' then 'not_found' else 'unsupported' end as outcome,
    coalesce(e.shown_path, e.path) || case f.kind
        when 'too_large' then ': ' || f.size || ' bytes are too many to read whole; look into it with <env>'
        when 'binary' then ': is a ' || picture_line(f.picture, f.size)
        when 'missing' then ' not found'
        else ': ' || coalesce(json_extract(e.attributes, '$.reason'), 'cannot be read')
    end as message,
    f.picture glob '*"width"*' as is_picture,
    -- for a line of a list
    case f.kind
        when 'too_large' then 'too large, ' || f.size || ' bytes'
        when 'binary' then picture_line(f.picture, f.size)
        when 'missing' then 'missing'
        else coalesce(json_extract(e.attributes, '$.reason'), 'cannot be read')
    end as short
from entries as e
cross join file_stats as f on f.project_id = cast(substr(e.scope, 9) as integer) and f.path = e.path
where e.kind = 'file' and f.kind <> 'text';

create view _report_listing as
-- Report which files of a project are on disk: insert into _report_listing (project_id, listing, is_partial). 'listing'
-- is a JSON object from path to [size, mtime_ns], to [size, mtime_ns, 1] for one that may be executed, or to null for a
-- file that is gone. New and changed files are then in _unread_files. What is not listed is missing, unless is_partial is 1.
select id as project_id, null as listing, 0 as is_partial
from projects
where false;

create view _unread_files as
-- Files that are new or changed on disk, until _report_file reports them.
select project_id, path
from file_stats
where mtime_ns = -1;

create view _report_file as
-- Report a file as it is on disk: insert into _report_file (project_id, path, kind, size, mtime_ns, sha256, text,
-- leads_to, picture, is_executable, reason). 'leads_to' is the file that a symbolic link leads to, null for a file that is
-- none; 'picture' is what picture_facts says of its bytes; 'is_executable' is 1 where its owner may execute it; 'reason'
-- says why an unreadable file cannot be read.
select
    project_id, path, kind, size, mtime_ns, sha256, null as text, null as leads_to, picture, null as is_executable,
    null as reason
from file_stats
where false;

create view _sync_files as
-- Give a run a view of each file of its project, and take away those of missing files: insert into _sync_files (run_id,
-- turn_id).
select run_id, id as turn_id
from turns
where false;

-- The files of a run's project are as they were found: insert into _end_scan (run_id, turn_id). A part reads here what it
-- makes of some of them.
create view _end_scan as
select run_id, id as turn_id
from turns
where false;

-- triggers

-- A file that is new, changed or gone gets the time -1, by which _unread_files names it.
create trigger _report_listing__compare
instead of insert on _report_listing
begin
    select fail(404, 'project ' || quote(new.project_id) || ': not found; see the table projects')
    where not exists (select 1 from projects where id = new.project_id);
    select fail(
        400, 'project ' || new.project_id || ': a listing must be a JSON object from path to [size, mtime_ns], not '
        || quote(substr(new.listing, 1, 80))
    )
    where case when json_valid(new.listing) then json_type(new.listing) else '' end <> 'object';
    insert into _report_file (project_id, path, kind, size, mtime_ns)
    select project_id, path, 'missing', 0, 0
    from file_stats
    where project_id = new.project_id
        and not coalesce(new.is_partial, 0)
        and (kind <> 'missing' or mtime_ns = -1)
        and path not in (select key from json_each(new.listing));
    insert into file_stats (project_id, path, kind, size, mtime_ns)
    select new.project_id, d.key, 'missing', 0, -1
    from json_each(new.listing) as d
    left join file_stats as s on s.project_id = new.project_id and s.path = d.key and s.kind <> 'missing'
    where case
            when s.path is null then d.value is not null
            when d.key in (select x.path from _executable_files as x where x.scope = 'project:' || new.project_id)
                then json_array(s.size, s.mtime_ns, 1) is not d.value
            else json_array(s.size, s.mtime_ns) is not d.value
        end
    on conflict (project_id, path) do update set mtime_ns = -1;
end;

create trigger _report_file__take
instead of insert on _report_file
begin
    select fail(404, 'project ' || quote(new.project_id) || ': not found; see the table projects')
    where not exists (select 1 from projects where id = new.project_id);
    insert into entries (scope, path, scheme, kind, shown_path)
    select 'project:' || new.project_id, new.path, null, 'file', fence_path(new.path)
    where not exists (select 1 from entries where scope = 'project:' || new.project_id and path = new.path);
    insert into _note_mode (project_id, path, is_executable)
    select new.project_id, new.path, new.is_executable
    where new.is_executable is not null and new.kind <> 'missing';
    insert into _store_content (path, body)
    select
        -- without a path it is summarized by its beginning, until it is shown (_summarize_file)
        case
            when exists (
                select 1
                from loops as l
                join run_views as v on v.run_id = l.run_id and v.entry_id = e.id and v.visibility <> 'archived'
                where l.status = 102
            )
                then new.path
        end,
        new.text
    from entries as e
    where e.scope = 'project:' || new.project_id
        and e.path = new.path
        and new.text is not null
        and (e.hash is not new.sha256 or e.content_id is null);
    update entries
    set content_id = case
            when new.text is null then null
            when hash is new.sha256 and content_id is not null then content_id
            else (select max(id) from contents)
        end,
        hash = new.sha256,
        attributes = nullif(
            json_patch(
                '{}',
                json_object(
                    'kind', case when new.kind <> 'text' then new.kind end,
                    'leads_to', new.leads_to,
                    'reason', new.reason,
                    'picture', case when new.picture is not null then picture_line(new.picture, new.size) end
                )
            ),
            '{}'
        ),
        since = (select coalesce(max(id), 0) + 1 from events)
    where scope = 'project:' || new.project_id
        and path = new.path
        and (
            hash is not new.sha256
            or coalesce(json_extract(attributes, '$.kind'), 'text') <> new.kind
            or json_extract(attributes, '$.leads_to') is not new.leads_to
            or json_extract(attributes, '$.reason') is not new.reason
            or (new.picture is not null and json_extract(attributes, '$.picture') is null)
        );
    insert or replace into file_stats (project_id, path, kind, size, mtime_ns, sha256, picture)
    values (new.project_id, new.path, new.kind, new.size, new.mtime_ns, new.sha256, new.picture);
end;

-- A new view has the default visibility of files. The first time, a log entry is written that lists all files with
-- their tokens (the manifest).
create trigger _sync_files__sync
instead of insert on _sync_files
begin
    select fail(404, 'run ' || quote(new.run_id) || ': not found; see the table runs')
    where not exists (select 1 from runs where id = new.run_id);
    insert into _note_spellings (project_id)
    select project_id
    from runs
    where id = new.run_id;
    delete from run_views
    where run_id = new.run_id
        and entry_id in (
            select e.id
            from file_stats as f
            join runs as r on r.id = new.run_id and r.project_id = f.project_id
            join entries as e on e.scope = 'project:' || f.project_id and e.path = f.path
            where f.kind = 'missing'
        );
    insert into run_views (run_id, entry_id, visibility, state, writer, turn, last_used_turn, since)
    select
        new.run_id, e.id, s.default_visibility, 'resolved', 'system', 0, 0,
        (select coalesce(max(id), 0) + 1 from events)
    from runs as r
    join file_stats as f on f.project_id = r.project_id and f.kind <> 'missing'
    join entries as e on e.scope = 'project:' || r.project_id and e.path = f.path
    join schemes as s on s.name = 'file'
    where r.id = new.run_id
        and not exists (select 1 from run_views as v where v.run_id = new.run_id and v.entry_id = e.id);
    insert into _late_call (door, a)
    select door, new.run_id
    from _file_watchers
    where exists (select 1 from children where run_id = new.run_id or root_run_id = new.run_id);
    insert into _end_scan (run_id, turn_id)
    values (new.run_id, new.turn_id);
    insert into _write_entry (run_id, path, body, attributes, visibility, state, writer, turn)
    select
        new.run_id,
        'log://turn_0/repo/manifest',
        m.body,
        json_object('action', 'repo', 'target', 'manifest'),
        'visible',
        'resolved',
        'system',
        0
    from (
        select
            manifest_text(
                json_group_array(json_array(
                    path, chars,
                    case
                        when chars is null then (select u.short from _unreadable_files as u where u.entry_id = f.entry_id)
                    end
                )),
                (
                    select o.chars_per_token
                    from _list_rooms as o
                    where o.loop_id = (select loop_id from turns where id = new.turn_id)
                ),
                (
                    select o.room
                    from _list_rooms as o
                    where o.loop_id = (select loop_id from turns where id = new.turn_id)
                )
            ) as body
        from (
            select e.path, e.id as entry_id, c.chars
            from runs as r
            join file_stats as f on f.project_id = r.project_id and f.kind <> 'missing'
            join entries as e on e.scope = 'project:' || r.project_id and e.path = f.path
            left join contents as c on c.id = e.content_id
            where r.id = new.run_id
            order by f.path
        ) as f
    ) as m
    where m.body is not null
        and not exists (
            select 1 from _run_paths where run_id = new.run_id and path = 'log://turn_0/repo/manifest'
        );
end;

-- A module whose files are there comes first: this fails, and whoever scans takes it in and tries again.
create trigger _end_scan__note
instead of insert on _end_scan
begin
    select needs_module(o.module)
    from runs as r
    cross join module_offers as o on o.kind = 'file' and o.module not in (select name from engine_modules)
    where r.id = new.run_id
        and exists (
            select 1
            from _guidance_files as f
            where f.project_id = r.project_id and f.kind <> 'missing' and f.path glob o.name
        );
    -- another process may have aborted it in the meantime
    update turns
    set scanned = 1
    where id = new.turn_id and phase <> 'judged';
end;
