-- Changing skills: how they are found, added, replaced and removed, offered to runs, and kept from models.
-- A program that reads a skill writes it through verb_write_skill. Its texts become heads that all runs follow.
-- spec: @skills

-- views

create view verb_write_skill as
-- Add a skill or replace it: insert into verb_write_skill (scope, name, description, kind, origin, source, made_of, problem,
-- left_out, body, files, added_by). scope is global or project:N. 'files' is a JSON object: of each file of the skill,
-- besides its text, the path and the text, or the id of its content. With a problem it has no entries.
select
    scope, name, description, kind, origin, source, made_of, problem, left_out, null as body, null as files, added_by
from _skills
where false;

-- Give a file of a skill its text: insert into _write_skill_file (scope, path, body, content_id). Both null: it is gone.
create view _write_skill_file as
select scope, path, null as body, content_id
from entries
where false;

create view verb_forget_skill as
-- Remove a skill: insert into verb_forget_skill (scope, name). What runs have seen of it stays in their packets.
select scope, name
from _skills
where false;

-- Read the skills that the folders of a project have: insert into _read_skills (project_id).
create view _read_skills as
select id as project_id
from projects
where false;

-- Commands of a turn that would change a skill which its run is offered, or might by a pattern. A model may show and hide
-- skills, and change nothing of them: all runs would read what it wrote.
create view _skill_writes as
select c.turn_id, c.id as command_id, w.value as path
from commands as c
-- one list, so that what follows is compiled once
cross join json_each(json_array(
        case
            when c.action in ('rm', 'mv')
                or (
                    c.action = 'set'
                    and (c.body is not null or coalesce(c.attributes ->> '$.tags', c.attributes ->> '$.summary') is not null)
                )
                then c.path
        end,
        case when c.action in ('mv', 'cp') then c.destination end
    )) as w
where instr(w.value, '://') > 1
    and (
        -- a pattern over schemes
        substr(w.value, 1, instr(w.value, '://') - 1) glob '*[^a-zA-Z0-9+.-]*'
        or (
            lower(substr(w.value, 1, 8)) = 'skill://'
            and (
                path_is_pattern(w.value)
                or exists (
                    select 1
                    from _run_skills as s
                    where s.run_id = c.run_id
                        and (substr(w.value, 9) = s.name or substr(w.value, 9, length(s.name) + 1) = s.name || '/')
                )
            )
        )
    );

create view _command_refusals__skills as
select
    turn_id, command_id, 'permission' as outcome,
    path || ' is a skill, or a pattern that finds some: a model reads skills and changes none. Keep what you learn in '
    || 'known:// entries.' as message
from _skill_writes
where exists (select 1 from _skills);

-- triggers

create trigger verb_write_skill__write
instead of insert on verb_write_skill
begin
    select fail(404, 'scope ' || quote(new.scope) || ': use global, or project:N with the id of a project')
    where new.scope is not 'global' and not exists (select 1 from projects where new.scope = 'project:' || id);
    select fail(400, 'skill ' || quote(new.name) || ': use 1 to 64 lowercase letters, digits, ''-'', ''_'' and ''.''')
    where new.problem is null
        and (coalesce(new.name, '') = '' or new.name glob '*[^a-z0-9_.-]*' or length(new.name) > 64);
    insert into _skills (
        scope, name, description, kind, origin, source, made_of, problem, left_out, added_by, changed_at
    )
    values (
        new.scope, new.name, coalesce(new.description, ''), new.kind, new.origin, new.source, new.made_of, new.problem,
        coalesce(new.left_out, 0), new.added_by, now()
    )
    on conflict (scope, name) do update set
        description = excluded.description, kind = excluded.kind, origin = excluded.origin, source = excluded.source,
        made_of = excluded.made_of, problem = excluded.problem, left_out = excluded.left_out,
        added_by = excluded.added_by, changed_at = excluded.changed_at;
    insert into _write_skill_file (scope, path)
    select new.scope, f.address
    from _skills as s
    join _skill_entries as f on f.skill_id = s.id and f.content_id is not null
    where s.scope = new.scope
        and s.name = new.name
        and (
            new.problem is not null
            or (f.path <> '' and f.path not in (select all key from json_each(coalesce(new.files, '{}'))))
        );
    insert into _write_skill_file (scope, path, body, content_id)
    select
        new.scope, 'skill://' || new.name || '/' || f.key,
        case when f.type = 'text' then f.value end,
        case when f.type = 'integer' then f.value end
    from json_each(coalesce(new.files, '{}')) as f
    where new.problem is null;
    -- where its files are, at the end of its text
    insert into _write_skill_file (scope, path, body)
    select
        new.scope, 'skill://' || new.name,
        new.body || coalesce(
            (
                select
                    char(10, 10) || 'Files of this skill:' || char(10)
                    || group_concat('* skill://' || new.name || '/' || coalesce(fence_path(key), key), char(10))
                from json_each(coalesce(new.files, '{}'))
            ), ''
        ) || case
            when new.origin = 'found' and coalesce(new.files, '{}') <> '{}'
                then char(10) || 'On disk they are in ' || substr(new.source, 1, length(new.source) - 8)
            else ''
        end
    where new.problem is null;
