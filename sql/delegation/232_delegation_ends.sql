-- Start and end of a child: the notes that it gets from its parent, and the results that the parent gets from it.
-- A child gets the known:// entries of its parent, the latest of them in view. When it ends, the parent gets the
-- answer in the log entry of the command, entries with the whole answer and the log, the accepted changes as a
-- patch:// entry, and the new known:// entries.
-- spec: @delegation_ends

-- views

-- The facts that each run keeps, with their place from the latest on, and the characters up to each.
create view _kept_facts as
select
    v.run_id,
    v.entry_id,
    row_number() over w as place,
    sum(c.chars) over w as chars
from run_views as v
cross join entries as e on e.id = v.entry_id and e.kind = 'known'
cross join contents as c on c.id = v.content_id
where v.visibility <> 'archived'
window w as (partition by v.run_id order by v.context_order desc, v.entry_id rows unbounded preceding);

-- Let a new child know what its parent knows: insert into _share_known (run_id).
create view _share_known as
select run_id
from children
where false;

-- The facts that each child has written, and the path that each takes in its parent: another one where the parent has had
-- another text there since the child began.
create view _learned_facts as
select
    c.run_id,
    c.parent_run_id,
    v.content_id,
    e.path,
    case
        when p.entry_id is null or p.content_id = v.content_id or p.since <= s.began then e.path
        else 'known://' || r.alias || '/' || substr(e.path, length('known://') + 1)
    end as parent_path,
    p.content_id as parent_content_id
from children as c
join runs as r on r.id = c.run_id
cross join run_views as v on v.run_id = c.run_id and v.loop_id = c.loop_id
cross join entries as e on e.id = v.entry_id and e.kind = 'known'
left join (
    select run_id, min(id) as began
    from events
    where kind = 'run.created'
    group by run_id
) as s on s.run_id = c.run_id
left join (
    select q.run_id, q.path, w.entry_id, w.content_id, w.since
    from _run_paths as q
    join run_views as w on w.run_id = q.run_id and w.entry_id = q.entry_id
) as p on p.run_id = c.parent_run_id and p.path = e.path;

-- The diffs of the accepted changes of each child and of all runs below it (507), in their order.
create view _child_patches as
select c.run_id, group_concat(p.diff, '') as body
from children as c
join (
    select v.run_id, d.lineage, b.body as diff
    from children as d
    cross join run_views as v on v.run_id = d.run_id
    cross join entries as e on e.id = v.entry_id and e.kind = 'patch' and e.path glob 'patch://turn_*'
    cross join contents as b on b.id = v.content_id
    order by v.since
) as p on p.run_id = c.run_id or instr(p.lineage, '/' || c.run_id || '/')
group by c.run_id;

-- How each child has ended, for the effect that waits for it. 'cost' is in US dollars, that of the runs below it included;
-- null: unknown.
create view _delegation_ends as
select
    c.effect_id,
    c.run_id,
    c.parent_run_id,
    r.alias,
    l.status,
    coalesce(l.answer, l.reason, '') as answer,
    l.reason,
    -- what was checked, and the verdict; null: it had no criteria
    case (select a.accepted from _loop_acceptances as a where a.loop_id = l.id)
        when 1 then 'accepted'
        when 0 then 'not accepted'
        else case when criteria_told(l.config) <> '' then 'not verified' end
    end as verdict,
    m.action,
    r.next_turn - 1 as turns,
    (select k.cost from _tree_costs as k where k.run_id = c.run_id) as cost,
    -- where the parent has more of it: the path of its log entry, as subtask://turn_N/…
    m.action || '://' || replace(substr(m.log_path, length('log://') + 1), '/' || m.action || '/', '/') as path,
    t.sequence as turn,
    m.loop_id
from children as c
join runs as r on r.id = c.run_id
join loops as l on l.id = c.loop_id and l.status not in (100, 102)
join effects as f on f.id = c.effect_id and f.kind = 'delegate' and f.state = 'started'
join commands as m on m.id = f.command_id
join turns as t on t.id = f.turn_id;

-- What the model of the parent is told of that: how it ended, its answer, where the rest is, and how to go on where it was
-- stopped.
create view _delegation_reports as
select
    effect_id,
    alias || ' ended at ' || status
    || case when coalesce(reason, '') glob 'not *' then '' else coalesce(', ' || verdict, '') end
    || case when reason is not null and reason <> answer then ' (' || reason || ')' else '' end
    || ' after ' || turns || case turns when 1 then ' turn' else ' turns' end
    || case when cost > 0 then printf(', $%.4f', cost) else '' end
    || '. Its log: ' || path || '/log'
    || coalesce(
        '. Its changes: patch://' || alias || ' ('
        || (
            select group_concat(distinct p.target)
            from proposals as p
            where p.run_id = d.run_id and p.state = 'resolved' and p.kind in ('file_write', 'file_delete')
        ) || ')', ''
    )
    || coalesce(
        '. It learned: ' || (
            select group_concat(k.parent_path, ', ')
            from _learned_facts as k
            where k.run_id = d.run_id
        ), ''
    )
    || case status
        when 499
            then '. It was stopped before its end: check what it did, then do the rest yourself, or delegate it to another <'
                || action || '>.'
        when 403 then '. A person rejected what it wanted to do; do not try it again.'
        else ''
    end
    || char(10)
    || case
        when length(answer) <= 6000 then answer
        else substr(answer, 1, 4000) || char(10) || '[… ' || counted(length(answer) - 6000, 'character')
            || ' left out; all of it: ' || path || ' …]' || char(10) || substr(answer, -2000)
    end as report
