-- Kept packets: what the model was sent, byte for byte.
-- Each part of a text is kept once, and a packet is a list of lists of parts, so that one that is much like the packet
-- before it costs little more than what is new in it.
-- spec: @packets @storage

-- tables

-- Parts of packets, each once. A part that shows a body refers to it: its text is the head, the first 'body_chars'
-- characters of the content, and the foot.
create table if not exists chunks (
    id integer primary key,
    -- the first 16 bytes of the SHA-256 of its text
    hash blob not null constraint chunks_hash_unique unique,
    head text not null,
    content_id integer constraint chunks_content references contents (id),
    body_chars integer,
    foot text
) strict;

-- Stretches of messages: ids of chunks in order, as JSON; [first, last] stands for a run of ids. A message that changes in
-- one place shares all its stretches but that one with the message before.
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
    -- where it was cut for a provider to cache: at the ends of sections, as JSON, and up to 'kept' as the packet before it,
    -- which is of this run or of one that it came from; null where nothing is cached
    cuts text constraint packets_cuts_json check (cuts is null or json_valid(cuts)),
    kept integer,
    before_id integer,
    constraint packets_ordinal_per_turn unique (turn_id, ordinal)
) strict;

-- views

-- Every part with its text.
create view chunk_texts as
select
    k.id,
    case when k.content_id is null then k.head else k.head || substr(c.body, 1, k.body_chars) || k.foot end as text
from chunks as k
left join contents as c on c.id = k.content_id;

create view packet_texts as
-- Every message as it was sent, byte for byte.
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
            join chunk_texts as c
                on c.id between case j.type when 'array' then j.value ->> 0 else j.value end
                and case j.type when 'array' then j.value ->> 1 else j.value end
            order by s.key, j.key, c.id
        ) as k
    ) as text,
    p.ordinal
from packets as p
join turns as t on t.id = p.turn_id
join runs as r on r.id = t.run_id;
