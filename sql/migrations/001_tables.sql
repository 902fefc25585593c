-- The tables and indexes of version 1, as they were released.
-- It is run on no file: the tables of a file of version 1 are compared with these before a migration touches them, and
-- the tests migrate these to what a fresh file has. What a migration changes is never changed here.
-- spec: @rebuild

create table categories (
    name text primary key,
    meaning text not null
) strict, without rowid;

create table chunk_lists (
    id integer primary key,
    chunks text not null constraint chunk_lists_json check (json_valid(chunks))
) strict;

create table chunks (
    id integer primary key,
    hash blob not null constraint chunks_hash_unique unique,
    head text not null,
    content_id integer constraint chunks_content references contents (id),
    body_chars integer,
    foot text
) strict;

create table command_targets (
    command_id integer not null,
    entry_id integer not null,
    path text not null,
    primary key (command_id, entry_id)
) strict, without rowid;

create table commands (
    id integer primary key,
    request_id text,
    run_id integer not null constraint commands_run references runs (id) on delete cascade,
    loop_id integer,
    turn_id integer constraint commands_turn references turns (id) on delete cascade,
    ordinal integer not null default 0,
    writer text not null constraint commands_writer references writer_tiers (name),
    action text not null,
    path text,
    destination text,
    body text,
    body_at integer,
    body_chars integer,
    attributes text not null default '{}' constraint commands_attributes_json check (json_valid(attributes)),
    state text not null default 'queued' constraint commands_state references states (name),
    outcome text,
    message text,
    log_path text,
    quiet integer not null default 0,
    created_at integer not null default 0
) strict;

create virtual table content_search using fts5 (
    body, content = 'contents', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);

create table contents (
    id integer primary key,
    body text not null,
    cut integer,
    summary text,
    chars integer not null,
    summary_chars integer not null,
    lines integer not null
) strict;

create table demotions (
    turn_id integer not null constraint demotions_turn references turns (id) on delete cascade,
    entry_id integer not null,
    step integer not null,
    path text not null,
    turn integer not null,
    tokens integer not null,
    primary key (turn_id, entry_id)
) strict, without rowid;

create table effect_results (
    id integer primary key,
    effect_id integer not null constraint effect_results_effect references effects (id) on delete cascade,
    state text not null constraint effect_results_state check (state in ('resolved', 'failed', 'cancelled')),
    outcome text,
    message text,
    detail text not null default '{}' constraint effect_results_detail_json check (json_valid(detail)),
    lease text,
    constraint effect_results_once unique (effect_id)
) strict;

create table effects (
    id integer primary key,
    run_id integer not null constraint effects_run references runs (id) on delete cascade,
    turn_id integer,
    command_id integer not null constraint effects_command references commands (id) on delete cascade,
    proposal_id integer constraint effects_proposal references proposals (id),
    kind text not null,
    detail text not null constraint effects_detail_json check (json_valid(detail)),
    state text not null default 'pending'
        constraint effects_state check (state in ('pending', 'started', 'done', 'interrupted', 'cancelled')),
    identity text,
    started_at integer,
    ended_at integer
) strict;

create table entries (
    id integer primary key,
    scope text not null,
    path text not null
        constraint entries_path_length check (length(path) between 1 and 2048),
    scheme text,
    kind text not null constraint entries_kind references schemes (name),
    content_id integer constraint entries_content references contents (id),
    attributes text constraint entries_attributes_json check (attributes is null or json_valid(attributes)),
    hash text,
    since integer,
    constraint entries_path_once_per_scope unique (scope, path)
) strict;

create table entry_actions (
    action text primary key,
    needs text not null,
    example text not null,
    forbidden text
) strict, without rowid;

create table entry_chunks (
    id integer primary key,
    run_id integer not null constraint entry_chunks_run references runs (id) on delete cascade,
    entry_id integer not null constraint entry_chunks_entry references entries (id),
    text text not null
) strict;

