-- Writing entries: how an entry comes to be, changes, and is shown or hidden.
-- All writes go through _write_entry, all changes of visibility alone through _show_entry. Permission was asked before.
-- spec: @entries @run_views @freshness

-- views

create view _write_entry as
-- Write an entry of a run, for rules and plugins:
-- insert into _write_entry (run_id, path, body, attributes, visibility, state, outcome, writer, turn, loop_id, append).
-- A null body leaves the body as it is, null attributes theirs; attributes are merged, a null in them removes one.
-- 'content_id' names a stored body in place of 'body'.
select
    run_id, null as path, null as body, null as attributes, visibility, state, outcome, writer,
    turn, loop_id, 0 as append, null as content_id
from run_views
where false;

-- Write the entry that a run sees under a path, null: none: insert into _write_found (entry_id, run_id, path, …), then the
-- columns of _write_entry.
create view _write_found as
select
    entry_id, run_id, null as path, null as body, null as attributes, visibility, state, outcome, writer,
    turn, loop_id, 0 as append, null as content_id
from run_views
where false;

-- Make the entry of a path in the scope where a run writes it, unless it is there: insert into _make_entry (entry_id,
-- run_id, path). With the entry_id of one that the run sees it does nothing.
create view _make_entry as
select id as entry_id, null as run_id, path
from entries
where false;

-- The last part of _write_entry: change the run's view, or the head of a shared entry, to the values that were found
-- before. 'is_new': the run has no view of the entry yet.
create view _apply_write as
select
    run_id, entry_id, null as path, null as category, 0 as shared, 0 as is_new, null as old_content_id, null as old_body,
    null as body, null as attributes, visibility, state, outcome, writer, turn, loop_id, content_id, 0 as searchable
from run_views
where false;

-- Store the attributes of an entry with the head that packets show: insert into _store_metadata (attributes, turn, head).
-- Without a head it does nothing.
create view _store_metadata as
select attributes, null as turn, head
from _entry_metadata
where false;

-- Write the view that a run has of an entry: insert into _write_view (is_new, run_id, entry_id, …).
create view _write_view as
select
    0 as is_new, run_id, entry_id, content_id, metadata_id, visibility, state, outcome, writer, loop_id, turn, since
from run_views
where false;

-- Make the header that packets show of a run's own entry anew from the state of its view: insert into _make_metadata
-- (run_id, entry_id).
create view _make_metadata as
select run_id, entry_id
from run_views
where false;

-- Change what is seen of entries, and nothing else: insert into _show_entry (run_id, entry_id, visibility, turn). 'turn'
-- is the one that asked for it; null: the engine did.
create view _show_entry as
select run_id, entry_id, visibility, turn
from run_views
where false;

-- triggers

create trigger _write_entry__find
instead of insert on _write_entry
begin
    insert into _write_found (
        entry_id, run_id, path, body, attributes, visibility, state, outcome, writer, turn, loop_id, append, content_id
    )
    values (
        (select entry_id from _run_paths where run_id = new.run_id and path = new.path),
        new.run_id, new.path, new.body, new.attributes, new.visibility, new.state, new.outcome, new.writer, new.turn,
        new.loop_id, new.append, new.content_id
    );
end;

create trigger _make_entry__make
instead of insert on _make_entry
when new.entry_id is null
begin
    select fail(404, 'run ' || quote(new.run_id) || ': not found; see the table runs')
    where not exists (select 1 from runs where id = new.run_id);
    insert into entries (scope, path, scheme, kind, shown_path)
    select l.scope, new.path, path_scheme(new.path), s.name, fence_path(new.path)
    from schemes as s
    join run_scopes as l on l.run_id = new.run_id and l.kind = s.default_scope
    where s.name = coalesce((select name from schemes where name = coalesce(path_scheme(new.path), 'file')), '*')
        and not exists (select 1 from entries as e where e.scope = l.scope and e.path = new.path);
end;

create trigger _write_found__write
instead of insert on _write_found
begin
    insert into _make_entry (entry_id, run_id, path) values (new.entry_id, new.run_id, new.path);
    insert into _apply_write (
        run_id, entry_id, path, category, shared, is_new, old_content_id, old_body, body, attributes, visibility, state,
        outcome, writer, turn, loop_id, content_id, searchable
    )
    select
        new.run_id,
        e.id,
        new.path,
        s.category,
        e.scope not like 'run:%',
        v.run_id is null,
        c.id,
        c.body,
        case when new.append then coalesce(c.body, '') || new.body else new.body end,
        case
            when new.attributes is null then coalesce(b.attributes, e.attributes)
            else json_patch(coalesce(b.attributes, e.attributes, '{}'), new.attributes)
        end,
        coalesce(new.visibility, v.visibility, s.default_visibility),
        coalesce(new.state, v.state, 'resolved'),
        case when new.state is null then v.outcome else new.outcome end,
        coalesce(new.writer, 'plugin'),
        coalesce(new.turn, v.turn, (select max(next_turn - 1, 0) from runs where id = new.run_id)),
        coalesce(new.loop_id, v.loop_id),
        new.content_id,
        s.searchable
    from schemes as s
    join run_scopes as l on l.run_id = new.run_id and l.kind = s.default_scope
    -- the one that the run sees, else the one in the scope where it writes
    join entries as e
        on e.id = coalesce(new.entry_id, (select id from entries where scope = l.scope and path = new.path))
    left join run_views as v on v.run_id = new.run_id and v.entry_id = e.id
    left join _metadata as b on b.id = v.metadata_id
    left join contents as c on c.id = coalesce(v.content_id, e.content_id)
    where s.name = coalesce((select name from schemes where name = coalesce(path_scheme(new.path), 'file')), '*');
