-- Writing entries: the one way in which an entry comes to be or changes.
-- A write goes through three doors, each of which settles something once for the next: which entry it is, what its values
-- become, and what is stored. Permission was asked before; here a write only happens.
-- spec: @entries @run_views

-- views

-- The store's own door, for the rules of the engine and of plugins:
-- insert into entry_writes (run_id, path, body, attributes, visibility, state, outcome, writer, turn, loop_id, append).
-- A null body leaves the body as it is, null attributes theirs; attributes are merged, a null in them removes one.
create view entry_writes as
select
    run_id, null as path, null as body, null as attributes, visibility, state, outcome, writer,
    turn, loop_id, 0 as append, null as content_id
from run_views
where false;

-- The same with the scheme's row and the entry found, where there is one.
create view found_writes as
select
    run_id, null as path, null as body, null as attributes, visibility, state, outcome, writer, turn, loop_id,
    0 as append, null as content_id, null as kind, null as category, null as default_visibility, null as scope, entry_id
from run_views
where false;

-- The same with all values settled: what the view becomes.
create view view_writes as
select
    run_id, entry_id, null as category, 0 as shared, null as old_content_id, null as old_body, null as body,
    null as attributes,
    visibility, state, outcome, writer, turn, loop_id, content_id
from run_views
where false;

-- triggers

create trigger entry_writes__find_the_entry
instead of insert on entry_writes
begin
    insert into found_writes (
        run_id, path, body, attributes, visibility, state, outcome, writer, turn, loop_id, append, content_id,
        kind, category, default_visibility, scope, entry_id
    )
    select
        new.run_id, new.path, new.body, new.attributes, new.visibility, new.state, new.outcome, new.writer, new.turn,
        new.loop_id, new.append, new.content_id, s.name, s.category, s.default_visibility, l.scope,
        (select p.entry_id from run_paths as p where p.run_id = new.run_id and p.path = new.path)
    from schemes as s
    join run_scopes as l on l.run_id = new.run_id and l.kind = s.default_scope
    where s.name = coalesce((select name from schemes where name = coalesce(path_scheme(new.path), 'file')), '*');
end;

create trigger found_writes__bind
instead of insert on found_writes
begin
    insert into entries (scope, path, scheme, kind)
    select new.scope, new.path, path_scheme(new.path), new.kind
    where new.entry_id is null
    on conflict (scope, path) do nothing;
    insert into view_writes (
        run_id, entry_id, category, shared, old_content_id, old_body, body, attributes, visibility, state, outcome, writer,
        turn, loop_id, content_id
    )
    select
        new.run_id,
        e.id,
        new.category,
        e.scope not like 'run:%',
        c.id,
        c.body,
        case when new.append then coalesce(c.body, '') || new.body else new.body end,
        case
            when new.attributes is null then coalesce(b.attributes, e.attributes)
            else json_patch(coalesce(b.attributes, e.attributes, '{}'), new.attributes)
        end,
        coalesce(new.visibility, v.visibility, new.default_visibility),
        coalesce(new.state, v.state, 'resolved'),
        case when new.state is null then v.outcome else new.outcome end,
        coalesce(new.writer, 'plugin'),
        coalesce(new.turn, v.turn, (select max(next_turn - 1, 0) from runs where id = new.run_id)),
        coalesce(new.loop_id, v.loop_id),
        new.content_id
    from entries as e
    left join run_views as v on v.run_id = new.run_id and v.entry_id = e.id
    left join labels as b on b.id = v.label_id
    left join contents as c on c.id = coalesce(v.content_id, e.content_id)
    where e.id = coalesce(new.entry_id, (select id from entries where scope = new.scope and path = new.path));
end;

-- A body that differs becomes a new content; the view is pinned to it, or the head of a shared entry moves.
create trigger view_writes__store
instead of insert on view_writes
begin
    insert into content_writes (path, body)
    select (select path from entries where id = new.entry_id), new.body
    where new.content_id is null and new.body is not new.old_body and new.body is not null;
    update entries
    set content_id = case
            when new.content_id is not null then new.content_id
            when new.body is null or new.body is new.old_body then content_id
            else (select max(id) from contents)
        end,
        attributes = new.attributes,
        since = (select coalesce(max(id), 0) + 1 from events)
    where id = case when new.shared then new.entry_id end
        and (
            (new.content_id is not null and new.content_id is not content_id)
            or (new.content_id is null and new.body is not null and new.body is not new.old_body)
            or attributes is not new.attributes
        );
    insert into labels (attributes, head)
    select
        new.attributes,
        entry_head(
            new.category, new.turn, new.state, new.outcome,
            coalesce(
                (select status from states where name = new.state),
                (select status from outcomes where name = substr(new.outcome, 1, instr(new.outcome || ':', ':') - 1))
            ),
            new.attributes
        )
    where not new.shared and (new.attributes is not null or new.state <> 'resolved' or new.outcome is not null);
    insert into run_views (
        run_id, entry_id, content_id, label_id, visibility, state, outcome, writer, loop_id, turn, touched, since, placed
    )
    values (
        new.run_id,
        new.entry_id,
        case
            when new.shared then null
            when new.content_id is not null then new.content_id
            when new.body is null or new.body is new.old_body then new.old_content_id
            else (select max(id) from contents)
        end,
        case
            when not new.shared and (new.attributes is not null or new.state <> 'resolved' or new.outcome is not null)
                then (select max(id) from labels)
        end,
        new.visibility,
        new.state,
        new.outcome,
        new.writer,
        new.loop_id,
        new.turn,
        new.turn,
        (select coalesce(max(id), 0) + 1 from events),
        case when new.visibility <> 'archived' then (select coalesce(max(id), 0) + 1 from events) end
    )
    on conflict (run_id, entry_id) do update
        set content_id = excluded.content_id,
            label_id = excluded.label_id,
            visibility = excluded.visibility,
            state = excluded.state,
            outcome = excluded.outcome,
            writer = excluded.writer,
            loop_id = excluded.loop_id,
            turn = excluded.turn,
            touched = excluded.touched,
            write_count = write_count + 1,
            since = excluded.since,
            placed = excluded.placed;
end;
