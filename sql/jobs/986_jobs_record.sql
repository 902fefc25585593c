-- Record of jobs: the guards that keep the rows of jobs and of who stopped a process as they were.
-- `make spec` writes them from RECORD in tests/record_guards.py, as those of sql/record.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import module_guards
-- cog.out(module_guards("jobs"))
-- ]]]

create trigger jobs__keep_rows
before delete on jobs
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 jobs: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger jobs__keep_keys
before insert on jobs
when exists (select 1 from jobs where effect_id = new.effect_id)
begin
    select raise(abort, '405 jobs: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger jobs__keep_fixed
after update of effect_id, run_id, loop_id, lease, identity, started_at, rowid, _rowid_, oid on jobs
begin
    select raise(abort, '405 jobs: the record is append-only; this value never changes');
end;

create trigger jobs__keep_ended_at
after update of ended_at, state, outcome, exit_code, detail on jobs
when (old.ended_at is null) is not true
begin
    select raise(abort, '405 jobs: the record is append-only; this value does not change any more');
end;
-- [[[end]]]
