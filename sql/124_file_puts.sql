-- Files: changed by decision only. A new text waits beside its proposal, with a diff and the hash of what was there.
-- spec: @verb_set @proposals

-- views

-- Propose a new text for a file; hash and old body are null for one that is to be made.
create view file_puts as
select id as command_id, path, null as hash, null as old_body, body, attributes, null as visibility
from commands
where false;

-- Propose that a file goes: insert into file_removals (command_id, path).
create view file_removals as
select id as command_id, path
from commands
where false;

-- triggers

create trigger file_puts__propose
instead of insert on file_puts
begin
    insert into content_writes (path, body) values (new.path, new.body);
    insert into proposal_openings (command_id, kind, target, content_id, detail)
    values (
        new.command_id, 'file_write', new.path, (select max(id) from contents),
        json_object(
            'before', new.hash,
            'exists', new.hash is not null,
            'visibility', new.visibility,
            'attributes', json(new.attributes),
            'diff', edit_diff(new.path, new.old_body, new.body)
        )
    );
end;

-- By its path: a command that waits has forgotten its targets.
create trigger file_removals__propose
instead of insert on file_removals
begin
    insert into proposal_openings (command_id, kind, target, detail)
    select
        c.id, 'file_delete', new.path,
        json_object('before', e.hash, 'diff', edit_diff(new.path, b.body, null))
    from commands as c
    cross join run_paths as p on p.run_id = c.run_id and p.path = new.path
    cross join entries as e on e.id = p.entry_id and e.kind = 'file'
    left join contents as b on b.id = e.content_id
    where c.id = new.command_id and coalesce(json_extract(e.attributes, '$.kind'), '') <> 'missing';
end;
