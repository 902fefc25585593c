-- Record of answer cache: the guards that keep the rows of answers that were given again as they were.
-- `make spec` writes them from RECORD in tests/record_guards.py, as those of sql/record.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import module_guards
-- cog.out(module_guards("answer_cache"))
-- ]]]

create trigger _answer_hits__keep_rows
before delete on _answer_hits
when exists (select 1 from turns where id = old.turn_id)
begin
    select raise(abort, '405 _answer_hits: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger _answer_hits__keep_keys
before insert on _answer_hits
when exists (select 1 from _answer_hits where turn_id = new.turn_id)
begin
    select raise(abort, '405 _answer_hits: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger _answer_hits__keep_fixed
after update of turn_id, from_run, from_turn, similarity, rowid, _rowid_, oid on _answer_hits
begin
    select raise(abort, '405 _answer_hits: the record is append-only; this value never changes');
end;
-- [[[end]]]
