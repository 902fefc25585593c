-- Tools of an app: Python functions that models call, and tools of MCP servers (134).
-- The process that opens a file with functions tells what each is (_give_tools), and offers them for as long as it drives
-- a run: _loop_tools has them then, and no other process needs them. On its connection a trigger reads the arguments of a
-- command against the hints of the function and calls _call_function. What comes of that is an effect of the kind
-- 'function' ('mcp' for a tool of a server, 'fetch' for a resource), behind a proposal where the process asks for one.
-- needs: nothing
-- spec: @python_tools @tool_asks @mcp_tools @mcp_resources

-- tables

-- What processes have told of their functions, by the name of the tool; what was told last counts.
create table if not exists _function_tools (
    name text primary key constraint function_tools_name references tools (name),
    -- JSON: name, meaning, doc, schema, ask, idempotent, reads
    definition text not null constraint function_tools_definition_json check (json_valid(definition))
) strict, without rowid;

-- views

-- The arguments of functions are read against their hints.
create view _own_readers__function_tools as
select name
from _function_tools;

-- Where these tools come from, for people.
create view _tool_origins__function_tools as
select name, definition ->> '$.server' as server
from _function_tools;

-- Tell which functions there are: insert into _give_tools (tools), a JSON array of definitions.
create view _give_tools as
select null as tools
where false;

-- Open tools in a run for as long as it has this driver: insert into _offer_tools (run, lease, tools), a JSON array of
-- objects with a name; 'gone' takes one back.
create view _offer_tools as
select r.alias as run, l.token as lease, l.tools
from leases as l
join runs as r on r.id = l.run_id
where false;

-- Call a function for a command that is performing: insert into _call_function (command_id, reading). 'reading' is JSON:
-- fault, or arguments, call (what the log says of it), ask and idempotent, which are those of this very process; of a server
-- also kind, target, shown (what a person decides on) and about.
create view _call_function as
select id as command_id, null as reading
from commands
where false;

create view verb_remove_tool as
-- Forget a tool of an app or an MCP server: insert into verb_remove_tool (name). It comes back when a process that has
-- it opens the file. A tool that is installed, and one that a driver offers now, is refused; calls of it stay in the
-- record.
select name
from _function_tools
where false;

-- The seconds after which a function is given up that names none itself, and those that its loop has left.
create view _function_timeouts as
select
    f.id as effect_id,
    (select cast(value as real) from settings where name = 'process_timeout') as timeout_s,
    coalesce((select max(c.seconds_left, 1.0) from _loop_seconds as c where c.loop_id = m.loop_id), 9e9) as left_s
from effects as f
join commands as m on m.id = f.command_id;

-- What a function is told of the call that it works for, by the effect of the call.
create view _function_contexts as
select
    f.id as effect_id,
    r.alias as run,
    l.sequence as loop,
    l.prompt,
    t.sequence as turn,
    m.id as command_id,
    f.detail ->> '$.request_id' as request_id,
    d.decided_by as approved_by
from effects as f
join commands as m on m.id = f.command_id
join runs as r on r.id = f.run_id
left join turns as t on t.id = f.turn_id
left join loops as l on l.id = coalesce(m.loop_id, t.loop_id)
left join decisions as d on d.proposal_id = f.proposal_id;

-- The calls that have been begun and are not over: what they bring is stored.
create view _calls_at_work as
select id as effect_id
from effects
where state = 'started' and kind in ('function', 'mcp');

-- A function that is at work asks for a decision on its call: insert into _ask_for_call (effect_id, reason, lease). Its
-- effect is over without a result. Once the call is accepted it is made again, as another effect with the same request_id.
create view _ask_for_call as
select id as effect_id, null as reason, null as lease
from effects
where false;

-- triggers

