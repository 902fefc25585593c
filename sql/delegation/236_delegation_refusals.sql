-- Delegation refusals: which model gets the work, and why a delegation is refused.
-- A model can choose only a model that a person has configured, or a model of its own provider, and no model of a
-- higher tier. So no text can make a run use a file, a script or a more expensive model.
-- spec: @delegation @model_tiers @delegation_limits

-- views

-- Pending effects that give work away, each with its limits and with the models that are asked for.
create view _models_asked as
select
    q.*,
    lower(coalesce((select m.actual from models as m where m.alias = q.judge), q.judge)) as judge_name,
    lower(coalesce((select m.actual from models as m where m.alias = q.model), q.model)) as name,
    json_array(
        coalesce(q.effort, q.own_effort),
        coalesce(q.effort, (select m.effort from models as m where m.alias = q.model)),
        coalesce(q.effort, (select m.effort from models as m where m.alias = q.judge))
    ) as efforts
from (
    select
        f.id as effect_id,
        f.run_id,
        c.id as command_id,
        c.action,
        trim(coalesce(c.body, ''), char(32, 9, 10, 13)) as objective,
        c.attributes,
        r.alias as run,
        r.role,
        r.depth,
        r.effort,
        m.effort as own_effort,
        l.id as loop_id,
        coalesce(
            l.config ->> '$.max_depth',
            (select cast(value as integer) from settings where name = 'max_depth')
        ) as max_depth,
        lower(coalesce(m.actual, l.model, r.model)) as own_name,
        -- what stands before the name of the model at its provider; null for a model that is no provider's
        case
            when coalesce(m.actual, l.model, r.model) not glob '*:*/*'
                then nullif(
                    substr(
                        coalesce(m.actual, l.model, r.model), 1, instr(coalesce(m.actual, l.model, r.model), '/')
                    ), ''
                )
        end as provider,
        c.attributes ->> '$.model' as asked,
        c.attributes ->> '$.accept_model' as judge,
        coalesce(l.model, r.model) as own_model,
        case
            when c.action = 'execute'
                then coalesce(
                    (
                        select x.model
                        from executor_models as x
                        where lower(coalesce(m.actual, l.model, r.model)) glob lower(x.pattern)
                        order by length(x.pattern) desc
                        limit 1
                    ), l.model, r.model
                )
            when c.attributes ->> '$.model' is null then coalesce(l.model, r.model)
            when c.attributes ->> '$.model' in (select alias from models) then c.attributes ->> '$.model'
            when instr(c.attributes ->> '$.model', '/') then c.attributes ->> '$.model'
            else substr(
                coalesce(m.actual, l.model, r.model), 1, instr(coalesce(m.actual, l.model, r.model), '/')
            ) || (c.attributes ->> '$.model')
        end as model
    from effects as f
    join commands as c on c.id = f.command_id
    join runs as r on r.id = f.run_id
    join loops as l on l.id = c.loop_id
    left join models as m on m.alias = coalesce(l.model, r.model)
    where f.kind = 'delegate' and f.state in ('pending', 'started')
) as q;

-- The same with the tiers of these models; a tier is null where no pattern fits the name. A pattern without a slash is about
-- what stands behind the last one of a name: who provides a model says nothing of how able it is.
create view _delegations_ahead as
select
    d.*,
    d.tiers ->> 0 as own_tier,
    d.tiers ->> 1 as tier,
    d.tiers ->> 2 as judge_tier
from (
    select
        a.*,
        (
            select json_group_array(
                (
                    select k.tier
                    from model_tiers as k
                    where case
                            when instr(k.pattern, '/') then n.value
                            else substr(n.value, length(rtrim(n.value, replace(n.value, '/', ''))) + 1)
                        end
                        glob lower(
                            k.pattern
                            || case when k.effort in ('', a.efforts ->> n.key) then '' else '[-:@]' || k.effort end
                        )
                    order by length(k.pattern) + length(k.effort) desc, k.tier
                    limit 1
                )
            )
            from json_each(json_array(a.own_name, a.name, a.judge_name)) as n
        ) as tiers
    from _models_asked as a
) as d;

-- What the runs below each prompt have used of what they may: turns, and seconds since it began.
create view _tree_limits as
select
    l.id as root_loop_id,
    r.alias as run,
    (
        select coalesce(sum(o.next_turn - 1), 0)
        from children as c
        cross join runs as o on o.id = c.run_id
        where c.root_run_id = l.run_id and c.root_loop_id = l.id
    ) as turns,
    (select cast(value as integer) from settings where name = 'max_tree_turns') as max_turns,
    (now() - l.started_at) / 1000.0 as seconds,
    (select nullif(cast(value as real), 0) from settings where name = 'max_tree_seconds') as max_seconds
from loops as l
join runs as r on r.id = l.run_id;

