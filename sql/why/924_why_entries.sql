-- Why entries: why an entry is in the packet, summarized, archived or gone, and what wrote it.
-- spec: @why

-- views

-- The entries that each run has, and those that it had: 'since' is the clock of the last change.
create view _asked_entries as
select r.alias as run, v.run_id, e.path, e.id as entry_id, e.kind, v.visibility, v.since
from run_views as v
join runs as r on r.id = v.run_id
join entries as e on e.id = v.entry_id
union all
select r.alias, h.run_id, e.path, e.id, e.kind, null, h.ended
from run_view_versions as h
join runs as r on r.id = h.run_id
join entries as e on e.id = h.entry_id
where not exists (select 1 from run_views as v where v.run_id = h.run_id and v.entry_id = h.entry_id)
    and not exists (
        select 1
        from run_view_versions as n
        where n.run_id = h.run_id and n.entry_id = h.entry_id and n.ended > h.ended
    );

-- The turn in which each entry was shown or hidden last; null: outside of a turn.
create view _entry_turns as
select
    a.run, a.run_id, a.path, a.entry_id, a.visibility, a.since as event_id, ev.kind as event, ev.at, t.id as turn_id,
    t.sequence as turn
from _asked_entries as a
join events as ev on ev.id = a.since
left join turns as t on t.id = ev.turn_id;

-- The commands of that turn that name the entry, by its path, a pattern or as a destination.
create view _entry_commands as
select k.run, k.path, c.id as command_id, w.alias as taken_by
from _entry_turns as k
join commands as c on c.turn_id = k.turn_id and c.state = 'resolved'
join runs as w on w.id = c.run_id
where (
        c.path = k.path
        or c.destination = k.path
        or c.log_path = k.path
        or (c.is_pattern and k.path glob c.path)
    )
    -- a get of an entry that is hidden read a part of it
    and not (
        k.event = 'entry.shown' and k.visibility <> 'visible'
        and c.action = 'get' and c.attributes ->> '$.visibility' is null
    );

create view entry_reasons as
-- Why each entry of a run is in the packet, summarized, archived or gone, since when, and what did that: select says,
-- source, key from entry_reasons where run = 'demo' and subject = 'known://port' order by place.
select
    a.run, 'entry' as topic, a.path as subject, 10 as place,
    case
        when s.category = 'audit' then 'It is kept for people; no packet shows entries of ' || s.name || '.'
        else 'It is ' || a.visibility || ': ' || m.meaning || '.'
    end as says,
    'known_entries' as source,
    json_object('run', a.run, 'path', a.path) as key
from _asked_entries as a
join visibilities as m on m.name = a.visibility
join schemes as s on s.name = a.kind
union all
select
    a.run, 'entry', a.path, 10, 'It no longer exists in this run.',
    'run_view_versions', json_object('run_id', a.run_id, 'entry_id', a.entry_id, 'ended', a.since)
from _asked_entries as a
where a.visibility is null
union all
select
    k.run, 'entry', k.path, 20,
    case k.event
        when 'entry.created' then 'It was created'
        when 'entry.written' then 'It was last written'
        when 'entry.shown' then 'It got this visibility'
        when 'entry.removed' then 'It was removed'
        when 'entry.head' then 'Its text changed'
        else 'It last changed'
    end
    || coalesce(' on turn ' || k.turn, ' outside a turn')
    || ', at ' || strftime('%Y-%m-%d %H:%M:%S', k.at / 1000.0, 'unixepoch') || ' UTC.',
    'event_list', json_object('id', k.event_id)
from _entry_turns as k
union all
-- what made room
select
    k.run, 'entry', k.path, 30,
    'It was ' || case when d.step in (3, 5) then 'archived' else 'summarized' end || ' on turn ' || t.sequence
    || ' to make room, ' || case d.step when 1 then 'as an old result' else 'because the packet was too long' end
    || '; that freed about '
    || d.tokens || ' tokens.',
    'demoted_entries', json_object('run', k.run, 'turn', t.sequence, 'path', d.path)
from _asked_entries as k
join demotions as d on d.entry_id = k.entry_id
join turns as t on t.id = d.turn_id and t.run_id = k.run_id
where k.visibility <> 'visible'
union all
-- which command
select
    k.run, 'entry', k.path, 40, 'The command ' || w.words || ' did this.',
    'command_results', json_object('run', k.taken_by, 'command_id', k.command_id)
from _entry_commands as k
join _command_words as w on w.command_id = k.command_id
union all
select
    r.alias, 'entry', n.path, 41, 'It is the output of the command line ' || w.words || '.',
    'command_results', json_object('run', r.alias, 'command_id', f.command_id)
from _channel_entries as n
join runs as r on r.id = n.run_id
join effects as f on f.id = n.effect_id
join _command_words as w on w.command_id = f.command_id
union all
-- what it tells of
select
    r.alias, 'entry', 'log://turn_' || t.sequence || '/error/' || x.slug, 42,
    'It reports to the model an error of turn ' || t.sequence
    || case when x.soft then ', which does not count as a strike.' else ', which counts as a strike.' end,
    'turn_errors', json_object('id', x.id)
from turn_errors as x
join turns as t on t.id = x.turn_id
join runs as r on r.id = t.run_id
union all
select
    r.alias, 'entry', 'prompt://' || t.sequence, 43, 'It is the text of prompt ' || l.sequence || '.',
    'loop_list', json_object('run', r.alias, 'loop', l.sequence)
from loops as l
join runs as r on r.id = l.run_id
join turns as t on t.id = (select min(o.id) from turns as o where o.loop_id = l.id)
union all
-- how new ones begin
select
    k.run, 'entry', k.path, 50,
    'New entries of the scheme ' || s.name || ' are ' || s.default_visibility || ' at first.',
    'schemes', json_object('name', s.name)
from _entry_turns as k
join _asked_entries as a on a.run_id = k.run_id and a.entry_id = k.entry_id
join schemes as s on s.name = a.kind
where a.visibility = s.default_visibility and k.event = 'entry.created'
union all
select
    a.run, 'entry', a.path, 51,
    'Entries that match ' || k.value || ' are never archived to make room (setting kept_in_context, from: ' || k.origin
        || ').',
    'setting_list', json_object('name', k.name)
from _asked_entries as a
join setting_list as k on k.name = 'kept_in_context' and a.path glob k.value
union all
select
    a.run, 'entry', a.path, 52,
    'The setting max_history keeps the records of ' || h.value || ' earlier prompts in the packet.',
    'setting_list', json_object('name', h.name)
from _asked_entries as a
join schemes as s on s.name = a.kind and s.category in ('logging', 'prompt')
join setting_list as h on h.name = 'max_history' and h.value is not null
where a.visibility = 'archived';
