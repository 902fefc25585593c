-- Invariants: what must always hold. Each view returns the rows that break its rule, so it must be empty.
-- spec: @invariants @fences

-- views

create view _invariant_one_view_per_path as
-- A run sees each path once.
select v.run_id, e.path, count(*) as views
from run_views as v
join entries as e on e.id = v.entry_id
group by v.run_id, e.path
having count(*) > 1;

create view _invariant_pins as
-- A view of an entry of run scope is pinned to a content, unless it is streaming; a view of any other entry follows the
-- head.
select v.run_id, e.path
from run_views as v
join entries as e on e.id = v.entry_id
where (e.scope like 'run:%') <> (v.content_id is not null)
    and not (e.scope like 'run:%' and v.content_id is null and v.state = 'streaming');

create view _invariant_history as
-- Each version of a view begins before it ends, and ends no later than the present view begins.
select h.run_id, h.entry_id
from run_view_versions as h
join run_views as v on v.run_id = h.run_id and v.entry_id = h.entry_id
where h.ended > v.since or h.began >= h.ended;

create view _invariant_loop_of_a_run as
-- A run that is running (102) or waits (202) has an active loop; any other has none.
select r.alias, r.status
from runs as r
where (r.status in (102, 202)) <> exists (select 1 from loops as l where l.run_id = r.id and l.status = 102);

create view _invariant_judged_turns as
-- All commands of a judged turn are settled.
select t.id
from turns as t
join commands as c on c.turn_id = t.id
where t.phase = 'judged' and c.state in ('queued', 'performing', 'proposed', 'accepting', 'accepted');

create view _invariant_open_turns as
-- An open turn belongs to the active loop.
select t.id
from turns as t
join loops as l on l.id = t.loop_id
where t.phase <> 'judged' and l.status <> 102;

create view _invariant_settled_commands as
-- A settled command has no proposal that is undecided or whose effect has not ended.
select c.id
from commands as c
join proposals as p on p.command_id = c.id
where p.state in ('proposed', 'accepting', 'accepted') and c.state in ('resolved', 'failed', 'cancelled');

create view _invariant_settled_effects as
-- The proposal of an effect that has not ended is accepted.
select f.id
from effects as f
join proposals as p on p.id = f.proposal_id
where f.state in ('pending', 'started') and p.state <> 'accepted';

create view _invariant_content_figures as
-- The lengths stored with a content are those of its body and of its summary.
select id
from _content_texts
where chars <> length(body) or summary_chars <> length(summary);

-- Checked with the invariants, and internal because it calls functions of the engine: the suffix stored with a content is
-- that of its body and summary, and each entry has the name that its path yields.
create view _invariant_fences as
select 'content ' || id as what
from contents
where fence is not fence_suffix(body, summary)
union all
select 'entry ' || id
from entries
where shown_path is not fence_path(path);

create view _invariant_places as
-- A view has a place in the packet (context_order) while it is not archived, and only then.
select run_id, entry_id
from run_views
where (context_order is null) <> (visibility = 'archived');

create view _invariant_metadata as
-- A view of an entry of project or global scope has no metadata of its own.
select v.run_id, v.entry_id
from run_views as v
join entries as e on e.id = v.entry_id
where e.scope not like 'run:%' and v.metadata_id is not null;

-- Checked with the invariants, and internal because it calls entry_head: the head stored for an entry of run scope is
-- the one that its view yields.
create view _invariant_heads as
select v.run_id, v.entry_id
from run_views as v
join entries as e on e.id = v.entry_id and e.scope like 'run:%'
join _entry_heads as h on h.run_id = v.run_id and h.entry_id = v.entry_id
left join _entry_metadata as b on b.id = v.metadata_id
where coalesce(b.head, '{"turn":' || v.turn) <> h.head;

create view _invariant_scratch as
-- _matched_entries has no row of a settled command.
select command_id
from _matched_entries as t
join commands as c on c.id = t.command_id
where c.state in ('resolved', 'failed', 'cancelled');
