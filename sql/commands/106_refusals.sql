-- Refusals: why a command is refused before its entries are looked up.
-- The reasons are a list of rules, checked from top to bottom; the first one that applies gives the outcome and the message.
-- spec: @dispatch_path @writer_tiers @failure_reporting

-- views

-- Commands that decide on a proposal: a set with a state, on the path of a proposal, by any writer but the model. A
-- state that is no decision is that of the entry.
create view _deciding_commands as
select
    c.id as command_id,
    case json_extract(c.attributes, '$.state')
        when 'resolved' then 'accept'
        when 'cancelled' then 'reject'
        when 'failed' then 'error'
    end as decision
from commands as c
where c.action = 'set'
    and c.writer <> 'model'
    and json_extract(c.attributes, '$.state') is not null
    and exists (select 1 from proposals as p where p.run_id = c.run_id and p.path = c.path);

-- Paths that a command writes though the writer may not write their scheme.
create view _forbidden_paths as
select c.id as command_id, w.value as path
from commands as c
cross join json_each(json_array(
    case when c.action in ('set', 'rm', 'mv') then c.path end, case when c.action in ('cp', 'mv') then c.destination end
)) as w
where w.value is not null
    and not path_is_pattern(w.value)
    and not exists (
        select 1
        from _scheme_writers as s
        where s.writer = c.writer
            and s.scheme = coalesce((select name from schemes where name = coalesce(path_scheme(w.value), 'file')), '*')
    );

-- Commands of a turn after which the rest of it is aborted: those that failed or were cancelled. One of a tool that only
-- reads has changed nothing, so it aborts nothing, unless a person rejected it or the loop was aborted.
create view _aborting_commands as
select turn_id, ordinal, action
from commands
where state in ('failed', 'cancelled')
    and not (
        action in (select name from tools where reads)
        and outcome not in ('rejected', 'cancelled')
    );

-- The tools whose arguments are read by whoever performs them. A part gives their names.
create view _own_readers as
select null as name
where false;

-- The attributes of the engine's own tools that are to be numbers and are none. A number beyond its bounds counts as the
-- nearest within them.
create view _wrong_numbers as
select
    c.id as command_id,
    'Invalid ' || p.key || ': it '
    || value_error(substr(trim(a.value), 1, 80), n.kind, p.value ->> '$.minimum', p.value ->> '$.maximum')
    || ' (' || (p.value ->> '$.description') || ').' as fault
from commands as c
cross join tools as t on t.name = c.action and t.name not in (select name from _own_readers)
cross join json_each(c.attributes) as a on a.type not in ('integer', 'real', 'null')
cross join json_each(t.schema, '$.properties') as p on p.key = a.key and p.value ->> '$.enum' is null
cross join (select 'integer' as type, 'whole' as kind union all select 'number', 'number') as n
    on n.type = p.value ->> '$.type'
where trim(a.value) <> ''
    and value_error(trim(a.value), n.kind, null, null) is not null;

-- Why the tool of a queued command is not open in its loop.
create view _closed_tools as
select
    c.id as command_id,
    case
        when l.config ->> ('$."close:' || c.action || '"') is not null
            then '<' || c.action || '> is not a tool of this task'
        when l.mode not in (select value from json_each(t.modes))
            then '<' || c.action || '> is not allowed in ' || l.mode || ' mode'
        when f.flag is not null then '<' || c.action || '> is not allowed for this prompt (' || f.flag || ')'
        when c.action not in ('subtask', 'execute')
            then '<' || c.action || '> is not available now: it is not connected, or not set up'
        when r.role not in ('main', 'subtask', 'step')
            then 'This run does part of another run''s work (' || r.role || '), so it cannot delegate'
        when d.max_depth = 0 then 'This run may not delegate (max_depth is 0)'
        when r.depth >= d.max_depth
            then 'This run is already ' || counted(r.depth, 'level') || ' deep, and max_depth is ' || d.max_depth
                || ', so it cannot delegate further'
        else 'This run cannot delegate: its driver or its model does not support it'
    end || '. Use one of: '
    || coalesce(
        (select group_concat(name, ', ') from (select name from _loop_tools where loop_id = l.id order by ordinal)),
        'nothing'
    ) || '.' as reason
