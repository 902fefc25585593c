-- The section of rules: the text with the rules in the packets of a loop, made once for a loop and stored.
-- It stands before the budget, behind all that a provider may have cached. Rules are texts of a project: each is one
-- line that opens and closes no fence, and the tag around them is one that they do not hold.
-- spec: @rule_section @fences

-- tables

-- The lines of the section in their order. A rule of a domain refers to its text.
create table if not exists rule_lines (
    selection_id integer not null
        constraint rule_lines_selection references rule_selections (id) on delete cascade,
    ordinal integer not null,
    part text not null,
    -- the bracket, the domain or the star-command
    label text,
    -- of the rule; of a loaded domain how many it has
    number integer,
    text text,
    content_id integer constraint rule_lines_content references contents (id),
    primary key (selection_id, ordinal)
) strict, without rowid;

-- The lines that a selection would have, with what they take together from the first one on.
create table if not exists _rule_drafts (
    ordinal integer primary key,
    part text not null,
    label text,
    number integer,
    text text,
    content_id integer,
    fits integer not null
) strict;

-- seeds

insert into packet_sections (name, profile, role, ordinal, source, template, live, cached, stamps) values
    ('rules', 'full', 'user', 170, '_packet_rules', 'rules', 0, 0, '_rule_stamps')
on conflict (profile, role, name) do update set source = excluded.source, stamps = excluded.stamps;

-- views

-- The selection that is being made.
create view _newest_selection as
select *
from rule_selections
where id = (select max(id) from rule_selections);

-- The rules of each domain, but those that were removed from the view of its run: this had one, and has none.
create view _selection_rules as
select r.*
from _rules as r
where not exists (
        select 1
        from _newest_selection as s
        join run_view_versions as h on h.run_id = s.run_id and h.entry_id = r.entry_id
        where not exists (select 1 from run_views as v where v.run_id = s.run_id and v.entry_id = r.entry_id)
    );

-- What the newest selection has to say, in the order of part and place. 'chars' is what a line takes of the room, null for
-- one that is always shown.
create view _selection_lines as
select
    1 as part_order,
    0 as place,
    0 as step,
    'bracket' as part,
    s.bracket as label,
    null as number,
    case s.basis
        when 'context' then s.context_left || ' % of the context is left'
        else 'prompt ' || s.prompts || coalesce(
            '/' || (
                select min(n.after_prompts)
                from bracket_list as n
                where n.rule_set_id = s.rule_set_id and n.after_prompts >= s.prompts
            ), ''
        )
    end as text,
    null as content_id,
    null as chars
from _newest_selection as s
where s.bracket is not null
union all
select 2, 0, r.ordinal, 'bracket_rule', s.bracket, r.ordinal, r.text, null, length(r.text)
from _newest_selection as s
join bracket_list as b on b.rule_set_id = s.rule_set_id and b.bracket = s.bracket and b.is_enabled
join brackets as o on o.name = s.bracket
join bracket_rules as r on r.rule_set_id = s.rule_set_id and r.bracket = o.rules_of
union all
select 3, f.ordinal, 0, 'star_command', f.name, null, c.description, null, length(c.description)
from _newest_selection as s
join rule_findings as f on f.selection_id = s.id
join _selection_star_commands as c on c.selection_id = f.selection_id and c.name = f.name
where f.kind = 'star_command'
union all
select 3, f.ordinal, r.ordinal, 'star_rule', f.name, r.ordinal, r.text, null, length(r.text)
from _newest_selection as s
join rule_findings as f on f.selection_id = s.id
join _selection_star_commands as c on c.selection_id = f.selection_id and c.name = f.name
join star_command_rules as r on r.star_command_id = c.star_command_id
where f.kind = 'star_command'
union all
select 4, 0, 0, 'devmode', null, devmode, null, null, null
from _newest_selection
union all
select
    5, min(f.ordinal), 0, 'loaded', f.name,
    (select count(*) from _selection_rules as r where r.domain_id = f.domain_id),
    case f.kind
        when 'always_on' then 'always_on'
        else 'matched: ' || group_concat('"' || f.word || '"' || coalesce(' (' || f.path || ')', ''), ', ')
    end || coalesce(', from ' || (select d.file from rule_domains as d where d.id = f.domain_id), ''),
    null, 40
from _newest_selection as s
join rule_findings as f on f.selection_id = s.id
where f.kind in ('always_on', 'matched')
group by f.selection_id, f.kind, f.name, f.domain_id
union all
select 6, f.first, r.place, 'rule', f.name, null, null, r.content_id, r.chars
from (
    select x.selection_id, x.name, x.domain_id, min(x.ordinal) as first
    from _newest_selection as s
    join rule_findings as x on x.selection_id = s.id
    where x.kind in ('always_on', 'matched')
    group by x.selection_id, x.name, x.domain_id
) as f
join _selection_rules as r on r.domain_id = f.domain_id
union all
select
    7, min(f.ordinal), 0, f.kind, f.name, null, group_concat('"' || f.word || '"', ', '), null, 20
