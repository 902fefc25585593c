-- rm: remove entries. Those of the engine go at once, each file by a proposal of its own.
-- spec: @verb_rm

-- views

-- Commands being performed; an insert performs one.
create view performing_rm as
select *
from commands
where state = 'performing' and action = 'rm';

-- triggers

create trigger commands__perform_rm
after update of state on commands
when new.state = 'performing' and new.action = 'rm'
begin
    insert into performing_rm
    select *
    from commands
    where id = new.id;
end;

create trigger performing_rm__perform
instead of insert on performing_rm
begin
    delete from run_views
    where run_id = new.run_id
        and entry_id in (
            select t.entry_id
            from command_targets as t
            join entries as e on e.id = t.entry_id
            where t.command_id = new.id and e.kind <> 'file'
        );
    insert into file_removals (command_id, path)
    select command_id, path
    from command_targets
    where command_id = new.id
    order by path;
    update commands
    set state = 'resolved', message = 'removed'
    where id = new.id and state = 'performing';
end;
