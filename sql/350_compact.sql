-- The compact packet, for a small local model: the file that matches the prompt best, and the prompt.
-- A small model cannot choose well among files, so the full-text index chooses one. That file becomes visible like any
-- other that is read.
-- spec: @compact_profile

-- views

-- How well the files of a run match the prompt of a turn's loop; the lower the rank, the better.
create view _file_matches as
select
    t.id as turn_id,
    v.entry_id,
    e.path,
    f.rank as rank
from turns as t
join loops as l on l.id = t.loop_id
join content_search (search_query(l.prompt)) as f
join run_views as v on v.run_id = t.run_id
join entries as e
    -- never null: the full-text index would take rowid = null for any row
    on e.id = v.entry_id and e.kind = 'file' and coalesce(e.content_id, -1) = f.rowid;

-- The compact packet, one row a part: the visible data entry that was used last, the log, the prompt.
create view _packet_compact as
select
    t.id as turn_id,
    case c.category when 'data' then 'file' when 'prompt' then 'prompt' else 'log' end as part,
    c.path,
    case when c.visibility = 'visible' then c.body else c.summary end as body
from turns as t
join _context_texts as c on c.run_id = t.run_id
where c.entry_id = (
        select f.entry_id
        from _context_texts as f
        where f.run_id = t.run_id and f.category = 'data' and f.visibility = 'visible'
        order by f.last_used_turn desc, f.entry_id desc
        limit 1
    )
    or (c.category = 'logging' and c.body <> '' and c.path not like 'log://turn_0/%')
    or c.path = 'prompt://' || (select min(o.sequence) from turns as o where o.loop_id = t.loop_id)
order by part <> 'file', part = 'prompt', c.turn, c.entry_id;

-- The text files of a run's project, for a grammar that offers their paths.
create view _readable_paths as
select
    r.id as run_id,
    f.path
from runs as r
join file_stats as f on f.project_id = r.project_id
where f.kind = 'text'
order by f.path;

-- triggers

-- On the first turn of a loop the files in context are archived and the best match becomes visible.
create trigger prepare_packet__choose_file
instead of insert on prepare_packet
when exists (
        select 1
        from turns as t
        join loops as l on l.id = t.loop_id
        join runs as r on r.id = t.run_id
        join models as m on m.alias = coalesce(l.model, r.model) and m.profile = 'compact'
        where t.id = new.turn_id
            and not exists (select 1 from turns as o where o.loop_id = t.loop_id and o.sequence < t.sequence)
    )
begin
    insert into _show_entry (run_id, entry_id, visibility)
    select v.run_id, v.entry_id, 'archived'
    from turns as t
    join run_views as v on v.run_id = t.run_id and v.visibility <> 'archived'
    join entries as e on e.id = v.entry_id and e.kind = 'file'
    where t.id = new.turn_id;
    insert into _show_entry (run_id, entry_id, visibility, turn)
    select t.run_id, m.entry_id, 'visible', t.sequence
    from turns as t
    join _file_matches as m on m.turn_id = t.id
    where t.id = new.turn_id
    order by m.rank, m.path
    limit 1;
end;
