-- Instructions for agents: the AGENTS.md of a project and of its folders, and the files that these refer to.
-- They are files of the project, found by its scan; nothing else reads them. That of the root stands in the system
-- message, those of folders below it in <conventions>, from the packet after a command touched the folder on: by a path,
-- or by a word of a command line. Each folder
-- has one, by the order of the setting instruction_files. What a file says is the project's word, not the user's: it is
-- fenced as any text of others, and it permits nothing.
-- needs: nothing
-- spec: @agents @references

-- tables

-- The links of such files to others of the project. Contents are immutable, so the rows of a content stay true.
create table if not exists document_links (
    entry_id integer not null constraint document_links_entry references entries (id) on delete cascade,
    content_id integer not null constraint document_links_content references contents (id) on delete cascade,
    ordinal integer not null,
    line integer not null,
    title text not null,
    -- a path below the root of the project
    target text not null,
    primary key (entry_id, content_id, ordinal)
) strict, without rowid;

-- seeds

insert into packet_sections (name, profile, role, ordinal, source, template, live, cached, stamps) values
    ('conventions', 'full', 'user', 120, '_packet_conventions', 'conventions', 0, 0, '_convention_stamps')
on conflict (profile, role, name) do update set source = excluded.source, stamps = excluded.stamps;

-- views

-- The file with instructions of each folder that has one: the first of the names in the setting. 'folder' is '' or ends
-- in '/', so that the beginning of a path is compared by whole parts.
create view _instruction_files as
select
    f.project_id,
    -- a name with a folder, such as .github/copilot-instructions.md, is for the root
    case when instr(n.value, '/') then '' else rtrim(f.path, replace(f.path, '/', '')) end as folder,
    f.path,
    e.id as entry_id,
    c.id as content_id,
    c.chars,
    ':::' || coalesce(e.shown_path, e.path) || coalesce(c.fence, '') as fence,
    coalesce(e.shown_path, e.path) as shown_path
from _guidance_files as f
cross join settings as s on s.name = 'instruction_files' and s.value <> ''
cross join json_each('["' || replace(replace(s.value, ' ', ''), ',', '","') || '"]') as n
    on n.value in (f.path, substr(f.path, length(rtrim(f.path, replace(f.path, '/', ''))) + 1))
cross join entries as e on e.scope = 'project:' || f.project_id and e.path = f.path
cross join contents as c on c.id = e.content_id and c.chars > 0
where f.kind = 'text'
    and not exists (
        select 1
        from json_each('["' || replace(replace(s.value, ' ', ''), ',', '","') || '"]') as o
        cross join file_stats as b
            on b.project_id = f.project_id
            and b.path = case when instr(n.value, '/') then '' else rtrim(f.path, replace(f.path, '/', '')) end || o.value
            and b.kind = 'text'
        -- the file is looked up by its path for each name that comes before its own
        where o.key < n.key
    );

create view instruction_files as
-- The files with instructions for agents that count in each project: the folder that each is for ('' is the root), its
-- length in characters, and how many of its links lead to files of the project.
select
    p.name as project,
    i.folder,
    i.path,
    i.chars,
    (
        select count(*)
        from document_links as l
        join file_stats as f on f.project_id = i.project_id and f.path = l.target and f.kind = 'text'
        where l.entry_id = i.entry_id and l.content_id = i.content_id
    ) as links
from _instruction_files as i
join projects as p on p.id = i.project_id
order by p.name, i.folder;

-- The files of a project that those with instructions refer to, each once with its first title.
create view _references as
select
    i.project_id,
    i.folder,
    i.path as source,
    l.ordinal,
    l.line,
    l.title,
    l.target,
    e.id as entry_id,
    coalesce(e.shown_path, e.path) as shown_path,
    c.chars
from _instruction_files as i
cross join document_links as l on l.entry_id = i.entry_id and l.content_id = i.content_id
cross join file_stats as f on f.project_id = i.project_id and f.path = l.target and f.kind = 'text'
cross join entries as e on e.scope = 'project:' || i.project_id and e.path = l.target
join contents as c on c.id = e.content_id
where l.target <> i.path
    and exists (
        select 1
        from settings as s
        cross join json_each('[' || replace(json_quote(s.value), ',', '","') || ']') as g
        where s.name = 'reference_files' and l.target glob trim(g.value)
    );

-- The references that can be found.
create view _known_texts__instructions as
select
    'reference' as kind, 'project:' || r.project_id as scope, r.target as name, r.entry_id, c.id as content_id,
    r.title || char(10) || substr(c.body, 1, 4000) as text
from _references as r
join entries as e on e.id = r.entry_id
join contents as c on c.id = e.content_id
group by r.project_id, r.entry_id;

-- The addresses that the instructions of a project refer to, where the setting external_references is on.
create view _external_references as
select i.project_id, i.folder, l.ordinal, l.title, l.target
from _instruction_files as i
cross join document_links as l on l.entry_id = i.entry_id and l.content_id = i.content_id
where (l.target glob 'http://*' or l.target glob 'https://*' or l.target glob 'HTTP*')
    and '1' = (select s.value from settings as s where s.name = 'external_references');