from commands as c
join tools as t on t.name = c.action
join loops as l on l.id = c.loop_id
join runs as r on r.id = c.run_id
join (
    select
        id as loop_id,
        cast(coalesce(
            config ->> '$.max_depth', (select value from settings where name = 'max_depth')
        ) as integer) as max_depth
    from loops
) as d on d.loop_id = l.id
left join _loop_flags as f on f.loop_id = l.id and f.flag in (select value from json_each(t.hidden_by))
where c.state = 'queued'
group by c.id;

-- Why a queued command is not performed, whatever entries there are: 'outcome: message', or null.
create view _refusals as
select
    c.id as command_id,
    coalesce(
        -- an update runs even after a failure; a command that was cut off is told both
        case
            when c.turn_id is not null and c.action <> 'update'
                then (
                    select
                        'aborted: Aborted: the <' || f.action || '> before it failed.'
                        || coalesce(
                            (
                                select char(10) || v.message
                                from vetoes as v
                                where v.command_id = c.id and v.outcome = 'truncated'
                            ), ''
                        )
                    from _aborting_commands as f
                    where f.turn_id = c.turn_id
                    order by f.ordinal
                    limit 1
                )
        end,
        (select v.outcome || ': ' || v.message from vetoes as v where v.command_id = c.id),
        case
            when c.writer <> 'model'
                or exists (select 1 from _loop_tools as o where o.loop_id = c.loop_id and o.name = c.action) then null
            when c.action in (select name from tools)
                then 'permission: ' || (select w.reason from _closed_tools as w where w.command_id = c.id)
            else 'validation: There is no tool <' || c.action || '>. Tools: ' || (
                    select group_concat(name, ', ')
                    from (select name from _loop_tools where loop_id = c.loop_id order by ordinal)
                ) || '.'
        end,
        case
            when c.action in (select action from _entry_actions)
                then 'validation: Invalid path: ' || coalesce(path_error(c.path), path_error(c.destination))
        end,
        -- the body of a log:// entry is immutable, its visibility is not; the body of a decision goes to the proposal
        case
            when c.writer in ('model', 'client')
                and (
                    (c.action = 'set' and c.body is not null and path_scheme(c.path) = 'log')
                    or (c.action in ('cp', 'mv') and path_scheme(c.destination) = 'log')
                )
                and d.command_id is null
                then 'method_not_allowed: log:// is a record and cannot be rewritten; keep what you learned in known://.'
        end,
        -- writes need permission on the scheme; reads do not, and decisions are exempt
        (
            select
                case
                    when path_scheme(w.path) is null or path_scheme(w.path) in (select name from schemes)
                        then 'permission: 403: writer "' || c.writer || '" not permitted for scheme "'
                            || coalesce(path_scheme(w.path), 'file') || '"'
                    else 'permission: there is no scheme "' || path_scheme(w.path) || '", so nothing was written. Write a '
                        || 'fact to known://NAME, or a file to its path.'
                end
            from _forbidden_paths as w
            where w.command_id = c.id and d.command_id is null
        ),
        (select 'validation: ' || w.fault from _wrong_numbers as w where w.command_id = c.id limit 1),
        (select r.refusal from _repeated_processes as r where r.command_id = c.id),
        case
            when c.writer = 'model'
                and l.mode = 'ask'
                and json_extract(c.attributes, '$.manifest') is null
                and case c.action
                    when 'set' then c.body is not null and path_scheme(c.path) is null
                    when 'rm' then path_scheme(c.path) is null
                    when 'cp' then c.destination is not null and path_scheme(c.destination) is null
                    when 'mv'
                        then c.destination is not null
                            and (path_scheme(c.path) is null or path_scheme(c.destination) is null)
                end
                then 'permission: Rejected: ask mode changes no file ('
                    || coalesce(case when path_scheme(c.destination) is null then c.destination end, c.path, 'a patch')
                    || ').'
        end
    ) as refusal
from commands as c
left join loops as l on l.id = c.loop_id
left join _deciding_commands as d on d.command_id = c.id
where c.state = 'queued';
