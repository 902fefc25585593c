-- Fallbacks: the next model goes on with a prompt where the one that it has fails.
-- The option fallback_models of a prompt names them in their order. fallback_failures says for which failures the next one
-- is asked. The prompt is then handed over to it, with the same persona and tools, and what was done stands in the log.
-- spec: @fallbacks

-- tables

-- The turns whose model failed, with the one that goes on.
create table if not exists fallbacks (
    turn_id integer primary key constraint fallbacks_turn references turns (id) on delete cascade,
    model text not null,
    next_model text not null,
    status integer not null,
    message text
) strict;

-- The failures of models, as in model_failures, and whether the next model is asked. A person may change that.
create table if not exists fallback_failures (
    status integer primary key constraint fallback_failures_status references model_failures (status),
    falls_back integer not null constraint fallback_failures_falls_back_flag check (falls_back in (0, 1))
) strict;

-- seeds

insert or ignore into fallback_failures (status, falls_back)
select status, status in (401, 403, 404, 429, 500, 502, 503, 504)
from model_failures;

-- views

-- The model behind that of each loop, if it has one.
create view _next_models as
select
    l.id as loop_id,
    coalesce(l.model, r.model) as model,
    (
        select n.value
        from json_each(l.config ->> '$.fallback_models') as n
        where n.key > coalesce(
                (
                    select max(m.key)
                    from json_each(l.config ->> '$.fallback_models') as m
                    where m.value = coalesce(l.model, r.model)
                ), -1
            )
        order by n.key
        limit 1
    ) as next_model
from loops as l
join runs as r on r.id = l.run_id
where l.config ->> '$.fallback_models' is not null;

-- Loops whose model is given up sooner, because another one is asked then.
create view _fallback_loops__handoffs as
select loop_id
from _next_models
where next_model is not null;

-- Hand the prompt of a turn over to the next model: insert into _fall_back (turn_id, status, message), by _late_call.
create view _fall_back as
select turn_id, status, message
from fallbacks
where false;

create view prompt_fallbacks as
-- Which models failed, and which ones went on: select * from prompt_fallbacks where run = 'demo'. 'status' and 'message' are
-- those of the failure.
select
    r.alias as run, l.sequence as loop, t.sequence as turn, f.model, f.next_model, f.status, f.message
from fallbacks as f
join turns as t on t.id = f.turn_id
join loops as l on l.id = t.loop_id
join runs as r on r.id = t.run_id;

-- triggers

-- The option is a JSON array of names, each of them once.
create trigger loops__guard_fallback_models
before insert on loops
when new.config ->> '$.fallback_models' is not null
begin
    select fail(400, 'fallback_models: must be a JSON array of at most 8 names of models, each of them once')
    where not json_valid(new.config ->> '$.fallback_models')
        or json_type(new.config ->> '$.fallback_models') <> 'array'
        or json_array_length(new.config ->> '$.fallback_models') > 8
        or exists (
            select 1
            from json_each(new.config ->> '$.fallback_models') as o
            where o.type <> 'text' or trim(o.value) = ''
        )
        or (select count(*) - count(distinct o.value) from json_each(new.config ->> '$.fallback_models') as o) > 0;
end;

-- A call that failed for good.
create trigger model_calls__fall_back
after update of state on model_calls
when old.state = 'open' and new.state = 'failed'
begin
    insert into _late_call (door, a, b, c)
    select '_fall_back', t.id, new.status, new.message
    from turns as t
    join loops as l on l.id = t.loop_id
    where t.id = new.turn_id and t.phase = 'asking' and l.config ->> '$.fallback_models' is not null;
end;

create trigger _fall_back__fall_back
instead of insert on _fall_back
begin
    insert into fallbacks (turn_id, model, next_model, status, message)
    select t.id, n.model, n.next_model, new.status, new.message
    from turns as t
    join _next_models as n on n.loop_id = t.loop_id and n.next_model is not null
    join fallback_failures as k on k.status = new.status and k.falls_back
    where t.id = new.turn_id
    on conflict (turn_id) do nothing;
    insert into handoffs (loop_id, first_loop_id, persona, model, tools, note)
    select
        l.id, coalesce((select b.first_loop_id from handoffs as b where b.next_loop_id = l.id), l.id),
        coalesce(l.config ->> '$.persona', r.persona), f.next_model, l.config ->> '$.tools', ''
    from fallbacks as f
    join turns as t on t.id = f.turn_id
    join loops as l on l.id = t.loop_id
    join runs as r on r.id = l.run_id
    where f.turn_id = new.turn_id
    on conflict (loop_id) do update
        set persona = excluded.persona, model = excluded.model, tools = excluded.tools, note = excluded.note,
            command_id = null;
    -- above the vote on the failure
    insert into votes (turn_id, voter, vote, rank, status, reason)
    select
        turn_id, 'fallback', 'stop', 55, 204, model || ' failed (' || status || '); ' || next_model || ' goes on'
    from fallbacks
    where turn_id = new.turn_id
    on conflict (turn_id, voter) do nothing;
end;
