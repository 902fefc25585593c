-- Dispatch: the commands of a turn are performed in order until one pauses or fails.
-- 'insert into dispatch (run) values (...)' is all that a driver says; it says it again when an effect is done or a
-- proposal settled, and the turn goes on where it paused. When nothing is left the turn is judged.
-- spec: @dispatch @pause_and_resume

-- views

create view dispatch as
select r.alias as run, t.lease
from turns as t
join runs as r on r.id = t.run_id
where t.phase in ('answered', 'dispatching');

-- The parts of a dispatch, for a driver that goes on after one of its commands broke: insert into dispatch_openings
-- (run, lease), perform next_commands one by one, insert into turn_settlings (run).
create view dispatch_openings as
select run, lease
from dispatch;

-- The command that each run would perform next: the first one queued, where none is under way.
create view next_commands as
select r.alias as run, t.id as turn_id, min(c.ordinal) as ordinal, c.id as command_id
from turns as t
join runs as r on r.id = t.run_id
join commands as c on c.turn_id = t.id and c.state = 'queued'
where t.phase = 'dispatching'
    and not exists (select 1 from unfinished_commands as u where u.turn_id = t.id)
group by t.id;

-- A command whose rules raised an error: insert into command_breakdowns (command_id, message).
create view command_breakdowns as
select id as command_id, message
from commands
where outcome = 'error';

-- After a dispatch: insert into turn_settlings (run). The turn is judged when nothing is left, or its run waits.
create view turn_settlings as
select alias as run
from runs;

-- Commands of a turn that have not come to their end.
create view unfinished_commands as
select turn_id, id as command_id, state
from commands
where state in ('performing', 'proposed', 'accepting', 'accepted');

-- triggers

create trigger dispatch__go_on
instead of insert on dispatch
begin
    insert into dispatch_openings (run, lease) values (new.run, new.lease);
    insert into command_steps (command_id, turn_id)
    select c.id, c.turn_id
    from turns as t
    join runs as r on r.id = t.run_id and r.alias = new.run
    join commands as c on c.turn_id = t.id and c.state = 'queued'
    where t.phase <> 'judged' and t.phase = 'dispatching'
    order by c.ordinal;
    insert into turn_settlings (run) values (new.run);
end;

create trigger dispatch_openings__open
instead of insert on dispatch_openings
begin
    select fail(409, 'run ' || coalesce(new.run, '') || ': nothing to dispatch')
    where not exists (
        select 1
        from turns as t
        join runs as r on r.id = t.run_id
        where r.alias = new.run and t.phase <> 'judged' and t.phase in ('answered', 'dispatching')
    );
    select fail(409, 'run ' || new.run || ': another process drives it; wait for it or stop it')
    from leases as l
    join runs as r on r.id = l.run_id
    where r.alias = new.run and l.token is not new.lease and l.expires_at > now();
    -- a run that waited and was decided goes on
    update runs
    set status = 102
    where alias = new.run
        and status = 202
        and not exists (select 1 from proposals as p where p.run_id = runs.id and p.state = 'proposed');
    update turns
    set phase = 'dispatching'
    where phase <> 'judged' and phase = 'answered' and run_id = (select id from runs where alias = new.run);
end;

create trigger command_breakdowns__record
instead of insert on command_breakdowns
begin
    update commands
    set state = 'failed', outcome = 'error', message = new.message
    where id = new.command_id and state = 'queued';
end;

create trigger turn_settlings__settle
instead of insert on turn_settlings
begin
    update runs
    set status = 202
    where alias = new.run
        and status = 102
        and exists (select 1 from proposals as p where p.run_id = runs.id and p.state = 'proposed');
    -- its fingerprint is that of what it asked for, which may be nothing
    update turns
    set phase = 'judging',
        fingerprint = (
            select substr(text_digest(f.fingerprint), 1, 16) from turn_fingerprints as f where f.turn_id = turns.id
        )
    where run_id = (select id from runs where alias = new.run)
        and phase <> 'judged'
        and phase = 'dispatching'
        and not exists (
            select 1
            from commands as c
            where c.turn_id = turns.id and c.state in ('queued', 'performing', 'proposed', 'accepting', 'accepted')
        );
end;
