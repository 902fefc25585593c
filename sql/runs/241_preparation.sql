-- Preparation: the work before a packet is made, such as searches for the prompt of a loop.
-- spec: @_next_steps @references_by_meaning

-- tables

-- The loops for whose prompt it was searched, where a search was due.
create table if not exists _prepared_loops (
    loop_id integer primary key constraint prepared_loops_loop references loops (id) on delete cascade
) strict;

-- views

-- Turns that may have something to do before their packet is read. A part gives the turn, the place in the order and packet
-- (_prepare_packet) or rules. Few conditions, so that a run without any of it neither pays for the doors and views that say
-- more nor compiles them.
create view _preparations as
select t.id as turn_id, 1 as place, 'packet' as what
from turns as t
where exists (select 1 from settings where name = 'max_history' and value is not null)
    or exists (
        select 1
        from loops as l
        join runs as r on r.id = l.run_id
        join models as m on m.alias = coalesce(l.model, r.model) and m.profile = 'compact'
        where l.id = t.loop_id
    );

-- What may have to be searched for a turn's prompt before its packet is rendered: once a loop, outside of any transaction,
-- because to load an embedder takes seconds. A part gives the turn and what is searched. As few conditions.
create view _due_searches as
select id as turn_id, cast(null as text) as what
from turns
where false;

create view _end_preparation as
-- Say that what a run's prompt needs was searched for: insert into _end_preparation (run, lease). A driver that does not
-- search passes the step 'prepare' with it: what the words of the prompt bring is brought, and all tools are told.
select r.alias as run, t.lease
from turns as t
join runs as r on r.id = t.run_id
where false;

-- triggers

create trigger _end_preparation__end
instead of insert on _end_preparation
begin
    select fail(409, 'run ' || coalesce(new.run, 'NULL') || ': has no turn to prepare')
    where not exists (select 1 from _next_steps as n where n.run = new.run and n.step = 'prepare');
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    from _leases_in_force as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run and l.token is not new.lease;
    insert into _prepared_loops (loop_id)
    select t.loop_id
    from runs as r
    join turns as t on t.run_id = r.id and t.phase = 'assembling'
    where r.alias = new.run;
end;
