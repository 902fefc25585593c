-- Record of rules: the guards that keep the rows of which rules a prompt called up as they were.
-- `make spec` writes them from RECORD in tests/record_guards.py, as those of sql/record.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import module_guards
-- cog.out(module_guards("rules"))
-- ]]]

create trigger rule_selections__keep_rows
before delete on rule_selections
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 rule_selections: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger rule_selections__keep_keys
before insert on rule_selections
when new.id > 0
    or new.loop_id is not null and exists (select 1 from rule_selections where loop_id = new.loop_id and loop_id is not null)
begin
    select raise(abort, '405 rule_selections: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger rule_selections__keep_fixed
after update of id, loop_id, run_id, project_id, turn, prompts, context_left, rule_set_id, bracket,
    basis, devmode, room, rowid, _rowid_, oid on rule_selections
begin
    select raise(abort, '405 rule_selections: the record is append-only; this value never changes');
end;

create trigger rule_selections__keep_chars
after update of chars, all_chars, tag on rule_selections
when (not exists (select 1 from turns where loop_id = old.loop_id and phase <> 'assembling')) is not true
begin
    select raise(abort, '405 rule_selections: the record is append-only; this value does not change any more');
end;

create trigger rule_findings__keep_rows
before delete on rule_findings
when exists (select 1 from rule_selections where id = old.selection_id)
begin
    select raise(abort, '405 rule_findings: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger rule_findings__keep_keys
before insert on rule_findings
when exists (select 1 from rule_findings where selection_id = new.selection_id and ordinal = new.ordinal)
begin
    select raise(abort, '405 rule_findings: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger rule_findings__keep_fixed
after update of selection_id, ordinal, kind, name, word, path, domain_id on rule_findings
begin
    select raise(abort, '405 rule_findings: the record is append-only; this value never changes');
end;

create trigger rule_lines__keep_rows
before delete on rule_lines
when exists (select 1 from rule_selections where id = old.selection_id)
begin
    select raise(abort, '405 rule_lines: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger rule_lines__keep_keys
before insert on rule_lines
when exists (select 1 from rule_lines where selection_id = new.selection_id and ordinal = new.ordinal)
begin
    select raise(abort, '405 rule_lines: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger rule_lines__keep_fixed
after update of selection_id, ordinal, part, label, number, text, content_id on rule_lines
begin
    select raise(abort, '405 rule_lines: the record is append-only; this value never changes');
end;
-- [[[end]]]
