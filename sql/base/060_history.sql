-- History: what happened, in order, and what entries were before.
-- An event is added whenever something changes; its id is the clock of the whole file. Every change of a view or a head
-- is an event, and the row that ended is kept with the clock of its beginning and its end. Rows of the history are added
-- and never altered; only the purge of a whole run removes some.
-- spec: @events @history

-- tables

create table if not exists events (
    id integer primary key,
    -- Unix time in milliseconds
    at integer not null,
    run_id integer,
    turn_id integer,
    kind text not null,
    entry_id integer,
    detail text constraint events_detail_json check (detail is null or json_valid(detail))
) strict;

create index if not exists idx_events_settings on events (id) where kind = 'setting.changed';

-- Runs that are being removed for good; only their history may be deleted.
create table if not exists _purges (
    run_id integer primary key
) strict;

-- What run_views held before: rows are added when a view changes and never altered.
create table if not exists run_view_versions (
    run_id integer not null constraint run_view_versions_run references runs (id) on delete cascade,
    entry_id integer not null,
    began integer not null,
    ended integer not null,
    content_id integer,
    metadata_id integer,
    visibility text not null,
    state text not null,
    outcome text,
    -- null: its beginning, where it was in context
    context_order integer,
    turn integer not null,
    -- null: turn
    last_used_turn integer,
    primary key (run_id, entry_id, began)
) strict, without rowid;

-- Turns that used a view before it was used again without being changed.
create table if not exists run_view_uses (
    run_id integer not null constraint run_view_uses_run references runs (id) on delete cascade,
    entry_id integer not null,
    turn integer not null,
    primary key (run_id, entry_id, turn)
) strict, without rowid;

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

-- Tell what keeps something of a run that it is about to be removed for good: insert into _forget_run (run_id).
create view _forget_run as
select id as run_id
from runs
where false;

-- Tell what keeps something of its own that rows of others may be gone: insert into _forget_unused (due) values (1).
create view _forget_unused as
select 1 as due
where false;

-- triggers

-- Whoever keeps something has a trigger of its own.
create trigger _forget_run__tell
instead of insert on _forget_run
begin
    select 1;
end;

create trigger _forget_unused__tell
instead of insert on _forget_unused
begin
    select 1;
end;

-- A new view is an event. A view that a fork takes along has its event already.
create trigger run_views__record_new
after insert on run_views
when not exists (select 1 from events where id = new.since)
begin
    insert into events (id, at, run_id, turn_id, kind, entry_id)
    values (
        new.since, now(), new.run_id,
        (select id from turns where run_id = new.run_id and phase <> 'judged'),
        'entry.created', new.entry_id
    );
end;

-- A touch alone is no event and ends nothing: only the turn before it is kept.
create trigger run_views__record_use
after update of last_used_turn on run_views
when new.last_used_turn <> old.last_used_turn and new.since = old.since
begin
    insert or ignore into run_view_uses (run_id, entry_id, turn)
    values (old.run_id, old.entry_id, old.last_used_turn);
end;

-- A change is recorded and the row that ended is kept.
create trigger run_views__record_change
after update on run_views
when new.since <> old.since
begin
    insert into events (id, at, run_id, turn_id, kind, entry_id)
    select
        new.since, now(), new.run_id,
        (select id from turns where run_id = new.run_id and phase <> 'judged'),
        case
            when new.write_count > old.write_count then 'entry.written'
            when new.visibility is not old.visibility then 'entry.shown'
            else 'entry.changed'
        end,
        new.entry_id
    where not exists (select 1 from events where id = new.since);
    insert into run_view_versions (
        run_id, entry_id, began, ended, content_id, metadata_id, visibility, state, outcome, context_order, turn,
        last_used_turn
    )
    values (
        old.run_id, old.entry_id, old.since, new.since, old.content_id, old.metadata_id, old.visibility,
        old.state, old.outcome, nullif(old.context_order, old.since), old.turn, nullif(old.last_used_turn, old.turn)
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
        run_id, entry_id, began, ended, content_id, metadata_id, visibility, state, outcome, context_order, turn,
        last_used_turn
    )
    values (
        old.run_id, old.entry_id, old.since, (select max(id) from events), old.content_id, old.metadata_id,
        old.visibility, old.state, old.outcome, nullif(old.context_order, old.since), old.turn,
        nullif(old.last_used_turn, old.turn)
    );
end;

-- A head that moves keeps the one before it.
create trigger entries__record_head
after update of content_id, attributes, hash on entries
when old.since is not null and new.since is not old.since
begin
    insert into events (id, at, kind, entry_id)
    select new.since, now(), 'entry.head', new.id
    where not exists (select 1 from events where id = new.since);
    insert into entry_versions (entry_id, began, ended, content_id, attributes, hash)
    values (old.id, old.since, new.since, old.content_id, old.attributes, old.hash);
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
