-- Vocabulary: the statuses, states, outcomes and schemes on which all other files rely.
-- Each code or name stands here once with its meaning; other tables refer to it by foreign keys. HTTP status codes are
-- the one scale for results. The scheme of an entry is the part of its path before '://', or 'file' where there is
-- none; a scheme without a row of its own follows the row '*'.
-- spec: @vocabularies @schemes @writer_tiers

-- tables

-- HTTP status codes, the one scale for results.
create table if not exists statuses (
    code integer primary key,
    name text not null,
    meaning text not null
) strict;

-- What a loop may do: only read, or use every tool.
create table if not exists modes (
    name text primary key,
    meaning text not null
) strict, without rowid;

-- How much of an entry is in context.
create table if not exists visibilities (
    name text primary key,
    meaning text not null
) strict, without rowid;

-- The states of entries, commands and proposals.
create table if not exists states (
    name text primary key,
    -- null: a failed one takes the status of its outcome
    status integer constraint states_status references statuses (code),
    meaning text not null
) strict, without rowid;

-- Why something failed. An outcome is looked up by its text before the first ':', so exit:3 has the row 'exit'.
create table if not exists outcomes (
    name text primary key,
    status integer not null constraint outcomes_status references statuses (code),
    -- 1: counts as a strike against the loop; a person may change it
    strikes integer not null constraint outcomes_strikes_flag check (strikes in (0, 1)),
    meaning text not null
) strict, without rowid;

-- The HTTP status of a state and an outcome: the one place that says so, made of states and outcomes. Look up the state
-- with, in this order of preference, the whole outcome, its text before the first ':', and ''. A state has a status of its
-- own; a failed one takes that of its outcome: 'status:N' has N, from 400 to 599, and what nobody registered 500.
create table if not exists _result_statuses (
    state text not null,
    outcome text not null,
    status integer not null,
    primary key (state, outcome)
) strict, without rowid;

-- Who writes. A tier may write whatever a tier of a lower rank may.
create table if not exists writer_tiers (
    name text primary key,
    rank integer not null constraint writer_tiers_rank_unique unique
) strict, without rowid;

-- The categories of schemes; the category decides in which section of the packet an entry stands.
create table if not exists categories (
    name text primary key,
    meaning text not null
) strict, without rowid;

-- What holds for the entries of a scheme: who may write them, where they live, what the model sees of them.
create table if not exists schemes (
    name text primary key,
    category text not null constraint schemes_category references categories (name),
    -- where a new entry lives: with its run, with its project, or with the whole file
    default_scope text not null
        constraint schemes_default_scope check (default_scope in ('run', 'project', 'global')),
    -- the visibility of a new entry
    default_visibility text not null
        constraint schemes_default_visibility references visibilities (name),
    -- the tiers that may write, as a JSON array; view _scheme_writers
    writable_by text not null constraint schemes_writable_by_array
        check (json_valid(writable_by) and json_type(writable_by) = 'array'),
    -- 0: its entries are in no packet, and no pattern finds them
    model_visible integer not null default 1
        constraint schemes_model_visible_flag check (model_visible in (0, 1)),
    -- 1: its bodies are indexed for full-text search
    searchable integer not null default 0
        constraint schemes_searchable_flag check (searchable in (0, 1)),
    -- 1: a body above the setting max_entry_tokens is refused
    gated integer not null default 0 constraint schemes_gated_flag check (gated in (0, 1)),
    meaning text not null
) strict, without rowid;

-- seeds

insert into statuses (code, name, meaning) values
    (100, 'queued', 'waits in line'),
    (102, 'running', 'is being worked on'),
    (200, 'done', 'ended'),
    (202, 'waiting', 'waits for a decision'),
    (204, 'nothing to do', 'ended, because nothing had to be done'),
    (400, 'invalid', 'malformed'),
    (401, 'unauthorized', 'a key is missing or wrong'),
    (403, 'rejected', 'a person rejected it, or it is not allowed'),
    (404, 'not found', 'it does not exist'),
    (405, 'not allowed', 'it cannot be changed in this way'),
    (406, 'not as asked', 'the answer does not match the schema'),
    (409, 'conflict', 'the current state does not allow it'),
    (413, 'too large', 'it is too large'),
    (415, 'unsupported', 'not text'),
    (422, 'cannot be done', 'the request is clear, but impossible'),
    (429, 'rate limit', 'too many requests'),
    (499, 'aborted', 'stopped before its end'),
    (500, 'failed', 'an error occurred'),
    (502, 'unreachable', 'the provider cannot be reached'),
    (503, 'unavailable', 'the provider is not ready'),
    (504, 'timeout', 'took too long')
