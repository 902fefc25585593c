-- Votes: whether a loop continues after a turn, and the status with which it ends.
-- Each voter inserts a row into votes; a plugin does so in a trigger on turns that become 'voting'. The vote of the
-- highest rank is the verdict. A turn with an error that counts is a strike, and so is a turn that repeats the turns
-- before it; max_strikes in a row end the loop.
-- spec: @verdict @strikes @healing

-- tables

-- All votes on turns, one a voter.
create table if not exists votes (
    turn_id integer not null constraint votes_turn references turns (id) on delete cascade,
    voter text not null,
    -- stop: the loop ends with the status; go_on: it continues
    vote text not null constraint votes_vote check (vote in ('stop', 'go_on')),
    -- the highest rank wins
    rank integer not null,
    status integer not null default 102 constraint votes_status references statuses (code),
    reason text,
    answer text,
    primary key (turn_id, voter)
) strict, without rowid;

-- views

create view _turn_verdicts as
-- The verdict on a turn: the vote of the highest rank. A turn without a row had no vote, and its loop continues.
select turn_id, voter, vote, status, reason, answer
from votes as v
where not exists (
        select 1
        from votes as o
        where o.turn_id = v.turn_id and (o.rank > v.rank or (o.rank = v.rank and o.voter < v.voter))
    );

-- The votes for the limits of the loop (turns, seconds, strikes) and for errors that end it (model, budget). What stops a
-- loop names its goal. _decide_turn casts the votes on the commands of the turn.
create view _loop_votes as
select
    s.turn_id, 'turns' as voter, 20 as rank, 499 as status,
    'stopped at the limit of ' || counted(s.step, 'turn') || goal_told(s.prompt) as reason,
    null as answer
from _turn_steps as s
where s.step >= s.steps and not exists (select 1 from votes as v where v.turn_id = s.turn_id and v.rank = 10)
union all
select
    t.id, 'clock', 25, 499,
    'stopped at the limit of ' || counted(s.max_seconds, 'second') || goal_told(s.prompt),
    null
from turns as t
join _loop_seconds as s on s.loop_id = t.loop_id and s.seconds_left <= 0
where not exists (select 1 from votes as v where v.turn_id = t.id and v.rank = 10)
union all
select
    t.id, 'strikes', 30, 499,
    coalesce(
        -- a cycle is the reason where some turn of the streak had no other error
        (
            select 'stopped: the same '
                || case min(y.period) when 1 then 'turn' else min(y.period) || ' turns' end || ' over and over'
            from _turn_cycles as y
            where y.turn_id = t.id
                and exists (
                    select 1
                    from turns as o
                    where o.loop_id = l.id
                        and o.sequence > t.sequence - l.streak
                        and not exists (select 1 from _turn_faults as f where f.turn_id = o.id)
                )
            having count(*) > 0
        ),
        'stopped after ' || counted(l.streak, 'turn') || ' with errors in a row'
    ) || goal_told(l.prompt),
    null
from turns as t
join loops as l on l.id = t.loop_id
where l.streak >= (select cast(value as integer) from settings where name = 'max_strikes')
union all
select e.turn_id, 'model', 50, k.loop_status, e.message, null
from turn_errors as e
join model_failures as k on k.status = e.status and k.loop_status is not null
where json_extract(e.detail, '$.source') = 'model'
union all
select e.turn_id, 'budget', 60, 413, e.message, null
from turn_errors as e
where json_extract(e.detail, '$.source') = 'budget' and not e.soft;

-- The turns of loops, and whether their loop may take no further one.
create view _last_turns as
select
    s.turn_id,
    s.step >= s.steps or exists (
        select 1
        from turns as t
        join _loop_seconds as c on c.loop_id = t.loop_id
        where t.id = s.turn_id and c.seconds_left <= 0
    ) as is_last
from _turn_steps as s;

-- Judge a turn whose commands are all settled: insert into _judge_turn (turn_id).
create view _judge_turn as
select id as turn_id
from turns
where false;

-- End a turn with its verdict: insert into _end_turn (turn_id, loop_id, vote, voter, status, reason, answer). A null
-- vote means that nobody voted: the loop continues.
create view _end_turn as
select turn_id, null as loop_id, vote, voter, status, reason, answer
from votes
where false;

-- Cast the votes on a turn and end it with the verdict: insert a row of _turn_findings.
create view _decide_turn as
select *
from _turn_findings
where false;

-- triggers

-- Store the fingerprint, add the error of an empty response, and decide with the findings.
create trigger _judge_turn__judge
instead of insert on _judge_turn
begin
    -- a digest, also of a turn that asked for nothing
    update turns
    set fingerprint = (
        select substr(text_digest(f.fingerprint), 1, 16) from _turn_fingerprints as f where f.turn_id = new.turn_id
    )
    where id = new.turn_id;
    -- a response without text and without a command other than a thought is empty
    insert into turn_errors (turn_id, status, message)
    select t.id, 422, 'The response was empty: act with a tool, or answer with <update status="200">.'
    from turns as t
    where t.id = new.turn_id
        and t.response is not null
        and trim(coalesce(t.prose, ''), char(32, 9, 10, 13)) = ''
        and not exists (select 1 from commands as c where c.turn_id = t.id and (c.action <> 'think' or t.native))
        and not exists (select 1 from turn_errors as e where e.turn_id = t.id and not e.soft);
    insert into _decide_turn
    select *
    from _turn_findings
    where turn_id = new.turn_id;
