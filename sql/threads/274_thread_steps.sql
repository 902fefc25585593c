-- Steps of threads: an event is offered to them, blocked or selected, and moves those that wait for it.
-- Two triggers that the driver hangs into its own connection (engine/threads/joining.py) call the doors here: one before a
-- command is performed, one when a turn is voted on. Without threads there is no such trigger, and nothing of this is
-- compiled.
-- spec: @threads @thread_steps @shipped_threads

-- views

-- Ask the threads of a run about a command that is about to be performed: insert into _offer_command (command_id). A
-- blocked one fails.
create view _offer_command as
select id as command_id
from commands
where false;

-- Ask the threads of a run about the end of a turn, while it is voted on: insert into _offer_turn (turn_id).
create view _offer_turn as
select id as turn_id
from turns
where false;

-- Tell the threads what has happened since they were last told: insert into _tell_facts (run_id, turn_id, loop_id).
create view _tell_facts as
select run_id, turn_id, loop_id
from _thread_offers
where false;

-- Tell the threads one fact: insert into _tell_fact (run_id, turn_id, loop_id, command_id, event, fields).
create view _tell_fact as
select run_id, turn_id, loop_id, command_id, event, fields
from _thread_offers
where false;

-- Ask about one event: insert into _offer_event (run_id, turn_id, loop_id, command_id, event, fields). It is the row of
-- _thread_offers from then on.
create view _offer_event as
select run_id, turn_id, loop_id, command_id, event, fields
from _thread_offers
where false;

-- The event of _thread_offers has happened: insert into _select_event (run_id, thread). 'thread' requested it; null: the
-- run.
create view _select_event as
select run_id, null as thread
from _thread_offers
where false;

-- Select what threads request until nothing is left: insert into _take_requests (run_id, turn_id, loop_id, at_end). After
-- 50 selections the rest waits for the next event.
create view _take_requests as
select run_id, turn_id, loop_id, 0 as at_end
from _thread_offers
where false;

create view _take_request as
select *
from _take_requests;

-- triggers

create trigger _offer_command__offer
instead of insert on _offer_command
begin
    insert into _tell_facts (run_id, turn_id, loop_id)
    select run_id, turn_id, loop_id
    from commands
    where id = new.command_id;
    insert into _offer_event (run_id, turn_id, loop_id, command_id, event, fields)
    select run_id, turn_id, loop_id, command_id, event, fields
    from _offered_commands
    where command_id = new.command_id;
    -- the third time that the same is blocked in a loop counts as a strike
    insert into _fail_command (command_id, fault)
    select command_id, case when times > 2 then 'blocked_again: ' else 'blocked: ' end || told
    from _thread_blocks
    where command_id = new.command_id;
    insert into events (at, run_id, turn_id, kind, detail)
    select
        now(), run_id, turn_id, 'thread.blocked',
        json_object(
            'event', event, 'fields', json(fields), 'thread', name, 'thread_id', thread_id, 'point', point,
            'command', command_id, 'told', told
        )
    from _thread_blocks
    where command_id = new.command_id;
    insert into _select_event (run_id)
    select o.run_id
    from _thread_offers as o
    where o.command_id = new.command_id
        and not exists (select 1 from _thread_blocks as b where b.run_id = o.run_id);
    delete from _thread_offers
    where command_id = new.command_id;
end;

-- An end without an update is asked about here: the text was the answer. A vote of rank 15 stands above that of the
-- model and below the limits of the loop; at its limit a loop that may not end as done ends at 499.
create trigger _offer_turn__offer
instead of insert on _offer_turn
begin
    insert into _tell_facts (run_id, turn_id, loop_id)
    select run_id, id, loop_id
    from turns
    where id = new.turn_id;
    insert into _offer_event (run_id, turn_id, loop_id, event, fields)
    select
        t.run_id, t.id, t.loop_id, 'finish',
        json_object(
            'status', '200',
            'open', cast((select count(*) from proposals as p where p.run_id = t.run_id and p.state = 'proposed') as text)
        )
    from turns as t
    join _turn_verdicts as v on v.turn_id = t.id and v.voter = 'healing'
    where t.id = new.turn_id;
    insert into turn_errors (turn_id, status, message, soft)
    select turn_id, 409, told, 1
    from _thread_blocks
    where turn_id = new.turn_id;
    insert into votes (turn_id, voter, vote, rank, status, reason)
    select
        b.turn_id, 'threads', case when s.is_last then 'stop' else 'go_on' end, 15,
        case when s.is_last then 499 else 102 end,
        b.told
    from _thread_blocks as b
    join _last_turns as s on s.turn_id = b.turn_id
    where b.turn_id = new.turn_id;
    insert into events (at, run_id, turn_id, kind, detail)
    select
        now(), run_id, turn_id, 'thread.blocked',
        json_object(
            'event', event, 'fields', json(fields), 'thread', name, 'thread_id', thread_id, 'point', point, 'told', told
        )
    from _thread_blocks
    where turn_id = new.turn_id;
    insert into _select_event (run_id)
    select o.run_id
    from _thread_offers as o
    where o.turn_id = new.turn_id
        and not exists (select 1 from _thread_blocks as b where b.run_id = o.run_id);
    insert into turn_errors (turn_id, status, message, soft)
    select turn_id, 409, told, 1
    from _failed_checks
    where turn_id = new.turn_id;
    insert into _offer_event (run_id, turn_id, loop_id, event, fields)
    select run_id, id, loop_id, 'turn', '{}'
    from turns
    where id = new.turn_id;
    insert into _select_event (run_id)
    select run_id
    from turns
    where id = new.turn_id;
    insert into _take_requests (run_id, turn_id, loop_id, at_end)
    select run_id, id, loop_id, 1
    from turns
    where id = new.turn_id;
    delete from _thread_offers
    where turn_id = new.turn_id;
