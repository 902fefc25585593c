-- Acceptance: the result of a prompt is checked before the prompt counts as done.
-- A prompt may have criteria (accept), a command line that accepts the result if it exits with 0 (accept_command), or
-- both. If its loop would end at 200, the turn stays 'voting' and its result is checked (252): by the command first,
-- then by a judge. If the result is not accepted, the model reads the reasons and tries again, until no attempts are
-- left. The last result is kept.
-- needs: nothing
-- spec: @acceptance @acceptance_verdict

-- tables

-- The checks of results, one row each time a command ran or a judge was asked.
create table if not exists acceptance_checks (
    id integer primary key,
    run_id integer not null constraint acceptance_checks_run references runs (id) on delete cascade,
    loop_id integer not null,
    -- the turn whose result is checked; it is open until then
    turn_id integer not null,
    -- counts the results of the loop that were checked, from 1
    attempt integer not null,
    kind text not null constraint acceptance_checks_kind check (kind in ('command', 'judge')),
    -- the command line that runs, or the command that has the judge asked
    command_id integer not null,
    -- error: the check itself failed; interrupted: it is made again; null: not known yet
    verdict text constraint acceptance_checks_verdict
        check (verdict is null or verdict in ('pass', 'fail', 'error', 'interrupted')),
    -- what the verdict counts as: that of an error is a matter of the setting judge_fail
    counts text constraint acceptance_checks_counts check (counts is null or counts in ('pass', 'fail')),
    reasons text,
    started_at integer not null,
    ended_at integer
) strict;

create index if not exists idx_acceptance_checks_turn_id on acceptance_checks (turn_id);

create index if not exists idx_acceptance_checks_loop_id on acceptance_checks (loop_id);

create unique index if not exists idx_acceptance_checks_command_id on acceptance_checks (command_id);

-- views

-- A result that was not accepted is not to be given again.
create view _unrepeatable_turns__acceptance as
select turn_id
from acceptance_checks
where counts is not 'pass';

-- The turns that are held until their result is verified, with its criteria. 'attempt' is the number of this result.
create view _held_turns as
select
    t.id as turn_id,
    t.run_id,
    t.loop_id,
    t.sequence,
    t.lease,
    case l.mode when 'ask' then 'env' else 'sh' end as action,
    -- blank ones are none
    nullif(trim(l.config ->> '$.accept', char(32, 9, 10, 13)), '') as accept,
    nullif(trim(l.config ->> '$.accept_command', char(32, 9, 10, 13)), '') as accept_command,
    v.answer,
    coalesce(
        cast(json_extract(l.config, '$.accept_attempts') as integer),
        (select cast(value as integer) from settings where name = 'accept_attempts')
    ) as attempts,
    1 + (
        select count(distinct k.turn_id) from acceptance_checks as k where k.loop_id = t.loop_id and k.turn_id <> t.id
    ) as attempt
from turns as t
join loops as l on l.id = t.loop_id
join _turn_verdicts as v on v.turn_id = t.id
where t.phase <> 'judged' and t.phase = 'voting';

-- What a command that checks printed last, at most 2,000 characters of each channel.
create view _check_outputs as
select
    f.command_id,
    group_concat(n.path || ':' || char(10) || ltrim(substr(trim(n.body, char(10)), -2000), char(10)), char(10)) as said
from effects as f
join (
    select c.effect_id, c.path, b.body
    from _channel_entries as c
    join _entry_bodies as b on b.run_id = c.run_id and b.entry_id = c.entry_id and trim(b.body, char(10)) <> ''
    order by c.channel
) as n on n.effect_id = f.id
group by f.command_id;

