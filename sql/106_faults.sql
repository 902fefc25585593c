-- Faults: why a command that may be performed cannot be, now that its targets are known.
-- One rule for all actions that work on entries. What each of them needs, and the words in which it is told, are rows of
-- entry_actions; the least rank is told, and nothing was done by then.
-- spec: @dispatch_path @patterns @failure_reporting

-- views

-- Patterns that could not be used: what is wrong is told instead of "nothing there", and nothing is done by halves. A query
-- that is not valid may still be a plain text that was found.
create view pattern_faults as
select command_id, message
from (
    select
        s.command_id,
        coalesce(
            case when s.is_pattern then pattern_error(c.path) end,
            case
                when pattern_kind(s.filter) not in ('jsonpath', 'xpath')
                    or not exists (select 1 from command_targets as t where t.command_id = c.id)
                    then pattern_error(s.filter)
            end
        ) as message
    from command_patterns as s
    join commands as c on c.id = s.command_id
    where c.action in (select action from entry_actions) and (s.is_pattern or s.filter is not null)
)
where message is not null;

-- Targets that are not the writer's to change.
create view forbidden_targets as
select t.command_id, t.path
from command_targets as t
cross join commands as c on c.id = t.command_id
cross join entries as e on e.id = t.entry_id
where not exists (select 1 from scheme_writers as w where w.scheme = e.kind and w.writer = c.writer);

-- Commands by what they ask for: those that must find something, those that change what they find, and those that read the
-- one entry that they name.
create view entry_commands as
select
    c.id as command_id,
    c.writer,
    c.action,
    c.path,
    c.destination,
    c.body,
    json_extract(c.attributes, '$.visibility') as visibility,
    json_extract(c.attributes, '$.tags') as tags,
    coalesce(json_extract(c.attributes, '$.line'), json_extract(c.attributes, '$.limit')) is not null as is_slice,
    -- a set without a body is about what is there
    c.action = 'set' and c.body is null and path_scheme(c.path) is not 'run'
    and not exists (select 1 from deciding_commands as d where d.command_id = c.id) as is_move,
    a.needs,
    a.example,
    a.forbidden
from commands as c
cross join entry_actions as a on a.action = c.action;

-- What is wrong with a command, worst first by rank.
create view command_faults as
select
    c.command_id,
    10 as rank,
    'validation' as outcome,
    c.action || ' needs ' || c.needs || ': ' || c.example || '.' as message
from entry_commands as c
where case
        when coalesce(c.path, '') <> ''
            then c.action in ('cp', 'mv') and c.destination is null and not (c.action = 'mv' and c.visibility is not null)
        when c.action = 'get' then c.tags is null
        -- a patch names its files itself
        when c.action = 'set' and c.writer = 'model'
            then coalesce(patch_parse(c.body) ->> '$.form', '') not in ('codex', 'unified')
        else 1
    end
union all
select c.command_id, 20, 'validation', '400: line and limit read one entry; name it exactly, without a pattern or a filter.'
from entry_commands as c
where c.action = 'get'
    and c.is_slice
    and exists (
        select 1 from command_patterns as p where p.command_id = c.command_id and (p.is_pattern or p.filter is not null)
    )
union all
-- a misspelt visibility must not be taken for none
select c.command_id, 30, 'validation',
    'Invalid visibility "' || c.visibility || '": it is visible, summarized or archived.'
from entry_commands as c
where c.action <> 'rm' and c.visibility not in (select name from visibilities)
union all
select c.command_id, 40, 'conflict', c.path || ': nothing is proposed there any more'
from commands as m
cross join entry_commands as c on c.command_id = m.id
where c.action = 'set'
    and exists (select 1 from deciding_commands as d where d.command_id = c.command_id)
    and not exists (select 1 from proposals as p where p.run_id = m.run_id and p.path = m.path and p.state = 'proposed')
union all
select c.command_id, 50, 'not_found', c.path || ' not found'
from entry_commands as c
where (c.action in ('get', 'rm', 'cp', 'mv') or c.is_move)
    and not exists (select 1 from command_targets as t where t.command_id = c.command_id)
    -- of many none is an answer, where one only reads
    and (
        c.action <> 'get'
        or exists (select 1 from command_patterns as p where p.command_id = c.command_id and not p.is_pattern)
    )
union all
-- to read is open to all, to put out of sight is a write
select c.command_id, 60, 'permission',
    '403: writer "' || c.writer || '" ' || c.forbidden || ' '
    || (select group_concat(path, ', ') from forbidden_targets where command_id = c.command_id)
from entry_commands as c
where (c.action in ('rm', 'mv') or (c.action = 'get' and c.visibility <> 'visible') or c.is_move)
    and exists (select 1 from forbidden_targets as f where f.command_id = c.command_id)
union all
select c.command_id, 70, 'validation', case c.action
        when 'set' then 'files are written one at a time; name one path.'
        else c.action || ' takes one entry at a time; ' || c.path || ' is a pattern.'
    end
from entry_commands as c
where (c.destination is not null and c.action in ('cp', 'mv') or c.body is not null and c.action = 'set')
    and exists (select 1 from command_patterns as p where p.command_id = c.command_id and p.is_pattern)
    and (
        c.action <> 'set'
        or (
            path_scheme(c.path) is null
            and (
                c.writer <> 'model'
                or coalesce(patch_parse(c.body) ->> '$.form', '')
                    not in ('codex', case when c.path is null then 'unified' else 'codex' end)
            )
        )
    )
union all
-- a file that is there and has no text
select c.command_id, 80, u.outcome, u.message
from entry_commands as c
cross join command_targets as t on t.command_id = c.command_id
cross join unreadable_entries as u on u.entry_id = t.entry_id
where (c.action in ('cp', 'mv') and c.destination is not null)
    or (
        c.action = 'get'
        and exists (select 1 from command_patterns as p where p.command_id = c.command_id and not p.is_pattern)
    )
union all
select c.command_id, 90, 'conflict', c.path || ' and its destination are the same'
from entry_commands as c
where c.action in ('cp', 'mv') and c.path = c.destination;
