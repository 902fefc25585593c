-- Budget: how much room a packet has, what fills it, and at what rate characters are counted as tokens.
-- Lengths are kept with the texts, in characters; they are summed first and converted once.
-- spec: @token_accounting @calibration @step_budget

-- views

-- The context window of a loop, the smaller of its run's own limit and its model's, and the share of it that a packet may
-- fill; both in tokens.
create view _loop_ceilings as
select
    loop_id,
    run_id,
    chars_per_token,
    context_size,
    cast(context_size * (select cast(value as real) from settings where name = 'budget_ceiling') as integer) as ceiling
from (
    select
        l.id as loop_id,
        l.run_id,
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

-- The figures of the open turn's packet by scheme, in characters: floor (what its entries cost in short, whether they are
-- shown so or whole) and expansion (what showing the visible ones whole adds).
create view _packet_schemes as
select
    t.id as turn_id,
    c.kind,
    sum(c.visibility = 'visible') as visible,
    sum(c.visibility = 'summarized') as summarized,
    sum(case c.visibility when 'visible' then c.expansion else 0 end) as expansion,
    sum(c.summarized) as floor
from turns as t indexed by idx_turns_one_open
cross join _context_costs as c on c.run_id = t.run_id
where t.phase <> 'judged' and t.phase = 'assembling'
group by t.id, c.kind;

-- The same in tokens. The floor is counted first, then the premiums, the greatest first, and a scheme's tokens are what
-- the sum converts to with it less what it converts to without it: so the lines of the table add up.
create view _expansion_sums as
select
    turn_id,
    kind,
    visible,
    summarized,
    expansion,
    floor,
    cast(ceil(up_to / chars_per_token) as integer) - cast(ceil((up_to - expansion) / chars_per_token) as integer) as tokens
from (
    select
        s.*,
        coalesce(t.chars_per_token, l.chars_per_token) as chars_per_token,
        sum(s.floor) over (partition by s.turn_id)
        + sum(s.expansion) over (partition by s.turn_id order by s.expansion desc, s.kind) as up_to
    from _packet_schemes as s
    join turns as t on t.id = s.turn_id
    join loops as l on l.id = t.loop_id
);

-- The turns that a loop may have, and which one an open turn is, counted from 1.
create view _turn_steps as
select
    turn_id,
    step,
    steps,
    -- itself included
    steps - step + 1 as steps_left
from (
    select
        t.id as turn_id,
        t.sequence - (select min(o.sequence) from turns as o where o.loop_id = t.loop_id) + 1 as step,
        coalesce(
            cast(json_extract(l.config, '$.max_turns') as integer),
            (select cast(value as integer) from settings where name = 'max_loop_turns')
        ) as steps
    from turns as t
    join loops as l on l.id = t.loop_id
);

-- The sums that the budget states, in tokens, and the length of all that stands before it. Tokens are counted from the
-- bottom up, each sum converted once, so that floor, expansion and the rest make up the usage exactly.
create view _packet_accounts as
-- materialized: what is in context is gone through once
with sums as materialized (
    select * from _expansion_sums
)
select
    f.turn_id,
    f.context_chars,
    f.chars_per_token,
    f.ceiling,
    f.visible,
    f.summarized,
    cast(ceil(f.floor / f.chars_per_token) as integer) as floor,
    cast(ceil((f.floor + f.expansion) / f.chars_per_token) as integer) - cast(ceil(f.floor / f.chars_per_token) as integer)
        as expansion,
    '| scheme | visible | tokens | % |' || char(10) || '|---|---|---|---|' || char(10) || coalesce(
        (
            select group_concat(o.line, '')
            from (
                select
                    '| ' || s.kind || ' | ' || s.visible || ' | ' || s.tokens || ' | '
                    || (100 * s.tokens / max(f.ceiling, 1)) || ' |' || char(10) as line
                from sums as s
                where s.turn_id = f.turn_id and s.visible > 0
                order by s.expansion desc, s.kind
            ) as o
        ), ''
    ) as lines,
    case
        when w.steps_left <= max(w.steps / 4, 1)
            then 'Turns: ' || w.steps_left || ' of ' || w.steps
                || ' left, this one included. Finish now: give the answer that you have.' || char(10)
        when w.steps_left <= w.steps / 2
            then 'Turns: ' || w.steps_left || ' of ' || w.steps
                || ' left, this one included. More than half are used: head for the result.' || char(10)
        else ''
    end as warning
from (
    select
        t.id as turn_id,
        coalesce(t.context_chars, 0) as context_chars,
        coalesce(t.chars_per_token, b.chars_per_token) as chars_per_token,
        b.ceiling,
        coalesce(sum(s.visible), 0) as visible,
        coalesce(sum(s.summarized), 0) as summarized,
        coalesce(sum(s.floor), 0) as floor,
        coalesce(sum(s.expansion), 0) as expansion
    from turns as t indexed by idx_turns_one_open
    join _loop_ceilings as b on b.loop_id = t.loop_id
    left join sums as s on s.turn_id = t.id
    where t.phase <> 'judged'
    group by t.id
) as f
join _turn_steps as w on w.turn_id = f.turn_id
-- one row each: grouped, so that each figure is made once
group by f.turn_id;

create view _packet_budget as
-- The live accounting: how full the context is, what fills it, and how many turns are left once half of them are used.
-- What depends on its own length is padded, so that this is known beforehand.
select
    turn_id,
    usage,
    free,
    '<budget tokenUsage="' || usage || '" tokensFree="' || free || '"'
    || substr('                    ', 1, 20 - length(usage) - length(free)) || '>' || char(10)
    || lines
    || 'Summarized: ' || summarized || ' entries, ' || floor || ' tokens (' || (100 * floor / max(ceiling, 1))
    || '% of budget).' || char(10)
    || 'System: ' || (usage - floor - expansion) || ' tokens (' || (100 * (usage - floor - expansion) / max(ceiling, 1))
    || '% of budget).'
    || substr(
        '                    ', 1,
        20 - length(usage - floor - expansion) - length(100 * (usage - floor - expansion) / max(ceiling, 1))
    ) || char(10)
    || 'Total: ' || visible || ' visible + ' || summarized || ' summarized entries; tokenUsage ' || usage || ' / ceiling '
    || ceiling || '. ' || free || ' tokens free.'
    || substr('                    ', 1, 20 - length(usage) - length(free)) || char(10)
    || warning
    || '</budget>' as text
from (
    select
        *,
        cast(ceil(chars / chars_per_token) as integer) as usage,
        max(ceiling - cast(ceil(chars / chars_per_token) as integer), 0) as free
    from (
        select
            *,
            -- 260: the fixed words and paddings of the text above, and the line feed behind it
            context_chars + 260 + length(lines) + length(warning) + 2 * length(summarized) + length(floor)
            + length(100 * floor / max(ceiling, 1)) + length(visible) + length(ceiling) as chars
        from _packet_accounts
    )
    group by turn_id
);
