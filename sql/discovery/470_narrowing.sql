-- Narrowing: on request, the model sees only the tools that fit its prompt.
-- The tools are chosen once for a loop, before its first packet, so that the system message stays the same. This is
-- not a permission: the model may call every open tool, and sees a tool that it has called from the next packet on.
-- spec: @narrowed_tools

-- tables

-- The loops of which it was decided what tools they are told of.
create table if not exists tool_narrowings (
    loop_id integer primary key constraint tool_narrowings_loop references loops (id) on delete cascade,
    -- 0: nothing was found for the prompt, so all are told
    is_narrowed integer not null constraint tool_narrowings_is_narrowed_flag check (is_narrowed in (0, 1)),
    -- how many tools were told besides the core at most
    most integer not null,
    -- what compared meanings; null: words alone were searched
    embedder text
) strict;

-- The tools that were open in a narrowed loop when it began, and why it is told of each.
create table if not exists _tool_choices (
    loop_id integer not null
        constraint tool_choices_loop references tool_narrowings (loop_id) on delete cascade,
    name text not null,
    -- core: by the setting; used: the run called it before; found: the prompt needs it; null: it is left out
    why text constraint tool_choices_why check (why in ('core', 'used', 'found')),
    -- how well it was found, and by which rankers
    score real,
    found_by text,
    primary key (loop_id, name)
) strict, without rowid;

-- views

-- How many tools besides the core each loop is told of, where it is told of few: its option, else the setting; else 20,
-- where its driver offers more tools than narrow_above.
create view _narrow_limits as
select loop_id, most
from (
    select
        l.id as loop_id,
        cast(coalesce(
            l.config ->> '$.narrow_tools',
            nullif(s.value, '0'),
            (
                select 20
                from leases as d
                where d.run_id = l.run_id
                    and (select count(*) from json_each(d.tools))
                    > (select cast(a.value as integer) from settings as a where a.name = 'narrow_above')
            ),
            0
        ) as integer) as most
    from settings as s
    cross join loops as l
    where s.name = 'narrow_tools'
)
where most > 0;

-- The tools of a loop that is told of few have to be searched.
create view _due_searches__discovery as
select t.id as turn_id, cast('tools' as text) as what
from turns as t
cross join _narrow_limits as n on n.loop_id = t.loop_id
where not exists (select 1 from _prepared_loops as p where p.loop_id = t.loop_id);

-- The tools that every narrowed loop is told of.
create view _core_tools as
select distinct n.value as name
from settings as s
cross join json_each('["' || replace(replace(s.value, ' ', ''), ',', '","') || '"]') as n
where s.name = 'core_tools';

-- Turns whose loop is to be narrowed, with its prompt: the first one, with a packet that tells of tools.
create view _unnarrowed_turns as
select t.id as turn_id, l.prompt
from turns as t
join loops as l on l.id = t.loop_id
where not exists (select 1 from tool_narrowings as d where d.loop_id = t.loop_id)
    and exists (select 1 from _narrow_limits as n where n.loop_id = t.loop_id)
    and not exists (select 1 from turns as o where o.loop_id = t.loop_id and o.sequence < t.sequence)
    and exists (select 1 from _turn_sections as s where s.turn_id = t.id and s.source = '_packet_tools');

-- The tools that a loop is not told of: those that were left out and that it has not called.
create view _left_out_tools__discovery as
select d.loop_id, d.name
from _tool_choices as d
where d.why is null
    and not exists (
        select 1
        from commands as c
        where c.loop_id = d.loop_id and c.action = d.name and c.turn_id > 0
    );

create view tool_choices as
-- The tools of loops that were narrowed, and why the model is told of each: select * from tool_choices where run = 'demo'.
-- 'reason' is core, used (the run called it in an earlier loop), found (by words, by meaning), called (in this loop), or
-- null for one that is left out; all, without a tool, where nothing was found for the prompt.
select
    r.alias as run,
    l.sequence as loop,
    d.name as tool,
    case
        when not n.is_narrowed then 'all'
        when d.why is null
            and exists (
                select 1
                from commands as c
                where c.loop_id = n.loop_id and c.action = d.name and c.turn_id > 0
            )
            then 'called'
        else d.why
    end as reason,
    d.found_by,
    d.score,
    n.most,
    n.embedder
from tool_narrowings as n
join loops as l on l.id = n.loop_id
join runs as r on r.id = l.run_id
left join _tool_choices as d on d.loop_id = n.loop_id;

-- Decide what tools a loop is told of: insert into _narrow_tools (turn_id, found, embedder, failure). 'found' is a JSON
-- array of what a search for the prompt found among tools: name, score, found_by. 'failure' is the error of an embedder
-- that failed, so that words alone were searched.
create view _narrow_tools as
select t.id as turn_id, null as found, null as embedder, null as failure
from turns as t
where false;

-- triggers

-- The core, what the run called in its loops before, and the best of what was found; all where nothing was.
create trigger _narrow_tools__narrow
instead of insert on _narrow_tools
begin
    insert into tool_narrowings (loop_id, is_narrowed, most, embedder)
    select
        t.loop_id,
        exists (
            select 1
            from json_each(new.found) as f
            join _loop_tools as o on o.loop_id = t.loop_id and o.name = f.value ->> '$.name'
        ),
        n.most,
        new.embedder
    from turns as t
    join _narrow_limits as n on n.loop_id = t.loop_id
    where t.id = new.turn_id;
    insert into _tool_choices (loop_id, name, why, score, found_by)
    select
        loop_id, name,
        case
            when is_core then 'core'
            when name in (
                select all c.action
                from turns as e
                cross join commands as c on c.turn_id = e.id
                where e.run_id = w.run_id
            )
                then 'used'
            when place <= most then 'found'
        end,
        score, found_by
    from (
        select
            t.run_id, n.loop_id, n.most, o.name, k.name is not null as is_core,
            f.value ->> '$.score' as score, f.value ->> '$.found_by' as found_by,
            case
                when f.value is not null
                    then row_number() over (order by k.name is not null, f.value ->> '$.score' desc, o.ordinal)
            end as place
        from turns as t
        join tool_narrowings as n on n.loop_id = t.loop_id and n.is_narrowed
        join _loop_tools as o on o.loop_id = t.loop_id
        left join _core_tools as k on k.name = o.name
        left join json_each(new.found) as f on f.value ->> '$.name' = o.name
        where t.id = new.turn_id
    ) as w;
    insert into events (at, run_id, turn_id, kind, detail)
    select now(), run_id, id, 'embedder.failed', json_object('reason', new.failure)
    from turns
    where id = new.turn_id
        and new.failure is not null
        and not exists (
            select 1 from events as e where e.run_id = turns.run_id and e.kind = 'embedder.failed'
        );
end;
