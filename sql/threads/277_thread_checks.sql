-- Checks after edits: the command line of the setting check, behind the commands of a turn.
-- A thread that requests `check` has it run once the commands of the turn are done, as a command of the turn with the rights
-- of the model: policies, grants, the sandbox and whoever decides stand before it. What failed is told to the model, and a
-- loop does not end in a turn whose check failed, as with any command that failed.
-- spec: @thread_checks

-- views

-- Ask the threads of a run about the commands of a turn that are done: insert into _offer_check (turn_id).
create view _offer_check as
select id as turn_id
from turns
where false;

-- The turns whose commands are done, none of them failed, and in which a thread requests the check.
create view _due_checks as
select
    t.id as turn_id,
    t.run_id,
    t.loop_id,
    t.sequence,
    l.line,
    (select max(c.ordinal) + 1 from commands as c where c.turn_id = t.id) as ordinal
from turns as t
cross join _check_lines as l
cross join _next_thread_events as n on n.run_id = t.run_id and n.at_end = 2
where t.phase = 'dispatching'
    and not exists (select 1 from commands as c where c.turn_id = t.id and c.state <> 'resolved');

-- What a check that failed printed last, at most 2,000 characters of each channel.
create view _failed_checks as
select
    c.turn_id,
    'The check failed: ' || coalesce(
        nullif(substr(c.message, 1, instr(c.message || '. Output: ', '. Output: ') - 1), ''), c.outcome, ''
    )
    || coalesce(
        char(10) || (
            select
                group_concat(
                    n.path || ':' || char(10) || ltrim(substr(trim(n.body, char(10)), -2000), char(10)), char(10)
                )
            from (
                select k.path, b.body
                from effects as f
                cross join _channel_entries as k on k.effect_id = f.id
                join _entry_bodies as b
                    on b.run_id = k.run_id and b.entry_id = k.entry_id and trim(b.body, char(10)) <> ''
                where f.command_id = c.id
                order by k.channel
            ) as n
        ), ''
    ) as told
from commands as c
where c.attributes ->> '$.checks' = 1
    and c.state = 'failed'
    and (c.outcome glob 'exit:*' or c.outcome = 'timeout');

-- triggers

create trigger _offer_check__offer
instead of insert on _offer_check
begin
    insert into _tell_facts (run_id, turn_id, loop_id)
    select run_id, id, loop_id
    from turns
    where id = new.turn_id;
    insert into _thread_offers (run_id, turn_id, loop_id, event, fields)
    select run_id, turn_id, loop_id, 'check', '{}'
    from _due_checks
    where turn_id = new.turn_id;
    insert into commands (run_id, loop_id, turn_id, ordinal, writer, action, body, attributes, log_path, created_at)
    select
        run_id, loop_id, turn_id, ordinal, 'model', 'sh', line,
        json_object('timeout', (select cast(value as real) from settings where name = 'accept_timeout'), 'checks', 1),
        log_path(sequence, 'sh', 'check ' || line),
        now()
    from _due_checks
    where turn_id = new.turn_id;
    insert into _select_event (run_id, thread)
    select o.run_id, (select n.thread from _next_thread_events as n where n.run_id = o.run_id and n.at_end = 2)
    from _thread_offers as o
    where o.turn_id = new.turn_id;
    delete from _thread_offers
    where turn_id = new.turn_id;
end;
