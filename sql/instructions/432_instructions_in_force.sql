-- Instructions in force: the folders in which a loop works, and their instructions in packets and on proposals.
-- spec: @agents

-- views

-- The paths that the command lines of each turn name, as a JSON array, each from the root of the project.
create view _line_paths as
select
    t.id as turn_id,
    (
        select json_group_array(distinct j.value)
        from turns as o
        cross join commands as k on k.turn_id = o.id and k.action in ('sh', 'env')
        cross join json_each(
            shell_paths(coalesce(k.body, substr(o.response, k.body_at, k.body_chars)), p.root)
        ) as j
        where o.loop_id = t.loop_id
    ) as paths
from turns as t
join runs as r on r.id = t.run_id
join projects as p on p.id = r.project_id;

-- The folders with instructions, the root's excepted, in which a loop works: a command of it names a path in there, or
-- a file in there is visible. A path is compared with a slash behind it, so that 'src' is the folder and 'srcs' is not.
create view _loop_folders as
select t.id as turn_id, t.loop_id, i.*
from turns as t
join runs as r on r.id = t.run_id
-- an array of one: the command lines are read once, and only where a folder has instructions
cross join json_each((
    select json_array(w.paths)
    from _line_paths as w
    where w.turn_id = t.id
        and exists (select 1 from _instruction_files as n where n.project_id = r.project_id and n.folder <> '')
)) as w
cross join _instruction_files as i on i.project_id = r.project_id and i.folder <> ''
where exists (
        select 1
        from turns as o
        cross join commands as k on k.turn_id = o.id and k.action in (select action from _entry_actions)
        where o.loop_id = t.loop_id
            and (
                substr(k.path || '/', 1, length(i.folder)) = i.folder
                or substr(k.destination || '/', 1, length(i.folder)) = i.folder
            )
    )
    or exists (
        select 1
        from json_each(w.value) as j
        where substr(j.value || '/', 1, length(i.folder)) = i.folder
    )
    or exists (
        select 1
        from run_views as v indexed by idx_run_views_in_context
        cross join entries as e on e.id = v.entry_id and e.kind = 'file'
        where v.run_id = t.run_id
            and v.visibility <> 'archived'
            and v.visibility = 'visible'
            and substr(e.path, 1, length(i.folder)) = i.folder
    );

-- Turns whose project may have instructions in folders: that of any other costs one look into an index. They are read anew
-- for each packet of a turn, since the ladder may have put a file out of view.
create view _convention_stamps as
select t.id as turn_id, json_array(t.id, t.ladder, t.refused) as stamp
from turns as t
join runs as r on r.id = t.run_id
where exists (select 1 from _guidance_files as f where f.project_id = r.project_id and instr(f.path, '/'));

create view _packet_conventions as
-- The instructions of the folders in which the loop works, the outer ones first. The inner ones get room first.
select
    turn_id,
    shown_path as path,
    case
        when room > 0 then '<<' || fence || char(10) || substr(body, 1, room) || char(10) || fence
    end as text,
    case
        when room < chars
            then case when room > 0 then 'Cut after ' || room || ' of ' || chars || ' characters: ' else '' end
                || '<get path="' || shown_path || '"/> has all.'
    end as cut,
    refers_to
from (
    select
        w.turn_id, w.shown_path, w.fence, w.chars, w.folder, c.body, n.refers_to,
        min(
            w.chars,
            max(
                m.chars - (
                    sum(w.chars) over (partition by w.turn_id order by length(w.folder) desc, w.folder) - w.chars
                ), 0
            )
        ) as room
    from _loop_folders as w
    join contents as c on c.id = w.content_id
    join _instruction_rooms as m on m.loop_id = w.loop_id and m.chars > 0
    join _instruction_notes as n on n.project_id = w.project_id and n.folder = w.folder
    where not exists (select 1 from _loop_flags as f where f.loop_id = w.loop_id and f.flag = 'no_repo')
)
order by length(folder), folder;

-- How many characters of instructions the compact packet of a turn shows: the setting, and at most a quarter of the tokens
-- that the other parts leave free, since no character is more than four. Asked where a project has instructions.
create view _compact_instruction_rooms as
select
    t.id as turn_id,
    min((select cast(value as integer) from settings where name = 'instruction_chars'), b.ceiling / 4 - cast(ceil((
        1000 + coalesce(
            (select sum(length(p.body) + length(p.path) + 60) from _compact_fixed_parts as p where p.turn_id = t.id), 0
        )
    ) / coalesce(t.chars_per_token, b.chars_per_token)) as integer) / 4) as chars
from turns as t
join _loop_ceilings as b on b.loop_id = t.loop_id;

-- The instructions in a compact packet: those of the folders in which its loop works and of the root, the outer ones first.
-- The inner ones get room first; what is cut ends with a line.
create view _compact_instructions as
select
    turn_id,
    path,
    case
        when room >= chars then body
        else coalesce(
            nullif(rtrim(substr(body, 1, room), replace(substr(body, 1, room), char(10), '')), ''), substr(body, 1, room)
        )
    end as body,
    length(folder) as depth
from (
    select
        i.turn_id, i.folder, i.chars, i.path, c.body,
        m.chars - (
            sum(i.chars + length(i.path) + 60) over (partition by i.turn_id order by length(i.folder) desc, i.folder)
            - i.chars
        ) as room
    from (
        select f.turn_id, f.folder, f.chars, f.shown_path as path, f.content_id
        from _loop_folders as f
        union all
        select t.id, f.folder, f.chars, f.shown_path, f.content_id
        from turns as t
        join runs as r on r.id = t.run_id
        cross join _instruction_files as f on f.project_id = r.project_id and f.folder = ''
    ) as i
    cross join turns as t on t.id = i.turn_id
    join contents as c on c.id = i.content_id
    cross join _compact_instruction_rooms as m on m.turn_id = i.turn_id
    where not exists (select 1 from _loop_flags as f where f.loop_id = t.loop_id and f.flag = 'no_repo')
)
where room > 0;

create view _compact_parts__instructions as
select turn_id, 'conventions' as part, path, body, -3 as turn, depth as entry_id
from _compact_instructions;

create view _guided_folders__instructions as
select r.id as run_id, p.root, cast(i.folder as text) as folder
from runs as r
cross join projects as p on p.id = r.project_id
cross join _instruction_files as i on i.project_id = r.project_id and i.folder <> '';

-- The instructions that hold for a file or for what a command line names, the innermost first.
create view _proposal_guidance__instructions as
select
    p.id as proposal_id,
    cast((
        select nullif(json_group_array(i.path), '[]')
        from (
            select f.path
            from _instruction_files as f
            where f.project_id = r.project_id
                and case
                    when f.folder = '' then 1
                    when p.kind = 'process'
                        then f.folder in (select j.value from json_each(p.detail, '$.folders') as j)
                    else substr(p.target, 1, length(f.folder)) = f.folder
                end
                and not exists (
                    select 1 from _loop_flags as x where x.loop_id = p.loop_id and x.flag = 'no_repo'
                )
            order by length(f.folder) desc, f.folder
        ) as i
    ) as text) as paths
from proposals as p
join runs as r on r.id = p.run_id;