end;

-- A body that differs becomes a new content; the view is pinned to it, or the head of a shared entry moves.
create trigger _apply_write__apply
instead of insert on _apply_write
begin
    insert into _store_change (path, body, old_body)
    values (new.path, case when new.content_id is null then new.body end, new.old_body);
    update entries
    set content_id = case
            when new.content_id is not null then new.content_id
            when new.body is null or new.body is new.old_body then content_id
            else (select max(id) from contents)
        end,
        attributes = new.attributes,
        since = (select max(id) + 1 from events)
    where new.shared
        and id = new.entry_id
        and (
            (new.content_id is not null and new.content_id is not content_id)
            or (new.content_id is null and new.body is not null and new.body is not new.old_body)
            or attributes is not new.attributes
        );
    insert into _store_metadata (attributes, turn, head)
    values (
        new.attributes, new.turn,
        case
            when not new.shared and (new.attributes is not null or new.state <> 'resolved' or new.outcome is not null)
                then entry_head(
                    new.category, new.turn, new.state, new.outcome,
                    -- that of the outcome, of what stands before its ':', of the state
                    coalesce(
                        (select status from _result_statuses where state = new.state and outcome = new.outcome),
                        (
                            select status
                            from _result_statuses
                            where state = new.state
                                and outcome = substr(new.outcome, 1, instr(new.outcome || ':', ':') - 1)
                        ),
                        (select status from _result_statuses where state = new.state and outcome = '')
                    ),
                    new.attributes
                )
        end
    );
    insert into _write_view (
        is_new, run_id, entry_id, content_id, metadata_id, visibility, state, outcome, writer, loop_id, turn, since
    )
    values (
        new.is_new,
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
                then (select max(id) from _entry_metadata)
        end,
        new.visibility,
        new.state,
        new.outcome,
        new.writer,
        new.loop_id,
        new.turn,
        (select max(id) + 1 from events)
    );
    -- the head of a shared entry is indexed when it moves
    insert into content_search (rowid, body)
    select c.id, c.body
    from run_views as v
    join contents as c on c.id = v.content_id
    where new.searchable
        and not new.shared
        and v.run_id = new.run_id
        and v.entry_id = new.entry_id
        and c.id not in (select id from content_search_docsize);
end;

create trigger _store_metadata__store
instead of insert on _store_metadata
when new.head is not null
begin
    insert into _entry_metadata (attributes, head)
    values (
        case
            when new.head = '{"turn":' || new.turn || ',' || substr(new.attributes, 2, length(new.attributes) - 2) then '{}'
            else nullif(new.attributes, '{}')
        end,
        new.head
    );
end;

-- No UPSERT: the guard of run_views refuses an insert under a key that is there, because REPLACE is one.
create trigger _write_view__change
instead of insert on _write_view
when not new.is_new
begin
    update run_views
    set content_id = new.content_id,
        metadata_id = new.metadata_id,
        visibility = new.visibility,
        state = new.state,
        outcome = new.outcome,
        writer = new.writer,
        loop_id = new.loop_id,
        turn = new.turn,
        last_used_turn = new.turn,
        write_count = write_count + 1,
        since = new.since,
        context_order = case when new.visibility <> 'archived' then new.since end
    where run_id = new.run_id and entry_id = new.entry_id;
end;

create trigger _write_view__add
instead of insert on _write_view
when new.is_new
begin
    insert into run_views (
        run_id, entry_id, content_id, metadata_id, visibility, state, outcome, writer, loop_id, turn, last_used_turn, since,
        context_order
    )
    values (
        new.run_id, new.entry_id, new.content_id, new.metadata_id, new.visibility, new.state, new.outcome, new.writer,
        new.loop_id, new.turn, new.turn, new.since, case when new.visibility <> 'archived' then new.since end
    );
end;

create trigger _make_metadata__make
instead of insert on _make_metadata
begin
    insert into _entry_metadata (attributes, head)
    select nullif(b.attributes, '{}'), h.head
    from run_views as v
    join _entry_heads as h on h.run_id = v.run_id and h.entry_id = v.entry_id
    left join _metadata as b on b.id = v.metadata_id
    where v.run_id = new.run_id and v.entry_id = new.entry_id;
    update run_views
    set metadata_id = (select max(id) from _entry_metadata)
    where run_id = new.run_id and entry_id = new.entry_id;
end;

-- A change of visibility is no write: the entry keeps its turn, and its place in packets unless it was archived. It counts
-- as a use in the turn that asked for it, even where nothing changes.
create trigger _show_entry__show
instead of insert on _show_entry
begin
    update run_views
    set visibility = new.visibility,
        context_order = case
            when new.visibility = 'archived' then null
            when visibility = 'archived' then (select max(id) + 1 from events)
            else context_order
        end,
        since = case when visibility = new.visibility then since else (select max(id) + 1 from events) end,
        last_used_turn = coalesce(new.turn, last_used_turn)
    where run_id = new.run_id and entry_id = new.entry_id;
end;
