-- Patches: several files changed by one set, all or none.
-- A model's body that is an apply_patch block names its files itself; so does a unified diff of the file that the set
-- names. Neither becomes the text of a file that is there. Everything is computed before anything is proposed, and the
-- proposals of a patch stand together.
-- spec: @patches

-- views

-- A set whose body may be a patch; an insert performs it if it is one.
create view set_patches as
select * from commands where false;

-- The same with the patch read: the JSON of patch_parse.
create view read_patches as
select id as command_id, run_id, path, null as patch
from commands
where false;

-- The same with the patch applied: a JSON array, one object a file, with what is wrong where something is.
create view applied_patches as
select id as command_id, null as files
from commands
where false;

-- triggers

create trigger set_patches__read
instead of insert on set_patches
begin
    insert into read_patches (command_id, run_id, path, patch)
    values (new.id, new.run_id, new.path, patch_parse(new.body));
end;

create trigger read_patches__apply
instead of insert on read_patches
when json_extract(new.patch, '$.form') = 'codex'
    or (json_extract(new.patch, '$.form') = 'unified' and json_extract(new.patch, '$.error') is not null)
    or new.path in (
        select path_normalize(f.value ->> n.value)
        from json_each(new.patch, '$.files') as f
        join json_each('["$.path","$.to"]') as n
    )
    -- a diff of another file is a text like any other, but no file that is there becomes one
    or (
        (json_extract(new.patch, '$.form') <> 'embedded' or json_extract(new.patch, '$.error') is not null)
        and exists (
            select 1
            from run_paths as p
            join entries as e on e.id = p.entry_id
            join contents as b on b.id = e.content_id
            where p.run_id = new.run_id and p.path = new.path and patch_parse(b.body) ->> '$.form' is null
        )
    )
begin
    update commands
    set state = 'failed',
        outcome = 'validation',
        message = coalesce(
            json_extract(new.patch, '$.error'),
            'The patch changes ' || (
                select group_concat(f.value ->> '$.path', ', ') from json_each(new.patch, '$.files') as f
            ) || ', the set names ' || new.path || ': leave the path out. To keep the patch as a text, wrap it in <<NEW.'
        )
    where id = new.command_id
        and (
            json_extract(new.patch, '$.error') is not null
            or new.path not in (
                select path_normalize(f.value ->> n.value)
                from json_each(new.patch, '$.files') as f
                join json_each('["$.path","$.to"]') as n
                where f.value ->> n.value is not null
            )
        );
    insert into applied_patches (command_id, files)
    select
        new.command_id,
        (
            select json_group_array(json_object(
                    'action', f.action,
                    'path', f.path,
                    'to', f.destination,
                    'hash', e.hash,
                    'old', b.body,
                    'edit', json(patch_apply(b.body, f.change)),
                    'outcome', case
                        when coalesce(path_scheme(f.path), path_scheme(f.destination)) is not null then 'validation'
                        when coalesce(path_error(f.path), path_error(f.destination)) is not null then 'validation'
                        when d.entry_id is not null then 'conflict'
                        else coalesce(u.outcome, patch_apply(b.body, f.change) ->> '$.outcome')
                    end,
                    'message', case
                        when coalesce(path_scheme(f.path), path_scheme(f.destination)) is not null
                            then 'A patch changes files; write ' || f.path || ' with a set of its own.'
                        when coalesce(path_error(f.path), path_error(f.destination)) is not null
                            then 'Invalid path: ' || coalesce(path_error(f.path), path_error(f.destination))
                        when d.entry_id is not null
                            then f.destination || ' exists already: ' || f.path || ' cannot be moved there.'
                        else coalesce(u.message, patch_apply(b.body, f.change) ->> '$.message')
                    end
                ))
            from (
                select
                    key,
                    value as change,
                    value ->> '$.action' as action,
                    path_normalize(value ->> '$.path') as path,
                    nullif(path_normalize(value ->> '$.to'), path_normalize(value ->> '$.path')) as destination
                from json_each(new.patch, '$.files')
                order by key
            ) as f
            left join run_paths as p on p.run_id = new.run_id and p.path = f.path
            left join entries as e on e.id = p.entry_id
            left join contents as b on b.id = e.content_id
            left join unreadable_entries as u on u.entry_id = e.id
            left join run_paths as d on d.run_id = new.run_id and d.path = f.destination
        )
    from commands as c
    where c.id = new.command_id and c.state = 'performing';
end;

create trigger applied_patches__propose
instead of insert on applied_patches
begin
    update commands
    set state = 'failed',
        outcome = 'validation',
        message = 'The patch makes ' || x.path || ' twice: say once what becomes of it.'
    from (
        select coalesce(f.value ->> '$.to', f.value ->> '$.path') as path
        from json_each(new.files) as f
        group by 1
        having count(*) > 1
        limit 1
    ) as x
    where commands.id = new.command_id;
    update commands
    set state = 'failed',
        outcome = x.outcome,
        message = x.message || case
            when json_array_length(new.files) > 1 then char(10) || 'No file of the patch was changed.'
            else ''
        end
    from (
        select f.value ->> '$.outcome' as outcome, f.value ->> '$.message' as message
        from json_each(new.files) as f
        where f.value ->> '$.outcome' is not null
        order by f.key
        limit 1
    ) as x
    where commands.id = new.command_id and commands.state = 'performing';
    -- marked before anything is proposed: the proposals of one patch stand together
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
    insert into file_puts (command_id, path, hash, old_body, body, attributes, visibility)
    select
        new.command_id,
        coalesce(f.value ->> '$.to', f.value ->> '$.path'),
        case when f.value ->> '$.to' is null then f.value ->> '$.hash' end,
        case when f.value ->> '$.to' is null then f.value ->> '$.old' end,
        f.value ->> '$.edit.body',
        k.attributes,
        json_extract(c.attributes, '$.visibility')
    from commands as c
    join kept_attributes as k on k.command_id = c.id
    join json_each(new.files) as f
    where c.id = new.command_id
        and c.state <> 'failed'
        and f.value ->> '$.action' <> 'delete'
        and (f.value ->> '$.to' is not null or f.value ->> '$.edit.changed');
    -- what goes, goes last: a file is written under its new name before the old one is removed
    insert into file_removals (command_id, path)
    select c.id, f.value ->> '$.path'
    from commands as c
    join json_each(new.files) as f
    where c.id = new.command_id
        and c.state <> 'failed'
        and (f.value ->> '$.action' = 'delete' or f.value ->> '$.to' is not null)
    order by f.key;
    update commands
    set state = 'resolved', message = 'The patch changes nothing: the files are so already.'
    where id = new.command_id and state = 'performing';
end;
