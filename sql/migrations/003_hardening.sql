-- Version 3: names that say what they hold, fences that the texts inside of them cannot
-- close, and what runs over real projects taught.
-- spec: @rebuild @fences

create table _file_constraints (
    id integer primary key,
    project_id integer not null
        constraint file_constraints_project references projects (id) on delete cascade,
    pattern text not null constraint file_constraints_pattern_not_empty check (trim(pattern) <> ''),
    rule text not null constraint file_constraints_rule check (rule in ('add', 'readonly', 'ignore')),
    created_at integer not null,
    constraint file_constraints_once unique (project_id, pattern)
) strict;

insert into _file_constraints (id, project_id, pattern, rule, created_at)
select id, project_id, pattern, visibility, created_at
from file_constraints;

drop table file_constraints;

alter table _file_constraints rename to file_constraints;

alter table contents add column fence text;

update contents
set fence = fence_suffix(body, summary)
where instr(body, ':::') or instr(summary, ':::');

alter table entries add column shown_path text;

update entries
set shown_path = fence_path(path)
where fence_path(path) is not null;

update _entry_metadata
set head = fence_json(head)
where head <> fence_json(head);

-- a test that is red and a search without a hit are work
update outcomes
set strikes = 0
where name = 'exit';

alter table tools add column reads integer not null default 0
    constraint tools_reads_flag check (reads in (0, 1));

alter table projects add column root_names text
    constraint projects_root_names_json check (root_names is null or json_valid(root_names));

alter table leases add column sandboxes text
    constraint leases_sandboxes_json check (sandboxes is null or json_valid(sandboxes));

-- archiving comes before and after the step that was the third
update turns
set ladder = case ladder when 4 then 6 else 4 end
where ladder in (3, 4);

update demotions
set step = 4
where step = 3;

create index idx_turns_costs on turns (run_id, cost) where cost is not null;

create index idx_turns_unknown_costs on turns (run_id) where response is not null and cost is null;

create table command_policies (
    id integer primary key,
    name text not null constraint command_policies_name_not_empty check (trim(name) <> ''),
    level text not null constraint command_policies_level check (level in ('shipped', 'project', 'run')),
    project_id integer constraint command_policies_project references projects (id) on delete cascade,
    run_id integer constraint command_policies_run references runs (id) on delete cascade,
    program text not null constraint command_policies_program_not_empty check (trim(program) <> ''),
    arguments text not null default '*',
    except_arguments text,
    condition text not null default 'always'
        constraint command_policies_condition check (condition in ('always', 'bare', 'heredoc')),
    decision text not null constraint command_policies_decision check (decision in ('refuse', 'ask', 'accept')),
    message text,
    added_by text not null default 'client',
    created_at integer not null default 0,
    constraint command_policies_owner check (
        (level = 'project') = (project_id is not null) and (level = 'run') = (run_id is not null)
    ),
    constraint command_policies_message check (decision <> 'refuse' or trim(coalesce(message, '')) <> '')
) strict;

create unique index idx_command_policies_shipped on command_policies (program, arguments, condition)
where level = 'shipped';

create table _explained_lines (
    id integer primary key,
    run_id integer,
    project_id integer,
    line text not null
) strict;

create table grants (
    id integer primary key,
    project_id integer not null constraint grants_project references projects (id) on delete cascade,
    run_id integer constraint grants_run references runs (id) on delete cascade,
    kind text not null constraint grants_kind check (kind in ('file_write', 'file_delete', 'process')),
    target text constraint grants_target check (target is not null or run_id is not null),
    granted_by text not null,
    created_at integer not null,
    revoked_at integer
) strict;

create index idx_grants_project_id on grants (project_id, kind) where revoked_at is null;

create table _result_statuses (
    state text not null,
    outcome text not null,
    status integer not null,
    primary key (state, outcome)
) strict, without rowid;

-- rules: sets, domains and their words, star-commands, brackets, and what was selected for each prompt

create table brackets (
    name text primary key,
    ordinal integer not null,
    after_prompts integer not null,
    below_percent integer not null,
    meaning text not null
) strict, without rowid;

create table rule_sets (
    id integer primary key,
    project_id integer constraint rule_sets_project references projects (id) on delete cascade,
    devmode integer not null default 0 constraint rule_sets_devmode_flag check (devmode in (0, 1)),
    star_commands integer not null default 1
        constraint rule_sets_star_commands_flag check (star_commands in (0, 1)),
    strict_stars integer not null default 0 constraint rule_sets_strict_stars_flag check (strict_stars in (0, 1)),
    brackets integer not null default 1 constraint rule_sets_brackets_flag check (brackets in (0, 1)),
    bracket_basis text not null default 'prompts'
        constraint rule_sets_bracket_basis check (bracket_basis in ('prompts', 'context'))
) strict;

create unique index idx_rule_sets_project on rule_sets (project_id) where project_id is not null;

create unique index idx_rule_sets_global on rule_sets (coalesce(project_id, 0)) where project_id is null;

create table rule_domains (
    id integer primary key,
    rule_set_id integer not null constraint rule_domains_set references rule_sets (id) on delete cascade,
    name text not null constraint rule_domains_name_form check (
        name glob '[a-z0-9]*' and name not glob '*[^a-z0-9_-]*' and length(name) <= 60
    ),
    is_active integer not null default 1 constraint rule_domains_is_active_flag check (is_active in (0, 1)),
    always_on integer not null default 0 constraint rule_domains_always_on_flag check (always_on in (0, 1)),
    file text,
    constraint rule_domains_name_once unique (rule_set_id, name)
) strict;

