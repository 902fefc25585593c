-- Packet: the sections of what is sent, what was sent, and whether it fits.
-- The renderer lays out the rows of each section's view; what came out is offered with its length. A packet that fits is
-- stored byte for byte; one that does not makes the next step of the ladder. To add a section: a row, a view, a template.
-- spec: @packet_structure @prefix_stability @packets @storage @budget_enforcement

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
    -- 1: up to its last row it is often what it was, so a provider may cache up to there
    cached integer not null default 0 constraint packet_sections_cached_flag check (cached in (0, 1)),
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
    constraint packets_ordinal_per_turn unique (turn_id, ordinal)
) strict;

-- What was taken out of sight to make a packet fit: by condensing (step 1) or by the ladder (steps 2 and 3).
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

insert into packet_sections (name, profile, role, ordinal, source, template, live, cached) values
    ('system', 'full', 'system', 10, 'packet_tools', 'system', 0, 0),
    ('prompt', 'full', 'user', 30, 'packet_prompt', 'prompt', 0, 0),
    ('summary', 'full', 'user', 50, 'packet_summary', 'rows', 0, 1),
    ('visible', 'full', 'user', 75, 'packet_visible', 'rows', 0, 1),
    ('log', 'full', 'user', 100, 'packet_log', 'rows', 0, 1),
    ('unknowns', 'full', 'user', 150, 'packet_unknowns', 'rows', 0, 0),
    ('instructions', 'full', 'user', 165, null, 'instructions', 0, 0),
    ('budget', 'full', 'user', 175, 'packet_budget', 'budget', 1, 0),
    ('system', 'compact', 'system', 10, null, 'compact', 0, 0),
    ('compact', 'compact', 'user', 30, 'packet_compact', 'compact', 0, 0)
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
    s.live,
    s.cached
from turns as t
join runs as r on r.id = t.run_id
join loops as l on l.id = t.loop_id
left join models as m on m.alias = coalesce(l.model, r.model)
join packet_sections as s on s.profile = coalesce(m.profile, 'full')
where s.source is null or s.source in (select name from sqlite_schema)
order by s.role = 'user', s.ordinal, s.name;

-- The figures of the open turn's packet by scheme, in characters: floor (what its entries cost in short, whether they are
-- shown so or whole) and premium (what showing the visible ones whole adds).
create view packet_schemes as
select
    t.id as turn_id,
    c.kind,
    sum(c.visibility = 'visible') as visible,
    sum(c.visibility = 'summarized') as summarized,
    sum(case c.visibility when 'visible' then c.premium else 0 end) as premium,
    sum(c.summarized) as floor
from turns as t indexed by idx_turns_one_open
cross join context_costs as c on c.run_id = t.run_id
where t.phase <> 'judged' and t.phase = 'assembling'
group by t.id, c.kind;

-- The turns that a loop may have, and which one an open turn is, counted from 1.
create view turn_steps as
select
    t.id as turn_id,
    t.sequence - (select min(o.sequence) from turns as o where o.loop_id = t.loop_id) + 1 as step,
    coalesce(
        cast(json_extract(l.config, '$.max_turns') as integer),
        (select cast(value as integer) from settings where name = 'max_loop_turns')
    ) as steps
from turns as t
join loops as l on l.id = t.loop_id;

-- The sums that the budget states, in tokens, and the length of all that stands before it. Tokens are counted from the
-- bottom up, each sum converted once, so that floor, premium and the rest make up the usage exactly.
create view packet_accounts as
select
    f.turn_id,
    f.context_chars,
    f.divisor,
    f.ceiling,
    f.visible,
    f.summarized,
    token_estimate(f.floor, f.divisor) as floor,
    token_estimate(f.floor + f.premium, f.divisor) - token_estimate(f.floor, f.divisor) as premium,
    f.lines,
    case
        when w.steps - w.step + 1 <= w.steps / 4
            then 'Turns: ' || (w.steps - w.step + 1) || ' of ' || w.steps
                || ' left, this one included. Finish now: give the answer that you have.' || char(10)
        when w.steps - w.step + 1 <= w.steps / 2
            then 'Turns: ' || (w.steps - w.step + 1) || ' of ' || w.steps
                || ' left, this one included. More than half are used: head for the result.' || char(10)
        else ''
    end as warning
