-- Tools: what a model can call, one row each; the file of a tool adds its row.
-- A tool has arguments (a JSON Schema, sent to providers and made into grammars), an order, the modes in which it is
-- open, and flags of a loop that close it. To add one: insert a row here, and create a trigger on commands that become
-- 'performing' which settles them, opens a proposal or inserts into effects.
-- spec: @primitives

-- tables

-- All tools, those of plugins among them.
create table if not exists tools (
    name text primary key,
    -- the order in which the model is told of its tools
    ordinal integer not null,
    -- 1: after a turn that used it the loop continues, so that the model sees the result
    gathers integer not null default 0 constraint tools_gathers_flag check (gathers in (0, 1)),
    -- 1: the model is told of it and may call it; 0: while the driver of its run says so (leases.tools)
    advertised integer not null default 1 constraint tools_advertised_flag check (advertised in (0, 1)),
    -- the modes in which it is open
    modes text not null default '["ask","act"]' constraint tools_modes_json check (json_valid(modes)),
    -- the flags of a loop that close it
    hidden_by text not null default '[]' constraint tools_hidden_by_json check (json_valid(hidden_by)),
    -- JSON Schema of its arguments
    schema text not null default '{"type":"object"}' constraint tools_schema_json check (json_valid(schema)),
    meaning text not null,
    -- what the model is told of it; null: the template tools/<name>.md
    doc text,
    -- 1: it changes nothing, so its failure aborts nothing behind it
    reads integer not null default 0 constraint tools_reads_flag check (reads in (0, 1))
) strict, without rowid;

-- views

-- Tools that are not advertised and are open in a loop all the same. A part gives the loop and the name of each.
create view _opened_tools as
select id as loop_id, cast(null as text) as name
from loops
where false;

create view _loop_tools as
-- The tools that are open in a loop; 'ordinal' is the order in which the model is told of them.
select
    l.id as loop_id,
    t.name,
    t.ordinal,
    t.gathers,
    t.doc,
    t.schema,
    t.meaning
from loops as l
join tools as t
where (
        t.advertised
        -- what the driver of the run can do
        or exists (select 1 from leases as d where d.run_id = l.run_id and d.tools ->> t.name)
        or exists (select 1 from _opened_tools as o where o.loop_id = l.id and o.name = t.name)
    )
    and l.mode in (select value from json_each(t.modes))
    and not exists (
        select 1
        from json_each(t.hidden_by) as h
        join _loop_flags as f on f.loop_id = l.id and f.flag = h.value
    )
    -- each tool can be closed by its name, too
    and l.config ->> ('$."close:' || t.name || '"') is null
    -- a prompt may choose among the tools that others than the engine bring
    and (
        t.advertised
        or t.doc is null
        or l.config ->> '$.tools' is null
        or exists (select 1 from _opened_tools as o where o.loop_id = l.id and o.name = t.name)
        or instr(',' || (l.config ->> '$.tools') || ',', ',' || t.name || ',') > 0
    );

-- The arguments of tools that are others in some loops. A part gives the loop, the tool and the JSON Schema.
create view _loop_tool_schemas as
select id as loop_id, cast(null as text) as name, cast(null as text) as schema
from loops
where false;

-- What a model may answer in a loop, as grammars made of its open tools: GBNF for a whole response, and the JSON Schema
-- of an array of calls.
create view _loop_grammars as
-- What a model may answer in a loop, made of the tools that are open in it: GBNF for whole responses, and the JSON Schema
-- of an array of calls.
select
    loop_id,
    grammar_gbnf(tools) as gbnf,
    grammar_json_schema(tools) as json_schema
from (
    select
        l.id as loop_id,
        (
            select json_group_array(json_object('name', name, 'schema', json(schema)))
            from (
                select
                    o.name,
                    coalesce(
                        (select s.schema from _loop_tool_schemas as s where s.loop_id = l.id and s.name = o.name), o.schema
                    ) as schema
                from _loop_tools as o
                where o.loop_id = l.id
                order by o.ordinal
            )
        ) as tools
    from loops as l
);

-- Tools that are open in a loop and that its model is not told of. A run without a folder is told of its app's tools, of
-- those that give work away, and of those that it has called. A part gives the loop and the name of each.
create view _left_out_tools as
select l.id as loop_id, t.name
from loops as l
cross join runs as r on r.id = l.run_id and r.role <> 'judge'
cross join projects as p on p.id = r.project_id and p.root is null
cross join tools as t on t.doc is null and t.name <> 'update' and (t.advertised or t.reads)
where not exists (
        select 1
        from commands as c
        where c.loop_id = l.id and c.action = t.name and c.turn_id > 0
    );

create view _turn_tools as
-- The tools of a turn, for an adapter that calls tools natively, in the order in which the model is told of them.
select
    t.id as turn_id,
    o.ordinal,
    o.name,
    o.meaning as description,
    o.schema
from turns as t
join _loop_tools as o on o.loop_id = t.loop_id
where not exists (select 1 from _left_out_tools as u where u.loop_id = t.loop_id and u.name = o.name);

-- The same with the arguments that they take in the loop.
create view _asked_tools as
select
    o.turn_id,
    o.ordinal,
    o.name,
    o.description,
    coalesce((select s.schema from _loop_tool_schemas as s where s.loop_id = t.loop_id and s.name = o.name), o.schema)
        as schema
from _turn_tools as o
join turns as t on t.id = o.turn_id;

-- The words by which models call tools, for response_parse. A part gives more: the word and, behind '>', the tool.
create view _tool_words as
select name as word
from tools;

-- Tools that name a mode which there is not.
create view _unknown_modes as
select
    t.name as tool,
    'tool ' || t.name || ': there is no mode ' || coalesce(a.value, 'null') || '; the modes are '
    || (select group_concat(name, ', ') from (select name from modes order by name)) as message
from tools as t
join json_each(t.modes) as a
where not exists (select 1 from modes as m where m.name = a.value);

-- triggers

create trigger tools__guard_modes
after insert on tools
begin
    select fail(400, message)
    from _unknown_modes
    where tool = new.name;
end;

create trigger tools__guard_changed_modes
after update of modes on tools
begin
    select fail(400, message)
    from _unknown_modes
    where tool = new.name;
end;
