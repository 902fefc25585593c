-- Packets: what a message to the model is made of, section by section, and what was sent, byte for byte.
-- The renderer lays out the rows of each section's view with the template of that name: no filtering, no arithmetic, no
-- state. To add a section: a row, a view, a template. Each part of a text is kept once, and a packet is a list of lists
-- of parts, so that one that is much like the packet before it costs little more than what is new in it.
-- spec: @packet_structure @prefix_stability @packets @storage

-- tables

create table if not exists packet_sections (
    name text not null,
    profile text not null constraint packet_sections_profile check (profile in ('full', 'compact')),
    role text not null constraint packet_sections_role check (role in ('system', 'user')),
    ordinal integer not null,
    -- the view that gives its rows: turn_id and whatever the template names; null: a fixed text
    source text,
    template text not null,
    -- 1 or 2: the section tells the size of the whole packet, itself included. It is laid out twice, once to be measured and
    -- once with the size, and must be as long both times. The rows of 2 are read with those of the other sections; those of
    -- 1 after all others, when the tokens of these are known
    live integer not null default 0 constraint packet_sections_live_flag check (live in (0, 1, 2)),
    -- 1: mostly only its end changes, so a provider may cache the packet up to its last row
    cached integer not null default 0 constraint packet_sections_cached_flag check (cached in (0, 1)),
    -- a view (turn_id, stamp): the section is made anew in a loop when its stamp changes; one of the user message has no
    -- rows where that is null
    stamps text,
    primary key (profile, role, name)
) strict, without rowid;

-- Parts of packets, each once. A part that shows a body refers to it: its text is the head, the first 'body_chars'
-- characters of the content, and the foot.
create table if not exists chunks (
    id integer primary key,
    -- what it is found by: the turn that its entry names (4 bytes, 0: none), so that what one turn adds stands together, and
    -- the first 16 bytes of the SHA-256 of its text; of a piece of a system message, those of its layer, source and text
    hash blob not null constraint chunks_hash_unique unique,
    head text not null,
    content_id integer constraint chunks_content references contents (id),
    body_chars integer,
    foot text,
    -- 1: behind that stands the fence once more with which the first line of the head ends
    fenced integer not null default 0 constraint chunks_fenced_flag check (fenced in (0, 1)),
    -- of a piece of a system message: the layer that it belongs to, and which row of that layer it is
    layer text,
    source text
) strict;

-- Stretches of messages: ids of chunks in order, as JSON; [first, last] stands for a run of ids. A message that changes
-- in one place shares all its stretches but that one with the message before.
create table if not exists chunk_lists (
    id integer primary key,
    chunks text not null constraint chunk_lists_json check (json_valid(chunks))
) strict;

-- A message as sent: the ids of its stretches in order, as JSON.
create table if not exists packets (
    id integer primary key,
    turn_id integer not null constraint packets_turn references turns (id) on delete cascade,
    ordinal integer not null,
    role text not null,
    sha256 blob not null,
    chars integer not null,
    parts text not null constraint packets_parts_json check (json_valid(parts)),
    -- where it was cut for a provider to cache: at the ends of sections, as JSON, and up to 'kept' as the packet before
    -- it, which is of this run or of one that it came from; null where nothing is cached
    cuts text constraint packets_cuts_json check (cuts is null or json_valid(cuts)),
    kept integer,
    before_id integer,
    constraint packets_ordinal_per_turn unique (turn_id, ordinal)
) strict;

-- seeds

-- the views of the engine's own sections may be renamed with the engine
insert into packet_sections (name, profile, role, ordinal, source, template, live, cached, stamps) values
    ('system', 'full', 'system', 10, '_packet_tools', 'system', 0, 0, '_tool_stamps'),
    ('layers', 'full', 'system', 20, '_packet_layers', 'layers', 0, 0, '_layer_stamps'),
    ('prompt', 'full', 'user', 30, '_packet_prompt', 'prompt', 0, 0, '_prompt_stamps'),
    ('summary', 'full', 'user', 50, '_packet_summary', 'rows', 0, 1, null),
    ('visible', 'full', 'user', 75, '_packet_visible', 'rows', 0, 1, null),
    ('log', 'full', 'user', 100, '_packet_log', 'rows', 0, 1, null),
    ('unknowns', 'full', 'user', 150, '_packet_unknowns', 'rows', 0, 0, '_unknown_stamps'),
    ('instructions', 'full', 'user', 165, null, 'instructions', 0, 0, null),
    ('budget', 'full', 'user', 175, '_packet_budget', 'budget', 1, 0, null),
    ('system', 'compact', 'system', 10, null, 'compact', 0, 0, null),
    ('compact', 'compact', 'user', 30, '_packet_compact', 'compact', 0, 0, null)
on conflict (profile, role, name) do update set source = excluded.source, stamps = excluded.stamps;

-- views

-- The turns whose packet is sent with something beside its text. A part gives their ids.
create view _attached_turns as
select null as turn_id
where false;

-- The open tools that a model is not told of, but by their names. A run without a folder runs no process.
create view _untold_tools as
select l.id as loop_id, o.name, o.ordinal
from loops as l
cross join _loop_tools as o on o.loop_id = l.id
cross join tools as k on k.name = o.name
where (
        k.hidden_by not like '%"no_processes"%'
        or (select p.root from runs as r join projects as p on p.id = r.project_id where r.id = l.run_id) is not null
    )
    and exists (select 1 from _left_out_tools as d where d.loop_id = l.id)
    and exists (select 1 from _left_out_tools as d where d.loop_id = l.id and d.name = o.name);

