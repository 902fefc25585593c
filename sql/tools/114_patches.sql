-- Patches: several files changed by one set, all or none.
-- The body of a model's set is a patch where it is an apply_patch block, which names its files itself, or a unified
-- diff of the file that the set names. A patch never becomes the text of an existing file, unless that file is a patch
-- already. Everything is computed before anything is proposed. The proposals of a patch are done together or not at
-- all.
-- spec: @patches

-- views

-- Apply the body of a set that is a patch: insert into _apply_patch (command_id, run_id, path, patch). 'patch' is the
-- JSON of patch_parse. A diff of other files than 'path' does nothing here: it is written as a text like any other.
create view _apply_patch as
select id as command_id, run_id, path, null as patch
from commands
where false;

-- Open the proposals of a patch: insert into _propose_patch (command_id, files). 'files' is a JSON array with an object
-- for each file: what becomes of it, or the outcome and message of its error.
create view _propose_patch as
select id as command_id, null as files
from commands
where false;

-- triggers

-- Fail a patch that cannot be read, and one that does not change the file that the set names. Otherwise compute what
-- becomes of each file.
create trigger _apply_patch__apply
instead of insert on _apply_patch
when json_extract(new.patch, '$.form') = 'codex'
    or (json_extract(new.patch, '$.form') = 'unified' and json_extract(new.patch, '$.error') is not null)
    or new.path in (
        select path_locate(f.value ->> n.value, (select roots from _run_roots where run_id = new.run_id))
        from json_each(new.patch, '$.files') as f
        join json_each('["$.path","$.to"]') as n
    )
    -- a diff of another file may be written as a text, but it does not replace an existing file that is no patch
    or (
        (json_extract(new.patch, '$.form') <> 'embedded' or json_extract(new.patch, '$.error') is not null)
        and exists (
            select 1
            from _run_paths as p
            join entries as e on e.id = p.entry_id
            join contents as b on b.id = e.content_id
            where p.run_id = new.run_id and p.path = new.path and patch_parse(b.body) ->> '$.form' is null
        )
    )
begin
    insert into _fail_command (command_id, fault)
    select
        new.command_id,
        'validation: ' || coalesce(
            json_extract(new.patch, '$.error'),
            'The patch changes ' || (
                select group_concat(f.value ->> '$.path', ', ') from json_each(new.patch, '$.files') as f
            ) || ', the set names ' || new.path || ': leave the path out. To keep the patch as a text, wrap it in <<NEW.'
        )
    where json_extract(new.patch, '$.error') is not null
        or new.path not in (
            select path_locate(f.value ->> n.value, (select roots from _run_roots where run_id = new.run_id))
            from json_each(new.patch, '$.files') as f
            join json_each('["$.path","$.to"]') as n
            where f.value ->> n.value is not null
        );
    insert into _propose_patch (command_id, files)
    select
        new.command_id,
        (
            select json_group_array(json_object(
                    'action', f.action,
                    'path', f.path,
                    'to', f.destination,
                    'hash', e.hash,
                    'leads_to', json_extract(e.attributes, '$.leads_to'),
                    -- a script that is moved stays one
                    'executable', case
                        when f.destination is not null
                            then (select nullif(n.is_executable, 0) from _modes_now as n where n.entry_id = e.id)
                    end,
                    'old', b.body,
                    'edit', json(patch_apply(b.body, f.change)),
                    'outcome', case
                        when coalesce(path_scheme(f.path), path_scheme(f.destination)) is not null then 'validation'
                        when coalesce(path_error(f.path), path_error(f.destination)) is not null then 'validation'
                        when d.id is not null then 'conflict'
                        else coalesce(
                            (select u.outcome from _unreadable_files as u where u.entry_id = e.id),
                            patch_apply(b.body, f.change) ->> '$.outcome'
                        )
                    end,
                    'message', case
                        when coalesce(path_scheme(f.path), path_scheme(f.destination)) is not null
                            then 'A patch changes files; write ' || f.path || ' with a set of its own.'
                        when coalesce(path_error(f.path), path_error(f.destination)) is not null
                            then 'Invalid path: ' || coalesce(path_error(f.path), path_error(f.destination))
                        when d.id is not null
                            then f.destination || ' exists already: ' || f.path || ' cannot be moved there.'
                        else coalesce(
                            (select u.message from _unreadable_files as u where u.entry_id = e.id),
                            patch_apply(b.body, f.change) ->> '$.message'
                        )
                    end
                ))
            from (
                select
                    key,
                    value as change,
                    value ->> '$.action' as action,
                    path_locate(value ->> '$.path', g.roots) as path,
                    nullif(path_locate(value ->> '$.to', g.roots), path_locate(value ->> '$.path', g.roots)) as destination
                from _run_roots as g
                join json_each(new.patch, '$.files')
                where g.run_id = new.run_id
                order by key
            ) as f
            left join entries as e
                on e.id = (select p.entry_id from _run_paths as p where p.run_id = new.run_id and p.path = f.path)
            left join contents as b on b.id = e.content_id
            left join entries as d
                on d.id = (select p.entry_id from _run_paths as p where p.run_id = new.run_id and p.path = f.destination)
        )
    from commands as c
    where c.id = new.command_id and c.state = 'performing';