create table rule_keywords (
    id integer primary key,
    rule_set_id integer not null constraint rule_keywords_set references rule_sets (id) on delete cascade,
    domain_id integer constraint rule_keywords_domain references rule_domains (id) on delete cascade,
    kind text not null constraint rule_keywords_kind check (kind in ('recall', 'exclude', 'path')),
    word text not null constraint rule_keywords_word_form check (
        trim(word) <> '' and length(word) <= 200 and not instr(word, char(10))
    ),
    is_whole integer not null default 0 constraint rule_keywords_is_whole_flag check (is_whole in (0, 1)),
    constraint rule_keywords_of_all check (domain_id is not null or kind = 'exclude')
) strict;

create unique index idx_rule_keywords_word
on rule_keywords (rule_set_id, coalesce(domain_id, 0), kind, word);

create index idx_rule_keywords_found on rule_keywords (rule_set_id, is_whole, word);

create index idx_rule_keywords_domain on rule_keywords (domain_id, kind, word);

create table star_commands (
    id integer primary key,
    rule_set_id integer not null constraint star_commands_set references rule_sets (id) on delete cascade,
    name text not null constraint star_commands_name_form check (
        name glob '[a-z]*' and name not glob '*[^a-z0-9_]*' and length(name) <= 60
    ),
    description text not null default '',
    constraint star_commands_name_once unique (rule_set_id, name)
) strict;

create table star_command_rules (
    star_command_id integer not null
        constraint star_command_rules_command references star_commands (id) on delete cascade,
    ordinal integer not null,
    text text not null
        constraint star_command_rules_text_form check (trim(text) <> '' and length(text) <= 2000),
    primary key (star_command_id, ordinal)
) strict, without rowid;

create table rule_brackets (
    rule_set_id integer not null constraint rule_brackets_set references rule_sets (id) on delete cascade,
    bracket text not null constraint rule_brackets_bracket references brackets (name),
    after_prompts integer constraint rule_brackets_after_prompts_range check (after_prompts >= 0),
    below_percent integer constraint rule_brackets_below_percent_range check (below_percent between 0 and 101),
    is_enabled integer not null default 1 constraint rule_brackets_is_enabled_flag check (is_enabled in (0, 1)),
    primary key (rule_set_id, bracket)
) strict, without rowid;

create table bracket_rules (
    rule_set_id integer not null constraint bracket_rules_set references rule_sets (id) on delete cascade,
    bracket text not null constraint bracket_rules_bracket references brackets (name)
        constraint bracket_rules_not_critical check (bracket <> 'CRITICAL'),
    ordinal integer not null,
    text text not null constraint bracket_rules_text_form check (trim(text) <> '' and length(text) <= 2000),
    primary key (rule_set_id, bracket, ordinal)
) strict, without rowid;

create table rule_overrides (
    run_id integer not null constraint rule_overrides_run references runs (id) on delete cascade,
    kind text not null constraint rule_overrides_kind check (kind in ('devmode', 'domain')),
    name text not null default '',
    is_on integer not null constraint rule_overrides_is_on_flag check (is_on in (0, 1)),
    primary key (run_id, kind, name)
) strict, without rowid;

create table rule_selections (
    id integer primary key,
    loop_id integer constraint rule_selections_loop references loops (id) on delete cascade,
    run_id integer constraint rule_selections_run references runs (id) on delete cascade,
    project_id integer not null constraint rule_selections_project references projects (id),
    turn integer,
    prompts integer not null,
    context_left integer not null,
    rule_set_id integer not null,
    bracket text constraint rule_selections_bracket references brackets (name),
    basis text not null,
    devmode integer not null,
    room integer not null,
    chars integer not null default 0,
    all_chars integer not null default 0,
    tag text not null default 'rules'
) strict;

create unique index idx_rule_selections_loop on rule_selections (loop_id) where loop_id is not null;

create index idx_rule_selections_run on rule_selections (run_id);

create table rule_findings (
    selection_id integer not null
        constraint rule_findings_selection references rule_selections (id) on delete cascade,
    ordinal integer not null,
    kind text not null constraint rule_findings_kind check (
        kind in ('always_on', 'matched', 'excluded', 'global_exclude', 'available', 'star_command')
    ),
    name text,
    word text,
    path text,
    domain_id integer,
    primary key (selection_id, ordinal)
) strict, without rowid;

create table _rule_candidates (
    domain_id integer primary key,
    name text not null,
    always_on integer not null
) strict;

create table _rule_hits (
    domain_id integer not null,
    kind text not null,
    keyword_id integer not null,
    word text not null,
    path text,
    primary key (domain_id, kind, keyword_id)
) strict, without rowid;

create table rule_lines (
    selection_id integer not null
        constraint rule_lines_selection references rule_selections (id) on delete cascade,
    ordinal integer not null,
    part text not null,
    label text,
    number integer,
    text text,
    content_id integer constraint rule_lines_content references contents (id),
    primary key (selection_id, ordinal)
) strict, without rowid;

create table _rule_drafts (
    ordinal integer primary key,
    part text not null,
    label text,
    number integer,
    text text,
    content_id integer,
    fits integer not null
) strict;
