-- Performing: the steps that a command takes, from its turn to its end.
-- Refused, or its targets found and perhaps faulted, or 'performing': then the rule of its action settles it or makes it
-- wait. A command of a turn stops behind one that failed; one from outside is an error that leaves nothing.
-- spec: @dispatch_path @failure_reporting

-- views

-- Perform a command at once: insert into performances (command_id, action, path). A large body stands behind a view, because
-- SQLite sets up the whole of a trigger's program before it looks at its condition.
create view performances as
select id as command_id, action, path
from commands
where false;

-- Perform one recorded command: insert into command_steps (command_id, turn_id).
create view command_steps as
select id as command_id, turn_id
from commands
where state = 'queued';

-- triggers

-- A command that comes from outside a turn is performed at once, or refused with nothing left behind.
create trigger commands__perform_now
after insert on commands
when new.turn_id is null and new.state = 'queued'
begin
    insert into performances (command_id, action, path) values (new.id, new.action, new.path);
end;

create trigger performances__perform
instead of insert on performances
begin
    select fail(
        (select status from outcomes where name = r.outcome),
        new.action || ' ' || coalesce(new.path, '') || ': ' || r.message
    )
    from command_refusals as r
    where r.command_id = new.command_id
    order by r.rank
    limit 1;
    insert into target_finds (command_id) values (new.command_id);
    update commands
    set state = 'performing'
    where id = new.command_id and state = 'queued';
    update commands
    set state = 'failed', outcome = 'validation', message = 'no rule performs it'
    where id = new.command_id and state = 'performing';
end;

-- What an app asked for wrongly is an error that leaves nothing; every other end is read from command_results.
create trigger commands__raise_to_the_app
after update of state on commands
when new.turn_id is null
    and new.state = 'failed'
    and old.state in ('queued', 'performing')
    and new.outcome in ('validation', 'permission', 'method_not_allowed')
begin
    select fail(
        (select status from outcomes where name = new.outcome),
        new.action || ' ' || coalesce(new.path, '') || ': ' || new.message
    );
end;

-- One command of a turn: aborted after a failure, refused, or performed. An update is heard in any case.
create trigger command_steps__perform
instead of insert on command_steps
when not exists (
        select 1
        from commands
        where turn_id = new.turn_id and state in ('performing', 'proposed', 'accepting', 'accepted')
    )
begin
    insert into refused_commands (command_id, outcome, message)
    select c.id, 'aborted', 'Aborted: the <' || f.action || '> before it failed.'
    from commands as c
    cross join commands as f on f.turn_id = new.turn_id and f.state in ('failed', 'cancelled')
    where c.id = new.command_id and c.state = 'queued' and c.action <> 'update'
    order by f.ordinal
    limit 1;
    insert into refused_commands (command_id, outcome, message)
    select r.command_id, r.outcome, r.message
    from command_refusals as r
    where r.command_id = (select id from commands where id = new.command_id and state = 'queued')
    order by r.rank
    limit 1;
    insert into target_finds (command_id)
    select id
    from commands
    where id = new.command_id and state = 'queued' and action in (select action from entry_actions);
    update commands
    set state = 'performing'
    where id = new.command_id and state = 'queued';
    -- a tool whose plugin is gone
    update commands
    set state = 'failed', outcome = 'error', message = 'No rule performs <' || action || '>.'
    where id = new.command_id and state = 'performing';
end;
