-- Record of commits: the guards that keep what was committed as it was.
-- `make spec` writes them from RECORD in tests/record_guards.py, as those of sql/record.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import module_guards
-- cog.out(module_guards("commits"))
-- ]]]

create trigger commits__keep_rows
before delete on commits
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 commits: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger commits__keep_keys
before insert on commits
when exists (select 1 from commits where command_id = new.command_id)
begin
    select raise(abort, '405 commits: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger commits__keep_fixed
after update of command_id, run_id, loop_id, message, rowid, _rowid_, oid on commits
begin
    select raise(abort, '405 commits: the record is append-only; this value never changes');
end;

create trigger commits__keep_hash
after update of hash, left_out, reason, ended_at on commits
when (old.ended_at is null) is not true
begin
    select raise(abort, '405 commits: the record is append-only; this value does not change any more');
end;

create trigger commit_edits__keep_rows
before delete on commit_edits
when exists (select 1 from commits where command_id = old.commit_id)
begin
    select raise(abort, '405 commit_edits: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger commit_edits__keep_fixed
after update of commit_id, edit_id on commit_edits
begin
    select raise(abort, '405 commit_edits: the record is append-only; this value never changes');
end;
-- [[[end]]]