end;

-- The findings are computed once; this body reads them from the inserted row.
create trigger _decide_turn__decide
instead of insert on _decide_turn
begin
    -- an update that ends the loop fails where another command of the turn has failed or could not be read
    insert into _end_command (command_id, state, outcome, message)
    select
        id, 'failed', 'conflict',
        'Not done: an action of this turn failed or could not be read. Look at it and go on. ('
        || coalesce(message, '') || ')'
    from commands
    where id = new.update_id
        and new.failed
        and state = 'resolved'
        and json_extract(attributes, '$.status') >= 200;
    update loops
    set streak = case when new.faulty or new.cycles then streak + 1 else 0 end
    where id = new.loop_id;
    -- an update votes with its status; without one, prose ends the loop at 200, unless the model acts and has yet to see
    -- what comes of it
    insert into votes (turn_id, voter, vote, rank, status, reason, answer)
    select
        new.turn_id, 'update', 'stop', 10, json_extract(c.attributes, '$.status'), null,
        coalesce(nullif(c.message, ''), nullif(new.prose, ''), 'Done.')
    from commands as c
    where c.id = new.update_id
        and c.state = 'resolved'
        and not (new.faulty or new.cycles)
        and not new.failed
        and json_extract(c.attributes, '$.status') in (200, 204, 422, 500)
    union all
    select new.turn_id, 'healing', 'stop', 10, 200, null, coalesce(nullif(new.prose, ''), 'Done.')
    where new.update_id is null
        and not (new.faulty or new.cycles)
        and not new.failed
        and not new.acts
        and (new.commands > 0 or new.prose <> '')
    union all
    select new.turn_id, 'rejection', 'stop', 40, 403, 'rejected', nullif(new.prose, '')
    where new.rejected;
    insert into votes (turn_id, voter, vote, rank, status, reason, answer)
    select turn_id, voter, 'stop', rank, status, reason, answer
    from _loop_votes
    where turn_id = new.turn_id;
    -- plugins vote when the phase becomes 'voting'
    update turns
    set phase = 'voting', streak = (select streak from loops where id = new.loop_id)
    where id = new.turn_id;
    insert into _end_turn (turn_id, loop_id, vote, voter, status, reason, answer)
    select new.turn_id, new.loop_id, v.vote, v.voter, v.status, v.reason, v.answer
    from loops as l
    left join _turn_verdicts as v on v.turn_id = new.turn_id
    where l.id = new.loop_id
        -- a result with criteria is checked first; _verify_turn (252) ends the turn
        and (
            v.status = 200 and v.vote = 'stop' and criteria_told(l.config) <> ''
        ) is not true;
end;

-- Store answer, reason and status, drop long bodies of commands that the response holds too, and end the loop where the
-- vote is stop.
create trigger _end_turn__end
instead of insert on _end_turn
begin
    update loops
    set answer = coalesce(new.answer, answer), reason = new.reason
    where id = new.loop_id and new.vote is not null;
    update turns
    set phase = 'judged',
        status = case new.vote when 'stop' then new.status else 102 end,
        prose = null,
        ended_at = now()
    where id = new.turn_id;
    -- what the model answered without an update is in its log as well: later prompts show it
    insert into _write_entry (run_id, path, body, attributes, state, writer, turn, loop_id)
    select
        t.run_id, log_path(t.sequence, 'update', new.answer), new.answer,
        json_object('action', 'update', 'target', substr(new.answer, 1, 120), 'status', new.status), 'resolved', 'system',
        t.sequence, t.loop_id
    from turns as t
    where t.id = new.turn_id and new.voter = 'healing' and new.vote = 'stop';
    -- a long body is kept once, in the response; see _command_bodies
    update commands
    set body = null, body_at = instr(t.response, commands.body), body_chars = length(commands.body)
    from turns as t
    where t.id = new.turn_id
        and commands.turn_id = new.turn_id
        and length(commands.body) > 100
        and commands.path is not null
        and instr(t.response, commands.body) > 0
        -- substr stops at a NUL
        and instr(t.response, char(0)) = 0;
    insert into events (at, run_id, turn_id, kind, detail)
    select
        now(), run_id, id, 'turn.judged',
        case
            when new.vote is not null then json_object('vote', new.vote, 'status', new.status, 'voter', new.voter)
        end
    from turns
    where id = new.turn_id;
    insert into _move_loop (loop_id, status)
    select id, new.status
    from loops
    where id = new.loop_id and status = 102 and new.vote = 'stop';
end;
