-- Record of undo: the guards that keep the rows of edits that were taken back and of rewinds as they were.
-- `make spec` writes them from RECORD in tests/record_guards.py, as those of sql/record.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import module_guards
-- cog.out(module_guards("undo"))
-- ]]]

create trigger undone_edits__keep_rows
before delete on undone_edits
when exists (select 1 from runs where id = old.run_id)
    and exists (select 1 from commands where id = old.command_id)
    and exists (select 1 from commands where id = old.undone_id)
begin
    select raise(abort, '405 undone_edits: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger undone_edits__keep_fixed
after update of run_id, command_id, undone_id on undone_edits
begin
    select raise(abort, '405 undone_edits: the record is append-only; this value never changes');
end;

create trigger rewinds__keep_rows
before delete on rewinds
when exists (select 1 from commands where id = old.command_id)
    and exists (select 1 from runs where id = old.run_id)
    and exists (select 1 from runs where id = old.from_run_id)
begin
    select raise(abort, '405 rewinds: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger rewinds__keep_keys
before insert on rewinds
when exists (select 1 from rewinds where command_id = new.command_id)
begin
    select raise(abort, '405 rewinds: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger rewinds__keep_fixed
after update of command_id, run_id, from_run_id, turn, rowid, _rowid_, oid on rewinds
begin
    select raise(abort, '405 rewinds: the record is append-only; this value never changes');
end;
-- [[[end]]]
