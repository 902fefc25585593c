-- Effects: the changes that the driver carries out after they were accepted.
-- The driver marks an effect as started before it touches the world, and reports its end, which settles the proposal
-- and the command. An effect that was started and has no end is never simply done again: a process is reported as
-- interrupted, and a file is first compared with the text that it had before.
-- spec: @effects

-- tables

-- What the driver has to do, and has done, one row each.
create table if not exists effects (
    id integer primary key,
    run_id integer not null constraint effects_run references runs (id) on delete cascade,
    turn_id integer,
    command_id integer not null constraint effects_command references commands (id) on delete cascade,
    -- null: nobody had to decide on it
    proposal_id integer constraint effects_proposal references proposals (id),
    -- that of the proposal: file_write, file_delete, process, or a kind of a plugin
    kind text not null,
    detail text not null constraint effects_detail_json check (json_valid(detail)),
    state text not null default 'pending'
        constraint effects_state check (state in ('pending', 'started', 'done', 'interrupted', 'cancelled')),
    -- boot id, process id and start time of a started process, as JSON
    identity text,
    started_at integer,
    ended_at integer
) strict;

create index if not exists idx_effects_open on effects (run_id) where state in ('pending', 'started');

create index if not exists idx_effects_command_id on effects (command_id);

-- How an effect ended, as the driver reports it; an insert settles the effect.
create table if not exists effect_results (
    id integer primary key,
    effect_id integer not null constraint effect_results_effect references effects (id) on delete cascade,
    state text not null constraint effect_results_state check (state in ('resolved', 'failed', 'cancelled')),
    outcome text,
    message text,
    detail text not null default '{}' constraint effect_results_detail_json check (json_valid(detail)),
    -- the token of the driver's lease; null: driven without a lease
    lease text,
    constraint effect_results_once unique (effect_id)
) strict;

-- views

-- The effects by which runs work that ask no model. A part gives them.
create view _working_effects as
select null as run_id, null as effect_id
where false;

create view _pending_effects as
-- The effects that the driver has to perform, or that were started and have no end; with the text of a file. An effect
-- that a client carries out is not among them (process_claims).
select
    f.id as effect_id,
    f.run_id,
    f.turn_id,
    f.command_id,
    -- a process that does not hold up its turn is a job (124)
    case f.kind when 'process' then iif(f.detail ->> '$.background' is null, 'process', 'job') else f.kind end as kind,
    f.detail,
    f.state,
    f.identity,
    c.body,
    j.root,
    m.action,
    (select cast(value as integer) from settings where name = 'process_output_bytes') as max_output
from effects as f
join commands as m on m.id = f.command_id
join runs as r on r.id = f.run_id
join projects as j on j.id = r.project_id
left join proposals as p on p.id = f.proposal_id
left join contents as c on c.id = p.content_id
where f.state in ('pending', 'started')
    and not exists (select 1 from process_claims as k where k.proposal_id = f.proposal_id and k.claimant is not null);

-- The pending effects that nobody in a turn asked for, such as a client's write of a file. Whoever asks may perform them
-- under a lease of his own; a driver performs them between two turns and before a packet is made.
create view _requested_effects as
select *
from _pending_effects
where turn_id is null and kind <> 'process';

-- The seconds after which a process is stopped: its own limit, from 1 to 600, or the setting, and no longer than its loop
-- may go on. A job has a setting of its own.
create view _effect_timeouts as
select
    f.id as effect_id,
    min(
        coalesce(
            max(min(cast(nullif(trim(json_extract(m.attributes, '$.timeout')), '') as real), 600), 1),
            (
                select cast(value as real)
                from settings
                where name = iif(f.detail ->> '$.background' is null, 'process_timeout', 'job_timeout')
            )
        ),
        coalesce((select max(c.seconds_left, 1.0) from _loop_seconds as c where c.loop_id = m.loop_id), 9e9)
    ) as timeout_s
from effects as f
join commands as m on m.id = f.command_id;

