-- Seals: a hash chain over the turns of a run, so that the record proves that nobody changed it afterwards.
-- When a turn is judged, its record is written as one line of JSON that begins with the digest of the record before it, and
-- the SHA-256 of that line is kept as the turn's seal. A fork continues the chain of the run that it came from, a child
-- that of its parent. What comes later for a sealed turn, such as the end of a background command, is in no seal; the packet
-- in which the model reads it is.
-- spec: @seals

-- tables

-- The seal of each judged turn.
create table if not exists turn_seals (
    turn_id integer primary key constraint turn_seals_turn references turns (id) on delete cascade,
    -- the digest before, of a run's first turn; null: that of the turn before it
    previous text,
    -- the SHA-256 of the record in hexadecimal digits; '' until it is made, in the same transaction
    digest text not null default '',
    -- 1: the response is in the record, 2: tokens and cost as well; what came after the turn had ended is not
    answered integer not null constraint turn_seals_answered_range check (answered in (0, 1, 2)),
    -- the last command, decision and result of an effect that the run had then; later ones are not in the record
    command_id integer,
    resolution_id integer,
    result_id integer
) strict;

-- What is left of runs that were removed for good: the last digest of each, for the runs that came from it.
create table if not exists purged_seals (
    digest text primary key,
    turns integer not null,
    purged_at integer not null
) strict, without rowid;

create index if not exists idx_commands_from_outside on commands (run_id) where turn_id is null;

-- views

-- What the chain of a run begins with: the last digest of the run that it was forked from, before the turn of the fork; the
-- last one that its parent has; 64 zeros for any other run.
create view _first_digests as
select
    r.id as run_id,
    coalesce(
        (
            select s.digest
            from _run_lines as l
            cross join turns as t on t.run_id = l.source_id and t.sequence < l.before_turn
            cross join turn_seals as s on s.turn_id = t.id
            where l.run_id = r.id and l.depth > 0
            order by l.depth, t.sequence desc
            limit 1
        ),
        (
            select s.digest
            from turns as t
            cross join turn_seals as s on s.turn_id = t.id
            where t.run_id = r.parent_run_id and r.forked_at is null
            order by t.sequence desc
            limit 1
        ),
        printf('%064d', 0)
    ) as digest
from runs as r;

-- The turn of the seal before that of each turn; null for the first of a run.
create view _seals_before as
select
    t.id as turn_id,
    (
        select o.id
        from turns as o
        cross join turn_seals as s on s.turn_id = o.id
        where o.run_id = t.run_id and o.sequence < t.sequence
        order by o.sequence desc
        limit 1
    ) as before_id
from turns as t;

-- The commands of which an effect went on when their turn was sealed.
create view _going_on as
select c.id as command_id
from commands as c
cross join turn_seals as s on s.turn_id = c.turn_id
cross join turns as t on t.id = c.turn_id
cross join effects as f on f.command_id = c.id
left join effect_results as x on x.effect_id = f.id
where coalesce(x.id <= s.result_id, false) = false
    -- an abort tells the end before the process has ended
    or t.status = 499 and f.started_at is not null;

