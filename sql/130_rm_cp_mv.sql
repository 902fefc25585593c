-- rm, cp and mv: remove, copy and rename entries.
-- In the engine they happen at once; where a file on disk is concerned each file is a proposal of its own.
-- spec: @verb_rm @verb_cp @verb_mv

-- views

-- Commands being performed; an insert performs one.
create view performing_rm as
select *
from commands
where state = 'performing' and action = 'rm';

-- Commands being performed; an insert performs one.
create view performing_copy as
select *
from commands
where state = 'performing' and action in ('cp', 'mv');

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
    update commands
    set state = 'failed', outcome = 'validation', message = 'rm needs a path: <rm path="known://topic"/>.'
    where id = new.id and coalesce(new.path, '') = '';
    update commands
    set state = 'failed', outcome = 'not_found', message = new.path || ' not found'
    where id = new.id
        and state = 'performing'
        and not exists (select 1 from command_targets where command_id = new.id);
    update commands
    set state = 'failed',
        outcome = 'permission',
        message = '403: writer "' || new.writer || '" may not remove ' || (
            select group_concat(t.path, ', ')
            from command_targets as t
            join entries as e on e.id = t.entry_id
            where t.command_id = new.id
                and not exists (select 1 from scheme_writers as w where w.scheme = e.kind and w.writer = new.writer)
        )
    where id = new.id
        and state = 'performing'
        and exists (
            select 1
            from command_targets as t
            join entries as e on e.id = t.entry_id
            where t.command_id = new.id
                and not exists (select 1 from scheme_writers as w where w.scheme = e.kind and w.writer = new.writer)
        );
    delete from run_views
    where run_id = new.run_id
        and entry_id in (
            select t.entry_id
            from command_targets as t
            join entries as e on e.id = t.entry_id
            where t.command_id = new.id and e.kind <> 'file'
        )
        and (select state from commands where id = new.id) = 'performing';
    insert into proposals (
        command_id, run_id, turn_id, loop_id, ordinal, path, kind, action, target, detail, state, created_at
    )
    select
        new.id, new.run_id, new.turn_id, new.loop_id,
        row_number() over (order by t.path) - 1,
        coalesce(new.log_path, 'log://commands/' || new.id),
        'file_delete', 'rm', t.path,
        json_object('before', e.hash, 'diff', edit_diff(t.path, c.body, null)),
        'proposed', now()
    from command_targets as t
    join entries as e on e.id = t.entry_id
    left join contents as c on c.id = e.content_id
    where t.command_id = new.id
        and e.kind = 'file'
        and coalesce(json_extract(e.attributes, '$.kind'), '') <> 'missing'
        and (select state from commands where id = new.id) = 'performing'
    order by t.path;
    update commands
    set state = 'resolved', message = 'removed'
    where id = new.id and state = 'performing';
end;

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
    update commands
    set state = 'failed',
        outcome = 'validation',
        message = new.action || ' needs a path and a destination: <' || new.action || ' path="a" to="b"/>.'
    where id = new.id
        and (
            coalesce(new.path, '') = ''
            or (
                new.destination is null
                and not (new.action = 'mv' and json_extract(new.attributes, '$.visibility') is not null)
            )
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
        and not exists (select 1 from command_targets where command_id = new.id);
    update commands
    set state = 'failed',
        outcome = 'permission',
        message = '403: writer "' || new.writer || '" may not move ' || (
            select group_concat(t.path, ', ')
            from command_targets as t
            join entries as e on e.id = t.entry_id
            where t.command_id = new.id
                and not exists (select 1 from scheme_writers as w where w.scheme = e.kind and w.writer = new.writer)
        )
    where id = new.id
        and state = 'performing'
        and new.action = 'mv'
        and exists (
            select 1
            from command_targets as t
            join entries as e on e.id = t.entry_id
            where t.command_id = new.id
                and not exists (select 1 from scheme_writers as w where w.scheme = e.kind and w.writer = new.writer)
        );
    -- mv without a destination changes what is seen, where it is
    update run_views
    set visibility = json_extract(new.attributes, '$.visibility'),
        since = (select max(id) + 1 from events),
        touched = coalesce((select sequence from turns where id = new.turn_id), touched)
    where new.destination is null
        and run_id = new.run_id
        and entry_id in (select entry_id from command_targets where command_id = new.id)
        and visibility <> json_extract(new.attributes, '$.visibility')
        and (select state from commands where id = new.id) = 'performing';
    update commands
    set state = 'resolved', message = new.path || ' set to ' || json_extract(new.attributes, '$.visibility')
    where id = new.id and state = 'performing' and new.destination is null;
    update commands
    set state = 'failed',
        outcome = 'validation',
        message = new.action || ' takes one entry at a time; ' || new.path || ' is a pattern.'
    where id = new.id
        and state = 'performing'
        and exists (select 1 from command_patterns as p where p.command_id = new.id and p.is_pattern);
    update commands
    set state = 'failed', outcome = u.outcome, message = u.message
    from unreadable_entries as u
    join command_targets as t on t.command_id = new.id and t.entry_id = u.entry_id
    where commands.id = new.id and commands.state = 'performing';
    update commands
    set state = 'failed', outcome = 'conflict', message = new.path || ' and its destination are the same'
    where id = new.id and state = 'performing' and new.path = new.destination;
    insert into entry_puts (command_id, path, body, attributes, visibility, edit)
    select
        new.id,
        new.destination,
        null,
        coalesce(
            (select attributes from kept_attributes where command_id = new.id),
            nullif(json_object('tags', json_extract(b.attributes, '$.tags')), '{"tags":null}')
        ),
        json_extract(new.attributes, '$.visibility'),
        json_object('state', 'resolved', 'body', coalesce(b.body, ''))
    from command_targets as t
    cross join entry_bodies as b on b.run_id = new.run_id and b.entry_id = t.entry_id
    where t.command_id = new.id and (select state from commands where id = new.id) = 'performing';
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
    insert into proposals (
        command_id, run_id, turn_id, loop_id, ordinal, path, kind, action, target, detail, state, created_at
    )
    select
        new.id, new.run_id, new.turn_id, new.loop_id, 1,
        coalesce(new.log_path, 'log://commands/' || new.id),
        'file_delete', 'mv', t.path,
        json_object('before', e.hash, 'diff', edit_diff(t.path, c.body, null)),
        'proposed', now()
    -- by its path: the targets are forgotten once the command waits for the destination
    from run_paths as t
    join entries as e on e.id = t.entry_id
    left join contents as c on c.id = e.content_id
    where t.run_id = new.run_id
        and t.path = new.path
        and new.action = 'mv'
        and new.destination is not null
        and e.kind = 'file'
        and (select state from commands where id = new.id) in ('performing', 'proposed', 'accepted');
    update commands
    set state = 'resolved',
        message = case when new.action = 'cp' then 'copied to ' else 'moved to ' end || new.destination
    where id = new.id and state = 'performing';
end;
