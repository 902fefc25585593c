-- Retention: runs without activity are archived or removed.
-- A run without activity is archived or removed with its child runs: on request, or after a prompt if the setting
-- archive_idle_days or retention_days is set. A run that works, waits or has queued prompts is never touched.
-- spec: @retention

-- views

-- The runs at the top of a tree in which nothing is open, driven or kept, with when something happened in it last, in Unix
-- milliseconds.
create view _resting_trees as
select
    r.id as run_id,
    r.alias,
    r.archived_at,
    (
        select max(o.updated_at)
        from runs as o
        where o.id = r.id or o.id in (select c.run_id from children as c where c.root_run_id = r.id)
    ) as rests_since
from runs as r
where r.id not in (select c.run_id from children as c)
    and not exists (
        select 1
        from runs as o
        where (o.id = r.id or o.id in (select c.run_id from children as c where c.root_run_id = r.id))
            and (
                exists (select 1 from loops as l where l.run_id = o.id and l.status in (100, 102))
                or exists (select 1 from _leases_in_force as d where d.run_id = o.id)
                or exists (select 1 from _kept_processes as k where k.run_id = o.id)
                or exists (select 1 from effects as f where f.run_id = o.id and f.state in ('pending', 'started'))
            )
    );

create view idle_runs as
-- The runs that have no work left, with the days since something happened in them or below them: select * from idle_runs
-- where idle_days > 30. 'has_forks' is 1 if other runs came from one of them, so that it is not removed before these.
select
    t.alias as run,
    t.run_id,
    strftime('%Y-%m-%d %H:%M:%S', t.rests_since / 1000.0, 'unixepoch') as last_active_at,
    max((julianday('now') - 2440587.5) - t.rests_since / 86400000.0, 0.0) as idle_days,
    strftime('%Y-%m-%d %H:%M:%S', t.archived_at / 1000.0, 'unixepoch') as archived_at,
    exists (
        select 1
        from runs as f
        where (
                f.parent_run_id = t.run_id
                or f.parent_run_id in (select c.run_id from children as c where c.root_run_id = t.run_id)
            )
            and f.id not in (select c.run_id from children as c where c.root_run_id = t.run_id)
    ) as has_forks
from _resting_trees as t
order by t.rests_since, t.run_id;

create view verb_archive_idle as
-- Leave all runs out of lists that have rested for so many days: insert into verb_archive_idle (days) values (30).
select null as days
where false;

create view verb_purge_idle as
-- Remove all runs for good that have rested for so many days, with the runs below them: insert into verb_purge_idle (days)
-- values (90). A run that others were forked from goes once these are gone. A sweep is due afterwards.
select null as days
where false;

create view _apply_retention as
-- Do what the settings archive_idle_days and retention_days say: insert into _apply_retention (at) values (null). What was
-- done is an event 'retention.applied', with the names as 'archived' and 'removed'.
select null as at
where false;

-- What the settings ask for now, run by run.
create view _due_retention as
select t.alias, 'removed' as becomes, t.rests_since
from idle_runs as i
join _resting_trees as t on t.alias = i.run
join settings as s on s.name = 'retention_days' and s.value is not null
where not i.has_forks and t.rests_since <= now() - cast(s.value as real) * 86400000.0
union all
select t.alias, 'archived', t.rests_since
from _resting_trees as t
join settings as s on s.name = 'archive_idle_days' and s.value is not null
left join settings as p on p.name = 'retention_days'
where t.archived_at is null
    and t.rests_since <= now() - cast(s.value as real) * 86400000.0
    and (p.value is null or t.rests_since > now() - cast(p.value as real) * 86400000.0);

-- triggers

create trigger verb_archive_idle__archive
instead of insert on verb_archive_idle
begin
    select fail(400, 'days must be a number above 0, not ' || quote(new.days))
    where coalesce(typeof(new.days) not in ('integer', 'real') or new.days <= 0, 1);
    insert into verb_describe_run (run, archived)
    select t.alias, 1
    from _resting_trees as t
    where t.archived_at is null and t.rests_since <= now() - new.days * 86400000.0
    order by t.rests_since;
end;

create trigger verb_purge_idle__purge
instead of insert on verb_purge_idle
begin
    select fail(400, 'days must be a number above 0, not ' || quote(new.days))
    where coalesce(typeof(new.days) not in ('integer', 'real') or new.days <= 0, 1);
    insert into verb_purge_tree (run)
    select i.run
    from idle_runs as i
    join _resting_trees as t on t.alias = i.run
    where not i.has_forks and t.rests_since <= now() - new.days * 86400000.0
    order by t.rests_since;
end;

create trigger _apply_retention__apply
instead of insert on _apply_retention
when exists (select 1 from _due_retention)
begin
    insert into events (at, kind, detail)
    select
        now(), 'retention.applied',
        json_object(
            'archived', json_group_array(alias) filter (where becomes = 'archived'),
            'removed', json_group_array(alias) filter (where becomes = 'removed')
        )
    from _due_retention;
    insert into verb_describe_run (run, archived)
    select alias, 1
    from _due_retention
    where becomes = 'archived'
    order by rests_since;
    insert into verb_purge_tree (run)
    select alias
    from _due_retention
    where becomes = 'removed'
    order by rests_since;
end;
