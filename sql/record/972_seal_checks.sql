-- Checks of seals: how far each run is sealed, and which turns were changed afterwards.
-- spec: @seals

-- views

create view sealed_runs as
-- How far the record of each run is sealed: the number of its sealed turns and the seal of the last one. Whoever keeps that
-- seal elsewhere can prove later that the record up to there was not changed: select * from sealed_runs where run = 'demo'.
select
    r.alias as run,
    count(s.turn_id) as turns,
    (
        select b.digest
        from turns as o
        cross join turn_seals as b on b.turn_id = o.id
        where o.run_id = r.id
        order by o.sequence desc
        limit 1
    ) as digest
from runs as r
left join turns as t on t.run_id = r.id
left join turn_seals as s on s.turn_id = t.id
group by r.id;

-- The record is what was sealed: the turns that are not, each with what is wrong.
create view _invariant_seals as
select run_id, run, turn, fault
from (
    select
        r.id as run_id,
        r.alias as run,
        t.sequence as turn,
        case
            when s.turn_id is null then 'the turn has no seal'
            when exists (select 1 from turns as o where o.run_id = r.id and o.sequence < t.sequence)
                and not exists (select 1 from turns as o where o.run_id = r.id and o.sequence = t.sequence - 1)
                then 'turn ' || (t.sequence - 1) || ' is gone'
            when (select text_digest(record || char(10)) from _turn_records where turn_id = t.id) is not s.digest
                then 'the record of the turn was changed after it was sealed'
            when exists (
                select 1
                from packet_texts as k
                where k.run = r.alias and k.turn = t.sequence and text_digest(k.body) is not k.sha256
            )
                then 'the packet of the turn was changed after it was sent'
            when s.previous is not null
                and r.parent_run_id is not null
                and s.previous <> printf('%064d', 0)
                and not exists (select 1 from turn_seals as b where b.digest = s.previous)
                and not exists (select 1 from purged_seals as b where b.digest = s.previous)
                then 'the seals continue the seals of a run that is not in this database'
            when s.previous = printf('%064d', 0) and r.forked_at > 1 then 'the seals do not continue the seals of '
                || 'the run that it was forked from'
        end as fault
    from runs as r
    join turns as t on t.run_id = r.id and t.phase = 'judged'
    left join turn_seals as s on s.turn_id = t.id
    union all
    select r.id, r.alias, r.next_turn - 1, 'turn ' || (r.next_turn - 1) || ' is gone'
    from runs as r
    where r.next_turn > coalesce(r.forked_at, 1)
        and not exists (select 1 from turns as t where t.run_id = r.id and t.sequence = r.next_turn - 1)
)
where fault is not null;
