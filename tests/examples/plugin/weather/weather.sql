-- Weather: what the tool does, a section that shows what is known of the sky, and what follows from it.
-- A file takes this in when the tool is first used.
-- needs: nothing

-- seeds

insert into packet_sections (name, profile, role, ordinal, source, template) values
    ('forecast', 'full', 'user', 60, 'packet_forecast', 'forecast')
on conflict (profile, role, name) do nothing;

-- views

create view packet_forecast as
-- The sky over each place that was asked about.
select
    t.id as turn_id,
    substr(k.path, 11) as place,
    weather_icon(k.body) as icon
from turns as t
join runs as r on r.id = t.run_id
join known_entries as k on k.run = r.alias and k.scheme = 'weather'
order by k.path;

-- triggers

-- The tool: performing it is an effect, which needs no decision.
create trigger commands__perform_weather
after update of state on commands
when new.state = 'performing' and new.action = 'weather'
begin
    insert into effects (run_id, turn_id, command_id, kind, detail)
    values (new.run_id, new.turn_id, new.id, 'weather', json_object('place', new.body));
    update commands
    set state = 'accepted'
    where id = new.id;
end;

-- What came back becomes an entry.
create trigger effect_results__keep_weather
after insert on effect_results
when new.state = 'resolved' and exists (select 1 from effects where id = new.effect_id and kind = 'weather')
begin
    insert into _write_entry (run_id, path, body, writer)
    select f.run_id, 'weather://' || json_extract(f.detail, '$.place'), json_extract(new.detail, '$.sky'), 'plugin'
    from effects as f
    where f.id = new.effect_id;
end;

-- An acceptance veto: no process is started in the rain.
create trigger proposals__veto_in_the_rain
after update of state on proposals
when new.state = 'accepting'
    and new.kind = 'process'
    and exists (
        select 1
        from known_entries as k
        join runs as r on r.alias = k.run
        where r.id = new.run_id and k.scheme = 'weather' and k.body = 'rain'
    )
begin
    update proposals
    set state = 'failed', outcome = 'permission', reason = 'Not in the rain.'
    where id = new.id;
end;

-- A content override: whatever is written to forecast.txt is replaced by what is known.
create trigger proposals__tell_the_truth
after update of state on proposals
when new.state = 'accepting' and new.kind = 'file_write' and new.target = 'forecast.txt'
begin
    insert into _store_content (path, body)
    select new.target, group_concat(place || ' ' || icon, char(10)) || char(10)
    from packet_forecast
    where turn_id = new.turn_id;
    update proposals
    set content_id = (select max(id) from contents)
    where id = new.id;
end;

-- A vote: where the sun shines the work is over.
create trigger turns__vote_for_the_sun
after update of phase on turns
when new.phase = 'voting'
begin
    insert into votes (turn_id, voter, vote, rank, status, reason, answer)
    select new.id, 'weather', 'stop', 15, 200, 'sunshine', 'Out for a walk.'
    where exists (
        select 1
        from known_entries as k
        join runs as r on r.alias = k.run
        where r.id = new.run_id and k.scheme = 'weather' and k.body = 'sun'
    );
end;
