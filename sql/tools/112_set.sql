-- set: write or edit an entry, or change its visibility.
-- A set is a patch (114), a decision on a proposal, a change of visibility and attributes (no body), or a body for
-- one entry or for the many that a pattern finds. A body comes under a path through _write_body, whichever command
-- brings it: an entry of the engine is written at once, a file is proposed.
-- spec: @verb_set @edit_syntax @size_gate @proposals

-- seeds

insert into tools (name, ordinal, gathers, advertised, modes, hidden_by, schema, meaning) values
    ('set', 20, 0, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "path": {"type": "string", "description": "a file, an entry such as known://topic, or a glob over them"},
            "body": {
                "type": "string",
                "description": "the whole new text, or edit blocks such as <<SEARCH and <<REPLACE; none: the text stays"},
            "tags": {"type": "string", "description": "words to find it by, separated by commas"},
            "summary": {"type": "string", "description": "what it is about, in 80 characters"},
            "visibility": {
                "type": "string", "enum": ["visible", "summarized", "archived"],
                "description": "visible, summarized: its short form, archived: out of sight"},
            "manifest": {"type": "boolean", "description": "only list what the path finds, with its tokens"},
            "filter": {"type": "string", "description": "only entries whose text has these words"}
        }, "required": ["path"]}'),
        'write or edit an entry, or change its visibility')
on conflict (name) do update
    set ordinal = excluded.ordinal, gathers = excluded.gathers, advertised = excluded.advertised,
        modes = excluded.modes, hidden_by = excluded.hidden_by, schema = excluded.schema, meaning = excluded.meaning;

insert into _entry_actions (action, needs, example, forbidden) values
    ('set', 'a path', '<set path="known://topic">text</set>', 'not permitted for')
on conflict (action) do update
    set needs = excluded.needs, example = excluded.example, forbidden = excluded.forbidden;

-- views

-- What a set makes of each of its entries, or of a path where nothing is yet: the JSON of edit_apply.
create view _edits as
select
    c.id as command_id,
    e.id as entry_id,
    coalesce(e.path, c.path) as path,
    k.attributes,
    c.is_pattern,
    json_extract(c.attributes, '$.visibility') as visibility,
    case
        when json_extract(c.attributes, '$.append') = 1
            then json_object('state', 'resolved', 'body', coalesce(b.body, '') || c.body)
        -- what an app writes is what it means; only the model's text is read for markers
        when c.writer <> 'model' then json_object('state', 'resolved', 'body', c.body)
        else edit_apply(b.body, c.body)
    end as edit
from commands as c
join _kept_attributes as k on k.command_id = c.id
left join _matched_entries as m on m.command_id = c.id
left join entries as e on e.id = coalesce(m.entry_id, c.entry_id)
left join run_views as v on v.run_id = c.run_id and v.entry_id = e.id
left join contents as b on b.id = coalesce(v.content_id, e.content_id);

-- Put what an edit gives under a path: insert into _write_body (command_id, path, attributes, visibility, edit). A
-- command whose edit does not apply, or whose body is refused, fails. An edit that gives no body writes nothing.
create view _write_body as
select id as command_id, path, attributes, null as visibility, null as edit
from commands
where false;

-- Fail a command whose body may not come under a path: insert into _check_body (command_id, path, body, whole). whole: it
-- replaces the text that is there; a null body removes it.
create view _check_body as
select id as command_id, path, body, null as whole
from commands
where false;

-- triggers

