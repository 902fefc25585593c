-- Seen files: a model changes no text that it does not know.
-- A command that replaces or removes the whole text of a file is a conflict where the run has not seen that text: it was
-- whole in no packet that was sent, or the file has changed since. An edit whose search matches proves that it was seen.
-- What the run itself wrote it knows, unless it was made of a text that the run has not seen.
-- spec: @seen_files

-- views

-- Each sent packet of a run in which a file stood whole, with the present text or an older one; turns of the runs that it
-- was forked from count.
create view _shown_files as
select
    t.run_id,
    v.entry_id,
    t.seen_at
from past_turns as t
cross join run_views as v on v.run_id = t.source_id and v.visibility = 'visible' and v.since <= t.seen_at
union all
select
    t.run_id,
    h.entry_id,
    t.seen_at
from past_turns as t
cross join run_view_versions as h
    on h.run_id = t.source_id and h.visibility = 'visible' and h.began <= t.seen_at and h.ended > t.seen_at;

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
        where s.run_id = c.run_id and s.entry_id = e.id and s.seen_at >= coalesce(e.since, 0)
    );
