-- Bounds: what a prompt with the runs below it, a day and the file may spend in dollars, tokens and calls of models.
-- What was spent is added up as answers arrive. It counts for the prompt, for those that gave it work, for the day and for
-- the file. A limit that is reached ends the prompt with its turn; before a call the next file (246) reserves what it may
-- take at most.
-- needs: nothing
-- spec: @bounds @spending

-- tables

-- What all calls of a day have cost; the days of UTC.
create table if not exists spending (
    day text primary key,
    -- in US dollars; an answer of unknown cost counts as what was estimated
    cost real not null default 0,
    -- of packets and answers
    tokens integer not null default 0,
    -- of models, those that failed or were interrupted too
    calls integer not null default 0
) strict, without rowid;

-- The same for each prompt, with the prompts that it gave work to or was handed over to.
create table if not exists prompt_spending (
    loop_id integer primary key constraint prompt_spending_loop references loops (id) on delete cascade,
    cost real not null default 0,
    tokens integer not null default 0,
    calls integer not null default 0
) strict;

-- What the next call of a turn is estimated to take, and what its model costs in US dollars per million tokens.
create table if not exists call_estimates (
    turn_id integer primary key constraint call_estimates_turn references turns (id) on delete cascade,
    prompt_tokens integer not null,
    -- the longest answer that was asked for
    output_tokens integer not null,
    -- null: unknown
    price_input real,
    price_output real
) strict;

-- What calls that are under way may take at most, for each prompt that has a limit; loop_id 0: of the day and the file.
create table if not exists call_reservations (
    loop_id integer not null,
    turn_id integer not null constraint call_reservations_turn references turns (id) on delete cascade,
    -- the token of its driver; null: driven without a lease
    lease text,
    cost real not null,
    tokens integer not null,
    -- tokens of the answer; null: no limit asks for one
    output integer,
    primary key (loop_id, turn_id)
) strict, without rowid;

create index if not exists idx_call_reservations_turn_id on call_reservations (turn_id);

-- The turns at which a limit was reached, or did not leave enough for a call.
create table if not exists bound_stops (
    turn_id integer primary key constraint bound_stops_turn references turns (id) on delete cascade,
    -- the option or setting; price: that of the model is unknown
    name text not null,
    -- that of the vote: 5 after an answer, 70 where the model was not asked
    rank integer not null,
    reason text not null
) strict;

-- views

-- Where what a prompt spends counts: its own loop, the one that it was handed over from, those that gave it work, and 0 for
-- the day and the file.
create view _limit_scopes as
select
    l.id as loop_id,
    n.value as scope_id
from loops as l
join json_each((
    with recursive line (id) as (
        select l.id
        union
        select p.prior_loop_id
        from line as n
        join _prior_loops as p on p.loop_id = n.id
        union
        select c.parent_loop_id
        from line as n
        join loops as o on o.id = n.id
        join children as c on c.run_id = o.run_id and c.loop_id = o.id
        where c.parent_loop_id is not null
    )
    select json_insert(json_group_array(id), '$[#]', 0)
    from line
)) as n;

-- The prompts among them.
create view _prompt_lines as
select loop_id, scope_id as bound_loop_id
from _limit_scopes
where scope_id <> 0;

create view _limit_measures (measure) as
values ('cost'), ('tokens'), ('calls');

-- The limits of a day and of the file.
create view _file_limits as
select s.name, m.measure, s.name like 'max_day_%' as is_of_day, cast(s.value as real) as most
from _limit_measures as m
join settings as s on s.name in ('max_day_' || m.measure, 'max_file_' || m.measure) and s.value <> '';

-- The limits of prompts: each with the option that it was given, else the setting.
create view _prompt_limits as
select
    l.id as loop_id,
    'max_' || m.measure as name,
    m.measure,
    cast(coalesce(l.config ->> ('$.max_' || m.measure), s.value) as real) as most,
    coalesce(case m.measure when 'cost' then p.cost when 'tokens' then p.tokens else p.calls end, 0) as spent
