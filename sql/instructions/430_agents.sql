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
where not exists (select 1 from _loop_flags as f where f.loop_id = t.loop_id and f.flag = 'no_repo');

-- They are a layer of it, which is made anew when their text has changed.
create view _layer_pieces__instructions as
select turn_id, 2 as place, 'project' as layer, path as source, text, null as fence, cut as note, refers_to
from _root_instructions;

create view _layer_marks__instructions as
select project_id, cast(content_id as text) as mark
from _instruction_files
where folder = '';

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
