-- Commands: the one door. Whatever anybody asks of the engine is a row here.
-- A command of the model is recorded with its turn and performed when the turn is dispatched; one of a client, a plugin or
-- the system is performed at once. On its way it may be refused, finds the entries that it is about, may be faulted, and is
-- performed: a file each, below. To add a tool: a row in tools and a trigger on commands that go to 'performing'.
-- spec: @commands @dispatch_path

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
    created_at integer not null default 0
) strict;

create index if not exists idx_commands_turn_id_ordinal on commands (turn_id, ordinal);
create unique index if not exists idx_commands_request_id on commands (request_id) where request_id is not null;
create index if not exists idx_commands_unfinished on commands (turn_id)
where state in ('performing', 'proposed', 'accepting', 'accepted');
create index if not exists idx_commands_failed on commands (turn_id) where state in ('failed', 'cancelled');

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

-- triggers

-- A request that was made before is the same command: nothing is done again.
create trigger commands__forget_repeats
before insert on commands
when new.request_id is not null and exists (select 1 from commands where request_id = new.request_id)
begin
    select raise(ignore);
end;
