-- Begin a turn: it takes the next number of its run, and the prompt of a new loop becomes an entry.
-- spec: @turns_table @_next_steps

-- views

create view _begin_turn as
-- Begin the next turn of a run: insert into _begin_turn (run, lease). The oldest queued loop becomes active if none is.
select r.alias as run, t.lease
from turns as t
join runs as r on r.id = t.run_id
where false;

-- triggers

-- The turn takes the next number of its run. On the first turn of a loop the rate of the loop is fixed and its prompt
-- becomes an entry.
create trigger _begin_turn__begin
instead of insert on _begin_turn
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(409, 'run ' || new.run || ': turn ' || t.sequence
        || ' is still open; dispatch it before you begin the next turn')
    from runs as r
    join turns as t on t.run_id = r.id and t.phase <> 'judged'
    where r.alias = new.run;
    select fail(409, 'run ' || new.run || ': has nothing to do; give it a prompt')
    where not exists (
        select 1
        from loops as l
        join runs as r on r.id = l.run_id
        where r.alias = new.run and l.status in (100, 102)
    );
    -- the oldest queued loop becomes active if none is
    insert into _move_loop (loop_id, status)
    select q.id, 102
    from runs as r
    join loops as q on q.run_id = r.id and q.status = 100
    where r.alias = new.run and not exists (select 1 from loops as l where l.run_id = r.id and l.status = 102)
    order by q.sequence
    limit 1;
    update loops
    set chars_per_token = coalesce(
        (select chars_per_token from _loop_rates where loop_id = loops.id),
        (select cast(value as real) from settings where name = 'chars_per_token')
    )
    where status = 102
        and run_id = (select id from runs where alias = new.run)
        and not exists (select 1 from turns as t where t.loop_id = loops.id);
    insert into turns (run_id, loop_id, sequence, lease, chars_per_token, created_at)
    select
        r.id, l.id, r.next_turn, new.lease,
        min(
            l.chars_per_token,
            coalesce((select m.chars_per_token from _loop_rates as m where m.loop_id = l.id), l.chars_per_token)
        ),
        now()
    from runs as r
    join loops as l on l.run_id = r.id and l.status = 102
    where r.alias = new.run;
    update runs
    set next_turn = next_turn + 1
    where alias = new.run;
    insert into _write_entry (run_id, path, body, attributes, state, writer, turn, loop_id)
    select
        t.run_id,
        'prompt://' || t.sequence,
        l.prompt || answer_told(l.config) || criteria_told(l.config),
        json_object('mode', l.mode),
        'resolved',
        'plugin',
        t.sequence,
        l.id
    from turns as t
    join loops as l on l.id = t.loop_id
    where t.id = (select max(id) from turns)
        and not exists (select 1 from turns as o where o.loop_id = t.loop_id and o.id <> t.id);
    insert into events (at, run_id, turn_id, kind, detail)
    select created_at, run_id, id, 'turn.begun', json_object('turn', sequence)
    from turns
    where id = (select max(id) from turns);
end;
