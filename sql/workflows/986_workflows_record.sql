-- Record of workflows: the guards that keep the rows of workflows and of the steps of their runs as they were.
-- `make spec` writes them from RECORD in tests/record_guards.py, as those of sql/record.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import module_guards
-- cog.out(module_guards("workflows"))
-- ]]]

create trigger workflows__keep_rows
before delete on workflows
when true
begin
    select raise(abort, '405 workflows: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger workflows__keep_keys
before insert on workflows
when new.id > 0
begin
    select raise(abort, '405 workflows: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger workflows__keep_fixed
after update of id, project_id, name, description, version, model, syntax, text, source, created_at,
    rowid, _rowid_, oid on workflows
begin
    select raise(abort, '405 workflows: the record is append-only; this value never changes');
end;

create trigger workflow_variables__keep_rows
before delete on workflow_variables
when true
begin
    select raise(abort, '405 workflow_variables: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger workflow_variables__keep_keys
before insert on workflow_variables
when exists (select 1 from workflow_variables where workflow_id = new.workflow_id and name = new.name)
begin
    select raise(abort, '405 workflow_variables: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger workflow_variables__keep_fixed
after update of workflow_id, name, position, description, required, default_value on workflow_variables
begin
    select raise(abort, '405 workflow_variables: the record is append-only; this value never changes');
end;

create trigger workflow_steps__keep_rows
before delete on workflow_steps
when true
begin
    select raise(abort, '405 workflow_steps: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger workflow_steps__keep_keys
before insert on workflow_steps
when exists (select 1 from workflow_steps where workflow_id = new.workflow_id and step = new.step)
begin
    select raise(abort, '405 workflow_steps: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger workflow_steps__keep_fixed
after update of workflow_id, step, layer, position, line, title, instruction, model, tools, accept,
    accept_command, accept_attempts, accept_model, output on workflow_steps
begin
    select raise(abort, '405 workflow_steps: the record is append-only; this value never changes');
end;

create trigger workflow_needs__keep_rows
before delete on workflow_needs
when true
begin
    select raise(abort, '405 workflow_needs: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger workflow_needs__keep_fixed
after update of workflow_id, step, needs on workflow_needs
begin
    select raise(abort, '405 workflow_needs: the record is append-only; this value never changes');
end;

create trigger workflow_runs__keep_rows
before delete on workflow_runs
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 workflow_runs: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger workflow_runs__keep_keys
before insert on workflow_runs
when exists (select 1 from workflow_runs where run_id = new.run_id)
begin
    select raise(abort, '405 workflow_runs: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger workflow_runs__keep_fixed
after update of run_id, workflow_id, effect_id, models, rowid, _rowid_, oid on workflow_runs
begin
    select raise(abort, '405 workflow_runs: the record is append-only; this value never changes');
end;

create trigger workflow_values__keep_rows
before delete on workflow_values
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 workflow_values: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger workflow_values__keep_keys
before insert on workflow_values
when exists (select 1 from workflow_values where run_id = new.run_id and name = new.name)
begin
    select raise(abort, '405 workflow_values: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger workflow_values__keep_fixed
after update of run_id, name, value, origin on workflow_values
begin
    select raise(abort, '405 workflow_values: the record is append-only; this value never changes');
end;

create trigger step_runs__keep_rows
before delete on step_runs
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 step_runs: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger step_runs__keep_keys
before insert on step_runs
when exists (select 1 from step_runs where run_id = new.run_id and step = new.step)
begin
    select raise(abort, '405 step_runs: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger step_runs__keep_fixed
after update of run_id, step, layer, position on step_runs
begin
    select raise(abort, '405 step_runs: the record is append-only; this value never changes');
end;

create trigger step_runs__keep_state
after update of state, reason, child_run_id, started_at, ended_at on step_runs
when (old.state in ('waiting', 'running')) is not true
begin
    select raise(abort, '405 step_runs: the record is append-only; this value does not change any more');
end;
-- [[[end]]]
