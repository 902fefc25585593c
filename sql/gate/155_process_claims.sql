-- Claims: a client carries out a command itself, in the place of the driver.
-- A claim is made with the decision, or before anybody has begun the command; from then on a driver waits as it does for a
-- person. The claim and the start of an effect are each one statement, so whichever comes first decides who carries the
-- command out. A client that is gone loses what it has not begun; what it has begun is recorded as interrupted by the
-- next driver, unless a client takes it up again.
-- spec: @process_claims

-- tables

-- The commands that clients carry out, one row for each proposal of a process.
create table if not exists process_claims (
    proposal_id integer primary key constraint process_claims_proposal references proposals (id) on delete cascade,
    -- the token of the client, which every write for its command carries; null: the client is gone
    claimant text constraint process_claims_claimant_not_empty check (claimant <> ''),
    -- boot id, process id and start time of the server that the client is connected to, as JSON
    holder text not null,
    claimed_at integer not null
) strict;

-- views

-- Commands that have not ended and that nobody carries out, but for a driver that may be about to.
create view _free_processes as
select f.id as effect_id, f.proposal_id
from effects as f
where f.kind = 'process'
    and f.proposal_id is not null
    and not exists (select 1 from process_claims as k where k.proposal_id = f.proposal_id and k.claimant is not null)
    and (
        f.state = 'pending'
        -- a client had begun it, and is gone
        or (f.state = 'started' and exists (select 1 from process_claims as k where k.proposal_id = f.proposal_id))
    );

create view _claimed_processes as
-- The commands that clients carry out and that have not ended.
select r.alias as run, p.path, f.state, k.claimant, k.holder, f.id as effect_id
from process_claims as k
join proposals as p on p.id = k.proposal_id
join runs as r on r.id = p.run_id
join effects as f on f.command_id = p.command_id and f.proposal_id = p.id and f.state in ('pending', 'started')
where k.claimant is not null;

create view _claim_process as
-- Carry out a command of a run as a client: insert into _claim_process (run, path, claimant, holder). 'path' is that of its
-- log entry or of its output; 'claimant' is a token of the client, 'holder' the identity of its process. To claim it twice
-- is the same claim.
select run, path, claimant, holder
from _claimed_processes
where false;

create view _release_claims as
-- Give back what a client has claimed, because it is gone: insert into _release_claims (claimant, run). A command that has
-- not begun is left to whoever drives its run; 'run' is null: in all runs.
select claimant, run
from _claimed_processes
where false;

-- triggers

create trigger _claim_process__claim
instead of insert on _claim_process
begin
    select fail(404, 'run ' || quote(new.run) || ': no command waits at ' || quote(new.path))
    where not exists (
        select 1
        from runs as r
        join _process_paths as p on p.run_id = r.id and p.path = new.path
        join effects as f on f.id = p.effect_id and f.state in ('pending', 'started')
        where r.alias = new.run
    );
    insert into process_claims (proposal_id, claimant, holder, claimed_at)
    select distinct f.proposal_id, new.claimant, new.holder, now()
    from runs as r
    join _process_paths as p on p.run_id = r.id and p.path = new.path
    join _free_processes as f on f.effect_id = p.effect_id
    where r.alias = new.run
    on conflict (proposal_id) do update
        set claimant = excluded.claimant, holder = excluded.holder, claimed_at = excluded.claimed_at;
    select fail(409, 'run ' || new.run || ': ' || new.path || ' is already run by another client or process')
    where not exists (
        select 1
        from runs as r
        join _process_paths as p on p.run_id = r.id and p.path = new.path
        join _effect_leases as l on l.effect_id = p.effect_id and l.token = new.claimant
        where r.alias = new.run
    );
end;

create trigger _release_claims__release
instead of insert on _release_claims
begin
    update process_claims
    set claimant = null
    where claimant = new.claimant
        and (new.run is null or proposal_id in (
            select p.id from proposals as p join runs as r on r.id = p.run_id where r.alias = new.run
        ));
    delete from process_claims
    where claimant is null
        and not exists (
            select 1
            from proposals as p
            join effects as f on f.command_id = p.command_id and f.proposal_id = p.id and f.state <> 'pending'
            where p.id = process_claims.proposal_id
        );
end;
