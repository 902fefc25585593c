-- Record of handoffs: the guards that keep who handed a prompt over to whom as it was.
-- `make spec` writes them from RECORD in tests/record_guards.py, as those of sql/record.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import module_guards
-- cog.out(module_guards("handoffs"))
-- ]]]

create trigger handoffs__keep_rows
before delete on handoffs
when exists (select 1 from loops as l join runs as r on r.id = l.run_id where l.id = old.loop_id)
begin
    select raise(abort, '405 handoffs: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger handoffs__keep_keys
before insert on handoffs
when exists (select 1 from handoffs where loop_id = new.loop_id)
begin
    select raise(abort, '405 handoffs: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger handoffs__keep_fixed
after update of loop_id, first_loop_id, rowid, _rowid_, oid on handoffs
begin
    select raise(abort, '405 handoffs: the record is append-only; this value never changes');
end;

create trigger handoffs__keep_persona
after update of persona, model, tools, note, command_id, next_loop_id on handoffs
when (old.next_loop_id is null) is not true
begin
    select raise(abort, '405 handoffs: the record is append-only; this value does not change any more');
end;
-- [[[end]]]
