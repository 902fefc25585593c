-- Record of discovery: the guards that keep the rows of which tools a loop was told of as they were.
-- `make spec` writes them from RECORD in tests/record_guards.py, as those of sql/record.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import module_guards
-- cog.out(module_guards("discovery"))
-- ]]]

create trigger tool_narrowings__keep_rows
before delete on tool_narrowings
when exists (select 1 from loops where id = old.loop_id)
begin
    select raise(abort, '405 tool_narrowings: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger tool_narrowings__keep_keys
before insert on tool_narrowings
when exists (select 1 from tool_narrowings where loop_id = new.loop_id)
begin
    select raise(abort, '405 tool_narrowings: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger tool_narrowings__keep_fixed
after update of loop_id, is_narrowed, most, embedder, rowid, _rowid_, oid on tool_narrowings
begin
    select raise(abort, '405 tool_narrowings: the record is append-only; this value never changes');
end;

create trigger _tool_choices__keep_rows
before delete on _tool_choices
when exists (select 1 from tool_narrowings where loop_id = old.loop_id)
begin
    select raise(abort, '405 _tool_choices: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger _tool_choices__keep_keys
before insert on _tool_choices
when exists (select 1 from _tool_choices where loop_id = new.loop_id and name = new.name)
begin
    select raise(abort, '405 _tool_choices: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger _tool_choices__keep_fixed
after update of loop_id, name, why, score, found_by on _tool_choices
begin
    select raise(abort, '405 _tool_choices: the record is append-only; this value never changes');
end;
-- [[[end]]]
