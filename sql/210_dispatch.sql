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

-- Commands of a turn that have not come to their end.
create view unfinished_commands as
select turn_id, id as command_id, state
from commands
where state in ('performing', 'proposed', 'accepting', 'accepted');

-- triggers

create trigger dispatch__go_on
instead of insert on dispatch
begin
    select fail(409, 'run ' || coalesce(new.run, '') || ': nothing to dispatch')
    where not exists (
        select 1
        from turns as t
        join runs as r on r.id = t.run_id
        where r.alias = new.run and t.phase in ('answered', 'dispatching')
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
    where phase = 'answered' and run_id = (select id from runs where alias = new.run);
    insert into command_steps (command_id, turn_id)
    select c.id, c.turn_id
    from turns as t
    join runs as r on r.id = t.run_id and r.alias = new.run
    join commands as c on c.turn_id = t.id and c.state = 'queued'
    where t.phase = 'dispatching'
    order by c.ordinal;
    insert into turn_settlings (run)
    select new.run;
end;

-- After a dispatch: insert into turn_settlings (run). The turn is judged when nothing is left, or its run waits.
create view turn_settlings as
select alias as run
from runs;

create trigger turn_settlings__settle
instead of insert on turn_settlings
begin
    update runs
    set status = 202
    where alias = new.run
        and status = 102
        and exists (select 1 from proposals as p where p.run_id = runs.id and p.state = 'proposed');
    update turns
    set phase = 'judging'
    where run_id = (select id from runs where alias = new.run)
        and phase = 'dispatching'
        and not exists (
            select 1
            from commands as c
            where c.turn_id = turns.id and c.state in ('queued', 'performing', 'proposed', 'accepting', 'accepted')
        );
end;
