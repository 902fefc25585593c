-- Undo: takes back edits of a run, the newest first.
-- An edit is a command that wrote or removed files; changes by shell commands are not edits. The command 'undo'
-- proposes, for each file, the text before the edit; 'redo' takes back an undo in the same way. Both are refused if a
-- file has changed since the edit. undone_edits lists the edits that were taken back.
-- needs: nothing
-- spec: @undo

-- tables

-- What was taken back, and by which command: an edit by an undo, an undo by a redo.
create table if not exists undone_edits (
    -- the run that holds the name after it
    run_id integer not null constraint undone_edits_run references runs (id) on delete cascade,
    command_id integer not null constraint undone_edits_command references commands (id) on delete cascade,
    undone_id integer not null constraint undone_edits_undone references commands (id) on delete cascade,
    primary key (run_id, command_id, undone_id)
) strict, without rowid;

create index if not exists idx_undone_edits_undone_id on undone_edits (undone_id);

create index if not exists idx_undone_edits_command_id on undone_edits (command_id);

-- views

-- What was undone is told before a packet is read.
create view _preparations__undo as
select id as turn_id, 1 as place, 'packet' as what
from turns
where exists (select 1 from undone_edits);

-- The files that each edit changed, by the hashes of their bytes: null where there was no file.
create view _edit_files as
select
    p.command_id,
    p.run_id,
    p.id as proposal_id,
    p.kind,
    p.target as path,
    e.id as entry_id,
    json_extract(p.detail, '$.before') as hash_before,
    json_extract(x.detail, '$.sha256') as hash_after,
    p.content_id,
    json_extract(p.detail, '$.leads_to') as leads_to,
    -- the mode that it gave the file; null: it left the mode as it was
    json_extract(p.detail, '$.executable') as executable,
    p.path as log_path
from proposals as p
cross join effects as f on f.command_id = p.command_id and f.proposal_id = p.id
cross join effect_results as x on x.effect_id = f.id and x.state = 'resolved'
cross join runs as r on r.id = p.run_id
cross join entries as e on e.scope = 'project:' || r.project_id and e.path = p.target
where p.kind in ('file_write', 'file_delete') and p.state = 'resolved';

-- Each edit, undo, redo and rewind of a run and of the runs below it. What a child did in the loop that it was given is
-- part of the command that gave the work away: 'edit_id' is that, 'turn_id' its turn. What it did otherwise, in a later
-- prompt or in the line that a rewind made, is an edit of its own for the runs above, in none of their turns. 'child_id' is
-- the run that wrote, null: the run itself.
create view _tree_edits as
with recursive above (command_id, edit_id, turn_id, loop_id, run_id, made_by) as (
    select c.id, c.id, c.turn_id, c.loop_id, c.run_id, c.run_id
    from (
        select command_id
        from proposals
        where kind in ('file_write', 'file_delete')
            and state = 'resolved'
            -- a write of what was there is no edit
            and (
                kind = 'file_delete'
                or action in ('undo', 'redo', 'rewind')
                or detail ->> '$.before' is null
                or detail ->> '$.executable' is not null
                or detail ->> '$.diff' is not ''
            )
        union
        select command_id
        from rewinds
    ) as p
    cross join commands as c on c.id = p.command_id
    union all
    select a.command_id, coalesce(g.id, a.edit_id), g.turn_id, g.loop_id, o.parent_run_id, a.made_by
    from above as a
    cross join children as o on o.run_id = a.run_id
    -- the line that a rewind made of a step is none of the workflow's work
    left join _working_effects as w on w.run_id = o.parent_run_id and o.parent_loop_id is not null
    left join effects as f on f.id = coalesce(o.effect_id, w.effect_id) and a.loop_id = o.loop_id
    left join commands as g on g.id = f.command_id
)
select run_id, command_id, turn_id, edit_id, nullif(made_by, run_id) as child_id
from above;

-- The rows of _run_lines for all runs at once, to go from a run to those that came from it.
create view _lines_of_all_runs as
with recursive line (run_id, source_id, depth, before_turn) as (
    select id, id, 0, null
    from runs
    union all
    select l.run_id, r.parent_run_id, l.depth + 1, min(coalesce(l.before_turn, r.forked_at), r.forked_at)
    from line as l
    join runs as r on r.id = l.source_id
    where r.parent_run_id is not null
)
select run_id, source_id, depth, before_turn
from line;

