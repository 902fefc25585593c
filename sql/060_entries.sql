-- Entries: everything the model can know, each under a path.
-- An entry is an identity (scope, path). What a run sees of it is its view: a pinned content, attributes, visibility and
-- state. A write moves only the writer's pin, so a fork shares its parent's entries and neither sees what the other writes.
-- Entries of project and global scope have one head that every run with a view follows. No view: not in context.
-- spec: @entries @contents @run_views @scopes @history

-- tables

-- Bodies, immutable: an entry that changes points to another row.
create table if not exists contents (
    id integer primary key,
    body text not null,
    -- the summarized projection: the body up to 'cut' and a count of the rest; or 'summary', where it is something else;
    -- or, both null, the body itself
    cut integer,
    summary text,
    chars integer not null,
    summary_chars integer not null,
    lines integer not null
) strict;

create table if not exists entries (
    id integer primary key,
    scope text not null,
    path text not null
        constraint entries_path_length check (length(path) between 1 and 2048),
    -- the part of the path before '://'; null for a file
    scheme text,
    -- the row of schemes that it follows
    kind text not null constraint entries_kind references schemes (name),
    -- the head, for project and global scope only
    content_id integer constraint entries_content references contents (id),
    attributes text constraint entries_attributes_json check (attributes is null or json_valid(attributes)),
    -- sha256 of the file's bytes
    hash text,
    since integer,
    constraint entries_path_once_per_scope unique (scope, path)
) strict;

create table if not exists run_views (
    run_id integer not null constraint run_views_run references runs (id) on delete cascade,
    entry_id integer not null constraint run_views_entry references entries (id),
    -- the pin; null follows the entry's head
    content_id integer constraint run_views_content references contents (id),
    attributes text constraint run_views_attributes_json check (attributes is null or json_valid(attributes)),
    visibility text not null constraint run_views_visibility references visibilities (name),
    state text not null constraint run_views_state references states (name),
    outcome text,
    writer text not null constraint run_views_writer references writer_tiers (name),
    loop_id integer,
    -- its metadata as the packet shows it, while it is in context
    head text,
    -- the turn that wrote it last: shown, and sorted by
    turn integer not null,
    -- the turn that wrote or promoted it last: what the ladder demotes
    touched integer not null,
    write_count integer not null default 1,
    -- the clock when this row became what it is
    since integer not null,
    primary key (run_id, entry_id)
) strict, without rowid;

create index if not exists idx_run_views_in_context on run_views (run_id, entry_id) where visibility <> 'archived';
create index if not exists idx_run_views_entry_id on run_views (entry_id);

-- What run_views held before: rows are added when a view changes and never altered.
create table if not exists run_view_versions (
    run_id integer not null constraint run_view_versions_run references runs (id) on delete cascade,
    entry_id integer not null,
    began integer not null,
    ended integer not null,
    content_id integer,
    attributes text,
    visibility text not null,
    state text not null,
    outcome text,
    turn integer not null,
    primary key (run_id, entry_id, began)
) strict, without rowid;

create index if not exists idx_run_view_versions_past
on run_view_versions (run_id, ended, began, entry_id, visibility);

-- What the head of an entry of project or global scope held before.
create table if not exists entry_versions (
    entry_id integer not null constraint entry_versions_entry references entries (id),
    began integer not null,
    ended integer not null,
    content_id integer,
    attributes text,
    hash text,
    primary key (entry_id, began)
) strict, without rowid;

-- The growing body of a streaming entry; cut into one content when it ends.
create table if not exists entry_chunks (
    id integer primary key,
    run_id integer not null constraint entry_chunks_run references runs (id) on delete cascade,
    entry_id integer not null constraint entry_chunks_entry references entries (id),
    text text not null
) strict;

create index if not exists idx_entry_chunks_run_id_entry_id on entry_chunks (run_id, entry_id, id);

-- Full-text search over the bodies of searchable schemes; rowid is contents.id.
create virtual table if not exists content_search using fts5 (
    body, content = 'contents', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);

-- views

-- The HTTP status of a state and its outcome. The one place where it is derived.
create view state_statuses as
select
    s.name as state,
    o.name as outcome,
    coalesce(s.status, o.status) as status
from states as s
left join outcomes as o on s.status is null;

