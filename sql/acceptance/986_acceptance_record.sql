-- Record of acceptance: the guards that keep the rows of the checks of results as they were.
-- `make spec` writes them from RECORD in tests/record_guards.py, as those of sql/record.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import module_guards
-- cog.out(module_guards("acceptance"))
-- ]]]

create trigger acceptance_checks__keep_rows
before delete on acceptance_checks
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 acceptance_checks: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger acceptance_checks__keep_keys
before insert on acceptance_checks
when new.id > 0
    or exists (select 1 from acceptance_checks where command_id = new.command_id)
begin
    select raise(abort, '405 acceptance_checks: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger acceptance_checks__keep_fixed
after update of id, run_id, loop_id, turn_id, attempt, kind, command_id, started_at, rowid, _rowid_,
    oid on acceptance_checks
begin
    select raise(abort, '405 acceptance_checks: the record is append-only; this value never changes');
end;

create trigger acceptance_checks__keep_verdict
after update of verdict, counts, reasons, ended_at on acceptance_checks
when (old.verdict is null) is not true
begin
    select raise(abort, '405 acceptance_checks: the record is append-only; this value does not change any more');
end;
-- [[[end]]]