create table entry_versions (
    entry_id integer not null constraint entry_versions_entry references entries (id),
    began integer not null,
    ended integer not null,
    content_id integer,
    attributes text,
    hash text,
    primary key (entry_id, began)
) strict, without rowid;

create table events (
    id integer primary key,
    at integer not null,
    run_id integer,
    turn_id integer,
    kind text not null,
    entry_id integer,
    detail text constraint events_detail_json check (detail is null or json_valid(detail))
) strict;

create table file_constraints (
    id integer primary key,
    project_id integer not null
        constraint file_constraints_project references projects (id) on delete cascade,
    pattern text not null constraint file_constraints_pattern_not_empty check (trim(pattern) <> ''),
    visibility text not null
        constraint file_constraints_visibility check (visibility in ('add', 'readonly', 'ignore')),
    created_at integer not null,
    constraint file_constraints_once unique (project_id, pattern)
) strict;

create table file_stats (
    project_id integer not null constraint file_stats_project references projects (id) on delete cascade,
    path text not null,
    kind text not null
        constraint file_stats_kind check (kind in ('text', 'binary', 'too_large', 'unreadable', 'missing')),
    size integer not null,
    mtime_ns integer not null,
    sha256 text,
    primary key (project_id, path)
) strict, without rowid;

create table labels (
    id integer primary key,
    attributes text constraint labels_attributes_json check (attributes is null or json_valid(attributes)),
    head text not null
) strict;

create table leases (
    run_id integer primary key constraint leases_run references runs (id) on delete cascade,
    token text not null,
    holder text not null,
    expires_at integer not null,
    aborted integer not null default 0
) strict;

create table loop_transitions (
    from_status integer not null constraint loop_transitions_from references statuses (code),
    to_status integer not null constraint loop_transitions_to references statuses (code),
    primary key (from_status, to_status)
) strict, without rowid;

create table loops (
    id integer primary key,
    run_id integer not null constraint loops_run references runs (id) on delete cascade,
    sequence integer not null,
    mode text not null constraint loops_mode references modes (name),
    model text,
    prompt text not null constraint loops_prompt_not_empty check (trim(prompt) <> ''),
    config text not null default '{}' constraint loops_config_json check (json_valid(config)),
    status integer not null default 100 constraint loops_status references statuses (code),
    reason text,
    answer text,
    streak integer not null default 0,
    divisor real not null default 2,
    created_at integer not null,
    started_at integer,
    ended_at integer,
    constraint loops_sequence_per_run unique (run_id, sequence)
) strict;

create table model_calls (
    id integer primary key,
    run_id integer not null constraint model_calls_run references runs (id) on delete cascade,
    turn_id integer not null constraint model_calls_turn references turns (id) on delete cascade,
    attempt integer not null,
    model text not null,
    started_at integer not null,
    ended_at integer,
    state text not null default 'open'
        constraint model_calls_state check (state in ('open', 'answered', 'failed', 'interrupted')),
    status integer,
    message text
) strict;

create table model_failures (
    status integer primary key constraint model_failures_status references statuses (code),
    loop_status integer constraint model_failures_loop_status references statuses (code),
    meaning text not null
) strict;

create table models (
    id integer primary key,
    alias text not null constraint models_alias_unique unique
        constraint models_alias_not_empty check (trim(alias) <> ''),
    actual text not null constraint models_actual_not_empty check (trim(actual) <> ''),
    context_length integer
        constraint models_context_length_range check (context_length is null or context_length >= 256),
    max_output integer constraint models_max_output_range check (max_output is null or max_output >= 1),
    profile text not null default 'full' constraint models_profile check (profile in ('full', 'compact')),
    tool_calling text not null default 'xml' constraint models_tool_calling check (tool_calling in ('xml', 'native')),
    origin text not null default 'client'
        constraint models_origin check (origin in ('client', 'environment', 'built-in')),
    created_at integer not null
) strict;

