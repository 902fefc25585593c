-- The web: pages that a get fetches, and searches.
-- A get of an address is an effect that needs no decision: the driver fetches the page, and its text becomes an entry
-- under that address, summarized at first. The entry is the cache: it keeps the ETag and the date of the page, so
-- that asking again transfers a page only where it has changed. Fetching changes nothing, so an effect that a kill
-- broke off is done again. What a search finds becomes entries too, each with what the search engine says of it until
-- a get reads the page. Which addresses may be reached is judged where they are resolved, in engine/web.
-- needs: nothing
-- spec: @web_pages @tool_search

-- seeds

insert into outcomes (name, status, strikes, meaning) values
    ('unreachable', 502, 0, 'the server gave no answer, or an answer that cannot be read')
on conflict (name) do update set status = excluded.status, meaning = excluded.meaning;

-- views

-- The page that a get names, where its run has it. is_stub: a search found it, nobody has read it yet; is_fresh: it need
-- not be asked for again, which holds for what was not fetched at all; is_wanted: it passes the filter of the get.
create view _command_pages as
select
    c.id as command_id,
    c.run_id,
    p.entry_id,
    b.chars,
    b.visibility,
    b.attributes,
    json_extract(b.attributes, '$.stub') is 1 as is_stub,
    coalesce(
        cast(strftime('%s', json_extract(b.attributes, '$.fetched_at')) as integer)
        + (select cast(value as real) from settings where name = 'web_fresh_seconds') > now() / 1000,
        1
    ) as is_fresh,
    c.entry_id is not null as is_wanted,
    json_extract(c.attributes, '$.line', '$.limit', '$.char', '$.chars') <> '[null,null,null,null]' as is_slice
from commands as c
cross join _run_paths as p on p.run_id = c.run_id and p.path = c.path
cross join _entry_bodies as b on b.run_id = p.run_id and b.entry_id = p.entry_id
where c.action = 'get';

-- How an effect ends before anything is asked of the web: the columns of _finish_effect as JSON, or null.
create view _web_answers as
select
    f.id as effect_id,
    case
        when not p.is_stub and not p.is_wanted
            then json_object(
                'state', 'failed', 'outcome', 'not_found', 'message', c.path || ' does not hold ' || quote(c.body)
            )
        when not p.is_stub and (p.is_fresh or p.is_slice or w.flag is not null) then json_object('state', 'resolved')
        when w.flag is not null
            then json_object(
                'state', 'failed',
                'outcome', 'permission',
                'message', 'no_web forbids reading from the web; you can get only pages that are stored.'
            )
        when c.action = 'search' and trim(coalesce(c.body, ''), char(32, 9, 10, 13)) = ''
            then json_object(
                'state', 'failed',
                'outcome', 'validation',
                'message', 'search needs words: <search>sqlite wal checkpoint</search>.'
            )
    end as answer
from effects as f
join commands as c on c.id = f.command_id
left join _command_pages as p on p.command_id = c.id
left join _loop_flags as w on w.loop_id = c.loop_id and w.flag = 'no_web'
    -- a server is none of the web: its user chose it
    and coalesce(c.path, '') not glob 'mcp://*';

-- What the driver is to ask of the web for an effect. 'answer' is not null where it is to ask for nothing. The conditions
-- are those under which a server says that the page has not changed.
create view _web_requests as
select
    f.id as effect_id,
    case f.kind when 'fetch' then c.path else c.body end as target,
    a.answer,
    case when not p.is_stub then json_extract(p.attributes, '$.etag') end as etag,
    case when not p.is_stub then json_extract(p.attributes, '$.last_modified') end as last_modified,
    min(
        (select cast(value as real) from settings where name = 'web_timeout'),
        coalesce((select max(s.seconds_left, 1.0) from _loop_seconds as s where s.loop_id = c.loop_id), 9e9)
    ) as seconds,
    (select cast(value as integer) from settings where name = 'web_max_bytes') as size,
    (select cast(value as integer) from settings where name = 'web_max_redirects') as redirects,
    (select value from settings where name = 'web_hosts') as hosts,
    (select value from settings where name = 'search_engine') as search_engine,
    min(
        max(
            cast(coalesce(
                json_extract(c.attributes, '$.results'), (select value from settings where name = 'search_results')
            ) as integer), 1
        ), 20
    ) as results
