-- Budget: how much room a packet has and what fills it, in tokens; how many turns and seconds a loop has.
-- Lengths are kept with the texts, in characters; they are summed first and converted once.
-- spec: @token_accounting @calibration @step_budget @clock_limit @time_stamps

-- views

-- The context window of a loop, the smaller of its run's own limit and its model's, and the share of it that a packet may
-- fill; both in tokens.
create view _loop_ceilings as
select
    loop_id,
    chars_per_token,
    context_size,
    cast(context_size * (select cast(value as real) from settings where name = 'budget_ceiling') as integer) as ceiling
from (
    select
        l.id as loop_id,
        l.chars_per_token,
        min(
            coalesce(r.context_limit, m.context_length, cast(s.value as integer)),
            coalesce(m.context_length, r.context_limit, cast(s.value as integer))
        ) as context_size
    from loops as l
    join runs as r on r.id = l.run_id
    join settings as s on s.name = 'context_length'
    left join models as m on m.alias = coalesce(l.model, r.model)
);

-- The characters that a list of entries may have in a loop; a longer one names folders (manifest_text).
create view _list_rooms as
select
    c.loop_id,
    c.chars_per_token,
    cast(min(cast(s.value as integer), c.ceiling / 4) * c.chars_per_token as integer) as room
from _loop_ceilings as c
join settings as s on s.name = 'manifest_tokens';

