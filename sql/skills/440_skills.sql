-- Skills: instructions for certain tasks, which a model reads when it has such a task.
-- A skill is a folder with a SKILL.md, a single file, or either of them packed or at an address. Its text is the
-- entry skill://name, its other files are skill://name/path; all of them are archived until they are asked for, and
-- the system message has only names and descriptions. Those in the folders where agents keep skills in a project are
-- found with its files; others are added by a person. A model reads skills and changes none.
-- needs: nothing
-- spec: @skills

-- tables

-- The skills of each project and of the whole file.
create table if not exists _skills (
    id integer primary key,
    -- project:N or global
    scope text not null constraint skills_scope check (scope = 'global' or scope glob 'project:[0-9]*'),
    name text not null constraint skills_name_length check (length(name) between 1 and 200),
    description text not null,
    kind text not null constraint skills_kind check (kind in ('folder', 'file', 'zip', 'url')),
    -- found: in a folder of the project, as long as it is there; added: by a person
    origin text not null constraint skills_origin check (origin in ('found', 'added')),
    -- the path or address that it was read from
    source text not null,
    -- what it was made of, to see whether that has changed
    made_of text not null,
    -- why it is not offered; null: it is
    problem text,
    -- files that are no text, or too many
    left_out integer not null default 0,
    added_by text not null,
    changed_at integer not null,
    constraint skills_once unique (scope, name)
) strict;

-- views

-- The skills that are offered to each run: of two with the same name that of the project.
create view _run_skills as
select l.run_id, s.*
from run_scopes as l
cross join _skills as s on s.scope = l.scope
where s.problem is null
    and (
        s.scope <> 'global'
        or not exists (
            select 1
            from run_scopes as m
            join _skills as o on o.scope = m.scope and o.name = s.name
            where m.run_id = l.run_id and m.kind = 'project' and o.problem is null
        )
    );

-- The entries of each skill: path is '' for its text, else that of the file in it.
create view _skill_entries as
select
    s.id as skill_id,
    e.id as entry_id,
    substr(e.path, length('skill://' || s.name) + 2) as path,
    e.path as address,
    e.content_id
from _skills as s
cross join entries as e on e.scope = s.scope and e.path = 'skill://' || s.name
union all
select
    s.id, e.id, substr(e.path, length('skill://' || s.name) + 2), e.path, e.content_id
from _skills as s
cross join entries as e
    on e.scope = s.scope and e.path > 'skill://' || s.name || '/' and e.path < 'skill://' || s.name || '0';

-- In a file with skills <skill path="NAME"/> is a get of skill://NAME, unless a plugin has a tool of that name.
create view _tool_words__skills as
select 'skill>get' as word
where exists (select 1 from _skills) and not exists (select 1 from tools where name = 'skill');

-- The skills that can be found.
create view _known_texts__skills as
select
    'skill' as kind, s.scope, s.name, f.entry_id, f.content_id, s.description || char(10) || substr(c.body, 1, 4000) as text
from _skills as s
join _skill_entries as f on f.skill_id = s.id and f.path = ''
join contents as c on c.id = f.content_id
where s.problem is null;

-- No event says that the entries of a skill have changed.
create view _text_clocks__skills as
select coalesce(sum(changed_at), 0) as clock
from _skills;

-- Skills are offered before a packet is read.
create view _preparations__skills as
select id as turn_id, 1 as place, 'packet' as what
from turns
where exists (select 1 from _skills);

create view skills as
-- The skills of each project; project is null for those of all. A skill with a problem is not offered to models. files
-- counts its text and its files, chars their length; left_out counts files that are no text, or too many.
select
    s.name,
    p.name as project,
    s.description,
    s.origin,
    s.kind,
    s.source,
    count(c.id) as files,
    coalesce(sum(c.chars), 0) as chars,
    s.left_out,
    s.problem,
    s.added_by,
    strftime('%Y-%m-%d %H:%M:%S', s.changed_at / 1000.0, 'unixepoch') as changed_at
from _skills as s
left join projects as p on s.scope = 'project:' || p.id
left join _skill_entries as f on f.skill_id = s.id
left join contents as c on c.id = f.content_id
group by s.id
order by s.name, s.scope;

