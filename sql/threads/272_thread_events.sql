-- Events of a run that threads can wait for, request or block.
-- What a command asks for is offered before it is performed; what came of it is a fact, read from the record: the
-- results of effects, and the commands of the turn that are settled.
-- spec: @thread_events

-- views

-- The command lines of a run, as a shell reads them. The body of a command of an earlier turn may stand in its response.
create view _thread_command_lines as
select c.id as command_id, c.run_id, c.line, shell_read(c.line) as reading
from (
    select
        m.id,
        m.run_id,
        substr(
            trim(
                coalesce(m.body, (select p.target from proposals as p where p.command_id = m.id limit 1)),
                char(32, 9, 10, 13)
            ), 1, 2000
        ) as line
    from commands as m
    where m.action in ('sh', 'env')
) as c;

-- The command lines that run tests. 'clear': the tests are the last program of the line, so its exit code is theirs.
create view _test_lines as
select
    command_id,
    case when last_test = last_program and readable and instr(line, '! ') = 0 then 'clear' else 'unclear' end as test
from (
    select
        l.command_id,
        l.line,
        json_extract(l.reading, '$.readable') as readable,
        max(j.key) as last_program,
        max(
            case
                when exists (
                    select 1
                    from test_programs as k
                    where json_extract(j.value, '$.program') glob k.program
                        and json_extract(j.value, '$.arguments') glob k.arguments
                )
                    then j.key
            end
        ) as last_test
    from _thread_command_lines as l
    cross join json_each(l.reading, '$.programs') as j
    group by l.command_id
)
where last_test is not null;

-- The files of the project that a command line runs, as programs or as scripts of an interpreter. Behind a cd any file
-- counts whose path ends as the line names it.
create view _run_scripts as
select distinct l.command_id, l.run_id, e.id as entry_id, e.path, e.content_id
from _thread_command_lines as l
cross join runs as r on r.id = l.run_id
cross join _run_roots as o on o.run_id = l.run_id
cross join json_each(l.reading, '$.programs') as j
cross join json_each(j.value, '$.scripts') as s
cross join entries as e on e.scope = 'project:' || r.project_id and e.kind = 'file' and e.content_id is not null
where e.path = path_locate(s.value, o.roots)
    or (
        exists (
            select 1
            from json_each(l.reading, '$.programs') as d
            where d.key < j.key and json_extract(d.value, '$.program') in ('cd', 'pushd')
        )
        and substr('/' || e.path, -length('/' || path_locate(replace(s.value, '../', ''), o.roots)))
        = '/' || path_locate(replace(s.value, '../', ''), o.roots)
    );

-- The first file that a command line runs and whose present text the run has neither seen nor written.
create view _unread_scripts as
select f.command_id, min(f.path) as path
from _run_scripts as f
where (select o.chars from contents as o where o.id = f.content_id) > 0
    and not exists (
        select 1
        from _shown_files as s
        where s.run_id = f.run_id and s.entry_id = f.entry_id and s.present
    )
group by f.command_id;

-- The event that a command of a model is before it is performed. An update that says done is the end of its loop, unless
-- a command before it has failed: then it ends nothing.
create view _offered_commands as
select
    c.id as command_id,
    c.run_id,
    c.turn_id,
    c.loop_id,
    case when u.finishes then 'finish' else 'command' end as event,
    -- without a null
    json_patch('{}', case
        when u.finishes
            then json_object('status', u.status, 'open', cast(u.open as text))
        else json_object(
            'action', c.action,
            'path', c.path,
            'to', c.destination,
            'line', (select l.line from _thread_command_lines as l where l.command_id = c.id),
            'test', (select t.test from _test_lines as t where t.command_id = c.id),
            'unread', (select s.path from _unread_scripts as s where s.command_id = c.id),
            'status', case c.action when 'update' then u.status end
        )
    end) as fields
from commands as c
join (
    select
        m.id as command_id,
        cast(coalesce(json_extract(m.attributes, '$.status'), 102) as text) as status,
        m.action = 'update'
        and cast(coalesce(json_extract(m.attributes, '$.status'), 102) as text) in ('200', '204')
        and not exists (
            select 1
            from commands as o
            where o.turn_id = m.turn_id and o.state in ('failed', 'cancelled') and o.action <> 'update'
        ) as finishes,
        (select count(*) from proposals as p where p.run_id = m.run_id and p.state = 'proposed') as open
    from commands as m
) as u on u.command_id = c.id;

-- The facts that the threads of a run have not been told, and their order: what came of its effects, and the commands of
-- its open turn that are settled.
create view _untold_facts as
select
    k.run_id,
    m.id as command_id,
    x.id as result_id,
    case p.kind when 'process' then 'ran' else 'edit' end as event,
    json_patch('{}', case p.kind
        when 'process'
            then json_object(
                'line', substr(trim(p.target, char(32, 9, 10, 13)), 1, 2000),
                'exit', coalesce(cast(json_extract(x.detail, '$.exit_code') as text), x.outcome, x.state),
                'test', (select t.test from _test_lines as t where t.command_id = m.id)
            )
        else json_object('path', p.target, 'change', case p.kind when 'file_delete' then 'removed' else 'written' end)
    end) as fields
from _thread_clocks as k
cross join effect_results as x on x.id > k.result_id
cross join effects as f on f.id = x.effect_id and f.run_id = k.run_id
cross join commands as m on m.id = f.command_id and m.turn_id is not null
cross join proposals as p on p.id = f.proposal_id
where p.kind = 'process' or (p.kind in ('file_write', 'file_delete') and x.state = 'resolved')
union all
select
    k.run_id,
    c.id,
    -- behind the results of its effects
    9e18,
    case c.state when 'resolved' then 'done' else 'failed' end,
    json_patch('{}', json_object(
        'action', c.action,
        'path', c.path,
        'to', c.destination,
        'line', (select l.line from _thread_command_lines as l where l.command_id = c.id),
        'outcome', case when c.state <> 'resolved' then c.outcome end,
        'status', case c.action when 'update' then cast(json_extract(c.attributes, '$.status') as text) end
    ))
from _thread_clocks as k
cross join turns as t on t.run_id = k.run_id and t.phase <> 'judged'
cross join commands as c
    on c.turn_id = t.id
    and c.state in ('resolved', 'failed', 'cancelled')
    and c.ordinal > case when k.turn_id = t.id then k.ordinal else -1 end
-- what did not happen is no fact
where coalesce(c.outcome, '') not in ('aborted', 'blocked', 'blocked_again');
