-- Faults: why a command cannot be done, now that its entries are known.
-- They are a list of rules, checked from top to bottom; the first one that applies gives the outcome and the message.
-- spec: @dispatch_path @writer_tiers @failure_reporting

-- tables

-- The actions that work on entries, and the words of their faults; the file of each tool adds its row.
create table if not exists _entry_actions (
    action text primary key,
    -- what is told when its arguments are missing: what they are, and an example
    needs text not null,
    example text not null,
    -- the verb in the refusal of an entry that the writer may not write; null: the action writes no entry that it finds
    forbidden text
) strict, without rowid;

-- views

-- Entries of a command that its writer may not write.
create view _forbidden_entries as
select t.command_id, t.path
from _command_entries as t
cross join commands as c on c.id = t.command_id
cross join entries as e on e.id = t.entry_id
where not exists (select 1 from _scheme_writers as w where w.scheme = e.kind and w.writer = c.writer);

-- What a queued command asks for, as _faults reads it. is_manifest: it only lists; is_slice: lines or characters are named;
-- decides: it decides on a proposal; keeps_bodies: a set that changes visibility or
-- attributes alone; found: it has an entry.
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
    json_extract(c.attributes, '$.manifest') is not null as is_manifest,
    json_extract(c.attributes, '$.line', '$.limit', '$.char', '$.chars') <> '[null,null,null,null]'
    and json_extract(c.attributes, '$.map') is null as is_slice,
    d.command_id is not null as decides,
    -- a set without a body changes entries that exist
    c.action = 'set' and c.body is null and path_scheme(c.path) is not 'run' and d.command_id is null as keeps_bodies,
    c.is_pattern,
    f.filter,
    exists (select 1 from _command_entries as t where t.command_id = c.id) as found,
    a.needs,
    a.example,
    a.forbidden
from commands as c
cross join _entry_actions as a on a.action = c.action
cross join _command_filters as f on f.command_id = c.id
left join _deciding_commands as d on d.command_id = c.id
where c.state = 'queued';

-- Why a command cannot be done, now that its entries are known: 'outcome: message', or null. With manifest only the
-- pattern and the filter are checked. A filter that is an invalid JSONPath or XPath is no fault where some body
-- contains it as a plain text.
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
            when c.is_manifest then null
            when case
                    when coalesce(c.path, '') <> ''
                        then c.action in ('cp', 'mv')
                            and c.destination is null
                            and not (c.action = 'mv' and c.visibility is not null)
                    when c.action = 'get' then c.tags is null
                    -- a patch names its files, so the set needs no path
                    when c.action = 'set' and c.writer = 'model'
                        then coalesce(patch_parse(c.body) ->> '$.form', '') not in ('codex', 'unified')
                    else 1
                end
                then 'validation: ' || c.action || ' needs ' || c.needs || ': ' || c.example || '.'
            when c.action = 'get' and c.is_slice and (c.is_pattern or c.filter is not null)
                then 'validation: 400: line, limit and chars read one entry; name it exactly, without a pattern or a filter.'
            -- without this rule a misspelt visibility would be ignored
            when c.action <> 'rm' and c.visibility not in (select name from visibilities)
                then 'validation: Invalid visibility "' || c.visibility || '": it is visible, summarized or archived.'
            when c.decides and not exists (
                select 1 from proposals as p where p.run_id = c.run_id and p.path = c.path and p.state = 'proposed'
            )
                then 'conflict: ' || c.path || ': its proposal is no longer open'
            -- a get with a pattern may find nothing
            when not c.found
                and (
                    c.action in ('rm', 'cp', 'mv')
                    or c.keeps_bodies
                    -- a model's get of a page that is not there fetches it
                    or (
                        c.action = 'get'
                        and not c.is_pattern
                        and (c.writer <> 'model' or coalesce(path_scheme(c.path), '') not in ('http', 'https', 'mcp'))
                    )
                )
                then 'not_found: ' || c.path || ' not found'
                    || coalesce((select n.hint from _near_files as n where n.command_id = c.command_id), '')
        end,
        case
            -- reads need no permission; a get with a visibility other than visible is a write
            when not c.is_manifest
                and (c.action in ('rm', 'mv') or (c.action = 'get' and c.visibility <> 'visible') or c.keeps_bodies)
                then (
                    select 'permission: 403: writer "' || c.writer || '" ' || c.forbidden || ' ' || group_concat(path, ', ')
                    from _forbidden_entries
                    where command_id = c.command_id
                )
        end,
        case
            when c.is_manifest then null
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
            -- the file exists, and its text cannot be read
            when (c.action in ('cp', 'mv') and c.destination is not null) or (c.action = 'get' and not c.is_pattern)
                then (
                    select u.outcome || ': ' || u.message
                    from _command_entries as t
                    cross join _unreadable_files as u on u.entry_id = t.entry_id
                    where t.command_id = c.command_id and (c.action <> 'get' or u.is_picture is not 1)
                )
        end,
        case
            when not c.is_manifest and c.action in ('cp', 'mv') and c.path = c.destination
                then 'conflict: ' || c.path || ' and its destination are the same'
        end
    ) as fault
from _requests as c;
