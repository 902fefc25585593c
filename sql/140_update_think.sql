-- update and think: what the model says of its own work.
-- An update records that the loop goes on (102) or how it ended (200, 204, 422, 500); a thought has no effect.
-- spec: @verb_update @tool_think

-- views

-- Commands being performed; an insert performs one.
create view performing_update as
select *
from commands
where state = 'performing' and action = 'update';

-- Commands being performed; an insert performs one.
create view performing_think as
select *
from commands
where state = 'performing' and action = 'think';

-- triggers

create trigger commands__perform_update
after update of state on commands
when new.state = 'performing' and new.action = 'update'
begin
    insert into performing_update
    select *
    from commands
    where id = new.id;
end;

create trigger performing_update__perform
instead of insert on performing_update
begin
    update commands
    set state = 'failed',
        outcome = 'validation',
        message = 'Invalid status "' || json_extract(new.attributes, '$.status')
            || '": 102 goes on, 200 is done, 204 had nothing to do, 422 cannot be done.'
    where id = new.id
        and json_extract(new.attributes, '$.status') is not null
        and not (
            cast(json_extract(new.attributes, '$.status') as text) in ('200', '204', '422', '500')
            or cast(json_extract(new.attributes, '$.status') as text) glob '1[0-9][0-9]'
        );
    update commands
    set state = 'resolved',
        message = trim(coalesce(new.body, ''), char(32, 9, 10, 13)),
        attributes = json_set(
            new.attributes, '$.status', cast(coalesce(json_extract(new.attributes, '$.status'), '102') as integer)
        )
    where id = new.id and state = 'performing';
end;

create trigger commands__perform_think
after update of state on commands
when new.state = 'performing' and new.action = 'think'
begin
    insert into performing_think
    select *
    from commands
    where id = new.id;
end;

create trigger performing_think__perform
instead of insert on performing_think
begin
    update commands
    set state = 'resolved', message = '', quiet = 1
    where id = new.id;
end;
