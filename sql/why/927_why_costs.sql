-- Why costs: the parts of a run's cost.
-- spec: @why

-- views

create view cost_reasons as
-- Why each run cost what it did: the sum, what of it each day and model took, the dearest turns, prices that a person set,
-- and the runs below it: select says, source, key from cost_reasons where run = 'demo' order by place.
select
    o.run, 'cost' as topic, '' as subject, 10 as place,
    'The run cost '
    || case when o.cost is null then 'an amount that is only partly known' else printf('$%.6f', o.cost) end
    || ' for ' || o.turns || case o.turns when 1 then ' turn' else ' turns' end
    || case
        when o.tree_cost is null then ''
        when o.tree_cost > o.cost then ', and $' || printf('%.6f', o.tree_cost) || ' with its child runs'
        else ''
    end || '.' as says,
    'run_overview' as source,
    json_object('run', o.run) as key
from run_overview as o
union all
select
    d.run, 'cost', '', 20,
    coalesce(d.model, 'A model without a name') || ' on ' || d.day || ': ' || d.calls
    || case d.calls when 1 then ' answer' else ' answers' end || ', ' || d.prompt_tokens || ' tokens of packets ('
    || d.cached_tokens || ' cached), ' || d.completion_tokens || ' of answers: '
    || case when d.known_cost is null then 'no price known' else printf('$%.6f', d.known_cost) end
    || case when d.unknown_prices > 0 then '; the price of ' || d.unknown_prices || ' is unknown' else '' end || '.',
    'cost_by_day', json_object('run', d.run, 'day', d.day, 'model', d.model)
from cost_by_day as d
union all
select
    run, 'cost', '', 30 + place,
    'Turn ' || turn || ' cost ' || printf('$%.6f', cost) || ', ' || round(100 * cost / total) || ' % of that: '
    || coalesce(context_tokens, 0) || ' tokens of context.',
    'turn_timeline', json_object('run', run, 'turn', turn)
from (
    select
        r.alias as run, t.sequence as turn, t.cost, t.context_tokens,
        sum(t.cost) over (partition by r.id) as total,
        row_number() over (partition by r.id order by t.cost desc, t.sequence) as place
    from turns as t
    join runs as r on r.id = t.run_id
    where t.cost > 0
)
where place <= 3
union all
-- who says so
select
    r.alias, 'cost', '', 25,
    case o.cost_from
        when 'provider' then 'The provider or its model stated the cost of '
        when 'person' then 'A price that you had set gives the cost of '
        when 'list' then 'The price list of the library genai-prices gives the cost of '
        else 'A model on this machine costs nothing: '
    end || o.n || case o.n when 1 then ' answer' else ' answers' end || ', such as that of turn ' || o.turn || '.',
    'turn_timeline', json_object('run', r.alias, 'turn', o.turn)
from runs as r
join (
    select t.run_id, t.cost_from, count(*) as n, max(t.sequence) as turn
    from turns as t
    where t.cost_from is not null
    group by t.run_id, t.cost_from
) as o on o.run_id = r.id
union all
select
    distinct d.run, 'cost', '', 40,
    'You set the price of ' || p.model || ': $' || p.price_input || ' in and $' || p.price_output
    || ' out per million tokens. It counts for answers whose provider reports no cost.',
    'model_prices', json_object('model', p.model)
from cost_by_day as d
join model_prices as p on p.model = d.model
union all
select
    r.alias, 'cost', '', 41, 'The answer of turn ' || t.sequence || ' was cached, so it cost nothing.',
    'event_list', json_object('id', ev.id)
from events as ev
join turns as t on t.id = ev.turn_id
join runs as r on r.id = t.run_id
where ev.kind = 'answer.cached'
union all
select
    r.alias, 'cost', '', 50,
    'Its child run ' || o.run || ' cost '
    || case when o.tree_cost is null then 'an unknown amount' else printf('$%.6f', o.tree_cost) end
    || '.',
    'run_overview', json_object('run', o.run)
from children as c
join runs as r on r.id = c.parent_run_id
join runs as k on k.id = c.run_id
join run_overview as o on o.run = k.alias;
