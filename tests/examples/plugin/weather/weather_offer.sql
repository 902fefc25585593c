-- Weather, in every file: a scheme and a tool that takes the rest in when it is first used, and a rule of the house.

-- seeds

insert into schemes (name, category, default_scope, default_visibility, writable_by, meaning) values
    ('weather', 'data', 'run', 'summarized', '["plugin"]', 'the sky over a place')
on conflict (name) do nothing;

insert into tools (name, ordinal, gathers, meaning) values
    ('weather', 45, 1, 'ask for the weather of a place')
on conflict (name) do update set ordinal = excluded.ordinal, gathers = excluded.gathers, meaning = excluded.meaning;

-- triggers

create trigger commands__need_weather
before update of state on commands
when new.state = 'performing' and new.action = 'weather'
begin
    select needs_module('weather')
    where not exists (select 1 from engine_modules where name = 'weather');
end;

-- A recording veto: nobody notes that the weather is good.
create trigger commands__veto_good_weather
after insert on commands
when new.action = 'set' and new.body like '%good weather%'
begin
    insert into vetoes (command_id, message)
    values (new.id, 'Not noted: the weather is never good.');
end;
