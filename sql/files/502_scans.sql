-- Scans: which files of a project are looked at before a turn, and which folders are listed for that.
-- spec: @files @filesystem_freshness

-- views

-- The files that a run has in context, as a JSON array of paths. The driver looks at them before each packet.
create view _watched_files as
select
    r.id as run_id,
    r.project_id,
    p.root,
    json_group_array(f.path) as paths,
    -- 1: a picture is among them
    max(f.picture is not null) as has_pictures
from runs as r
cross join projects as p on p.id = r.project_id and p.root is not null
cross join run_views as v indexed by idx_run_views_in_context on v.run_id = r.id
cross join entries as e on e.id = v.entry_id and e.kind = 'file'
cross join file_stats as f on f.project_id = r.project_id and f.path = e.path
where v.visibility <> 'archived'
group by r.id;

-- Turns before whose packet the whole project is scanned: the first of a loop, and one after a turn that ran a process, or
-- while which a job ran.
create view _scan_requests as
select
    t.id as turn_id,
    t.run_id,
    r.project_id,
    p.root
from turns as t
join runs as r on r.id = t.run_id
join projects as p on p.id = r.project_id
where t.phase = 'assembling'
    and not t.scanned
    and p.root is not null
    and (
        not exists (select 1 from turns as o where o.loop_id = t.loop_id and o.sequence < t.sequence)
        or exists (
            select 1
            from turns as o
            join effects as f on f.turn_id = o.id and f.kind = 'process'
            where o.run_id = t.run_id and o.sequence = t.sequence - 1
        )
        or exists (
            select 1
            from _background_processes as j
            join turns as o on o.run_id = j.run_id and o.sequence = t.sequence - 1
            where j.run_id = t.run_id and coalesce(j.ended_at, 9e18) >= o.created_at
        )
    )
    and not exists (select 1 from _loop_flags as f where f.loop_id = t.loop_id and f.flag = 'no_repo');

-- The folders of runs that have listed their files, for a look at the disk outside of a turn.
create view _listed_folders as
select r.id as run_id, r.alias as run, null as turn_id, r.project_id, p.root
from runs as r
join projects as p on p.id = r.project_id and p.root is not null
where exists (
        select 1 from _run_paths as m where m.run_id = r.id and m.path = 'log://turn_0/repo/manifest'
    );
