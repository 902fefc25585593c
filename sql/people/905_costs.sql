-- Costs: what runs cost, what would leave their context next, and which settings they have.
-- The views call no function of the engine and write nothing; times are UTC.
-- spec: @cost_by_day @demoted_entries @next_demotions @configuration

-- views

create view cost_by_day as
-- What the answers of each day, model and run cost in US dollars, each answer once: select day, sum(known_cost),
-- sum(unknown_prices) from cost_by_day group by day. 'unknown_prices' says of how many answers the price is unknown,
-- 'known_cost' what the others cost. 'cost' is null where one is unknown, and sum(cost) would leave that row out in silence.
-- Tokens that nobody reported count as 0.
select
    date(a.at / 1000.0, 'unixepoch') as day,
    a.model,
    r.alias as run,
    count(*) as calls,
    coalesce(sum(t.prompt_tokens), 0) as prompt_tokens,
    coalesce(sum(t.cached_tokens), 0) as cached_tokens,
    coalesce(sum(t.completion_tokens), 0) as completion_tokens,
    coalesce(sum(t.reasoning_tokens), 0) as reasoning_tokens,
    case count(*) when count(t.cost) then sum(t.cost) end as cost,
    count(*) - count(t.cost) as unknown_prices,
    sum(t.cost) as known_cost
from _answers as a
join turns as t on t.id = a.turn_id
join runs as r on r.id = a.run_id
group by 1, 2, 3;


create view demoted_entries as
-- What was taken out of full view to make room, when and why: select * from demoted_entries where run = 'demo'. 'reason' is
-- 'old result' or 'packet too long', 'tokens' what it freed, 'created_at' when that turn began.
select
    r.alias as run,
    t.sequence as turn,
    d.path,
    case when d.step in (3, 5) then 'archived' else 'summarized' end as became,
    case d.step when 1 then 'old result' else 'packet too long' end as reason,
    d.tokens,
    strftime('%Y-%m-%d %H:%M:%S', t.created_at / 1000.0, 'unixepoch') as created_at
from demotions as d
join turns as t on t.id = d.turn_id
join runs as r on r.id = t.run_id;

create view command_outputs as
-- What shell commands printed: select command, body from command_outputs where run = 'demo' and channel = 'stderr'.
-- 'printed' counts the characters that it printed, of which the last are kept; 'exit_code' is null until it has ended.
select
    r.alias as run,
    t.sequence as turn,
    p.target as command,
    case o.channel when 1 then 'stdout' else 'stderr' end as channel,
    o.body,
    o.printed,
    (
        select json_extract(x.detail, '$.exit_code')
        from effect_results as x
        where x.effect_id = o.effect_id and x.detail is not null
        order by x.id desc
        limit 1
    ) as exit_code,
    strftime('%Y-%m-%d %H:%M:%S', f.ended_at / 1000.0, 'unixepoch') as ended_at,
    o.path
from _process_outputs as o
join effects as f on f.id = o.effect_id
join runs as r on r.id = o.run_id
join commands as m on m.id = f.command_id
left join turns as t on t.id = m.turn_id
left join proposals as p on p.id = f.proposal_id;

-- What each run has in context outside of its packet, with about the tokens that showing it takes: all of it, and what
-- showing it in short would free. is_task: it is the prompt of the loop that is active.
create view _shown_entries as
select
    run_id,
    entry_id,
    path,
    kind,
    category,
    visibility,
    turn,
    last_used_turn,
    next_turn,
    category = 'prompt' and path = 'prompt://' || first_turn as is_task,
    cast(
        (envelope + summary_chars + case visibility when 'visible' then expansion else 0 end) / chars_per_token + 0.5
        as integer
    ) as tokens,
    cast(case visibility when 'visible' then expansion else 0 end / chars_per_token + 0.5 as integer) as freed_in_short,
    overflow,
    ceiling
from (
    select
        v.run_id,
        v.entry_id,
        e.path,
        e.kind,
        s.category,
        v.visibility,
        v.turn,
        v.last_used_turn,
        coalesce(
            (select t.sequence from turns as t where t.run_id = r.id and t.phase = 'assembling'), r.next_turn
        ) as next_turn,
        l.chars_per_token,
        (select min(t.sequence) from turns as t where t.loop_id = l.id and l.status = 102) as first_turn,
        -- the fences, the header and the figures in it
        length(coalesce(b.head, '')) + 2 * length(coalesce(e.shown_path, e.path)) + 40 as envelope,
        coalesce(c.summary_chars, 0) as summary_chars,
        case
            -- it is shown in the summary and as a whole
            when s.category = 'data' then coalesce(c.chars, 0) + length(coalesce(b.head, '')) + 2 * length(e.path) + 40
            else coalesce(c.chars - c.summary_chars, 0)
        end as expansion,
        k.ceiling,
        max(
            coalesce(
                (
                    select t.context_tokens
                    from turns as t
                    where t.run_id = r.id and t.context_tokens is not null
                    order by t.sequence desc
                    limit 1
                ), 0
            ) - k.ceiling, 0
        ) as overflow
    from runs as r
    join loops as l
        on l.id = (
            select coalesce(max(case o.status when 102 then o.id end), max(o.id)) from loops as o where o.run_id = r.id
        )
    join _loop_ceilings as k on k.loop_id = l.id
    cross join run_views as v indexed by idx_run_views_in_context on v.run_id = r.id
    join entries as e on e.id = v.entry_id
    join schemes as s on s.name = e.kind and s.model_visible
    left join _metadata as b on b.id = v.metadata_id
    left join contents as c on c.id = coalesce(v.content_id, e.content_id)
    where v.visibility <> 'archived' and v.state <> 'proposed'
);

