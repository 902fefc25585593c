-- Doors that are compiled when they are first called.
-- SQLite compiles a statement together with all triggers that it can reach, even if they do not run. A door that few
-- statements reach is therefore called by its name, and compiled at its first call.
-- spec: @late_calls

-- views

-- Call a door by its name: insert into _late_call (door, a, b, …) with its columns in their order; no door, no call.
create view _late_call as
select
    null as door, null as a, null as b, null as c, null as d, null as e, null as f, null as g, null as h, null as i,
    null as j, null as k, null as l
where false;

-- triggers

-- The mark tells the function which of the files of its connection this is.
create trigger _late_call__call
instead of insert on _late_call
when new.door is not null
begin
    select late_call(
        (select value from engine_meta where key = 'mark'),
        new.door, new.a, new.b, new.c, new.d, new.e, new.f, new.g, new.h, new.i, new.j, new.k, new.l
    );
end;
