-- History: what each run saw at each of its turns.
-- A turn remembers the clock at which its packet was assembled; what was live then is what the model saw.
-- spec: @context_at

-- views

-- Every state that a run's view of an entry was in, with the clock when it began and ended.
create view run_history as
select
    run_id, entry_id, since as began, 9223372036854775807 as ended, content_id, attributes, visibility, state, outcome,
    placed, turn
from run_views
union all
select run_id, entry_id, began, ended, content_id, attributes, visibility, state, outcome, placed, turn
from run_view_versions;

-- The heads of entries of project and global scope, over time.
create view head_history as
select id as entry_id, coalesce(since, 0) as began, 9223372036854775807 as ended, content_id, attributes
from entries
union all
select entry_id, began, ended, content_id, attributes
from entry_versions;

create view context_at as
-- What the model saw at a turn: select path, visibility, body from context_at where run = 'demo' and turn = 3.
select
    r.alias as run,
    t.sequence as turn,
    e.path,
    h.visibility,
    h.state,
    c.body,
    h.outcome,
    h.turn as written
from runs as r
join turns as t on t.run_id = r.id and t.seen_at is not null
join run_history as h on h.run_id = r.id and h.began <= t.seen_at and t.seen_at < h.ended
join entries as e on e.id = h.entry_id
join schemes as s on s.name = e.kind and s.model_visible
left join head_history as w
    on h.content_id is null and w.entry_id = e.id and w.began <= t.seen_at and t.seen_at < w.ended
left join contents as c on c.id = coalesce(h.content_id, w.content_id)
where h.visibility <> 'archived' and h.state <> 'proposed';
