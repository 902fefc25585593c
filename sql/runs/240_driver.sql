-- The driver: what has to be done next for each run.
-- The driver reads _next_steps and does what it says, one step after the other; it decides nothing itself. A run also
-- continues in this way after a kill: the first step of the new process is the one that the old one did not finish.
-- spec: @_next_steps @model_calls @model_failures

-- tables

-- The calls of models, one row an attempt, inserted before the call is made.
create table if not exists model_calls (
    id integer primary key,
    run_id integer not null constraint model_calls_run references runs (id) on delete cascade,
    turn_id integer not null constraint model_calls_turn references turns (id) on delete cascade,
    attempt integer not null,
    model text not null,
    started_at integer not null,
    ended_at integer,
    -- interrupted: the process that made the call ended before the answer
    state text not null default 'open'
        constraint model_calls_state check (state in ('open', 'answered', 'failed', 'interrupted')),
    -- the HTTP status of a failure
    status integer,
    message text,
    -- how hard it was asked to think; null: as it does by itself
    effort text,
    -- the settings that it was sent, as a JSON object: temperature, max_output, top_p and so on; null: none
    options text
) strict;

create index if not exists idx_model_calls_turn_id on model_calls (turn_id);

-- What a model call that failed for good means for the loop.
create table if not exists model_failures (
    status integer primary key constraint model_failures_status references statuses (code),
    -- the status with which the loop ends; null: the loop does not end by this failure alone
    loop_status integer constraint model_failures_loop_status references statuses (code),
    meaning text not null
) strict;

-- seeds

insert into model_failures (status, loop_status, meaning) values
    (400, 500, 'the provider rejects the request'),
    (401, 500, 'the key is missing or wrong'),
    (403, 500, 'the key may not use the model'),
    (404, 500, 'the model does not exist'),
    (413, null, 'the packet is too long for the model: it is shortened once, then the loop ends'),
    (422, 500, 'the provider cannot process the request'),
    (429, 500, 'the provider refused too many requests until the deadline'),
    (499, 499, 'aborted'),
    (500, 500, 'the provider had an error'),
    (502, 500, 'the provider cannot be reached'),
    (503, 500, 'the provider is not ready'),
    (504, null, 'the provider took too long; this counts as a strike')
on conflict (status) do update set loop_status = excluded.loop_status, meaning = excluded.meaning;

-- views

-- Runs that have effects under way and wait for other runs. A part gives their ids.
create view _resting_runs as
select null as run_id
where false;

-- What a turn waits for outside of the file. A part gives the turn, the ordinal of the first command that waits, and
-- whether the driver has to ask for it now.
create view _turn_holds as
select id as turn_id, null as ordinal, null as is_due
from turns
where false;