from _delegation_ends as d;

create view _finish_delegation as
-- Tell what came of the child of an effect: insert into _finish_delegation (effect_id, lease). Nothing happens while it has
-- not ended.
select id as effect_id, null as lease
from effects
where false;

-- triggers

-- The latest twelve that are in view, up to 8,000 characters, stay in view; the others can be found.
create trigger _share_known__share
instead of insert on _share_known
begin
    insert into run_scopes (run_id, scope, kind)
    select c.run_id, s.scope, 'inherited'
    from children as c
    join run_scopes as s on s.run_id = c.parent_run_id and s.kind in ('run', 'inherited')
    where c.run_id = new.run_id;
    insert into run_views (
        run_id, entry_id, content_id, metadata_id, visibility, state, outcome, writer, loop_id, turn, last_used_turn,
        write_count, since, context_order
    )
    select
        c.run_id, v.entry_id, v.content_id, v.metadata_id,
        case when k.place <= 12 and k.chars <= 8000 then v.visibility else 'archived' end,
        v.state, v.outcome, v.writer, null, 0, 0, v.write_count, (select max(id) from events),
        case when k.place <= 12 and k.chars <= 8000 then v.context_order end
    from children as c
    cross join run_views as v on v.run_id = c.parent_run_id
    cross join entries as e on e.id = v.entry_id and e.kind = 'known'
    left join _kept_facts as k on k.run_id = v.run_id and k.entry_id = v.entry_id
    where c.run_id = new.run_id
    order by v.entry_id;
end;

create trigger _finish_delegation__guard
instead of insert on _finish_delegation
when not exists (select 1 from effects where id = new.effect_id)
begin
    select fail(404, 'effect ' || quote(new.effect_id) || ': not found; see the view _pending_effects');
end;

create trigger _finish_delegation__finish
instead of insert on _finish_delegation
when exists (select 1 from _delegation_ends where effect_id = new.effect_id)
begin
    insert into _write_entry (run_id, path, body, attributes, visibility, state, writer, turn, loop_id)
    select
        d.parent_run_id, d.path, d.answer,
        json_patch(
            json_object('run', d.alias, 'ended', d.status, 'turns', d.turns, 'cost', d.cost),
            json_object('verdict', d.verdict)
        ),
        'archived', 'resolved', 'system', d.turn, d.loop_id
    from _delegation_ends as d
    where d.effect_id = new.effect_id;
    insert into _write_entry (run_id, path, body, visibility, state, writer, turn, loop_id)
    select
        d.parent_run_id, d.path || '/log',
        coalesce(
            (
                select group_concat(line, char(10))
                from (
                    select
                        'turn ' || g.turn || ': ' || g.action || coalesce(' ' || g.target, '') || ' → ' || g.status
                        || case when g.status >= 400 then ' ' || g.body else '' end as line
                    from run_log as g
                    where g.run = d.alias and g.turn is not null
                    order by g.turn, g.ordinal
                )
            ), ''
        ),
        'archived', 'resolved', 'system', d.turn, d.loop_id
    from _delegation_ends as d
    where d.effect_id = new.effect_id;
    insert into _write_entry (run_id, path, body, visibility, state, writer, turn, loop_id)
    select d.parent_run_id, 'patch://' || d.alias, p.body, 'archived', 'resolved', 'system', d.turn, d.loop_id
    from _delegation_ends as d
    join _child_patches as p on p.run_id = d.run_id
    where d.effect_id = new.effect_id;
    insert into _finish_effect (effect_id, state, outcome, message, lease)
    select
        d.effect_id,
        case when d.status in (200, 204) then 'resolved' else 'failed' end,
        case when d.status not in (200, 204) then 'child:' || d.status end,
        k.report,
        new.lease
    from _delegation_ends as d
    join _delegation_reports as k on k.effect_id = d.effect_id
    where d.effect_id = new.effect_id;
    -- last, because the report tells under which paths
    insert into _write_entry (run_id, path, body, visibility, state, writer, turn, loop_id)
    select k.parent_run_id, k.parent_path, b.body, 'summarized', 'resolved', 'system', t.sequence, t.loop_id
    from children as c
    cross join _learned_facts as k on k.run_id = c.run_id and k.content_id is not k.parent_content_id
    cross join contents as b on b.id = k.content_id
    cross join effects as f on f.id = c.effect_id
    cross join turns as t on t.id = f.turn_id
    where c.effect_id = new.effect_id
    order by k.path;
end;