end;

create trigger _tell_facts__tell
instead of insert on _tell_facts
begin
    insert into _tell_fact (run_id, turn_id, loop_id, command_id, event, fields)
    select f.run_id, new.turn_id, new.loop_id, f.command_id, f.event, f.fields
    from _untold_facts as f
    where f.run_id = new.run_id
        -- a fact that no thread names at any of its points moves none
        and exists (
            select 1
            from thread_states as s
            join thread_patterns as p on p.thread_id = s.thread_id and p.event = f.event
            where s.run_id = new.run_id and s.active
        )
    order by f.command_id, f.result_id;
    update _thread_clocks
    set turn_id = new.turn_id,
        ordinal = coalesce(
            (
                select max(c.ordinal)
                from commands as c
                where c.turn_id = new.turn_id and c.state in ('resolved', 'failed', 'cancelled')
            ), -1
        ),
        result_id = (select coalesce(max(x.id), 0) from effect_results as x)
    where run_id = new.run_id;
end;

create trigger _tell_fact__tell
instead of insert on _tell_fact
begin
    insert into _offer_event (run_id, turn_id, loop_id, command_id, event, fields)
    values (new.run_id, new.turn_id, new.loop_id, new.command_id, new.event, new.fields);
    insert into _select_event (run_id) values (new.run_id);
    delete from _thread_offers
    where run_id = new.run_id;
end;

-- With a new loop threads begin anew that are for each prompt. What threads have requested meanwhile comes first.
create trigger _offer_event__offer
instead of insert on _offer_event
begin
    update thread_states
    set loop_id = new.loop_id,
        point = case when (select t.each_prompt from threads as t where t.id = thread_states.thread_id) then 1 else point end
    where run_id = new.run_id and loop_id is not new.loop_id;
    insert into _take_requests (run_id, turn_id, loop_id, at_end)
    values (new.run_id, new.turn_id, new.loop_id, 0);
    delete from _thread_offers
    where run_id = new.run_id;
    insert into _thread_offers (run_id, turn_id, loop_id, command_id, event, fields)
    values (new.run_id, new.turn_id, new.loop_id, new.command_id, new.event, new.fields);
end;

-- An event that moves no thread is not recorded.
create trigger _select_event__select
instead of insert on _select_event
when exists (select 1 from _thread_moves where run_id = new.run_id)
begin
    insert into events (at, run_id, turn_id, kind, detail)
    select
        now(), o.run_id, o.turn_id, 'thread.selected',
        json_object(
            'event', o.event, 'fields', json(o.fields), 'by', new.thread, 'moved', json((
                select json_group_array(json(m.move))
                from (
                    select
                        json_object(
                            'thread', v.name, 'thread_id', v.thread_id, 'from', v.from_point, 'to', v.to_point, 'why', v.why
                        ) as move
                    from _thread_moves as v
                    where v.run_id = o.run_id
                    order by v.thread_id
                ) as m
            ))
        )
    from _thread_offers as o
    where o.run_id = new.run_id;
    update thread_states
    set point = (
        select m.to_point from _thread_moves as m where m.run_id = new.run_id and m.thread_id = thread_states.thread_id
    )
    where run_id = new.run_id
        and thread_id in (select all m.thread_id from _thread_moves as m where m.run_id = new.run_id);
end;

create trigger _take_requests__take
instead of insert on _take_requests
when exists (select 1 from _next_thread_events where run_id = new.run_id and at_end = new.at_end)
begin
    insert into _take_request (run_id, turn_id, loop_id, at_end)
    select new.run_id, new.turn_id, new.loop_id, new.at_end
    from (
        with recursive numbers (n) as (
            select 1
            union all
            select n + 1 from numbers where n < 50
        )
        select n from numbers
    );
end;

-- What the engine does for a thread is done before the thread moves on.
create trigger _take_request__take
instead of insert on _take_request
when exists (select 1 from _next_thread_events where run_id = new.run_id and at_end = new.at_end)
begin
    delete from _thread_offers
    where run_id = new.run_id;
    insert into _thread_offers (run_id, turn_id, loop_id, event, fields)
    select new.run_id, new.turn_id, new.loop_id, event, '{}'
    from _next_thread_events
    where run_id = new.run_id and at_end = new.at_end;
    insert into turn_errors (turn_id, status, message, soft)
    select turn_id, 409, 'The thread ' || name || ' asks: ' || message, 1
    from _thread_matches
    where run_id = new.run_id and part = 'request' and event in ('ask', 'tell')
    order by priority, name;
    insert into votes (turn_id, voter, vote, rank, status, reason)
    select o.turn_id, 'threads', 'go_on', 15, 102, 'a thread asks for something'
    from _thread_offers as o
    join _last_turns as s on s.turn_id = o.turn_id and not s.is_last
    where o.run_id = new.run_id
        and o.event = 'ask'
        and not exists (select 1 from votes as v where v.turn_id = o.turn_id and v.voter = 'threads');
    insert into _select_event (run_id, thread)
    select new.run_id, thread
    from _next_thread_events
    where run_id = new.run_id and at_end = new.at_end;
    delete from _thread_offers
    where run_id = new.run_id;
end;
