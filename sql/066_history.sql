-- History: what entries were before.
-- Every change of a view or a head is an event, and the row that ended is kept with the clock of its beginning and its end.
-- Rows are added and never altered.
-- spec: @history

-- tables

-- What run_views held before: rows are added when a view changes and never altered.
create table if not exists run_view_versions (
    run_id integer not null constraint run_view_versions_run references runs (id) on delete cascade,
    entry_id integer not null,
    began integer not null,
    ended integer not null,
    content_id integer,
    label_id integer,
    visibility text not null,
    state text not null,
    outcome text,
    -- null: its beginning, where it was in context
    placed integer,
    turn integer not null,
    -- null: turn
    touched integer,
    primary key (run_id, entry_id, began)
) strict, without rowid;

-- Turns that had touched a view before it was touched again without being changed.
create table if not exists run_view_touches (
    run_id integer not null constraint run_view_touches_run references runs (id) on delete cascade,
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

-- triggers

-- A new view is an event, and its body is found by full-text search. A view that a fork takes along has both already.
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
    insert into content_search (rowid, body)
    select c.id, c.body
    from contents as c
    join entries as e on e.id = new.entry_id
    join schemes as s on s.name = e.kind and s.searchable
    where c.id = new.content_id
        and e.scope = 'run:' || new.run_id
        and c.id not in (select id from content_search_docsize);
end;

-- A touch alone is no event and ends nothing: only the turn before it is kept.
create trigger run_views__record_touch
after update of touched on run_views
when new.touched <> old.touched and new.since = old.since
begin
    insert or ignore into run_view_touches (run_id, entry_id, turn)
    values (old.run_id, old.entry_id, old.touched);
end;

-- A change is recorded and the row that ended is kept.
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
        run_id, entry_id, began, ended, content_id, label_id, visibility, state, outcome, placed, turn, touched
    )
    values (
        old.run_id, old.entry_id, old.since, new.since, old.content_id, old.label_id, old.visibility,
        old.state, old.outcome, nullif(old.placed, old.since), old.turn, nullif(old.touched, old.turn)
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
        run_id, entry_id, began, ended, content_id, label_id, visibility, state, outcome, placed, turn, touched
    )
    values (
        old.run_id, old.entry_id, old.since, (select max(id) from events), old.content_id, old.label_id,
        old.visibility, old.state, old.outcome, nullif(old.placed, old.since), old.turn, nullif(old.touched, old.turn)
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
