-- Ends of processes: which processes run, what their paths are, and which of them somebody wants to stop.
-- A process is the command line of an effect. One that goes on behind its command is told by whoever lets it (124).
-- spec: @cancelling

-- tables

-- Requests to end a process; its driver looks for them while it runs.
create table if not exists process_cancels (
    effect_id integer primary key constraint process_cancels_effect references effects (id) on delete cascade,
    asked_by text not null,
    reason text,
    created_at integer not null
) strict;

-- views

-- The processes that go on behind their command, or did. A part gives a row for each: 'keeper' is the process that watches
-- one that is kept beyond its loop, 'token' what its end carries then.
create view _background_processes as
select
    null as effect_id, null as run_id, null as identity, null as started_at, null as ended_at, null as outcome,
    null as exit_code, null as detail, null as keeper, null as token
where false;

-- Processes that are kept beyond their loop, each with the token of its driver.
create view _kept_processes as
select effect_id, run_id, token
from _background_processes
where ended_at is null and keeper is not null;

-- Those that nobody has asked to end, each with its run and those above it: '/1/2/'.
create view _kept_processes_unasked as
select k.effect_id, coalesce(c.lineage, '/') || k.run_id || '/' as lineage
from _kept_processes as k
left join children as c on c.run_id = k.run_id
where k.effect_id not in (select effect_id from process_cancels);

-- The paths by which a process is named: those of its channels, the same without the channel, and that of its log entry.
create view _process_paths as
select effect_id, run_id, path, channel
from _effect_channels
union all
select effect_id, run_id, substr(path, 1, length(path) - 2), null
from _effect_channels
where channel = 1
union all
select f.id, f.run_id, m.log_path, null
from effects as f
join commands as m on m.id = f.command_id
where f.kind = 'process';

-- How many characters an output had of which only the latest are kept.
create view _printed_outputs as
select null as effect_id, null as channel, null as printed
where false;

-- The outputs of processes that the run has, with the text of those that have ended, and how many characters were printed.
create view _process_outputs as
select n.effect_id, n.channel, n.path, n.run_id, n.entry_id, b.body, coalesce(k.printed, length(b.body)) as printed
from _channel_entries as n
join _entry_bodies as b on b.run_id = n.run_id and b.entry_id = n.entry_id
left join _printed_outputs as k on k.effect_id = n.effect_id and k.channel = n.channel;

-- All processes without an end, each with the driver that held its run last, with the server of the client that carries it
-- out, or with its keeper. 'is_unheeded' is 1 for a kept one that was to end for as long as a lease lasts.
create view _unfinished_processes as
select f.id as effect_id, f.run_id, 'process' as kind, f.identity, coalesce(k.holder, l.holder) as holder,
    coalesce(k.claimant, l.token) as token, 0 as kept, 0 as is_unheeded
from effects as f
left join leases as l on l.run_id = f.run_id
left join process_claims as k on k.proposal_id = f.proposal_id and k.claimant is not null
where f.state = 'started' and f.kind = 'process'
union all
select
    j.effect_id, j.run_id, 'job', j.identity, coalesce(j.keeper, l.holder),
    case when j.keeper is null then l.token else j.token end, j.keeper is not null,
    j.keeper is not null and exists (
        select 1
        from process_cancels as c
        join settings as s on s.name = 'lease_seconds'
        where c.effect_id = j.effect_id and c.created_at < now() - 1000 * s.value
    )
from _background_processes as j
left join leases as l on l.run_id = j.run_id
where j.ended_at is null;

-- Processes whose end can be asked for. 'is_unwatched' is 1 for one that no driver watches, which ends by the asking;
-- 'token' is what its end carries.
create view _cancellable_processes as
select
    u.effect_id,
    u.token,
    exists (
        select 1 from effects as f join process_claims as k on k.proposal_id = f.proposal_id where f.id = u.effect_id
    ) as is_unwatched
from _unfinished_processes as u
union all
select f.id, l.token, k.claimant is not null or l.token is null
from effects as f
left join _effect_leases as l on l.effect_id = f.id
left join process_claims as k on k.proposal_id = f.proposal_id
where f.state = 'pending' and f.kind = 'process';

create view verb_cancel_process as
-- Ask for the end of a process: insert into verb_cancel_process (run, path, asked_by, reason). 'path' is that of its
-- log entry or of its output; whoever drives the run ends it.
select r.alias as run, p.path, k.asked_by, k.reason
from process_cancels as k
join _process_paths as p on p.effect_id = k.effect_id
join runs as r on r.id = p.run_id
where false;

-- triggers

-- To ask twice is harmless. A process that no driver watches ends at once: that of a client, which is told, and one that
-- has not begun in a run without a driver.
create trigger verb_cancel_process__ask
instead of insert on verb_cancel_process
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(
        404,
        'run ' || new.run || ': ' || quote(new.path) || ' is neither a command of this run nor its output; see ''engine log '
        || new.run || ''''
    )
    where not exists (
        select 1 from _process_paths as p join runs as r on r.id = p.run_id where r.alias = new.run and p.path = new.path
    );
    select fail(409, 'run ' || new.run || ': ' || new.path || ' is not running, so there is nothing to stop')
    where not exists (
        select 1
        from _process_paths as p
        join runs as r on r.id = p.run_id
        join _cancellable_processes as u on u.effect_id = p.effect_id
        where r.alias = new.run and p.path = new.path
    );
    insert into process_cancels (effect_id, asked_by, reason, created_at)
    select distinct u.effect_id, coalesce(new.asked_by, 'client'), new.reason, now()
    from _process_paths as p
    join runs as r on r.id = p.run_id
    join _cancellable_processes as u on u.effect_id = p.effect_id
    where r.alias = new.run
        and p.path = new.path
        and u.effect_id not in (select effect_id from process_cancels);
    insert into _finish_effect (effect_id, state, outcome, detail, lease)
    select distinct
        u.effect_id, 'failed', 'cancelled',
        json_object('note', 'stopped by ' || coalesce(new.asked_by, 'client') || coalesce(': ' || new.reason, '')), u.token
    from _process_paths as p
    join runs as r on r.id = p.run_id
    join _cancellable_processes as u on u.effect_id = p.effect_id
    where r.alias = new.run and p.path = new.path and u.is_unwatched;
end;
