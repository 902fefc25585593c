-- Packet: what a message to the model is made of, section by section.
-- The renderer lays out the rows of each section's view with the template of that name: no filtering, no arithmetic, no
-- state. To add a section: a row, a view, a template.
-- spec: @packet_structure @prefix_stability

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
    -- 2: rendered as often, and at first with the others, because it tells the size and is a part of it; it stays as long
    live integer not null default 0 constraint packet_sections_live_flag check (live in (0, 1, 2)),
    -- 1: up to its last row it is often what it was, so a provider may cache up to there
    cached integer not null default 0 constraint packet_sections_cached_flag check (cached in (0, 1)),
    primary key (profile, role, name)
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
    -- a prompt with figures tells the size as well
    case
        when s.name = 'prompt' and (select value from settings where name = 'prompt_figures') = '1' then 2
        else s.live
    end as live,
    s.cached
from turns as t
join runs as r on r.id = t.run_id
join loops as l on l.id = t.loop_id
left join models as m on m.alias = coalesce(l.model, r.model)
join packet_sections as s on s.profile = coalesce(m.profile, 'full')
where s.source is null or s.source in (select name from sqlite_schema)
order by s.role = 'user', s.ordinal, s.name;

-- Make a turn ready for its packet: insert into packet_preparations (turn_id).
create view packet_preparations as
select id as turn_id
from turns
where phase = 'assembling';
