-- Why turns: why a turn began, why the prompt continued or ended after it, its strikes, and the model that answered.
-- spec: @why

-- views

create view turn_reasons as
-- Why each turn of a run or of its past began, went on or ended its prompt, and what happened in it: select says, source,
-- key from turn_reasons where run = 'demo' and subject = '3' order by place.
select
    p.run, 'turn' as topic, cast(p.turn as text) as subject, 10 as place,
    case
        when o.id is null then 'It is the first turn of prompt ' || l.sequence || '.'
        else 'It follows turn ' || o.sequence || ', after which prompt ' || l.sequence || ' continued.'
    end as says,
    case when o.id is null then 'loop_list' else 'turn_timeline' end as source,
    case
        when o.id is null then json_object('run', p.source, 'loop', l.sequence)
        else json_object('run', p.source, 'turn', o.sequence)
    end as key
from past_turns as p
join turns as t on t.id = p.turn_id
join loops as l on l.id = t.loop_id
left join turns as o on o.id = (
    select max(b.id) from turns as b where b.loop_id = t.loop_id and b.sequence < t.sequence
)
union all
select
    p.run, 'turn', cast(p.turn as text), 20,
    case
        when t.phase <> 'judged' then 'It has not ended; its phase is ' || t.phase || ': ' || h.meaning || '.'
        when t.status = 102 then 'The prompt continued after it, because '
            || case
                when exists (select 1 from _turn_faults as f where f.turn_id = t.id) then 'the model had errors to read.'
                when exists (
                    select 1
                    from commands as c
                    where c.turn_id = t.id and c.action = 'update' and c.attributes ->> '$.status' = 102
                ) then 'the model said that it is not done.'
                when exists (select 1 from commands as c where c.turn_id = t.id)
                    then 'the model still had to read the results of its commands.'
                else 'nothing ended it.'
            end
        else 'The prompt ended with this turn: ' || s.name || '.'
    end,
    'turn_timeline', json_object('run', p.source, 'turn', p.turn)
from past_turns as p
join turns as t on t.id = p.turn_id
join turn_phases as h on h.name = t.phase
join statuses as s on s.code = t.status
union all
-- what decided that
select
    p.run, 'turn', cast(p.turn as text), 21,
    case v.voter
        when 'update' then 'The update of the model has the status ' || s.name || '.'
        when 'healing' then 'The model answered, and no command has a result that it must read. That ends the '
            || 'prompt as done.'
        when 'rejection' then 'A proposal was rejected without a reason. That ends the prompt.'
        when 'turns' then 'The limit of turns'
        when 'clock' then 'The limit of time'
        when 'strikes' then 'Too many strikes in a row'
        when 'model' then 'The model failed for good'
        when 'budget' then 'The packet did not fit'
        else 'The vote of ' || v.voter || ' is the highest: ' || v.vote
    end
    || case when v.reason is null or v.voter = 'rejection' then '' else ': ' || substr(v.reason, 1, 300) end,
    'votes', json_object('turn_id', v.turn_id, 'voter', v.voter)
from past_turns as p
join turns as t on t.id = p.turn_id and t.phase = 'judged'
join _turn_verdicts as v on v.turn_id = t.id
join statuses as s on s.code = v.status
union all
-- an end without a vote
select
    p.run, 'turn', cast(p.turn as text), 22,
    'It was stopped before it ended: ' || coalesce(l.reason, 'aborted') || '.',
    'loop_list', json_object('run', p.source, 'loop', l.sequence)
from past_turns as p
join turns as t on t.id = p.turn_id and t.phase = 'judged' and t.status <> 102
join loops as l on l.id = t.loop_id
where not exists (select 1 from votes as v where v.turn_id = t.id)
union all
-- strikes
select
    p.run, 'turn', cast(p.turn as text), 30,
    'Strike ' || t.streak || ' in a row: ' || w.words || ' ended as ' || w.outcome || '.',
    'run_log', json_object('run', p.source, 'command_id', c.id)
