-- Why the past: entries, settings, options and models as a turn had them, although they have changed since.
-- spec: @why

-- views

-- Each entry of a run as it was when the packet of a turn was accepted; 'visibility' is null where the run did not have it
-- yet, or no longer. 'began' is the clock since which it was so, 'is_now' tells that it still is.
create view _past_entries as
select
    p.run,
    p.turn,
    p.source,
    p.source_id,
    e.id as entry_id,
    e.path,
    e.kind,
    coalesce(v.visibility, h.visibility) as visibility,
    coalesce(v.state, h.state) as state,
    coalesce(v.since, h.began) as began,
    v.run_id is not null as is_now
from past_turns as p
join run_scopes as l on l.run_id = p.source_id
join entries as e on e.scope = l.scope
left join run_views as v on v.run_id = p.source_id and v.entry_id = e.id and v.since <= p.seen_at
left join run_view_versions as h
    on h.run_id = p.source_id and h.entry_id = e.id and h.began <= p.seen_at and h.ended > p.seen_at
where p.seen_at is not null;

create view past_entry_reasons as
-- Why each entry was in the packet of a turn, summarized or archived then, since when, and what did that: select says,
-- source, key from past_entry_reasons where run = 'demo' and turn = 3 and subject = 'known://port' order by place.
select
    a.run, a.turn, 'entry' as topic, a.path as subject, 10 as place,
    case
        when a.visibility is null then 'The run did not have it on turn ' || a.turn || '.'
        when s.category = 'audit' then 'It is kept for people; no packet shows entries of ' || s.name || '.'
        when a.state = 'proposed' then 'On turn ' || a.turn || ' it waited for a decision, so the packet did not show it.'
        else 'On turn ' || a.turn || ' it was ' || a.visibility || ': ' || m.meaning || '.'
    end as says,
    case
        when a.visibility is null then 'turn_timeline' when a.is_now then 'known_entries' else 'run_view_versions'
    end as source,
    case
        when a.visibility is null then json_object('run', a.source, 'turn', a.turn)
        when a.is_now then json_object('run', a.source, 'path', a.path)
        else json_object('run_id', a.source_id, 'entry_id', a.entry_id, 'began', a.began)
    end as key
from _past_entries as a
join schemes as s on s.name = a.kind
left join visibilities as m on m.name = a.visibility
union all
select
    a.run, a.turn, 'entry', a.path, 20,
    'It was so since ' || coalesce('turn ' || t.sequence, 'a change outside of a turn') || ', at '
    || strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch') || ' UTC.',
    'event_list', json_object('id', ev.id)
from _past_entries as a
join events as ev on ev.id = a.began
left join turns as t on t.id = ev.turn_id
union all
select
    a.run, a.turn, 'entry', a.path, 25,
    'It has changed since, ' || coalesce('on turn ' || t.sequence, 'outside of a turn') || ', at '
    || strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch') || ' UTC.',
    'event_list', json_object('id', ev.id)
from _past_entries as a
join run_view_versions as h on h.run_id = a.source_id and h.entry_id = a.entry_id and h.began = a.began
join events as ev on ev.id = h.ended
left join turns as t on t.id = ev.turn_id
where not a.is_now
union all
-- what made room
select
    a.run, a.turn, 'entry', a.path, 30,
    'It was ' || case when d.step in (3, 5) then 'archived' else 'summarized' end || ' on turn ' || t.sequence
    || ' to make room, ' || case d.step when 1 then 'as an old result' else 'because the packet was too long' end
    || '; that freed about ' || d.tokens || ' tokens.',
    'demoted_entries', json_object('run', a.source, 'turn', t.sequence, 'path', d.path)
from _past_entries as a
join demotions as d on d.entry_id = a.entry_id
join turns as t on t.id = d.turn_id and t.run_id = a.source_id and t.sequence <= a.turn
where a.visibility <> 'visible'
union all
-- which command
select
    a.run, a.turn, 'entry', a.path, 40, 'By the command ' || w.words || '.',
    'command_results', json_object('run', a.source, 'command_id', c.id)
from _past_entries as a
join events as ev on ev.id = a.began
join commands as c on c.turn_id = ev.turn_id and c.run_id = a.source_id and c.state = 'resolved'
join _command_words as w on w.command_id = c.id
where c.path = a.path
    or c.destination = a.path
    or c.log_path = a.path
    or (c.is_pattern and a.path glob c.path)
union all
select
    a.run, a.turn, 'entry', a.path, 51, 'What it names is never archived to make room: ' || k.words, k.source, k.key
from _past_entries as a
join turns as t on t.run_id = a.source_id and t.sequence = a.turn
join _turn_settings as s on s.turn_id = t.id and s.name = 'kept_in_context' and a.path glob s.value
join _setting_words as k on k.turn_id = t.id and k.name = s.name;

create view past_choice_reasons as
-- What a setting or option was on a turn (topic 'setting'), and which model its prompt went to (topic 'model', subject ''):
-- select says, source, key from past_choice_reasons where run = 'demo' and turn = 3 and subject = 'max_strikes' order by
-- place.
select
    p.run, p.turn, 'setting' as topic, w.name as subject, 10 as place, 'On turn ' || p.turn || ': ' || w.words as says,
    w.source, w.key
from past_turns as p
join _setting_words as w on w.turn_id = p.turn_id
union all
select
    p.run, p.turn, 'setting', w.name, 12,
    'It became ' || coalesce(ev.detail ->> '$.to', 'empty') || ' at '
    || strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch') || ' UTC, from: ' || (ev.detail ->> '$.origin') || '.',
    'event_list', json_object('id', ev.id)
from past_turns as p
join _turn_settings as w on w.turn_id = p.turn_id and w.is_past
join events as ev on ev.id = w.event_id
union all
select
    p.run, p.turn, 'setting', s.name, 30, 'It means: ' || s.meaning || '.', 'setting_list', json_object('name', s.name)
from past_turns as p
cross join setting_list as s
union all
select
    p.run, p.turn, 'setting', o.name, 11,
    case
        when l.config ->> ('$.' || o.name) is null
            then 'Prompt ' || l.sequence || ' was not given the option ' || o.name || '.'
        else 'Prompt ' || l.sequence || ' was given ' || o.name || ' ' || (l.config ->> ('$.' || o.name)) || '.'
    end,
    'loop_list', json_object('run', p.source, 'loop', l.sequence)
from past_turns as p
join turns as t on t.id = p.turn_id
join loops as l on l.id = t.loop_id
cross join run_options as o
where o.scope = 'loop'
union all
select
    p.run, p.turn, 'setting', o.name, 31, 'The option means: ' || o.meaning || '.',
    'run_options', json_object('name', o.name)
from past_turns as p
cross join run_options as o
union all
-- the model
select
    p.run, p.turn, 'model', '', 10,
    'Prompt ' || l.sequence || ' of turn ' || p.turn || ' went to the model ' || coalesce(l.model, r.model, '(none)') || '.',
    'loop_list', json_object('run', p.source, 'loop', l.sequence)
from past_turns as p
join turns as t on t.id = p.turn_id
join loops as l on l.id = t.loop_id
join runs as r on r.id = p.source_id
union all
select
    p.run, p.turn, 'model', '', 20,
    'It was asked as ' || k.model || ' at attempt ' || k.attempt || '.',
    'model_calls', json_object('id', k.id)
from past_turns as p
join model_calls as k on k.turn_id = p.turn_id;