create view _next_steps as
-- What the driver has to do next: begin, scan, prepare, render, ask, dispatch, confine, perform, recover, wait (for a
-- decision), hook (ask a command of the person's own), verify (the result against its criteria) or end.
select
    r.id as run_id,
    r.alias as run,
    t.id as turn_id,
    t.sequence as turn,
    case
        when (t.id is null or t.phase = 'assembling')
            and exists (
                select 1
                from effects as f
                where f.run_id = r.id and f.state in ('pending', 'started') and f.turn_id is null and f.kind <> 'process'
            )
            then case
                when exists (select 1 from _resting_runs as w where w.run_id = r.id) then 'wait' else 'perform'
            end
        when t.id is null and exists (select 1 from loops as l where l.run_id = r.id and l.status in (100, 102))
            then 'begin'
        when t.id is null then 'end'
        when t.phase = 'assembling' and exists (select 1 from _turn_holds as h where h.turn_id = t.id) then 'hook'
        when t.phase = 'assembling' and exists (select 1 from _scan_requests as q where q.turn_id = t.id) then 'scan'
        when t.phase = 'assembling' and exists (select 1 from _due_searches as d where d.turn_id = t.id) then 'prepare'
        when t.phase = 'assembling' then 'render'
        when t.phase = 'asking' then 'ask'
        when t.phase = 'answered' then 'dispatch'
        when exists (select 1 from _leftover_processes as f where f.run_id = r.id) then 'recover'
        when exists (select 1 from _sandbox_questions as q where q.run_id = r.id) then 'confine'
        when exists (
            select 1
            from effects as f
            where f.run_id = r.id
                and f.state in ('pending', 'started')
                and not exists (select 1 from _waiting_effects as w where w.effect_id = f.id)
        )
            then 'perform'
        when exists (select 1 from effects as f where f.run_id = r.id and f.state in ('pending', 'started')) then 'wait'
        when exists (select 1 from proposals as p where p.run_id = r.id and p.state = 'proposed')
            then 'wait'
        when exists (select 1 from _turn_holds as h where h.turn_id = t.id and h.is_due) then 'hook'
        when t.phase = 'voting' then 'verify'
        else 'dispatch'
    end as step
from runs as r
left join turns as t on t.run_id = r.id and t.phase <> 'judged';

create view resumable_runs as
-- Runs that a resume drives: those without a driver that have a queued prompt, an active loop or a client's write to
-- perform, and do not wait for a decision. An aborted loop is not resumed.
select r.id as run_id, r.alias as run, r.status, n.step
from runs as r
join _next_steps as n on n.run_id = r.id
where n.step not in ('end', 'wait')
    and not exists (select 1 from _leases_in_force as l where l.run_id = r.id);

-- Turns whose calls are reserved before they are made, because a limit holds for what they spend. A part gives their ids.
create view _bounded_turns as
select null as turn_id
where false;

-- Loops whose prompt another model goes on with, if theirs fails. A part gives their ids.
create view _fallback_loops as
select null as loop_id
where false;

-- The settings of the models of loops: those of the prompt before those of the alias, and these before the setting.
-- A null takes a setting away.
create view _model_options as
select
    l.id as loop_id,
    json_patch(json_patch(coalesce(s.value, '{}'), coalesce(m.options, '{}')), coalesce(c.value, '{}')) as options,
    case
        when json_type(c.value, '$.temperature') is not null then c.value ->> '$.temperature'
        when r.temperature is not null then r.temperature
        when json_type(m.options, '$.temperature') is not null then m.options ->> '$.temperature'
        when json_type(s.value, '$.temperature') is not null then s.value ->> '$.temperature'
        else (select cast(nullif(value, '') as real) from settings where name = 'temperature')
    end as temperature
from loops as l
join runs as r on r.id = l.run_id
join settings as s on s.name = 'model_options'
left join models as m on m.alias = coalesce(l.model, r.model)
left join json_each(json_array(l.config ->> '$.model_options')) as c
    on c.value is not null and value_error(c.value, 'options', null, null) is null;

-- What the adapter needs to make the model call of a turn.
create view _model_requests as
select
    t.id as turn_id,
    t.run_id,
    r.alias as run,
    coalesce(l.model, r.model) as model,
    coalesce(m.actual, l.model, r.model) as actual,
    -- a judge answers in its own words
    case r.role when 'judge' then 'full' else coalesce(m.profile, 'full') end as profile,
    coalesce(m.tool_calling, 'xml') as tool_calling,
    -- a local model is held to a grammar, so that its answer can be read; a compact packet brings a narrower one
    case
        when coalesce(m.profile, 'full') = 'full'
            and (
                substr(coalesce(m.actual, l.model, r.model) || '/', 1, 6) = 'local/'
                or substr(coalesce(m.actual, l.model, r.model), 1, 5) = 'gguf:'
            )
            then (select g.gbnf from _loop_grammars as g where g.loop_id = t.loop_id)
        -- of a compact one it is made of what the packet shows, unless the answer has a form
        when m.profile = 'compact' and r.role <> 'judge' then grammar_answer(l.config ->> '$.output')
    end as grammar,
    -- the form of its answer; null: none was asked for
    l.config ->> '$.output' as output,
    -- without the temperature and the longest answer, which have columns of their own
    nullif(json_remove(o.options, '$.temperature', '$.max_output'), '{}') as options,
    o.temperature,
    coalesce(r.effort, m.effort, (select value from settings where name = 'effort')) as effort,
    -- a provider refuses a limit above its own, so one is sent only where that is known; a local model always gets one,
    -- or it would write until its context is full
    case
        when o.options ->> '$.max_output' is not null
            then min(max(b.ceiling - coalesce(t.context_tokens, 0), 1024), o.options ->> '$.max_output')
        when m.max_output is not null
            or substr(coalesce(m.actual, l.model, r.model) || '/', 1, 6) = 'local/'
            or substr(coalesce(m.actual, l.model, r.model), 1, 5) = 'gguf:'
            then min(max(b.ceiling - coalesce(t.context_tokens, 0), 1024), coalesce(m.max_output, 9e9))
    end as max_tokens,
    r.responses as position,
    -- 1: an answer of before may be given; a judge looks for itself
    r.role <> 'judge'
    and coalesce(l.config ->> '$.answer_cache', (select value from settings where name = 'answer_cache')) in (1, '1')
    as answer_cache,
    -- not longer than the loop may last
    min(
        (select cast(value as real) from settings where name = 'model_timeout'),
        coalesce((select max(c.seconds_left, 1.0) from _loop_seconds as c where c.loop_id = l.id), 9e9)
    ) as timeout_s,
    min(
        (
            select cast(value as real)
            from settings
            where name = case
                    when exists (select 1 from _fallback_loops as f where f.loop_id = l.id) then 'fallback_deadline'
                    else 'model_deadline'
                end
        ),
        coalesce((select max(c.seconds_left, 1.0) from _loop_seconds as c where c.loop_id = l.id), 9e9)
    ) as deadline_s,
    exists (select 1 from _attached_turns as p where p.turn_id = t.id) as has_pictures,
    exists (select 1 from _bounded_turns as x where x.turn_id = t.id) as is_bounded,
    t.context_tokens,
    -- what a person says of its price: [input, output, cached] in US dollars per million tokens
    coalesce(
        case
            when m.price_input is not null
                then json_array(m.price_input, m.price_output, coalesce(m.price_cached, m.price_input))
        end,
        (
            select json_array(p.price_input, p.price_output, p.price_cached)
            from model_prices as p
            where p.model = coalesce(m.actual, l.model, r.model)
        )
    ) as price,
    -- what its provider is told of the app, by the names of headers, as JSON
    case
        when substr(coalesce(m.actual, l.model, r.model), 1, 11) = 'openrouter/'
            then (
                select json_group_object(case name when 'openrouter_title' then 'X-Title' else 'HTTP-Referer' end, value)
                from settings
                where name in ('openrouter_title', 'openrouter_referer') and value is not null
            )
    end as headers
from turns as t
join runs as r on r.id = t.run_id
join loops as l on l.id = t.loop_id
join _loop_ceilings as b on b.loop_id = l.id
left join models as m on m.alias = coalesce(l.model, r.model)
join _model_options as o on o.loop_id = l.id;

create view _open_call as
-- Say that the model is about to be asked: insert into _open_call (turn_id, effort, options). 'effort' is how hard it will
-- be asked to think; null: nothing is said of that. 'options' are the settings that it is sent, as a JSON object. A turn
-- that is not 'asking' opens no call.
select turn_id, effort, options
from model_calls
where false;

create view _fail_call as
-- Report that the model call of a turn failed for good: insert into _fail_call (turn_id, status, message).
select turn_id, status, message
from model_calls
where false;

create view _record_crash as
-- Fail a command whose rules raised an error, and continue its turn: insert into _record_crash (command_id, message,
-- lease).
select id as command_id, message, null as lease
from commands
where false;

create view _next_commands as
-- The command that each run performs next: the first queued one of its turn, unless another one is under way or waits.
select r.alias as run, t.id as turn_id, min(c.ordinal) as ordinal, c.id as command_id
from turns as t
join runs as r on r.id = t.run_id
join commands as c on c.turn_id = t.id and c.state = 'queued'
where t.phase = 'dispatching'
    and not exists (
        select 1
        from commands as u
        where u.turn_id = t.id and u.state in ('performing', 'proposed', 'accepting', 'accepted')
    )
group by t.id;

create view verb_answer_proposal as
-- Decide on one proposal: insert into verb_answer_proposal (proposal_id, decision, body, reason, decided_by). Nothing
-- happens where somebody has decided on it in the meantime.
select id as proposal_id, null as decision, null as body, reason, null as decided_by
from proposals
where false;

-- triggers

-- A turn has at most one open call: one that a process left open when it died is interrupted.
create trigger _open_call__open
instead of insert on _open_call
begin
    select fail(404, 'turn ' || quote(new.turn_id) || ': not found; see the view _next_steps')
    where not exists (select 1 from turns where id = new.turn_id);
    update model_calls
    set state = 'interrupted', ended_at = now()
    where turn_id = new.turn_id and state = 'open';
    insert into model_calls (run_id, turn_id, attempt, model, started_at, effort, options)
    select
        q.run_id,
        q.turn_id,
        1 + (select count(*) from model_calls as c where c.turn_id = q.turn_id),
        q.model,
        now(),
        new.effort,
        new.options
    from turns as t
    cross join _model_requests as q on q.turn_id = t.id
    where t.id = new.turn_id and t.phase = 'asking';
end;

-- The error is told in the log and the turn is judged. After a 413 the ladder takes a step instead, and the packet is
-- sent once more.
create trigger _fail_call__fail
instead of insert on _fail_call
begin
    select fail(404, 'turn ' || quote(new.turn_id) || ': not found; see the view _next_steps')
    where not exists (select 1 from turns where id = new.turn_id);
    update model_calls
    set state = 'failed',
        ended_at = now(),
        status = coalesce((select k.status from model_failures as k where k.status = new.status), 500),
        message = new.message
    where turn_id = new.turn_id and state = 'open';
    update runs
    set responses = responses + 1
    where id = (select run_id from turns where id = new.turn_id);
    insert into turn_errors (turn_id, status, message, detail)
    select c.turn_id, c.status, c.message, '{"source":"model"}'
    from model_calls as c
    where c.turn_id = new.turn_id and c.state = 'failed' and new.status <> 413
    order by c.id desc
    limit 1;
    update turns
    set phase = case new.status when 413 then 'assembling' else phase end,
        refused = refused + (new.status = 413),
        ms_model = (select sum(max(c.ended_at - c.started_at, 0)) from model_calls as c where c.turn_id = new.turn_id)
    where id = new.turn_id and phase = 'asking';
    insert into _take_ladder_step (turn_id, from_step)
    select id, case when refused > 1 then 5 else ladder end
    from turns
    where id = new.turn_id and new.status = 413;
    -- the model did not read this packet; the one that is sent instead is kept
    delete from packets
    where turn_id = new.turn_id
        and new.status = 413
        and exists (select 1 from turns as t where t.id = new.turn_id and t.phase = 'assembling');
    insert into _judge_turn (turn_id)
    select id
    from turns
    where id = new.turn_id and phase = 'asking';
end;

-- dispatch with 0 performs no command: it judges the turn if this was the last one.
create trigger _record_crash__record
instead of insert on _record_crash
begin
    select fail(404, 'command ' || quote(new.command_id) || ': not found; see the view command_results')
    where not exists (select 1 from commands where id = new.command_id);
    insert into _end_command (command_id, state, outcome, message)
    select id, 'failed', 'error', new.message
    from commands
    where id = new.command_id and state = 'queued';
    insert into _dispatch (run, lease, only)
    select r.alias, new.lease, 0
    from commands as c
    join runs as r on r.id = c.run_id
    where c.id = new.command_id;
end;

create trigger verb_answer_proposal__answer
instead of insert on verb_answer_proposal
begin
    select fail(404, 'proposal ' || quote(new.proposal_id) || ': not found; see the view open_proposals')
    where not exists (select 1 from proposals where id = new.proposal_id);
    insert into resolutions (run_id, path, proposal_id, decision, body, reason, decided_by, created_at)
    select run_id, path, id, new.decision, new.body, new.reason, coalesce(new.decided_by, 'client'), now()
    from proposals
    where id = new.proposal_id and state = 'proposed';
end;
