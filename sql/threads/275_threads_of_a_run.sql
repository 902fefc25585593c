-- Joining: which threads take part in a run, and the point at which each begins.
-- The driver joins the threads of a run when it begins to drive. A thread that is new to a run begins at its first
-- point; in a fork it goes on where it stood at that turn.
-- spec: @threads @thread_past

-- views

-- The runs of files in which somebody has enabled threads, or whose threads were in force when they were last driven.
create view _runs_with_threads as
select alias as run
from runs
where exists (select 1 from setting_layers where name in ('threads', 'check') and value <> '')
    or exists (select 1 from thread_uses)
    or exists (select 1 from threads where level <> 'shipped')
    or exists (select 1 from thread_states as s where s.run_id = runs.id and s.active);

-- The points at which the past of a run left its threads: a fork goes on from there.
create view _inherited_points as
select
    t.run_id,
    json_extract(m.value, '$.thread_id') as thread_id,
    json_extract(m.value, '$.to') as point,
    max(v.id) as at_event
from past_turns as t
cross join events as v on v.turn_id = t.turn_id and v.id >= t.seen_at and v.kind = 'thread.selected'
cross join json_each(v.detail, '$.moved') as m
group by t.run_id, json_extract(m.value, '$.thread_id');

create view verb_join_threads as
-- Let the threads in force take part in a run: insert into verb_join_threads (run). The driver does so when it begins
-- to drive. One that has not taken part yet begins at its first point, in a fork where it stood at that turn.
select alias as run
from runs
where false;

-- Refuse threads that a run could not join: insert into _expect_threads (run). A prompt is not stored where there are some.
create view _expect_threads as
select alias as run
from runs
where false;

-- triggers

create trigger _expect_threads__expect
instead of insert on _expect_threads
begin
    select fail(
        400,
        'setting threads: there is no built-in thread ' || quote(n.name) || '; use '
        || (select group_concat(name, ', ') from (select name from threads where level = 'shipped' order by name))
        || ', or all'
    )
    from _named_threads as n
    where n.name <> 'all' and n.name not in (select all t.name from threads as t where t.level = 'shipped');
    select fail(
        400,
        'thread ' || quote(f.name) || coalesce(', point ' || x.point, '') || ': ' || x.fault
        || '; change it, or switch it off with ''engine allow threads disable ' || f.name || ''''
    )
    from threads_in_force as f
    join _thread_faults as x on x.thread_id = f.thread_id
    where f.run = new.run;
end;

create trigger verb_join_threads__join
instead of insert on verb_join_threads
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    insert into _expect_threads (run) values (new.run);
    update thread_states
    set active = thread_id in (select all f.thread_id from threads_in_force as f where f.run = new.run)
    where run_id = (select id from runs where alias = new.run);
    insert into thread_states (run_id, thread_id, point)
    select f.run_id, f.thread_id, case when i.thread_id is null then 1 else i.point end
    from threads_in_force as f
    left join _inherited_points as i on i.run_id = f.run_id and i.thread_id = f.thread_id
    where f.run = new.run
        and not exists (
            select 1 from thread_states as s where s.run_id = f.run_id and s.thread_id = f.thread_id
        );
    insert or ignore into _thread_clocks (run_id, result_id)
    select id, (select coalesce(max(x.id), 0) from effect_results as x)
    from runs
    where alias = new.run;
end;