create table modes (
    name text primary key,
    meaning text not null
) strict, without rowid;

create table outcomes (
    name text primary key,
    status integer not null constraint outcomes_status references statuses (code),
    strikes integer not null constraint outcomes_strikes_flag check (strikes in (0, 1)),
    meaning text not null
) strict, without rowid;

create table packet_sections (
    name text not null,
    profile text not null constraint packet_sections_profile check (profile in ('full', 'compact')),
    role text not null constraint packet_sections_role check (role in ('system', 'user')),
    ordinal integer not null,
    source text,
    template text not null,
    live integer not null default 0 constraint packet_sections_live_flag check (live in (0, 1, 2)),
    cached integer not null default 0 constraint packet_sections_cached_flag check (cached in (0, 1)),
    primary key (profile, role, name)
) strict, without rowid;

create table packets (
    id integer primary key,
    turn_id integer not null constraint packets_turn references turns (id) on delete cascade,
    ordinal integer not null,
    role text not null,
    sha256 blob not null,
    chars integer not null,
    parts text not null constraint packets_parts_json check (json_valid(parts)),
    cuts text constraint packets_cuts_json check (cuts is null or json_valid(cuts)),
    kept integer,
    before_id integer,
    constraint packets_ordinal_per_turn unique (turn_id, ordinal)
) strict;

create table personas (
    name text primary key,
    body text not null
) strict, without rowid;

create table projects (
    id integer primary key,
    name text not null constraint projects_name_unique unique,
    root text constraint projects_root_unique unique,
    config_path text,
    created_at integer not null
) strict;

create table proposals (
    id integer primary key,
    command_id integer not null constraint proposals_command references commands (id) on delete cascade,
    run_id integer not null constraint proposals_run references runs (id) on delete cascade,
    turn_id integer,
    loop_id integer,
    ordinal integer not null,
    path text not null,
    kind text not null,
    action text not null,
    target text,
    content_id integer constraint proposals_content references contents (id),
    detail text not null default '{}' constraint proposals_detail_json check (json_valid(detail)),
    state text not null constraint proposals_state references states (name),
    outcome text,
    reason text,
    created_at integer not null,
    decided_at integer
) strict;

create table purges (
    run_id integer primary key
) strict;

create table resolutions (
    id integer primary key,
    run_id integer not null constraint resolutions_run references runs (id) on delete cascade,
    path text,
    proposal_id integer,
    decision text not null constraint resolutions_decision check (decision in ('accept', 'reject', 'error')),
    body text,
    reason text,
    decided_by text not null default 'client',
    created_at integer not null default 0
) strict;

create table run_options (
    name text primary key,
    scope text not null constraint run_options_scope check (scope in ('loop', 'run')),
    kind text not null constraint run_options_kind check (kind in ('flag', 'whole', 'number', 'text')),
    least real,
    most real,
    meaning text not null
) strict, without rowid;

create table run_scopes (
    run_id integer not null constraint run_scopes_run references runs (id) on delete cascade,
    scope text not null,
    kind text not null constraint run_scopes_kind check (kind in ('run', 'project', 'global', 'inherited')),
    primary key (run_id, scope)
) strict, without rowid;

create table run_transitions (
    from_status integer not null constraint run_transitions_from references statuses (code),
    to_status integer not null constraint run_transitions_to references statuses (code),
    primary key (from_status, to_status)
) strict, without rowid;

create table run_view_touches (
    run_id integer not null constraint run_view_touches_run references runs (id) on delete cascade,
    entry_id integer not null,
    turn integer not null,
    primary key (run_id, entry_id, turn)
) strict, without rowid;

create table run_view_versions (
    run_id integer not null constraint run_view_versions_run references runs (id) on delete cascade,
    entry_id integer not null,
    began integer not null,
    ended integer not null,
    content_id integer,
    label_id integer,
    visibility text not null,
    state text not null,
    outcome text,
    placed integer,
    turn integer not null,
    touched integer,
    primary key (run_id, entry_id, began)
) strict, without rowid;

