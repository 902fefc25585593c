-- Writing entries: how an entry comes to be, changes, and is shown or hidden.
-- All writes go through write_entry, all changes of visibility alone through _show_entry. Permission was asked before.
-- spec: @entries @run_views

-- views

create view write_entry as
-- Write an entry of a run, for rules and plugins:
-- insert into write_entry (run_id, path, body, attributes, visibility, state, outcome, writer, turn, loop_id, append).
-- A null body leaves the body as it is, null attributes theirs; attributes are merged, a null in them removes one.
-- 'content_id' names a stored body in place of 'body'.
select
    run_id, null as path, null as body, null as attributes, visibility, state, outcome, writer,
    turn, loop_id, 0 as append, null as content_id
from run_views
where false;

create view store_content as
-- Store a body: insert into store_content (path, body); its id is the highest of contents.
select null as path, body
from contents
where false;

-- The second half of write_entry: change the run's view, or the head of a shared entry, to the values that the first half
-- has found.
create view _apply_write as
select
    run_id, entry_id, null as path, null as category, 0 as shared, null as old_content_id, null as old_body, null as body,
    null as attributes, visibility, state, outcome, writer, turn, loop_id, content_id, 0 as searchable
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

create trigger write_entry__find
instead of insert on write_entry
begin
    insert into entries (scope, path, scheme, kind, shown_path)
    select l.scope, new.path, path_scheme(new.path), s.name, fence_path(new.path)
    from schemes as s
    join run_scopes as l on l.run_id = new.run_id and l.kind = s.default_scope
    where s.name = coalesce((select name from schemes where name = coalesce(path_scheme(new.path), 'file')), '*')
        and not exists (select 1 from _run_paths as p where p.run_id = new.run_id and p.path = new.path)
        and not exists (select 1 from entries as e where e.scope = l.scope and e.path = new.path);
    insert into _apply_write (
        run_id, entry_id, path, category, shared, old_content_id, old_body, body, attributes, visibility, state, outcome,
        writer, turn, loop_id, content_id, searchable
    )
    select
        new.run_id,
        e.id,
        new.path,
        s.category,
        e.scope not like 'run:%',
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
        on e.id = coalesce(
            (select p.entry_id from _run_paths as p where p.run_id = new.run_id and p.path = new.path),
            (select id from entries where scope = l.scope and path = new.path)
        )
    left join run_views as v on v.run_id = new.run_id and v.entry_id = e.id
    left join _metadata as b on b.id = v.metadata_id
    left join contents as c on c.id = coalesce(v.content_id, e.content_id)
    where s.name = coalesce((select name from schemes where name = coalesce(path_scheme(new.path), 'file')), '*');
end;

-- A body that differs becomes a new content; the view is pinned to it, or the head of a shared entry moves.
create trigger _apply_write__apply
instead of insert on _apply_write
begin
    -- a short body is its own summary
    insert into contents (chars, summary_chars, lines, body, fence)
    select
        length(new.body), length(new.body), text_lines(new.body), new.body,
        case when instr(new.body, ':::') then fence_suffix(new.body, null) end
    where new.content_id is null
        and new.body is not new.old_body
        and length(new.body) <= 500
        and not instr(new.body, char(0));
    insert into store_content (path, body)
    select new.path, new.body
    where new.content_id is null
        and new.body is not new.old_body
        and (length(new.body) > 500 or instr(new.body, char(0)));
    update entries
    set content_id = case
            when new.content_id is not null then new.content_id
            when new.body is null or new.body is new.old_body then content_id
            else (select max(id) from contents)
        end,
        attributes = new.attributes,
        since = (select max(id) + 1 from events)
    where id = case when new.shared then new.entry_id end
        and (
            (new.content_id is not null and new.content_id is not content_id)
            or (new.content_id is null and new.body is not null and new.body is not new.old_body)
            or attributes is not new.attributes
        );
    insert into _entry_metadata (attributes, head)
    select
        case
            when head = '{"turn":' || new.turn || ',' || substr(new.attributes, 2, length(new.attributes) - 2) then '{}'
            else nullif(new.attributes, '{}')
        end,
        head
    from (
        select
            entry_head(
                new.category, new.turn, new.state, new.outcome,
                (
                    select x.status
                    from _result_statuses as x
                    where x.state = new.state
                        and x.outcome in ('', new.outcome, substr(new.outcome, 1, instr(new.outcome || ':', ':') - 1))
                    -- what begins with the other is the longer one
                    order by x.outcome desc
                    limit 1
                ),
                new.attributes
            ) as head
        where not new.shared and (new.attributes is not null or new.state <> 'resolved' or new.outcome is not null)
        -- the limit keeps SQLite from calling the function more than once
        limit 1
    );
    -- no UPSERT: the guard of run_views refuses an insert under a key that is there, because REPLACE is one
    update run_views
    set content_id = case
            when new.shared then null
            when new.content_id is not null then new.content_id
            when new.body is null or new.body is new.old_body then new.old_content_id
            else (select max(id) from contents)
        end,
        metadata_id = case
            when not new.shared and (new.attributes is not null or new.state <> 'resolved' or new.outcome is not null)
                then (select max(id) from _entry_metadata)
        end,
        visibility = new.visibility,
        state = new.state,
        outcome = new.outcome,
        writer = new.writer,
        loop_id = new.loop_id,
        turn = new.turn,
        last_used_turn = new.turn,
        write_count = write_count + 1,
        since = (select max(id) + 1 from events),
        context_order = case when new.visibility <> 'archived' then (select max(id) + 1 from events) end
    where run_id = new.run_id and entry_id = new.entry_id;
    insert into run_views (
        run_id, entry_id, content_id, metadata_id, visibility, state, outcome, writer, loop_id, turn, last_used_turn, since,
        context_order
    )
    select
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
        new.turn,
        (select max(id) + 1 from events),
        case when new.visibility <> 'archived' then (select max(id) + 1 from events) end
    where not exists (select 1 from run_views where run_id = new.run_id and entry_id = new.entry_id);
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

create trigger store_content__store
instead of insert on store_content
begin
    insert into contents (chars, summary_chars, lines, cut, summary, body, fence)
    select
        length(s.body),
        coalesce(
            length(s.summary),
            s.cut + length(char(10) || '[… ' || (length(s.body) - s.cut) || ' more characters]'),
            length(s.body)
        ),
        text_lines(s.body),
        s.cut,
        s.summary,
        s.body,
        fence_suffix(s.body, s.summary)
    from (
        -- 'materialized' keeps SQLite from calling each function more than once
        with clean as materialized (
            -- length() and substr() stop at a NUL, so there must be none
            select case when instr(new.body, char(0)) then text_clean(new.body) else new.body end as body
        ),
        short as materialized (
            select body, case when length(body) > 500 then body_summary(new.path, body) end as summary
            from clean
        ),
        beginning as materialized (
            select body, summary, summary_cut(body, summary) as cut
            from short
        )
        select body, cut, case when cut is null then summary end as summary
        from beginning
    ) as s;
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