-- Each edit, undo, redo and rewind in the past of a run: its own, those of the runs below it, and those before the fork of
-- the runs that it came from. 'turn' is the run's own, in which it gave the work away; 'edit_id' and 'child_id' as above.
create view _past_edits as
select
    l.run_id,
    c.id as command_id,
    c.action,
    c.path,
    t.sequence as turn,
    p.edit_id,
    p.child_id
from _tree_edits as p
cross join commands as c on c.id = p.command_id
join _lines_of_all_runs as l on l.source_id = p.run_id
left join turns as t on t.id = p.turn_id
where l.depth = 0
    or (p.child_id is null and t.sequence < l.before_turn)
    -- from outside a turn, and of a run below, which may go on later: before that turn was sent, or before the fork was made
    or (
        (t.id is null or t.sequence < l.before_turn)
        and c.created_at <= (
            select min(r.created_at, coalesce(v.at, r.created_at))
            from _run_lines as o
            join runs as r on r.id = o.source_id
            left join turns as s on s.run_id = l.source_id and s.sequence = l.before_turn
            left join events as v on v.id = s.seen_at
            where o.run_id = l.run_id and o.depth = l.depth - 1
        )
    );

-- Edits that stand: no undo that stands took them back.
create view _standing_edits as
select *
from _past_edits as e
where e.action not in ('undo', 'redo')
    and not exists (
        select 1
        from undone_edits as u
        join commands as c on c.id = u.command_id and c.state = 'resolved'
        where u.undone_id = e.command_id
            and not exists (
                select 1
                from undone_edits as d
                join commands as k on k.id = d.command_id and k.state = 'resolved'
                where d.undone_id = u.command_id
            )
    );

create view undoable_edits as
-- The edits of a run that can be taken back, a row a file: select * from undoable_edits where run = 'demo' order by
-- command_id desc. 'engine undo' begins with the highest command_id, and takes back all that has its edit_id: what a run
-- below wrote ('child') is one edit of the run that gave the work away. 'unchanged' is 1 while the file is as the edit left
-- it; 'turn' is null for what was asked for from outside a turn.
select
    r.alias as run,
    s.turn,
    s.action,
    f.path,
    case when f.hash_before is null then 'created' when f.hash_after is null then 'deleted' else 'changed' end as change,
    e.hash is f.hash_after as unchanged,
    s.command_id,
    s.edit_id,
    (select o.alias from runs as o where o.id = s.child_id) as child
from _standing_edits as s
join runs as r on r.id = s.run_id
join _edit_files as f on f.command_id = s.command_id
join entries as e on e.id = f.entry_id;

-- Files that a person has said are never written; a pattern that cannot be matched protects too.
create view _readonly_files as
select e.id as entry_id
from file_constraints as k
join entries as e on e.scope = 'project:' || k.project_id and e.kind = 'file'
where k.rule = 'readonly'
    and (
        pattern_match(k.pattern, e.path)
        or pattern_match(k.pattern, json_extract(e.attributes, '$.leads_to'))
        or pattern_error(k.pattern) is not null
    );

-- What an undo takes back: the newest edit that stands or, where a turn is named, all of that turn; a redo the newest undo
-- that stands.
create view _undo_choices as
select run_id, 'undo' as way, null as turn, command_id
from (
    select *, first_value(edit_id) over (partition by run_id order by command_id desc) as newest_id
    from _standing_edits
)
where edit_id = newest_id
union all
select run_id, 'undo', turn, command_id
from _standing_edits
where turn is not null
union all
select u.run_id, 'redo', null, max(u.command_id)
from undone_edits as u
join commands as c on c.id = u.command_id and c.action = 'undo' and c.state = 'resolved'
where not exists (
        select 1
        from undone_edits as d
        join commands as k on k.id = d.command_id and k.state = 'resolved'
        where d.undone_id = u.command_id
    )
group by u.run_id;

