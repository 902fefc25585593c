-- Why prompts: where a run and its prompts come from, and why a prompt waits, continues or has ended.
-- spec: @why

-- views

-- Who gave each prompt, and how it stands.
create view _told_prompts as
select
    r.alias as run, cast(l.sequence as text) as subject, 10 as place,
    'Prompt ' || l.sequence || ' is ' || s.name || ': "'
    || case when length(l.prompt) > 120 then substr(l.prompt, 1, 119) || '…' else l.prompt end || '"' as says,
    'loop_list' as source,
    json_object('run', r.alias, 'loop', l.sequence) as key
from loops as l
join runs as r on r.id = l.run_id
join _prompt_statuses as q on q.loop_id = l.id
join statuses as s on s.code = q.status
union all
-- what it waits for
select
    w.run, cast(w.loop as text), 20,
    case w.state
        when 'queued' then 'It waits in line behind ' || coalesce(w.what, 'another prompt') || '.'
        when 'waiting' then 'It waits for a '
            || case w.waits_for
                when 'person' then 'person to decide'
                else w.waits_for || coalesce(': ' || w.what, '')
            end || '.'
        when 'running' then 'A process works on it; it waits for the ' || w.waits_for || coalesce(' ' || w.what, '') || '.'
        else 'No process works on it. To continue: engine resume ' || w.run
    end,
    'open_work', json_object('run', w.run, 'loop', w.loop)
from open_work as w
union all
select
    r.alias, cast(l.sequence as text), 25,
    'It waits for a decision: ' || p.action || ' ' || coalesce(substr(p.target, 1, 200), '')
    || case p.kind when 'question' then ' (only a person answers a question)' else '' end || '.',
    'open_proposals', json_object('run', r.alias, 'proposal_id', p.id)
from proposals as p
join loops as l on l.id = p.loop_id and l.status = 102
join runs as r on r.id = p.run_id
where p.state = 'proposed';

-- What led to a prompt or behind it besides people: another persona, a workflow. Of a step it tells in the run that does it
-- (topic 'run'), of the workflow in the run of that.
create view _told_helpers as
select
    h.run, 'prompt' as topic, cast(h.next_loop as text) as subject, 12 as place,
    'Prompt ' || h.loop || ' was handed over to the persona ' || h.to_persona || coalesce(': ' || nullif(h.note, ''), '.')
    as says,
    'prompt_handoffs' as source,
    json_object('run', h.run, 'loop', h.loop) as key
from prompt_handoffs as h
union all
select
    h.run, 'prompt', cast(h.loop as text), 34,
    'It was handed over to the persona ' || h.to_persona || ', which continues in prompt ' || h.next_loop || '.',
    'prompt_handoffs', json_object('run', h.run, 'loop', h.loop)
from prompt_handoffs as h
union all
select
    s.child, 'run', '', 12,
    'It is the step ' || s.step || ' of the workflow run ' || s.run || coalesce(', after ' || s.needs, '') || '.',
    'step_list', json_object('run', s.run, 'step', s.step)
from step_list as s
where s.child is not null
union all
select
    s.run, 'run', '', 20 + s.layer,
    'The step ' || s.step || ' is ' || s.state || coalesce(' in the run ' || s.child, '')
    || coalesce(', needs ' || s.needs, '') || coalesce(': ' || s.reason, '.'),
    'step_list', json_object('run', s.run, 'step', s.step)
from step_list as s;

-- Why each prompt that has ended did: the vote on its last turn, the limit behind that vote, or an abort.
create view _told_ends as
select
    r.alias as run, cast(l.sequence as text) as subject, 30 as place,
    'It ended as ' || s.name || case
        when exists (
            select 1 from votes as v where v.turn_id = (select max(o.id) from turns as o where o.loop_id = l.id)
        ) then '.'
        else coalesce(': ' || substr(l.reason, 1, 300), '.')
    end as says,
    'loop_results' as source,
    json_object('run', r.alias, 'loop', l.sequence) as key