create table run_views (
    run_id integer not null constraint run_views_run references runs (id) on delete cascade,
    entry_id integer not null constraint run_views_entry references entries (id),
    content_id integer constraint run_views_content references contents (id),
    label_id integer constraint run_views_label references labels (id),
    visibility text not null constraint run_views_visibility references visibilities (name),
    state text not null constraint run_views_state references states (name),
    outcome text,
    writer text not null constraint run_views_writer references writer_tiers (name),
    loop_id integer,
    placed integer,
    turn integer not null,
    touched integer not null,
    write_count integer not null default 1,
    since integer not null,
    primary key (run_id, entry_id)
) strict, without rowid;

create table runs (
    id integer primary key,
    project_id integer not null constraint runs_project references projects (id),
    parent_run_id integer constraint runs_parent references runs (id),
    forked_at integer,
    alias text not null constraint runs_alias_unique unique
        constraint runs_alias_form check (alias <> '' and alias not glob '*[^a-zA-Z0-9_.-]*'),
    model text,
    persona text not null default 'default',
    temperature real
        constraint runs_temperature_range check (temperature is null or temperature between 0 and 2),
    context_limit integer
        constraint runs_context_limit_range check (context_limit is null or context_limit >= 256),
    status integer not null default 100 constraint runs_status references statuses (code),
    next_turn integer not null default 1,
    next_loop integer not null default 1,
    responses integer not null default 0,
    created_at integer not null,
    updated_at integer not null
) strict;

create table schemes (
    name text primary key,
    category text not null constraint schemes_category references categories (name),
    default_scope text not null
        constraint schemes_default_scope check (default_scope in ('run', 'project', 'global')),
    default_visibility text not null
        constraint schemes_default_visibility references visibilities (name),
    writable_by text not null constraint schemes_writable_by_array
        check (json_valid(writable_by) and json_type(writable_by) = 'array'),
    model_visible integer not null default 1
        constraint schemes_model_visible_flag check (model_visible in (0, 1)),
    searchable integer not null default 0
        constraint schemes_searchable_flag check (searchable in (0, 1)),
    gated integer not null default 0 constraint schemes_gated_flag check (gated in (0, 1)),
    meaning text not null
) strict, without rowid;

create table settings (
    name text primary key,
    value text,
    kind text not null default 'text' constraint settings_kind check (kind in ('text', 'whole', 'number')),
    least real,
    most real,
    needed integer not null default 0 constraint settings_needed_flag check (needed in (0, 1)),
    meaning text not null
) strict, without rowid;

create table states (
    name text primary key,
    status integer constraint states_status references statuses (code),
    meaning text not null
) strict, without rowid;

create table statuses (
    code integer primary key,
    name text not null,
    meaning text not null
) strict;

create table tools (
    name text primary key,
    ordinal integer not null,
    gathers integer not null default 0 constraint tools_gathers_flag check (gathers in (0, 1)),
    advertised integer not null default 1 constraint tools_advertised_flag check (advertised in (0, 1)),
    modes text not null default '["ask","act"]' constraint tools_modes_json check (json_valid(modes)),
    hidden_by text not null default '[]' constraint tools_hidden_by_json check (json_valid(hidden_by)),
    schema text not null default '{"type":"object"}' constraint tools_schema_json check (json_valid(schema)),
    meaning text not null,
    doc text
) strict, without rowid;

create table turn_errors (
    id integer primary key,
    turn_id integer not null constraint turn_errors_turn references turns (id) on delete cascade,
    status integer not null constraint turn_errors_status references statuses (code),
    message text not null,
    slug text,
    soft integer not null default 0 constraint turn_errors_soft_flag check (soft in (0, 1)),
    detail text constraint turn_errors_detail_json check (detail is null or json_valid(detail))
) strict;

