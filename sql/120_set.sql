-- set: write, edit, or change what is seen.
-- A set takes one of five ways: a patch, a decision on a proposal, a move of visibility and attributes (no body), one body
-- for the many that a pattern finds, one body for one entry. Bodies go through the same door, entry_puts.
-- spec: @verb_set

-- views

-- Commands being performed; an insert performs one.
create view performing_set as
select *
from commands
where state = 'performing' and action = 'set' and path_scheme(path) is not 'run';

-- The ways that a set can take beside a patch; an insert takes it.
create view set_decisions as
select * from commands where false;

create view set_moves as
select * from commands where false;

create view set_batches as
select * from commands where false;

create view set_entries as
select * from commands where false;

-- Change what is seen of a command's targets: insert into target_moves (command_id, run_id, turn_id, visibility).
create view target_moves as
select id as command_id, run_id, turn_id, null as visibility
from commands
where false;

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
        and patch_parse(new.body) ->> '$.form' is not null;
    insert into set_decisions
    select *
    from commands
    where id = new.id and state = 'performing' and json_extract(new.attributes, '$.state') is not null;
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

-- A decision on what is proposed under a path. A state on any other path is that of an entry.
create trigger set_decisions__decide
instead of insert on set_decisions
when json_extract(new.attributes, '$.state') in ('resolved', 'failed', 'cancelled')
    and exists (select 1 from deciding_commands as d where d.command_id = new.id)
begin
    insert into resolutions (run_id, path, decision, body, reason, decided_by, created_at)
    values (
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
    );
    update commands
    set state = 'resolved', message = 'decided'
    where id = new.id and state = 'performing';
end;

create trigger set_moves__move
instead of insert on set_moves
begin
    insert into target_moves (command_id, run_id, turn_id, visibility)
    values (new.id, new.run_id, new.turn_id, json_extract(new.attributes, '$.visibility'));
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
    where t.command_id = new.id and coalesce(k.attributes, json_extract(new.attributes, '$.state')) is not null;
    update commands
    set state = 'resolved',
        message = (
            select group_concat(path, ', ') from (
                select path from command_targets where command_id = new.id order by path limit 20
            )
        ) || case when (select count(*) from command_targets where command_id = new.id) > 20 then ', …' else '' end
            || ' set' || coalesce(' to ' || json_extract(new.attributes, '$.visibility'), '')
    where id = new.id;
end;

-- What is seen moves alone: it is no write, and an entry keeps its place.
create trigger target_moves__move
instead of insert on target_moves
when new.visibility is not null
begin
    update run_views
    set visibility = new.visibility,
        since = (select max(id) + 1 from events),
        touched = coalesce((select sequence from turns where id = new.turn_id), touched)
    where run_id = new.run_id
        and entry_id in (select entry_id from command_targets where command_id = new.command_id)
        and visibility <> new.visibility;
end;

-- All of them or none: an edit that does not fit one of them, or a gate that does not hold for one, changes none.
create trigger set_batches__write
instead of insert on set_batches
begin
    insert into refused_commands (command_id, outcome, message)
    select command_id, edit ->> '$.outcome', path || ': ' || (edit ->> '$.message')
    from entry_edits
    where command_id = new.id and entry_id is not null and edit ->> '$.state' = 'failed'
    order by path
    limit 1;
    -- the gates are asked about all of them before the first is written
    insert into put_gates (command_id, path, scheme, entry_id, body)
    select command_id, path, path_scheme(path), entry_id, edit ->> '$.body'
    from entry_edits
    where command_id = new.id and entry_id is not null
    order by path;
    insert into refused_commands (command_id, outcome, message)
    select new.id, 'duplicate', max(o.path) || ': the same question would be open at ' || min(o.path)
    from entry_edits as o
    join run_views as v on v.run_id = new.run_id and v.entry_id = o.entry_id
    where o.command_id = (select id from commands where id = new.id and state = 'performing')
        and path_scheme(o.path) = 'unknown'
    group by o.edit ->> '$.body'
    having count(*) > 1 and max(coalesce(o.visibility, v.visibility) <> 'archived')
    limit 1;
    insert into entry_puts (command_id, path, attributes, visibility, edit)
    select command_id, path, attributes, visibility, edit
    from entry_edits
    where command_id = new.id
        and entry_id is not null
        and (select state from commands where id = new.id) = 'performing';
    update commands
    set state = 'resolved',
        message = (select listing from target_listings where command_id = new.id)
    where id = new.id and state = 'performing';
end;

create trigger set_entries__write
instead of insert on set_entries
begin
    insert into entry_puts (command_id, path, attributes, visibility, edit)
    select
        command_id,
        path,
        attributes,
        coalesce(visibility, case when path_scheme(path) is not null then 'visible' end),
        edit
    from entry_edits
    where command_id = new.id;
    update commands
    set state = 'resolved', message = coalesce(message, '')
    where id = new.id and state = 'performing';
end;
