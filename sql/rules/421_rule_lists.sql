-- Rule lists: the rules of the file as people read them.
-- They call no function, so that any SQLite answers them.
-- spec: @rule_domains @rule_brackets

-- views

create view rule_domain_list as
-- The domains of rules: of which folder they are (null: of all), whether they are active and always on, their words and
-- globs, how many rules they have and which file these came from: select * from rule_domain_list.
select
    j.root as folder,
    d.name as domain,
    d.is_active,
    d.always_on,
    (select max(k.is_whole) from rule_keywords as k where k.domain_id = d.id) as whole_words,
    (
        select group_concat(k.word, ', ')
        from (select word from rule_keywords where domain_id = d.id and kind = 'recall' order by id) as k
    ) as recall,
    (
        select group_concat(k.word, ', ')
        from (select word from rule_keywords where domain_id = d.id and kind = 'exclude' order by id) as k
    ) as exclude,
    (
        select group_concat(k.word, ', ')
        from (select word from rule_keywords where domain_id = d.id and kind = 'path' order by id) as k
    ) as paths,
    (select count(*) from _rules as r where r.domain_id = d.id) as rules,
    d.file,
    d.id as domain_id,
    d.rule_set_id
from rule_domains as d
join rule_sets as s on s.id = d.rule_set_id
left join projects as j on j.id = s.project_id
order by j.root is null, j.root, d.id;

create view rule_list as
-- The rules in their order, each with its domain and its entry: select * from rule_list where domain = 'testing'.
select
    j.root as folder,
    d.name as domain,
    row_number() over (partition by d.id order by r.place, r.path) as number,
    c.body as rule,
    r.path,
    d.id as domain_id,
    d.rule_set_id
from rule_domains as d
join rule_sets as s on s.id = d.rule_set_id
left join projects as j on j.id = s.project_id
join _rules as r on r.domain_id = d.id
join contents as c on c.id = r.content_id
order by j.root is null, j.root, d.id, r.place, r.path;

create view star_command_list as
-- The star-commands with their rules: select * from star_command_list. 'is_on' is 0 where their set looks for none.
select
    j.root as folder,
    c.name as star_command,
    c.description,
    (
        select group_concat(t.text, char(10))
        from (select text from star_command_rules where star_command_id = c.id order by ordinal) as t
    ) as rules,
    c.id as star_command_id,
    c.rule_set_id,
    s.star_commands as is_on
from star_commands as c
join rule_sets as s on s.id = c.rule_set_id
left join projects as j on j.id = s.project_id
order by j.root is null, j.root, c.id;

create view bracket_list as
-- The brackets of each set of rules: after how many prompts, or below which share of the context in percent, one begins,
-- and its rules: select * from bracket_list. 'is_on' is 0 where its set tells of none, 'is_enabled' where it is told without
-- its rules.
select
    j.root as folder,
    b.name as bracket,
    coalesce(o.after_prompts, b.after_prompts) as after_prompts,
    coalesce(o.below_percent, b.below_percent) as below_percent,
    coalesce(
        (select r.is_enabled from rule_brackets as r where r.rule_set_id = s.id and r.bracket = b.rules_of), 1
    ) as is_enabled,
    (
        select group_concat(t.text, char(10))
        from (
            select text from bracket_rules where rule_set_id = s.id and bracket = b.name order by ordinal
        ) as t
    ) as rules,
    s.bracket_basis as basis,
    s.id as rule_set_id,
    b.ordinal,
    s.brackets as is_on
from rule_sets as s
join brackets as b
left join rule_brackets as o on o.rule_set_id = s.id and o.bracket = b.name
left join projects as j on j.id = s.project_id
order by j.root is null, j.root, b.ordinal;

create view rule_warnings as
-- What is odd in the rules, a sentence each: brackets out of order, a domain that nothing calls up, rules of a domain that
-- there is not, a file of rules that cannot be read any more.
select j.root as folder, o.problem as warning
from rule_sources as o
join rule_sets as s on s.id = o.rule_set_id
left join projects as j on j.id = s.project_id
where o.problem is not null
union all
select b.folder, b.bracket || ' begins before ' || a.bracket || ' ends; the later one wins'
from bracket_list as a
join bracket_list as b on b.rule_set_id = a.rule_set_id and b.ordinal = a.ordinal + 1
where case a.basis when 'prompts' then b.after_prompts <= a.after_prompts else b.below_percent >= a.below_percent end
union all
select folder, 'domain ' || domain || ': is never loaded; give it words or paths, or make it always-on'
from rule_domain_list
where is_active and not always_on and recall is null and paths is null
union all
select folder, 'domain ' || domain || ': has no rules'
from rule_domain_list
where is_active and rules = 0
union all
select j.root, e.path || ': does not exist; to create the domain, use ''engine rules new'''
from entries as e
left join projects as j on e.scope = 'project:' || j.id
where e.kind = 'rule'
    and (e.scope = 'global' or e.scope glob 'project:*')
    and exists (select 1 from contents as c where c.id = e.content_id and c.body <> '')
    and not exists (
        select 1
        from rule_domains as d
        join _rule_scopes as s on s.rule_set_id = d.rule_set_id
        where s.scope = e.scope and e.path > 'rule://' || d.name || '/' and e.path < 'rule://' || d.name || '0'
    );
