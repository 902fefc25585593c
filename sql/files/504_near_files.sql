-- Near files: the file that is meant by a path with a small mistake.
-- A path that differs from a file's only in its Unicode spelling is that file (path_locate): the project keeps which
-- of its names have several spellings. A model that writes another letter case, or leaves out a folder, is told what
-- it may mean.
-- spec: @near_names

-- views

-- Of each command on a path without a scheme, a part of a sentence with up to three files: those of the same name in another
-- letter case, else those of the same name in other folders. Null: there are none.
create view _near_files as
select
    c.id as command_id,
    (
        select '; did you mean ' || group_concat(n.path, ' or ') || '?'
        from (
            select
                coalesce(e.shown_path, e.path) as path,
                p.path <> c.path collate nocase as is_elsewhere
            from _run_paths as p
            cross join entries as e on e.id = p.entry_id
            where p.run_id = c.run_id
                and p.kind = 'file'
                and p.path <> c.path
                and coalesce(json_extract(e.attributes, '$.kind'), '') <> 'missing'
                and substr('/' || p.path, -length(b.name)) = b.name collate nocase
            order by is_elsewhere, length(p.path), p.path
            limit 3
        ) as n
    ) as hint
from commands as c
join (select id, '/' || replace(path, rtrim(path, replace(path, '/', '')), '') as name from commands) as b on b.id = c.id
where instr(c.path, '://') = 0;

-- Keep which files of a project have names of more than ASCII: insert into _note_spellings (project_id).
create view _note_spellings as
select id as project_id
from projects
where false;

-- triggers

-- Nothing is written for the many projects that have none.
create trigger _note_spellings__note
instead of insert on _note_spellings
begin
    update projects
    set root_names = json_set(
            coalesce(root_names, json_object('names', json_array(root))),
            '$.files',
            json((
                select json_group_array(path)
                from (
                    select path
                    from file_stats
                    where project_id = new.project_id and path glob '*[^ -~]*' and kind <> 'missing'
                    order by path
                )
            ))
        )
    where id = new.project_id
        and coalesce(json_extract(root_names, '$.files'), '[]') is not (
            select json_group_array(path)
            from (
                select path
                from file_stats
                where project_id = new.project_id and path glob '*[^ -~]*' and kind <> 'missing'
                order by path
            )
        );
end;
