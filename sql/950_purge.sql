-- Purge: the removal of a whole run, for good.
-- Everything else only adds; this is the one way in which something is forgotten. First the run goes, with all that was
-- said and done in it; then what nobody refers to any more is swept out. What another run, a project or a packet shows
-- stays.
-- spec: @purge

-- views

create view purge_run as
-- Remove a run: insert into purge_run (run). A sweep is due afterwards.
select alias as run
from runs
where false;

create view sweep as
-- Remove what purged runs have left and nobody refers to, where it is due: insert into sweep (due) values (1).
select 1 as due
from _purges
limit 1;

create view _unused_chunk_lists as
-- Stretches that no packet has.
select id
from chunk_lists
where id not in (
        select s.value
        from packets as p
        join json_each(p.parts) as s
    );

create view _unused_chunks as
-- Parts that no stretch has.
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

create view _unused_metadata as
-- Labels that neither a view nor its history has.
select id
from _entry_metadata
where id not in (
        select metadata_id from run_views where metadata_id is not null
        union all
        select metadata_id from run_view_versions where metadata_id is not null
    );

create view _unused_contents as
-- Bodies that no view, head, history, proposal or part of a packet shows.
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

create trigger purge_run__purge
instead of insert on purge_run
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(409, 'run ' || new.run || ': is being driven; abort it first with ''engine abort ' || new.run || '''')
    from leases as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run and l.expires_at > now();
    select fail(
        409,
        'run ' || new.run || ': other runs came from it, ' || group_concat(c.alias, ', ') || '; purge them first'
    )
    from runs as c
    join runs as r on r.id = c.parent_run_id
    where r.alias = new.run
    having count(*) > 0;
    insert into _purges (run_id)
    select id
    from runs
    where alias = new.run;
    -- an event that stays: the clock never goes back
    insert into events (at, kind, detail) values (now(), 'run.purged', json_object('run', new.run));
    -- a later run may get the number of this one
    update entries
    set scope = 'purged:' || scope || ':' || (select max(id) from events)
    where scope in (select 'run:' || id from runs where alias = new.run);
    delete from events
    where run_id = (select id from runs where alias = new.run);
    delete from runs
    where alias = new.run;
    -- nor does the mark of its sweep stay on that number
    update _purges
    set run_id = -(select max(id) from events)
    where run_id > 0 and run_id not in (select id from runs);
end;

-- 'all' keeps SQLite from taking the rows of one subquery for those of another: see the tests of the schema.
create trigger sweep__sweep
instead of insert on sweep
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
    delete from _purges;
end;
