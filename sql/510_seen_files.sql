-- Seen files: a model changes no text that it does not know.
-- A command that replaces or removes the whole text of a file is a conflict where the run has not seen that text: it was
-- whole in no packet that was sent, or the file has changed since. An edit whose search matches proves that it was seen.
-- What the run itself wrote it knows, unless it was made of a text that the run has not seen.
-- spec: @seen_files

-- views

-- The clock of each packet that was sent. To be read from some clock on: without the plus signs SQLite would first make an
-- index of all events.
create view _sent_packets as
select +ev.run_id as run_id, ev.id as seen_at, t.sequence as turn
from events as ev
cross join turns as t on t.id = ev.turn_id and t.seen_at = ev.id
where +ev.kind = 'turn.asked';

-- The files that stood whole in a packet that was sent to a run, or before the fork to one that it was forked from; present:
-- with the text that they have now. Packets are read from the first one on in which a file may have stood.
create view _shown_files as
select
    l.run_id,
    v.entry_id,
    k.value as present
from _run_lines as l
cross join run_views as v on v.run_id = l.source_id and v.visibility = 'visible'
cross join entries as e on e.id = v.entry_id
cross join json_each('[0, 1]') as k
cross join _sent_packets as p
    on p.seen_at >= max(v.since, k.value * coalesce(e.since, 0))
    and p.run_id = l.source_id
    and p.turn < coalesce(l.before_turn, 9e18)
union all
select
    l.run_id,
    h.entry_id,
    k.value
from _run_lines as l
cross join run_view_versions as h on h.run_id = l.source_id and h.visibility = 'visible'
cross join entries as e on e.id = h.entry_id
cross join json_each('[0, 1]') as k
cross join _sent_packets as p
    on p.seen_at >= max(h.began, k.value * coalesce(e.since, 0))
    and p.seen_at < h.ended
    and p.run_id = l.source_id
    and p.turn < coalesce(l.before_turn, 9e18);

-- Why a command of a model may not replace or remove the whole text of a file: its run has not seen it.
create view _unseen_texts as
select
    c.id as command_id,
    e.path,
    'conflict: ' || e.path || case
        when exists (select 1 from _shown_files as s where s.run_id = c.run_id and s.entry_id = e.id)
            then ' has changed on disk since you read it; read it again first'
        else ': you have not seen its text; read it first'
    end || ', or change a part of it with a search and replace. Nothing was changed.' as fault
from commands as c
cross join runs as r on r.id = c.run_id
cross join entries as e on e.scope = 'project:' || r.project_id and e.kind = 'file' and e.content_id is not null
where c.writer = 'model'
    and not exists (select 1 from loop_flags as f where f.loop_id = c.loop_id and f.flag = 'overwrite_unseen')
    -- an empty file has nothing to lose
    and (select o.chars from contents as o where o.id = e.content_id) > 0
    and not exists (
        select 1
        from proposals as p
        where p.content_id = e.content_id
            and p.target = e.path
            and p.run_id in (select l.source_id from _run_lines as l where l.run_id = c.run_id)
            and p.state = 'resolved'
            and coalesce(json_extract(p.detail, '$.known'), 1)
    )
    and not exists (
        select 1
        from _shown_files as s
        where s.run_id = c.run_id and s.entry_id = e.id and s.present
    );