from _newest_selection as s
join rule_findings as f on f.selection_id = s.id
where f.kind in ('excluded', 'global_exclude')
group by f.selection_id, f.kind, f.name
union all
select
    8, f.ordinal, 0, 'available', f.name, null,
    (
        select group_concat(k.word, ', ')
        from (
            select word from rule_keywords where domain_id = f.domain_id and kind = 'recall' order by id limit 8
        ) as k
    ),
    null, 80
from _newest_selection as s
join rule_findings as f on f.selection_id = s.id
where f.kind = 'available';

-- The section of a turn.
create view _packet_rules as
select
    t.id as turn_id,
    s.tag,
    l.part,
    l.label,
    l.number,
    coalesce(l.text, fence_line(c.body)) as text
from turns as t
join rule_selections as s on s.loop_id = t.loop_id
join rule_lines as l on l.selection_id = s.id
left join contents as c on c.id = l.content_id
order by l.ordinal;

-- The selection that these are made of; null where there is none.
create view _rule_stamps as
select t.id as turn_id, s.id as stamp
from turns as t
join rule_selections as s on s.loop_id = t.loop_id;

-- Make the lines of a selection: insert into _lay_rules (selection_id).
create view _lay_rules as
select id as selection_id
from rule_selections
where false;

-- The rules that the prompt of a turn's loop calls up, one row a domain or star-command, as _lay_rules made them.
create view _compact_rules as
select turn_id, label, min(ordinal) as ordinal, group_concat('- ' || text, char(10)) as body
from (
    select t.id as turn_id, l.part, l.label, l.ordinal, coalesce(l.text, fence_line(c.body)) as text
    from turns as t
    join rule_selections as s on s.loop_id = t.loop_id
    join rule_lines as l on l.selection_id = s.id and l.part in ('star_rule', 'rule')
    left join contents as c on c.id = l.content_id
    order by t.id, l.part, l.label, l.ordinal
)
group by turn_id, part, label;

create view _compact_fixed_parts__rules as
select turn_id, 'rules' as part, '' as path, group_concat(body, char(10)) as body, -2 as turn, 0 as entry_id
from (select * from _compact_rules order by turn_id, ordinal)
group by turn_id;

create view _quotable_texts__rules as
select turn_id, cast('rule://' || label as text) as path, cast(body as text) as body
from _compact_rules;

-- triggers

-- What has no room is left out from the end, and said. The rules become entries that the run finds, archived.
create trigger _lay_rules__lay
instead of insert on _lay_rules
begin
    insert into _rule_drafts (ordinal, part, label, number, text, content_id, fits)
    select
        row_number() over line, part, label, number, text, content_id,
        chars is null
        or sum(chars + coalesce(length(label), 0) + 8) over line <= (select room from _newest_selection)
    from _selection_lines
    window line as (order by part_order, place, step rows unbounded preceding);
    insert into rule_lines (selection_id, ordinal, part, label, number, text, content_id)
    -- of what is left out none stands before a rule that fits, so these are numbered alone
    select
        new.selection_id, ordinal, part, label,
        case part when 'rule' then row_number() over (partition by part, label order by ordinal) else number end,
        fence_line(text), content_id
    from _rule_drafts
    where fits
    union all
    select new.selection_id, 1000000, 'left_out', null, count(*), null, null
    from _rule_drafts
    where not fits
    having count(*) > 0;
    delete from _rule_drafts;
    update rule_selections
    set chars = (
            select coalesce(sum(c.chars), 0)
            from rule_lines as l
            join contents as c on c.id = l.content_id
            where l.selection_id = new.selection_id
        ),
        all_chars = (
            select coalesce(sum(r.chars), 0)
            from _rule_candidates as d
            cross join _selection_rules as r on r.domain_id = d.domain_id
        ),
        tag = (
            select fence_tag('rules', coalesce(group_concat(coalesce(l.text, c.body), char(10)), ''))
            from rule_lines as l
            left join contents as c on c.id = l.content_id
            where l.selection_id = new.selection_id
        )
    where id = new.selection_id;
    -- the scope of a folder above, in which the run makes no entries
    insert into run_scopes (run_id, scope, kind)
    select s.run_id, o.scope, 'inherited'
    from rule_selections as s
    join _project_rule_sets as p on p.project_id = s.project_id
    join _rule_scopes as o on o.rule_set_id = p.rule_set_id
    where s.id = new.selection_id
        and s.loop_id is not null
        and not exists (select 1 from run_scopes as x where x.run_id = s.run_id and x.scope = o.scope);
    insert into run_views (run_id, entry_id, visibility, state, writer, turn, last_used_turn, since)
    select s.run_id, r.entry_id, 'archived', 'resolved', 'system', 0, 0, (select coalesce(max(id), 0) + 1 from events)
    from rule_selections as s
    cross join _rule_candidates as d
    cross join _selection_rules as r on r.domain_id = d.domain_id
    where s.id = new.selection_id
        and s.loop_id is not null
        and not exists (select 1 from _run_paths as p where p.run_id = s.run_id and p.path = r.path);
end;
