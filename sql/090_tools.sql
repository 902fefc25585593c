-- Tools: what the model may be told of, one row each.
-- A tool has arguments (one JSON Schema, sent to providers and made into grammars), an order, modes, and flags of a loop
-- that take it away. What it does is a trigger on commands that go to 'performing'.
-- spec: @primitives

-- tables

create table if not exists tools (
    name text primary key,
    -- the order in which the model is told of it
    ordinal integer not null,
    -- 1: a turn that used it goes on to look at what came of it
    gathers integer not null default 0 constraint tools_gathers_flag check (gathers in (0, 1)),
    -- 1: advertised to the model
    advertised integer not null default 1 constraint tools_advertised_flag check (advertised in (0, 1)),
    modes text not null default '["ask","act"]' constraint tools_modes_json check (json_valid(modes)),
    -- flags of a loop that take the tool away
    hidden_by text not null default '[]' constraint tools_hidden_by_json check (json_valid(hidden_by)),
    -- JSON Schema of its arguments
    schema text not null default '{"type":"object"}' constraint tools_schema_json check (json_valid(schema)),
    meaning text not null,
    -- what the model is told; the template tools/<name>.md where null
    doc text
) strict, without rowid;

-- seeds

insert into tools (name, ordinal, gathers, advertised, modes, hidden_by, schema, meaning) values
    ('get', 10, 1, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "path": {"type": "string", "description": "a file, an entry such as known://topic, or a glob over them"},
            "body": {"type": "string", "description": "keep those whose text holds these words"},
            "line": {"type": "integer", "description": "first line of a slice; negative counts from the end"},
            "limit": {"type": "integer", "description": "lines of the slice"},
            "manifest": {"type": "boolean", "description": "only list what the path finds, with its tokens"},
            "tags": {"type": "string", "description": "keep those with each of these tags, separated by commas"},
            "visibility": {
                "type": "string", "enum": ["visible", "summarized", "archived"],
                "description": "how much to show; visible where nothing is said"}
        }, "required": ["path"]}'),
        'read: make entries visible'),
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
            "filter": {"type": "string", "description": "keep those whose text holds these words"}
        }, "required": ["path"]}'),
        'write or edit an entry, or change its visibility'),
    ('think', 30, 0, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "body": {"type": "string", "description": "the thought"}
        }, "required": ["body"]}'),
        'reason, without effect'),
    ('env', 40, 1, 1, '["ask","act"]', '["no_proposals"]',
        json('{"type": "object", "properties": {
            "body": {"type": "string", "description": "the shell command; it may only read"}
        }, "required": ["body"]}'),
        'run a command that only reads'),
    ('sh', 50, 1, 1, '["act"]', '["no_proposals"]',
        json('{"type": "object", "properties": {
            "body": {"type": "string", "description": "the shell command"}
        }, "required": ["body"]}'),
        'run a shell command'),
    ('rm', 60, 0, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "path": {"type": "string", "description": "a file, an entry such as known://topic, or a glob over them"},
            "body": {"type": "string", "description": "keep those whose text holds these words"},
            "manifest": {"type": "boolean", "description": "only list what the path finds, with its tokens"}
        }, "required": ["path"]}'),
        'remove entries'),
    ('cp', 70, 0, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "path": {"type": "string", "description": "the source, named exactly; a glob with manifest"},
            "to": {"type": "string", "description": "the destination; what stands there is overwritten"},
            "visibility": {
                "type": "string", "enum": ["visible", "summarized", "archived"],
                "description": "of the copy"},
            "manifest": {"type": "boolean", "description": "only list what the path finds, with its tokens"}
        }, "required": ["path", "to"]}'),
        'copy an entry'),
    ('mv', 80, 0, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "path": {"type": "string", "description": "the source, named exactly; a glob with manifest or visibility"},
            "to": {"type": "string", "description": "the new path; none: only the visibility changes"},
            "visibility": {
                "type": "string", "enum": ["visible", "summarized", "archived"],
                "description": "of what was moved"},
            "manifest": {"type": "boolean", "description": "only list what the path finds, with its tokens"}
        }, "required": ["path"]}'),
        'move an entry'),
    ('search', 90, 1, 0, '["ask","act"]', '["no_web"]',
        json('{"type": "object", "properties": {
            "body": {"type": "string", "description": "the words to look for"},
            "results": {"type": "integer", "description": "how many pages to list"}
        }, "required": ["body"]}'),
        'search the web'),
    ('update', 100, 0, 1, '["ask","act"]', '[]',
        json('{"type": "object", "properties": {
            "status": {
                "type": "integer", "enum": [102, 200, 204, 422],
                "description": "102 go on, 200 done, 204 nothing to do, 422 cannot be done"},
            "body": {"type": "string", "description": "with 200 the answer that the user reads, else what goes on"}
        }, "required": ["status", "body"]}'),
        'say that the loop goes on or is over'),
    ('ask_user', 110, 1, 1, '["ask","act"]', '["no_interaction","no_proposals","yolo"]',
        json('{"type": "object", "properties": {
            "question": {"type": "string", "description": "the question"},
            "options": {"type": "string", "description": "answers to choose from, separated by semicolons"}
        }, "required": ["question"]}'),
        'ask the person a question')
on conflict (name) do update
    set ordinal = excluded.ordinal, gathers = excluded.gathers, advertised = excluded.advertised,
        modes = excluded.modes, hidden_by = excluded.hidden_by, schema = excluded.schema, meaning = excluded.meaning;

-- views

-- The tools that the model has in a loop, in the order in which it is told of them.
create view loop_tools as
select
    l.id as loop_id,
    t.name,
    t.ordinal,
    t.gathers,
    t.doc,
    t.schema,
    t.meaning
from loops as l
join tools as t
where t.advertised
    and l.mode in (select value from json_each(t.modes))
    and not exists (
        select 1
        from json_each(t.hidden_by) as h
        join loop_flags as f on f.loop_id = l.id and f.flag = h.value
    );

create view loop_grammars as
-- What a model may answer in a loop, made of the tools that are open in it: GBNF for whole responses, and the JSON Schema of
-- an array of calls.
select
    loop_id,
    grammar_gbnf(tools) as gbnf,
    grammar_json_schema(tools) as json_schema
from (
    select
        l.id as loop_id,
        (
            select json_group_array(json_object('name', name, 'schema', json(schema)))
            from (select name, schema from loop_tools where loop_id = l.id order by ordinal)
        ) as tools
    from loops as l
);