from past_turns as p
join turns as t on t.id = p.turn_id
join commands as c on c.turn_id = t.id and c.state = 'failed'
join _command_words as w on w.command_id = c.id
join outcomes as o on o.name = w.outcome and o.strikes
union all
select
    p.run, 'turn', cast(p.turn as text), 31,
    case when e.soft then 'The model read: ' else 'Strike ' || t.streak || ' in a row: ' end
    || substr(e.message, 1, 300),
    'turn_errors', json_object('id', e.id)
from past_turns as p
join turns as t on t.id = p.turn_id
join turn_errors as e on e.turn_id = t.id
union all
select
    p.run, 'turn', cast(p.turn as text), 32, 'Strike ' || t.streak || ' in a row: it repeated the turns before it.',
    'turn_timeline', json_object('run', p.source, 'turn', p.turn)
from past_turns as p
join turns as t on t.id = p.turn_id and t.phase = 'judged' and t.streak > 0
where not exists (select 1 from _turn_faults as f where f.turn_id = t.id)
union all
-- calls
select
    p.run, 'turn', cast(p.turn as text), 40,
    k.model || case k.state
        when 'answered' then ' answered at attempt ' || k.attempt || '.'
        when 'failed' then ' failed at attempt ' || k.attempt || coalesce(' (' || k.status || ')', '')
            || coalesce(': ' || substr(k.message, 1, 300), '.')
        when 'open' then ' is being asked (attempt ' || k.attempt || ').'
        else ' was asked at attempt ' || k.attempt || ', and the process ended before the answer.'
    end,
    'model_calls', json_object('id', k.id)
from past_turns as p
join model_calls as k on k.turn_id = p.turn_id
union all
-- the packet
select
    p.run, 'turn', cast(p.turn as text), 50,
    'To make its packet small enough, ' || (ev.detail ->> '$.entries')
    || case ev.detail ->> '$.entries' when 1 then ' entry was ' else ' entries were ' end
    || case ev.kind
        when 'context.condensed' then 'summarized as old '
            || 'results' when 'context.archived' then 'archived' else 'summarized or archived'
    end || '; that freed about ' || (ev.detail ->> '$.tokens') || ' tokens.',
    'event_list', json_object('id', ev.id)
from past_turns as p
join events as ev
    on ev.turn_id = p.turn_id and ev.kind in ('context.condensed', 'context.demoted', 'context.archived')
union all
select
    p.run, 'turn', cast(p.turn as text), 51,
    'Its packet had about ' || t.context_tokens || ' tokens; the limit is ' || b.ceiling || '.',
    'turn_timeline', json_object('run', p.source, 'turn', p.turn)
from past_turns as p
join turns as t on t.id = p.turn_id and t.context_tokens is not null
join _loop_ceilings as b on b.loop_id = t.loop_id
union all
select
    p.run, 'turn', cast(p.turn as text), 60,
    'Its answer cost '
    || case when t.cost is null then 'an unknown amount' else printf('$%.6f', t.cost) end || w.words,
    'turn_timeline', json_object('run', p.source, 'turn', p.turn)
from past_turns as p
join turns as t on t.id = p.turn_id and t.response is not null
join _token_words as w on w.turn_id = t.id;

-- The tokens of each answer in words, with what tells their price.
create view _token_words as
select
    t.id as turn_id,
    case
        when t.prompt_tokens is null and t.completion_tokens is null then ': its provider reported no tokens.'
        else ': ' || coalesce(t.prompt_tokens, 0) || ' tokens of the packet'
            || case when t.cached_tokens > 0 then ' (' || t.cached_tokens || ' of them cached)' else '' end
            || ' and ' || coalesce(t.completion_tokens, 0) || ' of the answer.'
    end
    || case
        when t.cost is null then ' To set a price: engine models add ALIAS MODEL --price IN/OUT.'
        when t.cost_from = 'provider' then ' The provider or its model stated this cost.'
        when t.cost_from = 'person' then ' The cost follows from the price that you had set for the model.'
        when t.cost_from = 'list' then ' The cost follows from the price list of the library genai-prices.'
        when t.cost_from = 'local' then ' The model ran on this machine, which costs nothing.'
        else ''
    end as words
from turns as t;