from (
    select
        t.id as turn_id,
        coalesce(t.context_chars, 0) as context_chars,
        coalesce(t.divisor, b.divisor) as divisor,
        b.ceiling,
        coalesce(sum(s.visible), 0) as visible,
        coalesce(sum(s.summarized), 0) as summarized,
        coalesce(sum(s.floor), 0) as floor,
        coalesce(sum(s.premium), 0) as premium,
        '| scheme | visible | tokens | % |' || char(10) || '|---|---|---|---|' || char(10) || coalesce(
            group_concat(
                '| ' || s.kind || ' | ' || s.visible || ' | ' || token_estimate(s.premium, coalesce(t.divisor, b.divisor))
                || ' | ' || (100 * token_estimate(s.premium, coalesce(t.divisor, b.divisor)) / max(b.ceiling, 1)) || ' |'
                || char(10), ''
            ) filter (where s.visible > 0), ''
        ) as lines
    from turns as t indexed by idx_turns_one_open
    join loop_ceilings as b on b.loop_id = t.loop_id
    left join (select * from packet_schemes order by premium desc) as s on s.turn_id = t.id
    where t.phase <> 'judged'
    group by t.id
) as f
join turn_steps as w on w.turn_id = f.turn_id
-- one row each: grouped, so that each figure is made once
group by f.turn_id;

create view packet_budget as
-- The live accounting: how full the context is, what fills it, and how many turns are left once half of them are used. What
-- depends on its own length is padded, so that this is known beforehand.
select
    turn_id,
    '<budget tokenUsage="' || usage || '" tokensFree="' || free || '"'
    || substr('                    ', 1, 20 - length(usage) - length(free)) || '>' || char(10)
    || lines
    || 'Summarized: ' || summarized || ' entries, ' || floor || ' tokens (' || (100 * floor / max(ceiling, 1))
    || '% of budget).' || char(10)
    || 'System: ' || (usage - floor - premium) || ' tokens (' || (100 * (usage - floor - premium) / max(ceiling, 1))
    || '% of budget).'
    || substr(
        '                    ', 1,
        20 - length(usage - floor - premium) - length(100 * (usage - floor - premium) / max(ceiling, 1))
    ) || char(10)
    || 'Total: ' || visible || ' visible + ' || summarized || ' summarized entries; tokenUsage ' || usage || ' / ceiling '
    || ceiling || '. ' || free || ' tokens free.'
    || substr('                    ', 1, 20 - length(usage) - length(free)) || char(10)
    || warning
    || '</budget>' as text
