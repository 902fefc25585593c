-- Verdict: whether a loop goes on after a turn, and what it ended with.
-- Voters insert a row into votes while a turn is 'judging'; the verdict is a view over the votes, so a plugin takes part
-- with a trigger. Strikes count turns with errors in a row; a cycle is a strike that nobody tells the model about.
-- spec: @verdict @strikes @cycle_detection @healing

-- tables

create table if not exists votes (
    turn_id integer not null constraint votes_turn references turns (id) on delete cascade,
    voter text not null,
    -- stop: the loop ends with that status; go_on: it does not; the highest rank wins
    vote text not null constraint votes_vote check (vote in ('stop', 'go_on')),
    rank integer not null,
    status integer not null default 102 constraint votes_status references statuses (code),
    reason text,
    answer text,
    primary key (turn_id, voter)
) strict, without rowid;

-- views

-- The fingerprint of a turn: what it asked for, in any order, updates included.
create view turn_fingerprints as
select
    t.id as turn_id,
    coalesce(
        (
            select group_concat(print, '|')
            from (
                select
                    c.action || ':' || coalesce(c.path, '') || ':' || coalesce(c.destination, '') || ':'
                    || coalesce(c.body, '') || ':' || c.attributes as print
                from commands as c
                where c.turn_id = t.id
                order by 1
            )
        ), ''
    ) as fingerprint
from turns as t;

-- Turns that repeat what the turns before them did: a block of up to max_cycle_period turns, min_cycles times in a row.
create view turn_cycles as
select
    t.id as turn_id,
    min(k.value) as period
from turns as t
join json_each('[1,2,3,4,5,6,7,8]') as k
    on k.value <= (select cast(value as integer) from settings where name = 'max_cycle_period')
where (
        select count(*)
        from turns as a
        join turns as b on b.loop_id = a.loop_id and b.sequence = a.sequence - k.value
        where a.loop_id = t.loop_id
            and a.sequence <= t.sequence
            and a.sequence > t.sequence - k.value * (
                (select cast(value as integer) from settings where name = 'min_cycles') - 1
            )
            and a.fingerprint = b.fingerprint
    ) = k.value * ((select cast(value as integer) from settings where name = 'min_cycles') - 1)
group by t.id;

-- What a turn amounts to, before the votes.
create view turn_findings as
select
    t.id as turn_id,
    t.loop_id,
    exists (
        select 1
        from commands as c
        join outcomes as o on o.name = substr(c.outcome, 1, instr(c.outcome || ':', ':') - 1)
        where c.turn_id = t.id and c.state = 'failed' and o.strikes
    )
    or exists (select 1 from turn_errors as e where e.turn_id = t.id and not e.soft)
    or exists (select 1 from turn_cycles as y where y.turn_id = t.id) as struck,
    exists (select 1 from turn_cycles as y where y.turn_id = t.id) as cycles,
    exists (
        select 1 from commands as c where c.turn_id = t.id and c.state in ('failed', 'cancelled') and c.action <> 'update'
    ) as failed,
    exists (select 1 from commands as c where c.turn_id = t.id and c.outcome = 'rejected') as rejected,
    (select count(*) from commands as c where c.turn_id = t.id) as commands,
    exists (
        select 1 from commands as c join tools as o on o.name = c.action and o.gathers where c.turn_id = t.id
    ) as gathers,
    (
        select c.id
        from commands as c
        where c.turn_id = t.id and c.action = 'update'
        order by c.ordinal desc
        limit 1
    ) as update_id,
    trim(coalesce(t.prose, ''), char(32, 9, 10, 13)) as prose,
    t.sequence - (select min(o.sequence) from turns as o where o.loop_id = t.loop_id) + 1 as turns_of_loop
from turns as t;

-- The last word of a turn: the vote of the highest rank.
create view turn_verdicts as
select turn_id, voter, vote, status, reason, answer
from (
    select *, row_number() over (partition by turn_id order by rank desc, voter) as place
    from votes
)
where place = 1;

-- triggers

