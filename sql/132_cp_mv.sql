-- cp and mv: copy and rename entries, one at a time.
-- The destination is written as by a set. The source of a move goes when the destination is there: an entry at once or with
-- the file that was written, a file by a second proposal. Without a destination a move changes what is seen, in place.
-- spec: @verb_cp @verb_mv

-- views

-- Commands being performed; an insert performs one.
create view performing_copy as
select *
from commands
where state = 'performing' and action in ('cp', 'mv');

-- triggers

create trigger commands__perform_copy
after update of state on commands
when new.state = 'performing' and new.action in ('cp', 'mv')
begin
    insert into performing_copy
    select *
    from commands
    where id = new.id;
end;

create trigger performing_copy__perform
instead of insert on performing_copy
begin
    insert into target_moves (command_id, run_id, turn_id, visibility)
    select new.id, new.run_id, new.turn_id, json_extract(new.attributes, '$.visibility')
    where new.destination is null;
    update commands
    set state = 'resolved', message = new.path || ' set to ' || json_extract(new.attributes, '$.visibility')
    where id = new.id and new.destination is null;
    insert into entry_puts (command_id, path, attributes, visibility, edit)
    select
        new.id,
        new.destination,
        coalesce(
            (select attributes from kept_attributes where command_id = new.id),
            nullif(json_object('tags', json_extract(b.attributes, '$.tags')), '{"tags":null}')
        ),
        json_extract(new.attributes, '$.visibility'),
        json_object('state', 'resolved', 'body', coalesce(b.body, ''))
    from command_targets as t
    cross join entry_bodies as b on b.run_id = new.run_id and b.entry_id = t.entry_id
    where t.command_id = new.id and new.destination is not null;
    -- the source of a move: an entry goes when the destination is written, a file by a proposal of its own
    delete from run_views
    where run_id = new.run_id
        and new.action = 'mv'
        and entry_id in (
            select t.entry_id
            from command_targets as t
            join entries as e on e.id = t.entry_id
            where t.command_id = new.id and e.kind <> 'file'
        )
        and path_scheme(new.destination) is not null
        and (select state from commands where id = new.id) = 'performing';
    insert into file_removals (command_id, path)
    select id, path
    from commands
    where id = new.id
        and action = 'mv'
        and destination is not null
        and state in ('performing', 'proposed', 'accepted');
    update commands
    set state = 'resolved',
        message = case when new.action = 'cp' then 'copied to ' else 'moved to ' end || new.destination
    where id = new.id and state = 'performing';
end;
