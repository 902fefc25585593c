-- Verification: the steps from a result to the verdict on it.
-- The driver inserts into _verify_turn whenever _next_steps says so. Each time the check that has ended gets its
-- verdict, and the next check begins. When no check is left, the turn is judged. A command line is a command of the
-- turn with the rights of the model, so policies, grants, yolo, the sandbox and decisions apply to it.
-- spec: @acceptance @acceptance_command

-- views

create view _verify_turn as
-- Continue the verification of a result: insert into _verify_turn (run, lease). What has ended gets its verdict, and the
-- next check begins; where none is left, the turn is judged.
select r.alias as run, t.lease
from turns as t
join runs as r on r.id = t.run_id
where false;

-- Store the verdict of a check: insert into _end_check (check_id, verdict, reasons).
create view _end_check as
select id as check_id, verdict, reasons
from acceptance_checks
where false;

-- Begin a check: insert a row of _next_checks.
create view _begin_check as
select *
from _next_checks
where false;

-- Propose the command line of a check, unless something forbids it: insert into _propose_check (command_id).
create view _propose_check as
select command_id
from acceptance_checks
where false;

-- Judge a turn whose result is verified: insert a row of _acceptance_votes.
create view _accept_turn as
select *
from _acceptance_votes
where false;

-- triggers

-- A setting that is neither would be taken for open.
create trigger _check_setting__refuse_judge_fail
instead of insert on _check_setting
when new.name = 'judge_fail' and trim(coalesce(new.value, '')) <> '' and new.value not in ('open', 'closed')
begin
    select fail(400, 'setting judge_fail: ' || quote(new.value) || ': use open or closed');
end;

-- The run is 202 while the check waits for a decision.
create trigger _verify_turn__verify
instead of insert on _verify_turn
begin
    select fail(409, 'run ' || coalesce(new.run, 'NULL') || ': has no result to check now')
    where not exists (select 1 from _held_turns as h join runs as r on r.id = h.run_id where r.alias = new.run);
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    from _leases_in_force as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run and l.token is not new.lease;
    update runs
    set status = 102
    where alias = new.run and status = 202 and not exists (select 1 from open_proposals as p where p.run = new.run);
    insert into _end_check (check_id, verdict, reasons)
    select e.check_id, e.verdict, e.reasons
    from runs as r
    join _held_turns as h on h.run_id = r.id
    join (select * from _check_ends union all select * from _judge_ends) as e on e.turn_id = h.turn_id
    where r.alias = new.run;
    insert into _begin_check
    select n.*
    from runs as r
    join _next_checks as n on n.run_id = r.id
    where r.alias = new.run;
    update runs
    set status = 202
    where alias = new.run and status = 102 and exists (select 1 from open_proposals as p where p.run = new.run);
    insert into _accept_turn
    select v.*
    from runs as r
    join _held_turns as h on h.run_id = r.id
    join _acceptance_votes as v on v.turn_id = h.turn_id
    where r.alias = new.run;
end;

create trigger _end_check__end
instead of insert on _end_check
begin
    update acceptance_checks
    set verdict = new.verdict,
        counts = case new.verdict
            when 'pass' then 'pass'
            when 'fail' then 'fail'
            when 'error'
                then case (select value from settings where name = 'judge_fail') when 'closed' then 'fail' else 'pass' end
        end,
        reasons = new.reasons,
        ended_at = now()
    where id = new.check_id and verdict is null;
    insert into events (at, run_id, turn_id, kind, detail)
    select now(), run_id, turn_id, 'acceptance.ended', json_object('check', id, 'verdict', verdict)
    from acceptance_checks
    where id = new.check_id;
end;

-- A command line runs where the mode of the loop lets it: as env, which only reads, in ask mode.
create trigger _begin_check__begin_command
instead of insert on _begin_check
when new.kind = 'command'
begin
    insert into commands (
        run_id, loop_id, turn_id, ordinal, writer, action, body, attributes, log_path, created_at
    )
    select
        h.run_id, h.loop_id, h.turn_id, n.ordinal, 'model', h.action, h.accept_command,
        json_object('timeout', (select cast(value as real) from settings where name = 'accept_timeout')),
        log_path(h.sequence, h.action, 'accept ' || h.accept_command)
        || case when n.checks > 0 then '_' || n.checks else '' end,
        now()
    from _held_turns as h
    join (
        select
            (select coalesce(max(c.ordinal), -1) + 1 from commands as c where c.turn_id = new.turn_id) as ordinal,
            (select count(*) from acceptance_checks as k where k.turn_id = new.turn_id) as checks
    ) as n
    where h.turn_id = new.turn_id;
    insert into acceptance_checks (run_id, loop_id, turn_id, attempt, kind, command_id, started_at)
    select new.run_id, new.loop_id, new.turn_id, new.attempt, new.kind, id, created_at
    from commands
    where id = (select max(id) from commands);
    insert into _propose_check (command_id)
    select command_id
    from acceptance_checks
    where id = (select max(id) from acceptance_checks);
end;

-- What forbids any command forbids this one. That the model ran the same line before does not: it is a question of now.
create trigger _propose_check__propose
instead of insert on _propose_check
begin
    insert into _fail_command (command_id, fault)
    select
        c.id,
        coalesce(
            v.outcome || ': ' || v.message,
            'permission: The tool <' || c.action || '> is closed for this prompt, so no command can check its result.'
        )
    from commands as c
    left join vetoes as v on v.command_id = c.id
    where c.id = new.command_id
        and (
            v.command_id is not null
            or not exists (select 1 from _loop_tools as o where o.loop_id = c.loop_id and o.name = c.action)
        );
    update commands
    set state = 'performing'
    where id = new.command_id and state <> 'failed';
    insert into _open_proposal (command_id, kind, target, detail)
    select id, 'process', body, json_object('command', body)
    from commands
    where id = new.command_id and state = 'performing';
    insert into _log_command (command_id)
    select id
    from commands
    where id = new.command_id and state in ('proposed', 'failed');
end;

-- What was refused is told to the model, in this turn's log; the vote on the result is above all others.
create trigger _accept_turn__accept
instead of insert on _accept_turn
begin
    insert into turn_errors (turn_id, status, message, slug, soft, detail)
    select new.turn_id, 422, new.told, 'acceptance', 1, '{"source":"acceptance"}'
    where new.told is not null;
    insert into votes (turn_id, voter, vote, rank, status, reason, answer)
    values (new.turn_id, 'acceptance', new.vote, new.rank, new.status, new.reason, new.answer);
    insert into _end_turn (turn_id, loop_id, vote, voter, status, reason, answer)
    select turn_id, new.loop_id, vote, voter, status, reason, answer
    from _turn_verdicts
    where turn_id = new.turn_id;
end;
