-- Maps: what the files of a tree define.
-- A get with 'map' answers in the log with the paths that it finds and the symbols of each, within a size; it shows
-- nothing. The symbols are those that the summaries of the files hold. Of few files their texts are read, so that none is
-- missing.
-- spec: @maps

-- views

-- The message of a get with map. Of many files what their summaries say, or the beginning where they have none.
create view _maps as
select
    c.id as command_id,
    symbol_map(
        c.path,
        (
            select json_group_array(
                    json_array(
                        e.path,
                        b.lines,
                        case when n.files > 20 then coalesce(b.summary, substr(b.body, 1, 500)) else b.body end
                    )
                )
            from (select count(*) as files from _matched_entries as o where o.command_id = c.id) as n
            left join _matched_entries as m on m.command_id = c.id
            cross join entries as e on e.id = coalesce(m.entry_id, c.entry_id)
            left join contents as b on b.id = e.content_id
        ),
        c.attributes
    ) as message
from commands as c
where c.attributes ->> '$.map' is not null;