-- The checks that have come to their end and have no verdict yet, with that verdict and its reasons.
create view _check_ends as
select
    k.id as check_id,
    k.turn_id,
    case
        when c.state = 'resolved' then 'pass'
        -- a command that was too slow or red has said so
        when c.outcome glob 'exit:*' or c.outcome = 'timeout' then 'fail'
        when c.outcome = 'interrupted' then 'interrupted'
        else 'error'
    end as verdict,
    -- where its output is follows below, or stands in the log
    coalesce(nullif(substr(c.message, 1, instr(c.message || '. Output: ', '. Output: ') - 1), ''), c.outcome, '')
    || case when c.state = 'resolved' then '' else coalesce(char(10) || o.said, '') end as reasons
from acceptance_checks as k
join commands as c on c.id = k.command_id
left join _check_outputs as o on o.command_id = c.id
where k.kind = 'command' and k.verdict is null and c.state in ('resolved', 'failed', 'cancelled');

-- The check that comes next for a held turn: the command line, then the judge where the command does not refuse the result.
create view _next_checks as
select
    h.turn_id,
    h.run_id,
    h.loop_id,
    h.sequence,
    h.attempt,
    n.kind
from _held_turns as h
join (select 'command' as kind union all select 'judge') as n
where case n.kind when 'command' then h.accept_command else h.accept end is not null
    and not exists (
        select 1
        from acceptance_checks as k
        where k.turn_id = h.turn_id and k.kind = n.kind and k.verdict is not 'interrupted'
    )
    and (
        n.kind = 'command'
        or h.accept_command is null
        or exists (
            select 1 from acceptance_checks as k where k.turn_id = h.turn_id and k.kind = 'command' and k.counts = 'pass'
        )
    );

-- What the checks of a held turn come to, where all are made.
create view _acceptance_findings as
select
    h.*,
    coalesce(max(k.counts = 'fail'), 0) as refused,
    coalesce(max(k.verdict = 'error'), 0) as broken,
    (
        select group_concat(o.reasons, char(10))
        from (
            select reasons from acceptance_checks where turn_id = h.turn_id and verdict in ('fail', 'error') order by id
        ) as o
    ) as reasons
from _held_turns as h
left join acceptance_checks as k on k.turn_id = h.turn_id and k.verdict is not 'interrupted'
group by h.turn_id
having count(k.id) = count(k.verdict)
    and not exists (select 1 from _next_checks as n where n.turn_id = h.turn_id);

-- The vote that follows: an accepted result ends the loop, a refused one goes back to the model while attempts, turns and
-- seconds are left. Another try does not mend a check that is broken.
create view _acceptance_votes as
select
    f.turn_id,
    f.loop_id,
    f.refused,
    case when f.refused and not f.broken and f.attempt < f.attempts and s.ended is null then 'go_on' else 'stop' end as vote,
    1 + (select max(rank) from votes where turn_id = f.turn_id) as rank,
    case
        when not f.refused or f.broken or f.attempt >= f.attempts then 200
        when s.ended is null then 102
        else 499
    end as status,
    case
        when not f.refused and not f.broken then null
        when not f.refused then 'not verified: '
        when f.broken then 'not accepted: '
        when f.attempt >= f.attempts
            then 'not accepted after ' || f.attempt || case f.attempt when 1 then ' attempt: ' else ' attempts: ' end
        when s.ended is not null then s.ended || ', not accepted: '
    end || substr(f.reasons, 1, 500) as reason,
    f.answer,
    case when f.refused then
        'Not accepted, attempt ' || f.attempt || ' of ' || f.attempts || ': ' || f.reasons
        || case
            when f.broken or f.attempt >= f.attempts then ''
            else char(10) || 'Fix this, then end with <update status="200"> again.'
        end
    end as told
from _acceptance_findings as f
left join (
    select
        t.id as turn_id,
        coalesce(
            (
                select 'stopped at the limit of ' || counted(w.step, 'turn') || goal_told(w.prompt)
                from _turn_steps as w
                where w.turn_id = t.id and w.step >= w.steps
            ),
            (
                select 'stopped at the limit of ' || counted(c.max_seconds, 'second') || goal_told(c.prompt)
                from _loop_seconds as c
                where c.loop_id = t.loop_id and c.seconds_left <= 0
            )
        ) as ended
    from turns as t
) as s on s.turn_id = f.turn_id;

