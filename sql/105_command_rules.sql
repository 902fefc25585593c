-- Command rules: which entries a command is about, and why it is refused or cannot be done.
-- Refusals are asked before anything is looked for, faults when the entries are known; both are asked from top to bottom and
-- the first that holds is told. A path that has the shape of a pattern means many, unless an entry is called just that; a
-- filter keeps those whose body holds it, tags those that have each of them.
-- spec: @dispatch_path @patterns @writer_tiers @failure_reporting

-- tables

-- The actions that work on entries, and the words in which their faults are told; each tool's file adds its own.
create table if not exists _entry_actions (
    action text primary key,
    -- what it cannot do without, and how it is written
    needs text not null,
    example text not null,
    -- told where an entry that was found is not the writer's to change; null: it is not changed
    forbidden text
) strict, without rowid;

-- The entries that a pattern found, while its command is performed.
create table if not exists _matched_entries (
    command_id integer not null,
    entry_id integer not null,
    path text not null,
    primary key (command_id, entry_id)
) strict, without rowid;

-- views

-- The text that the body of a command's entries must hold, where it names one.
create view _command_filters as
select
    id as command_id,
    case
        when action in ('get', 'rm') and path is not null then nullif(body, '')
        else json_extract(attributes, '$.filter')
    end as filter
from commands;

-- What the path of a command means: many entries, or the one of that name that its filter fits. A path that looks like a
-- pattern is the name of an entry where there is one of that name.
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

-- All entries that a command's pattern, filter and tags find. The literal beginning of the pattern bounds what is read.
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
    and (c.path is not null or json_extract(c.attributes, '$.tags') is not null)
    and (c.path is null or (path_scheme(c.path) is e.scheme and pattern_match(c.path, e.path)))
    and (s.filter is null or pattern_search(s.filter, b.body) > 0)
    and (
        c.action <> 'get'
        or json_extract(c.attributes, '$.tags') is null
        or tags_match(
            json_extract(c.attributes, '$.tags'),
            json_extract(coalesce((select attributes from _entry_metadata where id = v.metadata_id), e.attributes), '$.tags')
        )
    );

-- The entries that a command works on, once they were looked for.
create view _command_entries as
select c.id as command_id, c.entry_id, e.path
from commands as c
cross join entries as e on e.id = c.entry_id
where c.entry_id is not null
union all
select command_id, entry_id, path
from _matched_entries;

-- The entries of a command, a line each with what it costs, as lists tell them.
create view _entry_lines as
select
    t.command_id,
    t.path,
    '* ' || t.path || ' - ' || coalesce(
        (select u.short from _unreadable_files as u where c.id is null and u.entry_id = t.entry_id),
        token_estimate(c.chars, (select chars_per_token from loops where id = m.loop_id)) || ' tokens'
    ) as line
from commands as m
cross join _command_entries as t on t.command_id = m.id
join run_views as w on w.run_id = m.run_id and w.entry_id = t.entry_id
join entries as e on e.id = t.entry_id
left join contents as c on c.id = coalesce(w.content_id, e.content_id);

-- Commands that decide on a proposal: a state set on its path, by anybody but the model.
create view _deciding_commands as
select c.id as command_id
from commands as c
where c.action = 'set'
    and c.writer <> 'model'
    and json_extract(c.attributes, '$.state') is not null
    and exists (select 1 from proposals as p where p.run_id = c.run_id and p.path = c.path);

-- The paths at which a command writes and its writer may not.
create view _forbidden_paths as
select w.command_id, w.path
from (
    select id as command_id, path, writer
    from commands
    where action in ('set', 'rm', 'mv') and path is not null
    union all
    select id, destination, writer
    from commands
    where action in ('cp', 'mv') and destination is not null
) as w
where not path_is_pattern(w.path)
    and not exists (
        select 1
        from scheme_writers as s
        where s.writer = w.writer
            and s.scheme = coalesce((select name from schemes where name = coalesce(path_scheme(w.path), 'file')), '*')
    );

