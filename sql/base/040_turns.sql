-- Turns: one round trip with the model each, made by the one driver of its run.
-- The phase of a turn says what has to be done next, so a turn that a kill cut off continues where it was. A driver
-- holds the lease of the run and gives the lease's token with every write; a write with another token is refused.
-- spec: @turns_table @turn_phases @leases

-- tables

-- The phases of a turn; each says what has to be done next.
create table if not exists turn_phases (
    name text primary key,
    meaning text not null
) strict, without rowid;

-- The changes of phase that a turn may make.
create table if not exists turn_transitions (
    from_phase text not null constraint turn_transitions_from references turn_phases (name),
    to_phase text not null constraint turn_transitions_to references turn_phases (name),
    primary key (from_phase, to_phase)
) strict, without rowid;

-- What each turn was sent, was answered, cost and led to.
create table if not exists turns (
    id integer primary key,
    run_id integer not null constraint turns_run references runs (id) on delete cascade,
    loop_id integer not null constraint turns_loop references loops (id) on delete cascade,
    sequence integer not null,
    phase text not null default 'assembling' constraint turns_phase references turn_phases (name),
    -- 102: the turn is open, or the loop continues after it; else the status with which the loop ended
    status integer not null default 102 constraint turns_status references statuses (code),
    -- the token of the driver's lease; null: driven without a lease
    lease text,
    -- the answer of the model as stored, and its reasoning
    response text,
    reasoning text,
    -- 1: the commands came as native tool calls; the response holds them as markup
    native integer not null default 0 constraint turns_native_flag check (native in (0, 1)),
    -- what the parser found besides commands: the text outside them, kept until the turn is judged, and its warnings
    prose text,
    warnings text,
    -- length of the packet as sent, in characters and in estimated tokens
    context_chars integer,
    context_tokens integer,
    -- usage as the provider reported it, and the cost
    prompt_tokens integer,
    cached_tokens integer,
    completion_tokens integer,
    reasoning_tokens integer,
    cost real,
    -- the clock (events.id) when the packet was accepted; the model saw what was live at that clock
    seen_at integer,
    -- digest of what the turn asked for; turns in a cycle have the same ones
    fingerprint text,
    -- strikes in a row, this turn included
    streak integer not null default 0,
    -- characters a token in this packet: the rate of the loop, a lower one that the run has measured since, or the one
    -- that a tokenizer counted
    chars_per_token real,
    -- the last step of the ladder that was taken for this packet; 0: none; 6: no step is left
    ladder integer not null default 0,
    -- 1: old results of tools were summarized to keep this packet small
    condensed integer not null default 0,
    -- how often the provider refused the packet of this turn as too long
    refused integer not null default 0,
    -- 1: the project's files were scanned for this turn
    scanned integer not null default 0,
    -- milliseconds that the model and the engine took
    ms_model integer,
    ms_engine integer,
    created_at integer not null,
    ended_at integer,
    -- how the response ended: stop, tool_call, length, content_filter, incomplete, repetition, …; null: not reported
    finish_reason text,
    -- how many of context_chars show entries; the rest is what the engine says itself
    entry_chars integer,
    -- who says what the answer cost: the provider or its model, the price that a person set (person), the price list of a
    -- library (list), or nobody, because it ran on this machine (local)
    cost_from text constraint turns_cost_from check (cost_from in ('provider', 'person', 'list', 'local')),
    constraint turns_sequence_per_run unique (run_id, sequence)
) strict;

create index if not exists idx_turns_loop_id_sequence on turns (loop_id, sequence);

create unique index if not exists idx_turns_one_open on turns (run_id) where phase <> 'judged';

-- covers what _loop_rates reads, so that it reads no response
create index if not exists idx_turns_reported on turns (run_id, sequence, context_chars, prompt_tokens, loop_id)
where prompt_tokens > 0;

-- these two cover what _run_costs reads, so that it reads no response
create index if not exists idx_turns_costs on turns (run_id, cost) where cost is not null;

create index if not exists idx_turns_unknown_costs on turns (run_id) where response is not null and cost is null;

-- The driver of each driven run, one row a run. The token guards every write of the driver.
create table if not exists leases (
    run_id integer primary key constraint leases_run references runs (id) on delete cascade,
    token text not null,
    -- boot id, process id and start time of the driver, as JSON; a driver that is provably dead is replaced at once
    holder text not null,
    -- in Unix milliseconds
    expires_at integer not null,
    -- 1: the run was aborted; its driver stops when it next checks
    aborted integer not null default 0,
    -- the sandbox that its driver has for each choice, as a JSON object; '': none
    sandboxes text constraint leases_sandboxes_json check (sandboxes is null or json_valid(sandboxes)),
    -- the tools that are open because its driver can perform them, as a JSON object with their names as keys
    tools text constraint leases_tools_json check (tools is null or json_valid(tools))
) strict;

-- Errors of a turn that belong to no command: an unreadable response, a failed model call, a packet that does not fit.
create table if not exists turn_errors (
    id integer primary key,
    turn_id integer not null constraint turn_errors_turn references turns (id) on delete cascade,
    status integer not null constraint turn_errors_status references statuses (code),
    message text not null,
    -- the last part of the path of its log entry; null when inserted: made from the message
    slug text,
    -- 1: told to the model without being a strike
    soft integer not null default 0 constraint turn_errors_soft_flag check (soft in (0, 1)),
    detail text constraint turn_errors_detail_json check (detail is null or json_valid(detail))
) strict;

create index if not exists idx_turn_errors_turn_id on turn_errors (turn_id);

-- seeds

