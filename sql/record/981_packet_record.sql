-- Record of packets: the guards that keep packets, their parts, and what was demoted for them, as they were.
-- See 980 for what they are made from.
-- spec: @append_only

-- triggers

-- [[[cog
-- from tests.record_guards import OF_PACKETS, guards
-- cog.out(guards(OF_PACKETS))
-- ]]]

create trigger packets__keep_rows
before delete on packets
when exists (select 1 from turns where id = old.turn_id and phase <> 'assembling')
begin
    select raise(abort, '405 packets: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger packets__keep_keys
before insert on packets
when new.id > 0
    or exists (select 1 from packets where turn_id = new.turn_id and ordinal = new.ordinal)
begin
    select raise(abort, '405 packets: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger packets__keep_fixed
after update of id, turn_id, ordinal, role, sha256, chars, parts, cuts, kept, before_id, rowid,
    _rowid_, oid on packets
begin
    select raise(abort, '405 packets: the record is append-only; this value never changes');
end;

create trigger chunk_lists__keep_rows
before delete on chunk_lists
when not exists (select 1 from _purges where run_id < 0)
begin
    select raise(abort, '405 chunk_lists: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger chunk_lists__keep_keys
before insert on chunk_lists
when new.id > 0
begin
    select raise(abort, '405 chunk_lists: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger chunk_lists__keep_fixed
after update of id, chunks, rowid, _rowid_, oid on chunk_lists
begin
    select raise(abort, '405 chunk_lists: the record is append-only; this value never changes');
end;

create trigger chunks__keep_rows
before delete on chunks
when not exists (select 1 from _purges where run_id < 0)
begin
    select raise(abort, '405 chunks: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger chunks__keep_keys
before insert on chunks
when new.id > 0
    or exists (select 1 from chunks where hash = new.hash)
begin
    select raise(abort, '405 chunks: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger chunks__keep_fixed
after update of id, hash, head, content_id, body_chars, foot, fenced, layer, source, rowid, _rowid_,
    oid on chunks
begin
    select raise(abort, '405 chunks: the record is append-only; this value never changes');
end;

create trigger pictures__keep_rows
before delete on pictures
when not exists (select 1 from _purges where run_id < 0)
begin
    select raise(abort, '405 pictures: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger pictures__keep_keys
before insert on pictures
when new.id > 0
    or exists (select 1 from pictures where sha256 = new.sha256)
begin
    select raise(abort, '405 pictures: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger pictures__keep_fixed
after update of id, sha256, format, body, rowid, _rowid_, oid on pictures
begin
    select raise(abort, '405 pictures: the record is append-only; this value never changes');
end;

create trigger turn_pictures__keep_rows
before delete on turn_pictures
when exists (select 1 from turns where id = old.turn_id and phase <> 'assembling')
begin
    select raise(abort, '405 turn_pictures: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger turn_pictures__keep_keys
before insert on turn_pictures
when exists (select 1 from turn_pictures where turn_id = new.turn_id and entry_id = new.entry_id)
begin
    select raise(abort, '405 turn_pictures: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger turn_pictures__keep_fixed
after update of turn_id, entry_id, ordinal, path, sha256, line, tokens, chars, picture_id, fault on turn_pictures
begin
    select raise(abort, '405 turn_pictures: the record is append-only; this value never changes');
end;

create trigger demotions__keep_rows
before delete on demotions
when exists (select 1 from turns where id = old.turn_id and phase = 'judged')
begin
    select raise(abort, '405 demotions: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger demotions__keep_keys
before insert on demotions
when exists (select 1 from turns where id = new.turn_id and phase = 'judged')
begin
    select raise(abort, '405 demotions: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger demotions__keep_fixed
after update of turn_id, entry_id, step, path, turn, tokens on demotions
begin
    select raise(abort, '405 demotions: the record is append-only; this value never changes');
end;

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

create trigger file_modes__keep_rows
before delete on file_modes
when exists (select 1 from entries where id = old.entry_id and scope not like 'purged:%')
begin
    select raise(abort, '405 file_modes: the record is append-only; only the purge of a whole run removes rows');
end;

create trigger file_modes__keep_keys
before insert on file_modes
when exists (select 1 from file_modes where entry_id = new.entry_id and began = new.began)
begin
    select raise(abort, '405 file_modes: the record is append-only; no row is replaced or numbered by hand');
end;

create trigger file_modes__keep_fixed
after update of entry_id, began on file_modes
begin
    select raise(abort, '405 file_modes: the record is append-only; this value never changes');
end;

create trigger file_modes__keep_command_id
after update of command_id on file_modes
when (not exists (select 1 from commands where id = old.command_id)) is not true
begin
    select raise(abort, '405 file_modes: the record is append-only; this value does not change any more');
end;

create trigger file_modes__keep_is_executable
after update of is_executable on file_modes
when (old.is_executable is null) is not true
begin
    select raise(abort, '405 file_modes: the record is append-only; this value does not change any more');
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
