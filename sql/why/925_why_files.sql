-- Why files: which command, decision, prompt, run or outside change produced the current state of a file.
-- spec: @why

-- views

-- The latest five changes of each file as the runs of its folder can ask about them, the newest first.
create view _latest_changes as
select *
from (
    select
        r.alias as asked, f.*,
        row_number() over (partition by r.alias, f.path order by f.created_at desc, f.command_id desc) as place
    from runs as r
    join file_changes as f
        on f.run in (select o.alias from runs as o where o.project_id = r.project_id)
        or (
            f.run is null
            and exists (select 1 from file_stats as x where x.project_id = r.project_id and x.path = f.path)
        )
)
where place <= 5;

create view file_reasons as
-- Why each file of a run's folder is as it is: what changed it, the latest first, who decided that and which prompt asked
-- for it: select says, source, key from file_reasons where run = 'demo' and subject = 'notes.md' order by place.
select
    c.asked as run, 'file' as topic, c.path as subject, 10 * c.place as place,
    case c.cause
        when 'outside' then 'Somebody outside the runs ' || c.change || ' it'
            || coalesce('; turn ' || c.turn || ' of ' || c.run || ' noticed the change', '')
        else 'Turn ' || c.turn || ' of ' || c.run || ' ' || c.change || ' it by '
            || case c.cause when 'process' then 'the command line ' else '' end || coalesce(substr(c.command, 1, 100), '?')
    end
    || case when c.added + c.removed > 0 then ' (+' || c.added || ' -' || c.removed || ' lines)' else '' end
    || coalesce('; decided by ' || c.decided_by, '') || ', at ' || c.created_at || ' UTC.' as says,
    'file_changes' as source,
    json_object('path', c.path, 'run', c.run, 'turn', c.turn, 'command_id', c.command_id, 'created_at', c.created_at) as key
from _latest_changes as c
union all
select
    c.asked, 'file', c.path, 10 * c.place + 1, 'The prompt was: ' || substr(c.prompt, 1, 200),
    'loop_list', json_object('run', p.run, 'loop', p.loop)
from _latest_changes as c
join (
    select r.alias as done_by, t.sequence as turn, o.alias as run, l.sequence as loop
    from turns as t
    join runs as r on r.id = t.run_id
    left join children as k on k.run_id = t.run_id
    join loops as l on l.id = coalesce(k.root_loop_id, t.loop_id)
    join runs as o on o.id = l.run_id
) as p on p.done_by = c.run and p.turn = c.turn
where c.cause <> 'outside'
union all
select
    r.alias, 'file', f.path, 90,
    case f.kind
        when 'missing' then 'The file no longer exists in the folder.'
        else 'The last scan of the folder found it in this state.'
    end,
    'file_stats', json_object('project_id', f.project_id, 'path', f.path)
from runs as r
cross join file_stats as f on f.project_id = r.project_id;
