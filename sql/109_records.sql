-- Records: what came of a command, where the model reads it.
-- Each command of a turn has a place in the log, log://turn_N/action/slug, settled when it is recorded and written when it
-- comes to its end. A proposal has its record too, hidden while it is open.
-- spec: @record @failure_reporting

-- triggers

-- Where the model will read it; a name that is taken is numbered.
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

create trigger commands__write_the_log
after update of state on commands
when new.state in ('proposed', 'resolved', 'failed', 'cancelled')
    and new.state <> old.state
    and new.turn_id is not null
    and new.log_path is not null
begin
    insert into entry_writes (run_id, path, body, attributes, visibility, state, outcome, writer, turn, loop_id)
    select
        new.run_id,
        new.log_path,
        coalesce(new.message, ''),
        json_patch(
            json_object('action', new.action, 'target', coalesce(new.path, substr(new.body, 1, 120))),
            json_object(
                'tags', json_extract(new.attributes, '$.tags'),
                'to', new.destination,
                'status', case new.action when 'update' then json_extract(new.attributes, '$.status') end
            )
        ),
        case when new.quiet then 'archived' else 'visible' end,
        new.state,
        new.outcome,
        'system',
        t.sequence,
        new.loop_id
    from turns as t
    where t.id = new.turn_id;
    delete from command_targets
    where command_id = new.id;
end;

-- A command from outside a turn has no log; what it worked on is forgotten all the same.
create trigger commands__forget_targets
after update of state on commands
when new.turn_id is null and new.state in ('resolved', 'failed', 'cancelled') and new.state <> old.state
begin
    delete from command_targets
    where command_id = new.id;
end;