-- The record of each judged turn; see turn_records.
create view _turn_records as
select
    t.id as turn_id,
    '{"previous":"' || coalesce(s.previous, b.digest)
    || '","turn":' || t.sequence || ',"loop":' || l.sequence || ',"status":' || t.status
    || ',"begun":' || t.created_at || ',"ended":' || coalesce(t.ended_at, 'null')
    || case
        when s.previous is null then ''
        else ',"run":' || json_array(r.created_at, r.role, r.depth, r.forked_at)
    end
    || case
        when exists (select 1 from turns as o where o.loop_id = t.loop_id and o.sequence < t.sequence) then ''
        else ',"prompt":' || json_array(l.prompt, l.mode, l.model, l.config, l.created_at)
    end
    || ',"packet":' || (
        select json_group_array(json_array(p.role, lower(hex(p.sha256)), p.chars))
        from (select * from packets where turn_id = t.id order by ordinal) as p
    )
    -- how the last call ended is not in it without an answer: the call may go on after its turn
    || ',"calls":' || (
        select json_group_array(
            json_array(
                m.attempt, m.model, m.effort, m.started_at, iif(m.has_ended, m.state, null),
                iif(m.has_ended, m.status, null), iif(m.has_ended, m.message, null), iif(m.has_ended, m.ended_at, null)
            )
        )
        from (
            select
                o.*,
                s.answered
                or exists (select 1 from model_calls as n where n.turn_id = t.id and n.id > o.id) as has_ended
            from model_calls as o
            where o.turn_id = t.id
            order by o.id
        ) as m
    )
    || coalesce(
        ',"options":' || (
            select json_group_array(o.options) from model_calls as o where o.turn_id = t.id having count(o.options) > 0
        ),
        ''
    )
    || case
        when s.answered
            then ',"answer":' || json_array(t.response, t.reasoning, t.native, t.finish_reason)
        else ''
    end
    || case
        when s.answered = 2
            then ',"usage":' || json_array(
                t.prompt_tokens, t.cached_tokens, t.completion_tokens, t.reasoning_tokens,
                -- the cost in USD as two whole numbers, because readers round a fraction differently: the cost times 2^40,
                -- and the rest of that times 2^50
                cast(t.cost * 1099511627776.0 as integer),
                cast(
                    (t.cost * 1099511627776.0 - cast(t.cost * 1099511627776.0 as integer)) * 1125899906842624.0
                    as integer
                )
            ) || coalesce(',"cost_from":' || json_quote(t.cost_from), '')
        else ''
    end
    -- what came of a command is not in it while an effect of the command goes on
    || ',"commands":' || (
        select json_group_array(
            json_array(
                c.ordinal, c.writer, c.action, c.path, c.destination,
                coalesce(c.body, substr(t.response, c.body_at, c.body_chars)),
                iif(c.goes_on, null, c.attributes), iif(c.goes_on, null, c.state), iif(c.goes_on, null, c.outcome),
                iif(c.goes_on, null, c.message)
            )
        )
        from (
            select o.*, exists (select 1 from _going_on as g where g.command_id = o.id) as goes_on
            from commands as o
            where o.turn_id = t.id and o.id <= s.command_id
            order by o.id
        ) as c
    )
    -- what came from outside of a turn since the turn before
    || ',"requests":' || (
        select json_group_array(json_array(c.writer, c.action, c.path, c.destination, c.body, c.created_at))
        from (
            select *
            from commands
            where run_id = t.run_id
                and turn_id is null
                and id <= s.command_id
                and id > coalesce(b.command_id, 0)
            order by id
        ) as c
    )
    || ',"proposals":' || (
        select json_group_array(
            json_array(
                p.path, p.kind, p.action, p.target, p.created_at,
                iif(p.goes_on, null, p.detail), iif(p.goes_on, null, p.state), iif(p.goes_on, null, p.outcome),
                iif(p.goes_on, null, p.reason), iif(p.goes_on, null, p.decided_at),
                iif(p.goes_on, null, (select body from contents where id = p.content_id))
            )
        )
        from (
            select o.*, exists (select 1 from _going_on as g where g.command_id = c.id) as goes_on
            from commands as c
            cross join proposals as o on o.command_id = c.id
            where c.turn_id = t.id
            order by o.id
        ) as p
    )
    || ',"decisions":' || (
        select json_group_array(json_array(d.path, d.decision, d.body, d.reason, d.decided_by, d.created_at))
        from (
            select *
            from resolutions
            where run_id = t.run_id
                and id <= s.resolution_id
                and id > coalesce(b.resolution_id, 0)
            order by id
        ) as d
    )
    || ',"effects":' || (
        select json_group_array(
            json_array(f.kind, f.detail, f.started_at, f.state, f.outcome, f.message, f.result)
        )
        from (
            select f.kind, f.detail, f.started_at, x.state, x.outcome, x.message, x.detail as result
            from commands as c
            cross join effects as f on f.command_id = c.id
            cross join effect_results as x on x.effect_id = f.id
            where c.turn_id = t.id and x.id <= s.result_id
            order by x.id
        ) as f
    )
    || ',"errors":' || (
        select json_group_array(json_array(e.status, e.message, e.soft, e.detail))
        from (select * from turn_errors where turn_id = t.id order by id) as e
    )
    || '}' as record
from turn_seals as s
join turns as t on t.id = s.turn_id
join loops as l on l.id = t.loop_id
join runs as r on r.id = t.run_id
-- the seal before
left join turn_seals as b on b.turn_id = (select p.before_id from _seals_before as p where p.turn_id = t.id);

create view turn_records as
-- The record of each judged turn as one line of JSON, and its seal: select record from turn_records where run = 'demo' and
-- turn = 3. The SHA-256 of that line and a line feed is 'digest', and the next turn's record begins with it.
select r.alias as run, t.sequence as turn, d.record, s.digest
from runs as r
join turns as t on t.run_id = r.id
join turn_seals as s on s.turn_id = t.id
join _turn_records as d on d.turn_id = t.id;

-- Seal a turn: insert into _seal_turn (turn_id), by _late_call.
create view _seal_turn as
select id as turn_id
from turns
where false;

-- triggers

-- The seal is part of the judgement.
create trigger turns__seal
after update of phase on turns
when new.phase = 'judged' and old.phase <> 'judged'
begin
    insert into _late_call (door, a) values ('_seal_turn', new.id);
end;

create trigger _seal_turn__seal
instead of insert on _seal_turn
begin
    insert into turn_seals (turn_id, previous, answered, command_id, resolution_id, result_id)
    select
        t.id,
        case when p.before_id is null then (select digest from _first_digests where run_id = t.run_id) end,
        (t.response is not null) + (t.response is not null and coalesce(t.prompt_tokens, t.cost) is not null),
        (select max(id) from commands),
        (select max(id) from resolutions where run_id = t.run_id),
        (select max(id) from effect_results)
    from turns as t
    join _seals_before as p on p.turn_id = t.id
    where t.id = new.turn_id;
    update turn_seals
    set digest = (
        select text_digest(record || char(10))
        from _turn_records
        where turn_id = new.turn_id
    )
    where turn_id = new.turn_id;
end;

-- The end of its chain stays, for the runs that came from it.
create trigger _forget_run__keep_digest
instead of insert on _forget_run
begin
    insert or ignore into purged_seals (digest, turns, purged_at)
    select s.digest, (select count(*) from turns where run_id = new.run_id), now()
    from turns as t
    join turn_seals as s on s.turn_id = t.id
    where t.run_id = new.run_id
    order by t.sequence desc
    limit 1;
end;
