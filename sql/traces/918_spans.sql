-- Spans: the prompts, turns, model calls, tool calls and waits of runs, in the form of OpenTelemetry.
-- The exporter sends these rows as they are, live and afterwards, so both are the same trace. It makes the ids of a
-- span of its key. Attributes have the names of OpenTelemetry's conventions for generative AI, or begin with
-- 'engine.'.
-- needs: nothing
-- spec: @spans

-- views

-- The prompts with the keys of their spans, of their trace and of the span that they are part of.
create view _span_loops as
select
    l.id as loop_id,
    l.run_id,
    r.alias as run,
    -- the name of a run may be made of its prompt
    'run:' || r.id || ':' || r.created_at as conversation,
    l.sequence as loop,
    'loop:' || l.id || ':' || l.created_at as key,
    'loop:' || coalesce(o.id || ':' || o.created_at, l.id || ':' || l.created_at) as trace,
    case
        when c.id is not null then 'command:' || c.id || ':' || c.turn_id
        when p.id is not null then 'loop:' || p.id || ':' || p.created_at
    end as parent
from loops as l
join runs as r on r.id = l.run_id
left join children as h on h.run_id = l.run_id and h.loop_id = l.id
left join loops as o on o.id = h.root_loop_id
left join loops as p on p.id = h.parent_loop_id
left join effects as f on f.id = h.effect_id
left join commands as c on c.id = f.command_id and c.turn_id is not null;

-- The names of models as OpenTelemetry has them: the provider, and what the provider calls the model.
create view _span_models as
select
    m.id as call_id,
    case m.provider
        when 'google' then 'gcp.gemini'
        when 'xai' then 'x_ai'
        when 'mistral' then 'mistral_ai'
        else m.provider
    end as provider,
    case length(m.model) when length(m.provider) then m.model else substr(m.model, length(m.provider) + 2) end as model
from (
    select
        k.id, k.model,
        substr(
            k.model, 1, min(instr(replace(k.model, ':', '/') || '/', '/'), instr(k.model || '/', '/')) - 1
        ) as provider
    from model_calls as k
) as m;

create view spans as
-- One row for each prompt, turn, model call, tool call and wait for a decision: select * from spans where run = 'demo' order
-- by started_at. 'key' names a span, 'parent' the span that it is part of, 'trace' the prompt on top; times are in
-- milliseconds since 1970, 'ended_at' is null while it goes on. 'error' is a word for a failure, 'attributes' a JSON object.
select
    s.run,
    s.loop,
    null as turn,
    'prompt' as kind,
    s.key,
    s.parent,
    s.trace,
    'invoke_agent ' || r.persona as name,
    coalesce(l.started_at, l.created_at) as started_at,
    l.ended_at,
    case when l.status in (200, 204) or l.ended_at is null then null else a.name end as error,
    json_object(
        'gen_ai.operation.name', 'invoke_agent',
        'gen_ai.agent.name', r.persona,
        'gen_ai.conversation.id', s.conversation,
        'gen_ai.request.model', l.model,
        'gen_ai.usage.input_tokens', (select sum(t.prompt_tokens) from turns as t where t.loop_id = l.id),
        'gen_ai.usage.output_tokens', (select sum(t.completion_tokens) from turns as t where t.loop_id = l.id),
        'engine.loop', l.sequence,
        'engine.mode', l.mode,
        'engine.status', l.status,
        'engine.queued_ms', l.started_at - l.created_at
    ) as attributes
from _span_loops as s
join loops as l on l.id = s.loop_id
join runs as r on r.id = s.run_id
join statuses as a on a.code = l.status
union all
select
    s.run, s.loop, t.sequence, 'turn', 'turn:' || t.id || ':' || t.created_at, s.key, s.trace, 'turn ' || t.sequence,
    t.created_at, t.ended_at, null,
    json_object(
        'gen_ai.conversation.id', s.conversation,
        'engine.turn', t.sequence,
        'engine.context_tokens', t.context_tokens,
        'engine.ms_engine', t.ms_engine
    )
