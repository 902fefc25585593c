-- Packet: the sections of what is sent, what was sent, and whether it fits.
-- The renderer lays out the rows of each section's view; what came out is offered with its length. A packet that fits is
-- stored byte for byte; one that does not makes the next step of the ladder. To add a section: a row, a view, a template.
-- spec: @packet_structure @packets @budget_enforcement

-- tables

create table if not exists packet_sections (
    name text not null,
    profile text not null constraint packet_sections_profile check (profile in ('full', 'compact')),
    role text not null constraint packet_sections_role check (role in ('system', 'user')),
    ordinal integer not null,
    -- the view that gives its rows: turn_id and whatever the template names; null: a fixed text
    source text,
    template text not null,
    -- 1: rendered last, because it tells the size of all the others
    live integer not null default 0 constraint packet_sections_live_flag check (live in (0, 1)),
    primary key (profile, role, name)
) strict, without rowid;

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

-- A message as sent: the ids of its chunks in order, as JSON; [first, last] stands for a run of ids.
create table if not exists packets (
    id integer primary key,
    turn_id integer not null constraint packets_turn references turns (id) on delete cascade,
    ordinal integer not null,
    role text not null,
    sha256 blob not null,
    chars integer not null,
    parts text not null constraint packets_parts_json check (json_valid(parts)),
    constraint packets_ordinal_per_turn unique (turn_id, ordinal)
) strict;

-- What the ladder took out of sight.
create table if not exists demotions (
    turn_id integer not null constraint demotions_turn references turns (id) on delete cascade,
    entry_id integer not null,
    step integer not null,
    path text not null,
    turn integer not null,
    tokens integer not null,
    primary key (turn_id, entry_id)
) strict, without rowid;

-- seeds

insert into packet_sections (name, profile, role, ordinal, source, template, live) values
    ('system', 'full', 'system', 10, 'packet_tools', 'system', 0),
    ('prompt', 'full', 'user', 30, 'packet_prompt', 'prompt', 0),
    ('summary', 'full', 'user', 50, 'packet_summary', 'rows', 0),
    ('visible', 'full', 'user', 75, 'packet_visible', 'rows', 0),
    ('log', 'full', 'user', 100, 'packet_log', 'rows', 0),
    ('unknowns', 'full', 'user', 150, 'packet_unknowns', 'rows', 0),
    ('instructions', 'full', 'user', 165, null, 'instructions', 0),
    ('budget', 'full', 'user', 175, 'packet_budget', 'budget', 1),
    ('system', 'compact', 'system', 10, null, 'compact', 0),
    ('compact', 'compact', 'user', 30, 'packet_compact', 'compact', 0)
on conflict (profile, role, name) do nothing;

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
            from json_each(p.parts) as j
            join chunk_texts as c
                on c.id between case j.type when 'array' then j.value ->> 0 else j.value end
                and case j.type when 'array' then j.value ->> 1 else j.value end
            order by j.key, c.id
        ) as k
    ) as text,
    p.ordinal
from packets as p
join turns as t on t.id = p.turn_id
join runs as r on r.id = t.run_id;

-- The tools that a turn's model is told of.
create view packet_tools as
select
    t.id as turn_id,
    o.name,
    o.doc,
    p.body as persona,
    -- 1: it may call them through its provider's API
    exists (
        select 1 from models as m where m.alias = coalesce(l.model, r.model) and m.tool_calling = 'native'
    ) as native
from turns as t
join runs as r on r.id = t.run_id
join loops as l on l.id = t.loop_id
join loop_tools as o on o.loop_id = t.loop_id
left join personas as p on p.name = r.persona
order by o.ordinal;

-- The sections to render for a turn, in order; one whose plugin is not installed any more is passed over.
create view turn_sections as
select
    t.id as turn_id,
    s.name,
    s.role,
    s.source,
    s.template,
    s.live
from turns as t
join runs as r on r.id = t.run_id
join loops as l on l.id = t.loop_id
left join models as m on m.alias = coalesce(l.model, r.model)
join packet_sections as s on s.profile = coalesce(m.profile, 'full')
where s.source is null or s.source in (select name from sqlite_schema)
order by s.role = 'user', s.ordinal, s.name;

-- The figures of the open turn's packet, in characters: floor (what every entry in context costs at least), premium (what
-- visibility adds) and, by scheme, what is visible.
create view packet_schemes as
select
    t.id as turn_id,
    c.kind,
    sum(c.visibility = 'visible') as visible,
    sum(c.visibility = 'summarized') as summarized,
    sum(
        case
            when c.visibility <> 'visible' then 0
            when c.category = 'data' then c.full_chars
            else c.full_chars - c.summary_text_chars
        end
    ) as premium,
    sum(c.summary_text_chars) as floor,
    sum(case when c.visibility = 'summarized' then c.summary_text_chars else 0 end) as summarized_chars
