-- Why choices: where the value of a setting, an option or the model of a run comes from.
-- spec: @why

-- views

-- The request that named the model of each prompt; null where it was taken from elsewhere.
create view _model_requests_named as
select
    l.id as loop_id,
    (
        select max(c.id)
        from commands as c
        where c.run_id = l.run_id
            and c.turn_id is null
            and c.created_at <= l.created_at
            and c.attributes ->> '$.attributes.model' is not null
    ) as command_id
from loops as l;

create view choice_reasons as
-- Which layer says what a setting or option of a run is (topic 'setting'), and where its model comes from (topic 'model',
-- subject ''): select says, source, key from choice_reasons where run = 'demo' and subject = 'max_strikes' order by place.
select
    s.run, 'setting' as topic, s.name as subject, 10 as place,
    s.name || ' is ' || coalesce(s.value, 'empty') || ', from: '
    || case s.origin
        when 'default' then 'the default of the engine'
        when 'prompt' then 'an option of the latest prompt'
        when 'run' then 'the run'
        when 'user' then 'your user'
        when 'project' then 'the project'
        when 'file' then 'this database'
        when 'env' then 'the environment'
        else s.origin
    end || '.' as says,
    'run_settings' as source,
    json_object('run', s.run, 'name', s.name) as key
from run_settings as s
union all
select
    r.alias, 'setting', n.name, 20,
    'The place ' || n.layer || ' sets ' || coalesce(n.value, 'nothing') || coalesce(' (' || n.source || ')', '')
    || case
        when n.layer = 'project' and not n.confirmed and n.name in (select u.name from unconfirmed_settings as u)
            then '; that does not count until you confirm it: engine config --confirm'
        when n.layer = o.origin then ''
        else '; the place ' || o.origin || ' counts before it'
    end || '.',
    'setting_layers', json_object('name', n.name, 'layer', n.layer)
from runs as r
cross join setting_layers as n
join setting_list as o on o.name = n.name
union all
select r.alias, 'setting', s.name, 30, 'It means: ' || s.meaning || '.', 'setting_list', json_object('name', s.name)
from runs as r
cross join setting_list as s
union all
-- options
select
    r.alias, 'setting', o.name, 11,
    case
        when l.id is null then 'The run has no prompt yet, so the option ' || o.name || ' is not set.'
        when l.config ->> ('$.' || o.name) is null
            then 'Prompt ' || l.sequence || ' does not have the option ' || o.name || '.'
        else 'Prompt ' || l.sequence || ' has the option ' || o.name || ' ' || (l.config ->> ('$.' || o.name)) || '.'
    end,
    case when l.id is null then 'run_options' else 'loop_list' end,
    case
        when l.id is null then json_object('name', o.name) else json_object('run', r.alias, 'loop', l.sequence)
    end
from runs as r
cross join run_options as o
join _asked_prompts as a on a.run_id = r.id
left join loops as l on l.id = a.loop_id
where o.scope = 'loop'
union all
select
    r.alias, 'setting', o.name, 31, 'The option means: ' || o.meaning || '.', 'run_options', json_object('name', o.name)
from runs as r
cross join run_options as o
union all
-- the model
select
    a.run, 'model', '', 10,
    case
        when coalesce(l.model, r.model) is null then 'The run has no model.'
        else coalesce('Prompt ' || l.sequence || ' goes to the model ', 'The run has the model ')
            || coalesce(l.model, r.model) || '.'
    end,
    case when l.id is null then 'run_overview' else 'loop_list' end,
    case when l.id is null then json_object('run', a.run) else json_object('run', a.run, 'loop', l.sequence) end
from _asked_prompts as a
join runs as r on r.id = a.run_id
left join loops as l on l.id = a.loop_id
union all
select
    a.run, 'model', '', 20,
    'The request of the ' || c.writer || ' chose it: ' || (c.attributes ->> '$.attributes.model') || '.',
    'command_results', json_object('run', a.run, 'command_id', c.id)
from _asked_prompts as a
join _model_requests_named as n on n.loop_id = a.loop_id
join commands as c on c.id = n.command_id
union all
select
    a.run, 'model', '', 21,
    'The run took it from ' || o.alias || ', which uses ' || coalesce(o.model, 'no model of its own') || '.',
    'run_overview', json_object('run', o.alias)
from _asked_prompts as a
join runs as r on r.id = a.run_id
join runs as o on o.id = r.parent_run_id
left join _model_requests_named as n on n.loop_id = a.loop_id
where n.command_id is null
union all
select
    s.run, 'model', '', 22,
    case
        when s.value is null then 'The setting model is empty.'
        else 'The setting model is ' || s.value || ', from: ' || s.origin || '.'
    end,
    'run_settings', json_object('run', s.run, 'name', s.name)
from run_settings as s
where s.name = 'model'
union all
select
    a.run, 'model', '', 30, m.alias || ' stands for ' || m.actual || ' (' || m.origin || ').',
    'models', json_object('alias', m.alias)
from _asked_prompts as a
join runs as r on r.id = a.run_id
left join loops as l on l.id = a.loop_id
join models as m on m.alias = coalesce(l.model, r.model);