end;

create trigger _write_skill_file__write
instead of insert on _write_skill_file
begin
    insert into entries (scope, path, scheme, kind, shown_path)
    select new.scope, new.path, 'skill', 'skill', fence_path(new.path)
    where not exists (select 1 from entries where scope = new.scope and path = new.path);
    insert into _store_content (path, body)
    select new.path, new.body
    from entries as e
    left join contents as c on c.id = e.content_id
    where e.scope = new.scope and e.path = new.path and new.body is not null and new.body is not c.body;
    update entries
    set content_id = case when new.body is null then new.content_id else (select max(id) from contents) end,
        since = (select coalesce(max(id), 0) + 1 from events)
    where scope = new.scope
        and path = new.path
        and case
            when new.body is null then content_id is not new.content_id
            else (select c.body from contents as c where c.id = entries.content_id) is not new.body
        end;
    delete from run_views
    where new.body is null
        and new.content_id is null
        and entry_id = (select id from entries where scope = new.scope and path = new.path);
end;

create trigger verb_forget_skill__forget
instead of insert on verb_forget_skill
begin
    select fail(404, 'skill ' || quote(new.name) || ': not found in ' || quote(new.scope) || '; see the view skills')
    where not exists (select 1 from _skills where scope = new.scope and name = new.name);
    insert into _write_skill_file (scope, path)
    select s.scope, f.address
    from _skills as s
    join _skill_entries as f on f.skill_id = s.id
    where s.scope = new.scope and s.name = new.name;
    delete from _skills
    where scope = new.scope and name = new.name;
end;

-- What a person added under a name stays.
create trigger _read_skills__read
instead of insert on _read_skills
begin
    insert into verb_forget_skill (scope, name)
    select s.scope, s.name
    from _skills as s
    where s.scope = 'project:' || new.project_id
        and s.origin = 'found'
        and s.name not in (select all f.name from _found_skills as f where f.project_id = new.project_id);
    insert into verb_write_skill (
        scope, name, description, kind, origin, source, made_of, problem, left_out, body, files, added_by
    )
    select
        'project:' || f.project_id, f.name, f.head ->> '$.description', 'folder', 'found', f.path, f.made_of,
        f.head ->> '$.problem', f.files_there - (select count(*) from json_each(f.files)), f.head ->> '$.body', f.files,
        'system'
    from (
        select q.*, skill_head(c.body, q.name) as head
        from (
            select *, json_array(path, content_id, files_there, json(files)) as made_of
            from _found_skills
            where project_id = new.project_id
        ) as q
        join contents as c on c.id = q.content_id
        where not exists (
            select 1
            from _skills as s
            where s.scope = 'project:' || q.project_id
                and s.name = q.name
                and (s.origin = 'added' or s.made_of = q.made_of)
        )
    ) as f;
end;

-- A run has a view of each file of the skills that are offered to it, archived until it is asked for.
create trigger _prepare_packet__offer_skills
instead of insert on _prepare_packet
when exists (select 1 from _skills)
    and exists (
        select 1
        from turns as t
        left join turns as o on o.run_id = t.run_id and o.loop_id = t.loop_id and o.sequence = t.sequence - 1
        where t.id = new.turn_id
            and (o.id is null or (select max(changed_at) from _skills) >= o.created_at)
    )
begin
    delete from run_views
    where run_id = (select run_id from turns where id = new.turn_id)
        and entry_id in (
            select all f.entry_id
            from _skills as s
            cross join _skill_entries as f on f.skill_id = s.id
            where s.id not in (
                    select all o.id
                    from turns as t
                    cross join _run_skills as o on o.run_id = t.run_id
                    where t.id = new.turn_id
                )
        );
    insert into run_views (run_id, entry_id, visibility, state, writer, turn, last_used_turn, since)
    select
        t.run_id, f.entry_id, 'archived', 'resolved', 'system', 0, 0, (select coalesce(max(id), 0) + 1 from events)
    from turns as t
    cross join _run_skills as s on s.run_id = t.run_id
    cross join _skill_entries as f on f.skill_id = s.id and f.content_id is not null
    where t.id = new.turn_id
        and not exists (select 1 from run_views as v where v.run_id = t.run_id and v.entry_id = f.entry_id);
end;

create trigger _end_scan__read_skills
instead of insert on _end_scan
begin
    insert into _read_skills (project_id)
    select r.project_id
    from runs as r
    where r.id = new.run_id
        and (
            exists (
                select 1
                from _guidance_files as f
                where f.project_id = r.project_id and f.path glob '*/SKILL.md'
            )
            or exists (select 1 from _skills as s where s.scope = 'project:' || r.project_id and s.origin = 'found')
        );
end;