create view known_entries as
-- Every entry as each run sees it. Read-only: write through verb_set and its kin.
select
    r.alias as run,
    e.scope,
    e.path,
    e.scheme,
    s.category,
    coalesce(c.body, '') || coalesce(
        case v.state
            when 'streaming' then (
                select group_concat(k.text, '')
                from (
                    select text from entry_chunks where run_id = v.run_id and entry_id = v.entry_id order by id
                ) as k
            )
        end, ''
    ) as body,
    coalesce(v.attributes, e.attributes) as attributes,
    v.visibility,
    v.state,
    v.outcome,
    coalesce(
        st.status,
        case when v.outcome like 'status:%' then cast(substr(v.outcome, 8) as integer) end,
        (select o.status from outcomes as o where o.name = substr(v.outcome, 1, instr(v.outcome || ':', ':') - 1)),
        500
    ) as status,
    v.writer,
    v.turn,
    cast(coalesce(c.chars, 0) / 2.0 + 0.5 as integer) as tokens,
    coalesce(c.lines, 0) as lines,
    v.write_count,
    (
        select strftime('%Y-%m-%d %H:%M:%f', ev.at / 1000.0, 'unixepoch')
        from events as ev
        where ev.id <= max(v.since, coalesce(e.since, 0))
        order by ev.id desc
        limit 1
    ) as updated_at
from run_views as v
join runs as r on r.id = v.run_id
join entries as e on e.id = v.entry_id
join schemes as s on s.name = e.kind
join states as st on st.name = v.state
left join contents as c on c.id = coalesce(v.content_id, e.content_id);

-- The present body of each view, for the rules that read it.
create view entry_bodies as
select
    v.run_id,
    v.entry_id,
    e.scope,
    e.path,
    e.scheme,
    e.kind,
    e.hash,
    coalesce(v.content_id, e.content_id) as content_id,
    c.body,
    c.chars,
    coalesce(v.attributes, e.attributes, '{}') as attributes,
    v.visibility,
    v.state,
    v.outcome
from run_views as v
join entries as e on e.id = v.entry_id
left join contents as c on c.id = coalesce(v.content_id, e.content_id);

-- Where a run finds a path: in one of its scopes, through a view of its own. The joins are in that order, or each look-up
-- would go through all views of the run.
create view run_paths as
select
    l.run_id,
    e.path,
    e.id as entry_id,
    e.kind,
    e.scheme
from run_scopes as l
cross join entries as e on e.scope = l.scope
cross join run_views as v on v.run_id = l.run_id and v.entry_id = e.id;

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
    run_id, entry_id, null as category, 0 as shared, null as old_content_id, null as old_body, null as body, attributes,
    visibility, state, outcome, writer, turn, loop_id, content_id
from run_views
where false;

-- Store a body: insert into content_writes (path, body); its id is the highest of contents.
create view content_writes as
select null as path, body
from contents
where false;

-- Every content with its summarized projection.
create view content_texts as
select
    id,
    body,
    coalesce(summary, substr(body, 1, cut) || char(10) || '[… ' || (chars - cut) || ' more characters]', body) as summary,
    -- a summary that is not the beginning of the body
    summary as symbols,
    cut,
    chars,
    summary_chars,
    lines
from contents;

-- The metadata that an entry shows in a packet, without its last brace: what follows depends on the loop.
create view entry_heads as
select
    v.run_id,
    v.entry_id,
    entry_head(
        s.category, v.turn, v.state, v.outcome,
        coalesce(
            st.status,
            (select o.status from outcomes as o where o.name = substr(v.outcome, 1, instr(v.outcome || ':', ':') - 1))
        ),
        coalesce(v.attributes, e.attributes)
    ) as head
from run_views as v
join entries as e on e.id = v.entry_id
join schemes as s on s.name = e.kind
join states as st on st.name = v.state;

-- triggers

create trigger content_writes__store
instead of insert on content_writes
begin
    insert into contents (body, cut, summary, chars, summary_chars, lines)
    select
        new.body,
        s.cut,
        s.summary,
        length(new.body),
        coalesce(
            length(s.summary),
            s.cut + length(char(10) || '[… ' || (length(new.body) - s.cut) || ' more characters]'),
            length(new.body)
        ),
        text_lines(new.body)
    from (
        select
            c.cut,
            case when c.cut is null and length(new.body) > 500 then body_summary(new.path, new.body) end as summary
        from (select case when length(new.body) > 500 then summary_cut(new.path, new.body) end as cut) as c
    ) as s;
end;

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
            when new.attributes is null then coalesce(v.attributes, e.attributes)
            else json_patch(coalesce(v.attributes, e.attributes, '{}'), new.attributes)
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
    insert into run_views (
        run_id, entry_id, content_id, attributes, visibility, state, outcome, writer, loop_id, turn, touched, since, head
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
        case when new.shared then null else new.attributes end,
        new.visibility,
        new.state,
        new.outcome,
        new.writer,
        new.loop_id,
        new.turn,
        new.turn,
        (select coalesce(max(id), 0) + 1 from events),
        case
            when new.visibility <> 'archived' then entry_head(
                new.category, new.turn, new.state, new.outcome,
                coalesce(
                    (select status from states where name = new.state),
                    (select status from outcomes where name = substr(new.outcome, 1, instr(new.outcome || ':', ':') - 1))
                ),
                new.attributes
            )
        end
    )
    on conflict (run_id, entry_id) do update
        set content_id = excluded.content_id,
            attributes = excluded.attributes,
            visibility = excluded.visibility,
            state = excluded.state,
            outcome = excluded.outcome,
            writer = excluded.writer,
            loop_id = excluded.loop_id,
            turn = excluded.turn,
            touched = excluded.touched,
            write_count = write_count + 1,
            since = excluded.since,
            head = excluded.head;
