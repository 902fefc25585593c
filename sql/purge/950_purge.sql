-- Purge: the removal of a whole run, for good.
-- Nothing else deletes the past. verb_purge_run removes the run with its loops, turns, commands and events; sweep then
-- removes what nothing refers to any more. What another run, a project or a packet still shows stays.
-- needs: nothing
-- spec: @purge

-- views

create view verb_purge_run as
-- Remove a run for good: insert into verb_purge_run (run). A sweep is due afterwards.
select alias as run
from runs
where false;

create view verb_purge_tree as
-- Remove a run and all runs below it for good: insert into verb_purge_tree (run). A sweep is due afterwards.
select alias as run
from runs
where false;

create view _sweep as
-- Remove what purged runs left behind and nothing refers to: insert into _sweep (due) values (1). It has a row while a
-- sweep is due.
select 1 as due
from _purges
limit 1;

-- Chunk lists that no packet has.
create view _unused_chunk_lists as
select id
from chunk_lists
where id not in (
        select s.value
        from packets as p
        join json_each(p.parts) as s
    );

-- Chunks that no chunk list has.
create view _unused_chunks as
select id
from chunks
where id not in (
        select c.id
        from chunk_lists as l
        cross join json_each(l.chunks) as j
        cross join chunks as c
            on c.id between case j.type when 'array' then j.value ->> 0 else j.value end
            and case j.type when 'array' then j.value ->> 1 else j.value end
    );

-- Metadata of entries that neither a view nor a version of one refers to.
create view _unused_metadata as
select id
from _entry_metadata
where id not in (
        select metadata_id from run_views where metadata_id is not null
        union all
        select metadata_id from run_view_versions where metadata_id is not null
    );

-- Contents that no view, head, version, proposal or chunk refers to.
create view _unused_contents as
select id, body
from contents
where id not in (
        select content_id from run_views where content_id is not null
        union all
        select content_id from run_view_versions where content_id is not null
        union all
        select content_id from entries where content_id is not null
        union all
        select content_id from entry_versions where content_id is not null
        union all
        select content_id from proposals where content_id is not null
        union all
        select content_id from chunks where content_id is not null
    );

-- triggers

-- Refused while the run is driven or a command of it is kept, and while it is the parent of another run. The row in _purges
-- lets its rows pass the guards that forbid to delete them.
create trigger verb_purge_run__purge
instead of insert on verb_purge_run
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(409, 'run ' || new.run || ': a process works on it; stop it first with ''engine abort ' || new.run || '''')
    from _leases_in_force as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run;
    select fail(
        409,
        'run ' || new.run || ': the command ' || c.path
            || ' still runs in the background; stop it first with ''engine abort '
        || new.run || ''''
    )
    from _kept_processes as k
    join runs as r on r.id = k.run_id
    join _effect_channels as c on c.effect_id = k.effect_id and c.channel = 1
    where r.alias = new.run;
    select fail(
        409,
        'run ' || new.run || ': has child runs or forks: ' || group_concat(c.alias, ', ') || '; purge them first'
        || case count(d.run_id)
            when count(*) then ', or purge all of them with ''engine runs purge ' || new.run || ' --tree'''
            else ''
        end
    )
    from runs as c
    join runs as r on r.id = c.parent_run_id
    left join children as d on d.run_id = c.id and d.parent_run_id = r.id
    where r.alias = new.run
    having count(*) > 0;
    insert into _purges (run_id)
    select id
    from runs
    where alias = new.run;
    -- this event stays, so that the clock does not go back
    insert into events (at, kind, detail) values (now(), 'run.purged', json_object('run', new.run));
    -- a later run may get the id of this one; it must not find these entries
    update entries
    set scope = 'purged:' || scope || ':' || (select max(id) from events)
    where scope in (select 'run:' || id from runs where alias = new.run);
    insert into _forget_run (run_id)
    select id
    from runs
    where alias = new.run;
    delete from runs
    where alias = new.run;
    -- what of a run's record names it without a foreign key goes once it is gone
    delete from events
    where run_id in (select run_id from _purges where run_id > 0) and run_id not in (select id from runs);
    -- the row that says a sweep is due must not name that later run
    update _purges
    set run_id = -(select max(id) from events)
    where run_id > 0 and run_id not in (select id from runs);
end;

-- The deepest first, because no run goes that others came from.
create trigger verb_purge_tree__purge
instead of insert on verb_purge_tree
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    insert into verb_purge_run (run)
    select run
    from (
        select run
        from tree_runs
        where top = new.run
        order by level desc, run_id desc
    );
end;

-- 'all' keeps SQLite from taking the rows of one subquery for those of another: see the tests of the schema.
create trigger _sweep__sweep
instead of insert on _sweep
begin
    delete from chunk_lists
    where id in (select all id from _unused_chunk_lists);
    delete from chunks
    where id in (select all id from _unused_chunks);
    delete from _entry_metadata
    where id in (select all id from _unused_metadata);
    delete from entry_versions
    where entry_id in (select all id from entries where scope like 'purged:%');
    delete from entries
    where scope like 'purged:%';
    insert into content_search (content_search, rowid, body)
    select 'delete', u.id, u.body
    from _unused_contents as u
    where u.id in (select all id from content_search_docsize);
    delete from contents
    where id in (select all id from _unused_contents);
    insert into _forget_unused (due) values (1);
    delete from _purges;
end;

-- Only the purge of a run that is there begins, and only one whose run is gone is done: its row lets a sweep remove bodies.
create trigger _purges__guard_begin
before insert on _purges
when not exists (select 1 from runs where id = new.run_id)
begin
    select raise(abort, '405 _purges: there is no such run; insert into verb_purge_run');
end;

create trigger _purges__guard_end
before update on _purges
when new.run_id > 0 or exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 _purges: the run is there still; insert into verb_purge_run');
end;
