-- Puts: a body comes under a path on behalf of a command, whichever command that is.
-- A body is made of what was there and what the command says; the gates hold for it on any way in. An entry of the engine
-- is written at once, a file is proposed.
-- spec: @verb_set @edit_syntax @size_gate

-- views

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

-- What a set makes of each of its targets, or of a path where nothing is yet: the JSON of edit_apply.
create view entry_edits as
select
    c.id as command_id,
    t.entry_id,
    coalesce(t.path, c.path) as path,
    k.attributes,
    json_extract(c.attributes, '$.visibility') as visibility,
    case
        when json_extract(c.attributes, '$.append') = 1
            then json_object('state', 'resolved', 'body', coalesce(b.body, '') || c.body)
        -- what an app writes is what it means; only the model's text is read for markers
        when c.writer <> 'model' then json_object('state', 'resolved', 'body', c.body)
        else edit_apply(b.body, c.body)
    end as edit
from commands as c
join kept_attributes as k on k.command_id = c.id
left join command_targets as t on t.command_id = c.id
left join run_views as v on v.run_id = c.run_id and v.entry_id = t.entry_id
left join entries as e on e.id = t.entry_id
left join contents as b on b.id = coalesce(v.content_id, e.content_id);

-- Put what an edit gives under a path: insert into entry_puts (command_id, path, attributes, visibility, edit). A gate that
-- does not hold fails the command.
create view entry_puts as
select id as command_id, path, attributes, null as visibility, null as edit
from commands
where false;

-- The same with what is at the path found: its entry, the hash of its file, its body.
create view found_puts as
select
    id as command_id, path, null as scheme, null as entry_id, null as hash, null as old_body, body, attributes,
    null as visibility, null as warnings
from commands
where false;

-- Ask the gates about a body that is to come under a path: insert into put_gates (command_id, path, scheme, entry_id, body).
-- One that does not hold fails the command.
create view put_gates as
select id as command_id, path, null as scheme, null as entry_id, body
from commands
where false;

-- triggers

-- Find what is at the path already, once for all the rules that ask for it.
create trigger entry_puts__find
instead of insert on entry_puts
begin
    -- an edit that did not apply
    insert into refused_commands (command_id, outcome, message)
    select new.command_id, new.edit ->> '$.outcome', new.edit ->> '$.message'
    where new.edit ->> '$.state' = 'failed';
    insert into found_puts (command_id, path, scheme, entry_id, hash, old_body, body, attributes, visibility, warnings)
    select
        c.id, new.path, path_scheme(new.path), c.entry_id, e.hash, b.body, new.edit ->> '$.body',
        new.attributes, new.visibility, nullif(new.edit ->> '$.warnings', '[]')
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

-- The gates, whichever way a body comes in.
create trigger put_gates__ask
instead of insert on put_gates
when exists (select 1 from commands where id = new.command_id and state = 'performing')
begin
    insert into refused_commands (command_id, outcome, message)
    select new.command_id, outcome, message
    from (
        -- what could not be read would be lost if it were written
        select 10 as rank, outcome, message
        from unreadable_entries
        where entry_id = new.entry_id and outcome <> 'not_found'
        union all
        select 20, 'overflow:' || token_count(new.body),
            new.path || ': ' || token_count(new.body) || ' tokens are too many, ' || value
            || ' is the limit; keep one fact an entry and write several.'
        from settings
        where name = 'max_entry_tokens'
            and exists (select 1 from schemes where name = new.scheme and gated)
            and token_count(new.body) > cast(value as integer)
        union all
        select 30, 'duplicate', new.path || ': the same question is open at ' || d.path
        from commands as c
        cross join entry_bodies as d on d.run_id = c.run_id
        where c.id = new.command_id
            and new.scheme = 'unknown'
            and d.kind = 'unknown'
            and d.visibility <> 'archived'
            and d.path <> new.path
            and not (c.action = 'mv' and d.path = c.path)
            and d.body = new.body
    )
    order by rank
    limit 1;
end;

create trigger found_puts__put
instead of insert on found_puts
begin
    insert into put_gates (command_id, path, scheme, entry_id, body)
    values (new.command_id, new.path, new.scheme, new.entry_id, new.body);
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
