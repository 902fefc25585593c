-- References by meaning: the files that instructions refer to and that a prompt is about without having their words.
-- They are searched on the first turn of a loop, if no title has the words of the prompt and an embedder is installed.
-- spec: @references_by_meaning

-- views

-- Links of instructions have to be searched.
create view _due_searches__instructions as
select t.id as turn_id, cast('references' as text) as what
from turns as t
where exists (select 1 from document_links)
    and not exists (select 1 from _prepared_loops as p where p.loop_id = t.loop_id);

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
    and not exists (select 1 from _loop_flags as f where f.loop_id = t.loop_id and f.flag = 'no_repo')
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

-- triggers

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
