-- Shared files: if one run of a tree changes a file, the other runs see it at once.
-- The runs of a tree work in one folder. A file that one run writes appears in the lists of the other working runs,
-- as if they had scanned the folder. Changes by shell commands of a child are scanned when the child begins its next
-- turn, or has ended.
-- spec: @shared_files

-- views

create view _file_watchers__delegation as
select '_share_file' as door;

-- The other runs of the tree of each run that are under way and work in the same project.
create view _tree_mates as
select t.run_id, t.mate_id
from (
    select c.run_id, m.run_id as mate_id
    from children as c
    join children as m on m.root_run_id = c.root_run_id and m.run_id <> c.run_id
    union all
    select run_id, root_run_id
    from children
    union all
    select root_run_id, run_id
    from children
) as t
join runs as r on r.id = t.run_id
join runs as o on o.id = t.mate_id and o.project_id = r.project_id
where exists (select 1 from loops as l where l.run_id = t.mate_id and l.status = 102);

-- Children whose last turn ran a command, after which nobody has looked at their folder.
create view _scans_after_children as
select r.alias as run, r.id as run_id, null as turn_id, r.project_id, p.root
from children as c
join runs as r on r.id = c.run_id
join projects as p on p.id = r.project_id and p.root is not null
where exists (
        select 1
        from turns as t
        join effects as f on f.turn_id = t.id and f.kind = 'process'
        where t.run_id = c.run_id and t.sequence = (select max(o.sequence) from turns as o where o.run_id = c.run_id)
    )
    and not exists (select 1 from _loop_flags as f where f.loop_id = c.loop_id and f.flag = 'no_repo');

-- Show the others of its tree a file that a run has written or removed: insert into _share_file (run_id, path). 'path' is
-- null: all files of the project.
create view _share_file as
select run_id, null as path
from children
where false;

-- triggers

create trigger _share_file__share
instead of insert on _share_file
begin
    delete from run_views
    where run_id in (select mate_id from _tree_mates where run_id = new.run_id)
        and entry_id in (
            select e.id
            from runs as r
            join file_stats as f
                on f.project_id = r.project_id and f.kind = 'missing' and f.path = coalesce(new.path, f.path)
            join entries as e on e.scope = 'project:' || f.project_id and e.path = f.path
            where r.id = new.run_id
        );
    insert into run_views (run_id, entry_id, visibility, state, writer, turn, last_used_turn, since)
    select
        m.mate_id, e.id, s.default_visibility, 'resolved', 'system', 0, 0,
        (select coalesce(max(id), 0) + 1 from events)
    from _tree_mates as m
    join runs as r on r.id = m.run_id
    join file_stats as f on f.project_id = r.project_id and f.kind <> 'missing' and f.path = coalesce(new.path, f.path)
    join entries as e on e.scope = 'project:' || r.project_id and e.path = f.path
    join schemes as s on s.name = 'file'
    where m.run_id = new.run_id
        and not exists (select 1 from run_views as v where v.run_id = m.mate_id and v.entry_id = e.id);
end;
