-- Near files: what a path that names no file of the run may mean.
-- A model that writes a name in another letter case, or leaves out a folder, is told the file that it means. A name that
-- differs only in its Unicode spelling is that file already (path_locate).
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
