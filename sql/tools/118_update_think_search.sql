-- update, think, search: the model reports on its work, thinks, and searches the web.
-- An update says that the loop continues (102), or the status with which it ends (200, 204, 422, 500); it takes effect
-- when the turn is judged. A thought has no effect. A search is an effect (122).
-- spec: @verb_update @tool_think

-- seeds

insert into tools (name, ordinal, gathers, advertised, reads, modes, hidden_by, schema, meaning) values
    ('think', 30, 0, 1, 1, '["ask","act","judge"]', '[]',
        json('{"type": "object", "properties": {
            "body": {"type": "string", "description": "the thought"}
        }, "required": ["body"]}'),
        'reason, without effect'),
    ('update', 100, 0, 1, 0, '["ask","act","judge"]', '[]',
        json('{"type": "object", "properties": {
            "status": {
                "type": "integer", "enum": [102, 200, 204, 422],
                "description": "102 go on, 200 done, 204 nothing to do, 422 cannot be done"},
            "body": {"type": "string", "description": "with 200 the answer for the user, else the progress"}
        }, "required": ["status", "body"]}'),
        'say whether the task goes on or is done'),
    ('search', 90, 1, 0, 1, '["ask","act"]', '["no_web"]',
        json('{"type": "object", "properties": {
            "body": {"type": "string", "description": "the words to look for"},
            "results": {"type": "integer", "minimum": 1, "maximum": 20, "description": "how many pages to list"}
        }, "required": ["body"]}'),
        'search the web for pages')
on conflict (name) do update
    set ordinal = excluded.ordinal, gathers = excluded.gathers, advertised = excluded.advertised, reads = excluded.reads,
        modes = excluded.modes, hidden_by = excluded.hidden_by, schema = excluded.schema, meaning = excluded.meaning;

create view _offer_search as
-- Say that the driver of a run can search: insert into _offer_search (run, lease). The tool search is open in the run for
-- as long as it has this driver.
select r.alias as run, l.token as lease
from leases as l
join runs as r on r.id = l.run_id
where false;

-- triggers

-- Refused without the token of the run's lease.
create trigger _offer_search__offer
instead of insert on _offer_search
begin
    select fail(404, 'run ' || quote(new.run) || ': there is no such run; see ''engine runs''')
    where not exists (select 1 from runs where alias = new.run);
    select fail(409, 'run ' || new.run || ': another process works on it; wait, or stop it: engine abort ' || new.run)
    where not exists (
        select 1
        from leases as l
        join runs as r on r.id = l.run_id
        where r.alias = new.run and l.token = new.lease
    );
    update leases
    set tools = json_set(coalesce(tools, '{}'), '$.search', 1)
    where token = new.lease;
end;

-- Keep the text and the status, 102 where none is given; an unknown status fails the command.
create trigger _run_update__run
instead of insert on _run_update
begin
    insert into _fail_command (command_id, fault)
    select
        new.id,
        'validation: Invalid status "' || json_extract(new.attributes, '$.status')
        || '": 102 continues, 200 is done, 204 had nothing to do, 422 cannot be done.'
    where not (
            cast(json_extract(new.attributes, '$.status') as text) in ('200', '204', '422', '500')
            or cast(json_extract(new.attributes, '$.status') as text) glob '1[0-9][0-9]'
        );
    update commands
    set state = 'resolved',
        message = trim(coalesce(new.body, ''), char(32, 9, 10, 13)),
        attributes = json_set(
            new.attributes, '$.status', cast(coalesce(json_extract(new.attributes, '$.status'), '102') as integer)
        )
    where id = new.id and state = 'performing';
end;

-- The log entry of a thought is archived.
create trigger _run_think__run
instead of insert on _run_think
begin
    update commands
    set state = 'resolved', message = '', quiet = 1
    where id = new.id;
end;
