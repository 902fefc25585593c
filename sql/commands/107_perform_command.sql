-- Performing a command: one page from its refusal to its record.
-- Most commands take the plain path (108). The other commands go through these steps: refusals (106), the entries
-- (105), faults (106), the state 'performing' (in which plugins carry out their tools), the procedure of the action
-- (110 to 122). The log entry is written last.
-- spec: @dispatch_path @response_commands @failure_reporting

-- views

create view _perform_command as
-- Perform a recorded command: insert into _perform_command (command_id). Nothing happens while another command of its
-- turn is under way or waits.
select id as command_id
from commands
where false;

-- Perform a command that takes more than the plain path: insert into _perform_by_rules (command_id), by _late_call.
create view _perform_by_rules as
select id as command_id
from commands
where false;

-- The door of the procedure of each command's action, which stands in the file of its tool; null where only a plugin may
-- perform it. A set of run://alias is carried out where it is recorded (190).
create view _procedures as
select
    id as command_id,
    case
        when action = 'set' then case when lower(substr(path, 1, 6)) is not 'run://' then '_run_set' end
        when action = 'get'
            then case
                when turn_id is null then '_run_get'
                when attributes ->> '$.like' is not null then '_run_outside'
                when not is_pattern and path_scheme(path) in ('http', 'https', 'mcp') then '_run_outside'
                else '_run_get'
            end
        when action in ('cp', 'mv') then '_run_cp_mv'
        when action in ('sh', 'env') then '_run_process'
        when action in ('search', 'subtask', 'execute') then case when turn_id is not null then '_run_outside' end
        when action in ('rm', 'update', 'think') then '_run_' || action
        when action = 'ask_user' then '_run_question'
    end as door
from commands;

-- What a procedure is given: insert into _run_set and the others, by _late_call. They have these columns in this order.
create view _run_command as
select id, run_id, turn_id, action, path, destination, body, attributes, writer
from commands
where false;

create view _run_get as select * from _run_command;
create view _run_set as select * from _run_command;
create view _run_rm as select * from _run_command;
create view _run_cp_mv as select * from _run_command;
create view _run_update as select * from _run_command;
create view _run_think as select * from _run_command;
create view _run_process as select * from _run_command;
create view _run_question as select * from _run_command;
create view _run_outside as select * from _run_command;

-- Give a command another state, and where that settles it write its log entry: insert into _end_command (command_id,
-- state, outcome, message). A null message keeps the present one.
create view _end_command as
select id as command_id, state, outcome, message
from commands
where false;

-- Fail a command that is queued or performing: insert into _fail_command (command_id, fault). 'fault' is 'outcome:
-- message'.
create view _fail_command as
select id as command_id, null as fault
from commands
where false;

-- Resolve a command that is performing: insert into _resolve_command (command_id, message).
create view _resolve_command as
select id as command_id, message
from commands
where false;

-- Write the log entry of a command of a turn: insert into _log_command (command_id).
create view _log_command as
select id as command_id
from commands
where false;

-- triggers

create trigger _perform_command__guard
instead of insert on _perform_command
when not exists (select 1 from commands where id = new.command_id)
begin
    select fail(404, 'command ' || quote(new.command_id) || ': not found; see the view command_results');
end;

-- A command of a turn waits for those before it that are under way, and for what is asked outside of the file. One that
-- is resolved has its log.
create trigger _perform_command__perform
instead of insert on _perform_command
when (select state from commands where id = new.command_id) <> 'resolved'
    and not exists (
        select 1
        from commands as c
        cross join commands as o on o.turn_id = c.turn_id
        where c.id = new.command_id
            -- two values are compared, a table is made of more
            and o.state not in ('queued', 'resolved')
            and o.state in ('performing', 'proposed', 'accepting', 'accepted')
            -- neighbouring commands that give work away are a group (231)
            and exists (
                select 1
                from commands as b
                where b.turn_id = c.turn_id
                    and b.ordinal between o.ordinal and c.ordinal
                    and b.action not in ('subtask', 'execute')
            )
    )
    and not exists (
        select 1
        from commands as c
        cross join _turn_holds as h on h.turn_id = c.turn_id and h.ordinal <= c.ordinal
        where c.id = new.command_id
    )
begin
    -- most commands take the plain path
    insert into _perform_plain (command_id) values (new.command_id);
    insert into _late_call (door, a)
    select '_perform_by_rules', id
    from commands
    where id = new.command_id and state <> 'resolved';
    insert into _log_command (command_id)
    select id
    from commands
    where id = new.command_id
        and (turn_id is not null or is_pattern)
        and state in ('proposed', 'resolved', 'failed');
