-- Version 2: bodies behind their figures, commands that know their entry, responses that know how they ended.
-- The names of a command's entries are settled with the command; what only rules read begins with '_'. The phase 'judging' is
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

pragma legacy_alter_table = on;

drop table contents;

alter table _contents rename to contents;

pragma legacy_alter_table = off;

alter table turns add column finish_reason text;

alter table commands add column is_pattern integer not null default 0;

alter table commands add column entry_id integer;

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