-- Why a command may not be performed at all, whatever it would find: 'outcome: message', or null.
create view _refusals as
select
    c.id as command_id,
    coalesce(
        -- what stands behind a failed command is not done; an update is heard all the same
        case
            when c.turn_id is not null and c.action <> 'update'
                then (
                    select 'aborted: Aborted: the <' || f.action || '> before it failed.'
                    from commands as f
                    where f.turn_id = c.turn_id and f.state in ('failed', 'cancelled')
                    order by f.ordinal
                    limit 1
                )
        end,
        (select v.outcome || ': ' || v.message from vetoes as v where v.command_id = c.id),
        case
            when c.writer <> 'model'
                or exists (select 1 from loop_tools as o where o.loop_id = c.loop_id and o.name = c.action) then null
            when c.action in (select name from tools)
                then 'permission: The tool <' || c.action || '> is not open in this loop (mode ' || l.mode || ').'
            else 'validation: There is no tool <' || c.action || '>. Tools: ' || (
                    select group_concat(name, ', ')
                    from (select name from loop_tools where loop_id = c.loop_id order by ordinal)
                ) || '.'
        end,
        case
            when c.action in (select action from _entry_actions)
                then 'validation: Invalid path: ' || coalesce(path_error(c.path), path_error(c.destination))
        end,
        -- a record may be hidden, its text never changes; the text of a decision is no text of the record
        case
            when c.writer in ('model', 'client')
                and (
                    (c.action = 'set' and path_scheme(c.path) = 'log' and c.body is not null)
                    or (c.action in ('cp', 'mv') and path_scheme(c.destination) = 'log')
                )
                and not exists (select 1 from _deciding_commands as d where d.command_id = c.id)
                then 'method_not_allowed: log:// is a record and cannot be rewritten; keep what you learned in known://.'
        end,
        -- what only reads is never refused; to decide is open to everybody
        (
            select
                'permission: 403: writer "' || c.writer || '" not permitted for scheme "'
                || coalesce(path_scheme(w.path), 'file') || '"'
            from _forbidden_paths as w
            where w.command_id = c.id and not exists (select 1 from _deciding_commands as d where d.command_id = c.id)
        ),
        (select r.refusal from _repeated_processes as r where r.command_id = c.id),
        case
            when c.writer = 'model'
                and l.mode = 'ask'
                and json_extract(c.attributes, '$.manifest') is null
                and (
                    (c.action = 'set' and c.body is not null and path_scheme(c.path) is null)
                    or (c.action = 'rm' and path_scheme(c.path) is null)
                    or (c.action = 'mv' and c.destination is not null and path_scheme(c.path) is null)
                    or (c.action in ('cp', 'mv') and c.destination is not null and path_scheme(c.destination) is null)
                )
                then 'permission: Rejected: ask mode changes no file ('
                    || coalesce(c.destination, c.path, 'a patch') || ').'
        end
    ) as refusal
from commands as c
left join loops as l on l.id = c.loop_id;

-- Entries of a command that are not its writer's to change.
create view _forbidden_entries as
select t.command_id, t.path
from _command_entries as t
cross join commands as c on c.id = t.command_id
cross join entries as e on e.id = t.entry_id
where not exists (select 1 from scheme_writers as w where w.scheme = e.kind and w.writer = c.writer);

-- What a command asks for: what it must find, and whether it changes what it finds.
create view _requests as
select
    c.id as command_id,
    c.run_id,
    c.writer,
    c.action,
    c.path,
    c.destination,
    c.body,
    json_extract(c.attributes, '$.visibility') as visibility,
    json_extract(c.attributes, '$.tags') as tags,
    json_extract(c.attributes, '$.manifest') is not null as lists,
    coalesce(json_extract(c.attributes, '$.line'), json_extract(c.attributes, '$.limit')) is not null as is_slice,
    d.command_id is not null as decides,
    -- a set without a body is about what is there
    c.action = 'set' and c.body is null and path_scheme(c.path) is not 'run' and d.command_id is null as is_move,
    c.is_pattern,
    f.filter,
    exists (select 1 from _command_entries as t where t.command_id = c.id) as found,
    a.needs,
    a.example,
    a.forbidden
from commands as c
cross join _entry_actions as a on a.action = c.action
cross join _command_filters as f on f.command_id = c.id
left join _deciding_commands as d on d.command_id = c.id;

