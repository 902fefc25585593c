-- Commands: every request to the engine is a row here.
-- A command of the model is recorded with its turn and performed when the turn is dispatched. A command of a client,
-- a plugin or the system is performed at once. _perform_command (107) performs it.
-- spec: @commands @dispatch_path @response_commands

-- tables

-- All requests: who asked for what, and what came of it.
create table if not exists commands (
    id integer primary key,
    -- chosen by the caller; a second command with the same one is ignored
    request_id text,
    run_id integer not null constraint commands_run references runs (id) on delete cascade,
    loop_id integer,
    -- null: from outside a turn
    turn_id integer constraint commands_turn references turns (id) on delete cascade,
    -- its place in the response
    ordinal integer not null default 0,
    writer text not null constraint commands_writer references writer_tiers (name),
    action text not null,
    path text,
    -- the argument "to" of cp and mv
    destination text,
    body text,
    -- where a long body stands in the response of its turn: 'body' is emptied when the turn is judged; see
    -- _command_bodies
    body_at integer,
    body_chars integer,
    attributes text not null default '{}' constraint commands_attributes_json check (json_valid(attributes)),
    state text not null default 'queued' constraint commands_state references states (name),
    outcome text,
    -- what came of it, for people and for the model
    message text,
    -- the path of its log entry, in which the model reads the message
    log_path text,
    -- 1: its log entry is archived
    quiet integer not null default 0,
    created_at integer not null default 0,
    -- set when it is performed; 1: its path is a pattern, whose matches are in _matched_entries; 0: entry_id is the
    -- entry of its path
    is_pattern integer not null default 0,
    entry_id integer
) strict;

create index if not exists idx_commands_turn_id_ordinal on commands (turn_id, ordinal);

-- for whether a loop has called a tool, and for no other question: that asks for 'turn_id > 0'
create index if not exists idx_commands_loop_id_action on commands (loop_id, action) where turn_id > 0;

create unique index if not exists idx_commands_request_id on commands (request_id) where request_id is not null;

create index if not exists idx_commands_failed on commands (turn_id) where state in ('failed', 'cancelled');

-- Commands that a plugin forbids. Its trigger 'after insert on commands' adds a row here; the command then fails
-- instead of being performed.
create table if not exists vetoes (
    command_id integer primary key constraint vetoes_command references commands (id) on delete cascade,
    outcome text not null default 'permission' constraint vetoes_outcome references outcomes (name),
    message text not null
) strict;

-- views

create view _command_bodies as
-- The body of each command. A long body is kept only in the response once its turn is judged; this view cuts it out of
-- there.
select
    c.id as command_id,
    coalesce(c.body, substr(t.response, c.body_at, c.body_chars)) as body
from commands as c
left join turns as t on t.id = c.turn_id;

-- The attributes of a command that are kept on the entry it writes.
create view _kept_attributes as
select
    c.id as command_id,
    case
        -- most have none
        when c.attributes not in ('{}', '{"attributes":{}}')
            then nullif(
                json_patch(
                    coalesce(json_extract(c.attributes, '$.attributes'), '{}'),
                    -- cleaned of its own nulls: those of the attributes are kept, they remove something later
                    json_patch('{}', json_object(
                        'tags', substr(json_extract(c.attributes, '$.tags'), 1, 80),
                        'summary', substr(json_extract(c.attributes, '$.summary'), 1, 80)
                    ))
                ), '{}'
            )
    end as attributes
from commands as c;

create view command_results as
-- The state, outcome, status and message of each command: select * from command_results where request_id = 'mine'.
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
    (
        select x.status
        from _result_statuses as x
        where x.state = c.state
            and x.outcome in ('', c.outcome, substr(c.outcome, 1, instr(c.outcome || ':', ':') - 1))
        order by length(x.outcome) desc
        limit 1
    ) as status,
    c.message,
    strftime('%Y-%m-%d %H:%M:%S', nullif(c.created_at, 0) / 1000.0, 'unixepoch') as created_at
from commands as c
join runs as r on r.id = c.run_id
left join turns as t on t.id = c.turn_id;

-- triggers

-- A request_id that was used before is the same command: the new row is ignored.
create trigger commands__ignore_repeats
before insert on commands
when new.request_id is not null and exists (select 1 from commands where request_id = new.request_id)
begin
    select raise(ignore);
end;

-- Choose the path of the log entry; a path that the turn already has gets the ordinal appended.
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

-- A command that comes from outside a turn is performed at once. Most are plain, and then what _perform_command is made of
-- is not set up.
create trigger commands__perform_now
after insert on commands
when new.turn_id is null and new.state = 'queued'
begin
    insert into _perform_plain (command_id) values (new.id);
    insert into _perform_command (command_id)
    select id
    from commands
    where id = new.id and state <> 'resolved';
end;

-- Raise an error when a veto comes after its command was performed; the error undoes the whole statement. This happens
-- to a command from outside a turn when commands__perform_now runs before the trigger of the plugin: SQLite does not
-- say which of the two is first.
create trigger vetoes__undo
after insert on vetoes
when (select turn_id is null and state <> 'queued' from commands where id = new.command_id)
begin
    select fail(o.status, c.action || ' ' || coalesce(c.path, '') || ': ' || new.message)
    from commands as c
    join outcomes as o on o.name = new.outcome
    where c.id = new.command_id and new.message is not null;
end;
