-- Rules: instructions of a person for all prompts, or for prompts that match. They are grouped in domains.
-- A set of rules belongs to a project, or to all projects of the file; a run has the set of its folder or of the
-- nearest folder above it that has one, and the set of all. A rule is an entry rule://domain/NN of the scope of its
-- set. Here stands what there is; 422 says what a prompt calls up, 426 how a packet shows it.
-- needs: nothing
-- spec: @rule_domains @rule_brackets

-- tables

-- The brackets of a run, by the number of its prompts, or by the room that is left in its context.
create table if not exists brackets (
    name text primary key,
    ordinal integer not null,
    -- how many prompts come before it
    after_prompts integer not null,
    -- it begins where less than this share of the context, in percent, is left
    below_percent integer not null,
    -- the bracket that its rules stand under
    rules_of text not null,
    meaning text not null
) strict, without rowid;

-- The sets of rules: project_id is null for the one that holds in all projects of the file.
create table if not exists rule_sets (
    id integer primary key,
    project_id integer constraint rule_sets_project references projects (id) on delete cascade,
    -- 1: the model is asked to end each answer with what was loaded
    devmode integer not null default 0 constraint rule_sets_devmode_flag check (devmode in (0, 1)),
    star_commands integer not null default 1
        constraint rule_sets_star_commands_flag check (star_commands in (0, 1)),
    -- 1: white space stands before the star
    strict_stars integer not null default 0 constraint rule_sets_strict_stars_flag check (strict_stars in (0, 1)),
    brackets integer not null default 1 constraint rule_sets_brackets_flag check (brackets in (0, 1)),
    bracket_basis text not null default 'prompts'
        constraint rule_sets_bracket_basis check (bracket_basis in ('prompts', 'context'))
) strict;

create unique index if not exists idx_rule_sets_project on rule_sets (project_id) where project_id is not null;

create unique index if not exists idx_rule_sets_global on rule_sets (coalesce(project_id, 0)) where project_id is null;

-- Collections of rules, each with words that call it up.
create table if not exists rule_domains (
    id integer primary key,
    rule_set_id integer not null constraint rule_domains_set references rule_sets (id) on delete cascade,
    name text not null constraint rule_domains_name_form check (
        name glob '[a-z0-9]*' and name not glob '*[^a-z0-9_-]*' and length(name) <= 60
    ),
    is_active integer not null default 1 constraint rule_domains_is_active_flag check (is_active in (0, 1)),
    -- 1: loaded for every prompt, whatever it says
    always_on integer not null default 0 constraint rule_domains_always_on_flag check (always_on in (0, 1)),
    -- the file that its rules came from; null: none
    file text,
    constraint rule_domains_name_once unique (rule_set_id, name)
) strict;

-- The folders and files that rules were taken from, which are looked at when a prompt begins.
create table if not exists rule_sources (
    rule_set_id integer not null constraint rule_sources_set references rule_sets (id) on delete cascade,
    -- relative to the folder of the set where it is below that
    place text not null,
    -- a JSON object: of each file that was read its time, size and SHA-256; null: it was not there
    files text not null constraint rule_sources_files_json check (json_valid(files)),
    -- a JSON object: of each domain, star-command and bracket that came from here the digest of what was said of it
    items text not null constraint rule_sources_items_json check (json_valid(items)),
    -- why it could not be read when it was looked at last; null: it could
    problem text,
    primary key (rule_set_id, place)
) strict, without rowid;

-- The words that call a domain up (recall) or keep it away (exclude), and globs over files that call it up (path). Without
-- a domain: a word that keeps all of them away.
create table if not exists rule_keywords (
    id integer primary key,
    rule_set_id integer not null constraint rule_keywords_set references rule_sets (id) on delete cascade,
    domain_id integer constraint rule_keywords_domain references rule_domains (id) on delete cascade,
    kind text not null constraint rule_keywords_kind check (kind in ('recall', 'exclude', 'path')),
    word text not null constraint rule_keywords_word_form check (
        trim(word) <> '' and length(word) <= 200 and not instr(word, char(10))
    ),
    -- 1: found only as a whole word of the prompt
    is_whole integer not null default 0 constraint rule_keywords_is_whole_flag check (is_whole in (0, 1)),
    constraint rule_keywords_of_all check (domain_id is not null or kind = 'exclude')
) strict;

create unique index if not exists idx_rule_keywords_word
on rule_keywords (rule_set_id, coalesce(domain_id, 0), kind, word);