-- Judge: what went wrong is noted, then everybody votes, then the verdict is carried out. One body, because order matters.
create trigger turns__judge
after update of phase on turns
when new.phase = 'judging' and old.phase <> 'judging'
begin
    -- nothing at all was said
    insert into turn_errors (turn_id, status, message)
    select new.id, 422, 'The response was empty: act with a tool, or answer with <update status="200">.'
    from turn_findings as f
    where f.turn_id = new.id
        and f.commands = 0
        and f.prose = ''
        and new.response is not null
        and not exists (select 1 from turn_errors as e where e.turn_id = new.id and not e.soft);
    -- a claim to be done that the turn's own failures refute
    update commands
    set state = 'failed',
        outcome = 'conflict',
        message = 'Not done: an action of this turn failed. Look at it and go on. (' || coalesce(message, '') || ')'
    where id = (select update_id from turn_findings where turn_id = new.id and failed)
        and state = 'resolved'
        and json_extract(attributes, '$.status') >= 200;
    update turns
    set fingerprint = (select text_digest(fingerprint) from turn_fingerprints where turn_id = new.id)
    where id = new.id;
    update turns
    set streak = (
        select case when f.struck then l.streak + 1 else 0 end
        from turn_findings as f
        join loops as l on l.id = f.loop_id
        where f.turn_id = new.id
    )
    where id = new.id;
    update turns
    set phase = 'voting'
    where id = new.id;
    -- the verdict
    update loops
    set streak = (select streak from turns where id = new.id),
        answer = coalesce((select answer from turn_verdicts where turn_id = new.id), answer),
        reason = (select reason from turn_verdicts where turn_id = new.id)
    where id = new.loop_id;
    update turns
    set phase = 'judged',
        status = coalesce((select status from turn_verdicts where turn_id = new.id and vote = 'stop'), 102),
        ended_at = now()
    where id = new.id;
    insert into events (at, run_id, turn_id, kind, detail)
    select now(), new.run_id, new.id, 'turn.judged',
        json_object('vote', v.vote, 'status', v.status, 'voter', v.voter, 'reason', v.reason)
    from turn_verdicts as v
    where v.turn_id = new.id;
    update loops
    set status = (select status from turn_verdicts where turn_id = new.id)
    where id = new.loop_id
        and status = 102
        and (select vote from turn_verdicts where turn_id = new.id) = 'stop';
end;

-- The engine's own votes. A plugin adds its own with a trigger on the same event.
create trigger turns__vote
after update of phase on turns
when new.phase = 'voting'
begin
    -- without a reason to stop, a loop goes on
    insert into votes (turn_id, voter, vote, rank) values (new.id, 'default', 'go_on', 0);
    -- the model's own word
    insert into votes (turn_id, voter, vote, rank, status, answer)
    select
        new.id, 'update', 'stop', 10, json_extract(c.attributes, '$.status'),
        coalesce(nullif(c.message, ''), nullif(f.prose, ''), 'Done.')
    from turn_findings as f
    join commands as c on c.id = f.update_id and c.state = 'resolved'
    where f.turn_id = new.id
        and not f.struck
        and not f.failed
        and json_extract(c.attributes, '$.status') in (200, 204, 422, 500);
    -- no word of it: text alone is the answer; deeds alone are the end, unless something was gathered to be looked at
    insert into votes (turn_id, voter, vote, rank, status, answer)
    select new.id, 'healing', 'stop', 10, 200, coalesce(nullif(f.prose, ''), 'Done.')
    from turn_findings as f
    where f.turn_id = new.id
        and f.update_id is null
        and not f.struck
        and not f.failed
        and not f.gathers
        and (f.commands > 0 or f.prose <> '');
    insert into votes (turn_id, voter, vote, rank, status, reason)
    select new.id, 'turns', 'stop', 20, 499, 'stopped after ' || f.turns_of_loop || ' turns'
    from turn_findings as f
    join loops as l on l.id = f.loop_id
    where f.turn_id = new.id
        and f.turns_of_loop >= coalesce(
            cast(json_extract(l.config, '$.max_turns') as integer),
            (select cast(value as integer) from settings where name = 'max_loop_turns')
        )
        and not exists (select 1 from votes as v where v.turn_id = new.id and v.rank = 10);
    insert into votes (turn_id, voter, vote, rank, status, reason)
    select
        new.id, 'strikes', 'stop', 30, 499,
        case when f.cycles then 'loop detected' else 'abandoned after ' || t.streak || ' turns with errors in a row' end
    from turn_findings as f
    join turns as t on t.id = f.turn_id
    where f.turn_id = new.id
        and t.streak >= (select cast(value as integer) from settings where name = 'max_strikes');
    insert into votes (turn_id, voter, vote, rank, status, reason, answer)
    select new.id, 'rejection', 'stop', 40, 200, 'rejected', nullif(f.prose, '')
    from turn_findings as f
    where f.turn_id = new.id and f.rejected;
    insert into votes (turn_id, voter, vote, rank, status, reason)
    select new.id, 'model', 'stop', 50, k.loop_status, e.message
    from turn_errors as e
    join model_failures as k on k.status = e.status and k.loop_status is not null
    where e.turn_id = new.id and json_extract(e.detail, '$.source') = 'model'
    order by e.id desc
    limit 1;
    insert into votes (turn_id, voter, vote, rank, status, reason)
    select new.id, 'budget', 'stop', 60, 413, e.message
    from turn_errors as e
    where e.turn_id = new.id and json_extract(e.detail, '$.source') = 'budget' and not e.soft
    limit 1;
end;