insert into turn_phases (name, meaning) values
    ('assembling', 'begun; the packet must be made'),
    ('asking', 'the packet is stored; the model must be asked'),
    ('answered', 'the response is stored; its commands must be carried out'),
    ('dispatching', 'commands run, or wait for an effect or a decision'),
    ('voting', 'the engine and plugins vote on how the loop continues'),
    ('judged', 'ended; the verdict is known')
on conflict (name) do update set meaning = excluded.meaning;

insert or ignore into turn_transitions (from_phase, to_phase) values
    ('assembling', 'asking'), ('assembling', 'voting'), ('assembling', 'judged'),
    ('asking', 'assembling'), ('asking', 'answered'), ('asking', 'voting'), ('asking', 'judged'),
    ('answered', 'dispatching'), ('answered', 'judged'),
    ('dispatching', 'voting'), ('dispatching', 'judged'),
    ('voting', 'judged');

-- views

create view run_leases as
-- The leases of runs: select * from run_leases. A lease is in force until 'expires_at', in Unix milliseconds; an
-- expired one is listed until it is replaced or released.
select r.alias as run, l.token, l.holder, l.expires_at
from leases as l
join runs as r on r.id = l.run_id;

-- The leases that keep others from a run, by the clock of SQLite: processes share that, whatever clock an app gives the
-- record. A lease that lies further ahead than a lease ever does was made before the clock was put back; it counts as
-- expired.
create view _leases_in_force as
select l.run_id, l.token, l.holder, l.expires_at, l.tools
from leases as l
cross join settings as s on s.name = 'lease_seconds'
where l.expires_at > (julianday('now') - 2440587.5) * 86400000
    and l.expires_at <= (julianday('now') - 2440587.5) * 86400000 + 2000 * cast(s.value as integer);

create view _claim_lease as
-- Take the lease of a run: insert into _claim_lease (run, token, holder, replaces). It is refused while another lease is
-- in force, unless 'replaces' is the token of that lease because its holder is known to be dead.
select run, token, holder, null as replaces
from run_leases
where false;

create view _release_lease as
-- Give the lease of a run back: insert into _release_lease (token). Nothing happens where it was lost.
select token
from leases
where false;

-- triggers

-- The open turn of the run gets the new token, so that the new driver can continue it.
create trigger _claim_lease__claim
instead of insert on _claim_lease
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    from _leases_in_force as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run and l.token is not new.replaces;
    insert into leases (run_id, token, holder, expires_at)
    select
        id, new.token, new.holder,
        cast((julianday('now') - 2440587.5) * 86400000 as integer)
        + 1000 * (select cast(value as integer) from settings where name = 'lease_seconds')
    from runs
    where alias = new.run
    on conflict (run_id) do update
        set token = excluded.token, holder = excluded.holder, expires_at = excluded.expires_at, aborted = 0,
        sandboxes = null, tools = null;
    update turns
    set lease = new.token
    where phase <> 'judged' and run_id = (select id from runs where alias = new.run);
end;

-- The token is taken off the open turn too, so that it can be continued without a lease.
create trigger _release_lease__release
instead of insert on _release_lease
begin
    delete from leases
    where token = new.token;
    update turns
    set lease = null
    where phase <> 'judged' and lease = new.token;
end;

-- While a lease is in force on a run, a turn is only begun with its token.
create trigger turns__guard_lease_on_begin
before insert on turns
when exists (select 1 from _leases_in_force as l where l.run_id = new.run_id and l.token is not new.lease)
begin
    select fail(409, 'run ' || alias || ': another process works on it; wait, or stop it: engine abort ' || alias)
    from runs
    where id = new.run_id;
end;

-- An open turn is only written with the token of the lease on its run, or without one while no lease is in force.
create trigger turns__guard_lease
before update of response, phase, lease, context_chars on turns
when old.phase <> 'judged' and new.phase <> 'judged'
    and (
        (
            new.lease is not null
            and not exists (select 1 from leases as l where l.run_id = new.run_id and l.token = new.lease)
        )
        or (
            new.lease is null
            and exists (select 1 from _leases_in_force as l where l.run_id = new.run_id)
        )
    )
begin
    select fail(409, 'run ' || alias || ': another process has taken over this run')
    from runs
    where id = new.run_id;
end;

-- A turn changes its phase only along turn_transitions.
create trigger turns__guard_transition
before update of phase on turns
when new.phase <> old.phase
    and not exists (
        select 1 from turn_transitions as t where t.from_phase = old.phase and t.to_phase = new.phase
    )
begin
    select fail(
        409,
        'turn ' || old.sequence || ' of run ' || (select alias from runs where id = old.run_id)
        || ': its phase cannot change from ' || old.phase || ' to ' || new.phase
    );
end;

-- Write the error as the entry log://turn_N/error/slug, where the model reads it. A slug that the turn already has gets
-- the id of the error appended.
create trigger turn_errors__write_entry
after insert on turn_errors
begin
    update turn_errors
    set slug = path_slug(message) || case
            when exists (
                select 1
                from turn_errors as o
                where o.turn_id = new.turn_id and o.id < new.id and o.slug = path_slug(new.message)
            ) then '_' || new.id
            else ''
        end
    where id = new.id and slug is null;
    insert into _write_entry (run_id, path, body, attributes, state, outcome, writer, turn, loop_id)
    select
        t.run_id,
        'log://turn_' || t.sequence || '/error/' || e.slug,
        e.message,
        json_patch(coalesce(e.detail, '{}'), json_object('action', 'error', 'status', e.status)),
        case e.soft when 1 then 'resolved' else 'failed' end,
        case e.soft when 0 then 'status:' || e.status end,
        'system',
        t.sequence,
        t.loop_id
    from turn_errors as e
    join turns as t on t.id = e.turn_id
    where e.id = new.id;
end;