create view _atomic_effects as
-- The pending effects of moves and patches of which none has started: the driver checks all of them before it performs
-- the first.
select p.*
from _pending_effects as p
join _atomic_commands as j on j.command_id = p.command_id
where not exists (select 1 from effects as o where o.command_id = p.command_id and o.state <> 'pending');

-- Processes, and functions that are called once, that were started and have no end. Where a driver asks what comes next,
-- the one that started them is dead.
create view _leftover_processes as
select
    id as effect_id,
    run_id,
    identity,
    detail ->> '$.call' || char(10) || 'Interrupted: the engine was stopped while it worked; whether it finished is unknown.'
        as message
from effects
where state = 'started'
    and (kind = 'process' or (kind in ('function', 'mcp') and not detail ->> '$.idempotent'))
    and not exists (select 1 from process_claims as k where k.proposal_id = effects.proposal_id and k.claimant is not null);

-- The processes that were started and have no end.
create view _processes_under_way as
select run_id, proposal_id, command_id
from effects
where kind = 'process' and state = 'started' and started_at is not null;

-- The token that is asked of whoever does an effect: that of the client that has claimed it, else that of the lease in
-- force on its run.
create view _effect_leases as
select f.id as effect_id, coalesce(k.claimant, l.token) as token
from effects as f
left join process_claims as k on k.proposal_id = f.proposal_id
left join _leases_in_force as l on l.run_id = f.run_id
where coalesce(k.claimant, l.token) is not null;

create view _start_effect as
-- Mark an effect as started, before it touches the world: insert into _start_effect (effect_id, identity, lease). It is
-- refused if the effect is over, or if somebody else carries it out.
select id as effect_id, identity, null as lease
from effects
where false;

create view _finish_effect as
-- Report how an effect ended: insert into _finish_effect (effect_id, state, outcome, message, detail, lease, pages).
-- Nothing happens where it is over: an abort may have cancelled it in the meantime. 'pages' is what came from the web.
select effect_id, state, outcome, message, detail, lease, null as pages
from effect_results
where false;

-- The doors that take what effects of a kind bring for the entries of a run, before their command ends. A part gives the
-- kind and a door (effect_id, pages), which is called late.
create view _page_takers as
select null as kind, null as door
where false;

-- The effects that are no failure when they fail, because the run has what they were to bring, and what is told of that.
create view _effect_substitutes as
select null as effect_id, null as note
where false;

-- triggers

-- Nobody has to decide on a get of a page, on one with like (460), on a search, or on work that is given away (231): the
-- command is accepted, and ends with its effect.
create trigger _run_outside__run
instead of insert on _run_outside
begin
    insert into effects (run_id, turn_id, command_id, kind, detail)
    values (
        new.run_id, new.turn_id, new.id,
        case
            when new.action = 'search' then 'search'
            when new.action <> 'get' then 'delegate'
            when new.attributes ->> '$.like' is not null then 'find'
            else 'fetch'
        end,
        '{}'
    );
    insert into _end_command (command_id, state)
    values (new.id, 'accepted');
end;

-- Refused without the token of the lease in force. A driver that takes over may mark a started effect again, but not a
-- command that somebody has begun: only another client takes that up.
create trigger _start_effect__start
instead of insert on _start_effect
begin
    select fail(404, 'effect ' || quote(new.effect_id) || ': not found; see the view _pending_effects')
    where not exists (select 1 from effects where id = new.effect_id);
    select fail(409, 'effect ' || new.effect_id || ': has already ended')
    where not exists (select 1 from effects where id = new.effect_id and state in ('pending', 'started'));
    select fail(409, 'effect ' || new.effect_id || ': another process or client does this step')
    from _effect_leases
    where effect_id = new.effect_id and token is not new.lease;
    select fail(409, 'effect ' || new.effect_id || ': was already started; an effect is never started twice')
    from effects as f
    where f.id = new.effect_id
        and f.kind = 'process'
        and f.state = 'started'
        and not exists (
            select 1 from process_claims as k where k.proposal_id = f.proposal_id and k.claimant = new.lease
        );
    update effects
    set state = 'started', identity = new.identity, started_at = now()
    where id = new.effect_id and state in ('pending', 'started');
end;

