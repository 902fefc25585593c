-- Targets: the entries that a command is about.
-- A path that has the shape of a pattern means many, unless an entry is called just that; a filter keeps those whose body
-- holds it, tags those that have each of them. What was found is kept while the command works, and can be listed.
-- spec: @dispatch_path @patterns

-- tables

-- The actions that work on entries, and the words of what is told of them.
create table if not exists entry_actions (
    action text primary key,
    -- what it cannot do without, and how it is written
    needs text not null,
    example text not null,
    -- told where an entry that was found is not the writer's to change; null: it is not changed
    forbidden text
) strict, without rowid;

-- The entries that a command works on, while it works.
create table if not exists command_targets (
    command_id integer not null,
    entry_id integer not null,
    path text not null,
    primary key (command_id, entry_id)
) strict, without rowid;

-- seeds

insert into entry_actions (action, needs, example, forbidden) values
    ('get', 'a path or tags', '<get path="notes.md"/>', 'may not hide'),
    ('set', 'a path', '<set path="known://topic">text</set>', 'not permitted for'),
    ('rm', 'a path', '<rm path="known://topic"/>', 'may not remove'),
    ('cp', 'a path and a destination', '<cp path="a" to="b"/>', null),
    ('mv', 'a path and a destination', '<mv path="a" to="b"/>', 'may not move')
on conflict (action) do update
    set needs = excluded.needs, example = excluded.example, forbidden = excluded.forbidden;

-- views

-- How the targets of a command are told: whether its path means many, and the text that a body must hold.
create view command_patterns as
select
    c.id as command_id,
    coalesce(
        json_extract(c.attributes, '$.pattern'),
        path_is_pattern(c.path)
        and not exists (select 1 from run_paths as p where p.run_id = c.run_id and p.path = c.path),
        1
    ) as is_pattern,
    case
        when c.action in ('get', 'rm') and c.path is not null then nullif(c.body, '')
        else json_extract(c.attributes, '$.filter')
    end as filter
from commands as c;

-- The one entry that a command names.
create view named_targets as
select c.id as command_id, p.entry_id, p.path
from commands as c
join command_patterns as s on s.command_id = c.id
join run_paths as p on p.run_id = c.run_id and p.path = c.path
where c.action in (select action from entry_actions)
    and not s.is_pattern
    and (
        s.filter is null
        or pattern_search(
            s.filter, (select b.body from entry_bodies as b where b.run_id = c.run_id and b.entry_id = p.entry_id)
        ) > 0
    );

-- All entries that a command's pattern, filter and tags find. The literal beginning of the pattern bounds what is read.
create view matched_targets as
select c.id as command_id, e.id as entry_id, e.path
from commands as c
join command_patterns as s on s.command_id = c.id and s.is_pattern
cross join run_scopes as l on l.run_id = c.run_id
cross join entries as e
    on e.scope = l.scope
    and e.path >= coalesce(pattern_prefix(c.path), '')
    and e.path < coalesce(pattern_prefix(c.path), '') || char(1114111)
cross join run_views as v on v.run_id = c.run_id and v.entry_id = e.id
join schemes as k on k.name = e.kind and k.model_visible
left join contents as b on b.id = coalesce(v.content_id, e.content_id)
where c.action in (select action from entry_actions)
    and (c.path is not null or json_extract(c.attributes, '$.tags') is not null)
    and (c.path is null or (path_scheme(c.path) is e.scheme and pattern_match(c.path, e.path)))
    and (s.filter is null or pattern_search(s.filter, b.body) > 0)
    and (
        c.action <> 'get'
        or json_extract(c.attributes, '$.tags') is null
        or tags_match(
            json_extract(c.attributes, '$.tags'),
            json_extract(coalesce((select attributes from labels where id = v.label_id), e.attributes), '$.tags')
        )
    );

-- A command's entries, one a line, with what each costs; for listings.
create view target_lines as
select
    t.command_id,
    t.path,
    '* ' || t.path || ' - ' || coalesce(
        (select u.short from unreadable_entries as u where c.id is null and u.entry_id = t.entry_id),
        token_estimate(c.chars, v.divisor) || ' tokens'
    ) as line
from command_targets as t
join commands as m on m.id = t.command_id
left join loops as v on v.id = m.loop_id
join run_views as w on w.run_id = m.run_id and w.entry_id = t.entry_id
join entries as e on e.id = t.entry_id
left join contents as c on c.id = coalesce(w.content_id, e.content_id)
order by t.command_id, t.path;

-- The same as one text, with their number.
create view target_listings as
select
    m.id as command_id,
    (select count(*) from command_targets as t where t.command_id = m.id) || ' matched' || coalesce(
        char(10) || (select group_concat(line, char(10)) from (select line from target_lines where command_id = m.id)), ''
    ) as listing
from commands as m;

-- Find the entries that a command is about, and settle what can be settled when they are known: insert into target_finds
-- (command_id).
create view target_finds as
select command_id
from command_targets;

-- triggers

create trigger target_finds__fill
instead of insert on target_finds
begin
    insert into command_targets (command_id, entry_id, path)
    select command_id, entry_id, path
    from named_targets
    where command_id = new.command_id;
    insert into command_targets (command_id, entry_id, path)
    select command_id, entry_id, path
    from matched_targets
    where command_id = new.command_id;
    insert into refused_commands (command_id, outcome, message)
    select command_id, 'validation', message
    from pattern_faults
    where command_id = new.command_id;
    -- a manifest lists and changes nothing, whatever the action
    update commands
    set state = 'resolved',
        message = 'MANIFEST ' || action || ' path="' || coalesce(path, '**') || '"'
            || coalesce((select ' filter="' || filter || '"' from command_patterns where command_id = commands.id), '')
            || ': '
            || (select listing from target_listings where command_id = commands.id)
    where id = new.command_id and state = 'queued' and json_extract(attributes, '$.manifest') is not null;
    insert into refused_commands (command_id, outcome, message)
    select f.command_id, f.outcome, f.message
    from command_faults as f
    where f.command_id = (select id from commands where id = new.command_id and state = 'queued')
    order by f.rank
    limit 1;
end;
