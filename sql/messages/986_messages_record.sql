-- Record of messages: the guards that keep the ids of imported calls as they were.
-- `make spec` writes them from RECORD in tests/record_guards.py, as those of sql/record.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import module_guards
-- cog.out(module_guards("messages"))
-- ]]]

create trigger imported_calls__keep_rows
before delete on imported_calls
when exists (select 1 from commands where id = old.command_id)
begin
    select raise(abort, '405 imported_calls: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger imported_calls__keep_keys
before insert on imported_calls
when exists (select 1 from imported_calls where command_id = new.command_id)
begin
    select raise(abort, '405 imported_calls: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger imported_calls__keep_fixed
after update of command_id, given_as, rowid, _rowid_, oid on imported_calls
begin
    select raise(abort, '405 imported_calls: the record is append-only; this value never changes');
end;
-- [[[end]]]