-- What an undo or a redo does to each file: from how the last of its edits left the file to how it was before the first.
-- A file that is so already is left out, as long as nobody else changed it.
create view _undo_files as
select
    s.run_id,
    s.way,
    s.turn,
    a.path,
    case when a.hash_before is null then 'removed' when e.hash is null then 'brought back' else 'changed' end as change,
    e.hash as hash_now,
    e.content_id as content_now,
    json_extract(e.attributes, '$.leads_to') as leads_to,
    a.hash_before as hash_then,
    v.content_id as content_then,
    z.content_id as content_left,
    case
        when a.hash_before is null then null
        when e.hash is null then nullif(n.is_executable, 0)
        when a.executable is not null and n.is_executable = a.executable then 1 - a.executable
    end as executable,
    case
        when s.gaps > 0 then 'was changed by somebody else between these edits'
        when e.hash is not z.hash_after and json_extract(e.attributes, '$.kind') = 'missing' then 'no longer exists'
        when e.hash is not z.hash_after then 'has changed since the edit'
        when json_extract(e.attributes, '$.leads_to') is not z.leads_to
            then 'is now a symbolic link, or leads to another file'
        when a.hash_before is not null and v.content_id is null then 'cannot be restored, because its earlier text '
            || 'is not stored'
        when z.kind = 'file_delete' and json_extract(v.attributes, '$.leads_to') is not null
            then 'was a symbolic link, and links cannot be restored'
        when exists (select 1 from _readonly_files as k where k.entry_id = e.id) then 'is readonly'
    end as obstacle
from (
    select run_id, way, turn, entry_id, min(proposal_id) as first_id, max(proposal_id) as last_id, sum(gap) as gaps
    from (
        select
            c.run_id,
            c.way,
            c.turn,
            f.entry_id,
            f.proposal_id,
            f.hash_before is not lag(f.hash_after, 1, f.hash_before) over (
                partition by c.run_id, c.way, c.turn, f.entry_id order by f.proposal_id
            ) as gap
        from _undo_choices as c
        join _edit_files as f on f.command_id = c.command_id
    )
    group by run_id, way, turn, entry_id
) as s
join _edit_files as a on a.proposal_id = s.first_id
join _edit_files as z on z.proposal_id = s.last_id
join entries as e on e.id = s.entry_id
left join entry_versions as v
    on v.entry_id = s.entry_id
    and v.began = (
        select max(o.began)
        from entry_versions as o
        where o.entry_id = s.entry_id and o.hash = a.hash_before and o.content_id is not null
    )
left join _modes_now as n on n.entry_id = s.entry_id
where e.hash is not a.hash_before
    or s.gaps > 0
    or a.executable is not null and a.hash_before is not null and n.is_executable = a.executable;

-- The runs below that wrote the files that an undo or a redo changes; a file that only the run itself wrote has no row.
create view _undo_children as
select c.run_id, c.way, c.turn, f.path, group_concat(distinct r.alias) as child
from _undo_choices as c
left join undone_edits as u on u.command_id = c.command_id and c.way = 'redo'
join _edit_files as f on f.command_id = coalesce(u.undone_id, c.command_id)
join children as d on d.run_id = f.run_id and d.run_id <> c.run_id
join runs as r on r.id = d.run_id
group by c.run_id, c.way, c.turn, f.path;

-- The names that an undo or a redo of a rewind swaps: 'keeps' has the name of the run after it, and the command is its own.
-- A run above, whose name stays, is not here.
create view _undo_swaps as
select c.run_id, c.way, c.turn, w.from_run_id as keeps
from _undo_choices as c
join rewinds as w on w.command_id = c.command_id
where c.way = 'undo'
    and not exists (
        select 1 from children as d where d.run_id = w.run_id and instr(d.lineage, '/' || c.run_id || '/')
    )
union all
select c.run_id, c.way, c.turn, w.run_id
from _undo_choices as c
join undone_edits as u on u.command_id = c.command_id
join rewinds as w on w.command_id = u.undone_id
where c.way = 'redo'
    and not exists (
        select 1 from children as d where d.run_id = w.run_id and instr(d.lineage, '/' || c.run_id || '/')
    );

-- The plan of an undo or a redo as one text, by which it is known again.
create view _undo_plans as
select
    c.run_id,
    c.way,
    c.turn,
    json_group_array(c.command_id) || coalesce(
        (
            select group_concat(json_array(f.path, f.hash_now, f.hash_then, f.executable), char(10))
            from (
                select *
                from _undo_files as o
                where o.run_id = c.run_id and o.way = c.way and o.turn is c.turn
                order by o.path
            ) as f
        ), ''
    ) as plan
from (select * from _undo_choices order by command_id) as c
group by c.run_id, c.way, c.turn;
