-- get: read entries.
-- The entries that it finds become visible in the next packet. A slice (line, limit, char, chars) or a list is shown
-- in the log instead.
-- spec: @verb_get

-- seeds

insert into tools (name, ordinal, gathers, advertised, reads, modes, hidden_by, schema, meaning) values
    ('get', 10, 1, 1, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "path": {"type": "string", "description": "a file, an entry such as known://topic, or a glob over them"},
            "body": {"type": "string", "description": "only entries whose text has these words"},
            "line": {"type": "integer", "description": "first line of a slice; negative counts from the end"},
            "limit": {"type": "integer", "description": "lines of the slice; with map, tokens of the map"},
            "char": {"type": "integer", "description": "first character of a slice, for long lines; negative: from the end"},
            "chars": {"type": "integer", "description": "characters of the slice"},
            "like": {"type": "string", "description": "only list those of the path that are about this, best first"},
            "manifest": {"type": "boolean", "description": "only list what the path finds, with its tokens"},
            "map": {"type": "boolean", "description": "only list the files that the path finds, with what they define"},
            "tags": {"type": "string", "description": "keep those with each of these tags, separated by commas"},
            "visibility": {
                "type": "string", "enum": ["visible", "summarized", "archived"],
                "description": "how much to show; visible where nothing is said"}
        }, "required": ["path"]}'),
        'read: make entries visible')
on conflict (name) do update
    set ordinal = excluded.ordinal, gathers = excluded.gathers, advertised = excluded.advertised, reads = excluded.reads,
        modes = excluded.modes, hidden_by = excluded.hidden_by, schema = excluded.schema, meaning = excluded.meaning;

insert into _entry_actions (action, needs, example, forbidden) values
    ('get', 'a path or tags', '<get path="notes.md"/>', 'may not hide')
on conflict (action) do update
    set needs = excluded.needs, example = excluded.example, forbidden = excluded.forbidden;

-- views

-- The message of a get of a slice: the lines or characters that it asks for. What a model gets has the room of a list.
create view _slices as
select
    c.id as command_id,
    (
        select
            c.path || char(10) || case
                when s.slice ->> '$.first' = 0
                    then '[it has ' || counted(s.slice ->> '$.total', 'line')
                        || coalesce('; line ' || json_extract(c.attributes, '$.line') || ' is after its end', '') || ']'
                when s.slice ->> '$.from' = 0
                    then '[it has ' || counted(s.slice ->> '$.of', 'character')
                        || coalesce('; character ' || json_extract(c.attributes, '$.char') || ' is after its end', '')
                        || ']'
                else '[lines ' || (s.slice ->> '$.first') || '-' || (s.slice ->> '$.last')
                    || ' / ' || (s.slice ->> '$.total') || ' total' || coalesce(
                        '; characters ' || (s.slice ->> '$.from') || '-' || (s.slice ->> '$.to')
                        || ' / ' || (s.slice ->> '$.of') || ' of them' || case
                            when s.slice ->> '$.to' < s.slice ->> '$.of'
                                then '; continue with char="' || ((s.slice ->> '$.to') + 1) || '"'
                            else ''
                        end, ''
                    ) || ']' || char(10) || (s.slice ->> '$.text')
            end
        from (
            select
                text_slice(
                    coalesce(
                        -- what streams has pieces
                        (
                            select group_concat(text, '')
                            from entry_chunks
                            where run_id = b.run_id and entry_id = b.entry_id
                        ), b.body, ''
                    ),
                    cast(json_extract(c.attributes, '$.line') as integer),
                    cast(json_extract(c.attributes, '$.limit') as integer),
                    cast(json_extract(c.attributes, '$.char') as integer),
                    cast(json_extract(c.attributes, '$.chars') as integer),
                    case when c.writer = 'model' then (select o.room from _list_rooms as o where o.loop_id = c.loop_id) end
                ) as slice
            from _command_entries as t
            cross join _entry_bodies as b on b.run_id = c.run_id and b.entry_id = t.entry_id
            where t.command_id = c.id
            -- limit 1 keeps SQLite from calling the function more than once
            limit 1
        ) as s
    ) as message
from commands as c
where json_extract(c.attributes, '$.line', '$.limit', '$.char', '$.chars') <> '[null,null,null,null]';

-- triggers

-- A slice or a map settles the command. Otherwise its entries get the visibility that it asks for, and a pattern
-- lists them too.
-- A get of a page is an effect (122), and so is one with like (460).
create trigger _run_get__run
instead of insert on _run_get
begin
    insert into _late_call (door, a)
    select '_summarize_file', entry_id
    from _unsummarized_files
    where command_id = new.id;
    insert into _resolve_command (command_id, message)
    select command_id, message
    from _maps
    where command_id = new.id
    union all
    select command_id, message
    from _slices
    where command_id = new.id;
    insert into _show_entry (run_id, entry_id, visibility, turn)
    select
        new.run_id, t.entry_id, coalesce(json_extract(new.attributes, '$.visibility'), 'visible'),
        (select sequence from turns where id = new.turn_id)
    from _command_entries as t
    where t.command_id = new.id
        and not exists (
            select 1 from _unreadable_files as u where u.entry_id = t.entry_id and u.is_picture is not 1
        )
        and (select state from commands where id = new.id) = 'performing';
    insert into _list_entries (command_id)
    select id
    from commands
    where id = new.id and state = 'performing' and is_pattern;
    insert into _resolve_command (command_id, message)
    select
        id,
        case
            when is_pattern
                then 'get path="' || coalesce(path, '**') || '"' || coalesce(' filter="' || nullif(body, '') || '"', '')
                    || ': ' || message
            else ''
        end
    from commands
    where id = new.id;
end;
