-- Commands: whatever anybody asks of the engine is a row here.
-- A command of the model is recorded with its turn and performed when the turn is dispatched; one of a client, a plugin or
-- the system is performed at once. To perform it: it is refused (105), or its entries are found and it is faulted (105), or
-- it goes to 'performing' and the procedure of its action runs (110 to 125); what came of it is written to the log. To add a
-- tool: a row in tools, and a trigger on commands that go to 'performing' which settles them or inserts into effects.
-- spec: @commands @dispatch_path @record @failure_reporting @primitives

-- tables

create table if not exists commands (
    id integer primary key,
    -- chosen by the caller; the same one again is the same command
    request_id text,
    run_id integer not null constraint commands_run references runs (id) on delete cascade,
    loop_id integer,
    turn_id integer constraint commands_turn references turns (id) on delete cascade,
    ordinal integer not null default 0,
    writer text not null constraint commands_writer references writer_tiers (name),
    action text not null,
    path text,
    destination text,
    body text,
    -- where a long body stands in the response, once its turn is judged and 'body' is given up; see command_bodies
    body_at integer,
    body_chars integer,
    attributes text not null default '{}' constraint commands_attributes_json check (json_valid(attributes)),
    state text not null default 'queued' constraint commands_state references states (name),
    outcome text,
    -- what came of it, for people and for the model
    message text,
    -- where the model reads it
    log_path text,
    -- 1: kept out of the model's view
    quiet integer not null default 0,
    created_at integer not null default 0,
    -- settled when it is performed: 1 where its path is a pattern, else the one entry that its path names; those that a
    -- pattern finds stand in _matched_entries
    is_pattern integer not null default 0,
    entry_id integer
) strict;

create index if not exists idx_commands_turn_id_ordinal on commands (turn_id, ordinal);

create unique index if not exists idx_commands_request_id on commands (request_id) where request_id is not null;

create index if not exists idx_commands_failed on commands (turn_id) where state in ('failed', 'cancelled');

create table if not exists tools (
    name text primary key,
    -- the order in which the model is told of it
    ordinal integer not null,
    -- 1: a turn that used it goes on to look at what came of it
    gathers integer not null default 0 constraint tools_gathers_flag check (gathers in (0, 1)),
    -- 1: advertised to the model
    advertised integer not null default 1 constraint tools_advertised_flag check (advertised in (0, 1)),
    modes text not null default '["ask","act"]' constraint tools_modes_json check (json_valid(modes)),
    -- flags of a loop that take the tool away
    hidden_by text not null default '[]' constraint tools_hidden_by_json check (json_valid(hidden_by)),
    -- JSON Schema of its arguments
    schema text not null default '{"type":"object"}' constraint tools_schema_json check (json_valid(schema)),
    meaning text not null,
    -- what the model is told; the template tools/<name>.md where null
    doc text
) strict, without rowid;

-- Commands that a plugin forbids: its trigger 'after insert on commands' adds a row, and the command is refused when its
-- turn comes.
create table if not exists vetoes (
    command_id integer primary key constraint vetoes_command references commands (id) on delete cascade,
    outcome text not null default 'permission' constraint vetoes_outcome references outcomes (name),
    message text not null
) strict;

-- views

create view command_bodies as
-- The body of every command, wherever it is kept.
select
    c.id as command_id,
    coalesce(c.body, substr(t.response, c.body_at, c.body_chars)) as body
from commands as c
left join turns as t on t.id = c.turn_id;

create view command_results as
-- What came of each command: select * from command_results where request_id = 'mine'.
select
    r.alias as run,
    c.id as command_id,
    c.request_id,
    t.sequence as turn,
    c.ordinal,
    c.writer,
    c.action,
    c.path,
    c.destination,
    c.state,
    c.outcome,
    coalesce(
        st.status,
        case when c.outcome like 'status:%' then cast(substr(c.outcome, 8) as integer) end,
        (select o.status from outcomes as o where o.name = substr(c.outcome, 1, instr(c.outcome || ':', ':') - 1)),
        500
    ) as status,
    c.message
from commands as c
join runs as r on r.id = c.run_id
join states as st on st.name = c.state
left join turns as t on t.id = c.turn_id;

create view loop_tools as
-- The tools that the model has in a loop; 'ordinal' is the order in which it is told of them.
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
where t.advertised
    and l.mode in (select value from json_each(t.modes))
    and not exists (
        select 1
        from json_each(t.hidden_by) as h
        join loop_flags as f on f.loop_id = l.id and f.flag = h.value
    );

create view _loop_grammars as
-- What a model may answer in a loop, made of the tools that are open in it: GBNF for whole responses, and the JSON Schema of
-- an array of calls.
select
    loop_id,
    grammar_gbnf(tools) as gbnf,
    grammar_json_schema(tools) as json_schema
from (
    select
        l.id as loop_id,
        (
            select json_group_array(json_object('name', name, 'schema', json(schema)))
            from (select name, schema from loop_tools where loop_id = l.id order by ordinal)
        ) as tools
    from loops as l
);

create view perform_command as
-- Perform a recorded command: insert into perform_command (command_id). One of a turn waits while another one is under way.
select id as command_id
from commands
where false;

-- Perform a command that is not plain, in its steps: insert into _perform_fully (command_id).
create view _perform_fully as
select id as command_id
from commands
where false;

-- Run the procedure of a command's action: insert a row of commands. Each action has a trigger, in the file of its tool.
create view _run_command as
select *
from commands
where false;

