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

-- '{}' stands for the attributes that the head shows
update _entry_metadata
set attributes = null
where attributes = '{}';

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
        constraint command_policies_condition check (condition in ('always', 'bare', 'heredoc', 'interactive')),
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

-- commands that run on in the background, and requests to end a command
create table jobs (
    effect_id integer primary key constraint jobs_effect references effects (id) on delete cascade,
    run_id integer not null,
    loop_id integer not null,
    lease text,
    identity text not null,
    started_at integer not null,
    ended_at integer,
    state text not null default 'streaming' constraint jobs_state references states (name),
    outcome text,
    exit_code integer,
    detail text not null default '{}' constraint jobs_detail_json check (json_valid(detail))
) strict;

create index idx_jobs_run_id on jobs (run_id, ended_at);

create table job_channels (
    effect_id integer not null constraint job_channels_job references jobs (effect_id) on delete cascade,
    channel integer not null,
    entry_id integer not null,
    printed integer not null default 0,
    dropped integer not null default 0,
    shown integer not null default 0,
    primary key (effect_id, channel)
) strict, without rowid;

create table process_cancels (
    effect_id integer primary key constraint process_cancels_effect references effects (id) on delete cascade,
    asked_by text not null,
    reason text,
    created_at integer not null
) strict;

alter table entry_chunks add column position integer;
-- edits that were taken back, and runs whose name was taken over by a rewind
create table undone_edits (
    run_id integer not null constraint undone_edits_run references runs (id) on delete cascade,
    command_id integer not null constraint undone_edits_command references commands (id) on delete cascade,
    undone_id integer not null constraint undone_edits_undone references commands (id) on delete cascade,
    primary key (run_id, command_id, undone_id)
) strict, without rowid;

create index idx_undone_edits_undone_id on undone_edits (undone_id);

create index idx_undone_edits_command_id on undone_edits (command_id);

create table rewinds (
    command_id integer primary key constraint rewinds_command references commands (id) on delete cascade,
    run_id integer not null constraint rewinds_run references runs (id) on delete cascade,
    from_run_id integer not null constraint rewinds_from_run references runs (id) on delete cascade,
    turn integer not null
) strict;

create index idx_rewinds_run_id on rewinds (run_id);

create index idx_rewinds_from_run_id on rewinds (from_run_id);
-- whether models are told of the tool search, and of functions of an app, depends on who drives the run
alter table leases add column tools text constraint leases_tools_json check (tools is null or json_valid(tools));
-- settings in layers: what a person said of this file, the user's own defaults, those of the project
create table setting_layers (
    name text not null constraint setting_layers_name references settings (name) on delete cascade,
    layer text not null constraint setting_layers_layer check (layer in ('user', 'project', 'file')),
    value text,
    source text,
    confirmed integer not null default 0 constraint setting_layers_confirmed_flag check (confirmed in (0, 1)),
    constraint setting_layers_once primary key (name, layer)
) strict, without rowid;

-- a value that was not seeded was said by a person
insert into setting_layers (name, layer, value)
select name, 'file', value
from (
    select name, value from settings
    except
    values
        ('budget_ceiling', '0.9'),
        ('chars_per_token', '2'),
        ('condense_ratio', null),
        ('context_length', '32768'),
        ('delegated_condense_ratio', '0.75'),
        ('file_max_bytes', '1000000'),
        ('lease_seconds', '30'),
        ('max_commands', '99'),
        ('max_cycle_period', '4'),
        ('max_entry_tokens', '512'),
        ('max_loop_seconds', null),
        ('max_loop_turns', '99'),
        ('max_repeated_commands', '2'),
        ('max_strikes', '3'),
        ('min_cycles', '3'),
        ('model', null),
        ('model_deadline', '600'),
        ('model_timeout', '300'),
        ('persona', 'default'),
        ('process_output_bytes', '1000000'),
        ('process_timeout', '45'),
        ('prompt_figures', '0'),
        ('scan_max_files', '20000'),
        ('temperature', '0.1'),
        ('tokenizer', null)
);
-- pictures: what a file is as one, which models see them, and what packets carried
alter table file_stats add column picture text
    constraint file_stats_picture_json check (picture is null or json_valid(picture));

update file_stats
set mtime_ns = -1
where kind in ('binary', 'too_large');

alter table models add column images integer constraint models_images_flag check (images in (0, 1));

