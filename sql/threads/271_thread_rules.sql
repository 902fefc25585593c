-- Threads of the engine, and the mistakes that a thread can have.
-- spec: @threads @shipped_threads @thread_files

-- seeds

insert into threads (name, level, purpose, priority, repeat_from, each_prompt, tool, added_by) values
    (
        'read_before_run', 'shipped', 'the run must read a script of the project before it runs the script', 10,
        null, 0, 'get', 'engine'
    ),
    (
        'finish_clean', 'shipped', 'a prompt does not end as done while a proposal is open, or if its last tests failed', 20,
        1, 1, 'sh', 'engine'
    ),
    ('test_after_edit', 'shipped', 'after an edit, the model is asked once to run the tests', 30, 1, 1, 'sh', 'engine'),
    (
        'check_after_edit', 'shipped', 'after a turn with edits, the command line of the setting check runs', 25,
        1, 1, 'sh', 'engine'
    )
on conflict (name, coalesce(project_id, 0), coalesce(run_id, 0)) where removed_at is null do update set
    purpose = excluded.purpose, priority = excluded.priority, repeat_from = excluded.repeat_from,
    each_prompt = excluded.each_prompt, tool = excluded.tool;

delete from thread_patterns
where thread_id in (select id from threads where level = 'shipped');

insert into thread_patterns (thread_id, point, ordinal, part, event, fields, message)
select t.id, s.point, row_number() over (partition by t.id, s.point), s.part, s.event, s.fields, s.message
from (
    select
        'read_before_run' as name, 1 as point, 'block' as part, 'command' as event, '{"unread":"*"}' as fields,
        'You have not read {unread}, which this runs. Read it with <get path="{unread}"/>; then run it again.' as message
    union all
    select
        'finish_clean', 1, 'block', 'finish', '{"open":"[1-9]*"}',
        'Not done yet: open proposals of this run: {open}. Do the remaining work, or '
        || 'say in <update status="422"> that it waits.'
    union all
    select 'finish_clean', 1, 'wait', 'ran', '{"test":"*","exit":"[^0]*"}', null
    union all
    select
        'finish_clean', 2, 'block', 'finish', '{}',
        'The tests failed when they ran last. Make them pass and run them again, as the last program of the line and '
        || 'without a pipe, so that their exit code is seen. If it cannot be done, say why in <update status="422">.'
    union all
    select 'finish_clean', 2, 'wait', 'ran', '{"test":"clear","exit":"0"}', null
    union all
    select 'test_after_edit', 1, 'wait', 'edit', '{}', null
    union all
    select
        'test_after_edit', 2, 'request', 'ask', '{}',
        'You changed files and have not run the tests since. Run them now, or say why there is nothing to run.'
    union all
    select 'test_after_edit', 2, 'wait', 'ran', '{"test":"*"}', null
    union all
    select 'check_after_edit', 1, 'wait', 'edit', '{}', null
    union all
    select 'check_after_edit', 2, 'request', 'check', '{}', null
) as s
join threads as t on t.name = s.name and t.level = 'shipped';

-- views

-- What threads say of an event that is none of the engine's and that no thread requests. One that is added so is misspelt;
-- where who requested it was removed later, what waits for it waits on, and nothing else comes of it.
create view _unheard_patterns as
select
    p.thread_id,
    p.point,
    p.ordinal,
    p.part,
    p.event,
    'no thread requests ' || p.event || '; the events of the engine are '
    || (select group_concat(name, ', ') from (select name from thread_events order by name)) as fault
from thread_patterns as p
where p.part <> 'request'
    and p.event not in (select all name from thread_events)
    and not exists (
        select 1
        from thread_patterns as o
        join threads as t on t.id = o.thread_id and t.removed_at is null
        where o.part = 'request' and o.event = p.event
    );

