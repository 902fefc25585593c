-- Rule reports: why rules were loaded for a prompt or not, and what that cost.
-- They call no function, so that any SQLite answers them.
-- spec: @rule_explanation

-- views

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