-- The skills in the folders of each project that the setting skill_folders names: the first folder of a name counts.
create view _found_skills as
select
    project_id, name, path, folder, content_id, min(place) as place,
    (
        select json_group_object(path, content_id)
        from (
            select substr(g.path, length(q.folder) + 1) as path, m.content_id
            from file_stats as g
            cross join entries as m on m.scope = 'project:' || g.project_id and m.path = g.path
            where g.project_id = q.project_id
                and g.path > q.folder
                and g.path < substr(q.folder, 1, length(q.folder) - 1) || '0'
                and g.kind = 'text'
                and m.content_id is not null
                and g.path <> q.path
            order by g.path
            limit 200
        )
    ) as files,
    (
        select count(*)
        from file_stats as g
        where g.project_id = q.project_id
            and g.path > q.folder
            and g.path < substr(q.folder, 1, length(q.folder) - 1) || '0'
            and g.kind <> 'missing'
    ) - 1 as files_there
from (
    select
        f.project_id,
        substr(f.path, length(n.value) + 2, length(f.path) - length(n.value) - 10) as name,
        f.path,
        substr(f.path, 1, length(f.path) - 8) as folder,
        e.content_id,
        n.key as place
    from _guidance_files as f
    cross join settings as s on s.name = 'skill_folders' and s.value <> ''
    cross join json_each('["' || replace(replace(s.value, ' ', ''), ',', '","') || '"]') as n
        on substr(f.path, 1, length(n.value) + 1) = n.value || '/'
    cross join entries as e on e.scope = 'project:' || f.project_id and e.path = f.path
    where f.path glob '*/SKILL.md' and f.kind = 'text' and e.content_id is not null
) as q
where name <> '' and instr(name, '/') = 0 and length(name) <= 200
group by project_id, name;

-- What a system message has room for: descriptions up to the setting skill_chars, and at most a quarter of the packet.
create view _skill_rooms as
select
    b.loop_id,
    min((select cast(value as integer) from settings where name = 'skill_chars'), b.ceiling / 2) as chars
from _loop_ceilings as b;

-- The skills as the system message of a turn lists them, by name; those for whose descriptions there is no room with
-- their names alone, and at most 400.
create view _listed_skills as
select
    turn_id,
    name,
    case when up_to <= room then line else '* skill://' || name end as text,
    sum(up_to > room) over (partition by turn_id) as undescribed,
    max(count - 400, 0) as unnamed
from (
    select
        t.id as turn_id,
        s.name,
        '* skill://' || s.name || ' - ' || coalesce(fence_json(s.description), '') as line,
        m.chars as room,
        sum(length('* skill://' || s.name || ' - ' || s.description) + 1) over (partition by t.id order by s.name) as up_to,
        row_number() over (partition by t.id order by s.name) as place,
        count(*) over (partition by t.id) as count
    from turns as t
    cross join _run_skills as s on s.run_id = t.run_id
    join _skill_rooms as m on m.loop_id = t.loop_id and m.chars > 0
    where s.origin = 'added'
        or not exists (select 1 from _loop_flags as f where f.loop_id = t.loop_id and f.flag = 'no_repo')
)
where place <= 400;

-- The skills in the system message.
create view _layer_pieces__skills as
select
    turn_id,
    1 as place,
    'skills' as layer,
    name as source,
    text,
    ':::skills' || coalesce(
        fence_suffix(
            group_concat(text, char(10)) over (
                partition by turn_id order by name rows between unbounded preceding and unbounded following
            ), null
        ), ''
    ) as fence,
    nullif(
        case
            when undescribed
                then 'Without their descriptions, which would take too much room: ' || undescribed || '. '
            else ''
        end
        || case when unnamed then 'Not listed: ' || unnamed || '.' else '' end, ''
    ) as note,
    null as refers_to
from _listed_skills;

-- It is made anew when one of them has changed.
create view _layer_marks__skills as
select p.id as project_id, cast(s.name || s.changed_at || coalesce(s.problem, '') as text) as mark
from projects as p
cross join _skills as s on s.scope in ('project:' || p.id, 'global');
