CREATE TABLE _answer_hits (
    turn_id integer primary key constraint answer_hits_turn references turns (id) on delete cascade,
    from_run text not null,
    from_turn integer not null,
    similarity real not null
) strict;

CREATE TABLE _cached_answers (
    turn_id integer primary key constraint cached_answers_turn references turns (id) on delete cascade,
    key blob not null,
    embedder text,
    vector blob,
    hits integer not null default 0,
    created_at integer not null
) strict;

CREATE TABLE _entry_actions (
    action text primary key,
    needs text not null,
    example text not null,
    forbidden text
) strict, without rowid;

CREATE TABLE _entry_metadata (
    id integer primary key,
    attributes text constraint entry_metadata_attributes_json check (attributes is null or json_valid(attributes)),
    head text not null
) strict;

CREATE TABLE _explained_lines (
    id integer primary key,
    run_id integer,
    project_id integer,
    line text not null
) strict;

CREATE TABLE _function_tools (
    name text primary key constraint function_tools_name references tools (name),
    definition text not null constraint function_tools_definition_json check (json_valid(definition))
) strict, without rowid;

CREATE TABLE _graph_changes (
    id integer primary key constraint graph_changes_one_row check (id = 1),
    changes integer not null
) strict;

CREATE TABLE _matched_entries (
    command_id integer not null,
    entry_id integer not null,
    path text not null,
    primary key (command_id, entry_id)
) strict, without rowid;

CREATE TABLE _prepared_loops (
    loop_id integer primary key constraint prepared_loops_loop references loops (id) on delete cascade
) strict;

CREATE TABLE _purges (
    run_id integer primary key
) strict;

CREATE TABLE _result_statuses (
    state text not null,
    outcome text not null,
    status integer not null,
    primary key (state, outcome)
) strict, without rowid;

CREATE TABLE _rule_candidates (
    domain_id integer primary key,
    name text not null,
    always_on integer not null
) strict;

CREATE TABLE _rule_drafts (
    ordinal integer primary key,
    part text not null,
    label text,
    number integer,
    text text,
    content_id integer,
    fits integer not null
) strict;

CREATE TABLE _rule_hits (
    domain_id integer not null,
    kind text not null,
    keyword_id integer not null,
    word text not null,
    path text,
    primary key (domain_id, kind, keyword_id)
) strict, without rowid;

CREATE TABLE _search_clock (
    id integer primary key constraint search_clock_once check (id = 1),
    at integer not null,
    embedder text
) strict;

CREATE TABLE _search_ranks (
    ranker text not null constraint search_ranks_ranker references search_rankers (name),
    text_id integer not null,
    place integer not null,
    primary key (ranker, text_id)
) strict, without rowid;

CREATE TABLE _skills (
    id integer primary key,
    scope text not null constraint skills_scope check (scope = 'global' or scope glob 'project:[0-9]*'),
    name text not null constraint skills_name_length check (length(name) between 1 and 200),
    description text not null,
    kind text not null constraint skills_kind check (kind in ('folder', 'file', 'zip', 'url')),
    origin text not null constraint skills_origin check (origin in ('found', 'added')),
    source text not null,
    made_of text not null,
    problem text,
    left_out integer not null default 0,
    added_by text not null,
    changed_at integer not null,
    constraint skills_once unique (scope, name)
) strict;

CREATE TABLE _thread_clocks (
    run_id integer primary key constraint _thread_clocks_run references runs (id) on delete cascade,
    turn_id integer,
    ordinal integer not null default -1,
    result_id integer not null default 0
) strict;

CREATE TABLE _thread_offers (
    run_id integer primary key constraint _thread_offers_run references runs (id) on delete cascade,
    turn_id integer not null,
    loop_id integer not null,
    command_id integer,
    event text not null,
    fields text not null
) strict;

CREATE TABLE _tool_choices (
    loop_id integer not null
        constraint tool_choices_loop references tool_narrowings (loop_id) on delete cascade,
    name text not null,
    why text constraint tool_choices_why check (why in ('core', 'used', 'found')),
    score real,
    found_by text,
    primary key (loop_id, name)
) strict, without rowid;

CREATE TABLE acceptance_checks (
    id integer primary key,
    run_id integer not null constraint acceptance_checks_run references runs (id) on delete cascade,
    loop_id integer not null,
    turn_id integer not null,
    attempt integer not null,
    kind text not null constraint acceptance_checks_kind check (kind in ('command', 'judge')),
    command_id integer not null,
    verdict text constraint acceptance_checks_verdict
        check (verdict is null or verdict in ('pass', 'fail', 'error', 'interrupted')),
    counts text constraint acceptance_checks_counts check (counts is null or counts in ('pass', 'fail')),
    reasons text,
    started_at integer not null,
    ended_at integer
) strict;

CREATE TABLE attachments (
    id integer primary key,
    run_id integer not null constraint attachments_run references runs (id) on delete cascade,
    loop_id integer not null constraint attachments_loop references loops (id) on delete cascade,
    entry_id integer not null constraint attachments_entry references entries (id),
    picture_id integer constraint attachments_picture references pictures (id)
) strict;

CREATE TABLE bound_stops (
    turn_id integer primary key constraint bound_stops_turn references turns (id) on delete cascade,
    name text not null,
    rank integer not null,
    reason text not null
) strict;

CREATE TABLE bracket_rules (
    rule_set_id integer not null constraint bracket_rules_set references rule_sets (id) on delete cascade,
    bracket text not null constraint bracket_rules_bracket references brackets (name)
        constraint bracket_rules_not_critical check (bracket <> 'CRITICAL'),
    ordinal integer not null,
    text text not null constraint bracket_rules_text_form check (trim(text) <> '' and length(text) <= 2000),
    primary key (rule_set_id, bracket, ordinal)
) strict, without rowid;

CREATE TABLE brackets (
    name text primary key,
    ordinal integer not null,
    after_prompts integer not null,
    below_percent integer not null,
    rules_of text not null,
    meaning text not null
) strict, without rowid;

CREATE TABLE call_estimates (
    turn_id integer primary key constraint call_estimates_turn references turns (id) on delete cascade,
    prompt_tokens integer not null,
    output_tokens integer not null,
    price_input real,
    price_output real
) strict;

CREATE TABLE call_reservations (
    loop_id integer not null,
    turn_id integer not null constraint call_reservations_turn references turns (id) on delete cascade,
    lease text,
    cost real not null,
    tokens integer not null,
    output integer,
    primary key (loop_id, turn_id)
) strict, without rowid;

CREATE TABLE categories (
    name text primary key,
    meaning text not null
) strict, without rowid;

CREATE TABLE children (
    run_id integer primary key constraint children_run references runs (id) on delete cascade,
    parent_run_id integer not null,
    root_run_id integer not null,
    root_loop_id integer,
    lineage text not null,
    parent_loop_id integer,
    loop_id integer not null,
    effect_id integer
) strict;

CREATE TABLE chunk_lists (
    id integer primary key,
    chunks text not null constraint chunk_lists_json check (json_valid(chunks))
) strict;

CREATE TABLE chunks (
    id integer primary key,
    hash blob not null constraint chunks_hash_unique unique,
    head text not null,
    content_id integer constraint chunks_content references contents (id),
    body_chars integer,
    foot text,
    fenced integer not null default 0 constraint chunks_fenced_flag check (fenced in (0, 1)),
    layer text,
    source text
) strict;

