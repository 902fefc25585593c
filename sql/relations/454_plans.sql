-- Plans: checklists of a run, which are entries of the scheme plan://.
-- A line with a box, such as '- [ ] write the tests', is a step; an indented one belongs to the step above it. Steps
-- are read from the body that a run sees whenever they are asked for, so a fork, an undo and a rewind have theirs
-- without anything being kept in step. The newest plan in context that is not done stands in the packet, in a section
-- of its own: no rule of the budget demotes or archives it.
-- spec: @plans @plan_section @relation_text

-- seeds

insert into packet_sections (name, profile, role, ordinal, source, template, live, cached, stamps) values
    ('plan', 'full', 'user', 160, '_packet_plan', 'plan', 0, 0, '_plan_stamps')
on conflict (profile, role, name) do update set source = excluded.source, stamps = excluded.stamps;

-- views

-- The plans that each run sees, in context or not.
create view _run_plans as
select
    v.run_id,
    v.entry_id,
    e.path,
    coalesce(e.shown_path, e.path) as shown_path,
    coalesce(v.content_id, e.content_id) as content_id,
    v.visibility,
    v.turn,
    v.since
from run_scopes as l
cross join entries as e on e.scope = l.scope and e.path >= 'plan://' and e.path < 'plan:/0'
cross join run_views as v on v.run_id = l.run_id and v.entry_id = e.id;

-- Each plan with its body and the lines of it that have a box, in their order: a JSON array of [line, indentation, status,
-- text]. Fenced code is passed over. Of a body the first 100,000 characters are read, and of its steps the first 1,000.
create view _plan_boxes as
select
    p.*,
    c.body,
    c.chars,
    c.fence,
    k.value as boxes
from _run_plans as p
left join contents as c on c.id = p.content_id
-- an array of one: the body is read once, however often its boxes are named
cross join json_each(json_array((
    select json_group_array(json_array(
            line,
            length(spaced) - length(ltrim(spaced)),
            case substr(text, instr(text, '[') + 1, 1)
                when 'x' then 'done' when 'X' then 'done'
                when '-' then 'skipped'
                when '/' then 'in_progress' when '>' then 'in_progress' when '~' then 'in_progress'
                else 'pending'
            end,
            trim(substr(text, instr(text, '[') + 3))
        ))
    from (
        select *
        from (
            select
                j.key + 1 as line,
                replace(rtrim(j.value, char(13)), char(9), '    ') as spaced,
                trim(j.value, char(32, 9, 13)) as text,
                sum(ltrim(j.value) like '```%' or ltrim(j.value) like '~~~%') over (order by j.key) % 2 as is_code
            -- quoted as JSON, the body is an array of its lines once each line feed parts two strings
            from json_each(
                '[' || replace(replace(json_quote(substr(c.body, 1, 100000)), '\\', '\u005c'), '\n', '","') || ']'
            ) as j
        )
        where not is_code
            and (
                text glob '[-*+] [[]?] ?*'
                or text glob '[0-9][.)] [[]?] ?*'
                or text glob '[0-9][0-9][.)] [[]?] ?*'
            )
        order by line
        limit 1000
    )
))) as k;

-- The steps of each plan: an indented one belongs to the nearest one above it that is indented less. A step is placed by
-- the one before it, whose 'line' is the steps that it belongs to and itself, each as [indentation, number among its
-- siblings]: the steps in it that are indented less are those that this one belongs to.
create view _plan_steps as
select
    p.run_id,
    p.entry_id,
    p.path,
    s.value ->> 0 as line,
    s.value ->> 1 as depth,
    s.value ->> 2 as number,
    s.value ->> 3 as parent,
    s.value ->> 4 as status,
    s.value ->> 5 as text
