-- Record of pictures: the guards that keep the rows of pictures and of where they were sent as they were.
-- `make spec` writes them from RECORD in tests/record_guards.py, as those of sql/record.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import module_guards
-- cog.out(module_guards("pictures"))
-- ]]]

create trigger pictures__keep_rows
before delete on pictures
when not exists (select 1 from _purges where run_id < 0)
begin
    select raise(abort, '405 pictures: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger pictures__keep_keys
before insert on pictures
when new.id > 0
    or exists (select 1 from pictures where sha256 = new.sha256)
begin
    select raise(abort, '405 pictures: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger pictures__keep_fixed
after update of id, sha256, format, body, rowid, _rowid_, oid on pictures
begin
    select raise(abort, '405 pictures: the record is append-only; this value never changes');
end;

create trigger turn_pictures__keep_rows
before delete on turn_pictures
when exists (select 1 from turns where id = old.turn_id and phase <> 'assembling')
begin
    select raise(abort, '405 turn_pictures: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger turn_pictures__keep_keys
before insert on turn_pictures
when exists (select 1 from turn_pictures where turn_id = new.turn_id and entry_id = new.entry_id)
begin
    select raise(abort, '405 turn_pictures: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger turn_pictures__keep_fixed
after update of turn_id, entry_id, ordinal, path, sha256, line, tokens, chars, picture_id, fault on turn_pictures
begin
    select raise(abort, '405 turn_pictures: the record is append-only; this value never changes');
end;

create trigger attachments__keep_rows
before delete on attachments
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 attachments: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger attachments__keep_keys
before insert on attachments
when new.id > 0
begin
    select raise(abort, '405 attachments: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger attachments__keep_fixed
after update of id, run_id, loop_id, entry_id, picture_id, rowid, _rowid_, oid on attachments
begin
    select raise(abort, '405 attachments: the record is append-only; this value never changes');
end;
-- [[[end]]]