end;

-- Fail the command where a file is named twice or a change does not apply. Otherwise propose each write, then each
-- removal.
create trigger _propose_patch__propose
instead of insert on _propose_patch
begin
    insert into _fail_command (command_id, fault)
    select
        new.command_id,
        'validation: The patch makes ' || coalesce(f.value ->> '$.to', f.value ->> '$.path')
        || ' twice: name it once.'
    from json_each(new.files) as f
    group by coalesce(f.value ->> '$.to', f.value ->> '$.path')
    having count(*) > 1
    limit 1;
    insert into _fail_command (command_id, fault)
    select
        new.command_id,
        (f.value ->> '$.outcome') || ': ' || (f.value ->> '$.message') || case
            when json_array_length(new.files) > 1 then char(10) || 'No file of the patch was changed.'
            else ''
        end
    from json_each(new.files) as f
    where f.value ->> '$.outcome' is not null
    order by f.key
    limit 1;
    -- a removal, and an addition over a file, name nothing of the text that is there
    insert into _check_body (command_id, path, whole)
    select new.command_id, f.value ->> '$.path', 1
    from json_each(new.files) as f
    where f.value ->> '$.action' in ('add', 'delete');
    -- marked before the first proposal, so that all of them are done together or not at all
    update commands
    set attributes = json_set(attributes, '$.together', 1),
        message = (
            select group_concat(line, char(10)) from (
                select case
                        when f.value ->> '$.to' is not null
                            then 'moved ' || (f.value ->> '$.path') || ' to ' || (f.value ->> '$.to')
                        when f.value ->> '$.action' = 'delete' then 'removed ' || (f.value ->> '$.path')
                        when f.value ->> '$.action' = 'add' then 'added ' || (f.value ->> '$.path')
                        else 'changed ' || (f.value ->> '$.path')
                    end || coalesce(
                        ' (' || (select group_concat(value, '; ') from json_each(f.value, '$.edit.warnings')) || ')', ''
                    ) as line
                from json_each(new.files) as f
                order by f.key
            )
        )
    where id = new.command_id and state = 'performing';
    insert into _open_proposal (command_id, kind, target, body, detail)
    select
        w.command_id, 'file_write', w.path, w.body,
        json_object(
            'before', w.hash,
            'exists', w.hash is not null,
            'visibility', w.visibility,
            'attributes', json(w.attributes),
            'leads_to', w.leads_to,
            'executable', w.executable,
            'moved_from', w.moved_from,
            'diff', edit_diff(
                w.path || coalesce(' -> ' || coalesce(fence_path(w.leads_to), w.leads_to), ''), w.old_body, w.body
            )
        )
    from (
        select
            c.id as command_id,
            f.key,
            coalesce(f.value ->> '$.to', f.value ->> '$.path') as path,
            -- a moved file is a new file under its new path
            case when f.value ->> '$.to' is null then f.value ->> '$.hash' end as hash,
            case when f.value ->> '$.to' is null then f.value ->> '$.old' end as old_body,
            case when f.value ->> '$.to' is null then f.value ->> '$.leads_to' end as leads_to,
            case when f.value ->> '$.to' is not null then f.value ->> '$.path' end as moved_from,
            f.value ->> '$.executable' as executable,
            f.value ->> '$.edit.body' as body,
            k.attributes,
            json_extract(c.attributes, '$.visibility') as visibility
        from commands as c
        join _kept_attributes as k on k.command_id = c.id
        join json_each(new.files) as f
        where c.id = new.command_id
            and c.state <> 'failed'
            and f.value ->> '$.action' <> 'delete'
            and (f.value ->> '$.to' is not null or f.value ->> '$.edit.changed')
    ) as w
    order by w.key;
    -- removals come last: a moved file is written under its new path before the old one is removed
    insert into _remove_entry (command_id, path)
    select c.id, f.value ->> '$.path'
    from commands as c
    join json_each(new.files) as f
    where c.id = new.command_id
        and c.state <> 'failed'
        and (f.value ->> '$.action' = 'delete' or f.value ->> '$.to' is not null)
    order by f.key;
    insert into _resolve_command (command_id, message)
    values (new.command_id, 'The patch changes nothing: the files already have these texts.');
end;
