-- Command entries: which entries a command works on.
-- A path in the shape of a pattern finds many entries, unless an entry has exactly that path. A filter keeps the
-- entries whose body contains it; tags keep the entries that have each of them. _matched_entries holds what a pattern
-- found until the log entry of the command is written.
-- spec: @dispatch_path @patterns

-- tables

-- The entries that the pattern of a command found, from the look-up until the log entry of the command is written.
create table if not exists _matched_entries (
    command_id integer not null,
    entry_id integer not null,
    path text not null,
    primary key (command_id, entry_id)
) strict, without rowid;

-- views

-- The filter of each command: the text that the body of an entry must contain, or null. For get and rm it is the body
-- of the command.
create view _command_filters as
select
    id as command_id,
    case
        when action in ('get', 'rm') and path is not null then nullif(body, '')
        else json_extract(attributes, '$.filter')
    end as filter
from commands;

-- How the path of a command is read: as a pattern, or as the path of one entry whose body contains the filter. The
-- attribute 'pattern' decides it where it is given; else a path in the shape of a pattern is one, unless an entry has
-- exactly that path. A command without a path counts as a pattern.
create view _command_paths as
select
    command_id,
    is_pattern,
    case
        when not is_pattern
            then (
                select p.entry_id
                from _run_paths as p
                join _command_filters as f on f.command_id = m.command_id
                where p.run_id = m.run_id
                    and p.path = m.path
                    and (
                        f.filter is null
                        or pattern_search(
                            f.filter,
                            (select b.body from _entry_bodies as b where b.run_id = p.run_id and b.entry_id = p.entry_id)
                        ) > 0
                    )
            )
    end as entry_id
from (
    select
        c.id as command_id,
        c.run_id,
        c.path,
        coalesce(
            json_extract(c.attributes, '$.pattern'),
            path_is_pattern(c.path)
            and not exists (select 1 from _run_paths as p where p.run_id = c.run_id and p.path = c.path),
            1
        ) as is_pattern
    from commands as c
) as m;

-- The entries that the pattern, filter and tags of a queued command find. The literal beginning of the pattern bounds
-- which entries are read.
create view _found_entries as
select c.id as command_id, e.id as entry_id, e.path
from commands as c
join _command_filters as s on s.command_id = c.id
cross join run_scopes as l on l.run_id = c.run_id
cross join entries as e
    on e.scope = l.scope
    and e.path >= coalesce(pattern_prefix(c.path), '')
    and e.path < coalesce(pattern_prefix(c.path), '') || char(1114111)
cross join run_views as v on v.run_id = c.run_id and v.entry_id = e.id
join schemes as k on k.name = e.kind and k.model_visible
left join contents as b on b.id = coalesce(v.content_id, e.content_id)
where c.is_pattern
    and c.state = 'queued'
    and (c.path is not null or json_extract(c.attributes, '$.tags') is not null)
    and (c.path is null or ((instr(c.path, '://') > 1) = (e.scheme is not null) and pattern_match(c.path, e.path)))
    and (s.filter is null or pattern_search(s.filter, b.body) > 0)
    and (
        c.action <> 'get'
        or json_extract(c.attributes, '$.tags') is null
        or tags_match(
            json_extract(c.attributes, '$.tags'),
            json_extract(coalesce((select attributes from _metadata where id = v.metadata_id), e.attributes), '$.tags')
        )
    );

-- The entries that a command works on, after _perform_command has looked them up.
create view _command_entries as
select c.id as command_id, e.id as entry_id, e.path
from commands as c
left join _matched_entries as m on m.command_id = c.id
cross join entries as e on e.id = coalesce(m.entry_id, c.entry_id);

-- The files of a command that get or set shows, or a map, and that have no summary of their own yet.
create view _unsummarized_files as
select t.command_id, t.entry_id
from _command_entries as t
cross join commands as m on m.id = t.command_id
cross join entries as e on e.id = t.entry_id and e.kind = 'file'
cross join contents as c on c.id = e.content_id and c.cut is not null and c.summary is null
where coalesce(json_extract(m.attributes, '$.visibility'), '') <> 'archived'
    and json_extract(m.attributes, '$.manifest') is null
    and (
        json_extract(m.attributes, '$.line', '$.limit', '$.char', '$.chars') = '[null,null,null,null]'
        or json_extract(m.attributes, '$.map') is not null
    );

-- The entries of a command as lists show them: their characters or why they cannot be read, and the room for the list.
create view _entry_lines as
select
    t.command_id,
    t.path,
    c.chars,
    case when c.id is null then (select u.short from _unreadable_files as u where u.entry_id = t.entry_id) end as short,
    l.chars_per_token,
    case when m.writer = 'model' then (select o.room from _list_rooms as o where o.loop_id = m.loop_id) end as room
from commands as m
cross join _command_entries as t on t.command_id = m.id
cross join run_views as w on w.run_id = m.run_id and w.entry_id = t.entry_id
cross join entries as e on e.id = t.entry_id
left join contents as c on c.id = coalesce(w.content_id, e.content_id)
left join loops as l on l.id = m.loop_id;

-- Append a list of a command's entries to its message: insert into _list_entries (command_id, heading). With a heading,
-- which stands in place of the message, the list is all that the command does.
create view _list_entries as
select id as command_id, null as heading
from commands
where false;

-- triggers

-- The list begins with the number of entries and is sorted by path.
create trigger _list_entries__list
instead of insert on _list_entries
begin
    update commands
    set state = case when new.heading is null then state else 'resolved' end,
        message = coalesce(new.heading, message, '')
        || (select count(*) from _command_entries where command_id = new.command_id) || ' matched'
        || coalesce(
            char(10) || (
                select manifest_text(json_group_array(json_array(path, chars, short)), max(chars_per_token), max(room))
                from (select * from _entry_lines where command_id = new.command_id order by path)
            ), ''
        )
    where id = new.command_id;
end;
