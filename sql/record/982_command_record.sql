-- Record of commands: the guards that keep commands, proposals, decisions and effects as they were.
-- See 980 for what they are made from.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import OF_COMMANDS, guards
-- cog.out(guards(OF_COMMANDS))
-- ]]]

create trigger commands__keep_rows
before delete on commands
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 commands: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger commands__keep_keys
before insert on commands
when new.id > 0
begin
    select raise(abort, '405 commands: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger commands__keep_fixed
after update of id, request_id, run_id, loop_id, turn_id, ordinal, writer, action, path,
    destination, created_at, rowid, _rowid_, oid on commands
begin
    select raise(abort, '405 commands: the record is append-only; this value never changes');
end;

create trigger commands__keep_attributes
after update of attributes, state, outcome, message, log_path, quiet, is_pattern, entry_id on commands
when (old.state not in ('resolved', 'failed') and old.state <> 'cancelled'
    or exists (select 1 from turns where id = old.turn_id and phase <> 'judged')) is not true
begin
    select raise(abort, '405 commands: the record is append-only; this value does not change any more');
end;

create trigger commands__keep_body
after update of body, body_at, body_chars on commands
when (new.body is null
    and old.body = (
        select substr(response, new.body_at, new.body_chars) from turns where id = old.turn_id
    )) is not true
begin
    select raise(abort, '405 commands: the record is append-only; this value does not change any more');
end;

create trigger vetoes__keep_rows
before delete on vetoes
when exists (select 1 from commands where id = old.command_id)
begin
    select raise(abort, '405 vetoes: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger vetoes__keep_keys
before insert on vetoes
when exists (select 1 from vetoes where command_id = new.command_id)
begin
    select raise(abort, '405 vetoes: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger vetoes__keep_fixed
after update of command_id, outcome, message, rowid, _rowid_, oid on vetoes
begin
    select raise(abort, '405 vetoes: the record is append-only; this value never changes');
end;

create trigger proposals__keep_rows
before delete on proposals
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 proposals: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger proposals__keep_keys
before insert on proposals
when new.id > 0
begin
    select raise(abort, '405 proposals: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger proposals__keep_fixed
after update of id, command_id, run_id, turn_id, loop_id, ordinal, path, kind, action, target,
    created_at, rowid, _rowid_, oid on proposals
begin
    select raise(abort, '405 proposals: the record is append-only; this value never changes');
end;

create trigger proposals__keep_state
after update of state, outcome, reason, decided_at, content_id, detail on proposals
when (old.state in ('proposed', 'accepting', 'accepted')
    and (
        old.state = 'accepting' or old.state = 'proposed' and new.state = 'accepting'
        or new.content_id is old.content_id and new.detail = old.detail
    )) is not true
begin
    select raise(abort, '405 proposals: the record is append-only; this value does not change any more');
end;

create trigger resolutions__keep_rows
before delete on resolutions
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 resolutions: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger resolutions__keep_keys
before insert on resolutions
when new.id > 0
begin
    select raise(abort, '405 resolutions: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger resolutions__keep_fixed
after update of id, run_id, path, proposal_id, decision, body, reason, decided_by, rowid, _rowid_,
    oid on resolutions
begin
    select raise(abort, '405 resolutions: the record is append-only; this value never changes');
end;

create trigger resolutions__keep_created_at
after update of created_at on resolutions
when (old.created_at = 0) is not true
begin
    select raise(abort, '405 resolutions: the record is append-only; this value does not change any more');
end;

create trigger effects__keep_rows
before delete on effects
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 effects: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger effects__keep_keys
before insert on effects
when new.id > 0
begin
    select raise(abort, '405 effects: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger effects__keep_fixed
after update of id, run_id, turn_id, command_id, proposal_id, kind, detail, rowid, _rowid_, oid on effects
begin
    select raise(abort, '405 effects: the record is append-only; this value never changes');
end;

create trigger effects__keep_state
after update of state, identity, started_at, ended_at on effects
when (old.state in ('pending', 'started')) is not true
begin
    select raise(abort, '405 effects: the record is append-only; this value does not change any more');
end;

create trigger effect_results__keep_rows
before delete on effect_results
when exists (select 1 from effects where id = old.effect_id)
begin
    select raise(abort, '405 effect_results: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger effect_results__keep_keys
before insert on effect_results
when new.id > 0
begin
    select raise(abort, '405 effect_results: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger effect_results__keep_fixed
after update of id, effect_id, state, outcome, message, detail, lease, rowid, _rowid_, oid on effect_results
begin
    select raise(abort, '405 effect_results: the record is append-only; this value never changes');
end;

create trigger process_cancels__keep_rows
before delete on process_cancels
when exists (select 1 from effects where id = old.effect_id)
begin
    select raise(abort, '405 process_cancels: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger process_cancels__keep_keys
before insert on process_cancels
when exists (select 1 from process_cancels where effect_id = new.effect_id)
begin
    select raise(abort, '405 process_cancels: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger process_cancels__keep_fixed
after update of effect_id, asked_by, reason, created_at, rowid, _rowid_, oid on process_cancels
begin
    select raise(abort, '405 process_cancels: the record is append-only; this value never changes');
end;
-- [[[end]]]