-- A page that could not be read anew is no failure where the run has a copy.
create trigger _finish_effect__finish
instead of insert on _finish_effect
begin
    select fail(404, 'effect ' || quote(new.effect_id) || ': not found; see the view _pending_effects')
    where not exists (select 1 from effects where id = new.effect_id);
    insert into _late_call (door, a, b)
    select k.door, f.id, coalesce(new.pages, '[]')
    from effects as f
    join _page_takers as k on k.kind = f.kind
    where f.id = new.effect_id and f.state in ('pending', 'started');
    insert into effect_results (effect_id, state, outcome, message, detail, lease)
    select
        f.id,
        case when k.note is null then new.state else 'resolved' end,
        case when k.note is null then new.outcome end,
        coalesce(k.note, '') || new.message,
        coalesce(new.detail, '{}'),
        new.lease
    from effects as f
    left join _effect_substitutes as k on k.effect_id = f.id and new.state = 'failed'
    where f.id = new.effect_id and f.state in ('pending', 'started');
end;

create trigger effect_results__guard
before insert on effect_results
begin
    select fail(404, 'effect ' || quote(new.effect_id) || ': not found; see the view _pending_effects')
    where not exists (select 1 from effects where id = new.effect_id);
    select fail(409, 'effect ' || new.effect_id || ': another process or client does this step')
    from _effect_leases
    where effect_id = new.effect_id and token is not new.lease;
    select fail(409, 'effect ' || new.effect_id || ': has already ended')
    where not exists (select 1 from effects where id = new.effect_id and state in ('pending', 'started'));
end;

-- First the entry of a file takes its new text, and the entries of a process the output and how it ended; then the
-- proposal is settled.
create trigger effect_results__settle
after insert on effect_results
begin
    update effects
    set state = case
            when new.outcome = 'interrupted' then 'interrupted'
            when new.state = 'cancelled' then 'cancelled'
            else 'done'
        end,
        ended_at = now()
    where id = new.effect_id;
    insert into _take_file
    select *
    from _file_effects
    where effect_id = new.effect_id and new.state = 'resolved';
    -- the output of a process becomes a content; an empty channel needs no line in the packet
    insert into _write_entry (run_id, path, body, visibility, state, outcome, writer, turn)
    select
        c.run_id,
        c.path,
        coalesce(c.printed, ''),
        case when c.printed is null then 'archived' else 'summarized' end,
        case when new.outcome = 'interrupted' then 'cancelled' else new.state end,
        new.outcome,
        'system',
        (select sequence from turns where id = c.turn_id)
    from _channel_entries as c
    where c.effect_id = new.effect_id;
    delete from entry_chunks
    where (run_id, entry_id) in (select run_id, entry_id from _channel_entries where effect_id = new.effect_id);
    update proposals
    set state = new.state,
        outcome = new.outcome,
        reason = coalesce(new.message, (select report from _process_reports where effect_id = new.effect_id), reason)
    where id = (select proposal_id from effects where id = new.effect_id) and state = 'accepted';
    update commands
    set message = coalesce(
        new.message,
        (
            select p.reason
            from effects as f
            join proposals as p on p.id = f.proposal_id
            where f.id = new.effect_id and f.kind = 'process'
        ), message
    )
    where id = (select command_id from effects where id = new.effect_id) and state = 'accepted';
    -- a command ends with its process where that is aborted
    insert into _end_command (command_id, state, outcome)
    select command_id, new.state, new.outcome
    from effects
    where id = new.effect_id and new.state = 'cancelled' and kind = 'process' and started_at is not null;
    insert into _late_call (door, a)
    select '_settle_proposal', proposal_id
    from effects
    where id = new.effect_id and proposal_id is not null;
    -- an effect without a proposal settles its command, as soon as no other effect of it is open
    insert into _end_command (command_id, state, outcome, message)
    select c.id, new.state, new.outcome, coalesce(c.message, '')
    from effects as f
    join commands as c on c.id = f.command_id and c.state = 'accepted'
    where f.id = new.effect_id
        and f.proposal_id is null
        and not exists (
            select 1 from effects as o where o.command_id = c.id and o.state in ('pending', 'started')
        );
end;