from loops as l
join runs as r on r.id = l.run_id
join statuses as s on s.code = l.status
where l.ended_at is not null
union all
select r.alias, cast(l.sequence as text), 31, 'Turn ' || t.sequence || ': ' || e.says, e.source, e.key
from loops as l
join runs as r on r.id = l.run_id
join turns as t on t.id = (select max(o.id) from turns as o where o.loop_id = l.id)
join turn_reasons as e on e.run = r.alias and e.subject = cast(t.sequence as text) and e.place in (21, 22, 30, 31, 32)
where l.ended_at is not null
    -- an error that ended the prompt by itself is the reason of the vote
    and (e.place <> 31 or exists (select 1 from _turn_verdicts as v where v.turn_id = t.id and v.voter = 'strikes'))
union all
-- the limit that ended it
select
    r.alias, cast(l.sequence as text), 35,
    n.words, n.source, n.key
from loops as l
join runs as r on r.id = l.run_id
join turns as t on t.id = (select max(o.id) from turns as o where o.loop_id = l.id)
join _turn_verdicts as v on v.turn_id = t.id
join _setting_words as n on n.turn_id = t.id and n.name = case v.voter
    when 'turns' then 'max_loop_turns'
    when 'clock' then 'max_loop_seconds'
    when 'strikes' then 'max_strikes'
    when 'budget' then 'budget_ceiling'
end
where l.ended_at is not null
union all
-- who aborted it
select
    r.alias, cast(l.sequence as text), 36,
    'It was aborted by the ' || c.writer || '.',
    'command_results', json_object('run', r.alias, 'command_id', c.id)
from loops as l
join runs as r on r.id = l.run_id
join commands as c on c.id = (
    select max(k.id)
    from commands as k
    where k.run_id = l.run_id
        and k.turn_id is null
        and k.attributes ->> '$.state' = 'cancelled'
        and k.created_at <= l.ended_at
)
where l.status = 499
    and not exists (
        select 1 from votes as v where v.turn_id = (select max(o.id) from turns as o where o.loop_id = l.id)
    )
union all
-- the checks of its result
select
    k.run, cast(k.loop as text), 37,
    'Check ' || k.attempt || ' by a ' || k."check" || ' on turn ' || k.turn || ': ' || coalesce(k.verdict, 'not finished')
    || coalesce(': ' || substr(k.reason, 1, 300), '.'),
    'acceptances', json_object('run', k.run, 'check_id', k.check_id)
from acceptances as k
union all
select
    r.alias, cast(l.sequence as text), case json_extract(ev.detail, '$.to') when 102 then 28 else 38 end,
    case json_extract(ev.detail, '$.to')
        when 102 then 'It started' else 'Its status became ' || s.name
    end || ' at ' || strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch') || ' UTC.',
    'event_list', json_object('id', ev.id)
from loops as l
join runs as r on r.id = l.run_id
join events as ev
    on ev.run_id = l.run_id and ev.kind = 'loop.status' and json_extract(ev.detail, '$.loop') = l.sequence
join statuses as s on s.code = json_extract(ev.detail, '$.to');

-- Where each run comes from.
create view _told_runs as
select
    r.alias as run, '' as subject, 10 as place,
    case
        when o.id is null then 'A person or an app started the run.'
        when r.forked_at is not null then 'The run was forked from ' || o.alias || ', before its turn ' || r.forked_at || '.'
        else 'The run ' || o.alias || ' started it for a part of its work (' || r.role || ').'
    end as says,
    'run_overview' as source,
    json_object('run', r.alias) as key
from runs as r
left join runs as o on o.id = r.parent_run_id
union all
select
    r.alias, '', 11, 'It works for prompt ' || l.sequence || ' of ' || o.alias || '.',
    'loop_list', json_object('run', o.alias, 'loop', l.sequence)
from runs as r
join children as c on c.run_id = r.id
join loops as l on l.id = c.parent_loop_id
join runs as o on o.id = l.run_id;

create view prompt_reasons as
-- Where each run comes from (topic 'run', subject ''), and why each of its prompts (topic 'prompt') waits, goes on or ended:
-- select says, source, key from prompt_reasons where run = 'demo' and topic = 'prompt' and subject = '1' order by place.
select run, 'run' as topic, subject, place, says, source, key
from _told_runs
union all
select run, 'prompt', subject, place, says, source, key
from _told_prompts
union all
select run, 'prompt', subject, place, says, source, key
from _told_ends
union all
select run, topic, subject, place, says, source, key
from _told_helpers;
