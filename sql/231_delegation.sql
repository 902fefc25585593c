-- Delegation: subtask and execute, tools whose effect is a child run.
-- Nobody decides on them: the command is accepted (122), its effect pending, and neighbours in one answer are accepted
-- together. The driver starts the effects in start_delegation, which makes the child in the same commit, or refuses;
-- engine.children drives the children. What comes of one is told in finish_delegation (232).
-- spec: @delegation @model_tiers @delegation_limits

-- seeds

insert into tools (name, ordinal, gathers, advertised, modes, schema, meaning) values
    ('subtask', 90, 1, 0, '["ask","act"]',
        json('{"type": "object", "properties": {
            "body": {"type": "string", "description": "the task, whole: who does it knows nothing else"},
            "model": {"type": "string", "description": "a model that is not dearer than yours"}
        }, "required": ["body"]}'),
        'give a part of the task to a run of its own'),
    ('execute', 91, 1, 0, '["ask","act"]',
        json('{"type": "object", "properties": {
            "body": {"type": "string", "description": "the steps, exactly: a cheap model carries them out"}
        }, "required": ["body"]}'),
        'have steps that are clear carried out by the cheapest model')
on conflict (name) do update
    set ordinal = excluded.ordinal, gathers = excluded.gathers, advertised = excluded.advertised, modes = excluded.modes,
        schema = excluded.schema, meaning = excluded.meaning;

-- views

-- The runs whose model has the tools subtask and execute while they are driven: one of their open prompts may delegate that
-- deep, and the model reads the whole packet.
create view _delegating_runs as
select distinct r.alias as run
from loops as l
join runs as r on r.id = l.run_id
left join models as m on m.alias = coalesce(l.model, r.model)
where l.status in (100, 102)
    and r.role in ('main', 'subtask', 'step')
    and r.depth < coalesce(
        l.config ->> '$.max_depth',
        (select cast(value as integer) from settings where name = 'max_depth')
    )
    and coalesce(m.profile, 'full') = 'full';

-- Pending effects that give work away, each with its limits and with the model that is asked for.
create view _delegations_ahead as
select
    d.*,
    (
        select coalesce(max(t.tier), 2)
        from (
            select k.tier
            from model_tiers as k
            where d.own_name glob k.pattern || case when k.effort = '' then '' else '[-:@]' || k.effort end
            order by length(k.pattern) + length(k.effort) desc
            limit 1
        ) as t
    ) as own_tier,
    (
        select coalesce(max(t.tier), 2)
        from (
            select k.tier
            from model_tiers as k
            where d.name glob k.pattern || case when k.effort = '' then '' else '[-:@]' || k.effort end
            order by length(k.pattern) + length(k.effort) desc
            limit 1
        ) as t
    ) as tier
