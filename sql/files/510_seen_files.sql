-- Seen files: a model cannot replace a text that it has not read.
-- A command that replaces or removes the whole text of a file is a conflict if the run has not seen that text: no
-- packet had the whole text, or the file has changed since. An edit whose search matches proves that the model knows
-- the text. A run knows the texts that it wrote itself, unless it made them from a text that it has not seen.
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
-- with the text that they have now. A text that the run wrote itself is present too, unless it was made of one that the
-- run has not seen. Packets are read from the first one on in which a file may have stood.
create view _shown_files as
select l.run_id, e.id as entry_id, k.value as present
from _run_lines as l
cross join entries as e
cross join json_each('[0, 1]') as k
where exists (
        select 1
        from (
            select since as began, 9e18 as ended
            from run_views
            where run_id = l.source_id and entry_id = e.id and visibility = 'visible'
            union all
            select began, ended
            from run_view_versions
            where run_id = l.source_id and entry_id = e.id and visibility = 'visible'
        ) as v
        cross join _sent_packets as p
            on p.seen_at >= max(v.began, k.value * coalesce(e.since, 0))
            and p.seen_at < v.ended
            and p.run_id = l.source_id
            and p.turn < coalesce(l.before_turn, 9e18)
    )
    or (
        k.value
        and exists (
            select 1
            from proposals as p
            where p.content_id = e.content_id
                and p.target = e.path
                and p.run_id = l.source_id
                and p.state = 'resolved'
                and coalesce(json_extract(p.detail, '$.known'), 1)
        )
    );

-- The texts that a command of a model may replace or remove only where its run has seen them. seen: 1 where it has, 0
-- where it has seen an earlier text of the file.
create view _guarded_texts as
select
    c.id as command_id,
    e.path,
    (select max(s.present) from _shown_files as s where s.run_id = c.run_id and s.entry_id = e.id) as seen
from commands as c
cross join runs as r on r.id = c.run_id
cross join entries as e on e.scope = 'project:' || r.project_id and e.kind = 'file' and e.content_id is not null
where c.writer = 'model'
    and not exists (select 1 from _loop_flags as f where f.loop_id = c.loop_id and f.flag = 'overwrite_unseen')
    -- an empty file has nothing to lose
    and (select o.chars from contents as o where o.id = e.content_id) > 0;
