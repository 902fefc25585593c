-- Record of hooks: the guards that keep the calls of hooks as they were.
-- `make spec` writes them from RECORD in tests/record_guards.py, as those of sql/record.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import module_guards
-- cog.out(module_guards("hooks"))
-- ]]]

create trigger hook_calls__keep_rows
before delete on hook_calls
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 hook_calls: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger hook_calls__keep_keys
before insert on hook_calls
when new.id > 0
begin
    select raise(abort, '405 hook_calls: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger hook_calls__keep_fixed
after update of id, run_id, loop_id, turn_id, command_id, point, hook, line, layer, source,
    started_at, rowid, _rowid_, oid on hook_calls
begin
    select raise(abort, '405 hook_calls: the record is append-only; this value never changes');
end;

create trigger hook_calls__keep_verdict
after update of verdict, refuses, reason, exit_code, ended_at on hook_calls
when (old.verdict is null) is not true
begin
    select raise(abort, '405 hook_calls: the record is append-only; this value does not change any more');
end;
-- [[[end]]]