from effects as f
join commands as c on c.id = f.command_id
join _web_answers as a on a.effect_id = f.id
left join _command_pages as p on p.command_id = c.id
where f.kind in ('fetch', 'search');

-- The pages that a get shows although they could not be read anew, with what is told of that.
create view _effect_substitutes__web as
select
    f.id as effect_id,
    'This is the copy of ' || json_extract(p.attributes, '$.fetched_at') || '; it could not be fetched again: ' as note
from effects as f
cross join _command_pages as p on p.command_id = f.command_id and not p.is_stub and p.is_wanted
where f.kind = 'fetch';

-- What takes the pages that these effects bring.
create view _page_takers__web as
select 'fetch' as kind, '_keep_pages' as door
union all
select 'search', '_keep_pages';

-- What the log tells of a page: the slice that was asked for, or what the page is while it is shown in short.
create view _page_reports as
select
    p.command_id,
    coalesce(
        (select s.message from _slices as s where s.command_id = p.command_id),
        case p.visibility
            when 'summarized'
                then coalesce(json_extract(p.attributes, '$.title') || ', ', '')
                || coalesce(json_extract(p.attributes, '$.date') || ', ', '')
                || counted(token_estimate(p.chars, l.chars_per_token), 'token')
                || ', summarized. To see all of it, get it again; for a part, add line and limit.'
            else ''
        end
        || coalesce(char(10) || 'It is from ' || json_extract(p.attributes, '$.url'), '')
    ) as message
from _command_pages as p
join commands as c on c.id = p.command_id
join loops as l on l.id = c.loop_id;

-- Keep what an effect of the web brought: insert into _keep_pages (effect_id, pages). 'pages' is a JSON array of objects
-- with path, body and attributes; a null body leaves the body as it is.
create view _keep_pages as
select id as effect_id, null as pages
from effects
where false;

-- triggers

-- A page that the run had is shown, as by any get; a new one in short, unless the get says more. What a search finds
-- never takes the place of an entry. The command is told of it.
create trigger _keep_pages__keep
instead of insert on _keep_pages
begin
    insert into _show_entry (run_id, entry_id, visibility, turn)
    select
        p.run_id, p.entry_id, coalesce(json_extract(c.attributes, '$.visibility'), 'visible'),
        (select sequence from turns where id = c.turn_id)
    from effects as f
    cross join commands as c on c.id = f.command_id
    cross join _command_pages as p on p.command_id = c.id and not p.is_stub and p.is_wanted and not p.is_slice
    where f.id = new.effect_id;
    insert into _write_entry (run_id, path, body, attributes, visibility, state, writer, turn, loop_id)
    select
        f.run_id, b.value ->> '$.path', b.value ->> '$.body',
        case f.kind
            when 'fetch'
                then json_set(
                    b.value -> '$.attributes',
                    '$.stub', null, '$.fetched_at', strftime('%Y-%m-%dT%H:%M:%SZ', now() / 1000, 'unixepoch')
                )
            else json_set(b.value -> '$.attributes', '$.stub', 1)
        end,
        case f.kind when 'fetch' then json_extract(c.attributes, '$.visibility') end,
        'resolved', 'plugin', (select sequence from turns where id = f.turn_id), c.loop_id
    from effects as f
    cross join commands as c on c.id = f.command_id
    cross join json_each(new.pages) as b
    where f.id = new.effect_id
        and (
            f.kind = 'fetch'
            or not exists (select 1 from _run_paths as p where p.run_id = f.run_id and p.path = b.value ->> '$.path')
        );
    update commands
    set entry_id = (select p.entry_id from _run_paths as p where p.run_id = commands.run_id and p.path = commands.path)
    where id = (select command_id from effects where id = new.effect_id and kind = 'fetch')
        and entry_id is null
        and new.pages <> '[]';
    update commands
    set message = case action
        when 'search'
            then (
                select 'search ' || quote(commands.body) || ': ' || count(*) || ' found'
                    || coalesce(char(10) || group_concat(
                        '* ' || (value ->> '$.path') || coalesce(' - ' || (value ->> '$.attributes.title'), ''), char(10)
                    ), '')
                from json_each(new.pages)
            )
        else (select r.message from _page_reports as r where r.command_id = commands.id)
    end
    where id = (select command_id from effects where id = new.effect_id);
end;
