-- Passages: the lines of files that a compact packet shows, because they fit its prompt.
-- A small local model cannot choose well among files, and a whole file may be longer than its window. So the
-- full-text index names the files that match the prompt best, and of these the lines that may be the answer are
-- shown, with those that they stand under. Nothing is kept: the packet is, as it was sent.
-- spec: @compact_profile

-- views

-- What a compact packet has to say besides passages and instructions: the visible data entry that was used last, the log,
-- the prompt. A part gives the turn, what it is, a path or '', the text, a number less than 0 for its place, and 0.
create view _compact_fixed_parts as
select
    turn_id,
    part,
    path,
    case visibility when 'visible' then body else summary end as body,
    turn,
    entry_id
from (
    select
        t.id as turn_id,
        case c.category when 'data' then 'file' when 'prompt' then 'prompt' else 'log' end as part,
        c.shown_path as path,
        c.visibility,
        c.body,
        c.summary,
        c.turn,
        c.entry_id
    from turns as t
    join _context_texts as c on c.run_id = t.run_id
    where c.entry_id = (
            select f.entry_id
            from _context_texts as f
            where f.run_id = t.run_id and f.category = 'data' and f.visibility = 'visible'
            order by f.last_used_turn desc, f.entry_id desc
            limit 1
        )
        or (c.category = 'logging' and c.body <> '' and c.path not like 'log://turn_0/%')
        or c.path = 'prompt://' || (select min(o.sequence) from turns as o where o.loop_id = t.loop_id)
);

-- What a compact packet has to say besides passages. A part gives what it fits into the room that those above leave.
create view _compact_parts as
select turn_id, part, path, body, turn, entry_id
from _compact_fixed_parts;

-- Texts in a compact packet that an answer may quote. A part gives the turn, a name that begins with a scheme, and the text.
create view _quotable_texts as
select id as turn_id, cast(null as text) as path, cast(null as text) as body
from turns
where false;

-- How many bytes the passages of a turn's packet may take: no token is less than a byte, so as many as there are tokens
-- below the ceiling when all other parts are counted (60 characters for the tags of each, 1,000 for the text of the system).
create view _passage_rooms as
select
    t.id as turn_id,
    b.ceiling - cast(ceil((
        1000 + coalesce(
            (select sum(length(p.body) + length(p.path) + 60) from _compact_parts as p where p.turn_id = t.id), 0
        )
    ) / coalesce(t.chars_per_token, b.chars_per_token)) as integer) as bytes
from turns as t
join _loop_ceilings as b on b.loop_id = t.loop_id;

-- The passages of a turn's packet, the best first: up to 1,000 characters out of the 40 files that match its prompt best,
-- of which the first 400,000 characters are read, and 2,000,000 of all together; and out of its rules, which stand in the
-- packet anyhow, so that an answer may quote them.
create view _passages as
select
    q.turn_id,
    j.key as ordinal,
    j.value ->> 'path' as path,
    j.value ->> 'body' as body,
    -- a JSON array of lines of the body: those that may be the answer
    j.value -> 'quotes' as quotes
from (
    select
        t.id as turn_id,
        l.prompt,
        m.bytes,
        (
            select json_group_array(json_array(f.path, f.body))
            from (
                select u.path, u.body, 1 as place, 0 as characters
                from _quotable_texts as u
                where u.turn_id = t.id
                union all
                select
                    h.path, h.body, h.place,
                    sum(length(h.body)) over (order by h.place) as characters
                from (
                    select
                        coalesce(e.shown_path, e.path) as path,
                        substr(c.body, 1, 400000) as body,
                        row_number() over (order by s.rank, e.path) as place
                    from content_search (passages_query(l.prompt)) as s
                    join run_views as v on v.run_id = t.run_id and v.visibility <> 'visible'
                    join entries as e
                        -- never null: the full-text index would take rowid = null for any row
                        on e.id = v.entry_id and e.kind = 'file' and coalesce(e.content_id, -1) = s.rowid
                    join contents as c on c.id = e.content_id
                    order by s.rank, e.path
                    limit 40
                ) as h
            ) as f
            where f.characters <= 2000000 or f.place = 1
        ) as files
    from turns as t
    join loops as l on l.id = t.loop_id
    join _passage_rooms as m on m.turn_id = t.id
) as q
join json_each(passages_find(q.prompt, q.files, q.bytes)) as j;

-- What the answer of a turn is held to: the quotes of its passages as a JSON array, and whether there were files to look
-- into.
create view _passage_quotes as
select
    t.id as turn_id,
    (
        select json_group_array(j.value)
        from _passages as p
        join json_each(p.quotes) as j
        where p.turn_id = t.id
    ) as quotes,
    exists (
        select 1
        from run_views as v
        join entries as e on e.id = v.entry_id and e.kind = 'file' and e.content_id is not null
        where v.run_id = t.run_id
    ) as has_files
from turns as t;

-- The compact packet, one row a part: the passages, the best last, and the other parts. Each text stands in a tag that it
-- cannot close; the prompt, which is the last part, only where it holds one of these tags.
create view _packet_compact as
select
    turn_id,
    part,
    path,
    body,
    case
        when part <> 'prompt'
            or body like '%<file%' or body like '%<log%' or body like '%<rules%' or body like '%<plan%'
            or body like '%<conventions%' or body like '%<prompt%'
            then fence_tag(part, body)
    end as tag
from (
    select turn_id, 'file' as part, path, body, -1 - ordinal as turn, 0 as entry_id
    from _passages
    where path not glob 'rule://*'
    union all
    select turn_id, part, path, body, turn, entry_id
    from _compact_parts
)
order by part <> 'file', part = 'prompt', turn, entry_id;

-- triggers

create trigger _prepare_packet__guard
instead of insert on _prepare_packet
when not exists (select 1 from turns where id = new.turn_id)
begin
    select fail(404, 'turn ' || quote(new.turn_id) || ': not found; see the view _next_steps');
end;

-- On the first turn of a loop the files in context are archived: what it shows of them is found anew.
create trigger _prepare_packet__archive_files
instead of insert on _prepare_packet
when exists (
        select 1
        from turns as t
        join loops as l on l.id = t.loop_id
        join runs as r on r.id = t.run_id
        join models as m on m.alias = coalesce(l.model, r.model) and m.profile = 'compact'
        where t.id = new.turn_id
            and not exists (select 1 from turns as o where o.loop_id = t.loop_id and o.sequence < t.sequence)
    )
begin
    insert into _show_entry (run_id, entry_id, visibility)
    select v.run_id, v.entry_id, 'archived'
    from turns as t
    join run_views as v on v.run_id = t.run_id and v.visibility <> 'archived'
    join entries as e on e.id = v.entry_id and e.kind = 'file'
    where t.id = new.turn_id;
end;