create view next_demotions as
-- What a packet that is too long would demote next, in order: select * from next_demotions where run = 'demo'. It tells
-- it of every run at any time, of an idle one too. A step takes only what it needs, and the next one comes after it:
-- steps 2 and 4 show entries in short, 3 and 5 archive them. 'tokens' is about what an entry frees, 'freed' what it and
-- those before it in its step free together.
select
    r.alias as run,
    c.step,
    case when c.step in (2, 4) then 'summarized' else 'archived' end as becomes,
    c.path,
    c.visibility,
    c.turn,
    c.last_used_turn,
    c.tokens,
    sum(c.tokens) over (partition by c.run_id, c.step order by c.place, c.since, c.entry_id) as freed
from (
    select
        run_id,
        case
            when last_used_turn = next_turn - 1 then 4
            when category = 'logging' or kind in ('file', 'http', 'https', 'mcp', 'sh', 'env', 'subtask', 'execute') then 2
            else 4
        end as step,
        -- what the turn before brought goes last, but for the prompt
        case when is_task then 2 else last_used_turn = next_turn - 1 end as place,
        max(last_used_turn, turn) as since,
        entry_id, path, visibility, turn, last_used_turn,
        freed_in_short as tokens
    from _shown_entries
    where visibility = 'visible' and freed_in_short > 0
    union all
    select
        run_id,
        case when place < 3 and freed_early >= overflow + ceiling / 10 then 3 else 5 end,
        place, since, entry_id, path, visibility, turn, last_used_turn, tokens
    from (
        select
            *,
            sum(case when place < 3 then tokens else 0 end) over (partition by run_id) as freed_early
        from (
            select
                *,
                case
                    when category = 'data' then case visibility when 'visible' then 3 else 1 end
                    else case when turn < next_turn - 20 then 2 else 4 end
                end as place,
                max(last_used_turn, turn) as since
            from _shown_entries
            where category <> 'unknown'
                and not is_task
                and path not glob coalesce((select value from settings where name = 'kept_in_context'), '')
        )
    )
) as c
join runs as r on r.id = c.run_id
order by r.alias, c.step, c.place, c.since, c.entry_id;

create view run_settings as
-- The settings as the latest prompt of each run has them: select name, value, origin from run_settings where run = 'demo'.
-- 'origin' is prompt (an option of that prompt), run, or that of setting_list.
select
    r.alias as run,
    s.name,
    case
        when f.value is not null then cast(f.value as text)
        when s.name = 'model' and r.model is not null then r.model
        when s.name = 'persona' and r.persona is not null then r.persona
        when s.name = 'temperature' and r.temperature is not null then cast(r.temperature as text)
        when s.name = 'effort' and r.effort is not null then r.effort
        when s.name = 'context_length' and r.context_limit is not null then cast(r.context_limit as text)
        else s.value
    end as value,
    case
        when f.value is not null then 'prompt'
        when (s.name = 'model' and r.model is not null)
            or (s.name = 'persona' and r.persona is not null)
            or (s.name = 'temperature' and r.temperature is not null)
            or (s.name = 'effort' and r.effort is not null)
            or (s.name = 'context_length' and r.context_limit is not null) then 'run'
        else s.origin
    end as origin
from runs as r
cross join setting_list as s
left join loops as l
    on l.run_id = r.id and l.sequence = (select max(k.sequence) from loops as k where k.run_id = r.id)
left join json_each(l.config) as f on f.key = case s.name
    when 'max_loop_turns' then 'max_turns'
    when 'max_loop_seconds' then 'max_seconds'
    when 'max_loop_cost' then 'max_cost'
    when 'max_loop_tokens' then 'max_tokens'
    when 'max_loop_calls' then 'max_calls'
    when 'condense_ratio' then 'condense_ratio'
    when 'model_options' then 'model_options'
    when 'sandbox' then 'sandbox'
end
order by 1, 2;