from _plan_boxes as p
cross join json_each((
    -- 'following': the indentation of the next one, null after the last
    with recursive placed (place, line, following) as (
        select 0, json_array(json_array(json_extract(p.boxes, '$[0][1]'), 1)), json_extract(p.boxes, '$[1][1]')
        where json_array_length(p.boxes) > 0
        union all
        select
            place + 1,
            (
                select json_group_array(json(kept.value))
                from (
                    select j.value from json_each(line) as j where j.value ->> 0 < following
                    union all
                    select json_array(
                            following,
                            1 + coalesce(
                                (select j.value ->> 1 from json_each(line) as j where j.value ->> 0 >= following limit 1), 0
                            )
                        )
                ) as kept
            ),
            json_extract(p.boxes, '$[' || (place + 2) || '][1]')
        from placed
        where following is not null
    )
    select json_group_array(json_array(
            json_extract(p.boxes, '$[' || place || '][0]'),
            json_array_length(line),
            (select group_concat(j.value ->> 1, '.') from json_each(line) as j),
            (select group_concat(j.value ->> 1, '.') from json_each(line) as j where j.key < json_array_length(line) - 1),
            json_extract(p.boxes, '$[' || place || '][2]'),
            json_extract(p.boxes, '$[' || place || '][3]')
        ))
    from placed
)) as s;

create view plan_steps as
-- The steps of each plan: the line of its body, depth (from 1), number such as 2.1, status (pending, in_progress, done,
-- skipped) and body.
select r.alias as run, s.path as plan, s.line, s.depth, s.number, s.status, s.text as body
from runs as r
cross join _plan_steps as s on s.run_id = r.id;

-- The plans and steps of each run as stored nodes: 'step' is a step or a plan, 'node' each of what it belongs to, itself
-- included, and 'parent' what that is directly below. A number says its place, so what is stored stays true.
create view _plan_nodes as
select
    s.run_id,
    s.path || '#' || s.number as step,
    o.path || '#' || o.number as node,
    'step' as type,
    o.path || coalesce('#' || o.parent, '') as parent
from _plan_steps as s
cross join _plan_steps as o
    on o.run_id = s.run_id and o.entry_id = s.entry_id and (o.number = s.number or s.number like o.number || '.%')
union all
select s.run_id, s.path || '#' || s.number, s.path, 'plan', null
from _plan_steps as s
union all
select p.run_id, p.path, p.path, 'plan', null
from _run_plans as p;

-- Each plan with what its steps come to, and what it is about: its first line, where that is no step. Without steps it is
-- open until it is archived or removed, or followed by another.
create view _plan_states as
select
    p.*,
    f.value ->> 0 as total,
    coalesce(f.value ->> 1, 0) as settled,
    case
        when f.value ->> 0 and f.value ->> 0 = f.value ->> 1 then 'done'
        when f.value ->> 2 then 'in_progress'
        else 'pending'
    end as status,
    f.value ->> 3 as next_line,
    case
        when coalesce(f.value ->> 4, 0) <> 1
            then trim(substr(p.body, 1, instr(substr(p.body, 1, 200) || char(10), char(10)) - 1), char(32, 9, 13) || '#')
    end as title
from _plan_boxes as p
cross join json_each(json_array((
    select json_array(
            count(*),
            sum(n.is_settled),
            max(s.value ->> 2 <> 'pending'),
            min(case when not n.is_settled then s.value ->> 0 end),
            min(s.value ->> 0)
        )
    from json_each(p.boxes) as s
    join node_statuses as n on n.name = s.value ->> 2
))) as f;

-- The plan of each run that stands in its packets: the one written last of those in context that are not done.
create view _open_plans as
select
    r.id as run_id,
    (
        select p.entry_id
        from _plan_states as p
        where p.run_id = r.id and p.visibility <> 'archived' and p.status <> 'done'
        order by p.turn desc, p.since desc, p.entry_id desc
        limit 1
    ) as entry_id
from runs as r;

-- The nodes at and below a stored node, as relations_text takes them, 1,000 at most, the nearest first.
create view _relation_texts as
select
    n.scope,
    n.name as node,
    (
        select json_group_array(json_array(
                o.name, o.type,
                coalesce(p.status, k.value ->> 0, o.status), coalesce(nullif(p.title, ''), k.value ->> 1, o.description),
                json((
                    select json_group_array(q.name)
                    from edges as e
                    cross join nodes as q on q.id = e.parent_id
                    where e.child_id = o.id
                ))
            ))
        from (
            with recursive below (id) as (
                select n.id
                union
                select e.child_id
                from below as b
                cross join edges as e on e.parent_id = b.id
                limit 1000
            )
            select id from below
        ) as b
        cross join nodes as o on o.id = b.id
        left join _plan_states as p
            on o.type = 'plan' and p.run_id = cast(substr(o.scope, 5) as integer) and p.path = o.name
        cross join json_each(json_array(case when o.type = 'step' then (
            select json_array(s.status, s.text)
            from _plan_steps as s
            where s.run_id = cast(substr(o.scope, 5) as integer) and s.path || '#' || s.number = o.name
        ) end)) as k
    ) as body