-- A patch, a decision, and a set without a body settle the command; the rest is done for a body.
create trigger _run_set__run
instead of insert on _run_set
begin
    insert into _late_call (door, a, b, c, d)
    select '_apply_patch', new.id, new.run_id, new.path, patch
    from (
        select patch_parse(new.body) as patch
        where new.writer = 'model' and path_scheme(new.path) is null
        -- one: the function is called once
        limit 1
    )
    where patch ->> '$.form' is not null;
    insert into resolutions (run_id, path, decision, body, reason, decided_by, created_at)
    select
        new.run_id, new.path, d.decision, new.body, json_extract(new.attributes, '$.outcome'), new.writer, now()
    from _deciding_commands as d
    where d.command_id = new.id and d.decision is not null;
    insert into _resolve_command (command_id, message)
    select command_id, 'decided'
    from _deciding_commands
    where command_id = new.id and decision is not null;
    -- no body: what is seen moves, attributes and state are written
    insert into _late_call (door, a)
    select '_summarize_file', entry_id
    from _unsummarized_files
    where command_id = new.id and new.body is null;
    insert into _show_entry (run_id, entry_id, visibility, turn)
    select
        new.run_id, t.entry_id, json_extract(new.attributes, '$.visibility'),
        (select sequence from turns where id = new.turn_id)
    from _command_entries as t
    cross join run_views as v on v.run_id = new.run_id and v.entry_id = t.entry_id
    where t.command_id = new.id
        and new.body is null
        and v.visibility <> json_extract(new.attributes, '$.visibility')
        and (select state from commands where id = new.id) = 'performing';
    insert into _late_call (door, a, b, d, f, g, h, i)
    select
        '_write_entry',
        new.run_id,
        t.path,
        k.attributes,
        json_extract(new.attributes, '$.state'),
        json_extract(new.attributes, '$.outcome'),
        new.writer,
        (select sequence from turns where id = new.turn_id)
    from _command_entries as t
    cross join _kept_attributes as k on k.command_id = t.command_id
    where t.command_id = new.id
        and new.body is null
        and coalesce(k.attributes, json_extract(new.attributes, '$.state')) is not null
        and (select state from commands where id = new.id) = 'performing';
    insert into _resolve_command (command_id, message)
    select
        new.id,
        (
            select group_concat(path, ', ') from (
                select path from _command_entries where command_id = new.id order by path limit 20
            )
        ) || case when (select count(*) from _command_entries where command_id = new.id) > 20 then ', …' else '' end
        || ' set' || coalesce(' to ' || json_extract(new.attributes, '$.visibility'), '')
    where new.body is null;
    insert into _late_call (door, a, b, c)
    select
        '_write_batch', c.id, c.run_id,
        (
            select json_group_array(json_object(
                    'path', e.path, 'attributes', e.attributes, 'visibility', e.visibility, 'edit', json(e.edit)
                ))
            from (select * from _edits as o where o.command_id = c.id and o.entry_id is not null order by o.path) as e
        )
    from commands as c
    where c.id = new.id and c.is_pattern and c.state = 'performing';
    insert into _late_call (door, a, b, c, d, e)
    select
        '_write_body', e.command_id, e.path, e.attributes,
        coalesce(e.visibility, case when path_scheme(e.path) is not null then 'visible' end),
        e.edit
    from _edits as e
    where e.command_id = new.id
        and not e.is_pattern
        and (select state from commands where id = new.id) = 'performing';
    insert into _list_entries (command_id)
    select id
    from commands
    where id = new.id and is_pattern and state = 'performing';
    insert into _resolve_command (command_id, message)
    select id, coalesce(message, '')
    from commands
    where id = new.id and state = 'performing';
end;

create trigger _check_body__check
instead of insert on _check_body
begin
    insert into _fail_command (command_id, fault)
    select command_id, fault
    from (
        select
            c.id as command_id,
            coalesce(
                -- what could not be read would be lost if it were written
                (
                    select u.outcome || ': ' || u.message
                    from _run_paths as p
                    cross join _unreadable_files as u on u.entry_id = p.entry_id
                    where new.body is not null and p.run_id = c.run_id and p.path = new.path and u.outcome <> 'not_found'
                ),
                (
                    select
                        'conflict: ' || new.path || case seen
                            when 0 then ' has changed on disk since you read it; read it again first'
                            else ': you have not seen its text; read it first'
                        end || ', or change a part of it with a search and replace. Nothing was changed.'
                    from (
                        select seen
                        from _guarded_texts
                        where new.whole and command_id = c.id and path = new.path
                        -- one: it is looked up once
                        limit 1
                    )
                    where seen is not 1
                ),
                (
                    select
                        'overflow:' || token_count(new.body) || ': ' || new.path || ': ' || token_count(new.body)
                        || ' tokens are too many, ' || value || ' is the limit; write several entries, one fact each.'
                    from settings
                    where name = 'max_entry_tokens'
                        and exists (select 1 from schemes where name = path_scheme(new.path) and gated)
                        and token_count(new.body) > cast(value as integer)
                ),
                case
                    when path_scheme(new.path) = 'unknown'
                        then (
                            select 'duplicate: ' || new.path || ': the same question is open at ' || d.path
                            from _entry_bodies as d
                            where d.run_id = c.run_id
                                and d.kind = 'unknown'
                                and d.visibility <> 'archived'
                                and d.path <> new.path
                                and not (c.action = 'mv' and d.path = c.path)
                                and d.body = new.body
                        )
                end
            ) as fault
        from commands as c
        where c.id = new.command_id
        limit 1
    )
    where fault is not null;
