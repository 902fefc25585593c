-- The verbs for people and apps: insert into verb_set, verb_get, verb_rm, verb_cp, verb_mv, verb_update.
-- All are write-only views with the same columns: run, path, "to", body, visibility, state, outcome, attributes,
-- append, pattern, filter, request_id. An insert becomes a command of a client; its result is the row of
-- command_results under its request_id.
-- spec: @verb_views @verb_contract @surfaces

-- views

create view verb_set as
-- Write an entry: insert into verb_set (run, path, body) values ('demo', 'known://fact', 'text').
select
    null as run, null as path, null as "to", null as body, null as visibility, null as state, null as outcome,
    null as attributes, null as append, null as pattern, null as filter, null as request_id
where false;

create view verb_get as
-- Make entries visible: insert into verb_get (run, path) values ('demo', 'src/**').
select * from verb_set;

create view verb_rm as
-- Remove entries from a run's view: insert into verb_rm (run, path) values ('demo', 'known://fact').
select * from verb_set;

create view verb_cp as
-- Copy an entry to the path "to": insert into verb_cp (run, path, "to") values ('demo', 'notes.md', 'known://notes').
select * from verb_set;

create view verb_mv as
-- Move an entry to the path "to"; without "to" change only its visibility.
select * from verb_set;

create view verb_update as
-- Record an update, whose status stands in attributes: insert into verb_update (run, body, attributes) values ('demo',
-- 'done', '{"status": 200}').
select * from verb_set;

-- Record what a verb asks for as a command: insert into _call_verb (action, …), then the columns of the verbs.
create view _call_verb as
select
    null as action, null as run, null as path, null as destination, null as body, null as visibility, null as state,
    null as outcome, null as attributes, null as append, null as pattern, null as filter, null as request_id
where false;

-- Make the run that a set of a path run://alias names, where it is new: insert into _name_run (action, path, attributes,
-- state). Any other command and path is none of a run.
create view _name_run as
select null as action, null as path, null as attributes, null as state
where false;

-- What each command from outside a turn has done to files, or is going to do.
create view _requested_files as
select
    c.request_id,
    p.target as path,
    case
        when p.kind = 'file_delete' then 'removed'
        when coalesce(json_extract(p.detail, '$.exists'), 0) then 'changed'
        else 'added'
    end as change,
    p.detail ->> '$.diff' as diff
from commands as c
join proposals as p on p.command_id = c.id
where c.turn_id is null
    and p.kind in ('file_write', 'file_delete')
    and p.state in ('proposed', 'accepting', 'accepted', 'resolved');

-- triggers

