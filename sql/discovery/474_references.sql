-- References by meaning: the files that instructions refer to and that a prompt is about without having their words.
-- They are searched where no title has the words of the prompt, on the first turn of a loop, and where an embedder is
-- installed. A file whose instructions refer to nothing pays one look into an empty table.
-- spec: @references_by_meaning

-- tables

-- The loops for whose prompt it was searched, where a search was due.
create table if not exists _prepared_loops (
    loop_id integer primary key constraint prepared_loops_loop references loops (id) on delete cascade
) strict;

-- views

-- Turns that may have something to do before their packet is read. Few conditions, so that a run without any of it neither
-- pays for the doors and views that say more nor compiles them.
create view _preparations as
select t.id as turn_id, 1 as place, 'packet' as what
from turns as t
where exists (select 1 from _skills)
    or exists (select 1 from undone_edits)
    or exists (select 1 from settings where name = 'max_history' and value is not null)
    or exists (
        select 1
        from loops as l
        join runs as r on r.id = l.run_id
        join models as m on m.alias = coalesce(l.model, r.model) and m.profile = 'compact'
        where l.id = t.loop_id
    )
union all
select id, 2, 'rules'
from turns
where exists (select 1 from rule_sets);

-- What may have to be searched for a turn's prompt before its packet is rendered: once a loop, outside of any transaction,
-- because to load an embedder takes seconds. As few conditions.
create view _due_searches as
select t.id as turn_id, 'references' as what
from turns as t
where exists (select 1 from document_links)
    and not exists (select 1 from _prepared_loops as p where p.loop_id = t.loop_id)
union all
select t.id, 'tools'
from turns as t
cross join _narrow_limits as n on n.loop_id = t.loop_id
where not exists (select 1 from _prepared_loops as p where p.loop_id = t.loop_id);

-- Turns whose prompt has the words of no reference of its project.
create view _unmatched_references as
select t.id as turn_id, 'project:' || r.project_id as scope, l.prompt
from turns as t
join runs as r on r.id = t.run_id
join loops as l on l.id = t.loop_id
-- once: a packet that was too long is not made longer
where t.ladder = 0
    and t.refused = 0
    and not exists (select 1 from turns as o where o.loop_id = t.loop_id and o.sequence < t.sequence)
    and not exists (select 1 from loop_flags as f where f.loop_id = t.loop_id and f.flag = 'no_repo')
    -- a compact packet finds passages by itself
    and not exists (select 1 from _model_requests as q where q.turn_id = t.id and q.profile = 'compact')
    and exists (select 1 from _references as e where e.project_id = r.project_id)
    and not exists (select 1 from _matched_references as m where m.turn_id = t.id);

-- Bring references that a search for a turn's prompt found: insert into _bring_references (turn_id, found). 'found' is a
-- JSON array of the ids of their entries, the best first; the first three that are not too long are made visible.
create view _bring_references as
select id as turn_id, null as found
from turns
where false;

create view end_preparation as
-- Say that what a run's prompt needs was searched for: insert into end_preparation (run, lease). A driver that does not
-- search passes the step 'prepare' with it: what the words of the prompt bring is brought, and all tools are told.
select r.alias as run, t.lease
from turns as t
join runs as r on r.id = t.run_id
where false;

-- triggers

create trigger end_preparation__end
instead of insert on end_preparation
begin
    select fail(409, 'run ' || coalesce(new.run, 'NULL') || ': nothing to prepare')
    where not exists (select 1 from next_steps as n where n.run = new.run and n.step = 'prepare');
    select fail(409, 'run ' || new.run || ': another process drives it')
    from leases as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run and l.token is not new.lease and l.expires_at > now();
    insert into _prepared_loops (loop_id)
    select t.loop_id
    from runs as r
    join turns as t on t.run_id = r.id and t.phase = 'assembling'
    where r.alias = new.run;
end;

create trigger _bring_references__bring
instead of insert on _bring_references
begin
    insert into _show_entry (run_id, entry_id, visibility, turn)
    select t.run_id, e.entry_id, 'visible', t.sequence
    from turns as t
    join runs as r on r.id = t.run_id
    join _instruction_rooms as m on m.loop_id = t.loop_id
    cross join json_each(new.found) as f
    join _references as e on e.project_id = r.project_id and e.entry_id = f.value and e.chars <= m.chars
    where t.id = new.turn_id
    group by e.entry_id
    order by min(f.key)
    limit 3;
end;