from loops as l
cross join _limit_measures as m
left join settings as s on s.name = 'max_loop_' || m.measure and s.value <> ''
left join prompt_spending as p on p.loop_id = l.id
where coalesce(l.config ->> ('$.max_' || m.measure), s.value) is not null;

-- The settings that limit, by what they are of (loop, day, file); 'option' is what a prompt may be given in place of one.
create view _limit_settings as
select
    name, value, kind, measure,
    case kind when 'loop' then 'max_' || measure end as option
from (
    select
        name, value,
        substr(name, 5, instr(substr(name, 5), '_') - 1) as kind,
        substr(name, 5 + instr(substr(name, 5), '_')) as measure
    from settings
    where name between 'max_' and 'max_~'
)
where kind in ('loop', 'day', 'file') and measure in ('cost', 'tokens', 'calls');

-- The limits that hold for each turn. loop_id 0: of the day and the file. It is no union: whoever joins it reads one turn.
create view _turn_limits as
select
    t.id as turn_id,
    n.scope_id as loop_id,
    coalesce(m.option, m.name) as name,
    m.measure,
    cast(coalesce(b.config ->> ('$.' || m.option), m.value) as real) as most,
    case
        when n.scope_id <> 0
            then coalesce(case m.measure when 'cost' then p.cost when 'tokens' then p.tokens else p.calls end, 0)
        else coalesce((
            select sum(case m.measure when 'cost' then d.cost when 'tokens' then d.tokens else d.calls end)
            from spending as d
            where m.kind = 'file' or d.day = strftime('%Y-%m-%d', now() / 1000.0, 'unixepoch')
        ), 0)
    end as spent,
    case
        when m.kind = 'day' then ' a day, ' || m.name
        when m.kind = 'file' then ' for this file, ' || m.name
        when b.run_id = t.run_id then ''
        else ' of the prompt of run ' || (select r.alias from runs as r where r.id = b.run_id)
    end as place
from turns as t
cross join _limit_scopes as n on n.loop_id = t.loop_id
cross join _limit_settings as m on (m.kind = 'loop') = (n.scope_id <> 0)
left join loops as b on b.id = n.scope_id
left join prompt_spending as p on p.loop_id = n.scope_id
where coalesce(b.config ->> ('$.' || m.option), m.value, '') <> '';

-- How people are told of them: '$0.05 ($0.048 spent)'.
create view _told_limits as
select
    turn_id, loop_id, name,
    case measure
        when 'cost' then '$' || rtrim(rtrim(printf('%.6f', most), '0'), '.')
        when 'tokens' then counted(cast(most as integer), 'token')
        else counted(cast(most as integer), 'model call')
    end
    || place
    || case measure
        when 'cost' then ' ($' || rtrim(rtrim(printf('%.6f', spent), '0'), '.') || ' spent)'
        when 'tokens' then ' (' || counted(cast(spent as integer), 'token') || ' used)'
        else case when spent = most then '' else ' (' || counted(cast(spent as integer), 'call') || ' made)' end
    end as told
from _turn_limits;

-- Turns with a limit: their calls are reserved.
create view _bounded_turns__bounds as
select t.id as turn_id
from turns as t
where exists (select 1 from _turn_limits as l where l.turn_id = t.id);

-- A turn at which a limit was reached ends its prompt; if that ends by itself (rank 10), that counts.
create view _loop_votes__bounds as
select s.turn_id, cast(s.name as text) as voter, s.rank, 499 as status, s.reason, null as answer
from bound_stops as s;

-- The prompts that a limit has stopped.
create view _stopped_prompts__bounds as
select
    r.alias as run,
    l.sequence as loop,
    s.name as stopped_by,
    coalesce(b.spent, (
        select sum(case f.measure when 'cost' then d.cost when 'tokens' then d.tokens else d.calls end)
        from spending as d
        where not f.is_of_day or d.day = strftime('%Y-%m-%d', l.ended_at / 1000.0, 'unixepoch')
    )) as used,
    2 * coalesce(b.most, f.most) as more,
    l.reason,
    l.prompt