end;

-- What comes into context gets its head, what leaves it gives it up.
create trigger run_views__keep_head
after update of visibility on run_views
when (new.visibility = 'archived') <> (old.visibility = 'archived') and new.write_count = old.write_count
begin
    update run_views
    set head = case
            when new.visibility <> 'archived' then (
                select h.head from entry_heads as h where h.run_id = new.run_id and h.entry_id = new.entry_id
            )
        end
    where run_id = new.run_id and entry_id = new.entry_id;
end;

-- The attributes of a shared entry are part of its head in every run.
create trigger entries__refresh_heads
after update of attributes on entries
when new.attributes is not old.attributes
begin
    update run_views
    set head = (select h.head from entry_heads as h where h.run_id = run_views.run_id and h.entry_id = new.id)
    where entry_id = new.id and visibility <> 'archived';
end;

create trigger run_views__record_new
after insert on run_views
begin
    insert or ignore into events (id, at, run_id, turn_id, kind, entry_id)
    values (
        new.since, now(), new.run_id,
        (select id from turns where run_id = new.run_id and phase <> 'judged'),
        'entry.created', new.entry_id
    );
end;

-- A change is recorded and the row that ended is kept; a touch alone is neither.
create trigger run_views__record_change
after update on run_views
when new.since <> old.since
begin
    insert or ignore into events (id, at, run_id, turn_id, kind, entry_id)
    values (
        new.since, now(), new.run_id,
        (select id from turns where run_id = new.run_id and phase <> 'judged'),
        case
            when new.write_count > old.write_count then 'entry.written'
            when new.visibility is not old.visibility then 'entry.shown'
            else 'entry.changed'
        end,
        new.entry_id
    );
    insert into run_view_versions (
        run_id, entry_id, began, ended, content_id, attributes, visibility, state, outcome, turn
    )
    values (
        old.run_id, old.entry_id, old.since, new.since, old.content_id, old.attributes, old.visibility,
        old.state, old.outcome, old.turn
    );
end;

create trigger run_views__record_removal
after delete on run_views
when exists (select 1 from runs where id = old.run_id)
begin
    insert into events (at, run_id, turn_id, kind, entry_id)
    values (
        now(), old.run_id,
        (select id from turns where run_id = old.run_id and phase <> 'judged'),
        'entry.removed', old.entry_id
    );
    insert into run_view_versions (
        run_id, entry_id, began, ended, content_id, attributes, visibility, state, outcome, turn
    )
    values (
        old.run_id, old.entry_id, old.since, (select max(id) from events), old.content_id, old.attributes,
        old.visibility, old.state, old.outcome, old.turn
    );
end;

-- A head that moves keeps the one before it.
create trigger entries__record_head
after update of content_id, attributes, hash on entries
when old.since is not null and new.since is not old.since
begin
    insert or ignore into events (id, at, kind, entry_id)
    values (new.since, now(), 'entry.head', new.id);
    insert into entry_versions (entry_id, began, ended, content_id, attributes, hash)
    values (old.id, old.since, new.since, old.content_id, old.attributes, old.hash);
end;

create trigger contents__stay_as_they_are
before update on contents
begin
    select fail(405, 'contents are immutable; write the entry again');
end;

create trigger contents__stay
before delete on contents
when not exists (select 1 from purges)
begin
    select fail(405, 'contents are immutable; only the purge of a whole run removes them');
end;

-- The bodies of searchable schemes are indexed: a shared head in place of the one before, a run's own beside it.
create trigger entries__index_head
after update of content_id on entries
when new.content_id is not old.content_id
    and exists (select 1 from schemes where name = new.kind and searchable)
begin
    insert into content_search (content_search, rowid, body)
    select 'delete', id, body
    from contents
    where id = old.content_id;
    insert into content_search (rowid, body)
    select id, body
    from contents
    where id = new.content_id;
end;

create trigger run_views__index_new
after insert on run_views
when new.content_id is not null
    and exists (
        select 1
        from entries as e
        join schemes as s on s.name = e.kind
        where e.id = new.entry_id and s.searchable and e.scope = 'run:' || new.run_id
    )
begin
    insert into content_search (rowid, body)
    select id, body
    from contents
    where id = new.content_id and id not in (select id from content_search_docsize);
end;

create trigger run_views__index_changed
after update of content_id on run_views
when new.content_id is not old.content_id
    and new.content_id is not null
    and exists (
        select 1
        from entries as e
        join schemes as s on s.name = e.kind
        where e.id = new.entry_id and s.searchable
    )
begin
    insert into content_search (rowid, body)
    select id, body
    from contents
    where id = new.content_id and id not in (select id from content_search_docsize);
end;