on conflict (code) do update set name = excluded.name, meaning = excluded.meaning;

insert into modes (name, meaning) values
    ('ask', 'read only: no file is changed and no shell command is run'),
    ('act', 'every tool may be used'),
    ('judge', 'for a run that judges a result: it can only answer')
on conflict (name) do update set meaning = excluded.meaning;

insert into visibilities (name, meaning) values
    ('archived', 'not in context; can be found by path, pattern or text'),
    ('summarized', 'path, header and summary are in context'),
    ('visible', 'the whole body is in context')
on conflict (name) do update set meaning = excluded.meaning;

insert into states (name, status, meaning) values
    ('queued', 100, 'recorded, not yet dispatched'),
    ('performing', 102, 'being dispatched'),
    ('proposed', 202, 'waits for a decision'),
    ('accepting', 202, 'accepted; vetoes are checked'),
    ('accepted', 102, 'accepted; its effect waits or runs'),
    ('streaming', 102, 'its body is still growing'),
    ('resolved', 200, 'done'),
    ('cancelled', 499, 'stopped before its end'),
    ('failed', null, 'failed; the outcome says why')
on conflict (name) do update set status = excluded.status, meaning = excluded.meaning;

insert into outcomes (name, status, strikes, meaning) values
    ('not_found', 404, 0, 'the target does not exist'),
    ('conflict', 409, 0, 'the text or the state is different from what was expected'),
    ('retry', 400, 0, 'the tool must be called in another way'),
    ('duplicate', 409, 0, 'the same entry already exists'),
    ('aborted', 499, 0, 'a command before it failed'),
    ('rejected', 403, 0, 'a person rejected it'),
    ('cancelled', 499, 0, 'the loop was aborted'),
    ('repeated', 409, 1, 'the same command was repeated too often in this loop'),
    ('blocked', 409, 0, 'a thread blocks it now'),
    ('blocked_again', 409, 1, 'a thread has already blocked it twice in this loop'),
    ('readonly', 403, 1, 'the file may only be read'),
    ('permission', 403, 1, 'the writer may not do this'),
    ('validation', 400, 1, 'malformed'),
    ('method_not_allowed', 405, 1, 'this kind of entry cannot be changed in this way'),
    ('overflow', 413, 1, 'too large'),
    ('unsupported', 415, 1, 'not text'),
    ('exit', 500, 0, 'the process ended with an exit code other than 0'),
    ('timeout', 504, 1, 'the process took too long'),
    ('child', 500, 0, 'the child run ended without success; its status follows'),
    ('interrupted', 499, 0, 'the engine was stopped during the command; nobody knows whether it finished'),
    ('unparsed', 422, 0, 'a part of the response could not be read'),
    ('truncated', 422, 1, 'the response was cut off inside this command'),
    ('status', 500, 1, 'an HTTP status follows'),
    ('error', 500, 1, 'an error occurred')
-- what strikes is a person's to change
on conflict (name) do update set status = excluded.status, meaning = excluded.meaning;

insert or replace into _result_statuses (state, outcome, status)
with recursive errors (code) as (
    select 400
    union all
    select code + 1 from errors where code < 599
)
select name, '', coalesce(status, 500)
from states
union all
select s.name, o.name, o.status
from states as s
join outcomes as o
where s.status is null
union all
select s.name, 'status:' || e.code, e.code
from states as s
join errors as e
where s.status is null;

insert into writer_tiers (name, rank) values
    ('model', 1), ('client', 2), ('plugin', 3), ('system', 4)
on conflict (name) do update set rank = excluded.rank;

insert into categories (name, meaning) values
    ('data', 'files, notes and results, shown in <summary> and <visible>'),
    ('logging', 'what happened, shown in <log>'),
    ('unknown', 'open questions, shown in <unknowns>'),
    ('prompt', 'the task, shown in <prompt>; earlier prompts are in <log>'),
    ('audit', 'kept for people, never shown to the model')
on conflict (name) do update set meaning = excluded.meaning;