from loops as l
join runs as r on r.id = l.run_id
join turns as t on t.id = (select max(o.id) from turns as o where o.loop_id = l.id)
join _turn_verdicts as v on v.turn_id = t.id and v.vote = 'stop'
join bound_stops as s on s.turn_id = t.id and s.name = v.voter
left join _prompt_limits as b on b.loop_id = l.id and b.name = s.name
left join _file_limits as f on f.name = s.name
where l.status = 499;

-- The latest prompts that a limit of the day or the file has stopped, while these leave something again.
create view _freed_prompts as
select r.alias as run
from runs as r
join loops as l on l.run_id = r.id and l.sequence = r.next_loop - 1 and l.status = 499
join turns as t on t.id = (select max(o.id) from turns as o where o.loop_id = l.id)
join bound_stops as s on s.turn_id = t.id
join settings as f on f.name = s.name
where not exists (select 1 from _turn_limits as m where m.turn_id = t.id and m.loop_id = 0 and m.spent >= m.most);

create view spending_limits as
-- The limits in force, with what was spent and what calls that are under way may take: select * from spending_limits.
-- 'run' and 'loop' are null for limits of the day and the file; those of prompts are listed while these have not ended.
select
    r.alias as run, l.sequence as loop, b.name, b.most, b.spent,
    coalesce((
        select case b.measure when 'cost' then sum(v.cost) when 'tokens' then sum(v.tokens) else count(*) end
        from _live_reservations as v
        where v.loop_id = l.id
    ), 0) as reserved
from loops as l
join runs as r on r.id = l.run_id
join _prompt_limits as b on b.loop_id = l.id
where l.status in (100, 102)
union all
select
    null, null, f.name, f.most,
    coalesce((
        select sum(case f.measure when 'cost' then d.cost when 'tokens' then d.tokens else d.calls end)
        from spending as d
        where not f.is_of_day or d.day = date('now')
    ), 0),
    coalesce((
        select case f.measure when 'cost' then sum(v.cost) when 'tokens' then sum(v.tokens) else count(*) end
        from _live_reservations as v
        where v.loop_id = 0
    ), 0)
from _file_limits as f;

-- What calls under way may take: while their turn is asking, and its driver holds the lease.
create view _live_reservations as
select q.loop_id, q.turn_id, q.cost, q.tokens
from call_reservations as q
join turns as t on t.id = q.turn_id and t.phase = 'asking'
where t.lease is q.lease
    and (q.lease is null or exists (select 1 from _leases_in_force as f where f.run_id = t.run_id and f.token = q.lease));

-- seeds

-- what a file had spent before it took this in
insert or ignore into spending (day, cost, tokens, calls)
select
    strftime('%Y-%m-%d', coalesce(ended_at, created_at) / 1000.0, 'unixepoch'),
    coalesce(sum(cost), 0), coalesce(sum(coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0)), 0), count(*)
from turns
where response is not null
group by 1;

insert or ignore into prompt_spending (loop_id, cost, tokens, calls)
select
    n.bound_loop_id,
    coalesce(sum(t.cost), 0), coalesce(sum(coalesce(t.prompt_tokens, 0) + coalesce(t.completion_tokens, 0)), 0), count(*)
from loops as l
join turns as t on t.loop_id = l.id and t.response is not null
join _prompt_lines as n on n.loop_id = l.id
where l.status in (100, 102)
    or l.id in (
        select c.loop_id from children as c join loops as o on o.id = c.root_loop_id and o.status in (100, 102)
    )
group by n.bound_loop_id;

-- doors

-- Add to what a loop and the day have spent: insert into _spend (loop_id, cost, tokens, calls).
create view _spend as
select loop_id, cost, tokens, calls
from prompt_spending
where false;

