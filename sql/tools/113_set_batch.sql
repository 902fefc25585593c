-- A set of many entries: one body for all that a pattern finds, or for none of them.
-- spec: @verb_set @edit_syntax

-- views

-- Put one body into all entries that a set found, or into none: insert into _write_batch (command_id, run_id, edits).
-- 'edits' is a JSON array with the rows of _edits.
create view _write_batch as
select id as command_id, run_id, null as edits
from commands
where false;

-- triggers

-- An edit that does not fit one of the entries, and a body that one of them may not have, change none.
create trigger _write_batch__write
instead of insert on _write_batch
begin
    insert into _fail_command (command_id, fault)
    select
        new.command_id,
        (e.value ->> '$.edit.outcome') || ': ' || (e.value ->> '$.path') || ': ' || (e.value ->> '$.edit.message')
    from json_each(new.edits) as e
    where e.value ->> '$.edit.state' = 'failed'
    limit 1;
    insert into _check_body (command_id, path, body, whole)
    select new.command_id, value ->> '$.path', value ->> '$.edit.body', value ->> '$.edit.whole'
    from json_each(new.edits);
    insert into _fail_command (command_id, fault)
    select
        new.command_id,
        'duplicate: ' || max(o.value ->> '$.path') || ': the same question would be open at ' || min(o.value ->> '$.path')
    from json_each(new.edits) as o
    join _run_paths as p on p.run_id = new.run_id and p.path = o.value ->> '$.path'
    join run_views as v on v.run_id = p.run_id and v.entry_id = p.entry_id
    where path_scheme(p.path) = 'unknown'
    group by o.value ->> '$.edit.body'
    having count(*) > 1 and max(coalesce(o.value ->> '$.visibility', v.visibility) <> 'archived')
    limit 1;
    insert into _write_body (command_id, path, attributes, visibility, edit)
    select
        new.command_id, value ->> '$.path', value ->> '$.attributes', value ->> '$.visibility', value -> '$.edit'
    from json_each(new.edits)
    where (select state from commands where id = new.command_id) = 'performing';
end;