create index if not exists idx_rule_keywords_found on rule_keywords (rule_set_id, is_whole, word);

create index if not exists idx_rule_keywords_domain on rule_keywords (domain_id, kind, word);

-- Rules that a prompt calls up by *name.
create table if not exists star_commands (
    id integer primary key,
    rule_set_id integer not null constraint star_commands_set references rule_sets (id) on delete cascade,
    name text not null constraint star_commands_name_form check (
        name glob '[a-z]*' and name not glob '*[^a-z0-9_]*' and length(name) <= 60
    ),
    description text not null default '',
    constraint star_commands_name_once unique (rule_set_id, name)
) strict;

create table if not exists star_command_rules (
    star_command_id integer not null
        constraint star_command_rules_command references star_commands (id) on delete cascade,
    ordinal integer not null,
    text text not null
        constraint star_command_rules_text_form check (trim(text) <> '' and length(text) <= 2000),
    primary key (star_command_id, ordinal)
) strict, without rowid;

-- What a set of rules says of a bracket; null: as the bracket itself.
create table if not exists rule_brackets (
    rule_set_id integer not null constraint rule_brackets_set references rule_sets (id) on delete cascade,
    bracket text not null constraint rule_brackets_bracket references brackets (name),
    after_prompts integer constraint rule_brackets_after_prompts_range check (after_prompts >= 0),
    below_percent integer constraint rule_brackets_below_percent_range check (below_percent between 0 and 101),
    -- 0: its rules are not told
    is_enabled integer not null default 1 constraint rule_brackets_is_enabled_flag check (is_enabled in (0, 1)),
    primary key (rule_set_id, bracket)
) strict, without rowid;

-- The rules of brackets; CRITICAL has those of DEPLETED.
create table if not exists bracket_rules (
    rule_set_id integer not null constraint bracket_rules_set references rule_sets (id) on delete cascade,
    bracket text not null constraint bracket_rules_bracket references brackets (name)
        constraint bracket_rules_not_critical check (bracket <> 'CRITICAL'),
    ordinal integer not null,
    text text not null constraint bracket_rules_text_form check (trim(text) <> '' and length(text) <= 2000),
    primary key (rule_set_id, bracket, ordinal)
) strict, without rowid;

-- What a run has otherwise than its set: devmode, or whether a domain is active. A domain that there is not is ignored.
create table if not exists rule_overrides (
    run_id integer not null constraint rule_overrides_run references runs (id) on delete cascade,
    kind text not null constraint rule_overrides_kind check (kind in ('devmode', 'domain')),
    -- of the domain; '' for devmode
    name text not null default '',
    is_on integer not null constraint rule_overrides_is_on_flag check (is_on in (0, 1)),
    primary key (run_id, kind, name)
) strict, without rowid;

-- seeds

insert into brackets (name, ordinal, after_prompts, below_percent, rules_of, meaning) values
    ('FRESH', 1, 0, 101, 'FRESH', 'prompts 1 to 15, or 70 % or more of the context is free'),
    ('MODERATE', 2, 15, 70, 'MODERATE', 'prompts 16 to 35, or less than 70 % is free'),
    ('DEPLETED', 3, 35, 40, 'DEPLETED', 'prompts 36 to 50, or less than 40 % is free'),
    ('CRITICAL', 4, 50, 15, 'DEPLETED', 'from prompt 51 on, or less than 15 % is free')
on conflict (name) do update set
    ordinal = excluded.ordinal, after_prompts = excluded.after_prompts, below_percent = excluded.below_percent,
    rules_of = excluded.rules_of, meaning = excluded.meaning;

-- views

-- Rules are chosen before a packet is read.
create view _preparations__rules as
select id as turn_id, 2 as place, 'rules' as what
from turns
where exists (select 1 from rule_sets);

-- The scope in which the rules of a set are entries.
create view _rule_scopes as
select id as rule_set_id, case when project_id is null then 'global' else 'project:' || project_id end as scope
from rule_sets;

-- The sets of rules that hold in a project: that of its folder or of the nearest folder above it, and the one of all.
create view _project_rule_sets as
select project_id, rule_set_id, 0 as is_global
from (
    select
        p.id as project_id,
        (
            select n.id
            from rule_sets as n
            join projects as j on j.id = n.project_id
            where j.id = p.id or substr(p.root, 1, length(rtrim(j.root, '/')) + 1) = rtrim(j.root, '/') || '/'
            order by length(j.root) desc
            limit 1
        ) as rule_set_id
    from projects as p
)
where rule_set_id is not null
union all
select p.id, s.id, 1
from projects as p
join rule_sets as s on s.project_id is null;