from (
    select
        *,
        token_estimate(chars, divisor) as usage,
        max(ceiling - token_estimate(chars, divisor), 0) as free
    from (
        select
            *,
            -- 260: the fixed words and paddings of the text above, and the line feed behind it
            context_chars + 260 + length(lines) + length(warning) + 2 * length(summarized) + length(floor)
            + length(100 * floor / max(ceiling, 1)) + length(visible) + length(ceiling) as chars
        from packet_accounts
    )
    group by turn_id
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

-- The same with its tokens, whether it fits, and whether old results of tools are put in short first.
create view fitted_offers as
select id as turn_id, context_chars as chars, lease, context_tokens as tokens, 0 as fits, 0 as condense
from turns
where false;

-- The share of the ceiling above which an open turn's packet is condensed; a row only where one is set.
create view condense_ratios as
select turn_id, ratio
from (
    select
        t.id as turn_id,
        cast(
            coalesce(
                json_extract(l.config, '$.condense_ratio'),
                (select nullif(value, '') from settings where name = 'condense_ratio')
            ) as real
        ) as ratio
    from turns as t
    join loops as l on l.id = t.loop_id
    where t.phase <> 'judged' and t.phase = 'assembling'
)
where ratio > 0;

-- What condensing an open turn's packet puts in short: results of tools, that is records in the log and the channels of
-- tools, which are shown whole and are shorter in short; all but the newest four.
create view condensable_results as
select turn_id, entry_id, path, turn, tokens
from (
    select
        t.id as turn_id,
        c.entry_id,
        c.path,
        c.turn,
        token_estimate(c.premium, c.divisor) as tokens,
        row_number() over (partition by t.id order by c.turn desc, c.entry_id desc) as place
    from turns as t indexed by idx_turns_one_open
    cross join context_costs as c on c.run_id = t.run_id
    where t.phase <> 'judged' and t.phase = 'assembling'
        and c.visibility = 'visible'
        and c.premium > 0
        and (c.category = 'logging' or c.kind in (select name from tools))
)
where place > 4;

-- Put old results of tools in short: insert into condensations (turn_id).
create view condensations as
select id as turn_id
from turns
where condensed;

-- What was demoted, a line each, as the model is told.
create view demotion_lines as
select turn_id, step, '* ' || path || ' (turn ' || turn || ', ' || tokens || ' tokens)' as line
from demotions
order by turn_id, path;

-- One step of the ladder: insert into ladder_steps (turn_id, from_step).
create view ladder_steps as
select id as turn_id, ladder as from_step
from turns
where false;

-- triggers

create trigger packet_offers__fit
instead of insert on packet_offers
begin
    insert into fitted_offers (turn_id, chars, lease, tokens, fits, condense)
    select
        t.id, new.chars, new.lease, token_estimate(new.chars, coalesce(t.divisor, b.divisor)),
        token_estimate(new.chars, coalesce(t.divisor, b.divisor)) <= b.ceiling,
        not t.condensed
        and token_estimate(new.chars, coalesce(t.divisor, b.divisor))
            > b.ceiling * coalesce((select q.ratio from condense_ratios as q where q.turn_id = t.id), 9e9)
        and exists (select 1 from condensable_results as c where c.turn_id = t.id)
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
        phase = case when new.fits and not new.condense then 'asking' else phase end,
        seen_at = case when new.fits and not new.condense then (select coalesce(max(id), 0) + 1 from events) end
    where id = new.turn_id;
    insert into events (at, run_id, turn_id, kind)
    select now(), run_id, id, 'turn.asked'
    from turns
    where id = new.turn_id and new.fits and not new.condense;
    insert into condensations (turn_id)
    select id
    from turns
    where id = new.turn_id and new.condense;
    insert into ladder_steps (turn_id, from_step)
    select id, ladder
    from turns
    where id = new.turn_id and not new.fits and not new.condense;
end;

-- Once a turn; nothing is lost, and the model is told once.
create trigger condensations__condense
instead of insert on condensations
begin
    insert into demotions (turn_id, entry_id, step, path, turn, tokens)
    select turn_id, entry_id, 1, path, turn, tokens
    from condensable_results
    where turn_id = new.turn_id;
    insert into events (at, run_id, turn_id, kind, detail)
    select now(), t.run_id, t.id, 'context.condensed', json_object('entries', count(*), 'tokens', sum(d.tokens))
    from turns as t
    join demotions as d on d.turn_id = t.id and d.step = 1
    where t.id = new.turn_id
    having count(*) > 0;
    update run_views
    set visibility = 'summarized', since = (select max(id) from events)
    where run_id = (select run_id from turns where id = new.turn_id)
        and entry_id in (select entry_id from demotions where turn_id = new.turn_id and step = 1);
    insert into entry_writes (run_id, path, body, attributes, state, writer, turn, loop_id)
    select
        t.run_id,
        'log://turn_' || t.sequence || '/budget/condensed',
        'Condensed: ' || (
            select count(*) || ' old results, ' || sum(tokens) || ' tokens' from demotions where turn_id = t.id and step = 1
        ) || ', are shown in short from now on; get what you still need.' || char(10) || (
            select group_concat(line, char(10))
            from (select line from demotion_lines where turn_id = t.id and step = 1 limit 50)
        ),
        '{"action":"budget"}',
        'resolved',
        'system',
        t.sequence,
        t.loop_id
    from turns as t
    where t.id = new.turn_id;
    update turns
    set condensed = 1
    where id = new.turn_id;
end;

-- First what the turn before brought into view, then the prompt, then the end. A step that frees nothing is passed over.
create trigger ladder_steps__take
instead of insert on ladder_steps
begin
    insert into demotions (turn_id, entry_id, step, path, turn, tokens)
    select t.id, c.entry_id, 2, c.path, c.turn, token_estimate(c.premium, c.divisor)
    from turns as t
    join context_costs as c on c.run_id = t.run_id
    where t.id = new.turn_id
        and new.from_step = 0
        and c.visibility = 'visible'
        and c.touched = t.sequence - 1
        and c.category <> 'prompt'
    on conflict do nothing;
    insert into demotions (turn_id, entry_id, step, path, turn, tokens)
    select t.id, c.entry_id, 3, c.path, c.turn, token_estimate(c.premium, c.divisor)
    from turns as t
    join context_costs as c on c.run_id = t.run_id
    where t.id = new.turn_id
        and c.visibility = 'visible'
        and c.is_task
        and (
            new.from_step = 2
            or (new.from_step = 0 and not exists (select 1 from demotions as d where d.turn_id = t.id and d.step = 2))
        )
    on conflict do nothing;
    insert into events (at, run_id, turn_id, kind, detail)
    select now(), t.run_id, t.id, 'context.demoted', json_object('entries', count(*), 'tokens', sum(d.tokens))
    from turns as t
    join demotions as d on d.turn_id = t.id and d.step > 1
    where t.id = new.turn_id
    having count(*) > 0;
    update run_views
    set visibility = 'summarized', since = (select max(id) from events)
    where run_id = (select run_id from turns where id = new.turn_id)
        and visibility = 'visible'
        and entry_id in (select entry_id from demotions where turn_id = new.turn_id and step > 1);
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
        || (select count(*) || ' entries, ' || sum(tokens) || ' tokens' from demotions where turn_id = t.id and step > 1)
        || '; get what you still need, in slices.' || char(10) || (
            select group_concat(line, char(10))
            from (select line from demotion_lines where turn_id = t.id and step > 1 limit 50)
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
            when exists (select 1 from demotions where turn_id = new.turn_id and step = 2) then 2
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
