-- Record of packets: the guards that keep packets, their parts, and what was demoted for them, as they were.
-- See 980 for what they are made from.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import OF_PACKETS, guards
-- cog.out(guards(OF_PACKETS))
-- ]]]

create trigger packets__keep_rows
before delete on packets
when exists (select 1 from turns where id = old.turn_id and phase <> 'assembling')
begin
    select raise(abort, '405 packets: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger packets__keep_keys
before insert on packets
when new.id > 0
    or exists (select 1 from packets where turn_id = new.turn_id and ordinal = new.ordinal)
begin
    select raise(abort, '405 packets: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger packets__keep_fixed
after update of id, turn_id, ordinal, role, sha256, chars, parts, cuts, kept, before_id, rowid,
    _rowid_, oid on packets
begin
    select raise(abort, '405 packets: the record is append-only; this value never changes');
end;

create trigger chunk_lists__keep_rows
before delete on chunk_lists
when not exists (select 1 from _purges where run_id < 0)
begin
    select raise(abort, '405 chunk_lists: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger chunk_lists__keep_keys
before insert on chunk_lists
when new.id > 0
begin
    select raise(abort, '405 chunk_lists: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger chunk_lists__keep_fixed
after update of id, chunks, rowid, _rowid_, oid on chunk_lists
begin
    select raise(abort, '405 chunk_lists: the record is append-only; this value never changes');
end;

create trigger chunks__keep_rows
before delete on chunks
when not exists (select 1 from _purges where run_id < 0)
begin
    select raise(abort, '405 chunks: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger chunks__keep_keys
before insert on chunks
when new.id > 0
    or exists (select 1 from chunks where hash = new.hash)
begin
    select raise(abort, '405 chunks: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger chunks__keep_fixed
after update of id, hash, head, content_id, body_chars, foot, fenced, rowid, _rowid_, oid on chunks
begin
    select raise(abort, '405 chunks: the record is append-only; this value never changes');
end;

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

create trigger demotions__keep_rows
before delete on demotions
when exists (select 1 from turns where id = old.turn_id and phase = 'judged')
begin
    select raise(abort, '405 demotions: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger demotions__keep_keys
before insert on demotions
when exists (select 1 from turns where id = new.turn_id and phase = 'judged')
begin
    select raise(abort, '405 demotions: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger demotions__keep_fixed
after update of turn_id, entry_id, step, path, turn, tokens on demotions
begin
    select raise(abort, '405 demotions: the record is append-only; this value never changes');
end;
-- [[[end]]]
