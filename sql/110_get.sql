-- get: read. What it finds becomes visible in the next packet; a slice or a manifest is answered in the log instead.
-- spec: @verb_get

-- views

-- Commands being performed; an insert performs one.
create view performing_get as
select *
from commands
where state = 'performing' and action = 'get';

-- The lines of one entry that a get asks for, as they are told.
create view get_slices as
select
    command_id,
    path || char(10) || '[lines ' || json_extract(slice, '$.first') || '-' || json_extract(slice, '$.last') || ' / '
    || json_extract(slice, '$.total') || ' total]' || char(10) || json_extract(slice, '$.text') as message
from (
    select
        c.id as command_id,
        c.path,
        text_slice(
            coalesce(b.body, ''),
            cast(json_extract(c.attributes, '$.line') as integer),
            cast(json_extract(c.attributes, '$.limit') as integer)
        ) as slice
    from commands as c
    cross join command_targets as t on t.command_id = c.id
    cross join entry_bodies as b on b.run_id = c.run_id and b.entry_id = t.entry_id
    where coalesce(json_extract(c.attributes, '$.line'), json_extract(c.attributes, '$.limit')) is not null
);

-- triggers

create trigger commands__perform_get
after update of state on commands
when new.state = 'performing' and new.action = 'get'
begin
    insert into performing_get
    select *
    from commands
    where id = new.id;
end;

create trigger performing_get__perform
instead of insert on performing_get
begin
    update commands
    set state = 'resolved', message = s.message
    from get_slices as s
    where s.command_id = new.id and commands.id = new.id;
    -- promotion: no write, but it moves 'touched'
    update run_views
    set visibility = coalesce(json_extract(new.attributes, '$.visibility'), 'visible'),
        since = case
            when visibility = coalesce(json_extract(new.attributes, '$.visibility'), 'visible') then since
            else (select max(id) + 1 from events)
        end,
        touched = coalesce((select sequence from turns where id = new.turn_id), touched)
    where run_id = new.run_id
        and entry_id in (select entry_id from command_targets where command_id = new.id)
        and not exists (select 1 from unreadable_entries as u where u.entry_id = run_views.entry_id)
        and (select state from commands where id = new.id) = 'performing';
    update commands
    set state = 'resolved',
        message = case
            when exists (select 1 from command_patterns as p where p.command_id = new.id and not p.is_pattern)
                then ''
            else 'get path="' || coalesce(new.path, '**') || '"' || coalesce(' filter="' || nullif(new.body, '') || '"', '')
                || ': ' || (select listing from target_listings where command_id = new.id)
        end
    where id = new.id and state = 'performing';
end;