from turns as t
join context_texts as c on c.run_id = t.run_id
where t.phase = 'assembling'
group by t.id, c.kind;

create view packet_budget as
-- The live accounting: how full the context is and what fills it. Padded, so that its own length is known beforehand.
select
    turn_id,
    '<budget tokenUsage="' || usage || '" tokensFree="' || free || '"'
    || substr('                    ', 1, 20 - length(usage) - length(free)) || '>' || char(10)
    || lines
    || 'Summarized: ' || summarized || ' entries, ' || summarized_tokens || ' tokens ('
    || (100 * summarized_tokens / max(ceiling, 1)) || '% of budget).' || char(10)
    || 'Total: ' || visible || ' visible + ' || summarized || ' summarized entries; tokenUsage ' || usage || ' / ceiling '
    || ceiling || '. ' || free || ' tokens free.'
    || substr('                    ', 1, 20 - length(usage) - length(free)) || char(10)
    || '</budget>' as text
from (
    select
        f.*,
        token_estimate(
            -- 209: the fixed words and paddings of the text above
            f.context_chars + 209 + length(f.lines) + 2 * length(f.summarized) + length(f.summarized_tokens)
            + length(100 * f.summarized_tokens / max(f.ceiling, 1)) + length(f.visible) + length(f.ceiling),
            f.divisor
        ) as usage,
        max(
            f.ceiling - token_estimate(
                f.context_chars + 209 + length(f.lines) + 2 * length(f.summarized) + length(f.summarized_tokens)
                + length(100 * f.summarized_tokens / max(f.ceiling, 1)) + length(f.visible) + length(f.ceiling),
                f.divisor
            ), 0
        ) as free
    from (
        select
            t.id as turn_id,
            coalesce(t.context_chars, 0) as context_chars,
            b.divisor,
            b.ceiling,
            coalesce(sum(s.visible), 0) as visible,
            coalesce(sum(s.summarized), 0) as summarized,
            token_estimate(coalesce(sum(s.summarized_chars), 0), b.divisor) as summarized_tokens,
            '| scheme | visible | tokens | % |' || char(10) || '|---|---|---|---|' || char(10) || coalesce(
                group_concat(
                    '| ' || s.kind || ' | ' || s.visible || ' | ' || token_estimate(s.premium, b.divisor) || ' | '
                    || (100 * token_estimate(s.premium, b.divisor) / max(b.ceiling, 1)) || ' |' || char(10), ''
                ) filter (where s.visible > 0), ''
            ) as lines
        from turns as t
        join loop_ceilings as b on b.loop_id = t.loop_id
        left join (select * from packet_schemes order by premium desc) as s on s.turn_id = t.id
        group by t.id
    ) as f
);

-- Make a turn ready for its packet: insert into packet_preparations (turn_id).
create view packet_preparations as
select id as turn_id
from turns
where phase = 'assembling';

-- Offer a rendered packet: insert into packet_offers (turn_id, chars, lease). It is taken, or the ladder goes a step down.
create view packet_offers as
select id as turn_id, context_chars as chars, lease
from turns
where false;

-- The same with its tokens, and whether it fits.
create view fitted_offers as
select id as turn_id, context_chars as chars, lease, context_tokens as tokens, 0 as fits
from turns
where false;

-- One step of the ladder: insert into ladder_steps (turn_id, from_step).
create view ladder_steps as
select id as turn_id, ladder as from_step
from turns
where false;

-- triggers

create trigger packet_offers__fit
instead of insert on packet_offers
begin
    insert into fitted_offers (turn_id, chars, lease, tokens, fits)
    select
        t.id, new.chars, new.lease, token_estimate(new.chars, b.divisor), token_estimate(new.chars, b.divisor) <= b.ceiling
    from turns as t
    join loop_ceilings as b on b.loop_id = t.loop_id
    where t.id = new.turn_id and t.phase = 'assembling';
end;

create trigger fitted_offers__take
instead of insert on fitted_offers
begin
    -- seen_at is the clock of the event that follows
    update turns
    set context_chars = new.chars,
        context_tokens = new.tokens,
        lease = new.lease,
        phase = case when new.fits then 'asking' else phase end,
        seen_at = case when new.fits then (select coalesce(max(id), 0) + 1 from events) end
    where id = new.turn_id;
    insert into events (at, run_id, turn_id, kind)
    select now(), run_id, id, 'turn.asked'
    from turns
    where id = new.turn_id and new.fits;
    insert into ladder_steps (turn_id, from_step)
    select id, ladder
    from turns
    where id = new.turn_id and not new.fits;
end;