CREATE TABLE command_policies (
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

CREATE TABLE commands (
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
    created_at integer not null default 0,
    is_pattern integer not null default 0,
    entry_id integer
) strict;

CREATE TABLE commit_edits (
    commit_id integer not null constraint commit_edits_commit references commits (command_id) on delete cascade,
    edit_id integer not null constraint commit_edits_edit references commands (id) on delete cascade,
    primary key (commit_id, edit_id)
) strict, without rowid;

CREATE TABLE commits (
    command_id integer primary key constraint commits_command references commands (id) on delete cascade,
    run_id integer not null constraint commits_run references runs (id) on delete cascade,
    loop_id integer not null,
    message text not null,
    hash text,
    left_out text not null default '{}' constraint commits_left_out check (json_valid(left_out)),
    reason text,
    ended_at integer
) strict;

CREATE VIRTUAL TABLE content_search using fts5 (
    body, content = 'contents', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TABLE contents (
    id integer primary key,
    chars integer not null,
    summary_chars integer not null,
    lines integer not null,
    cut integer,
    summary text,
    shown text,
    body text not null,
    fence text
) strict;

CREATE TABLE demotions (
    turn_id integer not null constraint demotions_turn references turns (id) on delete cascade,
    entry_id integer not null,
    step integer not null,
    path text not null,
    turn integer not null,
    tokens integer not null,
    primary key (turn_id, entry_id)
) strict, without rowid;

CREATE TABLE document_links (
    entry_id integer not null constraint document_links_entry references entries (id) on delete cascade,
    content_id integer not null constraint document_links_content references contents (id) on delete cascade,
    ordinal integer not null,
    line integer not null,
    title text not null,
    target text not null,
    primary key (entry_id, content_id, ordinal)
) strict, without rowid;

CREATE TABLE edges (
    child_id integer not null constraint edges_child references nodes (id) on delete cascade,
    parent_id integer not null constraint edges_parent references nodes (id) on delete cascade,
    primary key (child_id, parent_id)
) strict, without rowid;

CREATE TABLE effect_results (
    id integer primary key,
    effect_id integer not null constraint effect_results_effect references effects (id) on delete cascade,
    state text not null constraint effect_results_state check (state in ('resolved', 'failed', 'cancelled')),
    outcome text,
    message text,
    detail text not null default '{}' constraint effect_results_detail_json check (json_valid(detail)),
    lease text,
    constraint effect_results_once unique (effect_id)
) strict;

CREATE TABLE effects (
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

CREATE TABLE engine_meta (key text primary key, value text not null) strict, without rowid;

CREATE TABLE engine_modules (name text primary key) strict, without rowid;

CREATE TABLE engine_objects (
    name text primary key,
    type text not null constraint engine_objects_type check (type in ('view', 'trigger'))
) strict, without rowid;

CREATE TABLE entries (
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
    shown_path text,
    constraint entries_path_once_per_scope unique (scope, path)
) strict;

CREATE TABLE entry_chunks (
    id integer primary key,
    run_id integer not null constraint entry_chunks_run references runs (id) on delete cascade,
    entry_id integer not null constraint entry_chunks_entry references entries (id),
    text text not null,
    position integer
) strict;

CREATE TABLE entry_versions (
    entry_id integer not null constraint entry_versions_entry references entries (id),
    began integer not null,
    ended integer not null,
    content_id integer,
    attributes text,
    hash text,
    primary key (entry_id, began)
) strict, without rowid;

CREATE TABLE eval_checks (
    trial_id integer not null constraint eval_checks_trial references eval_trials (id) on delete cascade,
    ordinal integer not null,
    name text not null,
    passed integer not null constraint eval_checks_passed check (passed in (0, 1)),
    reason text,
    primary key (trial_id, ordinal)
) strict, without rowid;

CREATE TABLE eval_trials (
    id integer primary key,
    eval_id integer not null constraint eval_trials_eval references evals (id) on delete cascade,
    case_name text not null,
    model text not null,
    variant text not null,
    repetition integer not null,
    definition text not null constraint eval_trials_definition_json check (json_valid(definition)),
    run text,
    answer text,
    error text,
    cost real,
    milliseconds integer,
    ended_at integer,
    constraint eval_trials_once unique (eval_id, case_name, model, variant, repetition)
) strict;

CREATE TABLE evals (
    id integer primary key,
    suite text not null,
    folder text not null,
    baseline_id integer constraint evals_baseline references evals (id) on delete set null,
    fail_under real not null constraint evals_fail_under check (fail_under between 0 and 1),
    created_at integer not null
) strict;

CREATE TABLE events (
    id integer primary key,
    at integer not null,
    run_id integer,
    turn_id integer,
    kind text not null,
    entry_id integer,
    detail text constraint events_detail_json check (detail is null or json_valid(detail))
) strict;

CREATE TABLE executor_models (
    pattern text primary key,
    model text not null constraint executor_models_model_not_empty check (trim(model) <> '')
) strict, without rowid;

CREATE TABLE fallback_failures (
    status integer primary key constraint fallback_failures_status references model_failures (status),
    falls_back integer not null constraint fallback_failures_falls_back_flag check (falls_back in (0, 1))
) strict;

CREATE TABLE fallbacks (
    turn_id integer primary key constraint fallbacks_turn references turns (id) on delete cascade,
    model text not null,
    next_model text not null,
    status integer not null,
    message text
) strict;

CREATE TABLE file_constraints (
    id integer primary key,
    project_id integer not null
        constraint file_constraints_project references projects (id) on delete cascade,
    pattern text not null constraint file_constraints_pattern_not_empty check (trim(pattern) <> ''),
    rule text not null constraint file_constraints_rule check (rule in ('add', 'readonly', 'ignore')),
    created_at integer not null,
    constraint file_constraints_once unique (project_id, pattern)
) strict;

CREATE TABLE file_modes (
    entry_id integer not null,
    began integer not null,
    is_executable integer constraint file_modes_flag check (is_executable in (0, 1)),
    command_id integer constraint file_modes_command references commands (id) on delete set null,
    primary key (entry_id, began)
) strict, without rowid;

CREATE TABLE file_stats (
    project_id integer not null constraint file_stats_project references projects (id) on delete cascade,
    path text not null,
    kind text not null
        constraint file_stats_kind check (kind in ('text', 'binary', 'too_large', 'unreadable', 'missing')),
    size integer not null,
    mtime_ns integer not null,
    sha256 text,
    picture text constraint file_stats_picture_json check (picture is null or json_valid(picture)),
    primary key (project_id, path)
) strict, without rowid;

CREATE TABLE grants (
    id integer primary key,
    project_id integer not null constraint grants_project references projects (id) on delete cascade,
    run_id integer constraint grants_run references runs (id) on delete cascade,
    kind text not null constraint grants_kind check (kind in ('file_write', 'file_delete', 'process', 'mcp')),
    target text constraint grants_target check (target is not null or run_id is not null),
    granted_by text not null,
    created_at integer not null,
    revoked_at integer,
    loop_id integer constraint grants_loop references loops (id) on delete cascade
        constraint grants_loop_of_a_run check (loop_id is null or run_id is not null)
) strict;

CREATE TABLE handoffs (
    loop_id integer primary key constraint handoffs_loop references loops (id) on delete cascade,
    first_loop_id integer not null constraint handoffs_first_loop references loops (id) on delete cascade,
    persona text not null,
    model text,
    tools text,
    note text not null default '',
    command_id integer constraint handoffs_command references commands (id) on delete cascade,
    next_loop_id integer constraint handoffs_next_loop references loops (id) on delete cascade
) strict;

CREATE TABLE hook_calls (
    id integer primary key,
    run_id integer not null constraint hook_calls_run references runs (id) on delete cascade,
    loop_id integer not null,
    turn_id integer not null,
    command_id integer,
    point text not null,
    hook text not null,
    line text not null,
    layer text not null,
    source text not null,
    verdict text constraint hook_calls_verdict
        check (verdict is null or verdict in ('allowed', 'refused', 'failed', 'interrupted')),
    refuses integer not null default 0 constraint hook_calls_refuses_flag check (refuses in (0, 1)),
    reason text,
    exit_code integer,
    started_at integer not null,
    ended_at integer
) strict;

CREATE TABLE hook_holds (
    turn_id integer primary key constraint hook_holds_turn references turns (id) on delete cascade,
    ordinal real not null,
    is_due integer not null constraint hook_holds_due_flag check (is_due in (0, 1))
) strict;

CREATE TABLE hook_points (
    name text primary key,
    ordinal integer not null,
    meaning text not null
) strict, without rowid;

CREATE TABLE imported_calls (
    command_id integer primary key constraint imported_calls_command references commands (id) on delete cascade,
    given_as text not null
) strict;

CREATE TABLE job_channels (
    effect_id integer not null constraint job_channels_job references jobs (effect_id) on delete cascade,
    channel integer not null,
    entry_id integer not null,
    printed integer not null default 0,
    dropped integer not null default 0,
    shown integer not null default 0,
    primary key (effect_id, channel)
) strict, without rowid;

CREATE TABLE jobs (
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

CREATE TABLE leases (
    run_id integer primary key constraint leases_run references runs (id) on delete cascade,
    token text not null,
    holder text not null,
    expires_at integer not null,
    aborted integer not null default 0,
    sandboxes text constraint leases_sandboxes_json check (sandboxes is null or json_valid(sandboxes)),
    tools text constraint leases_tools_json check (tools is null or json_valid(tools))
) strict;

CREATE TABLE loop_transitions (
    from_status integer not null constraint loop_transitions_from references statuses (code),
    to_status integer not null constraint loop_transitions_to references statuses (code),
    primary key (from_status, to_status)
) strict, without rowid;

CREATE TABLE loops (
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
    output text constraint loops_output_json check (output is null or json_valid(output)),
    streak integer not null default 0,
    chars_per_token real not null default 2,
    created_at integer not null,
    started_at integer,
    ended_at integer,
    constraint loops_sequence_per_run unique (run_id, sequence)
) strict;

CREATE TABLE mcp_items (
    server text not null,
    kind text not null constraint mcp_items_kind check (kind in ('resource', 'template', 'prompt')),
    name text not null,
    title text not null,
    description text not null,
    detail text not null constraint mcp_items_detail_json check (json_valid(detail)),
    primary key (server, kind, name)
) strict, without rowid;

CREATE TABLE media_models (
    pattern text not null,
    format text not null constraint media_models_format check (format in ('PDF', 'WAV', 'MP3')),
    primary key (pattern, format)
) strict, without rowid;

CREATE TABLE model_calls (
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
    message text,
    effort text,
    options text
) strict;

CREATE TABLE model_failures (
    status integer primary key constraint model_failures_status references statuses (code),
    loop_status integer constraint model_failures_loop_status references statuses (code),
    meaning text not null
) strict;

CREATE TABLE model_tiers (
    pattern text not null,
    effort text not null default '',
    tier integer not null constraint model_tiers_tier check (tier between 1 and 9),
    primary key (pattern, effort)
) strict, without rowid;

CREATE TABLE models (
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
        constraint models_origin check (origin in ('client', 'user', 'environment', 'built-in')),
    created_at integer not null,
    images integer constraint models_images_flag check (images in (0, 1)),
    effort text constraint models_effort
        check (effort in ('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
    price_input real constraint models_price_input_range check (price_input between 0 and 1e6),
    price_output real constraint models_price_output_range check (price_output between 0 and 1e6),
    price_cached real constraint models_price_cached_range check (price_cached between 0 and 1e6),
    options text,
    constraint models_price_both check ((price_input is null) = (price_output is null)),
    constraint models_price_of_cached check (price_cached is null or price_input is not null)
) strict;

CREATE TABLE modes (
    name text primary key,
    meaning text not null
) strict, without rowid;

CREATE TABLE module_offers (
    module text not null,
    kind text not null constraint module_offers_kind check (kind in ('setting', 'option', 'scheme', 'file', 'tools')),
    name text not null,
    primary key (module, kind, name)
) strict, without rowid;

CREATE TABLE node_statuses (
    name text primary key,
    is_settled integer not null constraint node_statuses_settled_flag check (is_settled in (0, 1)),
    meaning text not null
) strict, without rowid;

CREATE TABLE nodes (
    id integer primary key,
    scope text not null constraint nodes_scope
        check (scope = 'global' or scope glob 'run:[1-9]*' or scope glob 'project:[1-9]*'),
    name text not null constraint nodes_name_length check (length(name) between 1 and 500),
    type text not null constraint nodes_type_length check (length(type) between 1 and 100),
    status text constraint nodes_status references node_statuses (name),
    description text not null default '',
    context text not null default '{}' constraint nodes_context_object
        check (case when json_valid(context) then json_type(context) else '' end = 'object'),
    created_at integer not null,
    constraint nodes_name_once_per_scope unique (scope, name)
) strict;

CREATE TABLE outcomes (
    name text primary key,
    status integer not null constraint outcomes_status references statuses (code),
    strikes integer not null constraint outcomes_strikes_flag check (strikes in (0, 1)),
    meaning text not null
) strict, without rowid;

CREATE TABLE packet_sections (
    name text not null,
    profile text not null constraint packet_sections_profile check (profile in ('full', 'compact')),
    role text not null constraint packet_sections_role check (role in ('system', 'user')),
    ordinal integer not null,
    source text,
    template text not null,
    live integer not null default 0 constraint packet_sections_live_flag check (live in (0, 1, 2)),
    cached integer not null default 0 constraint packet_sections_cached_flag check (cached in (0, 1)),
    stamps text,
    primary key (profile, role, name)
) strict, without rowid;

CREATE TABLE packets (
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

CREATE TABLE personas (
    name text primary key,
    body text not null,
    origin text not null default 'engine' constraint personas_origin check (origin in ('engine', 'own'))
) strict, without rowid;

CREATE TABLE pictures (
    id integer primary key,
    sha256 text not null constraint pictures_sha256_unique unique,
    format text not null,
    body blob not null
) strict;

CREATE TABLE process_cancels (
    effect_id integer primary key constraint process_cancels_effect references effects (id) on delete cascade,
    asked_by text not null,
    reason text,
    created_at integer not null
) strict;

CREATE TABLE process_claims (
    proposal_id integer primary key constraint process_claims_proposal references proposals (id) on delete cascade,
    claimant text constraint process_claims_claimant_not_empty check (claimant <> ''),
    holder text not null,
    claimed_at integer not null
) strict;

CREATE TABLE projects (
    id integer primary key,
    name text not null constraint projects_name_unique unique,
    root text constraint projects_root_unique unique,
    created_at integer not null,
    root_names text constraint projects_root_names_json check (root_names is null or json_valid(root_names))
) strict;

CREATE TABLE prompt_spending (
    loop_id integer primary key constraint prompt_spending_loop references loops (id) on delete cascade,
    cost real not null default 0,
    tokens integer not null default 0,
    calls integer not null default 0
) strict;

CREATE TABLE proposals (
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

CREATE TABLE purged_seals (
    digest text primary key,
    turns integer not null,
    purged_at integer not null
) strict, without rowid;

CREATE TABLE resolutions (
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

CREATE TABLE rewinds (
    command_id integer primary key constraint rewinds_command references commands (id) on delete cascade,
    run_id integer not null constraint rewinds_run references runs (id) on delete cascade,
    from_run_id integer not null constraint rewinds_from_run references runs (id) on delete cascade,
    turn integer not null
) strict;

CREATE TABLE rule_brackets (
    rule_set_id integer not null constraint rule_brackets_set references rule_sets (id) on delete cascade,
    bracket text not null constraint rule_brackets_bracket references brackets (name),
    after_prompts integer constraint rule_brackets_after_prompts_range check (after_prompts >= 0),
    below_percent integer constraint rule_brackets_below_percent_range check (below_percent between 0 and 101),
    is_enabled integer not null default 1 constraint rule_brackets_is_enabled_flag check (is_enabled in (0, 1)),
    primary key (rule_set_id, bracket)
) strict, without rowid;

CREATE TABLE rule_domains (
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

CREATE TABLE rule_findings (
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

CREATE TABLE rule_keywords (
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

CREATE TABLE rule_lines (
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

CREATE TABLE rule_overrides (
    run_id integer not null constraint rule_overrides_run references runs (id) on delete cascade,
    kind text not null constraint rule_overrides_kind check (kind in ('devmode', 'domain')),
    name text not null default '',
    is_on integer not null constraint rule_overrides_is_on_flag check (is_on in (0, 1)),
    primary key (run_id, kind, name)
) strict, without rowid;

CREATE TABLE rule_selections (
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

CREATE TABLE rule_sets (
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

CREATE TABLE rule_sources (
    rule_set_id integer not null constraint rule_sources_set references rule_sets (id) on delete cascade,
    place text not null,
    files text not null constraint rule_sources_files_json check (json_valid(files)),
    items text not null constraint rule_sources_items_json check (json_valid(items)),
    problem text,
    primary key (rule_set_id, place)
) strict, without rowid;

CREATE TABLE run_hooks (
    id integer primary key,
    run_id integer not null constraint run_hooks_run references runs (id) on delete cascade,
    name text not null,
    point text not null constraint run_hooks_point references hook_points (name),
    tools text not null constraint run_hooks_tools check (json_valid(tools)),
    line text not null,
    timeout_s real not null,
    required integer not null default 0 constraint run_hooks_required_flag check (required in (0, 1)),
    layer text not null constraint run_hooks_layer check (layer in ('user', 'project')),
    source text not null,
    constraint run_hooks_once unique (run_id, point, name)
) strict;

CREATE TABLE run_options (
    name text primary key,
    scope text not null constraint run_options_scope check (scope in ('loop', 'run')),
    kind text not null constraint run_options_kind check (kind in ('flag', 'whole', 'number', 'text', 'schema', 'options')),
    least real,
    most real,
    meaning text not null,
    needs_folder integer not null default 0 constraint run_options_needs_folder_flag check (needs_folder in (0, 1))
) strict, without rowid;

CREATE TABLE run_scopes (
    run_id integer not null constraint run_scopes_run references runs (id) on delete cascade,
    scope text not null,
    kind text not null constraint run_scopes_kind check (kind in ('run', 'project', 'global', 'inherited')),
    primary key (run_id, scope)
) strict, without rowid;

CREATE TABLE run_transitions (
    from_status integer not null constraint run_transitions_from references statuses (code),
    to_status integer not null constraint run_transitions_to references statuses (code),
    primary key (from_status, to_status)
) strict, without rowid;

CREATE TABLE run_view_uses (
    run_id integer not null constraint run_view_uses_run references runs (id) on delete cascade,
    entry_id integer not null,
    turn integer not null,
    primary key (run_id, entry_id, turn)
) strict, without rowid;

CREATE TABLE run_view_versions (
    run_id integer not null constraint run_view_versions_run references runs (id) on delete cascade,
    entry_id integer not null,
    began integer not null,
    ended integer not null,
    content_id integer,
    metadata_id integer,
    visibility text not null,
    state text not null,
    outcome text,
    context_order integer,
    turn integer not null,
    last_used_turn integer,
    primary key (run_id, entry_id, began)
) strict, without rowid;

CREATE TABLE run_views (
    run_id integer not null constraint run_views_run references runs (id) on delete cascade,
    entry_id integer not null constraint run_views_entry references entries (id),
    content_id integer constraint run_views_content references contents (id),
    metadata_id integer constraint run_views_metadata references _entry_metadata (id),
    visibility text not null constraint run_views_visibility references visibilities (name),
    state text not null constraint run_views_state references states (name),
    outcome text,
    writer text not null constraint run_views_writer references writer_tiers (name),
    loop_id integer,
    context_order integer,
    turn integer not null,
    last_used_turn integer not null,
    write_count integer not null default 1,
    since integer not null,
    picture_chars integer,
    primary key (run_id, entry_id)
) strict, without rowid;

CREATE TABLE runs (
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
    updated_at integer not null,
    system_prompt text,
    role text not null default 'main'
        constraint runs_role check (role in ('main', 'subtask', 'execute', 'judge', 'workflow', 'step')),
    depth integer not null default 0 constraint runs_depth check (depth >= 0),
    effort text constraint runs_effort check (effort in ('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
    title text,
    labels text constraint runs_labels_json check (labels is null or json_valid(labels)),
    archived_at integer
) strict;

CREATE TABLE schemes (
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

CREATE TABLE search_rankers (
    name text primary key,
    weight real not null constraint search_rankers_weight check (weight >= 0),
    meaning text not null
) strict, without rowid;

CREATE TABLE search_texts (
    id integer primary key,
    kind text not null
        constraint search_texts_kind check (kind in ('tool', 'skill', 'rule', 'reference', 'mcp', 'entry')),
    scope text not null,
    name text not null,
    entry_id integer,
    content_id integer,
    words text not null,
    text text not null,
    digest text not null,
    line integer not null default 1
) strict;

CREATE TABLE setting_layers (
    name text not null constraint setting_layers_name references settings (name) on delete cascade,
    layer text not null constraint setting_layers_layer check (layer in ('user', 'project', 'file', 'env')),
    value text,
    source text,
    confirmed integer not null default 0 constraint setting_layers_confirmed_flag check (confirmed in (0, 1)),
    constraint setting_layers_once primary key (name, layer)
) strict, without rowid;

CREATE TABLE settings (
    name text primary key,
    value text,
    kind text not null default 'text' constraint settings_kind check (kind in ('text', 'whole', 'number')),
    least real,
    most real,
    needed integer not null default 0 constraint settings_needed_flag check (needed in (0, 1)),
    meaning text not null
) strict, without rowid;

CREATE TABLE spending (
    day text primary key,
    cost real not null default 0,
    tokens integer not null default 0,
    calls integer not null default 0
) strict, without rowid;

CREATE TABLE star_command_rules (
    star_command_id integer not null
        constraint star_command_rules_command references star_commands (id) on delete cascade,
    ordinal integer not null,
    text text not null
        constraint star_command_rules_text_form check (trim(text) <> '' and length(text) <= 2000),
    primary key (star_command_id, ordinal)
) strict, without rowid;

CREATE TABLE star_commands (
    id integer primary key,
    rule_set_id integer not null constraint star_commands_set references rule_sets (id) on delete cascade,
    name text not null constraint star_commands_name_form check (
        name glob '[a-z]*' and name not glob '*[^a-z0-9_]*' and length(name) <= 60
    ),
    description text not null default '',
    constraint star_commands_name_once unique (rule_set_id, name)
) strict;

CREATE TABLE states (
    name text primary key,
    status integer constraint states_status references statuses (code),
    meaning text not null
) strict, without rowid;

CREATE TABLE statuses (
    code integer primary key,
    name text not null,
    meaning text not null
) strict;

CREATE TABLE step_runs (
    run_id integer not null constraint step_runs_run references workflow_runs (run_id) on delete cascade,
    step text not null,
    layer integer not null,
    position integer not null,
    state text not null default 'waiting' constraint step_runs_state references step_states (name),
    reason text,
    child_run_id integer,
    started_at integer,
    ended_at integer,
    constraint step_runs_once primary key (run_id, step)
) strict, without rowid;

CREATE TABLE step_states (
    name text primary key,
    ended integer not null constraint step_states_ended_flag check (ended in (0, 1)),
    meaning text not null
) strict, without rowid;

CREATE TABLE test_programs (
    program text not null,
    arguments text not null default '*',
    constraint test_programs_once primary key (program, arguments)
) strict, without rowid;

CREATE VIRTUAL TABLE text_search using fts5 (
    words, text, content = 'search_texts', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TABLE 'text_search_config'(k PRIMARY KEY, v) WITHOUT ROWID;

CREATE TABLE 'text_search_data'(id INTEGER PRIMARY KEY, block BLOB);

CREATE TABLE 'text_search_docsize'(id INTEGER PRIMARY KEY, sz BLOB);

CREATE TABLE 'text_search_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;

CREATE TABLE text_vectors (
    id integer primary key,
    embedder text not null,
    digest text not null,
    bits blob not null,
    vector blob not null,
    constraint text_vectors_once unique (embedder, digest)
) strict;

CREATE TABLE thread_events (
    name text primary key,
    origin text not null constraint thread_events_origin check (origin in ('offered', 'fact', 'request')),
    fields text not null,
    meaning text not null
) strict, without rowid;

CREATE TABLE thread_patterns (
    thread_id integer not null constraint thread_patterns_thread references threads (id) on delete cascade,
    point integer not null constraint thread_patterns_point check (point > 0),
    ordinal integer not null,
    part text not null constraint thread_patterns_part check (part in ('request', 'wait', 'block', 'interrupt')),
    event text not null,
    fields text not null default '{}'
        constraint thread_patterns_fields check (json_valid(fields) and json_type(fields) = 'object'),
    message text,
    constraint thread_patterns_place primary key (thread_id, point, ordinal)
) strict, without rowid;

CREATE TABLE thread_states (
    run_id integer not null constraint thread_states_run references runs (id) on delete cascade,
    thread_id integer not null constraint thread_states_thread references threads (id) on delete cascade,
    point integer,
    loop_id integer,
    active integer not null default 1 constraint thread_states_active_flag check (active in (0, 1)),
    constraint thread_states_once primary key (run_id, thread_id)
) strict, without rowid;

CREATE TABLE thread_uses (
    thread_id integer not null constraint thread_uses_thread references threads (id) on delete cascade,
    project_id integer constraint thread_uses_project references projects (id) on delete cascade,
    run_id integer constraint thread_uses_run references runs (id) on delete cascade,
    added_by text not null default 'client',
    constraint thread_uses_owner check ((project_id is null) <> (run_id is null)),
    constraint thread_uses_once unique (thread_id, project_id, run_id)
) strict;

CREATE TABLE threads (
    id integer primary key,
    name text not null
        constraint threads_name_form check (name <> '' and name not glob '*[^a-z0-9_-]*' and length(name) <= 40),
    level text not null constraint threads_level check (level in ('shipped', 'project', 'run')),
    project_id integer constraint threads_project references projects (id) on delete cascade,
    run_id integer constraint threads_run references runs (id) on delete cascade,
    purpose text not null,
    priority integer not null default 100 constraint threads_priority check (priority between 1 and 1000),
    repeat_from integer,
    each_prompt integer not null default 0 constraint threads_each_prompt_flag check (each_prompt in (0, 1)),
    tool text,
    disabled integer not null default 0 constraint threads_disabled_flag check (disabled in (0, 1)),
    added_by text not null default 'client',
    created_at integer not null default 0,
    removed_at integer,
    constraint threads_owner check (
        (level = 'project') = (project_id is not null) and (level = 'run') = (run_id is not null)
    )
) strict;

CREATE TABLE tool_narrowings (
    loop_id integer primary key constraint tool_narrowings_loop references loops (id) on delete cascade,
    is_narrowed integer not null constraint tool_narrowings_is_narrowed_flag check (is_narrowed in (0, 1)),
    most integer not null,
    embedder text
) strict;

CREATE TABLE tools (
    name text primary key,
    ordinal integer not null,
    gathers integer not null default 0 constraint tools_gathers_flag check (gathers in (0, 1)),
    advertised integer not null default 1 constraint tools_advertised_flag check (advertised in (0, 1)),
    modes text not null default '["ask","act"]' constraint tools_modes_json check (json_valid(modes)),
    hidden_by text not null default '[]' constraint tools_hidden_by_json check (json_valid(hidden_by)),
    schema text not null default '{"type":"object"}' constraint tools_schema_json check (json_valid(schema)),
    meaning text not null,
    doc text,
    reads integer not null default 0 constraint tools_reads_flag check (reads in (0, 1))
) strict, without rowid;

CREATE TABLE turn_errors (
    id integer primary key,
    turn_id integer not null constraint turn_errors_turn references turns (id) on delete cascade,
    status integer not null constraint turn_errors_status references statuses (code),
    message text not null,
    slug text,
    soft integer not null default 0 constraint turn_errors_soft_flag check (soft in (0, 1)),
    detail text constraint turn_errors_detail_json check (detail is null or json_valid(detail))
) strict;

CREATE TABLE turn_phases (
    name text primary key,
    meaning text not null
) strict, without rowid;

CREATE TABLE turn_pictures (
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

CREATE TABLE turn_seals (
    turn_id integer primary key constraint turn_seals_turn references turns (id) on delete cascade,
    previous text,
    digest text not null default '',
    answered integer not null constraint turn_seals_answered_range check (answered in (0, 1, 2)),
    command_id integer,
    resolution_id integer,
    result_id integer
) strict;

CREATE TABLE turn_transitions (
    from_phase text not null constraint turn_transitions_from references turn_phases (name),
    to_phase text not null constraint turn_transitions_to references turn_phases (name),
    primary key (from_phase, to_phase)
) strict, without rowid;

CREATE TABLE turns (
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
    chars_per_token real,
    ladder integer not null default 0,
    condensed integer not null default 0,
    refused integer not null default 0,
    scanned integer not null default 0,
    ms_model integer,
    ms_engine integer,
    created_at integer not null,
    ended_at integer,
    finish_reason text,
    entry_chars integer,
    cost_from text constraint turns_cost_from check (cost_from in ('provider', 'person', 'list', 'local')),
    constraint turns_sequence_per_run unique (run_id, sequence)
) strict;

CREATE TABLE undone_edits (
    run_id integer not null constraint undone_edits_run references runs (id) on delete cascade,
    command_id integer not null constraint undone_edits_command references commands (id) on delete cascade,
    undone_id integer not null constraint undone_edits_undone references commands (id) on delete cascade,
    primary key (run_id, command_id, undone_id)
) strict, without rowid;

CREATE TABLE vetoes (
    command_id integer primary key constraint vetoes_command references commands (id) on delete cascade,
    outcome text not null default 'permission' constraint vetoes_outcome references outcomes (name),
    message text not null
) strict;

CREATE TABLE visibilities (
    name text primary key,
    meaning text not null
) strict, without rowid;

CREATE TABLE votes (
    turn_id integer not null constraint votes_turn references turns (id) on delete cascade,
    voter text not null,
    vote text not null constraint votes_vote check (vote in ('stop', 'go_on')),
    rank integer not null,
    status integer not null default 102 constraint votes_status references statuses (code),
    reason text,
    answer text,
    primary key (turn_id, voter)
) strict, without rowid;

CREATE TABLE workflow_needs (
    workflow_id integer not null,
    step text not null,
    needs text not null,
    constraint workflow_needs_once primary key (workflow_id, step, needs),
    constraint workflow_needs_step foreign key (workflow_id, step) references workflow_steps (workflow_id, step),
    constraint workflow_needs_needed foreign key (workflow_id, needs) references workflow_steps (workflow_id, step)
) strict, without rowid;

CREATE TABLE workflow_runs (
    run_id integer primary key constraint workflow_runs_run references runs (id) on delete cascade,
    workflow_id integer not null constraint workflow_runs_workflow references workflows (id),
    effect_id integer,
    models text not null default '{}' constraint workflow_runs_models_json check (json_valid(models))
) strict;

CREATE TABLE workflow_steps (
    workflow_id integer not null constraint workflow_steps_workflow references workflows (id),
    step text not null constraint workflow_steps_step_form
        check (length(step) between 1 and 64 and step not glob '*[^a-zA-Z0-9_-]*'),
    layer integer not null constraint workflow_steps_layer check (layer >= 1),
    position integer not null,
    line integer,
    title text,
    instruction text not null constraint workflow_steps_instruction check (trim(instruction) <> ''),
    model text,
    tools text constraint workflow_steps_tools_json check (json_valid(tools)),
    accept text,
    accept_command text,
    accept_attempts integer constraint workflow_steps_accept_attempts check (accept_attempts >= 1),
    accept_model text,
    output text constraint workflow_steps_output_json check (json_valid(output)),
    constraint workflow_steps_once primary key (workflow_id, step)
) strict, without rowid;

CREATE TABLE workflow_values (
    run_id integer not null constraint workflow_values_run references workflow_runs (run_id) on delete cascade,
    name text not null,
    value text not null,
    origin text not null constraint workflow_values_origin check (origin in ('given', 'default', 'undeclared')),
    constraint workflow_values_once primary key (run_id, name)
) strict, without rowid;

CREATE TABLE workflow_variables (
    workflow_id integer not null constraint workflow_variables_workflow references workflows (id),
    name text not null constraint workflow_variables_name_form
        check (length(name) between 1 and 64 and name not glob '*[^a-zA-Z0-9_-]*' and name not glob '[0-9-]*'),
    position integer not null,
    description text not null default '',
    required integer not null default 0 constraint workflow_variables_required_flag check (required in (0, 1)),
    default_value text,
    constraint workflow_variables_once primary key (workflow_id, name)
) strict, without rowid;

CREATE TABLE workflows (
    id integer primary key,
    project_id integer constraint workflows_project references projects (id),
    name text not null constraint workflows_name_form
        check (length(name) between 1 and 64 and name not glob '*[^a-z0-9_.-]*'),
    description text not null,
    version integer,
    model text,
    syntax text not null default 'rows' constraint workflows_syntax check (syntax in ('jsonc', 'yaml', 'rows')),
    text text,
    source text,
    created_at integer not null default 0
) strict;

CREATE TABLE write_claims (
    turn_id integer not null constraint write_claims_turn references turns (id) on delete cascade,
    path text not null,
    run_id integer not null constraint write_claims_run references runs (id) on delete cascade,
    primary key (turn_id, path)
) strict, without rowid;

CREATE TABLE writer_tiers (
    name text primary key,
    rank integer not null constraint writer_tiers_rank_unique unique
) strict, without rowid;

CREATE UNIQUE INDEX idx_acceptance_checks_command_id on acceptance_checks (command_id);

CREATE INDEX idx_acceptance_checks_loop_id on acceptance_checks (loop_id);

CREATE INDEX idx_acceptance_checks_turn_id on acceptance_checks (turn_id);

CREATE INDEX idx_attachments_run_id on attachments (run_id);

CREATE INDEX idx_cached_answers_key on _cached_answers (key);

CREATE INDEX idx_call_reservations_turn_id on call_reservations (turn_id);

CREATE INDEX idx_children_effect_id on children (effect_id);

CREATE INDEX idx_children_parent_run_id on children (parent_run_id);

CREATE INDEX idx_children_root_run_id on children (root_run_id);

CREATE UNIQUE INDEX idx_command_policies_shipped on command_policies (program, arguments, condition)
where level = 'shipped';

CREATE INDEX idx_commands_failed on commands (turn_id) where state in ('failed', 'cancelled');

CREATE INDEX idx_commands_from_outside on commands (run_id) where turn_id is null;

CREATE INDEX idx_commands_loop_id_action on commands (loop_id, action) where turn_id > 0;

CREATE UNIQUE INDEX idx_commands_request_id on commands (request_id) where request_id is not null;

CREATE INDEX idx_commands_turn_id_ordinal on commands (turn_id, ordinal);

CREATE INDEX idx_commit_edits_edit_id on commit_edits (edit_id);

CREATE INDEX idx_commits_run_id on commits (run_id);

CREATE INDEX idx_edges_parent_id on edges (parent_id, child_id);

CREATE INDEX idx_effects_command_id on effects (command_id);

CREATE INDEX idx_effects_open on effects (run_id) where state in ('pending', 'started');

CREATE INDEX idx_entry_chunks_run_id_entry_id on entry_chunks (run_id, entry_id, id);

CREATE INDEX idx_events_settings on events (id) where kind = 'setting.changed';

CREATE INDEX idx_file_modes_command_id on file_modes (command_id) where command_id is not null;

CREATE INDEX idx_file_stats_instructions on file_stats (project_id, path)
where path glob '*[A-Zrn][A-Zus][.l][me][ds]';

CREATE INDEX idx_file_stats_spelled on file_stats (project_id, path)
where path glob '*[^ -~]*';

CREATE INDEX idx_grants_project_id on grants (project_id, kind) where revoked_at is null;

CREATE INDEX idx_handoffs_first_loop_id on handoffs (first_loop_id, next_loop_id);

CREATE INDEX idx_handoffs_next_loop_id on handoffs (next_loop_id) where next_loop_id is not null;

CREATE INDEX idx_hook_calls_refused on hook_calls (loop_id) where refuses;

CREATE INDEX idx_hook_calls_turn_id on hook_calls (turn_id);

CREATE INDEX idx_jobs_run_id on jobs (run_id, ended_at);

CREATE UNIQUE INDEX idx_loops_one_active on loops (run_id) where status = 102;

CREATE INDEX idx_loops_queued on loops (run_id, sequence) where status = 100;

CREATE INDEX idx_model_calls_turn_id on model_calls (turn_id);

CREATE INDEX idx_proposals_command_id on proposals (command_id);

CREATE INDEX idx_proposals_open on proposals (run_id) where state = 'proposed';

CREATE INDEX idx_resolutions_run_id on resolutions (run_id);

CREATE INDEX idx_rewinds_from_run_id on rewinds (from_run_id);

CREATE INDEX idx_rewinds_run_id on rewinds (run_id);

CREATE INDEX idx_rule_keywords_domain on rule_keywords (domain_id, kind, word);

CREATE INDEX idx_rule_keywords_found on rule_keywords (rule_set_id, is_whole, word);

CREATE UNIQUE INDEX idx_rule_keywords_word
on rule_keywords (rule_set_id, coalesce(domain_id, 0), kind, word);

CREATE UNIQUE INDEX idx_rule_selections_loop on rule_selections (loop_id) where loop_id is not null;

CREATE INDEX idx_rule_selections_run on rule_selections (run_id);

CREATE UNIQUE INDEX idx_rule_sets_global on rule_sets (coalesce(project_id, 0)) where project_id is null;

CREATE UNIQUE INDEX idx_rule_sets_project on rule_sets (project_id) where project_id is not null;

CREATE INDEX idx_run_views_in_context on run_views (run_id, entry_id) where visibility <> 'archived';

CREATE INDEX idx_runs_parent_run_id on runs (parent_run_id);

CREATE INDEX idx_runs_project_id on runs (project_id);

CREATE INDEX idx_search_texts_digest on search_texts (digest, kind, scope, name, entry_id, content_id);

CREATE INDEX idx_search_texts_entry on search_texts (kind, entry_id, content_id);

CREATE INDEX idx_step_runs_state on step_runs (run_id, state, layer, position);

CREATE INDEX idx_text_vectors_bits on text_vectors (embedder, digest, bits);

CREATE UNIQUE INDEX idx_threads_name on threads (name, coalesce(project_id, 0), coalesce(run_id, 0))
where removed_at is null;

CREATE INDEX idx_turn_errors_turn_id on turn_errors (turn_id);

CREATE INDEX idx_turns_costs on turns (run_id, cost) where cost is not null;

CREATE INDEX idx_turns_loop_id_sequence on turns (loop_id, sequence);

CREATE UNIQUE INDEX idx_turns_one_open on turns (run_id) where phase <> 'judged';

CREATE INDEX idx_turns_reported on turns (run_id, sequence, context_chars, prompt_tokens, loop_id)
where prompt_tokens > 0;

CREATE INDEX idx_turns_unknown_costs on turns (run_id) where response is not null and cost is null;

CREATE INDEX idx_undone_edits_command_id on undone_edits (command_id);

CREATE INDEX idx_undone_edits_undone_id on undone_edits (undone_id);

CREATE INDEX idx_workflow_needs_needed on workflow_needs (workflow_id, needs);

CREATE INDEX idx_workflow_runs_workflow_id on workflow_runs (workflow_id);

CREATE INDEX idx_workflows_name on workflows (name);

-- view _abort_run (run_id, reason)
-- view _aborting_commands (turn_id, ordinal, action)
-- view _accept_all (command_id, decided_by)
-- view _accept_turn (turn_id, loop_id, refused, vote, rank, status, reason, answer, told)
-- view _acceptance_findings (turn_id, run_id, loop_id, sequence, lease, action, accept, accept_command, answer, attempts, attempt, refused, broken, reasons)
-- view _acceptance_votes (turn_id, loop_id, refused, vote, rank, status, reason, answer, told)
-- view _acts (rank, kind, run, what)
-- view _acts__acceptance (rank, kind, run, what)
-- view _acts__answer_cache (rank, kind, run, what)
-- view _acts__commits (rank, kind, run, what)
-- view _acts__hooks (rank, kind, run, what)
-- view _acts__workflows (rank, kind, run, what)
-- view _add_workflow (project_id, syntax, text, source, read)
-- view _added_prompts (turn_id, place, layer, source, text, room)
-- view _alias_tiers (name, actual, tier)
-- view _alias_tiers__delegation (name, actual, tier)
-- view _answer_attempts (loop_id, refused, attempts)
-- view _answer_limits (turn_id, ended)
-- view _answered_calls (command_id)
-- view _answered_calls__mcp (command_id)
-- view _answers (turn_id, run_id, model, at)
-- view _answers_to_hold (turn_id, answer, status)
-- view _append_job_output (effect_id, channel, text, lease)
-- view _append_output (effect_id, channel, text, lease)
-- view _apply_patch (command_id, run_id, path, patch)
-- view _apply_retention (at)
-- view _apply_write (run_id, entry_id, path, category, shared, is_new, old_content_id, old_body, body, attributes, visibility, state, outcome, writer, turn, loop_id, content_id, searchable)
-- view _archivable_entries (turn_id, step, entry_id, path, turn, tokens)
-- view _archive_notes (turn_id, entries, told)
-- view _ask_for_call (effect_id, reason, lease)
-- view _asked_commands (run, taken_by, subject, command_id, turn, log_path, target)
-- view _asked_domains (run_id, run, name, domain_id, is_active, always_on)
-- view _asked_entries (run, run_id, path, entry_id, kind, visibility, since)
-- view _asked_hooks (call_id, run, required)
-- view _asked_prompts (run_id, run, loop_id)
-- view _asked_selections (run_id, selection_id, loop)
-- view _asked_tools (turn_id, ordinal, name, description, schema)
-- view _atomic_commands (command_id)
-- view _atomic_effects (effect_id, run_id, turn_id, command_id, kind, detail, state, identity, body, root, action, max_output)
-- view _attach (run, path, text, facts, body)
-- view _attached_turns (turn_id)
-- view _attached_turns__pictures (turn_id)
-- view _background_processes (effect_id, run_id, identity, started_at, ended_at, outcome, exit_code, detail, keeper, token)
-- view _background_processes__jobs (effect_id, run_id, identity, started_at, ended_at, outcome, exit_code, detail, keeper, token)
-- view _begin_check (turn_id, run_id, loop_id, sequence, attempt, kind)
-- view _begin_commit (run_id, loop_id, turn_id)
-- view _begin_eval (suite, folder, baseline, fail_under, trials)
-- view _begin_hook (run, lease)
-- view _begin_turn (run, lease)
-- view _bounded_turns (turn_id)
-- view _bounded_turns__bounds (turn_id)
-- view _bring_references (turn_id, found)
-- view _cache_horizons (since)
-- view _cacheable_turns (turn_id, asked_of, prompt)
-- view _call_decisions (turn_id, output, is_limited, waits, stops)
-- view _call_door (door, run, lease, path, body, attributes)
-- view _call_function (command_id, reading)
-- view _call_verb (action, run, path, destination, body, visibility, state, outcome, attributes, append, pattern, filter, request_id)
-- view _calls_at_work (effect_id)
-- view _cancellable_processes (effect_id, token, is_unwatched)
-- view _changed_texts (run_id, turn, path, change, at, before, after)
-- view _changes_of_files (run_id, turn_id, at, path, change, cause, command, diff, content_id, content_before, decided_by, command_id)
-- view _changes_since (run_id, turn, entry_id, began, before, child, is_own)
-- view _channel_entries (effect_id, channel, run_id, turn_id, path, entry_id, printed)
-- view _check_body (command_id, path, body, whole)
-- view _check_child (parent_run_id, role, attributes)
-- view _check_ends (check_id, turn_id, verdict, reasons)
-- view _check_lines (line)
-- view _check_options (run, attributes)
-- view _check_outputs (command_id, said)
-- view _check_rewind (run_id, turn, plan)
-- view _check_setting (name, value)
-- view _check_undo (run_id, way, turn, plan)
-- view _child_aliases (run_id, alias)
-- view _child_patches (run_id, body)
-- view _choose_pictures (turn_id)
-- view _choose_rules (turn_id)
-- view _chosen_pictures (turn_id, entry_id, path, shown, size, sha256, format, width, height, tokens, line, actual, chars_per_token, picture_id, fault)
-- view _chunk_texts (id, text)
-- view _claim_files (effect_id)
-- view _claim_lease (run, token, holder, replaces)
-- view _claim_process (run, path, claimant, holder)
-- view _claim_refusals (effect_id, refusal)
-- view _claim_refusals__workflows (effect_id, refusal)
-- view _claimed_processes (run, path, state, claimant, holder, effect_id)
-- view _claims_ahead (effect_id, turn_id, owner_id, path)
-- view _closed_tools (command_id, reason)
-- view _command_bodies (command_id, body)
-- view _command_changes (command_id, changes)
-- view _command_entries (command_id, entry_id, path)
-- view _command_filters (command_id, filter)
-- view _command_lines (line_id, run_id, project_id, reading)
-- view _command_outputs (command_id, outputs)
-- view _command_pages (command_id, run_id, entry_id, chars, visibility, attributes, is_stub, is_fresh, is_wanted, is_slice)
-- view _command_paths (command_id, is_pattern, entry_id)
-- view _command_refusals (turn_id, command_id, outcome, message)
-- view _command_refusals__skills (turn_id, command_id, outcome, message)
-- view _command_turns (turn_id, run_id, began, ended)
-- view _command_words (command_id, words, outcome, told)
-- view _commands_since (run_id, turn, at)
-- view _commit_files (commit_id, files)
-- view _compact_fixed_parts (turn_id, part, path, body, turn, entry_id)
-- view _compact_fixed_parts__relations (turn_id, part, path, body, turn, entry_id)
-- view _compact_fixed_parts__rules (turn_id, part, path, body, turn, entry_id)
-- view _compact_instruction_rooms (turn_id, chars)
-- view _compact_instructions (turn_id, path, body, depth)
-- view _compact_parts (turn_id, part, path, body, turn, entry_id)
-- view _compact_parts__instructions (turn_id, part, path, body, turn, entry_id)
-- view _compact_plans (turn_id, body)
-- view _compact_rules (turn_id, label, ordinal, body)
-- view _condensable_results (turn_id, step, entry_id, path, turn, tokens)
-- view _condense (turn_id)
-- view _condense_ratios (turn_id, ratio)
-- view _confine_processes (run, lease, choice, sandbox, reason)
-- view _confined_proposals (run_id, proposal_id, path)
-- view _content_lines (content_id, lines)
-- view _content_texts (id, body, summary, symbols, cut, chars, summary_chars, lines, fence)
-- view _context_costs (run_id, entry_id, path, kind, category, visibility, turn, last_used_turn, is_task, summarized, added, chars_per_token, expansion)
-- view _context_texts (run_id, entry_id, path, shown_path, kind, category, visibility, turn, last_used_turn, context_order, shown, prefix_of, prefix_chars, content_id, chars, body, summary, opening, fence, version, summary_chars, is_task, chars_per_token)
-- view _context_views (run_id, entry_id, path, shown_path, kind, category, visibility, turn, last_used_turn, context_order, shown, content_id, picture_chars, start, loop_id, chars_per_token)
-- view _continue_handoff (loop_id)
-- view _continuing_loops (loop_id, last_id)
-- view _continuing_loops__handoffs (loop_id, last_id)
-- view _convention_stamps (turn_id, stamp)
-- view _conversations (run, items)
-- view _copy_views (run_id, parent_run_id, forked_at, clock)
-- view _core_tools (name)
-- view _counting_grants (id, project_id, run_id, kind, target, granted_by, created_at, revoked_at, loop_id)
-- view _counting_layers (name, layer, value, source, rank)
-- view _cut_responses (turn_id, told, cuts_text, ending)
-- view _decide_line (proposal_id)
-- view _decide_mode (command_id, path, is_executable)
-- view _decide_packet (turn_id, chars, lease, tokens, decision)
-- view _decide_turn (turn_id, loop_id, faulty, cycles, failed, rejected, commands, acts, update_id, prose)
-- view _deciding_commands (command_id, decision)
-- view _decision_reasons (run, subject, place, says, source, key)
-- view _delegating_runs (run)
-- view _delegation_ends (effect_id, run_id, parent_run_id, alias, status, answer, reason, verdict, action, turns, cost, path, turn, loop_id)
-- view _delegation_refusals (effect_id, refusal)
-- view _delegation_reports (effect_id, report)
-- view _delegations_ahead (effect_id, run_id, command_id, action, objective, attributes, run, role, depth, effort, own_effort, loop_id, max_depth, own_name, provider, asked, judge, own_model, model, judge_name, name, efforts, tiers, own_tier, tier, judge_tier)
-- view _demote (turn_id, step)
-- view _demotion_notes (turn_id, step, entries, tokens, lines)
-- view _dispatch (run, lease, only)
-- view _domain_findings (part, place, kind, name, word, path, domain_id)
-- view _driven_children (run_id, lineage)
-- view _driven_trees (top, run, token)
-- view _due_checks (turn_id, run_id, loop_id, sequence, line, ordinal)
-- view _due_effects (run_id, turn_id, command_id, proposal_id, kind, detail)
-- view _due_retention (alias, becomes, rests_since)
-- view _due_rule_sources (turn_id, rule_set_id, place, files, items, folder)
-- view _due_searches (turn_id, what)
-- view _due_searches__discovery (turn_id, what)
-- view _due_searches__instructions (turn_id, what)
-- view _edit_files (command_id, run_id, proposal_id, kind, path, entry_id, hash_before, hash_after, content_id, leads_to, executable, log_path)
-- view _edits (command_id, entry_id, path, attributes, is_pattern, visibility, edit)
-- view _effect_channels (effect_id, run_id, turn_id, channel, path)
-- view _effect_confinements (effect_id, choice, required, writable, network, memory, file_size, processes, home, shown)
-- view _effect_leases (effect_id, token)
-- view _effect_substitutes (effect_id, note)
-- view _effect_substitutes__web (effect_id, note)
-- view _effect_timeouts (effect_id, timeout_s)
-- view _embeddable_texts (digest, text)
-- view _end_check (check_id, verdict, reasons)
-- view _end_command (command_id, state, outcome, message)
-- view _end_commit (effect_id, detail)
-- view _end_hook (run, lease, ended, exit_code, stdout, stderr)
-- view _end_kept_jobs (run, reason)
-- view _end_preparation (run, lease)
-- view _end_scan (run_id, turn_id)
-- view _end_step (run, step, lease)
-- view _end_trial (trial, run, answer, error, cost, milliseconds, checks)
-- view _end_turn (turn_id, loop_id, vote, voter, status, reason, answer)
-- view _end_workflow (run, lease)
-- view _ensure_run (alias, attributes, role)
-- view _entry_bodies (run_id, entry_id, path, scheme, kind, body, chars, attributes, visibility)
-- view _entry_commands (run, path, command_id, taken_by)
-- view _entry_heads (run_id, entry_id, head)
-- view _entry_lines (command_id, path, chars, short, chars_per_token, room)
-- view _entry_turns (run, run_id, path, entry_id, visibility, event_id, event, at, turn_id, turn)
-- view _envelope_costs (run_id, entry_id, path, kind, category, visibility, turn, last_used_turn, is_task, summarized, added, chars_per_token)
-- view _eval_counts (eval, case, model, variant, trials, passed, cost, seconds)
-- view _eval_rates (eval, case, model, variant, trials, passed, cost, seconds, rate, low, high)
-- view _event_words (turn_id, kind, words)
-- view _event_words__answer_cache (turn_id, kind, words)
-- view _executable_files (scope, path)
-- view _expect_at_rest (run, lease)
-- view _expect_threads (run)
-- view _explain_rules (run_id, project_id, prompt)
-- view _explained_decisions (explained_id, readable, plain, policy_id, level, name, decision, message, grant_id, hidden)
-- view _explained_programs (explained_id, ordinal, program, arguments, policy_id, level, name, decision, message)
-- view _external_references (project_id, folder, ordinal, title, target)
-- view _fail_call (turn_id, status, message)
-- view _fail_command (command_id, fault)
-- view _failed_checks (turn_id, told)
-- view _fall_back (turn_id, status, message)
-- view _fallback_loops (loop_id)
-- view _fallback_loops__handoffs (loop_id)
-- view _faults (command_id, fault)
-- view _file_effects (effect_id, kind, run_id, project_id, scope, path, content_id, detail, result, action, source, writer, loop_id, turn)
-- view _file_heads (project_id, path, began, content_id, content_before, change, is_first)
-- view _file_limits (name, measure, is_of_day, most)
-- view _file_states (scope, entry_id, began, ended, content_id, hash, attributes, is_present, is_executable, is_mode, decided)
-- view _file_texts (scope, entry_id, began, ended, content_id, hash, attributes, is_present)
-- view _file_watchers (door)
-- view _file_watchers__delegation (door)
-- view _fill_workflow (run_id, workflow_id, variables, models)
-- view _find_lines (effect_id, text_id, line)
-- view _find_requests (effect_id, run_id, pattern, query)
-- view _finish_delegation (effect_id, lease)
-- view _finish_effect (effect_id, state, outcome, message, detail, lease, pages)
-- view _finish_job (effect_id, outcome, exit_code, detail, lease)
-- view _first_decisions (proposal_id, resolution_id)
-- view _first_digests (run_id, digest)
-- view _forbidden_entries (command_id, path)
-- view _forbidden_paths (command_id, path)
-- view _forget_run (run_id)
-- view _forget_unused (due)
-- view _found_changes (project_id, path, content_id, content_before, change, is_first, at, turn_id)
-- view _found_entries (command_id, entry_id, path)
-- view _found_skills (project_id, name, path, folder, content_id, place, files, files_there)
-- view _found_texts (text_id, place, line, kind, name, scope, entry_id, score, found_by, beginning)
-- view _free_processes (effect_id, proposal_id)
-- view _free_steps (run_id, free)
-- view _freed_prompts (run)
-- view _function_calls (command_id, run_id, turn_id, action, is_there, is_closed)
-- view _function_contexts (effect_id, run, loop, prompt, turn, command_id, request_id, approved_by)
-- view _function_timeouts (effect_id, timeout_s, left_s)
-- view _give_tools (tools)
-- view _given_answers (turn_id, response, reasoning, finish_reason, native)
-- view _giving_loops (run_id, loop_id)
-- view _going_on (command_id)
-- view _grant_rights (grant_id, right_text)
-- view _granted_proposals (proposal_id, grant_id)
-- view _guarded_texts (command_id, path, seen)
-- view _guidance_files (project_id, path, kind)
-- view _guidance_names (run, name, topic, subject)
-- view _guided_folders (run_id, root, folder)
-- view _guided_folders__instructions (run_id, root, folder)
-- view _handed_options (run_id, loop_id, mode, model, config)
-- view _handed_results (run_id, step, text)
-- view _handoff_lines (before_id, loop_id)
-- view _handoff_stamps (turn_id, stamp)
-- view _harmless_settings (name)
-- view _heads_in_time (entry_id, began, ended, content_id)
-- view _held_turns (turn_id, run_id, loop_id, sequence, lease, action, accept, accept_command, answer, attempts, attempt)
-- view _hold_answer (turn_id)
-- view _hold_turn (turn_id)
-- view _hook_refusals (call_id, run_id, turn_id, loop_id, command_id, point, told, outcome)
-- view _hook_subjects (turn_id, run_id, loop_id, point, ordinal, command_id, tool, is_due)
-- view _immediate_decisions (proposal_id, run_id, path, created_at, decision, reason, decided_by)
-- view _import_conversation (run, conversation)
-- view _import_prompt (run_id, prompt, is_over)
-- view _import_turn (run_id, loop_id, turn, ends)
-- view _index_texts (id)
-- view _inherited_points (run_id, thread_id, point, at_event)
-- view _instruction_files (project_id, folder, path, entry_id, content_id, chars, fence, shown_path)
-- view _instruction_notes (project_id, folder, refers_to)
-- view _instruction_rooms (loop_id, chars)
-- view _invariant_content_figures (id)
-- view _invariant_fences (what)
-- view _invariant_heads (run_id, entry_id)
-- view _invariant_history (run_id, entry_id)
-- view _invariant_judged_turns (id)
-- view _invariant_loop_of_a_run (alias, status)
-- view _invariant_metadata (run_id, entry_id)
-- view _invariant_one_view_per_path (run_id, path, views)
-- view _invariant_open_turns (id)
-- view _invariant_outputs_fit (loop_id)
-- view _invariant_pins (run_id, path)
-- view _invariant_places (run_id, entry_id)
-- view _invariant_scratch (command_id)
-- view _invariant_seals (run_id, run, turn, fault)
-- view _invariant_settled_commands (id)
-- view _invariant_settled_effects (id)
-- view _job_leases (effect_id, token)
-- view _job_refusals (effect_id, refusal)
-- view _job_reports (effect_id, report)
-- view _job_texts (effect_id, channel, run_id, entry_id, printed, shown, text)
-- view _jobs_to_end (effect_id, why)
-- view _judge_ends (check_id, turn_id, verdict, reasons)
-- view _judge_prompts (turn_id, prompt, attributes)
-- view _judge_turn (turn_id)
-- view _judged_texts (turn_id, accept, result, changes, model, shown_result, shown_changes)
-- view _judges (command_id, run_id, loop_id)
-- view _keep_mcp_items (server, items)
-- view _keep_pages (effect_id, pages)
-- view _keep_patch (effect_id)
-- view _keep_summary (content_id, summary)
-- view _keep_texts (kind)
-- view _kept_attributes (command_id, attributes)
-- view _kept_facts (run_id, entry_id, place, chars)
-- view _kept_pictures (run_id, entry_id, path, shown, size, sha256, format, width, height, tokens, line)
-- view _kept_processes (effect_id, run_id, token)
-- view _kept_processes_unasked (effect_id, lineage)
-- view _known_entries (entry_id, content_id, scope, path)
-- view _known_texts (kind, scope, name, entry_id, content_id, text)
-- view _known_texts__instructions (kind, scope, name, entry_id, content_id, text)
-- view _known_texts__mcp (kind, scope, name, entry_id, content_id, text)
-- view _known_texts__rules (kind, scope, name, entry_id, content_id, text)
-- view _known_texts__skills (kind, scope, name, entry_id, content_id, text)
-- view _ladder_candidates (turn_id, step, entry_id, path, turn, tokens)
-- view _ladder_reports (turn_id, soft, message)
-- view _last_turns (turn_id, is_last)
-- view _late_call (door, a, b, c, d, e, f, g, h, i, j, k, l)
-- view _latest_changes (asked, run, turn, path, change, cause, command, added, removed, decided_by, created_at, command_id, prompt, place)
-- view _lay_rules (selection_id)
-- view _layer_marks (project_id, mark)
-- view _layer_marks__instructions (project_id, mark)
-- view _layer_marks__skills (project_id, mark)
-- view _layer_pieces (turn_id, place, layer, source, text, fence, note, refers_to)
-- view _layer_pieces__instructions (turn_id, place, layer, source, text, fence, note, refers_to)
-- view _layer_pieces__skills (turn_id, place, layer, source, text, fence, note, refers_to)
-- view _layer_stamps (turn_id, stamp)
-- view _leading_rule_sets (project_id, rule_set_id, brackets, bracket_basis, devmode)
-- view _learned_facts (run_id, parent_run_id, content_id, path, parent_path, parent_content_id)
-- view _leases_in_force (run_id, token, holder, expires_at, tools)
-- view _left_out_tools (loop_id, name)
-- view _left_out_tools__discovery (loop_id, name)
-- view _leftover_jobs (effect_id, run_id, identity, keeper)
-- view _leftover_processes (effect_id, run_id, identity, message)
-- view _limit_measures (measure)
-- view _limit_rooms (turn_id, loop_id, name, room, is_alone)
-- view _limit_scopes (loop_id, scope_id)
-- view _limit_settings (name, value, kind, measure, option)
-- view _line_decisions (proposal_id, run_id, path, created_at, decision, reason, decided_by)
-- view _line_paths (turn_id, paths)
-- view _line_policies (line_id, policy_id, rank)
-- view _line_programs (line_id, hidden, ordinal, found, plain, policy_id)
-- view _lines_of_all_runs (run_id, source_id, depth, before_turn)
-- view _list_entries (command_id, heading)
-- view _list_rooms (loop_id, chars_per_token, room)
-- view _listed_folders (run_id, run, turn_id, project_id, root)
-- view _listed_skills (turn_id, name, text, undescribed, unnamed)
-- view _live_reservations (loop_id, turn_id, cost, tokens)
-- view _log_additions (run, turn, ordinal, writer, action, target, state, outcome, status, body, path, command_id, decided_by, created_at)
-- view _log_additions__acceptance (run, turn, ordinal, writer, action, target, state, outcome, status, body, path, command_id, decided_by, created_at)
-- view _log_additions__commits (run, turn, ordinal, writer, action, target, state, outcome, status, body, path, command_id, decided_by, created_at)
-- view _log_additions__hooks (run, turn, ordinal, writer, action, target, state, outcome, status, body, path, command_id, decided_by, created_at)
-- view _log_command (command_id)
-- view _look_for_answer (turn_id, key, embedder, vector)
-- view _loop_acceptances (loop_id, accepted)
-- view _loop_acceptances__acceptance (loop_id, accepted)
-- view _loop_ceilings (loop_id, chars_per_token, context_size, ceiling)
-- view _loop_diffs (loop_id, proposal_id, diff)
-- view _loop_flags (loop_id, run_id, flag)
-- view _loop_folders (turn_id, loop_id, project_id, folder, path, entry_id, content_id, chars, fence, shown_path)
-- view _loop_grammars (loop_id, gbnf, json_schema)
-- view _loop_max_seconds (loop_id, max_seconds, started_at, prompt)
-- view _loop_rates (loop_id, chars_per_token)
-- view _loop_seconds (loop_id, max_seconds, seconds_left, prompt)
-- view _loop_tool_schemas (loop_id, name, schema)
-- view _loop_tool_schemas__typed_answers (loop_id, name, schema)
-- view _loop_tools (loop_id, name, ordinal, gathers, doc, schema, meaning)
-- view _loop_votes (turn_id, voter, rank, status, reason, answer)
-- view _loop_votes__bounds (turn_id, voter, rank, status, reason, answer)
-- view _loop_votes__handoffs (turn_id, voter, rank, status, reason, answer)
-- view _loops_below (loop_id, below_id)
-- view _loops_without_rules (turn_id)
-- view _made_states (entry_id, began, command_id)
-- view _make_entry (entry_id, run_id, path)
-- view _make_metadata (run_id, entry_id)
-- view _maps (command_id, message)
-- view _matched_references (turn_id, entry_id)
-- view _media_faults (loop_id, format, fault)
-- view _message_calls (command_id, run_id, turn_id, ordinal, action, log_path, call_id, arguments, returned, failed)
-- view _message_texts (turn_id, body)
-- view _metadata (id, attributes, head)
-- view _model_options (loop_id, options, temperature)
-- view _model_requests (turn_id, run_id, run, model, actual, profile, tool_calling, grammar, output, options, temperature, effort, max_tokens, position, answer_cache, timeout_s, deadline_s, has_pictures, is_bounded, context_tokens, price, headers)
-- view _model_requests_named (loop_id, command_id)
-- view _models_ahead (effect_id, run, actual)
-- view _models_asked (effect_id, run_id, command_id, action, objective, attributes, run, role, depth, effort, own_effort, loop_id, max_depth, own_name, provider, asked, judge, own_model, model, judge_name, name, efforts)
-- view _models_from_files (run_id, actual)
-- view _modes_now (entry_id, is_executable)
-- view _move_loop (loop_id, status, reason)
-- view _name_run (action, path, attributes, state)
-- view _named_threads (name)
-- view _narrow_limits (loop_id, most)
-- view _narrow_tools (turn_id, found, embedder, failure)
-- view _near_files (command_id, hint)
-- view _newest_selection (id, loop_id, run_id, project_id, turn, prompts, context_left, rule_set_id, bracket, basis, devmode, room, chars, all_chars, tag)
-- view _next_attachment (number)
-- view _next_checks (turn_id, run_id, loop_id, sequence, attempt, kind)
-- view _next_commands (run, turn_id, ordinal, command_id)
-- view _next_hooks (run_id, turn_id, command_id, point, name, line, timeout_s, layer, source, root, input)
-- view _next_models (loop_id, model, next_model)
-- view _next_piped_text (path, most_tokens)
-- view _next_steps (run_id, run, turn_id, turn, step)
-- view _next_thread_events (run, run_id, at_end, event, thread_id, thread, point)
-- view _note_handoff (command_id)
-- view _note_mode (project_id, path, is_executable)
-- view _note_spellings (project_id)
-- view _offer_check (turn_id)
-- view _offer_command (command_id)
-- view _offer_delegation (run, lease)
-- view _offer_event (run_id, turn_id, loop_id, command_id, event, fields)
-- view _offer_hook (run, lease, name, point, tools, line, timeout_s, required, layer, source)
-- view _offer_packet (turn_id, chars, lease)
-- view _offer_search (run, lease)
-- view _offer_tools (run, lease, tools)
-- view _offer_turn (turn_id)
-- view _offered_commands (command_id, run_id, turn_id, loop_id, event, fields)
-- view _offered_handoffs (loop_id, persona, said, model, tools)
-- view _old_history (turn_id, run_id, entry_id)
-- view _open_answers (loop_id, told)
-- view _open_call (turn_id, effort, options)
-- view _open_children (parent_run_id, alias)
-- view _open_costs (turn_id, run_id, entry_id, path, kind, category, visibility, turn, last_used_turn, is_task, summarized, added, chars_per_token, expansion, visible)
-- view _open_delegations (run_id, effect_id, child, ended)
-- view _open_hooks (run_id, turn_id, loop_id, command_id, point, ordinal, is_due, name, line, timeout_s, required, layer, source, place)
-- view _open_plans (run_id, entry_id)
-- view _open_proposal (command_id, kind, target, body, detail)
-- view _open_undos (run_id, command_id)
-- view _opened_tools (loop_id, name)
-- view _opened_tools__handoffs (loop_id, name)
-- view _order_commit (command_id)
-- view _outer_layers (layers)
-- view _own_edits (run_id, command_id)
-- view _own_readers (name)
-- view _own_readers__delegation (name)
-- view _own_readers__function_tools (name)
-- view _packet_budget (turn_id, kind, kind_visible, tokens, share, visible, summarized, floor_tokens, floor_share, ceiling, steps, steps_left, urgency, began, entry_chars)
-- view _packet_compact (turn_id, part, path, body, tag)
-- view _packet_conventions (turn_id, path, text, cut, refers_to)
-- view _packet_handoffs (turn_id, layer, source, text)
-- view _packet_layers (turn_id, layer, source, text, fence, note, refers_to)
-- view _packet_limits (turn_id, loop_id, condensed, ceiling, chars_per_token)
-- view _packet_log (turn_id, entry_id, version, text)
-- view _packet_pictures (turn_id, ordinal, path, line, sha256, fault, beside_chars)
-- view _packet_plan (turn_id, entry_id, text, cut, tag, related)
-- view _packet_prompt (turn_id, mode, text, tag, warning, has_figures)
-- view _packet_rules (turn_id, tag, part, label, number, text)
-- view _packet_schemes (turn_id, kind, visible, summarized, expansion, floor)
-- view _packet_sizes (turn_id, usage, free, system, system_share)
-- view _packet_summary (turn_id, entry_id, version, text, content_id, body_chars)
-- view _packet_tools (turn_id, name, doc, persona_name, persona, plain, native, anchors, untold)
-- view _packet_unknowns (turn_id, entry_id, version, text)
-- view _packet_verification (turn_id, layer, source, text)
-- view _packet_visible (turn_id, entry_id, version, text, content_id, body_chars)
-- view _page_reports (command_id, message)
-- view _page_takers (kind, door)
-- view _page_takers__web (kind, door)
-- view _parent_options (name)
-- view _parted_lines (run_id, source_id, until)
-- view _parted_runs (run_id)
-- view _parted_runs__undo (run_id)
-- view _passage_quotes (turn_id, quotes, has_files)
-- view _passage_rooms (turn_id, bytes)
-- view _passages (turn_id, ordinal, path, body, quotes)
-- view _past_edits (run_id, command_id, action, path, turn, edit_id, child_id)
-- view _past_entries (run, turn, source, source_id, entry_id, path, kind, visibility, state, began, is_now)
-- view _pending_effects (effect_id, run_id, turn_id, command_id, kind, detail, state, identity, body, root, action, max_output)
-- view _perform_by_rules (command_id)
-- view _perform_command (command_id)
-- view _perform_plain (command_id)
-- view _picture_stamps (turn_id, stamp)
-- view _plain_commands (command_id)
-- view _plain_decisions (proposal_id, run_id, path, created_at, decision, reason, decided_by)
-- view _plan_boxes (run_id, entry_id, path, shown_path, content_id, visibility, turn, since, body, chars, fence, boxes)
-- view _plan_nodes (run_id, step, node, type, parent)
-- view _plan_stamps (turn_id, stamp)
-- view _plan_states (run_id, entry_id, path, shown_path, content_id, visibility, turn, since, body, chars, fence, boxes, total, settled, status, next_line, title)
-- view _plan_steps (run_id, entry_id, path, line, depth, number, parent, status, text)
-- view _policy_rights (policy_id, right_text)
-- view _preparations (turn_id, place, what)
-- view _preparations__pictures (turn_id, place, what)
-- view _preparations__rules (turn_id, place, what)
-- view _preparations__skills (turn_id, place, what)
-- view _preparations__undo (turn_id, place, what)
-- view _prepare_packet (turn_id)
-- view _printed_outputs (effect_id, channel, printed)
-- view _printed_outputs__jobs (effect_id, channel, printed)
-- view _prior_loops (loop_id, prior_loop_id)
-- view _prior_loops__handoffs (loop_id, prior_loop_id)
-- view _procedures (command_id, door)
-- view _process_outputs (effect_id, channel, path, run_id, entry_id, body, printed)
-- view _process_paths (effect_id, run_id, path, channel)
-- view _process_reports (effect_id, report)
-- view _processes_ahead (run_id, command_id)
-- view _processes_before (found_for, turn_id, proposal_id)
-- view _processes_under_way (run_id, proposal_id, command_id)
-- view _project_roots (project_id, roots)
-- view _project_rule_sets (project_id, rule_set_id, is_global)
-- view _prompt_limits (loop_id, name, measure, most, spent)
-- view _prompt_lines (loop_id, bound_loop_id)
-- view _prompt_stamps (turn_id, stamp)
-- view _prompt_statuses (loop_id, status)
-- view _proposal_ends (command_id, state, outcome, message)
-- view _proposal_guidance (proposal_id, paths)
-- view _proposal_guidance__instructions (proposal_id, paths)
-- view _proposals_to_decide (resolution_id, proposal_id, kind)
-- view _propose_check (command_id)
-- view _propose_file (command_id, path, content_id, before, leads_to, executable, diff)
-- view _propose_patch (command_id, files)
-- view _provider_models (pattern, provider, prefix, is_maker)
-- view _quotable_texts (turn_id, path, body)
-- view _quotable_texts__rules (turn_id, path, body)
-- view _rank_texts (query, embedder, vector, near, kinds, scopes, pattern, run_id)
-- view _read_instructions (turn_id, project_id)
-- view _read_skills (project_id)
-- view _readings (run_id, entry_id, began, ended)
-- view _readonly_files (entry_id)
-- view _ready_steps (run, step, layer, position, workflow_id, run_id)
-- view _reason_names (run, name, place, topic, subject)
-- view _record_commands (turn_id, parsed)
-- view _record_crash (command_id, message, lease)
-- view _references (project_id, folder, source, ordinal, line, title, target, entry_id, shown_path, chars)
-- view _refresh_entries (at)
-- view _refresh_search (entries)
-- view _refusal_reasons (run, subject, place, says, source, key)
-- view _refusals (command_id, refusal)
-- view _refuse_by_hook (call_id)
-- view _refuse_cycle (child_id, parent_id)
-- view _register_run (run_id)
-- view _relation_texts (scope, node, body)
-- view _release_claims (claimant, run)
-- view _release_lease (token)
-- view _remove_entry (command_id, path)
-- view _remove_node (id, cascade)
-- view _repeated_processes (command_id, refusal)
-- view _report_file (project_id, path, kind, size, mtime_ns, sha256, text, leads_to, picture, is_executable, reason)
-- view _report_listing (project_id, listing, is_partial)
-- view _requested_effects (effect_id, run_id, turn_id, command_id, kind, detail, state, identity, body, root, action, max_output)
-- view _requested_files (request_id, path, change, diff)
-- view _requests (command_id, run_id, writer, action, path, destination, body, visibility, tags, is_manifest, is_slice, decides, keeps_bodies, is_pattern, filter, found, needs, example, forbidden)
-- view _reserve_call (turn_id, price, lease, output)
-- view _resolve_command (command_id, message)
-- view _response_prose (turn_id, prose)
-- view _resting_runs (run_id)
-- view _resting_runs__workflows (run_id)
-- view _resting_trees (run_id, alias, archived_at, rests_since)
-- view _rewind (run_id, run, turn, files, leave, decided_by, plan, request_id, lease)
-- view _rewind_files (run_id, turn, path, change, child, hash_now, content_now, leads_to, hash_then, content_then, executable, stays)
-- view _rewind_plans (run_id, turn, plan)
-- view _root_instructions (turn_id, path, text, cut, refers_to)
-- view _rule_scopes (rule_set_id, scope)
-- view _rule_stamps (turn_id, stamp)
-- view _rules (domain_id, place, entry_id, path, content_id, chars)
-- view _run_acceptances (run_id, accepted)
-- view _run_acceptances__workflows (run_id, accepted)
-- view _run_command (id, run_id, turn_id, action, path, destination, body, attributes, writer)
-- view _run_contents (run_id, entry_id, content_id)
-- view _run_costs (run_id, cost)
-- view _run_cp_mv (id, run_id, turn_id, action, path, destination, body, attributes, writer)
-- view _run_get (id, run_id, turn_id, action, path, destination, body, attributes, writer)
-- view _run_histories (run_id, history)
-- view _run_lines (run_id, source_id, depth, before_turn)
-- view _run_option_kinds (name, kind, least, most)
-- view _run_outside (id, run_id, turn_id, action, path, destination, body, attributes, writer)
-- view _run_paths (run_id, path, entry_id, kind, scheme)
-- view _run_plans (run_id, entry_id, path, shown_path, content_id, visibility, turn, since)
-- view _run_process (id, run_id, turn_id, action, path, destination, body, attributes, writer)
-- view _run_progress__acceptance (run, event_id, type, turn, context_tokens, ceiling, cost, action, target, status, outcome, body, path, created_at)
-- view _run_progress__commits (run, event_id, type, turn, context_tokens, ceiling, cost, action, target, status, outcome, body, path, created_at)
-- view _run_progress__hooks (run, event_id, type, turn, context_tokens, ceiling, cost, action, target, status, outcome, body, path, created_at)
-- view _run_prompts (run_id, counted)
-- view _run_question (id, run_id, turn_id, action, path, destination, body, attributes, writer)
-- view _run_rm (id, run_id, turn_id, action, path, destination, body, attributes, writer)
-- view _run_roots (run_id, run, roots)
-- view _run_scripts (command_id, run_id, entry_id, path, content_id)
-- view _run_set (id, run_id, turn_id, action, path, destination, body, attributes, writer)
-- view _run_skills (run_id, id, scope, name, description, kind, origin, source, made_of, problem, left_out, added_by, changed_at)
-- view _run_status_after_loop (loop_status, run_status)
-- view _run_statuses (run_id, status)
-- view _run_story__workflows (run, loop, turn, place, step, kind, action, target, status, outcome, exit_code, seconds, changes, outputs, decided_by, body, message, created_at)
-- view _run_think (id, run_id, turn_id, action, path, destination, body, attributes, writer)
-- view _run_update (id, run_id, turn_id, action, path, destination, body, attributes, writer)
-- view _running_steps (run_id, child_run_id, status)
-- view _runs_to_drive (run, driven)
-- view _runs_with_threads (run)
-- view _sandbox_choices (command_id, choice, network, reads)
-- view _sandbox_questions (run_id, choice)
-- view _sandboxes_told (run_id, token, choice, sandbox)
-- view _scan_requests (turn_id, run_id, project_id, root)
-- view _scans_after_children (run, run_id, turn_id, project_id, root)
-- view _scheme_writers (scheme, writer)
-- view _seal_turn (turn_id)
-- view _seals_before (turn_id, before_id)
-- view _seeing_models (pattern)
-- view _select_event (run_id, thread)
-- view _select_rules (loop_id, run_id, project_id, turn, prompt, prompts, context_left, room)
-- view _selection_domains (selection_id, domain_id, name, always_on, is_active)
-- view _selection_lines (part_order, place, step, part, label, number, text, content_id, chars)
-- view _selection_rules (domain_id, place, entry_id, path, content_id, chars)
-- view _selection_star_commands (selection_id, star_command_id, name, description)
-- view _sent_packets (run_id, seen_at, turn)
-- view _servable_answers (key, embedder, vector, created_at, run_id, sequence, prompt)
-- view _set_layer (name, layer, value, source, confirmed)
-- view _setting_defaults (name, value, kind, least, most, needed, meaning)
-- view _setting_outcomes (name, origin, value, source, default)
-- view _setting_words (turn_id, name, source, key, meaning, words)
-- view _settle_proposal (proposal_id, decision, body, reason)
-- view _share_file (run_id, path)
-- view _share_known (run_id)
-- view _show_entry (run_id, entry_id, visibility, turn)
-- view _show_job_output (run_id)
-- view _shown_entries (run_id, entry_id, path, kind, category, visibility, turn, last_used_turn, next_turn, is_task, tokens, freed_in_short, overflow, ceiling)
-- view _shown_files (run_id, entry_id, present)
-- view _sights (loop_id, actual, chars_per_token, profile, sees)
-- view _skill_entries (skill_id, entry_id, path, address, content_id)
-- view _skill_rooms (loop_id, chars)
-- view _skill_writes (turn_id, command_id, path)
-- view _slices (command_id, message)
-- view _span_loops (loop_id, run_id, run, conversation, loop, key, trace, parent)
-- view _span_models (call_id, provider, model)
-- view _spend (loop_id, cost, tokens, calls)
-- view _spend_on_answer (turn_id)
-- view _spend_on_call (turn_id)
-- view _spent_children (run, loop_id, reason)
-- view _spent_trees (root_loop_id, reason)
-- view _stale_entries (id, words, text)
-- view _stale_texts (id, words, text)
-- view _standing_edits (run_id, command_id, action, path, turn, edit_id, child_id)
-- view _start_child (parent_run_id, alias, role, prompt, attributes, effect_id)
-- view _start_delegation (effect_id, lease, fault)
-- view _start_effect (effect_id, identity, lease)
-- view _start_job (effect_id, identity, lease)
-- view _start_step (run, step, prompt, lease)
-- view _steer_run (id, run_id, attributes, body)
-- view _step_options (run_id, step, options)
-- view _step_prompts (run_id, step, workflow, instruction, variables, results)
-- view _step_results (run_id, step, child, status, answer, reason)
-- view _step_rivals (effect_id, path, step, alias)
-- view _step_states (run_id, step, layer, position, child_run_id, started_at, ended_at, workflow_id, state, reason)
-- view _step_writes (effect_id, turn_id, run_id, step, child_run_id, started_at, path)
-- view _steps_of_any_model (workflow_id)
-- view _stop_at_limit (turn_id)
-- view _stop_spent_child (run)
-- view _stop_steps (run_id, step)
-- view _stopped_prompts__bounds (run, loop, stopped_by, used, more, reason, prompt)
-- view _store_change (path, body, old_body)
-- view _store_content (path, body)
-- view _store_metadata (attributes, turn, head)
-- view _stored_below (top_id, scope, name, id)
-- view _stranded_proposals (proposal_id, command_id)
-- view _submit_packet (turn_id, chars, lease)
-- view _summarize_file (entry_id)
-- view _surplus_pieces (effect_id, channel, id, chars)
-- view _swap_names (run_id, other_id, lease)
-- view _sweep (due)
-- view _sync_files (run_id, turn_id)
-- view _take_file (effect_id, kind, run_id, project_id, scope, path, content_id, detail, result, action, source, writer, loop_id, turn)
-- view _take_ladder_step (turn_id, from_step)
-- view _take_nodes (scope, nodes, merges)
-- view _take_packet (turn_id, chars, lease, tokens)
-- view _take_request (run_id, turn_id, loop_id, at_end)
-- view _take_requests (run_id, turn_id, loop_id, at_end)
-- view _take_up_workflow (run, lease)
-- view _tell_fact (run_id, turn_id, loop_id, command_id, event, fields)
-- view _tell_facts (run_id, turn_id, loop_id)
-- view _tell_ladder (turn_id)
-- view _tell_parser (turn_id, parsed)
-- view _tell_rules (turn_id, text, problem)
-- view _tell_server (run, lease, server, level, text)
-- view _tell_undone (turn_id)
-- view _test_lines (command_id, test)
-- view _text_clocks (clock)
-- view _text_clocks__skills (clock)
-- view _thread_bids (run_id, thread_id, name, priority, point, ordinal, part, event, fields, message)
-- view _thread_blocks (run_id, thread_id, name, priority, point, ordinal, part, message, turn_id, loop_id, command_id, event, fields, times, told)
-- view _thread_command_lines (command_id, run_id, line, reading)
-- view _thread_faults (thread_id, point, ordinal, fault)
-- view _thread_matches (run_id, thread_id, name, priority, point, ordinal, part, message, turn_id, loop_id, command_id, event, fields)
-- view _thread_moves (run_id, thread_id, name, from_point, to_point, why)
-- view _token_words (turn_id, words)
-- view _told_commands (run, subject, place, says, source, key)
-- view _told_commits (run, loop, turn, hash, subject, left_out, reason, ended_at, message, command_id, status, told)
-- view _told_ends (run, subject, place, says, source, key)
-- view _told_helpers (run, topic, subject, place, says, source, key)
-- view _told_hooks (run, turn, point, hook, line, source, tool, target, verdict, refuses, reason, exit_code, seconds, started_at, call_id, command_id, status, subject, told)
-- view _told_layers (run, turn, layer, source)
-- view _told_limits (turn_id, loop_id, name, told)
-- view _told_prompts (run, subject, place, says, source, key)
-- view _told_runs (run, subject, place, says, source, key)
-- view _tool_origins (name, server)
-- view _tool_origins__function_tools (name, server)
-- view _tool_stamps (turn_id, stamp)
-- view _tool_words (word)
-- view _tool_words__skills (word)
-- view _tree_costs (run_id, cost)
-- view _tree_edits (run_id, command_id, turn_id, edit_id, child_id)
-- view _tree_limits (root_loop_id, run, turns, max_turns, seconds, max_seconds)
-- view _tree_mates (run_id, mate_id)
-- view _turn_cycles (turn_id, period)
-- view _turn_faults (turn_id)
-- view _turn_findings (turn_id, loop_id, faulty, cycles, failed, rejected, commands, acts, update_id, prose)
-- view _turn_fingerprints (turn_id, fingerprint)
-- view _turn_holds (turn_id, ordinal, is_due)
-- view _turn_holds__hooks (turn_id, ordinal, is_due)
-- view _turn_limits (turn_id, loop_id, name, measure, most, spent, place)
-- view _turn_pairs (run, from_turn, to_turn, path, visibility_before, visibility, content_before, content, state_before, state, outcome_before, outcome, attributes_before, attributes)
-- view _turn_records (turn_id, record)
-- view _turn_sections (turn_id, name, role, source, template, live, cached, stamps)
-- view _turn_settings (turn_id, name, value, origin, is_past, event_id, meaning, source, key)
-- view _turn_steps (turn_id, step, steps, steps_left, is_given, prompt)
-- view _turn_tools (turn_id, ordinal, name, description, schema)
-- view _turn_verdicts (turn_id, voter, vote, status, reason, answer)
-- view _turns_below (turn_id, below_id)
-- view _uncommitted_edits (run_id, command_id)
-- view _undo (run_id, way, turn, plan, request_id, decided_by, lease)
-- view _undo_children (run_id, way, turn, path, child)
-- view _undo_choices (run_id, way, turn, command_id)
-- view _undo_files (run_id, way, turn, path, change, hash_now, content_now, leads_to, hash_then, content_then, content_left, executable, obstacle)
-- view _undo_hearers (run_id, command_id)
-- view _undo_plans (run_id, way, turn, plan)
-- view _undo_swaps (run_id, way, turn, keeps)
-- view _unfinished_processes (effect_id, run_id, kind, identity, holder, token, kept, is_unheeded)
-- view _unheard_patterns (thread_id, point, ordinal, part, event, fault)
-- view _unknown_modes (tool, message)
-- view _unknown_stamps (turn_id, stamp)
-- view _unknown_writers (scheme, message)
-- view _unmatched_references (turn_id, scope, prompt)
-- view _unnarrowed_turns (turn_id, prompt)
-- view _unread_files (project_id, path)
-- view _unread_pictures (turn_id, project_id, root, path, size, sha256, format)
-- view _unread_scripts (command_id, path)
-- view _unreadable_files (entry_id, outcome, message, is_picture, short)
-- view _unrepeatable_turns (turn_id)
-- view _unrepeatable_turns__acceptance (turn_id)
-- view _unrepeatable_turns__pictures (turn_id)
-- view _unrepeatable_turns__typed_answers (turn_id)
-- view _unservable_answers (turn_id)
-- view _unset_layer (name, layer)
-- view _unstored_packets (turn_id)
-- view _unsummarized_files (command_id, entry_id)
-- view _untold_facts (run_id, command_id, result_id, event, fields)
-- view _untold_names (loop_id, names)
-- view _untold_tools (loop_id, name, ordinal)
-- view _untold_undos (run_id, command_id, path, action, body)
-- view _unused_chunk_lists (id)
-- view _unused_chunks (id)
-- view _unused_contents (id, body)
-- view _unused_metadata (id)
-- view _verification_stamps (turn_id, stamp)
-- view _verified_turns (turn_id, delegates, is_checked)
-- view _verify_turn (run, lease)
-- view _view_statuses (run_id, entry_id, status)
-- view _visible_pictures (turn_id, project_id, root, entry_id, path, shown, size, sha256, format, width, height, tokens, line, actual, chars_per_token, fault)
-- view _vote_on_answer (turn_id, loop_id, reading, status, answer)
-- view _wait_for_children (run_id)
-- view _waiting_effects (effect_id, run_id)
-- view _wanted_modules (run, module)
-- view _watched_files (run_id, project_id, root, paths, has_pictures)
-- view _web_answers (effect_id, answer)
-- view _web_requests (effect_id, target, answer, etag, last_modified, seconds, size, redirects, hosts, search_engine, results)
-- view _wider_scopes (scope, wider, distance)
-- view _work_costs (run_id, cost)
-- view _workflow_ends (run_id, effect_id, status, answer, reason)
-- view _working_effects (run_id, effect_id)
-- view _working_effects__workflows (run_id, effect_id)
-- view _working_loops (loop_id, working_loop_id)
-- view _working_loops__handoffs (loop_id, working_loop_id)
-- view _working_loops__workflows (loop_id, working_loop_id)
-- view _working_runs (run_id, working_run_id)
-- view _working_runs__workflows (run_id, working_run_id)
-- view _write_batch (command_id, run_id, edits)
-- view _write_body (command_id, path, attributes, visibility, edit)
-- view _write_entry (run_id, path, body, attributes, visibility, state, outcome, writer, turn, loop_id, append, content_id)
-- view _write_found (entry_id, run_id, path, body, attributes, visibility, state, outcome, writer, turn, loop_id, append, content_id)
-- view _write_job (effect_id)
-- view _write_rule (rule_set_id, path, body)
-- view _write_skill_file (scope, path, body, content_id)
-- view _write_view (is_new, run_id, entry_id, content_id, metadata_id, visibility, state, outcome, writer, loop_id, turn, since)
-- view _written_contents (run_id, path, turn, content_id, began)
-- view _written_patches (effect_id, run_id, path, diff, turn, loop_id)
-- view _wrong_numbers (command_id, fault)
-- view _yolo_proposals (proposal_id)
-- view acceptances (run, loop, turn, attempt, check, criteria, verdict, counts, reason, judge, path, seconds, started_at, ended_at, command_id, check_id)
-- view answer_hits (run, turn, from_run, from_turn, similarity)
-- view audit_entries (run, path, turn, body, status, created_at)
-- view bracket_list (folder, bracket, after_prompts, below_percent, is_enabled, rules, basis, rule_set_id, ordinal, is_on)
-- view cached_answers (run, turn, prompt, answer, hits, is_found_by, made_at, is_expired)
-- view choice_reasons (run, topic, subject, place, says, source, key)
-- view command_outputs (run, turn, command, channel, body, printed, exit_code, ended_at, path)
-- view command_reasons (run, topic, subject, place, says, source, key)
-- view command_results (run, command_id, request_id, turn, ordinal, writer, action, path, destination, state, outcome, status, message, created_at)
-- view commit_log (run, loop, turn, hash, subject, left_out, reason, ended_at, message, command_id)
-- view context_at (run, turn, category, path, visibility, state, body, outcome, written, attributes, tokens)
-- view context_changes (run, from_turn, to_turn, path, change, visibility_before, visibility, body_before, body, state_before, state, outcome_before, outcome, attributes_before, attributes)
-- view cost_by_day (day, model, run, calls, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, cost, unknown_prices, known_cost)
-- view cost_reasons (run, topic, subject, place, says, source, key)
-- view decisions (run, turn, path, kind, target, decision, decided_by, reason, decided_at, command_id, proposal_id, diff, body)
-- view demoted_entries (run, turn, path, became, reason, tokens, created_at)
-- view document_references (project, source, line, title, target, chars)
-- view entry_reasons (run, topic, subject, place, says, source, key)
-- view eval_results (eval, case, model, variant, repetition, state, reason, run, answer, cost, milliseconds, trial)
-- view eval_scores (eval, case, model, variant, trials, passed, rate, low, high, before, change, is_regression, cost, seconds)
-- view eval_verdicts (eval, suite, baseline, fail_under, trials, ended, passed, verdict, cost, created_at)
-- view event_list (id, day, created_at, run, turn, type, path, detail)
-- view file_changes (run, turn, path, change, cause, command, added, removed, decided_by, created_at, command_id, prompt)
-- view file_reasons (run, topic, subject, place, says, source, key)
-- view granted (grant_id, run, folder, kind, target, prompt, granted_by, created_at)
-- view graph_nodes (scope, node, type, status, description, context)
-- view guidance_reasons (run, topic, subject, place, says, source, key)
-- view hook_log (run, turn, point, hook, line, source, tool, target, verdict, refuses, reason, exit_code, seconds, started_at, call_id, command_id)
-- view idle_runs (run, run_id, last_active_at, idle_days, archived_at, has_forks)
-- view instruction_files (project, folder, path, chars, links)
-- view known_entries (run, scope, path, scheme, category, body, attributes, visibility, state, outcome, status, writer, turn, tokens, lines, write_count, updated_at)
-- view leaf_nodes (scope, node, type, status, description, context)
-- view loop_list (run, loop, mode, model, prompt, status, reason, answer, turns, strikes, created_at, started_at, ended_at)
-- view loop_results (run, loop, status, answer, output, reason, turns, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, cost, created_at, ended_at, accepted, tree_cost)
-- view mcp_calls (run, turn, server, tool, arguments, state, outcome, decided_by, started_at, seconds, path, effect_id)
-- view mcp_log (run, server, level, body, created_at, event_id)
-- view model_choices (run, model)
-- view model_prices (model, price_input, price_output, price_cached)
-- view model_sights (alias, media, images)
-- view next_demotions (run, step, becomes, path, visibility, turn, last_used_turn, tokens, freed)
-- view node_ancestors (scope, node, ancestor_scope, ancestor)
-- view node_children (scope, node, child_scope, child)
-- view node_counts (scope, type, status, nodes)
-- view node_descendants (scope, node, descendant_scope, descendant)
-- view node_exports (scope, node, body)
-- view node_parents (scope, node, parent_scope, parent)
-- view open_prompts (run, loop, status, prompt, created_at)
-- view open_proposals (run, turn, path, action, target, detail, created_at, kind, proposal_id, background, tree, kept, instructions, options)
-- view open_work (run, loop, state, waits_for, what, turn, prompt, began_at, holder, lease_expires_at)
-- view packet_pictures (run, turn, ordinal, path, line, sha256, tokens, is_sent, fault)
-- view packet_texts (run, turn, role, sha256, body, ordinal, sent_at)
-- view past_choice_reasons (run, turn, topic, subject, place, says, source, key)
-- view past_entry_reasons (run, turn, topic, subject, place, says, source, key)
-- view past_turns (run, turn, source, run_id, source_id, turn_id, seen_at, created_at)
-- view plan_steps (run, plan, line, depth, number, status, body)
-- view plans (run, plan, title, status, settled, steps, next_line, next_step, is_shown, visibility, chars, turn)
-- view policies (policy_id, level, of, name, decision, command, except_arguments, condition, message, added_by, created_at)
-- view processes (run, turn, path, command, sandbox, project, network, exit_code, seconds, state, outcome, started_at, effect_id, background)
-- view project_files (project, root, path, kind, size, chars, lines, sha256)
-- view prompt_attachments (run, loop, path, format, bytes, sha256)
-- view prompt_fallbacks (run, loop, turn, model, next_model, status, message)
-- view prompt_handoffs (run, loop, from_persona, to_persona, next_loop, model, note, decided_by)
-- view prompt_layers (run, turn, ordinal, layer, source, chars, body)
-- view prompt_reasons (run, topic, subject, place, says, source, key)
-- view prompt_summaries (run, loop, status, prompt, answer, turns, ended_at)
-- view provider_defaults (provider, model, is_set)
-- view reason_subjects (run, name, place, topic, subject, title, past_view, view)
-- view refused_answers (run, loop, turn, attempt, place, fault)
-- view results_in_full (run, turn, tokens, path, body)
-- view resumable_runs (run_id, run, status, step)
-- view root_nodes (scope, node, type, status, description, context)
-- view rule_domain_list (folder, domain, is_active, always_on, whole_words, recall, exclude, paths, rules, file, domain_id, rule_set_id)
-- view rule_list (folder, domain, number, rule, path, domain_id, rule_set_id)
-- view rule_loads (run, loop, turn, bracket, domains, star_commands, turns, tokens, saved_tokens)
-- view rule_matches (run, loop, turn, prompts, bracket, found, domain, star_command, word, excluded_by, path)
-- view rule_warnings (folder, warning)
-- view run_capabilities (run, kind, name, value, reason)
-- view run_leases (run, token, holder, expires_at)
-- view run_log (run, turn, ordinal, writer, action, target, state, outcome, status, body, path, command_id, decided_by, created_at)
-- view run_messages (run, loop, turn, place, role, body, calls, id, failed)
-- view run_overview (run, project, model, status, loops, turns, answer, cost, created_at, updated_at, parent, tree_cost, title, labels, archived_at)
-- view run_progress (run, event_id, type, turn, context_tokens, ceiling, cost, action, target, status, outcome, body, path, created_at)
-- view run_rules (run, prompts, bracket, bracket_basis, context_left, devmode, domains, star_commands, overrides)
-- view run_settings (run, name, value, origin)
-- view run_state (run, turn, status, answer, history, unknowns, telemetry, updated_at)
-- view run_story (run, loop, turn, place, step, kind, action, target, status, outcome, exit_code, seconds, changes, outputs, decided_by, body, message, created_at)
-- view said (run, turn, created_at, kind, path, body)
-- view sealed_runs (run, turns, digest)
-- view setting_list (name, value, default, is_set, origin, source, kind, least, most, needed, meaning)
-- view skills (name, project, description, origin, kind, source, files, chars, left_out, problem, added_by, changed_at)
-- view span_texts (run, key, attributes)
-- view spans (run, loop, turn, kind, key, parent, trace, name, started_at, ended_at, error, attributes)
-- view spending_limits (run, loop, name, most, spent, reserved)
-- view star_command_list (folder, star_command, description, rules, star_command_id, rule_set_id, is_on)
-- view step_list (run, step, title, layer, state, reason, child, status, answer, cost, turns, seconds, needs, started_at, ended_at)
-- view stopped_prompts (run, loop, stopped_by, used, more, reason, prompt)
-- view thread_list (thread_id, name, level, of, state, priority, purpose, added_by, created_at)
-- view thread_log (run, turn, event_id, kind, thread, point, to_point, event, fields, by, told)
-- view thread_points (thread, point, part, event, fields, message, thread_id)
-- view thread_positions (run, thread, point, says, run_id, thread_id)
-- view threads_in_force (run_id, run, thread_id, name, level, priority, purpose)
-- view tool_choices (run, loop, tool, reason, found_by, score, most, embedder)
-- view tool_list (name, source, server, offered, modes, hidden_by, calls, last_called_at, meaning, schema)
-- view tree_runs (top, run, level, tree, run_id)
-- view turn_reasons (run, topic, subject, place, says, source, key)
-- view turn_records (run, turn, record, digest)
-- view turn_timeline (run, loop, turn, mode, model, status, commands, errors, strikes, context_tokens, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, cost, ms_model, ms_engine, packet_sha256, phase, created_at, ended_at)
-- view unconfirmed_settings (name, value, source)
-- view undoable_edits (run, turn, action, path, change, unchanged, command_id, edit_id, child)
-- view undone_commits (run, undo_id, hash, subject, paths)
-- view verb_answer_proposal (proposal_id, decision, body, reason, decided_by)
-- view verb_archive_idle (days)
-- view verb_cancel_process (run, path, asked_by, reason)
-- view verb_cp (run, path, to, body, visibility, state, outcome, attributes, append, pattern, filter, request_id)
-- view verb_describe_run (run, title, add_labels, drop_labels, archived)
-- view verb_end_prompt (run, loop, reason)
-- view verb_extend_prompt (run, max_turns, max_seconds, max_cost, max_tokens, max_calls)
-- view verb_forget_answers (run)
-- view verb_forget_skill (scope, name)
-- view verb_get (run, path, to, body, visibility, state, outcome, attributes, append, pattern, filter, request_id)
-- view verb_hand_over (run, persona, model, tools, body)
-- view verb_import_messages (run, form, messages)
-- view verb_import_nodes (run, scope, body)
-- view verb_join_threads (run)
-- view verb_mv (run, path, to, body, visibility, state, outcome, attributes, append, pattern, filter, request_id)
-- view verb_purge_idle (days)
-- view verb_purge_run (run)
-- view verb_purge_tree (run)
-- view verb_remove_node (run, scope, node, cascade)
-- view verb_remove_tool (name)
-- view verb_rename_run (run, name)
-- view verb_resolve_tree (run, path, decision, body, reason, decided_by, claimant, holder)
-- view verb_rewind_run (run, turn, files, leave, decided_by, plan, request_id, lease)
-- view verb_rm (run, path, to, body, visibility, state, outcome, attributes, append, pattern, filter, request_id)
-- view verb_set (run, path, to, body, visibility, state, outcome, attributes, append, pattern, filter, request_id)
-- view verb_set_node (run, scope, node, type, parents, status, description, context)
-- view verb_start_workflow (run, workflow_id, variables, attributes, models)
-- view verb_undo_edits (run, turn, redo, decided_by, plan, request_id, lease)
-- view verb_update (run, path, to, body, visibility, state, outcome, attributes, append, pattern, filter, request_id)
-- view verb_write_rules (domain_id, rules)
-- view verb_write_skill (scope, name, description, kind, origin, source, made_of, problem, left_out, body, files, added_by)
-- view verb_write_workflow (project_id, syntax, text, source)
-- view workflow_list (name, project, description, version, steps, runs, syntax, source, created_at, workflow_id)
-- view workflow_run_list (run, workflow, status, steps, completed, running, waiting, not_done, created_at, updated_at)

-- trigger _abort_run__abort on _abort_run
-- trigger _accept_all__accept on _accept_all
-- trigger _accept_turn__accept on _accept_turn
-- trigger _add_workflow__add on _add_workflow
-- trigger _answer_hits__keep_fixed on _answer_hits
-- trigger _answer_hits__keep_keys on _answer_hits
-- trigger _answer_hits__keep_rows on _answer_hits
-- trigger _append_job_output__append on _append_job_output
-- trigger _append_output__append on _append_output
-- trigger _apply_patch__apply on _apply_patch
-- trigger _apply_retention__apply on _apply_retention
-- trigger _apply_write__apply on _apply_write
-- trigger _ask_for_call__ask on _ask_for_call
-- trigger _attach__attach on _attach
-- trigger _begin_check__begin_command on _begin_check
-- trigger _begin_check__begin_judge on _begin_check
-- trigger _begin_commit__begin on _begin_commit
-- trigger _begin_eval__begin on _begin_eval
-- trigger _begin_hook__begin on _begin_hook
-- trigger _begin_turn__begin on _begin_turn
-- trigger _bring_references__bring on _bring_references
-- trigger _call_door__call_begin_turn on _call_door
-- trigger _call_door__call_dispatch on _call_door
-- trigger _call_door__call_verb_set on _call_door
-- trigger _call_function__call on _call_function
-- trigger _call_verb__call on _call_verb
-- trigger _check_body__check on _check_body
-- trigger _check_child__check on _check_child
-- trigger _check_options__check on _check_options
-- trigger _check_rewind__check on _check_rewind
-- trigger _check_setting__refuse on _check_setting
-- trigger _check_setting__refuse_judge_fail on _check_setting
-- trigger _check_undo__check on _check_undo
-- trigger _choose_pictures__choose on _choose_pictures
-- trigger _choose_rules__select on _choose_rules
-- trigger _claim_files__claim on _claim_files
-- trigger _claim_files__claim_step on _claim_files
-- trigger _claim_lease__claim on _claim_lease
-- trigger _claim_process__claim on _claim_process
-- trigger _condense__condense on _condense
-- trigger _confine_processes__confine on _confine_processes
-- trigger _continue_handoff__continue on _continue_handoff
-- trigger _copy_views__copy on _copy_views
-- trigger _copy_views__copy_overrides on _copy_views
-- trigger _decide_line__decide on _decide_line
-- trigger _decide_mode__keep on _decide_mode
-- trigger _decide_packet__decide on _decide_packet
-- trigger _decide_turn__decide on _decide_turn
-- trigger _demote__demote on _demote
-- trigger _dispatch__dispatch on _dispatch
-- trigger _end_check__end on _end_check
-- trigger _end_command__end on _end_command
-- trigger _end_commit__end on _end_commit
-- trigger _end_hook__end on _end_hook
-- trigger _end_kept_jobs__ask on _end_kept_jobs
-- trigger _end_preparation__end on _end_preparation
-- trigger _end_scan__note on _end_scan
-- trigger _end_scan__read_instructions on _end_scan
-- trigger _end_scan__read_skills on _end_scan
-- trigger _end_step__end on _end_step
-- trigger _end_step__guard on _end_step
-- trigger _end_trial__end on _end_trial
-- trigger _end_turn__end on _end_turn
-- trigger _end_workflow__end on _end_workflow
-- trigger _end_workflow__guard on _end_workflow
-- trigger _end_workflow__rest on _end_workflow
-- trigger _ensure_run__ensure on _ensure_run
-- trigger _entry_metadata__keep_fixed on _entry_metadata
-- trigger _entry_metadata__keep_keys on _entry_metadata
-- trigger _entry_metadata__keep_rows on _entry_metadata
-- trigger _expect_at_rest__expect on _expect_at_rest
-- trigger _expect_at_rest__expect_undone on _expect_at_rest
-- trigger _expect_threads__expect on _expect_threads
-- trigger _explain_rules__explain on _explain_rules
-- trigger _fail_call__fail on _fail_call
-- trigger _fail_command__fail on _fail_command
-- trigger _fall_back__fall_back on _fall_back
-- trigger _fill_workflow__fill on _fill_workflow
-- trigger _finish_delegation__finish on _finish_delegation
-- trigger _finish_delegation__guard on _finish_delegation
-- trigger _finish_effect__finish on _finish_effect
-- trigger _finish_job__finish on _finish_job
-- trigger _finish_job__guard on _finish_job
-- trigger _forget_run__keep_digest on _forget_run
-- trigger _forget_run__relations on _forget_run
-- trigger _forget_run__tell on _forget_run
-- trigger _forget_unused__discovery on _forget_unused
-- trigger _forget_unused__pictures on _forget_unused
-- trigger _forget_unused__tell on _forget_unused
-- trigger _give_tools__give on _give_tools
-- trigger _hold_answer__hold on _hold_answer
-- trigger _hold_turn__look on _hold_turn
-- trigger _import_conversation__import on _import_conversation
-- trigger _import_prompt__import on _import_prompt
-- trigger _import_turn__import on _import_turn
-- trigger _index_texts__index on _index_texts
-- trigger _judge_turn__judge on _judge_turn
-- trigger _keep_mcp_items__keep on _keep_mcp_items
-- trigger _keep_pages__keep on _keep_pages
-- trigger _keep_patch__keep on _keep_patch
-- trigger _keep_summary__keep on _keep_summary
-- trigger _keep_texts__entries on _keep_texts
-- trigger _keep_texts__known on _keep_texts
-- trigger _late_call__call on _late_call
-- trigger _lay_rules__lay on _lay_rules
-- trigger _list_entries__list on _list_entries
-- trigger _log_command__log on _log_command
-- trigger _look_for_answer__look on _look_for_answer
-- trigger _make_entry__make on _make_entry
-- trigger _make_metadata__make on _make_metadata
-- trigger _move_loop__move on _move_loop
-- trigger _name_run__name on _name_run
-- trigger _narrow_tools__narrow on _narrow_tools
-- trigger _note_handoff__note on _note_handoff
-- trigger _note_mode__note on _note_mode
-- trigger _note_spellings__note on _note_spellings
-- trigger _offer_check__offer on _offer_check
-- trigger _offer_command__offer on _offer_command
-- trigger _offer_delegation__offer on _offer_delegation
-- trigger _offer_event__offer on _offer_event
-- trigger _offer_hook__offer on _offer_hook
-- trigger _offer_packet__offer on _offer_packet
-- trigger _offer_search__offer on _offer_search
-- trigger _offer_tools__offer on _offer_tools
-- trigger _offer_turn__offer on _offer_turn
-- trigger _open_call__open on _open_call
-- trigger _open_proposal__guard on _open_proposal
-- trigger _open_proposal__open on _open_proposal
-- trigger _order_commit__order on _order_commit
-- trigger _perform_by_rules__perform on _perform_by_rules
-- trigger _perform_command__guard on _perform_command
-- trigger _perform_command__perform on _perform_command
-- trigger _perform_plain__perform on _perform_plain
-- trigger _prepare_packet__archive_files on _prepare_packet
-- trigger _prepare_packet__archive_history on _prepare_packet
-- trigger _prepare_packet__choose_pictures on _prepare_packet
-- trigger _prepare_packet__guard on _prepare_packet
-- trigger _prepare_packet__offer_skills on _prepare_packet
-- trigger _prepare_packet__tell_undone on _prepare_packet
-- trigger _propose_check__propose on _propose_check
-- trigger _propose_file__propose on _propose_file
-- trigger _propose_patch__propose on _propose_patch
-- trigger _purges__guard_begin on _purges
-- trigger _purges__guard_end on _purges
-- trigger _rank_texts__rank on _rank_texts
-- trigger _read_instructions__read on _read_instructions
-- trigger _read_skills__read on _read_skills
-- trigger _record_commands__record on _record_commands
-- trigger _record_crash__record on _record_crash
-- trigger _refresh_entries__refresh on _refresh_entries
-- trigger _refresh_search__refresh on _refresh_search
-- trigger _refuse_by_hook__refuse on _refuse_by_hook
-- trigger _refuse_cycle__refuse on _refuse_cycle
-- trigger _register_run__register on _register_run
-- trigger _release_claims__release on _release_claims
-- trigger _release_lease__release on _release_lease
-- trigger _remove_entry__remove on _remove_entry
-- trigger _remove_node__remove on _remove_node
-- trigger _report_file__take on _report_file
-- trigger _report_listing__compare on _report_listing
-- trigger _reserve_call__reserve on _reserve_call
-- trigger _resolve_command__resolve on _resolve_command
-- trigger _rewind__rewind on _rewind
-- trigger _run_cp_mv__run on _run_cp_mv
-- trigger _run_get__run on _run_get
-- trigger _run_outside__run on _run_outside
-- trigger _run_process__run on _run_process
-- trigger _run_question__run on _run_question
-- trigger _run_rm__run on _run_rm
-- trigger _run_set__run on _run_set
-- trigger _run_think__run on _run_think
-- trigger _run_update__run on _run_update
-- trigger _seal_turn__seal on _seal_turn
-- trigger _select_event__select on _select_event
-- trigger _select_rules__select on _select_rules
-- trigger _set_layer__keep on _set_layer
-- trigger _settle_proposal__settle on _settle_proposal
-- trigger _share_file__share on _share_file
-- trigger _share_known__share on _share_known
-- trigger _show_entry__show on _show_entry
-- trigger _show_job_output__show on _show_job_output
-- trigger _spend__add on _spend
-- trigger _spend_on_answer__spend on _spend_on_answer
-- trigger _spend_on_call__spend on _spend_on_call
-- trigger _start_child__start on _start_child
-- trigger _start_delegation__guard on _start_delegation
-- trigger _start_delegation__start on _start_delegation
-- trigger _start_effect__start on _start_effect
-- trigger _start_job__start on _start_job
-- trigger _start_step__guard on _start_step
-- trigger _start_step__start on _start_step
-- trigger _steer_run__steer on _steer_run
-- trigger _stop_at_limit__stop on _stop_at_limit
-- trigger _stop_spent_child__stop on _stop_spent_child
-- trigger _stop_steps__stop on _stop_steps
-- trigger _store_change__store on _store_change
-- trigger _store_content__store on _store_content
-- trigger _store_metadata__store on _store_metadata
-- trigger _submit_packet__submit on _submit_packet
-- trigger _summarize_file__summarize on _summarize_file
-- trigger _swap_names__swap on _swap_names
-- trigger _sweep__sweep on _sweep
-- trigger _sync_files__sync on _sync_files
-- trigger _take_file__delete on _take_file
-- trigger _take_file__write on _take_file
-- trigger _take_ladder_step__take on _take_ladder_step
-- trigger _take_nodes__take on _take_nodes
-- trigger _take_packet__take on _take_packet
-- trigger _take_request__take on _take_request
-- trigger _take_requests__take on _take_requests
-- trigger _take_up_workflow__take_up on _take_up_workflow
-- trigger _tell_fact__tell on _tell_fact
-- trigger _tell_facts__tell on _tell_facts
-- trigger _tell_ladder__tell on _tell_ladder
-- trigger _tell_parser__tell on _tell_parser
-- trigger _tell_rules__tell on _tell_rules
-- trigger _tell_server__tell on _tell_server
-- trigger _tell_undone__tell on _tell_undone
-- trigger _tool_choices__keep_fixed on _tool_choices
-- trigger _tool_choices__keep_keys on _tool_choices
-- trigger _tool_choices__keep_rows on _tool_choices
-- trigger _undo__undo on _undo
-- trigger _unset_layer__forget on _unset_layer
-- trigger _verify_turn__verify on _verify_turn
-- trigger _vote_on_answer__vote on _vote_on_answer
-- trigger _wait_for_children__wait on _wait_for_children
-- trigger _write_batch__write on _write_batch
-- trigger _write_body__write on _write_body
-- trigger _write_entry__find on _write_entry
-- trigger _write_found__write on _write_found
-- trigger _write_job__write on _write_job
-- trigger _write_rule__write on _write_rule
-- trigger _write_skill_file__write on _write_skill_file
-- trigger _write_view__add on _write_view
-- trigger _write_view__change on _write_view
-- trigger acceptance_checks__keep_fixed on acceptance_checks
-- trigger acceptance_checks__keep_keys on acceptance_checks
-- trigger acceptance_checks__keep_rows on acceptance_checks
-- trigger acceptance_checks__keep_verdict on acceptance_checks
-- trigger attachments__keep_fixed on attachments
-- trigger attachments__keep_keys on attachments
-- trigger attachments__keep_rows on attachments
-- trigger children__keep_fixed on children
-- trigger children__keep_keys on children
-- trigger children__keep_rows on children
-- trigger chunk_lists__keep_fixed on chunk_lists
-- trigger chunk_lists__keep_keys on chunk_lists
-- trigger chunk_lists__keep_rows on chunk_lists
-- trigger chunks__keep_fixed on chunks
-- trigger chunks__keep_keys on chunks
-- trigger chunks__keep_rows on chunks
-- trigger commands__hand_over on commands
-- trigger commands__ignore_repeats on commands
-- trigger commands__keep_attributes on commands
-- trigger commands__keep_body on commands
-- trigger commands__keep_fixed on commands
-- trigger commands__keep_keys on commands
-- trigger commands__keep_rows on commands
-- trigger commands__name_the_log on commands
-- trigger commands__perform_now on commands
-- trigger commit_edits__keep_fixed on commit_edits
-- trigger commit_edits__keep_rows on commit_edits
-- trigger commits__keep_fixed on commits
-- trigger commits__keep_hash on commits
-- trigger commits__keep_keys on commits
-- trigger commits__keep_rows on commits
-- trigger contents__keep_cut on contents
-- trigger contents__keep_fixed on contents
-- trigger contents__keep_keys on contents
-- trigger contents__keep_rows on contents
-- trigger contents__keep_summary on contents
-- trigger contents__keep_summary_chars on contents
-- trigger demotions__keep_fixed on demotions
-- trigger demotions__keep_keys on demotions
-- trigger demotions__keep_rows on demotions
-- trigger edges__refuse_changed_cycle on edges
-- trigger edges__refuse_cycle on edges
-- trigger edges__refuse_narrower_scope on edges
-- trigger effect_results__end_commit on effect_results
-- trigger effect_results__guard on effect_results
-- trigger effect_results__keep_fixed on effect_results
-- trigger effect_results__keep_keys on effect_results
-- trigger effect_results__keep_rows on effect_results
-- trigger effect_results__settle on effect_results
-- trigger effects__keep_fixed on effects
-- trigger effects__keep_keys on effects
-- trigger effects__keep_rows on effects
-- trigger effects__keep_state on effects
-- trigger entries__index_head on entries
-- trigger entries__keep_content_id on entries
-- trigger entries__keep_fixed on entries
-- trigger entries__keep_keys on entries
-- trigger entries__keep_rows on entries
-- trigger entries__keep_scope on entries
-- trigger entries__record_head on entries
-- trigger entry_versions__keep_fixed on entry_versions
-- trigger entry_versions__keep_keys on entry_versions
-- trigger entry_versions__keep_rows on entry_versions
-- trigger events__keep_fixed on events
-- trigger events__keep_keys on events
-- trigger events__keep_rows on events
-- trigger file_constraints__normalize_changed_pattern on file_constraints
-- trigger file_constraints__normalize_pattern on file_constraints
-- trigger file_modes__keep_command_id on file_modes
-- trigger file_modes__keep_fixed on file_modes
-- trigger file_modes__keep_is_executable on file_modes
-- trigger file_modes__keep_keys on file_modes
-- trigger file_modes__keep_rows on file_modes
-- trigger handoffs__keep_fixed on handoffs
-- trigger handoffs__keep_keys on handoffs
-- trigger handoffs__keep_persona on handoffs
-- trigger handoffs__keep_rows on handoffs
-- trigger hook_calls__keep_fixed on hook_calls
-- trigger hook_calls__keep_keys on hook_calls
-- trigger hook_calls__keep_rows on hook_calls
-- trigger hook_calls__keep_verdict on hook_calls
-- trigger imported_calls__keep_fixed on imported_calls
-- trigger imported_calls__keep_keys on imported_calls
-- trigger imported_calls__keep_rows on imported_calls
-- trigger jobs__keep_ended_at on jobs
-- trigger jobs__keep_fixed on jobs
-- trigger jobs__keep_keys on jobs
-- trigger jobs__keep_rows on jobs
-- trigger loops__go_on on loops
-- trigger loops__guard_fallback_models on loops
-- trigger loops__guard_handoffs on loops
-- trigger loops__guard_prompt on loops
-- trigger loops__guard_transition on loops
-- trigger loops__keep_fixed on loops
-- trigger loops__keep_keys on loops
-- trigger loops__keep_reason on loops
-- trigger loops__keep_rows on loops
-- trigger loops__record_status on loops
-- trigger model_calls__fall_back on model_calls
-- trigger model_calls__guard_reservation on model_calls
-- trigger model_calls__keep_fixed on model_calls
-- trigger model_calls__keep_keys on model_calls
-- trigger model_calls__keep_rows on model_calls
-- trigger model_calls__keep_state on model_calls
-- trigger model_calls__spend on model_calls
-- trigger models__guard_changed_options on models
-- trigger models__guard_options on models
-- trigger nodes__keep_place on nodes
-- trigger outcomes__change_status on outcomes
-- trigger outcomes__list_status on outcomes
-- trigger packets__keep_fixed on packets
-- trigger packets__keep_keys on packets
-- trigger packets__keep_rows on packets
-- trigger pictures__keep_fixed on pictures
-- trigger pictures__keep_keys on pictures
-- trigger pictures__keep_rows on pictures
-- trigger process_cancels__keep_fixed on process_cancels
-- trigger process_cancels__keep_keys on process_cancels
-- trigger process_cancels__keep_rows on process_cancels
-- trigger proposals__keep_fixed on proposals
-- trigger proposals__keep_keys on proposals
-- trigger proposals__keep_rows on proposals
-- trigger proposals__keep_state on proposals
-- trigger proposals__record_cancelling on proposals
-- trigger purged_seals__keep_fixed on purged_seals
-- trigger purged_seals__keep_keys on purged_seals
-- trigger purged_seals__keep_rows on purged_seals
-- trigger resolutions__decide on resolutions
-- trigger resolutions__keep_created_at on resolutions
-- trigger resolutions__keep_fixed on resolutions
-- trigger resolutions__keep_keys on resolutions
-- trigger resolutions__keep_rows on resolutions
-- trigger rewinds__keep_fixed on rewinds
-- trigger rewinds__keep_keys on rewinds
-- trigger rewinds__keep_rows on rewinds
-- trigger rule_findings__keep_fixed on rule_findings
-- trigger rule_findings__keep_keys on rule_findings
-- trigger rule_findings__keep_rows on rule_findings
-- trigger rule_lines__keep_fixed on rule_lines
-- trigger rule_lines__keep_keys on rule_lines
-- trigger rule_lines__keep_rows on rule_lines
-- trigger rule_selections__keep_chars on rule_selections
-- trigger rule_selections__keep_fixed on rule_selections
-- trigger rule_selections__keep_keys on rule_selections
-- trigger rule_selections__keep_rows on rule_selections
-- trigger run_scopes__keep_fixed on run_scopes
-- trigger run_scopes__keep_keys on run_scopes
-- trigger run_scopes__keep_rows on run_scopes
-- trigger run_view_uses__keep_fixed on run_view_uses
-- trigger run_view_uses__keep_rows on run_view_uses
-- trigger run_view_versions__keep_fixed on run_view_versions
-- trigger run_view_versions__keep_keys on run_view_versions
-- trigger run_view_versions__keep_rows on run_view_versions
-- trigger run_views__keep_content_id on run_views
-- trigger run_views__keep_fixed on run_views
-- trigger run_views__keep_keys on run_views
-- trigger run_views__record_change on run_views
-- trigger run_views__record_new on run_views
-- trigger run_views__record_removal on run_views
-- trigger run_views__record_use on run_views
-- trigger runs__guard_alias on runs
-- trigger runs__guard_persona on runs
-- trigger runs__guard_transition on runs
-- trigger runs__keep_alias on runs
-- trigger runs__keep_fixed on runs
-- trigger runs__keep_keys on runs
-- trigger runs__keep_rows on runs
-- trigger runs__record_status on runs
-- trigger schemes__guard_changed_writers on schemes
-- trigger schemes__guard_writers on schemes
-- trigger settings__guard_value on settings
-- trigger settings__keep_default on settings
-- trigger settings__keep_layer on settings
-- trigger settings__record_change on settings
-- trigger step_runs__guard_transition on step_runs
-- trigger step_runs__keep_fixed on step_runs
-- trigger step_runs__keep_keys on step_runs
-- trigger step_runs__keep_rows on step_runs
-- trigger step_runs__keep_state on step_runs
-- trigger step_runs__record_state on step_runs
-- trigger tool_narrowings__keep_fixed on tool_narrowings
-- trigger tool_narrowings__keep_keys on tool_narrowings
-- trigger tool_narrowings__keep_rows on tool_narrowings
-- trigger tools__guard_changed_modes on tools
-- trigger tools__guard_modes on tools
-- trigger turn_errors__keep_fixed on turn_errors
-- trigger turn_errors__keep_keys on turn_errors
-- trigger turn_errors__keep_rows on turn_errors
-- trigger turn_errors__keep_slug on turn_errors
-- trigger turn_errors__write_entry on turn_errors
-- trigger turn_pictures__keep_fixed on turn_pictures
-- trigger turn_pictures__keep_keys on turn_pictures
-- trigger turn_pictures__keep_rows on turn_pictures
-- trigger turn_seals__keep_digest on turn_seals
-- trigger turn_seals__keep_fixed on turn_seals
-- trigger turn_seals__keep_keys on turn_seals
-- trigger turn_seals__keep_rows on turn_seals
-- trigger turns__guard_lease on turns
-- trigger turns__guard_lease_on_begin on turns
-- trigger turns__guard_transition on turns
-- trigger turns__hold_answer on turns
-- trigger turns__keep_fixed on turns
-- trigger turns__keep_keys on turns
-- trigger turns__keep_lease on turns
-- trigger turns__keep_ms_model on turns
-- trigger turns__keep_native on turns
-- trigger turns__keep_phase on turns
-- trigger turns__keep_response on turns
-- trigger turns__keep_rows on turns
-- trigger turns__seal on turns
-- trigger turns__spend on turns
-- trigger turns__take_response on turns
-- trigger undone_edits__keep_fixed on undone_edits
-- trigger undone_edits__keep_rows on undone_edits
-- trigger verb_answer_proposal__answer on verb_answer_proposal
-- trigger verb_archive_idle__archive on verb_archive_idle
-- trigger verb_cancel_process__ask on verb_cancel_process
-- trigger verb_cp__call on verb_cp
-- trigger verb_describe_run__describe on verb_describe_run
-- trigger verb_end_prompt__end on verb_end_prompt
-- trigger verb_extend_prompt__extend on verb_extend_prompt
-- trigger verb_forget_answers__forget on verb_forget_answers
-- trigger verb_forget_skill__forget on verb_forget_skill
-- trigger verb_get__call on verb_get
-- trigger verb_hand_over__hand_over on verb_hand_over
-- trigger verb_import_messages__import on verb_import_messages
-- trigger verb_import_nodes__import on verb_import_nodes
-- trigger verb_join_threads__join on verb_join_threads
-- trigger verb_mv__call on verb_mv
-- trigger verb_purge_idle__purge on verb_purge_idle
-- trigger verb_purge_run__purge on verb_purge_run
-- trigger verb_purge_tree__purge on verb_purge_tree
-- trigger verb_remove_node__remove on verb_remove_node
-- trigger verb_remove_tool__remove on verb_remove_tool
-- trigger verb_rename_run__rename on verb_rename_run
-- trigger verb_resolve_tree__resolve on verb_resolve_tree
-- trigger verb_rewind_run__rewind on verb_rewind_run
-- trigger verb_rm__call on verb_rm
-- trigger verb_set__call on verb_set
-- trigger verb_set_node__set on verb_set_node
-- trigger verb_start_workflow__start on verb_start_workflow
-- trigger verb_undo_edits__undo on verb_undo_edits
-- trigger verb_update__call on verb_update
-- trigger verb_write_rules__write on verb_write_rules
-- trigger verb_write_skill__write on verb_write_skill
-- trigger verb_write_workflow__write on verb_write_workflow
-- trigger vetoes__keep_fixed on vetoes
-- trigger vetoes__keep_keys on vetoes
-- trigger vetoes__keep_rows on vetoes
-- trigger vetoes__undo on vetoes
-- trigger votes__keep_fixed on votes
-- trigger votes__keep_keys on votes
-- trigger votes__keep_rows on votes
-- trigger workflow_needs__guard_layers on workflow_needs
-- trigger workflow_needs__keep_fixed on workflow_needs
-- trigger workflow_needs__keep_rows on workflow_needs
-- trigger workflow_runs__keep_fixed on workflow_runs
-- trigger workflow_runs__keep_keys on workflow_runs
-- trigger workflow_runs__keep_rows on workflow_runs
-- trigger workflow_steps__guard_tools on workflow_steps
-- trigger workflow_steps__keep_fixed on workflow_steps
-- trigger workflow_steps__keep_keys on workflow_steps
-- trigger workflow_steps__keep_rows on workflow_steps
-- trigger workflow_values__keep_fixed on workflow_values
-- trigger workflow_values__keep_keys on workflow_values
-- trigger workflow_values__keep_rows on workflow_values
-- trigger workflow_variables__keep_fixed on workflow_variables
-- trigger workflow_variables__keep_keys on workflow_variables
-- trigger workflow_variables__keep_rows on workflow_variables
-- trigger workflows__keep_fixed on workflows
-- trigger workflows__keep_keys on workflows
-- trigger workflows__keep_rows on workflows