-- Whether the last result of a loop that was verified counts as accepted; a loop without criteria has no row.
create view _loop_acceptances__acceptance as
select
    k.loop_id,
    min(k.counts = 'pass') as accepted
from acceptance_checks as k
where k.counts is not null
    and exists (select 1 from votes as v where v.turn_id = k.turn_id and v.voter = 'acceptance')
    and not exists (
        select 1
        from acceptance_checks as o
        join votes as v on v.turn_id = o.turn_id and v.voter = 'acceptance'
        where o.loop_id = k.loop_id and o.turn_id > k.turn_id
    )
group by k.loop_id, k.turn_id;

-- The runs that judge, each with the command of the check that it is for.
create view _judges as
select f.command_id, c.run_id, c.loop_id
from effects as f
cross join children as c on c.effect_id = f.id
where f.kind = 'verify';

create view acceptances as
-- How results were verified, a row a check: select * from acceptances where run = 'demo'. 'check' is command or judge,
-- 'criteria' the command line or what the judge was asked; 'verdict' is pass, fail, error (of the check itself),
-- interrupted or cancelled, null while it goes on, and 'counts' what it counts as: pass or fail. 'judge' is the run that
-- judged. Times are UTC.
select
    r.alias as run,
    l.sequence as loop,
    t.sequence as turn,
    k.attempt,
    k.kind as "check",
    json_extract(l.config, case k.kind when 'command' then '$.accept_command' else '$.accept' end) as criteria,
    case when k.verdict is null and t.phase = 'judged' then 'cancelled' else k.verdict end as verdict,
    k.counts,
    k.reasons as reason,
    j.alias as judge,
    c.log_path as path,
    round((k.ended_at - k.started_at) / 1000.0, 1) as seconds,
    strftime('%Y-%m-%d %H:%M:%S', k.started_at / 1000.0, 'unixepoch') as started_at,
    strftime('%Y-%m-%d %H:%M:%S', k.ended_at / 1000.0, 'unixepoch') as ended_at,
    k.command_id,
    k.id as check_id
from acceptance_checks as k
join runs as r on r.id = k.run_id
join loops as l on l.id = k.loop_id
join turns as t on t.id = k.turn_id
join commands as c on c.id = k.command_id
left join _judges as g on g.command_id = k.command_id
left join runs as j on j.id = g.run_id;

-- The verdicts, in the words of run_log.
create view _log_additions__acceptance as
select
    a.run, a.turn, 900 as ordinal, 'system' as writer, 'accept' as action, a."check" as target, 'resolved' as state,
    a.verdict as outcome,
    case a.verdict when 'pass' then 200 when 'fail' then 422 when 'interrupted' then 499 else 500 end as status,
    'attempt ' || a.attempt || ': ' || a.verdict || coalesce('. ' || a.reason, '') as body,
    a.path, null as command_id, null as decided_by, a.ended_at as created_at
from acceptances as a
where a.verdict is not null;

-- The verdicts, in the columns of run_progress.
create view _run_progress__acceptance as
select
    a.run, ev.id as event_id, 'acceptance' as type, a.turn, null as context_tokens, null as ceiling, null as cost,
    'accept' as action, a."check" as target,
    case a.verdict when 'pass' then 200 when 'fail' then 422 when 'interrupted' then 499 else 500 end as status,
    a.verdict as outcome, 'attempt ' || a.attempt || coalesce('. ' || a.reason, '') as body, a.path,
    strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch') as created_at
from events as ev
cross join acceptances as a on a.check_id = json_extract(ev.detail, '$.check')
where ev.kind = 'acceptance.ended';

-- An id is given again: a check of a turn to come would be its verdict.
create view _acts__acceptance as
select 9 as rank, 'record' as kind, null as run, 'has checks of results that are not there' as what
where exists (select 1 from acceptance_checks as k where k.turn_id not in (select id from turns));