-- The names of those tools in one line, 100 at most.
create view _untold_names as
select
    l.id as loop_id,
    (
        select group_concat(name, ', ')
        from (select u.name from _untold_tools as u where u.loop_id = l.id order by u.ordinal, u.name limit 100)
    ) || coalesce(
        (
            select ' and ' || (count(*) - 100) || ' more'
            from _untold_tools as u
            where u.loop_id = l.id
            having count(*) > 100
        ), ''
    ) as names
from loops as l
where exists (select 1 from _left_out_tools as d where d.loop_id = l.id);

-- By which a system message is seen to have other tools than the one before.
create view _tool_stamps as
select
    t.id as turn_id,
    nullif(
        coalesce(
            case
                when exists (select 1 from _left_out_tools as d where d.loop_id = t.loop_id)
                    then (select group_concat(name) from _untold_tools as u where u.loop_id = t.loop_id)
            end, ''
        )
        -- what the driver offers may change between two turns
        || coalesce((select d.tools from leases as d where d.run_id = t.run_id), ''), ''
    ) as stamp
from turns as t;

-- The tools that a turn's model is told of.
create view _packet_tools as
select
    t.id as turn_id,
    o.name,
    o.doc,
    p.name as persona_name,
    p.body as persona,
    -- 1: it works in no folder, and is told so in few words
    x.id is not null as plain,
    -- 1: it may call them through its provider's API
    exists (
        select 1 from models as m where m.alias = coalesce(l.model, r.model) and m.tool_calling = 'native'
    ) as native,
    -- 1: files are shown with line anchors
    (select value = '1' from settings where name = 'line_anchors') as anchors,
    -- the tools that are open besides, where the loop is told of few; in the first row alone
    case row_number() over (partition by t.id order by o.ordinal)
        when 1 then (select u.names from _untold_names as u where u.loop_id = t.loop_id)
    end as untold
from turns as t
join runs as r on r.id = t.run_id
join loops as l on l.id = t.loop_id
join _loop_tools as o on o.loop_id = t.loop_id
left join projects as x on x.id = r.project_id and x.root is null
-- the engine's own default persona is for work in a folder
left join personas as p
    on p.name = coalesce(l.config ->> '$.persona', r.persona)
    and (x.id is null or p.name <> 'default' or p.origin <> 'engine')
where not exists (select 1 from _left_out_tools as u where u.loop_id = t.loop_id and u.name = o.name)
order by o.ordinal;

-- The sections to render for a turn, in order; one whose plugin is not installed any more is passed over.
create view _turn_sections as
select
    t.id as turn_id,
    s.name,
    s.role,
    s.source,
    case when r.role = 'judge' and s.name = 'system' then 'judge' else s.template end as template,
    -- a prompt with figures tells the size as well
    case
        when s.name = 'prompt' and (select value from settings where name = 'prompt_figures') = '1' then 2
        else s.live
    end as live,
    s.cached,
    s.stamps
from turns as t
join runs as r on r.id = t.run_id
join loops as l on l.id = t.loop_id
left join models as m on m.alias = coalesce(l.model, r.model)
join packet_sections as s on s.profile = case r.role when 'judge' then 'full' else coalesce(m.profile, 'full') end
where (s.source is null or s.source in (select name from sqlite_schema))
    -- what a judge sees stands in its prompt; the log tells it what was wrong with its answer
    and (r.role <> 'judge' or s.name in ('system', 'prompt', 'log'))
order by s.role = 'user', s.ordinal, s.name;

-- Turns whose packet was taken and is not stored.
create view _unstored_packets as
select id as turn_id
from turns
where phase = 'asking' and id not in (select turn_id from packets);

create view _prepare_packet as
-- Make a turn ready for its packet: insert into _prepare_packet (turn_id).
select id as turn_id
from turns
where false;

-- Every part with its text.
create view _chunk_texts as
select
    k.id,
    case
        when k.content_id is null then k.head
        else k.head || substr(coalesce(c.shown, c.body), 1, k.body_chars) || k.foot
    end
    || case
        when k.fenced
            then substr(k.head, instr(k.head, ' <<') + 3, instr(k.head, char(10)) - instr(k.head, ' <<') - 2)
        else ''
    end as text
from chunks as k
left join contents as c on c.id = k.content_id;

create view packet_texts as
-- Every message as it was sent, byte for byte, and when (UTC) it was: select role, body from packet_texts where
-- run = 'demo' and turn = 3 order by ordinal. For turns before a fork or a rewind, past_turns names the run.
select
    r.alias as run,
    t.sequence as turn,
    p.role,
    lower(hex(p.sha256)) as sha256,
    (
        select group_concat(k.text, '')
        from (
            select c.text
            from json_each(p.parts) as s
            cross join chunk_lists as l on l.id = s.value
            cross join json_each(l.chunks) as j
            join _chunk_texts as c
                on c.id between case j.type when 'array' then j.value ->> 0 else j.value end
                and case j.type when 'array' then j.value ->> 1 else j.value end
            order by s.key, j.key, c.id
        ) as k
    ) as body,
    p.ordinal,
    (
        select strftime('%Y-%m-%d %H:%M:%S', ev.at / 1000.0, 'unixepoch')
        from events as ev
        where ev.id = t.seen_at
    ) as sent_at
from packets as p
join turns as t on t.id = p.turn_id
join runs as r on r.id = t.run_id;
