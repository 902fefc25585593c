-- A turn, from begin to judged: begin_turn, submit_packet (340), the response, dispatch, _judge_turn (220).
-- The response is committed before it is read. Then the driver inserts into dispatch, once and again after each effect
-- and each decision: the commands of the turn are performed in order until one waits. Commands behind one that failed are
-- aborted. When no command is left the turn is judged.
-- spec: @turns_table @dispatch @pause_and_resume

-- views

create view begin_turn as
-- Begin the next turn of a run: insert into begin_turn (run, lease). Takes up the queued loop if none is active.
select r.alias as run, t.lease
from turns as t
join runs as r on r.id = t.run_id
where false;

create view dispatch as
-- Go on with the turn of a run whose response is stored: insert into dispatch (run, lease). Where that raised an error, a
-- driver performs one command at a time: 'only' is the id of the one to perform, 0 for none.
select r.alias as run, t.lease, null as only
from turns as t
join runs as r on r.id = t.run_id
where false;

create view record_crash as
-- Fail a command whose rules raised an error, and go on: insert into record_crash (command_id, message, lease).
select id as command_id, message, null as lease
from commands
where false;

create view next_commands as
-- The command that each run performs next: the first one queued, where none is under way.
select r.alias as run, t.id as turn_id, min(c.ordinal) as ordinal, c.id as command_id
from turns as t
join runs as r on r.id = t.run_id
join commands as c on c.turn_id = t.id and c.state = 'queued'
where t.phase = 'dispatching'
    and not exists (
        select 1
        from commands as u
        where u.turn_id = t.id and u.state in ('performing', 'proposed', 'accepting', 'accepted')
    )
group by t.id;

-- triggers

-- A turn takes the next number of its run; on a loop's first turn the prompt becomes an entry.
create trigger begin_turn__begin
instead of insert on begin_turn
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(409, 'run ' || new.run || ': its turn ' || t.sequence || ' is open; it is ended first')
    from runs as r
    join turns as t on t.run_id = r.id and t.phase <> 'judged'
    where r.alias = new.run;
    select fail(409, 'run ' || new.run || ': nothing to do; give it a prompt')
    where not exists (
        select 1
        from loops as l
        join runs as r on r.id = l.run_id
        where r.alias = new.run and l.status in (100, 102)
    );
    -- the oldest loop in line, where none is active
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
    insert into write_entry (run_id, path, body, attributes, state, writer, turn, loop_id)
    select
        t.run_id,
        'prompt://' || t.sequence,
        l.prompt,
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

-- A stored response waits for its dispatch.
create trigger turns__take_response
after update of response on turns
when old.response is null and new.response is not null
begin
    update turns
    set phase = 'answered'
    where id = new.id and phase = 'asking';
    update model_calls
    set state = 'answered', ended_at = now()
    where turn_id = new.id and state = 'open';
    update runs
    set responses = responses + 1
    where id = new.run_id;
    insert into events (at, run_id, turn_id, kind)
    select now(), new.run_id, new.id, 'turn.answered'
    where old.phase = 'asking';
end;

create trigger dispatch__dispatch
instead of insert on dispatch
begin
    select fail(409, 'run ' || coalesce(new.run, '') || ': nothing to dispatch')
    where not exists (
        select 1
        from turns as t
        join runs as r on r.id = t.run_id
        where r.alias = new.run and t.phase <> 'judged' and t.phase in ('answered', 'dispatching')
    );
    select fail(409, 'run ' || new.run || ': another process drives it; wait for it or stop it')
    from leases as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run and l.token is not new.lease and l.expires_at > now();
    -- a run that waited and was decided goes on
    update runs
    set status = 102
    where alias = new.run
        and status = 202
        and not exists (select 1 from proposals as p where p.run_id = runs.id and p.state = 'proposed');
    insert into _record_commands (turn_id, parsed)
    select
        t.id,
        response_parse(
            -- of a response that got stuck nothing is done: where it broke off is not where its author meant to stop
            case when text_repetition(t.response) is null then t.response else '' end,
            (
                select json_group_array(name)
                from (select name from tools order by ordinal)
            ),
            cast((select value from settings where name = 'max_commands') as integer),
            exists (select 1 from _cut_responses as x where x.turn_id = t.id)
        )
    from turns as t
    where t.run_id = (select id from runs where alias = new.run) and t.phase <> 'judged' and t.phase = 'answered';
    update turns
    set phase = 'dispatching'
    where phase <> 'judged' and phase = 'answered' and run_id = (select id from runs where alias = new.run);
    insert into perform_command (command_id)
    select c.id
    from turns as t
    join runs as r on r.id = t.run_id and r.alias = new.run
    join commands as c on c.turn_id = t.id and c.state = 'queued' and c.id = coalesce(new.only, c.id)
    where t.phase <> 'judged' and t.phase = 'dispatching'
    order by c.ordinal;
    update runs
    set status = 202
    where alias = new.run
        and status = 102
        and exists (select 1 from proposals as p where p.run_id = runs.id and p.state = 'proposed');
    insert into _judge_turn (turn_id)
    select t.id
    from turns as t
    where t.run_id = (select id from runs where alias = new.run)
        and t.phase <> 'judged'
        and t.phase = 'dispatching'
        and not exists (
            select 1
            from commands as c
            where c.turn_id = t.id and c.state in ('queued', 'performing', 'proposed', 'accepting', 'accepted')
        );
end;

create trigger record_crash__record
instead of insert on record_crash
begin
    insert into _end_command (command_id, state, outcome, message)
    select id, 'failed', 'error', new.message
    from commands
    where id = new.command_id and state = 'queued';
    insert into dispatch (run, lease, only)
    select r.alias, new.lease, 0
    from commands as c
    join runs as r on r.id = c.run_id
    where c.id = new.command_id;
end;