from (
    select
        q.*,
        lower(coalesce((select m.actual from models as m where m.alias = q.model), q.model)) as name
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
            case
                when c.action = 'execute'
                    then coalesce(
                        (
                            select x.model
                            from executor_models as x
                            where lower(coalesce(m.actual, l.model, r.model)) glob x.pattern
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
    ) as q
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
            then 'the runs below ' || run || ' have had ' || max_turns || ' turns, which is all (setting max_tree_turns)'
        else 'the runs below ' || run || ' have had ' || printf('%.10g', max_seconds)
            || ' seconds, which is all (setting max_tree_seconds)'
    end as reason
from _tree_limits
where turns >= max_turns or seconds >= max_seconds;

-- Children that may begin no turn any more, because their tree has had what it may have.
create view _spent_children as
select r.alias as run, c.loop_id, s.reason
from children as c
cross join runs as r on r.id = c.run_id
cross join loops as l on l.id = c.loop_id and l.status in (100, 102)
cross join _spent_trees as s on s.root_loop_id = c.root_loop_id;

-- End the work of such a child: insert into _stop_spent_child (run).
create view _stop_spent_child as
select run
from _spent_children
where false;

-- Why work is not given away: 'outcome: message', or null.
create view _delegation_refusals as
select
    d.effect_id,
    case
        when d.objective = ''
            then 'validation: ' || d.action || ' needs a task: <' || d.action || '>what to do</' || d.action || '>.'
        when d.role not in ('main', 'subtask', 'step')
            then 'permission: A run that does the work of an ' || d.role || ' gives none away. Do it yourself.'
        when d.depth >= d.max_depth
            then 'permission: ' || case d.max_depth
                when 0 then 'This prompt may not delegate (max_depth is 0).'
                else d.run || ' is ' || d.depth || ' levels deep, and max_depth is ' || d.max_depth || '.'
            end || ' Do it yourself.'
        when (
            select count(*) from children as c where c.parent_loop_id = d.loop_id and c.parent_run_id = d.run_id
        ) >= cast(s.value as integer)
            then 'permission: This prompt has delegated ' || s.value || ' times, which is all (setting max_children). '
                || 'Do the rest yourself.'
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
        when d.action = 'subtask' and d.tier < d.own_tier
            then 'permission: ' || d.model || ' is of tier ' || d.tier || ', above yours (' || d.own_tier
                || '): work is given to models of the same tier or below. Leave model out.'
    end as refusal
from _delegations_ahead as d
cross join settings as s on s.name = 'max_children'
left join children as k on k.run_id = d.run_id
left join _spent_trees as t on t.root_loop_id = coalesce(k.root_loop_id, d.loop_id);

-- The effects of each run that give work away and are not over, each with its child, which is null before it has started.
create view _open_delegations as
select f.run_id, f.id as effect_id, r.alias as child, coalesce(l.status not in (100, 102), 0) as ended
from effects as f
left join children as c on c.effect_id = f.id
left join runs as r on r.id = c.run_id
left join loops as l on l.id = c.loop_id
where f.kind = 'delegate' and f.state in ('pending', 'started')
order by f.id;

create view start_delegation as
-- Give the work of an effect to a child run: insert into start_delegation (effect_id, lease). Where it is refused the effect
-- has failed. A second time changes nothing.
select id as effect_id, null as lease
from effects
where false;

create view offer_delegation as
-- Open the tools subtask and execute in a run for as long as it has this driver: insert into offer_delegation (run, lease).
select r.alias as run, l.token as lease
from leases as l
join runs as r on r.id = l.run_id
where false;

create view wait_for_children as
-- Say that a run waits because its children do: insert into wait_for_children (run_id).
select id as run_id
from runs
where false;

-- triggers

-- The driver of a child asks before each of its turns.
create trigger _stop_spent_child__stop
instead of insert on _stop_spent_child
begin
    insert into _move_loop (loop_id, status, reason)
    select loop_id, 499, 'stopped: ' || reason
    from _spent_children
    where run = new.run;
end;

-- Whether the work can be given away is seen here, not when the command is accepted, so that one that cannot spares its
-- neighbours, and a turn that delegates nothing pays nothing.
create trigger start_delegation__start
instead of insert on start_delegation
when exists (select 1 from effects where id = new.effect_id and state in ('pending', 'started'))
    and not exists (select 1 from children where effect_id = new.effect_id)
begin
    insert into start_effect (effect_id, identity, lease) values (new.effect_id, null, new.lease);
    insert into finish_effect (effect_id, state, outcome, message, lease)
    select
        new.effect_id, 'failed', substr(refusal, 1, instr(refusal, ': ') - 1), substr(refusal, instr(refusal, ': ') + 2),
        new.lease
    from (select refusal from _delegation_refusals where effect_id = new.effect_id)
    where refusal is not null;
    insert into _start_child (parent_run_id, role, prompt, attributes, effect_id)
    select
        d.run_id,
        d.action,
        d.objective,
        json_patch(
            (
                select json_group_object(a.key, a.value)
                from json_each(d.attributes) as a
                where a.key in ('accept', 'accept_command') and a.key in (select name from run_options)
            ),
            json_object(
                -- an executor that is dearer is none
                'model', case
                    when d.tier >= d.own_tier then d.model
                    else (
                        select coalesce(l.model, r.model)
                        from loops as l
                        join runs as r on r.id = l.run_id
                        where l.id = d.loop_id
                    )
                end
            )
        ),
        d.effect_id
    from _delegations_ahead as d
    cross join effects as f on f.id = d.effect_id and f.state = 'started'
    where d.effect_id = new.effect_id;
    insert into _share_known (run_id)
    select run_id
    from children
    where effect_id = new.effect_id;
end;

-- Refused without the token of the run's lease.
create trigger offer_delegation__offer
instead of insert on offer_delegation
begin
    select fail(409, 'run ' || new.run || ': another process drives it')
    where not exists (
        select 1
        from leases as l
        join runs as r on r.id = l.run_id
        where r.alias = new.run and l.token = new.lease
    );
    update leases
    set tools = json_set(coalesce(tools, '{}'), '$.subtask', 1, '$.execute', 1)
    where token = new.lease and new.run in (select run from _delegating_runs);
end;

create trigger wait_for_children__wait
instead of insert on wait_for_children
begin
    update runs
    set status = 202
    where id = new.run_id and status = 102 and exists (select 1 from _waiting_effects where run_id = new.run_id);
end;