-- Count what the answer of a turn took: insert into _spend_on_answer (turn_id), by _late_call.
create view _spend_on_answer as
select id as turn_id
from turns
where false;

-- Count a call that has ended: insert into _spend_on_call (turn_id), by _late_call.
create view _spend_on_call as
select id as turn_id
from turns
where false;

-- Note that a limit of a turn is reached, if one is: insert into _stop_at_limit (turn_id).
create view _stop_at_limit as
select id as turn_id
from turns
where false;

-- triggers

create trigger _spend__add
instead of insert on _spend
begin
    insert into spending (day, cost, tokens, calls)
    values (strftime('%Y-%m-%d', now() / 1000.0, 'unixepoch'), new.cost, new.tokens, new.calls)
    on conflict (day) do update set
        cost = cost + excluded.cost, tokens = tokens + excluded.tokens, calls = calls + excluded.calls;
    insert into prompt_spending (loop_id, cost, tokens, calls)
    select bound_loop_id, new.cost, new.tokens, new.calls
    from _prompt_lines
    where loop_id = new.loop_id
    on conflict (loop_id) do update set
        cost = cost + excluded.cost, tokens = tokens + excluded.tokens, calls = calls + excluded.calls;
end;

create trigger _spend_on_answer__spend
instead of insert on _spend_on_answer
begin
    insert into _spend (loop_id, cost, tokens, calls)
    select
        t.loop_id,
        coalesce(t.cost, (e.price_input * t.prompt + e.price_output * t.completion) / 1e6, 0),
        t.prompt + t.completion,
        not exists (select 1 from model_calls as c where c.turn_id = t.id)
    from (
        select
            o.id, o.loop_id, o.cost,
            coalesce(o.prompt_tokens, o.context_tokens, 0) as prompt,
            coalesce(
                o.completion_tokens, token_count(o.response, coalesce(o.chars_per_token, l.chars_per_token)), 0
            ) as completion
        from turns as o
        join loops as l on l.id = o.loop_id
    ) as t
    left join call_estimates as e on e.turn_id = t.id
    where t.id = new.turn_id;
    delete from call_estimates
    where turn_id = new.turn_id;
    delete from call_reservations
    where turn_id = new.turn_id;
    insert into _stop_at_limit (turn_id) values (new.turn_id);
end;

create trigger _spend_on_call__spend
instead of insert on _spend_on_call
begin
    insert into _spend (loop_id, cost, tokens, calls)
    select loop_id, 0, 0, 1
    from turns
    where id = new.turn_id;
    insert into _stop_at_limit (turn_id) values (new.turn_id);
end;

-- That of the prompt itself is told, else that of the file.
create trigger _stop_at_limit__stop
instead of insert on _stop_at_limit
begin
    insert into bound_stops (turn_id, name, rank, reason)
    select l.turn_id, l.name, 5, 'stopped at the limit of ' || o.told || goal_told(p.prompt)
    from _turn_limits as l
    join _told_limits as o on o.turn_id = l.turn_id and o.loop_id = l.loop_id and o.name = l.name
    join turns as t on t.id = l.turn_id
    join loops as p on p.id = t.loop_id
    where l.turn_id = new.turn_id and l.spent >= l.most and l.spent > 0
    order by l.loop_id = 0, l.loop_id, l.measure
    limit 1
    on conflict (turn_id) do nothing;
end;

-- An answer: what it cost as its provider says, else as estimated; a driver that opened no call made one all the same.
create trigger turns__spend
after update of response on turns
when old.response is null and new.response is not null
begin
    insert into _late_call (door, a) values ('_spend_on_answer', new.id);
end;

-- A call that has ended, however it did.
create trigger model_calls__spend
after update of state on model_calls
when old.state = 'open' and new.state <> 'open'
begin
    insert into _late_call (door, a) values ('_spend_on_call', new.turn_id);
end;