end;

-- Each step applies only to a command that the steps before it have not settled.
create trigger _perform_by_rules__perform
instead of insert on _perform_by_rules
begin
    insert into _fail_command (command_id, fault)
    select command_id, refusal
    from (select command_id, refusal from _refusals where command_id = new.command_id limit 1)
    where refusal is not null;
    -- the entries that its path names or its pattern finds
    update commands
    set (is_pattern, entry_id) = (select is_pattern, entry_id from _command_paths where command_id = new.command_id)
    where id = new.command_id and state = 'queued' and action in (select action from _entry_actions);
    insert into _matched_entries (command_id, entry_id, path)
    select command_id, entry_id, path
    from _found_entries
    where command_id = new.command_id;
    insert into _fail_command (command_id, fault)
    select command_id, fault
    from (select command_id, fault from _faults where command_id = new.command_id limit 1)
    where fault is not null;
    -- with manifest any action only lists the entries
    insert into _list_entries (command_id, heading)
    select
        id,
        'MANIFEST ' || action || ' path="' || coalesce(path, '**') || '"'
        || coalesce((select ' filter="' || filter || '"' from _command_filters where command_id = commands.id), '') || ': '
    from commands
    where id = new.command_id and state = 'queued' and json_extract(attributes, '$.manifest') is not null;
    -- plugins perform their tools here
    update commands
    set state = 'performing'
    where id = new.command_id and state = 'queued';
    insert into _late_call (door, a, b, c, d, e, f, g, h, i)
    select
        (select door from _procedures where command_id = c.id),
        c.id, c.run_id, c.turn_id, c.action, c.path, c.destination, c.body, c.attributes, c.writer
    from commands as c
    where c.id = new.command_id and c.state = 'performing';
    -- no procedure and no plugin performs this action
    insert into _fail_command (command_id, fault)
    select
        id,
        case when turn_id is null then 'validation' else 'error' end || ': No rule performs <' || action || '>.'
    from commands
    where id = new.command_id and state = 'performing';
    -- from outside a turn, a malformed or forbidden command raises an error, so that nothing is stored; any other
    -- result is read from command_results
    select fail(o.status, c.action || ' ' || coalesce(c.path, '') || ': ' || coalesce(c.message, c.outcome))
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

-- The fault is split at its first ': '. A command that is settled, proposed or accepted stays as it is.
create trigger _fail_command__fail
instead of insert on _fail_command
begin
    update commands
    set state = 'failed',
        outcome = substr(new.fault, 1, instr(new.fault, ': ') - 1),
        message = substr(new.fault, instr(new.fault, ': ') + 2)
    where id = new.command_id and state in ('queued', 'performing');
end;

create trigger _resolve_command__resolve
instead of insert on _resolve_command
begin
    update commands
    set state = 'resolved', message = new.message
    where id = new.command_id and state = 'performing';
end;

-- Unlike _fail_command it settles a command in any state.
create trigger _end_command__end
instead of insert on _end_command
begin
    update commands
    set state = new.state, outcome = new.outcome, message = coalesce(new.message, message)
    where id = new.command_id;
    insert into _log_command (command_id)
    select id
    from commands
    where id = new.command_id and state in ('proposed', 'resolved', 'failed', 'cancelled');
end;

-- The entries that a pattern found are not needed after this. The log entry of a command that is 'proposed' is left out
-- of packets until the decision.
create trigger _log_command__log
instead of insert on _log_command
begin
    insert into entries (scope, path, scheme, kind)
    select 'run:' || run_id, log_path, 'log', 'log'
    from commands
    where id = new.command_id
        and turn_id is not null
        and log_path is not null
        and not exists (select 1 from entries where scope = 'run:' || run_id and path = log_path);
    insert into _apply_write (
        run_id, entry_id, path, category, shared, is_new, old_content_id, old_body, body, attributes, visibility, state,
        outcome, writer, turn, loop_id, searchable
    )
    select
        c.run_id,
        e.id,
        c.log_path,
        'logging',
        0,
        v.run_id is null,
        b.id,
        b.body,
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
        c.loop_id,
        0
    from commands as c
    cross join turns as t on t.id = c.turn_id
    cross join entries as e on e.scope = 'run:' || c.run_id and e.path = c.log_path
    left join run_views as v on v.run_id = c.run_id and v.entry_id = e.id
    left join contents as b on b.id = v.content_id
    where c.id = new.command_id;
    delete from _matched_entries
    where command_id = new.command_id;
end;
