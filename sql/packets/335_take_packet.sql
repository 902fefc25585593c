-- Taking a packet: if a packet fits, as most do, the model is asked.
-- The driver offers each packet here, and submits (340) those that were not taken: to compile the rules of the ladder
-- takes longer than a turn, and most processes never need them.
-- spec: @budget_enforcement

-- views

-- Take a packet that fits: insert into _offer_packet (turn_id, chars, lease). One that does not, or may have to be
-- condensed, is left as it is.
create view _offer_packet as
select id as turn_id, context_chars as chars, lease
from turns
where false;

-- What a packet is measured by while its turn assembles it.
create view _packet_limits as
select
    t.id as turn_id,
    t.loop_id,
    t.condensed,
    b.ceiling,
    coalesce(t.chars_per_token, b.chars_per_token) as chars_per_token
from turns as t
join _loop_ceilings as b on b.loop_id = t.loop_id
where t.phase = 'assembling';

-- Take a packet: insert into _take_packet (turn_id, chars, lease, tokens). The model is asked next.
create view _take_packet as
select id as turn_id, context_chars as chars, lease, context_tokens as tokens
from turns
where false;

-- triggers

create trigger _offer_packet__offer
instead of insert on _offer_packet
begin
    insert into _take_packet (turn_id, chars, lease, tokens)
    select turn_id, new.chars, new.lease, tokens
    from (
        select *, cast(ceil(new.chars / chars_per_token) as integer) as tokens
        from _packet_limits
        where turn_id = new.turn_id
    ) as o
    where tokens <= ceiling * min(coalesce((select q.ratio from _condense_ratios as q where q.turn_id = o.turn_id), 1), 1)
        and not exists (select 1 from _loop_seconds as c where c.loop_id = o.loop_id and c.seconds_left <= 0);
end;

-- The turn moves to asking, and its clock is stored.
create trigger _take_packet__take
instead of insert on _take_packet
begin
    -- seen_at is the clock of the event that follows
    update turns
    set context_chars = new.chars,
        context_tokens = new.tokens,
        lease = new.lease,
        phase = 'asking',
        seen_at = (select coalesce(max(id), 0) + 1 from events)
    where id = new.turn_id;
    insert into events (at, run_id, turn_id, kind)
    select now(), run_id, id, 'turn.asked'
    from turns
    where id = new.turn_id;
end;