end;

create trigger _write_body__write
instead of insert on _write_body
begin
    insert into _fail_command (command_id, fault)
    select
        new.command_id,
        (new.edit ->> '$.outcome') || ': ' || (new.edit ->> '$.message') || case
            when new.edit ->> '$.outcome' = 'not_found'
                then coalesce((select n.hint from _near_files as n where n.command_id = new.command_id), '')
            else ''
        end
    where new.edit ->> '$.state' = 'failed';
    insert into _check_body (command_id, path, body, whole)
    values (new.command_id, new.path, new.edit ->> '$.body', new.edit ->> '$.whole');
    insert into _late_call (door, a, b, c, d, e)
    select
        '_open_proposal', w.command_id, 'file_write', new.path, w.body,
        json_object(
            'before', w.hash,
            'exists', w.hash is not null,
            'visibility', new.visibility,
            'attributes', json(new.attributes),
            'leads_to', w.leads_to,
            'executable', new.edit ->> '$.executable',
            'diff', edit_diff(
                new.path || coalesce(' -> ' || coalesce(fence_path(w.leads_to), w.leads_to), ''), w.old_body, w.body
            )
        )
    from (
        select
            c.id as command_id,
            e.hash,
            json_extract(e.attributes, '$.leads_to') as leads_to,
            b.body as old_body,
            case
                -- a copy of a file, and what an app or a person writes, is taken byte for byte
                when new.edit ->> '$.exact' or c.writer <> 'model' then new.edit ->> '$.body'
                when new.edit ->> '$.whole' then text_rewrite(b.body, new.edit ->> '$.body')
                -- a new text file ends in a line feed; an edit of a part has decided how the text ends
                else (new.edit ->> '$.body') || case
                    when new.edit ->> '$.body' = '' or substr(new.edit ->> '$.body', -1) = char(10) then ''
                    when b.body <> '' then ''
                    else char(10)
                end
            end as body
        from commands as c
        left join entries as e
            on e.id = (select p.entry_id from _run_paths as p where p.run_id = c.run_id and p.path = new.path)
        left join contents as b on b.id = e.content_id
        where path_scheme(new.path) is null
            and new.edit ->> '$.body' is not null
            and c.id = new.command_id
            and c.state = 'performing'
        limit 1
    ) as w;
    insert into _write_entry (run_id, path, body, attributes, visibility, state, outcome, writer, turn, loop_id)
    select
        c.run_id,
        new.path,
        new.edit ->> '$.body',
        new.attributes,
        new.visibility,
        coalesce(json_extract(c.attributes, '$.state'), 'resolved'),
        json_extract(c.attributes, '$.outcome'),
        c.writer,
        (select sequence from turns where id = c.turn_id),
        c.loop_id
    from commands as c
    where path_scheme(new.path) is not null
        and new.edit ->> '$.body' is not null
        and c.id = new.command_id
        and c.state = 'performing';
    -- what the parser of edits had to repair
    update commands
    set message = (select group_concat(value, char(10)) from json_each(new.edit, '$.warnings'))
    where id = new.command_id and state = 'performing' and json_array_length(new.edit, '$.warnings') > 0;
end;
