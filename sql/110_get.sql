-- get: read. What it finds becomes visible in the next packet; a slice or a manifest is answered in the log instead.
-- spec: @verb_get

-- views

-- Commands being performed; an insert performs one.
create view performing_get as
select *
from commands
where state = 'performing' and action = 'get';

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
    set state = 'failed',
        outcome = 'validation',
        message = 'get needs a path or tags: <get path="notes.md"/>.'
    where id = new.id and coalesce(new.path, '') = '' and json_extract(new.attributes, '$.tags') is null;
    update commands
    set state = 'failed',
        outcome = 'validation',
        message = '400: line and limit read one entry; name it exactly, without a pattern or a filter.'
    where id = new.id
        and state = 'performing'
        and coalesce(json_extract(new.attributes, '$.line'), json_extract(new.attributes, '$.limit')) is not null
        and exists (
            select 1 from command_patterns as p where p.command_id = new.id and (p.is_pattern or p.filter is not null)
        );
    update commands
    set state = 'failed',
        outcome = 'validation',
        message = 'Invalid visibility "' || json_extract(new.attributes, '$.visibility')
            || '": it is visible, summarized or archived.'
    where id = new.id
        and state = 'performing'
        and json_extract(new.attributes, '$.visibility') not in (select name from visibilities);
    update commands
    set state = 'failed', outcome = 'not_found', message = new.path || ' not found'
    where id = new.id
        and state = 'performing'
        and not exists (select 1 from command_targets where command_id = new.id)
        and exists (select 1 from command_patterns as p where p.command_id = new.id and not p.is_pattern);
    -- a file that is there and has no text
    update commands
    set state = 'failed',
        outcome = u.outcome,
        message = u.message
    from unreadable_entries as u
    join command_targets as t on t.command_id = new.id and t.entry_id = u.entry_id
    where commands.id = new.id
        and commands.state = 'performing'
        and exists (select 1 from command_patterns as p where p.command_id = new.id and not p.is_pattern);
    -- to read is open to all, to put out of sight is a write
    update commands
    set state = 'failed',
        outcome = 'permission',
        message = '403: writer "' || new.writer || '" may not hide ' || (
            select group_concat(t.path, ', ')
            from command_targets as t
            join entries as e on e.id = t.entry_id
            where t.command_id = new.id
                and not exists (select 1 from scheme_writers as w where w.scheme = e.kind and w.writer = new.writer)
        )
    where id = new.id
        and state = 'performing'
        and json_extract(new.attributes, '$.visibility') <> 'visible'
        and exists (
            select 1
            from command_targets as t
            join entries as e on e.id = t.entry_id
            where t.command_id = new.id
                and not exists (select 1 from scheme_writers as w where w.scheme = e.kind and w.writer = new.writer)
        );
    -- a slice
    update commands
    set state = 'resolved',
        message = (
            select
                new.path || char(10) || '[lines ' || json_extract(s.slice, '$.first') || '-'
                || json_extract(s.slice, '$.last') || ' / ' || json_extract(s.slice, '$.total') || ' total]'
                || char(10) || json_extract(s.slice, '$.text')
            from (
                select text_slice(
                        coalesce(b.body, ''),
                        cast(json_extract(new.attributes, '$.line') as integer),
                        cast(json_extract(new.attributes, '$.limit') as integer)
                    ) as slice
                from command_targets as t
                cross join entry_bodies as b on b.run_id = new.run_id and b.entry_id = t.entry_id
                where t.command_id = new.id
            ) as s
        )
    where id = new.id
        and state = 'performing'
        and coalesce(json_extract(new.attributes, '$.line'), json_extract(new.attributes, '$.limit')) is not null;
    -- promotion
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
