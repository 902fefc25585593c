-- set: write, edit, or change what is seen.
-- The body says how: markers edit, anything else replaces. An entry of the engine is written at once; a file becomes a
-- proposal with a diff, because the world is changed only by decision. Without a body, set moves visibility and attributes.
-- spec: @verb_set @edit_syntax @size_gate

-- views

-- Put a body under a path on behalf of a command: insert into entry_puts (command_id, path, body, attributes, visibility,
-- message). A file becomes a proposal; a gate or a permission that does not hold fails the command.
create view entry_puts as
select
    id as command_id, path, body, attributes, null as visibility, message, null as edit
from commands
where false;

-- The same with what is at the path found: its entry, the hash of its file, its body.
create view found_puts as
select
    id as command_id, path, null as scheme, null as entry_id, null as hash, null as old_body, body, attributes,
    null as visibility, null as warnings
from commands
where false;

-- Propose a new text for a file.
create view file_puts as
select id as command_id, path, null as hash, null as old_body, body, attributes, null as visibility
from commands
where false;

-- The attributes of a command that are kept on the entry it writes.
create view kept_attributes as
select
    c.id as command_id,
    nullif(
        json_patch(
            coalesce(json_extract(c.attributes, '$.attributes'), '{}'),
            -- cleaned of its own nulls: those of the attributes are kept, they remove something later
            json_patch('{}', json_object(
                'tags', substr(json_extract(c.attributes, '$.tags'), 1, 80),
                'summary', substr(json_extract(c.attributes, '$.summary'), 1, 80)
            ))
        ), '{}'
    ) as attributes
from commands as c;

-- Commands being performed; an insert performs one.
create view performing_set as
select *
from commands
where state = 'performing' and action = 'set' and path_scheme(path) is not 'run';

-- The other things that a set can be: a decision on a proposal, a change of what is seen, one body for many entries, one
-- body for one entry. An insert does it.
create view set_decisions as
select * from commands where false;

create view set_moves as
select * from commands where false;

create view set_batches as
select * from commands where false;

create view set_entries as
select * from commands where false;

-- triggers

create trigger commands__perform_set
after update of state on commands
when new.state = 'performing' and new.action = 'set' and path_scheme(new.path) is not 'run'
begin
    insert into performing_set
    select *
    from commands
    where id = new.id;
end;

create trigger performing_set__perform
instead of insert on performing_set
begin
    -- a patch names its files itself
    insert into set_patches
    select *
    from commands
    where id = new.id
        and new.writer = 'model'
        and path_scheme(new.path) is null
        and substr(ltrim(new.body, ' ' || char(9, 10, 13, 65279)), 1, 4) in ('*** ', '--- ', 'diff');
    update commands
    set state = 'failed',
        outcome = 'validation',
        message = 'set needs a path: <set path="known://topic">text</set>.'
    where id = new.id and state = 'performing' and coalesce(new.path, '') = '';
    -- a misspelt visibility must not be taken for an empty body
    update commands
    set state = 'failed',
        outcome = 'validation',
        message = 'Invalid visibility "' || json_extract(new.attributes, '$.visibility')
            || '": it is visible, summarized or archived.'
    where id = new.id
        and state = 'performing'
        and json_extract(new.attributes, '$.visibility') not in (select name from visibilities);
    insert into set_decisions
    select *
    from commands
    where id = new.id
        and state = 'performing'
        and new.writer <> 'model'
        and json_extract(new.attributes, '$.state') is not null;
    insert into set_moves
    select *
    from commands
    where id = new.id and state = 'performing' and new.body is null;
    insert into set_batches
    select c.*
    from commands as c
    join command_patterns as p on p.command_id = c.id and p.is_pattern
    where c.id = new.id and c.state = 'performing';
    insert into set_entries
    select *
    from commands
    where id = new.id and state = 'performing';
end;

-- A decision on what was proposed under a path; what was decided stays as it was decided.
create trigger set_decisions__decide
instead of insert on set_decisions
begin
    update commands
    set state = 'failed', outcome = 'conflict', message = new.path || ': nothing is proposed there any more'
    where id = new.id
        and state = 'performing'
        and exists (select 1 from proposals as p where p.run_id = new.run_id and p.path = new.path)
        and not exists (
            select 1 from proposals as p where p.run_id = new.run_id and p.path = new.path and p.state = 'proposed'
        );
    insert into resolutions (run_id, path, decision, body, reason, decided_by, created_at)
    select
        new.run_id,
        new.path,
        case json_extract(new.attributes, '$.state')
            when 'resolved' then 'accept'
            when 'failed' then 'error'
            else 'reject'
        end,
        new.body,
        json_extract(new.attributes, '$.outcome'),
        new.writer,
        now()
    where json_extract(new.attributes, '$.state') in ('resolved', 'failed', 'cancelled')
        and exists (
            select 1 from proposals as p where p.run_id = new.run_id and p.path = new.path and p.state = 'proposed'
        )
        and (select state from commands where id = new.id) = 'performing';
    update commands
    set state = 'resolved', message = 'decided'
    where id = new.id
        and state = 'performing'
        and json_extract(new.attributes, '$.state') in ('resolved', 'failed', 'cancelled')
        and exists (
            select 1 from resolutions as s where s.run_id = new.run_id and s.path = new.path
        );
