-- Rule reports: why rules were loaded for a prompt or not, and what that cost.
-- They call no function, so that any SQLite answers them.
-- spec: @rule_explanation

-- views

-- The rules that can be found.
create view _known_texts__rules as
select
    'rule' as kind, coalesce('project:' || j.id, 'global') as scope, r.path as name, null as entry_id, null as content_id,
    r.domain || ': ' || substr(r.rule, 1, 4000) as text
from rule_list as r
left join projects as j on j.root = r.folder;

create view rule_matches as
-- Why rules were loaded for a prompt or not, a row for each word: select * from rule_matches where run = 'demo'. 'found' is
-- always_on, matched, excluded, global_exclude, available or star_command; 'word' is what called it up, 'excluded_by' what
-- kept it away, 'path' the file that a glob matched.
select
    r.alias as run,
    l.sequence as loop,
    s.turn,
    s.prompts,
    s.bracket,
    f.kind as found,
    case when f.kind <> 'star_command' then f.name end as domain,
    case when f.kind = 'star_command' then f.name end as star_command,
    case when f.kind not in ('excluded', 'global_exclude') then f.word end as word,
    case when f.kind in ('excluded', 'global_exclude') then f.word end as excluded_by,
    f.path
from rule_selections as s
join runs as r on r.id = s.run_id
join loops as l on l.id = s.loop_id
join rule_findings as f on f.selection_id = s.id
order by r.alias, l.sequence, f.ordinal;

create view rule_loads as
-- What the rules of each prompt cost and saved, in tokens a packet: those that its packets show, and those of active
-- domains that they need not.
select
    r.alias as run,
    l.sequence as loop,
    s.turn,
    s.bracket,
    (
        select count(distinct f.name)
        from rule_findings as f
        where f.selection_id = s.id and f.kind in ('always_on', 'matched')
    ) as domains,
    (select count(*) from rule_findings as f where f.selection_id = s.id and f.kind = 'star_command') as star_commands,
    (select count(*) from turns as t where t.loop_id = l.id) as turns,
    cast(s.chars / l.chars_per_token + 0.5 as integer) as tokens,
    cast(max(s.all_chars - s.chars, 0) / l.chars_per_token + 0.5 as integer) as saved_tokens
from rule_selections as s
join runs as r on r.id = s.run_id
join loops as l on l.id = s.loop_id
order by r.alias, l.sequence;

create view run_rules as
-- The rules of each run as its latest prompt had them: select * from run_rules where run = 'demo'. 'prompts' counts its
-- prompts up to that one; 'domains' and 'star_commands' are JSON arrays of what was loaded; 'overrides' is a JSON object of
-- what the run has otherwise than its set, devmode and domains: 1 on, 0 off. A run without rules has no row.
select
    r.alias as run,
    coalesce(s.prompts, 0) as prompts,
    s.bracket,
    s.basis as bracket_basis,
    s.context_left,
    s.devmode,
    (
        select json_group_array(d.name)
        from (
            select f.name
            from rule_findings as f
            where f.selection_id = s.id and f.kind in ('always_on', 'matched') and f.name is not null
            group by f.name
            order by min(f.ordinal)
        ) as d
    ) as domains,
    (
        select json_group_array(d.name)
        from (
            select f.name
            from rule_findings as f
            where f.selection_id = s.id and f.kind = 'star_command'
            group by f.name
            order by min(f.ordinal)
        ) as d
    ) as star_commands,
    (
        select json_group_object(case o.kind when 'devmode' then 'devmode' else 'domain ' || o.name end, o.is_on)
        from (
            select kind, name, is_on
            from rule_overrides
            where run_id = r.id
            order by kind, name
        ) as o
    ) as overrides
from runs as r
left join rule_selections as s
    on s.id = (select max(x.id) from rule_selections as x where x.run_id = r.id and x.loop_id is not null)
where s.id is not null or exists (select 1 from rule_overrides as o where o.run_id = r.id);