create table turn_phases (
    name text primary key,
    meaning text not null
) strict, without rowid;

create table turn_transitions (
    from_phase text not null constraint turn_transitions_from references turn_phases (name),
    to_phase text not null constraint turn_transitions_to references turn_phases (name),
    primary key (from_phase, to_phase)
) strict, without rowid;

create table turns (
    id integer primary key,
    run_id integer not null constraint turns_run references runs (id) on delete cascade,
    loop_id integer not null constraint turns_loop references loops (id) on delete cascade,
    sequence integer not null,
    phase text not null default 'assembling' constraint turns_phase references turn_phases (name),
    status integer not null default 102 constraint turns_status references statuses (code),
    lease text,
    response text,
    reasoning text,
    native integer not null default 0 constraint turns_native_flag check (native in (0, 1)),
    prose text,
    warnings text,
    context_chars integer,
    context_tokens integer,
    prompt_tokens integer,
    cached_tokens integer,
    completion_tokens integer,
    reasoning_tokens integer,
    cost real,
    seen_at integer,
    fingerprint text,
    streak integer not null default 0,
    divisor real,
    ladder integer not null default 0,
    condensed integer not null default 0,
    refused integer not null default 0,
    scanned integer not null default 0,
    ms_model integer,
    ms_engine integer,
    created_at integer not null,
    ended_at integer,
    constraint turns_sequence_per_run unique (run_id, sequence)
) strict;

create table vetoes (
    command_id integer primary key constraint vetoes_command references commands (id) on delete cascade,
    outcome text not null default 'permission' constraint vetoes_outcome references outcomes (name),
    message text not null
) strict;

create table visibilities (
    name text primary key,
    rank integer not null,
    meaning text not null
) strict, without rowid;

create table votes (
    turn_id integer not null constraint votes_turn references turns (id) on delete cascade,
    voter text not null,
    vote text not null constraint votes_vote check (vote in ('stop', 'go_on')),
    rank integer not null,
    status integer not null default 102 constraint votes_status references statuses (code),
    reason text,
    answer text,
    primary key (turn_id, voter)
) strict, without rowid;

create table writer_tiers (
    name text primary key,
    rank integer not null constraint writer_tiers_rank_unique unique
) strict, without rowid;

create index idx_commands_failed on commands (turn_id) where state in ('failed', 'cancelled');

create unique index idx_commands_request_id on commands (request_id) where request_id is not null;

create index idx_commands_turn_id_ordinal on commands (turn_id, ordinal);

create index idx_commands_unfinished on commands (turn_id)
where state in ('performing', 'proposed', 'accepting', 'accepted');

create index idx_effects_command_id on effects (command_id);

create index idx_effects_open on effects (run_id) where state in ('pending', 'started');

create index idx_entry_chunks_run_id_entry_id on entry_chunks (run_id, entry_id, id);

create unique index idx_loops_one_active on loops (run_id) where status = 102;

create index idx_loops_queued on loops (run_id, sequence) where status = 100;

create index idx_model_calls_turn_id on model_calls (turn_id);

create index idx_proposals_command_id on proposals (command_id);

create index idx_proposals_open on proposals (run_id) where state = 'proposed';

create index idx_resolutions_run_id on resolutions (run_id);

create index idx_run_views_in_context on run_views (run_id, entry_id) where visibility <> 'archived';

create index idx_runs_parent_run_id on runs (parent_run_id);

create index idx_runs_project_id on runs (project_id);

create index idx_turn_errors_turn_id on turn_errors (turn_id);

create index idx_turns_loop_id_sequence on turns (loop_id, sequence);

create unique index idx_turns_one_open on turns (run_id) where phase <> 'judged';

create index idx_turns_reported on turns (run_id, sequence, context_chars, prompt_tokens, loop_id)
where prompt_tokens > 0;
