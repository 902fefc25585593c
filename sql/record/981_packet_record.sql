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
after update of id, hash, head, content_id, body_chars, foot, fenced, layer, source, rowid, _rowid_,
    oid on chunks
begin
    select raise(abort, '405 chunks: the record is append-only; this value never changes');
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

create trigger file_modes__keep_rows
before delete on file_modes
when exists (select 1 from entries where id = old.entry_id and scope not like 'purged:%')
begin
    select raise(abort, '405 file_modes: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger file_modes__keep_keys
before insert on file_modes
when exists (select 1 from file_modes where entry_id = new.entry_id and began = new.began)
begin
    select raise(abort, '405 file_modes: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger file_modes__keep_fixed
after update of entry_id, began on file_modes
begin
    select raise(abort, '405 file_modes: the record is append-only; this value never changes');
end;

create trigger file_modes__keep_command_id
after update of command_id on file_modes
when (not exists (select 1 from commands where id = old.command_id)) is not true
begin
    select raise(abort, '405 file_modes: the record is append-only; this value does not change any more');
end;

create trigger file_modes__keep_is_executable
after update of is_executable on file_modes
when (old.is_executable is null) is not true
begin
    select raise(abort, '405 file_modes: the record is append-only; this value does not change any more');
end;
-- [[[end]]]
