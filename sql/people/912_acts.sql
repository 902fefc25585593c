-- Acts: the actions of a file from elsewhere that its user did not ask for.
-- A file may come from anybody. Before an unknown file is written, its user sees the parts of it that would act:
-- accepted effects, waiting prompts and answers, processes that would be stopped, folders elsewhere, models that are
-- files or addresses, and settings and rules that allow something.
-- spec: @foreign_files

-- views

-- The models of runs that are files, which answer or are loaded, and servers at an address, which are sent packets.
create view _models_from_files as
select distinct q.run_id, coalesce(m.actual, q.model) as actual
from (
    select id as run_id, model
    from runs
    union
    select run_id, model
    from loops
    union
    select run_id, config ->> '$.accept_model'
    from loops
) as q
left join models as m on m.alias = q.model
where substr(coalesce(m.actual, q.model), 1, 9) = 'scripted:'
    or substr(coalesce(m.actual, q.model), 1, 7) = 'replay:'
    or substr(coalesce(m.actual, q.model), 1, 5) = 'gguf:'
    or lower(substr(coalesce(m.actual, q.model), 1, 7)) = 'http://'
    or lower(substr(coalesce(m.actual, q.model), 1, 8)) = 'https://';

-- What the file would do, the gravest first. 'run' is null for what concerns all of them. A part gives what it would do by
-- its own rows.
create view _acts as
select
    1 as rank,
    'effect' as kind,
    r.alias as run,
    case f.state when 'started' then 'had begun to perform ' else 'would perform ' end
    || case
        when f.detail ->> '$.command' is not null then 'the command ' || quote(substr(f.detail ->> '$.command', 1, 200))
        else f.kind || ' ' || coalesce(quote(substr(coalesce(p.target, f.detail ->> '$.path', f.detail), 1, 200)), '')
    end as what
from effects as f
join runs as r on r.id = f.run_id
left join proposals as p on p.id = f.proposal_id
where f.state in ('pending', 'started')
union all
select 2, 'process', r.alias, 'would stop the processes that it lists'
from (
    select run_id from _background_processes where ended_at is null
    union
    select run_id from effects where state = 'started' and identity is not null
) as j
join runs as r on r.id = j.run_id
union all
select
    3,
    'answer',
    r.alias,
    'would continue its turn ' || t.sequence || coalesce((
        select ', in which ' || count(*) || case count(*) when 1 then ' command waits' else ' commands wait' end
        from commands as c
        where c.turn_id = t.id and c.state in ('queued', 'performing', 'proposed', 'accepting', 'accepted')
        having count(*) > 0
    ), '')
from turns as t
join runs as r on r.id = t.run_id
where t.phase <> 'judged'
union all
select
    4,
    'prompt',
    r.alias,
    'would answer the prompt ' || quote(substr(l.prompt, 1, 100)) || coalesce(' with ' || nullif(quote(l.model), 'NULL'), '')
    || case
        when exists (select 1 from _loop_flags as f where f.loop_id = l.id and f.flag = 'yolo')
            then ', accepting everything'
        else ''
    end
    || coalesce(
        ', and check the result with the command '
        || nullif(quote(substr(l.config ->> '$.accept_command', 1, 200)), 'NULL'), ''
    )
from loops as l
join runs as r on r.id = l.run_id
where l.status in (100, 102)
union all
select
    5,
    'folder',
    null,
    'works in the folder ' || quote(p.root)
from projects as p
where p.root is not null and not is_beside(p.root)
union all
select
    6,
    'model',
    case count(*) when 1 then max(r.alias) end,
    case count(*) when 1 then 'asks' else 'has ' || count(*) || ' runs that ask' end || ' the model '
    || quote(substr(h.actual, 1, 200))
from _models_from_files as h
join runs as r on r.id = h.run_id
group by h.actual
union all
select 6, 'model', null, 'asks ' || quote(substr(m.actual, 1, 200)) || ' under the name ' || quote(substr(m.alias, 1, 100))
from models as m
-- where nobody names a model the only one of a file is taken
where m.alias <> 'local' or m.actual <> 'local'
union all
select 7, 'setting', null, 'sets ' || w.name || ' to ' || coalesce(nullif(quote(substr(w.value, 1, 100)), 'NULL'), 'nothing')
from (
    select s.name, s.value
    from settings as s
    join _setting_outcomes as o on o.name = s.name
    where o.origin not in ('user', 'project') or o.value is not s.value
    union
    -- what comes into force where the layers from outside are read again
    select name, case when origin in ('user', 'project') then "default" else value end
    from _setting_outcomes
    union
    select name, value
    from setting_layers
    where layer in ('file', 'env')
) as w
-- the default of a plugin's setting is what the file says, and counts for nothing here
left join _setting_defaults as d on d.name = w.name
where w.name not in (select h.name from _harmless_settings as h)
    -- what the file says, the default or nothing too, hides what its user says
    and (
        w.value is not d.value
        or exists (
            select 1
            from setting_layers as f
            where f.layer in ('file', 'env') and f.name = w.name and f.value is w.value
        )
    )
union all
select 8, 'files', null, 'shows its models a file that may hold keys: ' || quote(substr(c.pattern, 1, 100))
from file_constraints as c
where c.rule = 'add' and holds_keys(c.pattern);