from nodes as n;

-- The section of a turn. A plan has an eighth of the packet, counted as half a token a character, and at most the setting
-- max_plan_chars; of a longer one the beginning is shown, and where the next step is. Below it stand the nodes that were
-- put below the plan, three levels of them in 2,000 characters.
create view _packet_plan as
select
    turn_id,
    entry_id,
    '{"turn":' || turn || ',"settled":' || settled || ',"steps":' || total || '} <<:::' || shown_path || coalesce(fence, '')
    || char(10) || substr(body, 1, room) || char(10) || ':::' || shown_path || coalesce(fence, '') as text,
    case
        when chars > room
            then 'Not shown: ' || counted(chars - room, 'more character') || coalesce(
                '; the next step is on line ' || next_line || ': <get path="' || shown_path || '" line="' || next_line
                || '" limit="20"/>', ''
            )
    end as cut,
    fence_tag('plan', coalesce(related, '')) as tag,
    -- its first line is the plan itself
    nullif(substr(related, instr(related || char(10), char(10)) + 1), '') as related
from (
    select
        t.id as turn_id,
        p.*,
        (
            select substr(relations_text(x.body, 3), 1, 2000)
            from _relation_texts as x
            where x.scope = 'run:' || p.run_id and x.node = p.path
        ) as related,
        min(cast(m.value as integer), b.ceiling / 4) as room
    from turns as t
    cross join settings as m on m.name = 'max_plan_chars'
    cross join _loop_ceilings as b on b.loop_id = t.loop_id
    cross join _plan_states as p on p.run_id = t.run_id
    where p.entry_id = (select o.entry_id from _open_plans as o where o.run_id = t.run_id)
);

-- The texts of the plans that a run has in context, and the state of the graph: while both are the same, so is the section.
create view _plan_stamps as
select
    t.id as turn_id,
    (
        select group_concat(
                p.entry_id || ' ' || coalesce(p.content_id, '') || ' ' || p.turn || ' '
                || (select g.changes from _graph_changes as g)
            )
        from _run_plans as p
        where p.run_id = t.run_id and p.visibility <> 'archived'
    ) as stamp
from turns as t;

-- The plan that a turn's run works down: what it is about, and the next of its steps that is open.
create view _compact_plans as
select
    t.id as turn_id,
    substr(coalesce(nullif(fence_line(p.title), ''), p.shown_path), 1, 200) || ' (' || p.settled || ' of '
    || counted(p.total, 'step') || ' done)'
    || coalesce(
        char(10) || 'Next: ' || (
            select substr(fence_line(s.value ->> 3), 1, 300) from json_each(p.boxes) as s where s.value ->> 0 = p.next_line
        ), ''
    ) as body
from turns as t
cross join _plan_states as p on p.run_id = t.run_id
where p.total > 0
    and p.entry_id = (select o.entry_id from _open_plans as o where o.run_id = t.run_id);

create view _compact_fixed_parts__relations as
select turn_id, 'plan' as part, '' as path, body, -1 as turn, 0 as entry_id
from _compact_plans;

create view plans as
-- The plans of each run, as it sees them: what it is about, its status (pending, in_progress, done), how many of its steps
-- are settled (done or skipped), the next open one with its line, and 1 for the plan that stands in the packet.
select
    r.alias as run,
    p.path as plan,
    p.title,
    p.status,
    p.settled,
    p.total as steps,
    p.next_line,
    (select s.value ->> 3 from json_each(p.boxes) as s where s.value ->> 0 = p.next_line) as next_step,
    p.entry_id is (select o.entry_id from _open_plans as o where o.run_id = r.id) as is_shown,
    p.visibility,
    coalesce(p.chars, 0) as chars,
    p.turn
from runs as r
cross join _plan_states as p on p.run_id = r.id;
