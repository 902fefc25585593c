-- Record of entries: the guards that keep events, history, heads and bodies as they were.
-- See 980 for what they are made from.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import OF_ENTRIES, guards
-- cog.out(guards(OF_ENTRIES))
-- ]]]

create trigger run_views__keep_keys
before insert on run_views
when exists (select 1 from run_views where run_id = new.run_id and entry_id = new.entry_id)
begin
    select raise(abort, '405 run_views: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger run_views__keep_fixed
after update of run_id, entry_id on run_views
begin
    select raise(abort, '405 run_views: the record is append-only; this value never changes');
end;

create trigger run_views__keep_content_id
after update of content_id, visibility, state, outcome, context_order, turn, metadata_id, since on run_views
when (new.since <> old.since and new.since - (select coalesce(max(id), 0) from events) in (0, 1)
    or new.since = old.since
    and (new.content_id, new.visibility, new.state, new.outcome, new.context_order, new.turn)
    is (old.content_id, old.visibility, old.state, old.outcome, old.context_order, old.turn)
    and (new.metadata_id is old.metadata_id or not exists (select 1 from turns where run_id = old.run_id))) is not true
begin
    select raise(abort, '405 run_views: the record is append-only; this value does not change any more');
end;

create trigger events__keep_rows
before delete on events
when old.run_id is null or exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 events: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger events__keep_keys
before insert on events
when exists (select 1 from events where id = new.id)
begin
    select raise(abort, '405 events: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger events__keep_fixed
after update of id, at, run_id, turn_id, kind, entry_id, detail, rowid, _rowid_, oid on events
begin
    select raise(abort, '405 events: the record is append-only; this value never changes');
end;

create trigger run_view_versions__keep_rows
before delete on run_view_versions
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 run_view_versions: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger run_view_versions__keep_keys
before insert on run_view_versions
when exists (select 1 from run_view_versions where run_id = new.run_id and entry_id = new.entry_id and began = new.began)
begin
    select raise(abort, '405 run_view_versions: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger run_view_versions__keep_fixed
after update of run_id, entry_id, began, ended, content_id, metadata_id, visibility, state, outcome,
    context_order, turn, last_used_turn on run_view_versions
begin
    select raise(abort, '405 run_view_versions: the record is append-only; this value never changes');
end;

create trigger run_view_uses__keep_rows
before delete on run_view_uses
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 run_view_uses: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger run_view_uses__keep_fixed
after update of run_id, entry_id, turn on run_view_uses
begin
    select raise(abort, '405 run_view_uses: the record is append-only; this value never changes');
end;

create trigger entry_versions__keep_rows
before delete on entry_versions
when exists (select 1 from entries where id = old.entry_id and scope not like 'purged:%')
begin
    select raise(abort, '405 entry_versions: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger entry_versions__keep_keys
before insert on entry_versions
when exists (select 1 from entry_versions where entry_id = new.entry_id and began = new.began)
begin
    select raise(abort, '405 entry_versions: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger entry_versions__keep_fixed
after update of entry_id, began, ended, content_id, attributes, hash on entry_versions
begin
    select raise(abort, '405 entry_versions: the record is append-only; this value never changes');
end;

create trigger contents__keep_rows
before delete on contents
when not exists (select 1 from _purges where run_id < 0)
begin
    select raise(abort, '405 contents: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger contents__keep_keys
before insert on contents
when new.id > 0
begin
    select raise(abort, '405 contents: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger contents__keep_fixed
after update of id, chars, lines, shown, body, fence, rowid, _rowid_, oid on contents
begin
    select raise(abort, '405 contents: the record is append-only; this value never changes');
end;

create trigger contents__keep_summary
after update of summary on contents
when (old.summary is null and old.cut is not null and new.summary is not null) is not true
begin
    select raise(abort, '405 contents: the record is append-only; this value does not change any more');
end;

create trigger contents__keep_cut
after update of cut on contents
when (old.summary is null and old.cut is not null and new.summary is not null) is not true
begin
    select raise(abort, '405 contents: the record is append-only; this value does not change any more');
end;

create trigger contents__keep_summary_chars
after update of summary_chars on contents
when (old.summary is null and old.cut is not null and new.summary is not null) is not true
begin
    select raise(abort, '405 contents: the record is append-only; this value does not change any more');
end;

create trigger _entry_metadata__keep_rows
before delete on _entry_metadata
when not exists (select 1 from _purges where run_id < 0)
begin
    select raise(abort, '405 _entry_metadata: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger _entry_metadata__keep_keys
before insert on _entry_metadata
when new.id > 0
begin
    select raise(abort, '405 _entry_metadata: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger _entry_metadata__keep_fixed
after update of id, attributes, head, rowid, _rowid_, oid on _entry_metadata
begin
    select raise(abort, '405 _entry_metadata: the record is append-only; this value never changes');
end;

create trigger entries__keep_rows
before delete on entries
when old.scope not like 'purged:%'
begin
    select raise(abort, '405 entries: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger entries__keep_keys
before insert on entries
when new.id > 0
    or exists (select 1 from entries where scope = new.scope and path = new.path)
begin
    select raise(abort, '405 entries: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger entries__keep_fixed
after update of id, path, scheme, kind, shown_path, rowid, _rowid_, oid on entries
begin
    select raise(abort, '405 entries: the record is append-only; this value never changes');
end;

create trigger entries__keep_content_id
after update of content_id, attributes, since on entries
when (new.since - (select coalesce(max(id), 0) from events) in (0, 1)) is not true
begin
    select raise(abort, '405 entries: the record is append-only; this value does not change any more');
end;

create trigger entries__keep_scope
after update of scope on entries
when (exists (select 1 from _purges where old.scope = 'run:' || run_id)) is not true
begin
    select raise(abort, '405 entries: the record is append-only; this value does not change any more');
end;
-- [[[end]]]
