-- Reservations: what a call may take at most is kept for it before it is made.
-- So runs that share a limit never exceed it together. The driver inserts into _reserve_call in the transaction that opens
-- the call. The call gets what it asks for, or what is left where nobody else is at work. Where the calls of others are in
-- the way, nothing is reserved, and the driver asks again. Where too little is left, the prompt ends.
-- spec: @reservations

-- views

-- What each limit leaves of the estimated call of a turn, in tokens of its answer. 'room' is what it leaves beside the calls
-- under way, 'alone' what it would leave without these; null: the price is unknown.
create view _limit_rooms as
select
    turn_id, loop_id, name,
    case measure
        when 'calls' then case when free >= 1 then 9e15 else -1 end
        when 'tokens' then free - prompt_tokens
        else
            case
                when price_output > 0 then (free * 1e6 - prompt_tokens * price_input) / price_output
                when free * 1e6 >= prompt_tokens * price_input then 9e15
                when price_output is not null then -1
            end
    end as room,
    is_alone
from (
    select
        l.turn_id, l.loop_id, l.name, l.measure, e.prompt_tokens, e.price_input, e.price_output,
        a.column1 as is_alone,
        l.most - l.spent - case
            when a.column1 then 0
            else coalesce((
                select case l.measure when 'cost' then sum(v.cost) when 'tokens' then sum(v.tokens) else count(*) end
                from _live_reservations as v
                where v.loop_id = l.loop_id and v.turn_id <> l.turn_id
            ), 0)
        end as free
    from call_estimates as e
    join _turn_limits as l on l.turn_id = e.turn_id
    cross join (values (0), (1)) as a
);

-- What becomes of the estimated call of a turn: 'output' is how long its answer may be, 'is_limited' 1 where a limit says
-- so. 'waits' is 1 where the calls of others are in the way, 'stops' where too little is left.
create view _call_decisions as
select
    turn_id,
    cast(min(output_tokens, room) as integer) as output,
    room < 9e15 as is_limited,
    room < output_tokens and room < alone as waits,
    alone < min(output_tokens, 256) as stops
from (
    select
        e.turn_id,
        e.output_tokens,
        (
            select min(coalesce(r.room, -9e15)) from _limit_rooms as r where r.turn_id = e.turn_id and not r.is_alone
        ) as room,
        (select min(coalesce(r.room, -9e15)) from _limit_rooms as r where r.turn_id = e.turn_id and r.is_alone) as alone
    from call_estimates as e
)
where room is not null;

create view _reserve_call as
-- Reserve what the next call of a turn may take: insert into _reserve_call (turn_id, price, lease, output). 'price' is what
-- the model costs, [input, output, cached] in US dollars per million tokens as JSON, null: unknown. 'output' is the longest
-- answer that is asked for, null: 16,384 tokens. Then call_reservations has a row; or the turn is judged, because a limit
-- leaves too little; or neither: ask again.
select turn_id, null as price, lease, output
from call_reservations
where false;

-- triggers

create trigger _reserve_call__reserve
instead of insert on _reserve_call
begin
    select fail(404, 'turn ' || quote(new.turn_id) || ': not found; see the view _next_steps')
    where not exists (select 1 from turns where id = new.turn_id);
    select fail(400, 'price ' || quote(new.price) || ': give [input, output] in US dollars per million tokens')
    where new.price is not null
        and (
            not json_valid(new.price)
            or (
                typeof(json_extract(new.price, '$[0]')) in ('integer', 'real')
                and typeof(json_extract(new.price, '$[1]')) in ('integer', 'real')
                and json_extract(new.price, '$[0]') between 0 and 1e6
                and json_extract(new.price, '$[1]') between 0 and 1e6
            ) is not true
        );
    -- one that a driver left open when it died counts
    update model_calls
    set state = 'interrupted', ended_at = now()
    where turn_id = new.turn_id and state = 'open';
    -- what calls that have ended have left
    delete from call_reservations
    where turn_id = new.turn_id
        or not exists (select 1 from turns as t where t.id = call_reservations.turn_id and t.phase = 'asking');
    delete from call_estimates
    where not exists (select 1 from turns as t where t.id = call_estimates.turn_id and t.phase = 'asking');
    insert into call_estimates (turn_id, prompt_tokens, output_tokens, price_input, price_output)
    select
        id, cast(ceil(1.1 * coalesce(context_tokens, 0)) as integer), coalesce(new.output, 16384),
        new.price ->> 0, new.price ->> 1
    from turns
    where id = new.turn_id and phase = 'asking'
    on conflict (turn_id) do update set
        prompt_tokens = excluded.prompt_tokens, output_tokens = excluded.output_tokens,
        price_input = excluded.price_input, price_output = excluded.price_output;
    insert into bound_stops (turn_id, name, rank, reason)
    select
        r.turn_id,
        case when r.room is null then 'price' else r.name end,
        70,
        case
            when r.room is null
                then 'stopped: ' || r.name || ' cannot be kept, because no price is known for ' || m.actual
                    || '; engine models add NAME ' || m.actual || ' --price IN/OUT says it'
            else 'stopped at the limit of ' || o.told || ', the next call needs more' || goal_told(l.prompt)
        end
    from _call_decisions as d
    join _limit_rooms as r on r.turn_id = d.turn_id and r.is_alone
    join _told_limits as o on o.turn_id = r.turn_id and o.loop_id = r.loop_id and o.name = r.name
    join turns as t on t.id = d.turn_id
    join loops as l on l.id = t.loop_id
    join _model_requests as m on m.turn_id = d.turn_id
    where d.turn_id = new.turn_id and d.stops
    order by coalesce(r.room, -9e15)
    limit 1
    on conflict (turn_id) do update set name = excluded.name, rank = excluded.rank, reason = excluded.reason;
    insert into call_reservations (loop_id, turn_id, lease, cost, tokens, output)
    select distinct
        r.loop_id, e.turn_id, new.lease,
        coalesce(e.prompt_tokens * e.price_input + d.output * e.price_output, 0) / 1e6,
        e.prompt_tokens + d.output,
        case when d.is_limited then d.output end
    from _call_decisions as d
    join call_estimates as e on e.turn_id = d.turn_id
    join _limit_rooms as r on r.turn_id = d.turn_id
    where d.turn_id = new.turn_id and not d.waits and not d.stops;
    insert into _judge_turn (turn_id)
    select t.id
    from bound_stops as s
    join turns as t on t.id = s.turn_id
    where s.turn_id = new.turn_id and s.rank = 70 and t.phase = 'asking';
end;

-- A driver that opens a call has reserved it.
create trigger model_calls__guard_reservation
before insert on model_calls
when exists (select 1 from _bounded_turns as b where b.turn_id = new.turn_id)
    and not exists (select 1 from call_reservations as q where q.turn_id = new.turn_id)
begin
    select fail(
        409, 'turn ' || t.sequence || ' of run ' || r.alias || ': a limit holds for it; insert into _reserve_call first'
    )
    from turns as t
    join runs as r on r.id = t.run_id
    where t.id = new.turn_id;
end;