end;

create trigger set_moves__move
instead of insert on set_moves
begin
    update commands
    set state = 'failed', outcome = 'not_found', message = new.path || ' not found'
    where id = new.id
        and state = 'performing'
        and not exists (select 1 from command_targets where command_id = new.id);
    update commands
    set state = 'failed',
        outcome = 'permission',
        message = '403: writer "' || new.writer || '" not permitted for ' || (
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
    -- what is seen moves alone: it is no write, and keeps its place
    update run_views
    set visibility = json_extract(new.attributes, '$.visibility'),
        since = (select max(id) + 1 from events),
        touched = coalesce((select sequence from turns where id = new.turn_id), touched)
    where json_extract(new.attributes, '$.visibility') is not null
        and run_id = new.run_id
        and entry_id in (select entry_id from command_targets where command_id = new.id)
        and visibility <> json_extract(new.attributes, '$.visibility')
        and (select state from commands where id = new.id) = 'performing';
    insert into entry_writes (run_id, path, attributes, state, outcome, writer, turn)
    select
        new.run_id,
        t.path,
        k.attributes,
        json_extract(new.attributes, '$.state'),
        json_extract(new.attributes, '$.outcome'),
        new.writer,
        (select sequence from turns where id = new.turn_id)
    from command_targets as t
    join kept_attributes as k on k.command_id = t.command_id
    where t.command_id = new.id
        and coalesce(k.attributes, json_extract(new.attributes, '$.state')) is not null
        and (select state from commands where id = new.id) = 'performing';
    update commands
    set state = 'resolved',
        message = (
            select group_concat(path, ', ') from (
                select path from command_targets where command_id = new.id order by path limit 20
            )
        ) || case
            when (select count(*) from command_targets where command_id = new.id) > 20 then ', …'
            else ''
        end || ' set' || coalesce(' to ' || json_extract(new.attributes, '$.visibility'), '')
    where id = new.id and state = 'performing';
end;

create trigger set_batches__write
instead of insert on set_batches
begin
    update commands
    set state = 'failed',
        outcome = 'validation',
        message = 'files are written one at a time; name one path.'
    where id = new.id
        and state = 'performing'
        and path_scheme(new.path) is null;
    -- all of them or none: an edit that does not fit one of them changes none
    update commands
    set state = 'failed',
        outcome = json_extract(x.edit, '$.outcome'),
        message = x.path || ': ' || json_extract(x.edit, '$.message')
    from (
        select t.path, edit_apply(b.body, new.body) as edit
        from command_targets as t
        cross join entry_bodies as b on b.run_id = new.run_id and b.entry_id = t.entry_id
        where t.command_id = new.id
            and new.writer = 'model'
        order by t.path
    ) as x
    where commands.id = new.id and commands.state = 'performing' and json_extract(x.edit, '$.state') = 'failed';
    insert into entry_puts (command_id, path, body, attributes, visibility, edit)
    select
        new.id,
        t.path,
        new.body,
        k.attributes,
        json_extract(new.attributes, '$.visibility'),
        case
            when json_extract(new.attributes, '$.append') = 1
                then json_object('state', 'resolved', 'body', coalesce(b.body, '') || new.body)
            when new.writer <> 'model' then json_object('state', 'resolved', 'body', new.body)
            else edit_apply(b.body, new.body)
        end
    from command_targets as t
    cross join entry_bodies as b on b.run_id = new.run_id and b.entry_id = t.entry_id
    join kept_attributes as k on k.command_id = new.id
    where t.command_id = new.id
        and (select state from commands where id = new.id) = 'performing';
    update commands
    set state = 'resolved',
        message = (select listing from target_listings where command_id = new.id)
    where id = new.id
        and state = 'performing';
end;

create trigger set_entries__write
instead of insert on set_entries
begin
    insert into entry_puts (command_id, path, body, attributes, visibility, edit)
    select
        new.id,
        new.path,
        new.body,
        k.attributes,
        coalesce(
            json_extract(new.attributes, '$.visibility'), case when path_scheme(new.path) is not null then 'visible' end
        ),
        case
            when json_extract(new.attributes, '$.append') = 1
                then json_object('state', 'resolved', 'body', coalesce(b.body, '') || new.body)
            -- what an app writes is what it means; only the model's text is read for markers
            when new.writer <> 'model' then json_object('state', 'resolved', 'body', new.body)
            else edit_apply(b.body, new.body)
        end
    from kept_attributes as k
    left join command_targets as t on t.command_id = k.command_id
    left join run_views as v on v.run_id = new.run_id and v.entry_id = t.entry_id
    left join entries as e on e.id = t.entry_id
    left join contents as b on b.id = coalesce(v.content_id, e.content_id)
    where k.command_id = new.id and (select state from commands where id = new.id) = 'performing';
    update commands
    set state = 'resolved', message = coalesce(message, '')
    where id = new.id and state = 'performing';
end;

-- Find what is at the path already, once for all the rules that ask for it.
create trigger entry_puts__find
instead of insert on entry_puts
begin
    -- an edit that did not apply
    update commands
    set state = 'failed',
        outcome = json_extract(new.edit, '$.outcome'),
        message = json_extract(new.edit, '$.message')
    where id = new.command_id and state = 'performing' and json_extract(new.edit, '$.state') = 'failed';
    insert into found_puts (command_id, path, scheme, entry_id, hash, old_body, body, attributes, visibility, warnings)
    select
        c.id, new.path, path_scheme(new.path), c.entry_id, e.hash, b.body, json_extract(new.edit, '$.body'),
        new.attributes, new.visibility, nullif(json_extract(new.edit, '$.warnings'), '[]')
    from (
        select
            m.id,
            m.run_id,
            (select p.entry_id from run_paths as p where p.run_id = m.run_id and p.path = new.path) as entry_id
        from commands as m
        where m.id = new.command_id and m.state = 'performing'
    ) as c
    left join entries as e on e.id = c.entry_id
    left join run_views as v on v.run_id = c.run_id and v.entry_id = c.entry_id
    left join contents as b on b.id = coalesce(v.content_id, e.content_id);
end;

create trigger found_puts__put
instead of insert on found_puts
begin
    -- what could not be read would be lost if it were written
    update commands
    set state = 'failed', outcome = u.outcome, message = u.message
    from unreadable_entries as u
    where commands.id = new.command_id
        and commands.state = 'performing'
        and u.entry_id = new.entry_id
        and u.outcome <> 'not_found';
    -- the gates, whichever way a body comes in
    update commands
    set state = 'failed',
        outcome = 'overflow:' || token_count(new.body),
        message = new.path || ': ' || token_count(new.body) || ' tokens are too many, '
            || (select value from settings where name = 'max_entry_tokens')
            || ' is the limit; keep one fact an entry and write several.'
    where id = new.command_id
        and state = 'performing'
        and exists (select 1 from schemes where name = new.scheme and gated)
        and token_count(new.body) > (select cast(value as integer) from settings where name = 'max_entry_tokens');
    update commands
    set state = 'failed',
        outcome = 'duplicate',
        message = new.path || ': the same question is open at ' || d.path
    from entry_bodies as d
    where commands.id = new.command_id
        and commands.state = 'performing'
        and new.scheme = 'unknown'
        and d.run_id = commands.run_id
        and d.kind = 'unknown'
        and d.visibility <> 'archived'
        and d.path <> new.path
        and not (commands.action = 'mv' and d.path = commands.path)
        and d.body = new.body;
    -- a file is changed by decision only; its new text waits beside the proposal
    insert into file_puts (command_id, path, hash, old_body, body, attributes, visibility)
    select
        c.id, new.path, new.hash, new.old_body,
        -- a text file ends in a line feed, unless the one before did not
        new.body || case
            when new.body = '' or substr(new.body, -1) = char(10) then ''
            when coalesce(new.old_body, '') = '' or substr(new.old_body, -1) = char(10) then char(10)
            else ''
        end,
        new.attributes, new.visibility
    from commands as c
    where c.id = new.command_id and c.state = 'performing' and new.scheme is null;
    insert into entry_writes (run_id, path, body, attributes, visibility, state, outcome, writer, turn, loop_id)
    select
        c.run_id,
        new.path,
        new.body,
        new.attributes,
        new.visibility,
        coalesce(json_extract(c.attributes, '$.state'), 'resolved'),
        json_extract(c.attributes, '$.outcome'),
        c.writer,
        (select sequence from turns where id = c.turn_id),
        c.loop_id
    from commands as c
    where c.id = new.command_id and c.state = 'performing' and new.scheme is not null;
    -- what the parser of edits had to repair
    update commands
    set message = (select group_concat(value, char(10)) from json_each(new.warnings))
    where id = new.command_id and state = 'performing' and new.warnings is not null;
end;

create trigger file_puts__propose
instead of insert on file_puts
begin
    insert into content_writes (path, body) values (new.path, new.body);
    insert into proposals (
        command_id, run_id, turn_id, loop_id, ordinal, path, kind, action, target, content_id, detail, state, created_at
    )
    select
        c.id, c.run_id, c.turn_id, c.loop_id,
        (select count(*) from proposals as o where o.command_id = c.id),
        coalesce(c.log_path, 'log://commands/' || c.id),
        'file_write',
        c.action,
        new.path,
        (select max(id) from contents),
        json_object(
            'before', new.hash,
            'exists', new.hash is not null,
            'visibility', new.visibility,
            'attributes', json(new.attributes),
            'diff', edit_diff(new.path, new.old_body, new.body)
        ),
        'proposed',
        now()
    from commands as c
    where c.id = new.command_id;
end;
