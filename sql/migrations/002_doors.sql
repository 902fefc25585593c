-- Version 2: bodies behind their figures, commands that know their entry, responses that know how they ended.
-- The names say what they hold; those of tables that only rules read begin with '_'. The phase 'judging' is
-- gone: a turn is judged by the door that finishes it.
-- spec: @rebuild

-- the figures of a body are read without its text
create table _contents (
    id integer primary key,
    chars integer not null,
    summary_chars integer not null,
    lines integer not null,
    cut integer,
    summary text,
    body text not null
) strict;

insert into _contents (id, chars, summary_chars, lines, cut, summary, body)
select id, chars, summary_chars, lines, cut, summary, body
from contents;

create table _entry_metadata (
    id integer primary key,
    attributes text constraint entry_metadata_attributes_json check (attributes is null or json_valid(attributes)),
    head text not null
) strict;

insert into _entry_metadata (id, attributes, head)
select id, attributes, head
from labels;

create table _run_views (
    run_id integer not null constraint run_views_run references runs (id) on delete cascade,
    entry_id integer not null constraint run_views_entry references entries (id),
    content_id integer constraint run_views_content references contents (id),
    metadata_id integer constraint run_views_metadata references _entry_metadata (id),
    visibility text not null constraint run_views_visibility references visibilities (name),
    state text not null constraint run_views_state references states (name),
    outcome text,
    writer text not null constraint run_views_writer references writer_tiers (name),
    loop_id integer,
    context_order integer,
    turn integer not null,
    last_used_turn integer not null,
    write_count integer not null default 1,
    since integer not null,
    primary key (run_id, entry_id)
) strict, without rowid;

insert into _run_views
select
    run_id, entry_id, content_id, label_id, visibility, state, outcome, writer, loop_id, placed, turn, touched, write_count,
    since
from run_views;

create table run_view_uses (
    run_id integer not null constraint run_view_uses_run references runs (id) on delete cascade,
    entry_id integer not null,
    turn integer not null,
    primary key (run_id, entry_id, turn)
) strict, without rowid;

insert into run_view_uses
select run_id, entry_id, turn
from run_view_touches;

pragma legacy_alter_table = on;

drop table contents;

alter table _contents rename to contents;

drop table run_views;

alter table _run_views rename to run_views;

drop table labels;

drop table run_view_touches;

pragma legacy_alter_table = off;

create index idx_run_views_in_context on run_views (run_id, entry_id) where visibility <> 'archived';

alter table run_view_versions rename column label_id to metadata_id;

alter table run_view_versions rename column placed to context_order;

alter table run_view_versions rename column touched to last_used_turn;

alter table purges rename to _purges;

alter table loops rename column divisor to chars_per_token;

alter table turns rename column divisor to chars_per_token;

alter table turns add column finish_reason text;

alter table turns add column entry_chars integer;

alter table commands add column is_pattern integer not null default 0;

alter table commands add column entry_id integer;

drop index idx_commands_unfinished;

update settings
set name = 'chars_per_token'
where name = 'token_divisor';

delete from turn_transitions
where from_phase = 'judging' or to_phase = 'judging';

delete from turn_phases
where name = 'judging';

alter table visibilities drop column rank;

alter table projects drop column config_path;

drop table command_targets;

drop table entry_actions;

create table _entry_actions (
    action text primary key,
    needs text not null,
    example text not null,
    forbidden text
) strict, without rowid;

create table _matched_entries (
    command_id integer not null,
    entry_id integer not null,
    path text not null,
    primary key (command_id, entry_id)
) strict, without rowid;