-- The rules of each domain, with the number that stands in the path; one without a text is none.
create view _rules as
select
    d.id as domain_id,
    cast(substr(e.path, length(d.name) + 9) as integer) as place,
    e.id as entry_id,
    e.path,
    c.id as content_id,
    c.chars
from rule_domains as d
cross join _rule_scopes as s on s.rule_set_id = d.rule_set_id
cross join entries as e
    on e.scope = s.scope and e.path > 'rule://' || d.name || '/' and e.path < 'rule://' || d.name || '0'
cross join contents as c on c.id = e.content_id and trim(c.body, char(32, 9, 10, 13)) <> '';

-- Write a rule as an entry of its set: insert into _write_rule (rule_set_id, path, body). An empty body takes it away.
create view _write_rule as
select rule_set_id, null as path, null as body
from _rule_scopes
where false;

create view verb_write_rules as
-- Write the rules of a domain, which are all that it then has: insert into verb_write_rules (domain_id, rules). 'rules'
-- is a JSON array of texts.
select id as domain_id, null as rules
from rule_domains
where false;

-- triggers

-- The head of an entry is what all runs follow; a text that is there already changes nothing.
create trigger _write_rule__write
instead of insert on _write_rule
begin
    insert into entries (scope, path, scheme, kind)
    select s.scope, new.path, 'rule', 'rule'
    from _rule_scopes as s
    where s.rule_set_id = new.rule_set_id
        and new.body <> ''
        and not exists (select 1 from entries as e where e.scope = s.scope and e.path = new.path);
    insert into _store_content (path, body)
    select new.path, new.body
    from _rule_scopes as s
    join entries as e on e.scope = s.scope and e.path = new.path
    left join contents as c on c.id = e.content_id
    where s.rule_set_id = new.rule_set_id and c.body is not new.body;
    update entries
    set content_id = (select max(id) from contents), since = (select coalesce(max(id), 0) + 1 from events)
    where path = new.path
        and scope = (select scope from _rule_scopes where rule_set_id = new.rule_set_id)
        and (select body from contents where id = content_id) is not new.body;
end;

-- Rules have two digits, so that their paths are in their order.
create trigger verb_write_rules__write
instead of insert on verb_write_rules
begin
    select fail(404, 'rule domain ' || quote(new.domain_id) || ': not found; see the table rule_domains')
    where not exists (select 1 from rule_domains where id = new.domain_id);
    select fail(400, 'rules of ' || name || ': rules must be a JSON array of texts, not ' || quote(substr(new.rules, 1, 80)))
    from rule_domains
    where id = new.domain_id and case when json_valid(new.rules) then json_type(new.rules) else '' end <> 'array';
    select fail(400, 'rules of ' || d.name || ': rule ' || (j.key + 1) || ' must be a text of 1 to 2,000 characters')
    from rule_domains as d
    join json_each(new.rules) as j
    where d.id = new.domain_id
        and (j.type <> 'text' or trim(j.value) = '' or length(j.value) > 2000 or instr(j.value, char(0)));
    select fail(
        400, 'rules of ' || d.name || ': ' || json_array_length(new.rules) || ' rules are too many; at most 200 are allowed'
    )
    from rule_domains as d
    where d.id = new.domain_id and json_array_length(new.rules) > 200;
    insert into _write_rule (rule_set_id, path, body)
    select d.rule_set_id, 'rule://' || d.name || '/' || printf('%02d', j.key + 1), j.value
    from rule_domains as d
    join json_each(new.rules) as j
    where d.id = new.domain_id
    order by j.key;
    insert into _write_rule (rule_set_id, path, body)
    select d.rule_set_id, r.path, ''
    from rule_domains as d
    join _rules as r on r.domain_id = d.id
    where d.id = new.domain_id
        and r.path not in (
            select 'rule://' || d.name || '/' || printf('%02d', j.key + 1) from json_each(new.rules) as j
        );
end;

-- A fork has the overrides of its parent.
create trigger _copy_views__copy_overrides
instead of insert on _copy_views
begin
    insert into rule_overrides (run_id, kind, name, is_on)
    select new.run_id, kind, name, is_on
    from rule_overrides
    where run_id = new.parent_run_id;
end;