insert into schemes (
    name, category, default_scope, default_visibility, writable_by, model_visible, searchable, gated, meaning
) values
    ('file', 'data', 'project', 'archived', '["model","plugin"]', 1, 1, 0, 'a file of the project (a path without scheme)'),
    ('known', 'data', 'run', 'summarized', '["model","plugin"]', 1, 0, 1, 'a fact that the model has noted'),
    ('skill', 'data', 'project', 'visible', '["model","plugin"]', 1, 1, 0, 'a skill, or one of its files'),
    ('rule', 'data', 'project', 'archived', '["client"]', 1, 0, 0, 'a rule'),
    ('http', 'data', 'run', 'summarized', '["model","plugin"]', 1, 1, 0, 'a page'),
    ('https', 'data', 'run', 'summarized', '["model","plugin"]', 1, 1, 0, 'a page'),
    ('mcp', 'data', 'run', 'summarized', '["plugin"]', 1, 1, 0, 'a resource of an MCP server'),
    ('sh', 'data', 'run', 'summarized', '["model","plugin"]', 1, 0, 0, 'an output of a shell command: one entry for '
        || 'stdout, one for stderr'),
    ('env', 'data', 'run', 'summarized', '["model","plugin"]', 1, 0, 0, 'an output of a command of the tool env: '
        || 'one entry for stdout, one for stderr'),
    ('subtask', 'data', 'run', 'archived', '["plugin"]', 1, 0, 0, 'the answer and the log of a subtask'),
    ('execute', 'data', 'run', 'archived', '["plugin"]', 1, 0, 0, 'the answer and the log of an execute'),
    ('patch', 'data', 'run', 'archived', '["plugin"]', 1, 0, 0, 'accepted edits of this run or a child run'),
    ('unknown', 'unknown', 'run', 'visible', '["model","plugin"]', 1, 0, 0, 'an open question'),
    ('prompt', 'prompt', 'run', 'visible', '["plugin"]', 1, 0, 0, 'a prompt of a person'),
    ('log', 'logging', 'run', 'visible', '["system","plugin","model"]', 1, 0, 0, 'the record of one action'),
    ('update', 'logging', 'run', 'visible', '["model","plugin"]', 1, 0, 0, 'a signal of the model'),
    ('error', 'logging', 'run', 'visible', '["model","plugin"]', 1, 0, 0, 'an error'),
    ('run', 'audit', 'run', 'archived', '["client"]', 0, 0, 0, 'a run; a text written here starts, prompts or '
        || 'cancels the run'),
    ('tool', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'metadata of a tool'),
    ('instructions', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'the system text of a run'),
    ('system', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'a system message as sent'),
    ('user', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'a user message as sent'),
    ('assistant', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'a response as received'),
    ('reasoning', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'reasoning as received'),
    ('model', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'what a provider reported'),
    ('content', 'audit', 'run', 'archived', '["system"]', 0, 0, 0, 'the text of a response outside its commands'),
    ('*', 'logging', 'run', 'visible', '["client","plugin"]', 1, 0, 0, 'any other scheme')
on conflict (name) do nothing;

-- views

create view _scheme_writers as
-- Which writer may write which scheme: a writer may where writable_by names its own tier or one of a lower rank.
select
    s.name as scheme,
    w.name as writer
from schemes as s
join writer_tiers as w
where exists (
    select 1
    from json_each(s.writable_by) as allowed
    join writer_tiers as t on t.name = allowed.value
    where t.rank <= w.rank
);

-- Schemes that name a tier which there is not.
create view _unknown_writers as
select
    s.name as scheme,
    'scheme ' || s.name || ': there is no writer tier ' || coalesce(a.value, 'null') || '; the tiers are '
    || (select group_concat(name, ', ') from (select name from writer_tiers order by rank)) as message
from schemes as s
join json_each(s.writable_by) as a
where not exists (select 1 from writer_tiers as t where t.name = a.value);

-- triggers

-- After the insert, so that the check for an array comes first.
create trigger schemes__guard_writers
after insert on schemes
begin
    select fail(400, message)
    from _unknown_writers
    where scheme = new.name;
end;

create trigger schemes__guard_changed_writers
after update of writable_by on schemes
begin
    select fail(400, message)
    from _unknown_writers
    where scheme = new.name;
end;

-- A plugin or a person may add an outcome.
create trigger outcomes__list_status
after insert on outcomes
begin
    -- no REPLACE: the conflict rule of the outer statement would win over it
    delete from _result_statuses
    where outcome = new.name;
    insert into _result_statuses (state, outcome, status)
    select name, new.name, new.status
    from states
    where status is null;
end;

create trigger outcomes__change_status
after update of status on outcomes
begin
    -- no REPLACE: the conflict rule of the outer statement would win over it
    delete from _result_statuses
    where outcome = new.name;
    insert into _result_statuses (state, outcome, status)
    select name, new.name, new.status
    from states
    where status is null;
end;