-- Check the arguments, make the run that a path run://alias names where it is new, and record the command. A request_id
-- that was used before does nothing.
create trigger _call_verb__call
instead of insert on _call_verb
when new.request_id is null or not exists (select 1 from commands where request_id = new.request_id)
begin
    select fail(400, new.action || ': attributes must be a JSON object, not ' || quote(new.attributes))
    where new.attributes is not null
        and case when json_valid(new.attributes) then json_type(new.attributes) else '' end <> 'object';
    select fail(
        400,
        new.action || ' ' || coalesce(new.path, '') || ': visibility must be visible, summarized or archived, not '
        || quote(new.visibility)
    )
    where new.visibility not in (select name from visibilities);
    select fail(400, new.action || ' ' || coalesce(new.path, '') || ': there is no state ' || quote(new.state))
    where new.state not in (select name from states);
    insert into _name_run (action, path, attributes, state) values (new.action, new.path, new.attributes, new.state);
    select fail(
        404, 'run ' || quote(coalesce(new.run, substr(new.path, 7))) || ': there is no such run; see ''engine runs'''
    )
    where not exists (
        select 1
        from runs
        where alias = case when new.path like 'run://_%' then substr(new.path, 7) else new.run end
    );
    -- what steers a run is done here, so that the program of a turn's commands need not know how
    insert into commands (
        request_id, run_id, writer, action, state, path, destination, body, attributes, created_at
    )
    select
        new.request_id, p.run_id, 'client', new.action,
        case when new.action = 'set' and new.path like 'run://_%' then 'performing' else 'queued' end,
        path_locate(new.path, p.roots),
        case when new.destination is not null then path_locate(new.destination, p.roots) end,
        new.body,
        case
            -- most have none
            when coalesce(
                    new.visibility, new.state, new.outcome, new.append, new.pattern, new.filter, new.attributes
                ) is null
                then '{"attributes":{}}'
            else json_set(json_patch('{}', json_object(
                    'visibility', new.visibility,
                    'state', new.state,
                    'outcome', cast(new.outcome as text),
                    'append', new.append,
                    'pattern', new.pattern,
                    'filter', new.filter,
                    'tags', json_extract(new.attributes, '$.tags'),
                    'summary', json_extract(new.attributes, '$.summary'),
                    'status', json_extract(new.attributes, '$.status'),
                    'line', json_extract(new.attributes, '$.line'),
                    'limit', json_extract(new.attributes, '$.limit'),
                    'char', json_extract(new.attributes, '$.char'),
                    'chars', json_extract(new.attributes, '$.chars'),
                    'manifest', json_extract(new.attributes, '$.manifest'),
                    'map', json_extract(new.attributes, '$.map')
                )), '$.attributes', json(coalesce(new.attributes, '{}')))
        end,
        now()
    from _run_roots as p
    where p.run = case when new.path like 'run://_%' then substr(new.path, 7) else new.run end;
    insert into _late_call (door, a, b, c, d)
    select '_steer_run', id, run_id, attributes, body
    from commands
    where id = (select max(id) from commands) and state = 'performing';
end;

-- A fork must have a new name. A set with a state is to a run that is there.
create trigger _name_run__name
instead of insert on _name_run
when new.action = 'set' and new.path like 'run://_%'
begin
    select fail(409, 'run ' || alias || ': already exists; choose another name for the fork')
    from runs
    where json_extract(new.attributes, '$.fork') is not null and alias = substr(new.path, 7);
    insert into _late_call (door, a, b, c)
    select '_ensure_run', substr(new.path, 7), coalesce(new.attributes, '{}'), 'main'
    where new.state is null and not exists (select 1 from runs where alias = substr(new.path, 7));
end;

-- Pass the row on as the action set.
create trigger verb_set__call
instead of insert on verb_set
begin
    insert into _call_verb values (
        'set', new.run, new.path, new."to", new.body, new.visibility, new.state, new.outcome, new.attributes, new.append,
        new.pattern, new.filter, new.request_id
    );
end;

-- Pass the row on as the action get.
create trigger verb_get__call
instead of insert on verb_get
begin
    insert into _call_verb values (
        'get', new.run, new.path, new."to", new.body, new.visibility, new.state, new.outcome, new.attributes, new.append,
        new.pattern, new.filter, new.request_id
    );
end;

-- Pass the row on as the action rm.
create trigger verb_rm__call
instead of insert on verb_rm
begin
    insert into _call_verb values (
        'rm', new.run, new.path, new."to", new.body, new.visibility, new.state, new.outcome, new.attributes, new.append,
        new.pattern, new.filter, new.request_id
    );
end;

-- Pass the row on as the action cp.
create trigger verb_cp__call
instead of insert on verb_cp
begin
    insert into _call_verb values (
        'cp', new.run, new.path, new."to", new.body, new.visibility, new.state, new.outcome, new.attributes, new.append,
        new.pattern, new.filter, new.request_id
    );
end;

-- Pass the row on as the action mv.
create trigger verb_mv__call
instead of insert on verb_mv
begin
    insert into _call_verb values (
        'mv', new.run, new.path, new."to", new.body, new.visibility, new.state, new.outcome, new.attributes, new.append,
        new.pattern, new.filter, new.request_id
    );
end;

-- Pass the row on as the action update.
create trigger verb_update__call
instead of insert on verb_update
begin
    insert into _call_verb values (
        'update', new.run, new.path, new."to", new.body, new.visibility, new.state, new.outcome, new.attributes, new.append,
        new.pattern, new.filter, new.request_id
    );
end;