alter table run_views add column picture_chars integer;

create table pictures (
    id integer primary key,
    sha256 text not null constraint pictures_sha256_unique unique,
    format text not null,
    body blob not null
) strict;

create table turn_pictures (
    turn_id integer not null constraint turn_pictures_turn references turns (id) on delete cascade,
    entry_id integer not null constraint turn_pictures_entry references entries (id),
    ordinal integer not null,
    path text not null,
    sha256 text not null,
    line text not null,
    tokens integer not null,
    chars integer not null,
    picture_id integer constraint turn_pictures_picture references pictures (id),
    fault text,
    primary key (turn_id, entry_id)
) strict, without rowid;
-- the closing fence of a part is not stored a second time
alter table chunks add column fenced integer not null default 0
    constraint chunks_fenced_flag check (fenced in (0, 1));
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
-- layers of the system message, instructions for agents

alter table chunks add column layer text;

alter table chunks add column source text;

alter table packet_sections add column stamps text;

create index idx_file_stats_instructions on file_stats (project_id, path)
where path glob '*[A-Zr][A-Zu][.l][me][ds]';

create table document_links (
    entry_id integer not null constraint document_links_entry references entries (id) on delete cascade,
    content_id integer not null constraint document_links_content references contents (id) on delete cascade,
    ordinal integer not null,
    line integer not null,
    title text not null,
    target text not null,
    primary key (entry_id, content_id, ordinal)
) strict, without rowid;

-- skills

create table _skills (
    id integer primary key,
    -- project:N or global
    scope text not null constraint skills_scope check (scope = 'global' or scope glob 'project:[0-9]*'),
    name text not null constraint skills_name_length check (length(name) between 1 and 200),
    description text not null,
    kind text not null constraint skills_kind check (kind in ('folder', 'file', 'zip', 'url')),
    -- found: in a folder of the project, as long as it is there; added: by a person
    origin text not null constraint skills_origin check (origin in ('found', 'added')),
    -- the path or address that it was read from
    source text not null,
    -- what it was made of, to see whether that has changed
    made_of text not null,
    -- why it is not offered; null: it is
    problem text,
    -- files that are no text, or too many
    left_out integer not null default 0,
    added_by text not null,
    changed_at integer not null,
    constraint skills_once unique (scope, name)
) strict;

-- what a person adds to system messages

alter table personas add column origin text not null default 'engine'
    constraint personas_origin check (origin in ('engine', 'own'));

alter table runs add column system_prompt text;

-- functions of an app as tools

create table _function_tools (
    name text primary key constraint function_tools_name references tools (name),
    -- JSON: name, meaning, doc, schema, ask, idempotent, reads
    definition text not null constraint function_tools_definition_json check (json_valid(definition))
) strict, without rowid;

-- discovery

create table search_texts (
    id integer primary key,
    kind text not null
        constraint search_texts_kind check (kind in ('tool', 'skill', 'rule', 'reference', 'entry')),
    -- run:N, project:N or global
    scope text not null,
    -- the path or the name by which it is got
    name text not null,
    -- the entry that it is, and its content; null: it is none
    entry_id integer,
    content_id integer,
    -- the name in words, as full-text search reads it
    words text not null,
    text text not null,
    -- of what is embedded: the name and the beginning of the text
    digest text not null
) strict;

create index idx_search_texts_entry on search_texts (kind, entry_id, content_id);

create index idx_search_texts_digest on search_texts (digest, kind, scope, name, entry_id, content_id);

create virtual table text_search using fts5 (
    words, text, content = 'search_texts', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

create table text_vectors (
    id integer primary key,
    embedder text not null,
    digest text not null,
    bits blob not null,
    vector blob not null,
    constraint text_vectors_once unique (embedder, digest)
) strict;

create index idx_text_vectors_bits on text_vectors (embedder, digest, bits);

create table _search_clock (
    id integer primary key constraint search_clock_once check (id = 1),
    at integer not null,
    -- the embedder of which all texts have a vector; null: of none
    embedder text
) strict;

create table search_rankers (
    name text primary key,
    weight real not null constraint search_rankers_weight check (weight >= 0),
    meaning text not null
) strict, without rowid;

create table _search_ranks (
    ranker text not null constraint search_ranks_ranker references search_rankers (name),
    text_id integer not null,
    place integer not null,
    primary key (ranker, text_id)
) strict, without rowid;