-- What is wrong with threads, all else of it: point and ordinal are null where it is the thread itself.
create view _thread_faults as
select t.id as thread_id, null as point, null as ordinal, f.value as fault
from threads as t
cross join json_each(json_array(
    case when not exists (select 1 from thread_patterns as p where p.thread_id = t.id) then 'has no point' end,
    -- null for one that does not repeat
    case
        when not exists (select 1 from thread_patterns as p where p.thread_id = t.id and p.point = t.repeat_from)
            then 'repeats from point ' || t.repeat_from || ', which it does not have'
    end,
    -- every point that it goes through again and again has a request
    case
        when exists (select 1 from thread_patterns as p where p.thread_id = t.id and p.point >= t.repeat_from)
            and not exists (
                select 1
                from thread_patterns as p
                where p.thread_id = t.id
                    and p.point >= t.repeat_from
                    and not exists (
                        select 1
                        from thread_patterns as o
                        where o.thread_id = p.thread_id and o.point = p.point and o.part = 'request'
                    )
            )
            then 'has a loop of points without a request, so it would never end'
    end,
    case
        when t.tool not in (select all name from tools)
            then 'needs the tool ' || quote(t.tool) || ', which does not exist'
    end
)) as f
where f.value is not null
union all
select p.thread_id, p.point, null, 'comes after a point that does not exist'
from thread_patterns as p
where p.point > 1
    and not exists (select 1 from thread_patterns as o where o.thread_id = p.thread_id and o.point = p.point - 1)
group by p.thread_id, p.point
union all
select p.thread_id, p.point, null, 'neither requests nor waits, so the points after it are never reached'
from thread_patterns as p
where exists (select 1 from thread_patterns as o where o.thread_id = p.thread_id and o.point > p.point)
group by p.thread_id, p.point
having max(p.part in ('request', 'wait')) = 0
union all
select p.thread_id, p.point, p.ordinal, f.value
from thread_patterns as p
left join thread_events as e on e.name = p.event
cross join json_each(json_array(
    case
        when p.event = '' or p.event glob '*[^a-z0-9_]*' or length(p.event) > 40
            then 'an event has a name of letters, digits and _, not ' || quote(p.event)
    end,
    case
        when p.part = 'request' and e.origin <> 'request'
            then 'only the engine says ' || p.event || '; request ask, tell, check, or an event of your own'
        when p.part = 'block' and e.origin = 'fact'
            then p.event || ' has already happened, so it cannot be blocked; you can block ' || (
                    select group_concat(name, ', ')
                    from (select name from thread_events where origin <> 'fact' order by origin, name)
                ) || ', or an event of threads'
    end,
    case
        when p.part = 'block' and e.origin = 'offered' or p.part = 'request' and p.event in ('ask', 'tell')
            then case
                    when trim(coalesce(p.message, ''), char(32, 9, 10, 13)) = ''
                        then 'a ' || p.part || ' of ' || p.event || ' needs a message that says what to do'
                end
        when p.message is not null and (e.name is not null or p.part not in ('block', 'request'))
            then 'nobody reads the message of this ' || p.part
    end,
    case when length(p.message) > 500 then 'a message has at most 500 characters' end
)) as f
where f.value is not null
union all
select p.thread_id, p.point, p.ordinal, f.value
from thread_patterns as p
left join thread_events as e on e.name = p.event
cross join json_each(p.fields) as k
cross join json_each(json_array(
    case
        when k.key not in (select all value from json_each(coalesce(e.fields, '[]')))
            then p.event || ' has no field ' || k.key
                || coalesce('; it has ' || (select group_concat(value, ', ') from json_each(e.fields)), '; it has none')
    end,
    case
        when k.type <> 'text'
            or length(k.value) not between 1 and 200
            or length(k.value) - length(replace(k.value, '*', '')) > 5
            then k.key || ' must be a text of 1 to 200 characters with at most 5 *'
    end,
    case
        when k.key = 'path' then case when k.type = 'text' then 'path: ' || pattern_error(k.value) end
        when instr(k.value, '[!') then k.key || ': write [^…] instead of [!…]'
    end
)) as f
where f.value is not null
union all
select p.thread_id, null, null, 'has more than 20 points, or more than 20 patterns at one of them'
from thread_patterns as p
group by p.thread_id
having max(p.point) > 20 or count(*) > 20 * max(p.point)
union all
select max(t.id), null, null, 'a project or run has more than 200 threads'
from threads as t
where t.level <> 'shipped' and t.removed_at is null
group by t.project_id, t.run_id
having count(*) > 200;