from _span_loops as s
join turns as t on t.loop_id = s.loop_id
union all
select
    s.run, s.loop, t.sequence, 'model call', 'call:' || k.id || ':' || k.started_at,
    'turn:' || t.id || ':' || t.created_at, s.trace, 'chat ' || m.model, k.started_at, k.ended_at,
    case when k.state = 'failed' then cast(coalesce(k.status, '_OTHER') as text) end,
    json_object(
        'gen_ai.operation.name', 'chat',
        'gen_ai.provider.name', m.provider,
        'gen_ai.request.model', m.model,
        'gen_ai.conversation.id', s.conversation,
        'gen_ai.request.temperature', r.temperature,
        'gen_ai.response.finish_reasons',
        case when k.state = 'answered' and t.finish_reason is not null then json_array(t.finish_reason) end,
        'gen_ai.usage.input_tokens', case k.state when 'answered' then t.prompt_tokens end,
        'gen_ai.usage.output_tokens', case k.state when 'answered' then t.completion_tokens end,
        'gen_ai.usage.cache_read.input_tokens', case k.state when 'answered' then t.cached_tokens end,
        'gen_ai.usage.reasoning.output_tokens', case k.state when 'answered' then t.reasoning_tokens end,
        'engine.turn', t.sequence,
        'engine.attempt', k.attempt,
        'engine.cost', case k.state when 'answered' then t.cost end
    )
from _span_loops as s
join runs as r on r.id = s.run_id
join turns as t on t.loop_id = s.loop_id
join model_calls as k on k.turn_id = t.id
join _span_models as m on m.call_id = k.id
union all
select
    s.run, s.loop, t.sequence, 'tool', 'command:' || c.id || ':' || t.id, 'turn:' || t.id || ':' || t.created_at, s.trace,
    'execute_tool ' || c.action, c.created_at,
    case
        when c.state in ('resolved', 'failed', 'cancelled')
            then max(
                c.created_at,
                coalesce((select max(f.ended_at) from effects as f where f.command_id = c.id), 0),
                coalesce((select max(p.decided_at) from proposals as p where p.command_id = c.id), 0)
            )
    end,
    case when c.state in ('failed', 'cancelled') then coalesce(c.outcome, c.state) end,
    json_object(
        'gen_ai.operation.name', 'execute_tool',
        'gen_ai.tool.name', c.action,
        'gen_ai.tool.call.id', cast(c.id as text),
        'gen_ai.tool.type', 'function',
        'gen_ai.conversation.id', s.conversation,
        'engine.turn', t.sequence
    )
from _span_loops as s
join turns as t on t.loop_id = s.loop_id
join commands as c on c.turn_id = t.id
where c.writer = 'model' and c.action <> 'update'
union all
select
    s.run, s.loop, t.sequence, 'wait', 'proposal:' || p.id || ':' || p.created_at, 'command:' || c.id || ':' || t.id,
    s.trace, 'wait for decision', p.created_at, p.decided_at, null,
    json_object(
        'gen_ai.conversation.id', s.conversation,
        'engine.turn', t.sequence,
        'engine.proposal.kind', p.kind,
        'engine.decision', (select d.decision from decisions as d where d.proposal_id = p.id),
        'engine.decided_by', (select d.decided_by from decisions as d where d.proposal_id = p.id)
    )
from _span_loops as s
join turns as t on t.loop_id = s.loop_id
join commands as c on c.turn_id = t.id
join proposals as p on p.command_id = c.id
where c.writer = 'model' and (p.decided_at is null or p.decided_at > p.created_at);

create view span_texts as
-- What was said in a span, which is exported only if somebody asks for it: select * from span_texts where run = 'demo'.
-- 'attributes' are those of messages, arguments and results in OpenTelemetry's conventions.
select
    s.run,
    s.key,
    json_object(
        'engine.run', s.run,
        'gen_ai.input.messages',
        json_array(
            json_object('role', 'user', 'parts', json_array(json_object('type', 'text', 'content', l.prompt)))
        ),
        'gen_ai.output.messages',
        case
            when l.answer is not null
                then json_array(
                    json_object('role', 'assistant', 'parts', json_array(json_object('type', 'text', 'content', l.answer)))
                )
        end
    ) as attributes
from _span_loops as s
join loops as l on l.id = s.loop_id
union all
select
    s.run, 'call:' || k.id || ':' || k.started_at,
    json_object(
        'gen_ai.output.messages',
        json_array(
            json_object(
                'role', 'assistant',
                'parts', json_array(json_object('type', 'text', 'content', t.response)),
                'finish_reason', t.finish_reason
            )
        )
    )
from _span_loops as s
join turns as t on t.loop_id = s.loop_id
join model_calls as k on k.turn_id = t.id
where k.state = 'answered' and t.response is not null
union all
select
    s.run, 'command:' || c.id || ':' || t.id,
    json_object(
        'gen_ai.tool.call.arguments', json_object('path', c.path, 'body', c.body),
        'gen_ai.tool.call.result', c.message
    )
from _span_loops as s
join turns as t on t.loop_id = s.loop_id
join commands as c on c.turn_id = t.id
where c.writer = 'model' and c.action <> 'update';