-- First what the turn before brought into view, then the prompt, then the end. A step that frees nothing is passed over.
create trigger ladder_steps__take
instead of insert on ladder_steps
begin
    insert into demotions (turn_id, entry_id, step, path, turn, tokens)
    select t.id, c.entry_id, 2, c.path, c.turn, token_estimate(c.full_chars, l.divisor)
    from turns as t
    join loops as l on l.id = t.loop_id
    join context_texts as c on c.run_id = t.run_id
    where t.id = new.turn_id
        and new.from_step = 0
        and c.visibility = 'visible'
        and c.touched = t.sequence - 1
        and c.category <> 'prompt'
    on conflict do nothing;
    insert into demotions (turn_id, entry_id, step, path, turn, tokens)
    select t.id, c.entry_id, 3, c.path, c.turn, token_estimate(c.full_chars, l.divisor)
    from turns as t
    join loops as l on l.id = t.loop_id
    join context_texts as c on c.run_id = t.run_id
    where t.id = new.turn_id
        and c.visibility = 'visible'
        and c.path = 'prompt://' || (select min(o.sequence) from turns as o where o.loop_id = t.loop_id)
        and (
            new.from_step = 2
            or (new.from_step = 0 and not exists (select 1 from demotions as d where d.turn_id = t.id and d.step = 2))
        )
    on conflict do nothing;
    insert into events (at, run_id, turn_id, kind, detail)
    select now(), t.run_id, t.id, 'context.demoted', json_object('entries', count(*), 'tokens', sum(d.tokens))
    from turns as t
    join demotions as d on d.turn_id = t.id
    where t.id = new.turn_id
    having count(*) > 0;
    update run_views
    set visibility = 'summarized', since = (select max(id) from events)
    where run_id = (select run_id from turns where id = new.turn_id)
        and visibility = 'visible'
        and entry_id in (select entry_id from demotions where turn_id = new.turn_id);
    -- told once, in this turn's packet: a further step replaces what the one before said
    delete from turn_errors
    where turn_id = new.turn_id and slug = 'budget';
    insert into turn_errors (turn_id, status, message, slug, soft, detail)
    select
        t.id, 413,
        'Context overflow: ' || case
            when t.context_tokens > b.ceiling
                then 'the packet was ' || t.context_tokens || ' tokens, the ceiling is ' || b.ceiling
            else 'the model refused a packet of ' || t.context_tokens || ' tokens as too long'
        end || '. Demoted '
        || (select count(*) || ' entries, ' || sum(tokens) || ' tokens' from demotions where turn_id = t.id)
        || '; get what you still need, in slices.' || char(10) || (
            select group_concat(line, char(10))
            from (
                select '* ' || path || ' (turn ' || turn || ', ' || tokens || ' tokens)' as line
                from demotions
                where turn_id = t.id
                order by path
                limit 50
            )
        ),
        'budget', 1, '{"source":"budget"}'
    from turns as t
    join loop_ceilings as b on b.loop_id = t.loop_id
    where t.id = new.turn_id
        and new.from_step < 3
        and exists (
            select 1
            from demotions as d
            where d.turn_id = t.id and (d.step = 3 or new.from_step = 0)
        );
    -- nothing is left to demote
    insert into turn_errors (turn_id, status, message, slug, soft, detail)
    select
        t.id, 413,
        'Context full: ' || case
            when t.context_tokens > b.ceiling
                then 'the packet is ' || t.context_tokens || ' tokens, the ceiling is ' || b.ceiling
            else 'the model refuses a packet of ' || t.context_tokens || ' tokens as too long'
        end || case
            when exists (select 1 from demotions where turn_id = t.id)
                then ', after ' || (select count(*) from demotions where turn_id = t.id) || ' entries were demoted.'
            else ' and nothing can be demoted.'
        end
        || ' Raise the context limit, archive entries, or shorten the prompt.',
        'budget', 0, '{"source":"budget"}'
    from turns as t
    join loop_ceilings as b on b.loop_id = t.loop_id
    where t.id = new.turn_id
        and (
            new.from_step >= 3
            or not exists (
                select 1
                from demotions as d
                where d.turn_id = t.id and (d.step = 3 or (d.step = 2 and new.from_step = 0))
            )
        );
    update turns
    set ladder = case
            when exists (select 1 from demotions where turn_id = new.turn_id and step = 3) then 3
            when exists (select 1 from demotions where turn_id = new.turn_id) then 2
            else 4
        end
    where id = new.turn_id;
    update turns
    set phase = 'judging'
    where id = new.turn_id
        and exists (
            select 1
            from turn_errors as e
            where e.turn_id = new.turn_id and not e.soft and json_extract(e.detail, '$.source') = 'budget'
        );
end;
