-- Record of runs: the guards that keep runs, loops and turns as they were.
-- A row of the record is added and never replaced, and deleted only by the purge of the whole run that it belongs to. A
-- column never changes, changes while its row is open, or is free because rules of its own hold it. The list of all
-- tables and columns is RECORD in tests/record_guards.py; `make spec` writes the triggers here, in 981, 982 and 984 from it.
-- rowid stands beside id because SQLite compares the names that an update gives.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import OF_RUNS, guards
-- cog.out(guards(OF_RUNS))
-- ]]]

create trigger runs__keep_rows
before delete on runs
when not exists (select 1 from _purges where run_id = old.id)
begin
    select raise(abort, '405 runs: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger runs__keep_keys
before insert on runs
when new.id > 0
    or exists (select 1 from runs where alias = new.alias)
begin
    select raise(abort, '405 runs: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger runs__keep_fixed
after update of id, project_id, parent_run_id, forked_at, created_at, role, depth, rowid, _rowid_,
    oid on runs
begin
    select raise(abort, '405 runs: the record is append-only; this value never changes');
end;

create trigger runs__keep_alias
after update of alias on runs
when (exists (select 1 from _parted_runs where run_id = old.id)
    or new.alias = (
        select json_extract(detail, '$.to') from events where run_id = old.id and kind = 'run.renamed'
        order by id desc limit 1
    )) is not true
begin
    select raise(abort, '405 runs: the record is append-only; this value does not change any more');
end;

create trigger run_scopes__keep_rows
before delete on run_scopes
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 run_scopes: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger run_scopes__keep_keys
before insert on run_scopes
when exists (select 1 from run_scopes where run_id = new.run_id and scope = new.scope)
begin
    select raise(abort, '405 run_scopes: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger run_scopes__keep_fixed
after update of run_id, scope, kind on run_scopes
begin
    select raise(abort, '405 run_scopes: the record is append-only; this value never changes');
end;

create trigger children__keep_rows
before delete on children
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 children: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger children__keep_keys
before insert on children
when exists (select 1 from children where run_id = new.run_id)
begin
    select raise(abort, '405 children: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger children__keep_fixed
after update of run_id, parent_run_id, root_run_id, root_loop_id, lineage, parent_loop_id, loop_id,
    effect_id, rowid, _rowid_, oid on children
begin
    select raise(abort, '405 children: the record is append-only; this value never changes');
end;

create trigger loops__keep_rows
before delete on loops
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 loops: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger loops__keep_keys
before insert on loops
when new.id > 0
    or new.status = 102
    or exists (select 1 from loops where run_id = new.run_id and sequence = new.sequence)
begin
    select raise(abort, '405 loops: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger loops__keep_fixed
after update of id, run_id, sequence, mode, model, prompt, config, created_at, rowid, _rowid_, oid on loops
begin
    select raise(abort, '405 loops: the record is append-only; this value never changes');
end;

create trigger loops__keep_reason
after update of reason, answer, output, streak, chars_per_token, started_at, ended_at on loops
when (old.status in (100, 102)) is not true
begin
    select raise(abort, '405 loops: the record is append-only; this value does not change any more');
end;

create trigger turns__keep_rows
before delete on turns
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 turns: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger turns__keep_keys
before insert on turns
when new.id > 0
    or new.phase <> 'judged' and exists (select 1 from turns where run_id = new.run_id and phase <> 'judged')
    or exists (select 1 from turns where run_id = new.run_id and sequence = new.sequence)
begin
    select raise(abort, '405 turns: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger turns__keep_fixed
after update of id, run_id, loop_id, sequence, created_at, rowid, _rowid_, oid on turns
begin
    select raise(abort, '405 turns: the record is append-only; this value never changes');
end;

create trigger turns__keep_response
after update of response, finish_reason, prompt_tokens, cached_tokens, completion_tokens,
    reasoning_tokens, cost, cost_from on turns
when ((old.response is null or new.response is old.response)
    and (old.finish_reason is null or new.finish_reason is old.finish_reason)
    and (old.prompt_tokens is null or new.prompt_tokens is old.prompt_tokens)
    and (old.cached_tokens is null or new.cached_tokens is old.cached_tokens)
    and (old.completion_tokens is null or new.completion_tokens is old.completion_tokens)
    and (old.reasoning_tokens is null or new.reasoning_tokens is old.reasoning_tokens)
    and (old.cost is null or new.cost is old.cost)
    and (old.cost_from is null or new.cost_from is old.cost_from)) is not true
begin
    select raise(abort, '405 turns: the record is append-only; this value does not change any more');
end;

create trigger turns__keep_ms_model
after update of ms_model on turns
when (old.ms_model is null or old.phase <> 'judged') is not true
begin
    select raise(abort, '405 turns: the record is append-only; this value does not change any more');
end;

create trigger turns__keep_native
after update of native on turns
when (old.response is null or new.native = old.native) is not true
begin
    select raise(abort, '405 turns: the record is append-only; this value does not change any more');
end;

create trigger turns__keep_lease
after update of lease, reasoning on turns
when (old.phase <> 'judged' or old.response is null) is not true
begin
    select raise(abort, '405 turns: the record is append-only; this value does not change any more');
end;

create trigger turns__keep_phase
after update of phase, status, prose, warnings, context_chars, context_tokens, entry_chars, seen_at,
    fingerprint, streak, chars_per_token, ladder, condensed, refused, scanned, ended_at on turns
when (old.phase <> 'judged') is not true
begin
    select raise(abort, '405 turns: the record is append-only; this value does not change any more');
end;

create trigger turn_errors__keep_rows
before delete on turn_errors
when exists (select 1 from turns where id = old.turn_id and phase <> 'assembling')
begin
    select raise(abort, '405 turn_errors: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger turn_errors__keep_keys
before insert on turn_errors
when new.id > 0
begin
    select raise(abort, '405 turn_errors: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger turn_errors__keep_fixed
after update of id, turn_id, status, message, soft, detail, rowid, _rowid_, oid on turn_errors
begin
    select raise(abort, '405 turn_errors: the record is append-only; this value never changes');
end;

create trigger turn_errors__keep_slug
after update of slug on turn_errors
when (old.slug is null) is not true
begin
    select raise(abort, '405 turn_errors: the record is append-only; this value does not change any more');
end;

create trigger model_calls__keep_rows
before delete on model_calls
when exists (select 1 from runs where id = old.run_id)
begin
    select raise(abort, '405 model_calls: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger model_calls__keep_keys
before insert on model_calls
when new.id > 0
begin
    select raise(abort, '405 model_calls: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger model_calls__keep_fixed
after update of id, run_id, turn_id, attempt, model, started_at, effort, options, rowid, _rowid_,
    oid on model_calls
begin
    select raise(abort, '405 model_calls: the record is append-only; this value never changes');
end;

create trigger model_calls__keep_state
after update of state, status, message, ended_at on model_calls
when (old.state = 'open') is not true
begin
    select raise(abort, '405 model_calls: the record is append-only; this value does not change any more');
end;

create trigger votes__keep_rows
before delete on votes
when exists (select 1 from turns where id = old.turn_id and phase = 'judged')
begin
    select raise(abort, '405 votes: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger votes__keep_keys
before insert on votes
when exists (select 1 from turns where id = new.turn_id and phase = 'judged')
begin
    select raise(abort, '405 votes: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger votes__keep_fixed
after update of turn_id, voter, vote, rank, status, reason, answer on votes
begin
    select raise(abort, '405 votes: the record is append-only; this value never changes');
end;

create trigger turn_seals__keep_rows
before delete on turn_seals
when exists (select 1 from turns where id = old.turn_id and phase = 'judged')
begin
    select raise(abort, '405 turn_seals: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger turn_seals__keep_keys
before insert on turn_seals
when exists (select 1 from turn_seals where turn_id = new.turn_id)
begin
    select raise(abort, '405 turn_seals: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger turn_seals__keep_fixed
after update of turn_id, previous, answered, command_id, resolution_id, result_id, rowid, _rowid_,
    oid on turn_seals
begin
    select raise(abort, '405 turn_seals: the record is append-only; this value never changes');
end;

create trigger turn_seals__keep_digest
after update of digest on turn_seals
when (old.digest = '') is not true
begin
    select raise(abort, '405 turn_seals: the record is append-only; this value does not change any more');
end;

create trigger purged_seals__keep_rows
before delete on purged_seals
when true
begin
    select raise(abort, '405 purged_seals: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger purged_seals__keep_keys
before insert on purged_seals
when exists (select 1 from purged_seals where digest = new.digest)
begin
    select raise(abort, '405 purged_seals: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger purged_seals__keep_fixed
after update of digest, turns, purged_at on purged_seals
begin
    select raise(abort, '405 purged_seals: the record is append-only; this value never changes');
end;
-- [[[end]]]
