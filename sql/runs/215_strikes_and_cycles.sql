-- Findings: facts about a turn, on which the votes depend.
-- Whether its response was cut off, what it asked for, whether it repeats turns before it, and which of its errors
-- count. dispatch (200) asks for the cut; _judge_turn (220) reads _turn_findings once, when every command of the turn
-- is settled, and the votes depend on it.
-- spec: @cut_off @strikes @cycle_detection @healing

-- views

-- Turns whose response was cut off, and what the model is told of that. A command that was open at
-- the cut is not performed. cuts_text is 0 where nobody reported why the response ended: then its
-- text may be complete.
create view _cut_responses as
select
    id as turn_id,
    case finish_reason
        when 'length' then 'Your answer was cut off at the output limit'
        when 'content_filter' then 'Your answer was stopped by the filter of the provider'
        else 'Your answer broke off before its end'
    end as told,
    finish_reason <> 'incomplete' as cuts_text,
    substr(response, -80) as ending
from turns
where finish_reason in ('length', 'content_filter', 'incomplete')
    and text_repetition(response) is null;

-- What a turn asked for, as one text: its commands with their bodies, updates included, whatever
-- the order of commands and of attributes; '' where it asked for nothing.
create view _turn_fingerprints as
select
    t.id as turn_id,
    coalesce(
        (
            select group_concat(print, '|')
            from (
                select
                    c.action || ':' || coalesce(c.path, '') || ':'
                    || coalesce(c.destination, '') || ':' || coalesce(c.body, '') || ':'
                    || case c.attributes
                        when '{}' then ''
                        else (
                            select json_group_array(pair)
                            from (
                                select json_array(a.key, a.value) as pair
                                from json_each(c.attributes) as a
                                order by a.key
                            )
                        )
                    end as print
                from commands as c
                where c.turn_id = t.id
                order by 1
            )
        ), ''
    ) as fingerprint
from turns as t;

-- Turns that end a cycle: a block of up to max_cycle_period turns that was repeated min_cycles
-- times in a row.
create view _turn_cycles as
select
    t.id as turn_id,
    t.sequence - o.sequence as period
from turns as t
-- most turns differ from those before: no block is counted for them
cross join turns as o
    on o.loop_id = t.loop_id
    and o.sequence < t.sequence
    and o.sequence >= t.sequence - (select cast(value as integer) from settings where name = 'max_cycle_period')
    and o.fingerprint = t.fingerprint
where (
        select count(*)
        from turns as a
        join turns as b on b.loop_id = a.loop_id and b.sequence = a.sequence - (t.sequence - o.sequence)
        where a.loop_id = t.loop_id
            and a.sequence <= t.sequence
            and a.sequence > t.sequence - (t.sequence - o.sequence) * (
                (select cast(value as integer) from settings where name = 'min_cycles') - 1
            )
            and a.fingerprint = b.fingerprint
    ) = (t.sequence - o.sequence) * ((select cast(value as integer) from settings where name = 'min_cycles') - 1);

-- The errors of a turn that count as a strike.
create view _turn_faults as
select c.turn_id
from commands as c
join outcomes as o on o.name = substr(c.outcome, 1, instr(c.outcome || ':', ':') - 1)
where c.state = 'failed' and o.strikes
union all
select turn_id
from turn_errors
where not soft;

-- The facts about a turn on which the votes depend.
create view _turn_findings as
select
    t.id as turn_id,
    t.loop_id,
    exists (select 1 from _turn_faults as f where f.turn_id = t.id) as faulty,
    exists (select 1 from _turn_cycles as y where y.turn_id = t.id) as cycles,
    exists (
        select 1
        from commands as c
        where c.turn_id = t.id and c.state in ('failed', 'cancelled') and c.action <> 'update'
    )
    -- a call that could not be read
    or exists (
        select 1 from turn_errors as e where e.turn_id = t.id and json_extract(e.detail, '$.unread')
    ) as failed,
    -- a person who says why wants another try
    exists (
        select 1
        from commands as c
        where c.turn_id = t.id
            and c.outcome = 'rejected'
            and not exists (
                select 1
                from proposals as p
                where p.command_id = c.id
                    and p.outcome = 'rejected'
                    and trim(coalesce(p.reason, ''), char(32, 9, 10, 13)) <> ''
            )
    ) as rejected,
    (select count(*) from commands as c where c.turn_id = t.id) as commands,
    -- a model that acts has not seen what came of it. With end_without_update only what gathers counts; a command with
    -- manifest only lists.
    t.native or exists (
        select 1
        from commands as c
        join tools as o on o.name = c.action
        where c.turn_id = t.id
            and (
                o.gathers
                or c.attributes ->> '$.manifest' is not null
                or (
                    c.action <> 'think'
                    and (select value from settings where name = 'end_without_update') = '0'
                )
            )
    ) as acts,
    (
        select c.id
        from commands as c
        where c.turn_id = t.id and c.action = 'update'
        order by c.ordinal desc
        limit 1
    ) as update_id,
    trim(coalesce(t.prose, ''), char(32, 9, 10, 13)) as prose
from turns as t;