-- A name of the engine or of a plugin is refused. A tool keeps its place in the order.
create trigger _give_tools__give
instead of insert on _give_tools
begin
    select fail(400, 'tool ''' || t.name || ''': another tool has this name; rename yours: @engine.tool(name=''…'')')
    from json_each(new.tools) as n
    join tools as t on t.name = n.value ->> '$.name'
    where t.advertised or t.name not in (select name from _function_tools);
    insert into tools (name, ordinal, gathers, advertised, reads, modes, hidden_by, schema, meaning, doc)
    select
        n.value ->> '$.name',
        1000 + n.key + (select count(*) from _function_tools),
        1,
        0,
        n.value ->> '$.reads',
        iif(n.value ->> '$.reads', '["ask","act"]', '["act"]'),
        iif(n.value ->> '$.ask', '["no_proposals"]', '[]'),
        n.value -> '$.schema',
        n.value ->> '$.meaning',
        n.value ->> '$.doc'
    from json_each(new.tools) as n
    left join _function_tools as f on f.name = n.value ->> '$.name'
    where f.definition is not n.value
    on conflict (name) do update
        set reads = excluded.reads, modes = excluded.modes, hidden_by = excluded.hidden_by, schema = excluded.schema,
            meaning = excluded.meaning, doc = excluded.doc;
    insert into _function_tools (name, definition)
    select n.value ->> '$.name', n.value
    from json_each(new.tools) as n
    left join _function_tools as f on f.name = n.value ->> '$.name'
    where f.definition is not n.value
    on conflict (name) do update set definition = excluded.definition;
end;

-- Refused without the token of the run's lease.
create trigger _offer_tools__offer
instead of insert on _offer_tools
begin
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    where not exists (
        select 1
        from leases as l
        join runs as r on r.id = l.run_id
        where r.alias = new.run and l.token = new.lease
    );
    update leases
    set tools = json_patch(
        coalesce(tools, '{}'),
        (select json_group_object(value ->> '$.name', iif(value ->> '$.gone', null, 1)) from json_each(new.tools))
    )
    where token = new.lease;
end;

-- The calls whose answer the run has, so that nothing is to be decided or done. A part gives the ids of their commands.
create view _answered_calls as
select null as command_id
where false;

-- What a call is, of a command that is performing: its kind, and what its effect needs.
create view _function_calls as
select
    id as command_id,
    run_id,
    turn_id,
    action,
    -- a resource that the run has, and that need not be read again, needs no decision
    exists (
        select 1 from _answered_calls as p where p.command_id = commands.id
    ) as is_there,
    exists (
        select 1 from _loop_flags as f where f.loop_id = commands.loop_id and f.flag = 'no_proposals'
    ) as is_closed
from commands
where state = 'performing';

-- A wrong argument fails the command. Otherwise it waits for a decision, or its effect is pending.
create trigger _call_function__call
instead of insert on _call_function
begin
    insert into _fail_command (command_id, fault)
    select new.command_id, new.reading ->> '$.fault'
    where new.reading ->> '$.fault' is not null;
    insert into _fail_command (command_id, fault)
    select command_id, 'permission: it needs a decision by a person, and this prompt allows no proposals (no_proposals).'
    from _function_calls
    where command_id = new.command_id and new.reading ->> '$.ask' and is_closed and not is_there;
    insert into _open_proposal (command_id, kind, target, detail)
    select
        command_id,
        coalesce(new.reading ->> '$.kind', 'function'),
        coalesce(new.reading ->> '$.target', action),
        json_patch(
            json_object(
                'tool', action,
                'arguments', json_extract(new.reading, '$.arguments'),
                'call', new.reading ->> '$.call',
                'command', coalesce(new.reading ->> '$.shown', new.reading ->> '$.call'),
                'idempotent', new.reading ->> '$.idempotent',
                'request_id', lower(hex(randomblob(16)))
            ),
            coalesce(new.reading -> '$.about', '{}')
        )
    from _function_calls
    where command_id = new.command_id and new.reading ->> '$.ask' and not is_there;
    insert into effects (run_id, turn_id, command_id, kind, detail)
    select
        run_id, turn_id, command_id, coalesce(new.reading ->> '$.kind', 'function'),
        json_patch(
            json_object(
                'tool', action,
                'arguments', json_extract(new.reading, '$.arguments'),
                'call', new.reading ->> '$.call',
                'idempotent', new.reading ->> '$.idempotent',
                'request_id', lower(hex(randomblob(16)))
            ),
            coalesce(new.reading -> '$.about', '{}')
        )
    from _function_calls
    where command_id = new.command_id;
    update commands
    set state = 'accepted'
    where id = new.command_id and state = 'performing';
end;

-- Refused without the token of the lease in force. In a prompt that takes no proposals the call fails, and so does one that
-- was accepted after it had asked.
create trigger _ask_for_call__ask
instead of insert on _ask_for_call
begin
    select fail(409, 'effect ' || new.effect_id || ': another process works on its run')
    from _effect_leases
    where effect_id = new.effect_id and token is not new.lease;
    insert into _finish_effect (effect_id, state, outcome, message, lease)
    select
        f.id, 'failed', iif(g.flag is null, 'error', 'permission'),
        (f.detail ->> '$.call') || char(10) || iif(
            g.flag is null,
            'It was accepted, and asks for a decision again.',
            'It needs a decision, and this prompt takes no proposals (no_proposals).'
        ),
        new.lease
    from _calls_at_work as w
    join effects as f on f.id = w.effect_id
    join commands as m on m.id = f.command_id
    left join _loop_flags as g on g.loop_id = m.loop_id and g.flag = 'no_proposals'
    where w.effect_id = new.effect_id and (g.flag is not null or f.detail ->> '$.asked' is not null);
    -- the decision before was on another question
    update proposals
    set state = 'resolved'
    where id = (
            select f.proposal_id from effects as f join _calls_at_work as w on w.effect_id = f.id where f.id = new.effect_id
        )
        and state = 'accepted';
    update commands
    set state = 'proposed'
    where id = (
            select f.command_id from effects as f join _calls_at_work as w on w.effect_id = f.id where f.id = new.effect_id
        )
        and state = 'accepted';
    update effects
    set state = 'cancelled', ended_at = now()
    where id = (select effect_id from _calls_at_work where effect_id = new.effect_id);
    insert into _open_proposal (command_id, kind, target, detail)
    select
        m.id, 'function', m.action,
        json_set(
            f.detail,
            '$.command', (f.detail ->> '$.call') || coalesce(char(10) || nullif(new.reason, ''), ''),
            '$.asked', 1
        )
    from effects as f
    join commands as m on m.id = f.command_id and m.state = 'proposed'
    where f.id = new.effect_id and f.state = 'cancelled';
    update runs
    set status = 202
    where id = (select run_id from effects where id = new.effect_id)
        and status = 102
        and exists (select 1 from proposals as p where p.run_id = runs.id and p.state = 'proposed');
end;

create trigger verb_remove_tool__remove
instead of insert on verb_remove_tool
begin
    select fail(404, 'tool ' || quote(new.name) || ': not found; ''engine tools'' lists the tools')
    where not exists (select 1 from tools as t where t.name = new.name);
    select fail(409, 'tool ' || new.name || ': is part of the engine or a plugin, and cannot be removed')
    where not exists (select 1 from _function_tools as f where f.name = new.name);
    select fail(409, 'tool ' || new.name || ': the driver of run ' || r.alias || ' offers it now; stop that run first')
    from _leases_in_force as l
    join leases as d on d.run_id = l.run_id and d.tools ->> new.name
    join runs as r on r.id = l.run_id;
    delete from _function_tools
    where name = new.name;
    delete from tools
    where name = new.name;
end;