-- The prompts whose tree has had what it may have, and what is said of that.
create view _spent_trees as
select
    root_loop_id,
    case
        when turns >= max_turns
            then 'the runs below ' || run || ' have had ' || counted(max_turns, 'turn')
                || ', which is the limit (setting max_tree_turns)'
        else 'the runs below ' || run || ' have had ' || counted(max_seconds, 'second')
            || ', which is the limit (setting max_tree_seconds)'
    end as reason
from _tree_limits
where turns >= max_turns or seconds >= max_seconds;

-- Why work is not given away: 'outcome: message', or null.
create view _delegation_refusals as
select
    d.effect_id,
    case
        when d.objective = ''
            then 'validation: ' || d.action || ' needs a task: <' || d.action || '>what to do</' || d.action || '>.'
        when d.role not in ('main', 'subtask', 'step')
            then 'permission: A run of an ' || d.role || ' cannot delegate. Do it yourself.'
        when d.depth >= d.max_depth
            then 'permission: ' || case d.max_depth
                when 0 then 'This run may not delegate (max_depth is 0).'
                else 'This run is already ' || counted(d.depth, 'level') || ' deep, and max_depth is ' || d.max_depth
                    || ', so it cannot delegate further.'
            end || ' Do it yourself.'
        when criteria_told(d.attributes) = '' and (select value from settings where name = 'require_acceptance') = '1'
            then 'validation: Delegate only with criteria for the result (setting require_acceptance): <'
                || d.action || ' accept="what the result has to fulfil">, or accept_command="a command that has to exit '
                || 'with 0".'
        when (
            select count(*) from children as c where c.parent_loop_id = d.loop_id and c.parent_run_id = d.run_id
        ) >= cast(s.value as integer)
            then 'permission: This prompt has delegated ' || counted(cast(s.value as integer), 'time')
                || ', which is the limit (setting max_children). Do the rest yourself.'
        when t.reason is not null then 'permission: Not delegated: ' || t.reason || '. Do it yourself.'
        when d.action = 'subtask'
            and d.asked is not null
            and d.model not in (select alias from models)
            and (d.provider is null or substr(d.model, 1, length(d.provider)) <> d.provider)
            then 'not_found: There is no model ' || quote(d.asked) || ' for a subtask. Leave model out, or name '
                || coalesce(
                    (
                        select group_concat(alias, ', ')
                        from (select alias from models where origin <> 'built-in' order by alias)
                    ), 'none'
                ) || '.'
        -- what is not known is neither below nor above what is known; of two that are not, an alias is a person's word
        when d.action = 'subtask'
            and (d.name <> d.own_name or d.efforts ->> 1 is not d.efforts ->> 0)
            and case
                when coalesce(d.tier, d.own_tier) is null then d.model not in (select alias from models)
                else coalesce(d.tier, 1) < coalesce(d.own_tier, 9)
            end
            then 'permission: ' || d.model || case
                when d.tier is null or d.own_tier is null
                    then ': the tier of ' || case when d.tier is null then 'that model' else 'yours' end || ' is not known'
                else ' is of tier ' || d.tier || ', above yours (' || d.own_tier || ')'
            end || ': choose a model of the same tier or a lower one. Leave model out.'
        -- one that a person has configured: any other may be a file
        when d.judge <> d.own_model and d.judge not in (select alias from models)
            then 'not_found: There is no model ' || quote(d.judge) || ' to judge a result. Leave accept_model out.'
        when d.judge is not null
            and (d.judge_name <> d.own_name or d.efforts ->> 2 is not d.efforts ->> 0)
            and coalesce(d.judge_tier, d.own_tier) is not null
            and coalesce(d.judge_tier, 1) < coalesce(d.own_tier, 9)
            then 'permission: ' || d.judge || case
                when d.judge_tier is null or d.own_tier is null
                    then ': the tier of ' || case when d.judge_tier is null then 'that model' else 'yours' end
                        || ' is not known'
                else ' is of tier ' || d.judge_tier || ', above yours (' || d.own_tier || ')'
            end || '. Leave accept_model out.'
        else (
            select
                'validation: ' || o.name || ' ' || value_error(a.value, o.kind, o.least, o.most)
                || '. Fix it or leave it out.'
            from json_each(d.attributes) as a
            join run_options as o on o.name = a.key and (o.name glob 'accept*' or o.name = 'output')
            where value_error(a.value, o.kind, o.least, o.most) is not null
            limit 1
        )
    end as refusal
from _delegations_ahead as d
cross join settings as s on s.name = 'max_children'
left join children as k on k.run_id = d.run_id
left join _spent_trees as t on t.root_loop_id = coalesce(k.root_loop_id, d.loop_id);

-- The models, other than its own, that each effect would have a child ask; whether they can be asked is not known here.
create view _models_ahead as
select d.effect_id, d.run, coalesce(m.actual, n.name) as actual
from _delegations_ahead as d
join (
    select effect_id, model as name
    from _delegations_ahead
    union
    select effect_id, judge
    from _delegations_ahead
    where judge is not null
) as n on n.effect_id = d.effect_id and n.name <> d.own_model
left join models as m on m.alias = n.name
where not exists (select 1 from children as c where c.effect_id = d.effect_id);