-- Settle a command: insert into _end_command (command_id, state, outcome, message). A null message keeps the one it has.
create view _end_command as
select id as command_id, state, outcome, message
from commands
where false;

-- Fail a command: insert into _fail_command (command_id, fault); 'fault' is 'outcome: message'.
create view _fail_command as
select id as command_id, null as fault
from commands
where false;

-- Write what came of a command where the model reads it: insert into _record_command (command_id).
create view _record_command as
select id as command_id
from commands
where false;

-- triggers

-- A request that was made before is the same command: nothing is done again.
create trigger commands__ignore_repeats
before insert on commands
when new.request_id is not null and exists (select 1 from commands where request_id = new.request_id)
begin
    select raise(ignore);
end;

-- Where the model will read it; a name that is taken is numbered.
create trigger commands__name_the_log
after insert on commands
when new.turn_id is not null and new.log_path is null
begin
    update commands
    set log_path = (
        select
            p.path || case
                when exists (select 1 from commands as o where o.turn_id = new.turn_id and o.log_path = p.path)
                    then '_' || new.ordinal
                else ''
            end
        from (
            select log_path(t.sequence, new.action, coalesce(new.path, new.body)) as path
            from turns as t
            where t.id = new.turn_id
        ) as p
    )
    where id = new.id;
end;

-- A command that comes from outside a turn is performed at once.
create trigger commands__perform_now
after insert on commands
when new.turn_id is null and new.state = 'queued'
begin
    insert into perform_command (command_id) values (new.id);
end;

-- SQLite does not say which of two triggers runs first: a veto that comes when a command from outside has been performed
-- undoes it.
create trigger vetoes__undo
after insert on vetoes
when (select turn_id is null and state <> 'queued' from commands where id = new.command_id)
begin
    select fail(
        (select status from outcomes where name = new.outcome), action || ' ' || coalesce(path, '') || ': ' || new.message
    )
    from commands
    where id = new.command_id;
end;

create trigger perform_command__perform
instead of insert on perform_command
when not exists (
        select 1
        from commands as c
        cross join commands as o on o.turn_id = c.turn_id and o.state in ('performing', 'proposed', 'accepting', 'accepted')
        where c.id = new.command_id
    )
begin
    -- most commands are plain
    insert into _perform_plain (command_id)
    select command_id
    from _plain_commands
    where command_id = new.command_id;
    insert into _perform_fully (command_id)
    select id
    from commands
    where id = new.command_id and state = 'queued';
    insert into _record_command (command_id) values (new.command_id);
end;

create trigger _perform_fully__perform
instead of insert on _perform_fully
begin
    insert into _fail_command (command_id, fault)
    select command_id, refusal
    from (
        select command_id, refusal
        from _refusals
        where command_id = new.command_id
        limit 1
    )
    where refusal is not null;
    insert into _find_entries (command_id)
    select id
    from commands
    where id = new.command_id and state = 'queued' and action in (select action from _entry_actions);
    -- plugins perform their tools here
    update commands
    set state = 'performing'
    where id = new.command_id and state = 'queued';
    insert into _run_command
    select *
    from commands
    where id = new.command_id and state = 'performing';
    -- a tool whose plugin is gone
    update commands
    set state = 'failed',
        outcome = case when turn_id is null then 'validation' else 'error' end,
        message = 'No rule performs <' || action || '>.'
    where id = new.command_id and state = 'performing';
    -- what an app asked for wrongly is an error that leaves nothing; every other end is read from command_results
    select fail(o.status, c.action || ' ' || coalesce(c.path, '') || ': ' || c.message)
    from commands as c
    join outcomes as o on o.name = c.outcome
    where c.id = new.command_id
        and c.turn_id is null
        and c.state = 'failed'
        and (
            c.outcome in ('validation', 'permission', 'method_not_allowed')
            or exists (select 1 from vetoes as v where v.command_id = c.id)
        );
end;

create trigger _fail_command__fail
instead of insert on _fail_command
begin
    update commands
    set state = 'failed',
        outcome = substr(new.fault, 1, instr(new.fault, ': ') - 1),
        message = substr(new.fault, instr(new.fault, ': ') + 2)
    where id = new.command_id and state in ('queued', 'performing');
end;

create trigger _end_command__end
instead of insert on _end_command
begin
    update commands
    set state = new.state, outcome = new.outcome, message = coalesce(new.message, message)
    where id = new.command_id;
    insert into _record_command (command_id) values (new.command_id);
end;

-- Its record is an entry of the log, hidden while a decision is open. What it worked on is forgotten.
create trigger _record_command__record
instead of insert on _record_command
begin
    insert into write_entry (run_id, path, body, attributes, visibility, state, outcome, writer, turn, loop_id)
    select
        c.run_id,
        c.log_path,
        coalesce(c.message, ''),
        json_patch(
            json_object('action', c.action, 'target', coalesce(c.path, substr(c.body, 1, 120))),
            json_object(
                'tags', json_extract(c.attributes, '$.tags'),
                'to', c.destination,
                'status', case c.action when 'update' then json_extract(c.attributes, '$.status') end
            )
        ),
        case when c.quiet then 'archived' else 'visible' end,
        c.state,
        c.outcome,
        'system',
        t.sequence,
        c.loop_id
    from commands as c
    join turns as t on t.id = c.turn_id
    where c.id = new.command_id
        and c.state in ('proposed', 'resolved', 'failed', 'cancelled')
        and c.log_path is not null;
    delete from _matched_entries
    where command_id = new.command_id;
end;
