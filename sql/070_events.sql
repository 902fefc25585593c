-- Events: what happened, in order. The id is the clock of the whole file.
-- A row is added by the rules whenever something changes and is never altered; only the purge of a whole run removes rows.
-- spec: @events

-- tables

create table if not exists events (
    id integer primary key,
    -- Unix time in milliseconds
    at integer not null,
    run_id integer,
    turn_id integer,
    kind text not null,
    entry_id integer,
    detail text constraint events_detail_json check (detail is null or json_valid(detail))
) strict;

-- Runs that are being removed for good; only their history may be deleted.
create table if not exists purges (
    run_id integer primary key
) strict;

-- triggers

create trigger events__stay_as_they_are
before update on events
begin
    select fail(405, 'events are append-only');
end;

create trigger events__stay
before delete on events
when old.run_id is null or not exists (select 1 from purges where run_id = old.run_id)
begin
    select fail(405, 'events are append-only; only the purge of a whole run removes them');
end;

create trigger run_view_versions__stay_as_they_are
before update on run_view_versions
begin
    select fail(405, 'history is append-only');
end;

create trigger run_view_versions__stay
before delete on run_view_versions
when not exists (select 1 from purges where run_id = old.run_id)
begin
    select fail(405, 'history is append-only; only the purge of a whole run removes it');
end;

create trigger run_view_touches__stay_as_they_are
before update on run_view_touches
begin
    select fail(405, 'history is append-only');
end;

create trigger run_view_touches__stay
before delete on run_view_touches
when not exists (select 1 from purges where run_id = old.run_id)
begin
    select fail(405, 'history is append-only; only the purge of a whole run removes it');
end;