create view document_references as
-- The files that instructions refer to by a link, with the title and the line of the link: what a model can get when its
-- subject comes up.
select p.name as project, r.source, r.line, r.title, r.target, r.chars
from _references as r
join projects as p on p.id = r.project_id
order by p.name, r.source, r.ordinal;

-- How many characters of instructions the packets of a loop show: the setting, and at most a quarter of a packet whose
-- characters are counted as half a token each.
create view _instruction_rooms as
select
    b.loop_id,
    min((select cast(value as integer) from settings where name = 'instruction_chars'), b.ceiling / 2) as chars
from _loop_ceilings as b;

-- What is said behind a text of instructions: what was cut off, and the files that it refers to, 50 at most.
create view _instruction_notes as
select
    i.project_id,
    i.folder,
    (
        select group_concat(line, char(10))
        from (
            select '* ' || r.shown_path || ' - ' || coalesce(fence_path(r.title), r.title) as line
            from (
                select ordinal, shown_path, title
                from _references
                where project_id = i.project_id and folder = i.folder
                union all
                select ordinal, coalesce(fence_path(target), target), title
                from _external_references
                where project_id = i.project_id and folder = i.folder
            ) as r
            order by r.ordinal
            limit 50
        )
    ) as refers_to
from _instruction_files as i;

-- The instructions of the root, as the system message of a loop shows them: fenced, and as far as there is room.
create view _root_instructions as
select
    t.id as turn_id,
    i.shown_path as path,
    '<<' || i.fence || char(10) || substr(c.body, 1, m.chars) || char(10) || i.fence as text,
    case
        when i.chars > m.chars
            then 'Cut after ' || m.chars || ' of ' || i.chars || ' characters: <get path="' || i.shown_path || '"/> has all.'
    end as cut,
    n.refers_to
from turns as t
join runs as r on r.id = t.run_id
cross join _instruction_files as i on i.project_id = r.project_id and i.folder = ''
join contents as c on c.id = i.content_id
join _instruction_rooms as m on m.loop_id = t.loop_id and m.chars > 0
join _instruction_notes as n on n.project_id = i.project_id and n.folder = i.folder
where not exists (select 1 from loop_flags as f where f.loop_id = t.loop_id and f.flag = 'no_repo');

-- They are a layer of it, which is made anew when their text has changed.
create view _layer_pieces__instructions as
select turn_id, 2 as place, 'project' as layer, path as source, text, null as fence, cut as note, refers_to
from _root_instructions;

create view _layer_marks__instructions as
select project_id, cast(content_id as text) as mark
from _instruction_files
where folder = '';

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
    where not exists (select 1 from loop_flags as f where f.loop_id = w.loop_id and f.flag = 'no_repo')
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
    where not exists (select 1 from loop_flags as f where f.loop_id = t.loop_id and f.flag = 'no_repo')
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
                    select 1 from loop_flags as x where x.loop_id = p.loop_id and x.flag = 'no_repo'
                )
            order by length(f.folder) desc, f.folder
        ) as i
    ) as text) as paths
from proposals as p
join runs as r on r.id = p.run_id;

-- The referred files that the prompt of a turn's loop is about, by the words of their titles; up to three are brought.
create view _matched_references as
select turn_id, entry_id
from (
    select
        t.id as turn_id,
        r.entry_id,
        max(terms_share(r.title, l.prompt)) as share,
        row_number() over (
            partition by t.id order by max(terms_share(r.title, l.prompt)) desc, min(r.source), min(r.ordinal)
        ) as place
    from turns as t
    join loops as l on l.id = t.loop_id
    join runs as u on u.id = t.run_id
    cross join _references as r on r.project_id = u.project_id
    join _instruction_rooms as m on m.loop_id = l.id and r.chars <= m.chars
    group by t.id, r.entry_id
)
where share >= 0.5 and place <= 3;

-- Read the links of a project's instructions, and on the first turn of a loop bring those that its prompt is about:
-- insert into _read_instructions (turn_id, project_id).
create view _read_instructions as
select t.id as turn_id, r.project_id
from turns as t
join runs as r on r.id = t.run_id
where false;

-- triggers

create trigger _read_instructions__read
instead of insert on _read_instructions
begin
    insert into document_links (entry_id, content_id, ordinal, line, title, target)
    select
        i.entry_id, i.content_id, j.key, j.value ->> '$.line', j.value ->> '$.title', j.value ->> '$.target'
    from _instruction_files as i
    join contents as c on c.id = i.content_id
    cross join json_each(markdown_links(c.body, i.folder)) as j
    where i.project_id = new.project_id
        and not exists (
            select 1 from document_links as l where l.entry_id = i.entry_id and l.content_id = i.content_id
        );
    insert into _show_entry (run_id, entry_id, visibility, turn)
    select t.run_id, m.entry_id, 'visible', t.sequence
    from turns as t
    cross join _matched_references as m on m.turn_id = t.id
    where t.id = new.turn_id
        and not exists (select 1 from turns as o where o.loop_id = t.loop_id and o.sequence < t.sequence);
end;

create trigger _end_scan__read_instructions
instead of insert on _end_scan
begin
    insert into _read_instructions (turn_id, project_id)
    select new.turn_id, r.project_id
    from runs as r
    where r.id = new.run_id and exists (select 1 from _guidance_files as n where n.project_id = r.project_id);
end;