-- Characters a token as a loop's model has counted them in this run, and in the runs that it was forked from up to there;
-- null before it has. The least of what the last packets had and of what they grew by from the smallest to the largest,
-- less a margin: a packet grows by what is read, and a language or a log of numbers that is read more and more takes more
-- tokens than the packets so far, which began with our own words. What fell out of the packets is forgotten after a
-- while, and reports that no tokenizer would give (of a cache's misses alone, of several calls together) are no measure.
create view _loop_rates as
select
    l.id as loop_id,
    (
        with recursive line (run_id, before, since) as (
            -- those that are told in the last 200 turns: a long run is not read from its beginning each time
            select r.id, r.next_turn, r.next_turn - 200
            from runs as r
            where r.id = l.run_id
            union all
            select r.parent_run_id, min(r.forked_at, n.before), n.since
            from line as n
            join runs as r on r.id = n.run_id
            where r.forked_at is not null
        )
        select max(0.95 * min(u.rate, coalesce(max(u.growth, 0.7 * u.rate), u.rate)), 0.25)
        from (
            select
                m.rate,
                -- packets of much the same size tell nothing of what is added
                case
                    when (m.largest >> 32) >= 1.2 * (m.smallest >> 32)
                        then 1.0 * ((m.largest >> 32) - (m.smallest >> 32))
                            / nullif(max((m.largest & 4294967295) - (m.smallest & 4294967295), 0), 0)
                end as growth
            from (
                select
                    min(1.0 * w.context_chars / w.prompt_tokens) as rate,
                    -- length and tokens in one number, so that both are those of one packet
                    min((w.context_chars << 32) + w.prompt_tokens) as smallest,
                    max((w.context_chars << 32) + w.prompt_tokens) as largest
                from (
                    select t.context_chars, t.prompt_tokens
                    from line as n
                    cross join turns as t indexed by idx_turns_reported
                        on t.run_id = n.run_id and t.sequence >= n.since and t.sequence < n.before
                    cross join loops as o on o.id = t.loop_id and o.model is l.model
                    where t.prompt_tokens > 0
                        and t.context_chars between 0.25 * t.prompt_tokens and 8.0 * t.prompt_tokens
                    order by t.sequence desc
                    limit 16
                ) as w
            ) as m
        ) as u
    ) as chars_per_token
from loops as l;

-- What the entries of an open turn's packet take by scheme, in characters: floor (all of them in short) and expansion
-- (what showing the visible ones whole adds).
create view _packet_schemes as
select
    turn_id,
    kind,
    sum(is_visible) as visible,
    count(*) - sum(is_visible) as summarized,
    -- the entries of a scheme have one category
    sum(added) + case category when 'data' then sum(case when is_visible then summarized else 0 end) else 0 end as expansion,
    sum(summarized) as floor
from (
    select
        t.id as turn_id,
        c.kind,
        c.category,
        c.visibility = 'visible' as is_visible,
        c.summarized,
        case c.visibility when 'visible' then c.added else 0 end as added
    from turns as t indexed by idx_turns_one_open
    cross join _envelope_costs as c on c.run_id = t.run_id
    where t.phase <> 'judged' and t.phase = 'assembling'
    -- the limit makes a table of figures: else the texts are sorted
    limit -1
)
group by turn_id, kind;

-- What each entry of an open turn's packet costs, for the rules that choose among them.
create view _open_costs as
-- materialized: the lengths of an entry are many terms, and a rule uses each of them more than once
with costs as materialized (
    select
        t.id as turn_id,
        c.*
    from turns as t indexed by idx_turns_one_open
    cross join _envelope_costs as c on c.run_id = t.run_id
    where t.phase <> 'judged' and t.phase = 'assembling'
)
select
    *,
    case category when 'data' then summarized + added else added end as expansion,
    case category when 'data' then summarized + added else added end + summarized as visible
from costs;

-- The seconds that a loop may take from its start, if it has a limit.
create view _loop_max_seconds as
select
    loop_id,
    max_seconds,
    started_at,
    prompt
from (
    select
        l.id as loop_id,
        l.prompt,
        l.started_at,
        cast(
            coalesce(
                json_extract(l.config, '$.max_seconds'),
                (select nullif(value, '') from settings where name = 'max_loop_seconds')
            ) as real
        ) as max_seconds
    from loops as l
)
where max_seconds > 0 and started_at is not null;

-- How many seconds a loop with a time limit has left; waiting for decisions counts. A loop that has no limit or has not
-- started has no row.
create view _loop_seconds as
select
    loop_id,
    max_seconds,
    max_seconds - (now() - started_at) / 1000.0 as seconds_left,
    prompt
from _loop_max_seconds;

-- The turns that a loop may have, and which one an open turn is, counted from 1. is_given: its prompt named the limit.
create view _turn_steps as
select
    turn_id,
    step,
    steps,
    -- itself included
    steps - step + 1 as steps_left,
    is_given,
    prompt
from (
    select
        t.id as turn_id,
        l.prompt,
        json_extract(l.config, '$.max_turns') is not null as is_given,
        t.sequence - (select min(o.sequence) from turns as o where o.loop_id = t.loop_id) + 1 as step,
        coalesce(
            cast(json_extract(l.config, '$.max_turns') as integer),
            (select cast(value as integer) from settings where name = 'max_loop_turns')
        ) as steps
    from turns as t
    join loops as l on l.id = t.loop_id
);

-- What the budget states of an open turn's packet beside its size: a row for each scheme of which something is visible,
-- the one that takes most first; what holds of all of them stands in each row. Tokens are counted from the bottom up, the
-- floor first and then the expansions, and each sum is converted once: so the lines of the table add up to the token.
create view _packet_budget as
-- materialized: what is in context is read once; '+': no index is made for a few rows
with schemes as materialized (
    select * from _packet_schemes
),
totals as (
    select
        turn_id,
        sum(visible) as visible,
        sum(summarized) as summarized,
        sum(floor) as floor,
        sum(floor + expansion) as entry_chars
    from schemes
    group by turn_id
),
sums as materialized (
    select
        *,
        cast(ceil(floor / chars_per_token) as integer) as floor_tokens,
        -- null: nothing is said of the turns that are left
        case
            when steps_left <= max(steps / 4, 1) then 'last quarter'
            when steps_left <= steps / 2 then 'second half'
            when is_given then 'none'
        end as urgency
    from (
        select
            t.id as turn_id,
            coalesce(t.chars_per_token, b.chars_per_token) as chars_per_token,
            b.ceiling,
            w.steps,
            w.steps_left,
            w.is_given,
            case (select value from settings where name = 'time_stamps')
                when '1' then 'Time: ' || strftime('%Y-%m-%d %H:%M', t.created_at / 1000.0, 'unixepoch') || ' UTC.'
                when '2'
                    then strftime('[%Y-%m-%dT%H:%M:%SZ]', t.created_at / 1000.0, 'unixepoch') || ' [Step ' || w.step || '/'
                        || w.steps || ']'
            end as began,
            coalesce(s.visible, 0) as visible,
            coalesce(s.summarized, 0) as summarized,
            coalesce(s.floor, 0) as floor,
            coalesce(s.entry_chars, 0) as entry_chars
        from turns as t indexed by idx_turns_one_open
        join _loop_ceilings as b on b.loop_id = t.loop_id
        join _turn_steps as w on w.turn_id = t.id
        left join totals as s on +s.turn_id = t.id
        where t.phase <> 'judged' and t.phase = 'assembling'
        -- the limit makes a row of figures: else each is compiled wherever it is used
        limit -1
    )
),
lines as materialized (
    select
        s.turn_id,
        s.kind,
        s.visible,
        s.expansion,
        (
            select sum(o.expansion)
            from schemes as o
            where +o.turn_id = s.turn_id
                and o.visible > 0
                and (o.expansion > s.expansion or (o.expansion = s.expansion and o.kind <= s.kind))
        ) as up_to
    from schemes as s
    where s.visible > 0
)
select
    turn_id,
    kind,
    kind_visible,
    tokens,
    100 * tokens / max(ceiling, 1) as share,
    visible,
    summarized,
    floor_tokens,
    100 * floor_tokens / max(ceiling, 1) as floor_share,
    ceiling,
    steps,
    steps_left,
    urgency,
    began,
    entry_chars
from (
    select
        u.*,
        n.kind,
        n.visible as kind_visible,
        cast(ceil((u.floor + n.up_to) / u.chars_per_token) as integer)
        - cast(ceil((u.floor + n.up_to - n.expansion) / u.chars_per_token) as integer) as tokens,
        n.expansion
    from sums as u
    left join lines as n on +n.turn_id = u.turn_id
)
order by expansion desc, kind;

-- The size of an open turn's packet in tokens, once its length is known: what it takes of its ceiling, what is free, and
-- how much of it shows no entries.
create view _packet_sizes as
select
    turn_id,
    usage,
    max(ceiling - usage, 0) as free,
    usage - entry_tokens as system,
    100 * (usage - entry_tokens) / max(ceiling, 1) as system_share
from (
    select
        t.id as turn_id,
        b.ceiling,
        cast(ceil(t.context_chars / coalesce(t.chars_per_token, b.chars_per_token)) as integer) as usage,
        cast(ceil(t.entry_chars / coalesce(t.chars_per_token, b.chars_per_token)) as integer) as entry_tokens
    from turns as t
    join _loop_ceilings as b on b.loop_id = t.loop_id
);