-- Why a command cannot be done, now that its entries are known: 'outcome: message', or null. A command that only lists what
-- it finds has no fault but a pattern that is not valid. A query that is not valid is no fault where it was found as a text.
create view _faults as
select
    c.command_id,
    coalesce(
        case when c.is_pattern then 'validation: ' || pattern_error(c.path) end,
        case
            when c.filter is not null and (pattern_kind(c.filter) not in ('jsonpath', 'xpath') or not c.found)
                then 'validation: ' || pattern_error(c.filter)
        end,
        case
            when c.lists then null
            when case
                    when coalesce(c.path, '') <> ''
                        then c.action in ('cp', 'mv')
                            and c.destination is null
                            and not (c.action = 'mv' and c.visibility is not null)
                    when c.action = 'get' then c.tags is null
                    -- a patch names its files itself
                    when c.action = 'set' and c.writer = 'model'
                        then coalesce(patch_parse(c.body) ->> '$.form', '') not in ('codex', 'unified')
                    else 1
                end
                then 'validation: ' || c.action || ' needs ' || c.needs || ': ' || c.example || '.'
            when c.action = 'get' and c.is_slice and (c.is_pattern or c.filter is not null)
                then 'validation: 400: line and limit read one entry; name it exactly, without a pattern or a filter.'
            -- a misspelt visibility must not be taken for none
            when c.action <> 'rm' and c.visibility not in (select name from visibilities)
                then 'validation: Invalid visibility "' || c.visibility || '": it is visible, summarized or archived.'
            when c.decides and not exists (
                select 1 from proposals as p where p.run_id = c.run_id and p.path = c.path and p.state = 'proposed'
            )
                then 'conflict: ' || c.path || ': nothing is proposed there any more'
            -- of many none is an answer, where one only reads
            when (c.action in ('rm', 'cp', 'mv') or c.is_move or (c.action = 'get' and not c.is_pattern)) and not c.found
                then 'not_found: ' || c.path || ' not found'
            -- to read is open to all, to put out of sight is a write
            when (c.action in ('rm', 'mv') or (c.action = 'get' and c.visibility <> 'visible') or c.is_move)
                and exists (select 1 from _forbidden_entries as f where f.command_id = c.command_id)
                then 'permission: 403: writer "' || c.writer || '" ' || c.forbidden || ' '
                    || (select group_concat(path, ', ') from _forbidden_entries where command_id = c.command_id)
            when c.action in ('cp', 'mv') and c.destination is not null and c.is_pattern
                then 'validation: ' || c.action || ' takes one entry at a time; ' || c.path || ' is a pattern.'
            when c.action = 'set'
                and c.body is not null
                and path_scheme(c.path) is null
                and c.is_pattern
                and (
                    c.writer <> 'model'
                    or coalesce(patch_parse(c.body) ->> '$.form', '')
                        not in ('codex', case when c.path is null then 'unified' else 'codex' end)
                )
                then 'validation: files are written one at a time; name one path.'
            -- a file that is there and has no text
            when (c.action in ('cp', 'mv') and c.destination is not null) or (c.action = 'get' and not c.is_pattern)
                then (
                    select u.outcome || ': ' || u.message
                    from _command_entries as t
                    cross join _unreadable_files as u on u.entry_id = t.entry_id
                    where t.command_id = c.command_id
                )
        end,
        case
            when not c.lists and c.action in ('cp', 'mv') and c.path = c.destination
                then 'conflict: ' || c.path || ' and its destination are the same'
        end
    ) as fault
from _requests as c;

-- Add a list of what a command found to what is told of it: insert into _list_entries (command_id).
create view _list_entries as
select id as command_id
from commands
where false;

-- Find the entries that a command is about, and settle what can be settled when they are known: insert into _find_entries
-- (command_id).
create view _find_entries as
select id as command_id
from commands
where false;

-- triggers

create trigger _find_entries__find
instead of insert on _find_entries
begin
    update commands
    set (is_pattern, entry_id) = (select is_pattern, entry_id from _command_paths where command_id = new.command_id)
    where id = new.command_id;
    insert into _matched_entries (command_id, entry_id, path)
    select command_id, entry_id, path
    from _found_entries
    where command_id = new.command_id;
    insert into _fail_command (command_id, fault)
    select command_id, fault
    from (select command_id, fault from _faults where command_id = new.command_id limit 1)
    where fault is not null;
    -- a manifest lists and changes nothing, whatever the action
    update commands
    set state = 'resolved',
        message = 'MANIFEST ' || action || ' path="' || coalesce(path, '**') || '"'
            || coalesce((select ' filter="' || filter || '"' from _command_filters where command_id = commands.id), '')
            || ': '
    where id = new.command_id and state = 'queued' and json_extract(attributes, '$.manifest') is not null;
    insert into _list_entries (command_id)
    select id
    from commands
    where id = new.command_id and state = 'resolved';
end;

create trigger _list_entries__list
instead of insert on _list_entries
begin
    update commands
    set message = coalesce(message, '')
        || (select count(*) from _command_entries where command_id = new.command_id) || ' matched'
        || coalesce(
            char(10) || (
                select group_concat(line, char(10))
                from (select line from _entry_lines where command_id = new.command_id order by path)
            ), ''
        )
    where id = new.command_id;
end;
