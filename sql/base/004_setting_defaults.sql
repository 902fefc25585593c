-- The settings that there are: their defaults, kinds, bounds and meanings, and which of them a project may change.
-- They are rows of a view, so that a setting can be given its default again; 005 keeps what people say instead.
-- spec: @settings @configuration

-- views

-- The settings as they are seeded.
create view _setting_defaults (name, value, kind, least, most, needed, meaning) as
values
    ('budget_ceiling', '0.9', 'number', 0.1, 1, 1, 'share of the context window that a packet may fill'),
    ('context_length', '32768', 'whole', 256, null, 1, 'context window of a model that names none, in tokens'),
    ('chars_per_token', '2', 'number', 0.25, 8, 1, 'characters a token before a provider has reported usage'),
    ('max_entry_tokens', '512', 'whole', 1, null, 1, 'largest body of a known:// entry, in tokens'),
    ('max_rule_tokens', '4000', 'whole', 0, null, 1, 'tokens of rules in a packet, at most a quarter of the ceiling'),
    (
        'manifest_tokens', '8000', 'whole', 200, null, 1,
        'tokens of a list of files, at most a quarter of the ceiling; above that it names folders'
    ),
    ('max_loop_turns', '99', 'whole', 1, null, 1, 'turns after which a loop is stopped'),
    ('max_loop_seconds', null, 'number', 0, null, 0, 'seconds after which a loop is stopped; empty or 0: none'),
    ('max_loop_cost', null, 'number', 0, null, 0, 'dollars that a prompt with the runs below it may cost; empty: any'),
    ('max_loop_tokens', null, 'whole', 0, null, 0, 'tokens that a prompt with the runs below it may use; empty: any'),
    ('max_loop_calls', null, 'whole', 0, null, 0, 'calls of models of a prompt with the runs below it; empty: any'),
    ('max_day_cost', null, 'number', 0, null, 0, 'dollars that all runs of the file may cost on a day of UTC; empty: any'),
    ('max_day_tokens', null, 'whole', 0, null, 0, 'tokens that all runs of the file may use on a day of UTC; empty: any'),
    ('max_day_calls', null, 'whole', 0, null, 0, 'calls of models of all runs of the file on a day of UTC; empty: any'),
    ('max_file_cost', null, 'number', 0, null, 0, 'dollars that all runs of the file may cost in all; empty: any'),
    ('max_file_tokens', null, 'whole', 0, null, 0, 'tokens that all runs of the file may use in all; empty: any'),
    ('max_file_calls', null, 'whole', 0, null, 0, 'calls of models of all runs of the file in all; empty: any'),
    (
        'condense_ratio', null, 'number', 0, 1, 0,
        'share of the ceiling above which old results of tools are summarized; empty or 0: never'
    ),
    (
        'delegated_condense_ratio', '0.75', 'number', 0, 1, 0,
        'condense_ratio of a run that another run delegated to; empty: that of all runs'
    ),
    (
        'tokenizer', null, 'text', null, null, 0,
        'counts tokens: local, tiktoken, tiktoken:ENCODING, tokenizers:FILE, none; empty: by the model'
    ),
    ('max_commands', '99', 'whole', 1, null, 1, 'commands of one response that are performed; the rest is dropped'),
    ('max_strikes', '3', 'whole', 1, null, 1, 'turns with errors in a row after which a loop is stopped'),
    ('min_cycles', '3', 'whole', 2, null, 1, 'repetitions that count as a cycle'),
    ('max_cycle_period', '4', 'whole', 0, 8, 1, 'longest cycle that is detected, in turns; 0: none'),
    (
        'end_without_update', '0', 'whole', 0, 1, 1,
        '1: an answer of commands that gather nothing, without an <update>, ends its prompt'
    ),
    (
        'require_acceptance', '0', 'whole', 0, 1, 1,
        '1: work is given away only with criteria for its result: accept or accept_command'
    ),
    ('max_repeated_commands', '2', 'whole', 0, null, 1, 'times that one command line runs in a loop; 0: any number'),
    (
        'archive_idle_days', null, 'number', 0.01, null, 0,
        'days without activity after which a run is left out of lists; a prompt brings it back; empty: never'
    ),
    (
        'retention_days', null, 'number', 0.01, null, 0,
        'days without activity after which a run is removed for good, with the runs below it; empty: never'
    ),
    ('auto_titles', '1', 'whole', 0, 1, 1, '1: a run without a title is listed under the beginning of its first prompt'),
    (
        'max_history', null, 'whole', 0, null, 0,
        'earlier prompts whose log a packet shows; older records are archived when a prompt begins; empty: all'
    ),
    ('temperature', '0.1', 'number', 0, 2, 0, 'sampling temperature of a run that names none; empty: none is sent'),
    (
        'model_options', null, 'text', null, null, 0,
        'settings of every model, as a JSON object: top_p, top_k, max_output, stop, seed, service_tier, extra_body'
    ),
    ('model', null, 'text', null, null, 0, 'alias of the model of a run that names none'),
    ('openai_model', null, 'text', null, null, 0, 'default model of openai; empty: gpt-5-mini'),
    ('anthropic_model', null, 'text', null, null, 0, 'default model of anthropic; empty: claude-sonnet-4-5'),
    ('google_model', null, 'text', null, null, 0, 'default model of google; empty: gemini-2.5-flash'),
    ('openrouter_model', null, 'text', null, null, 0, 'default model of openrouter; empty: openai/gpt-5-mini'),
    ('xai_model', null, 'text', null, null, 0, 'default model of xai; empty: grok-4'),
    ('cerebras_model', null, 'text', null, null, 0, 'default model of cerebras; empty: gpt-oss-120b'),
    ('ollama_model', null, 'text', null, null, 0, 'default model of ollama; empty: none'),
    (
        'openrouter_referer', null, 'text', null, null, 0,
        'address of your app, which OpenRouter is told as HTTP-Referer; empty: nothing'
    ),
    (
        'openrouter_title', null, 'text', null, null, 0,
        'name of your app, which OpenRouter is told as X-Title; empty: nothing'
    ),
    (
        'effort', null, 'text', null, null, 0,
        'how hard a model thinks where neither the run nor the alias says: none, minimal, low, medium, high, xhigh, max'
    ),
    ('persona', 'default', 'text', null, null, 0, 'persona of a run that names none'),
    ('demo', '0', 'whole', 0, 1, 1, '1: names are drawn as blocks; counts where a person says it for himself'),
    (
        'notify', 'bell', 'text', null, null, 1,
        'tells of what waits and of long prompts: off, bell, osc9, or a command that gets the text; as demo'
    ),
    ('demo_names', null, 'text', null, null, 0, 'names that demo mode hides, separated by commas; as demo'),
    (
        'prompt_figures', '0', 'whole', 0, 1, 1,
        '1: the <prompt> carries token figures, at the price of the prefix cache'
    ),
    (
        'time_stamps', '0', 'whole', 0, 2, 1,
        '1: the <budget> of each packet says when its turn began; 2: to the second, and which turn of how many it is'
    ),
    (
        'narrow_above', '60', 'whole', 1, 100000, 1,
        'tools of an app and of MCP servers above which a loop is told of 20 besides the core, where narrow_tools is 0'
    ),
    (
        'narrow_tools', '0', 'whole', 0, 100, 1,
        'tools besides the core that a loop is told of, those that its prompt needs; 0: all'
    ),
    (
        'core_tools', 'get,set,think,env,sh,update', 'text', null, null, 1,
        'tools that a loop is always told of, separated by commas, where narrow_tools leaves some out'
    ),
    (
        'answer_cache', '0', 'whole', 0, 1, 1,
        '1: an answer that was given to nearly the same prompt in the same packet is given again'
    ),
    ('cache_similarity', '0.85', 'number', 0.5, 1, 1, 'cosine of two prompts from which on one has the answer of the other'),
    ('cache_seconds', '86400', 'number', 0, null, 1, 'seconds for which an answer is given again'),
    ('cache_answers', '1000', 'whole', 0, 100000, 1, 'answers that are kept to be given again; the oldest goes first'),
    ('process_timeout', '45', 'number', 1, 600, 1, 'seconds after which a process is stopped'),
    ('job_timeout', '3600', 'number', 0.01, null, 1, 'seconds after which a background command is stopped'),
    (
        'workflow_folders', '.agents/workflows', 'text', null, null, 0,
        'folders of a project in which workflows are looked for, separated by commas; empty: none'
    ),
    (
        'workflow_result_chars', '20000', 'whole', 100, 1000000, 1,
        'characters of the answer of a step that the steps behind it are given'
    ),
    ('max_jobs', '4', 'whole', 0, 64, 1, 'background commands that one run may have at once; 0: none'),
    ('max_depth', '0', 'whole', 0, 8, 1, 'levels of runs that a run may delegate to; 0: its model has no such tools'),
    ('max_children', '32', 'whole', 1, null, 1, 'runs that one prompt may delegate to, those below them not counted'),
    ('max_tree_turns', '500', 'whole', 1, null, 1, 'turns of all runs below one prompt after which they are stopped'),
    (
        'max_tree_seconds', null, 'number', 0, null, 0,
        'seconds of a prompt after which the runs below it are stopped; empty or 0: none'
    ),
    ('max_parallel_children', '8', 'whole', 1, 64, 1, 'children of one run that are driven at once'),
    (
        'sandbox', 'auto', 'text', null, null, 1,
        'sandbox of shell commands: auto, require (run none without), or the name of one; only a prompt says off'
    ),
    (
        'sandbox_home',
        '.gitconfig,.config/git,.local/bin,.local/lib,.local/share/uv,.cargo/bin,.cargo/registry,.rustup,.nvm,.pyenv,.asdf,'
        || '.volta,.bun/bin,.deno/bin,.sdkman,go,.m2/repository',
        'text', null, null, 0, 'names in the home that a command in a sandbox may read, separated by commas'
    ),
    ('sandbox_memory', '4096', 'whole', 0, null, 1, 'megabytes of data that a process in a sandbox may have; 0: any'),
    ('sandbox_processes', '1024', 'whole', 0, null, 1, 'processes that a command in a sandbox may have; 0: any'),
    ('sandbox_file_size', '1024', 'whole', 0, null, 1, 'megabytes of a file that a command in a sandbox writes; 0: any'),
    (
        'process_output_bytes', '1000000', 'whole', 0, null, 1,
        'bytes of one output channel that are kept: its beginning and its end'
    ),
    ('file_max_bytes', '1000000', 'whole', 0, null, 1, 'size above which a file is listed but not read'),
    ('picture_max_bytes', '3750000', 'whole', 0, null, 1, 'size above which a picture is not read nor sent; 0: none is'),
    ('picture_max_side', '8000', 'whole', 1, null, 1, 'width or height in pixels above which a picture is not sent'),
    ('packet_max_pictures', '20', 'whole', 0, null, 1, 'pictures of one packet; the ones brought last are sent'),
    ('packet_picture_bytes', '15000000', 'whole', 0, null, 1, 'bytes of all pictures of one packet together'),
    ('line_anchors', '0', 'whole', 0, 1, 1, '1: files are shown with an anchor before each line, which edits may name'),
    ('scan_max_files', '20000', 'whole', 0, null, 1, 'files of a project above which a scan is refused'),
    (
        'untracked_files', '1', 'whole', 0, 1, 1,
        '1: files that git does not track and would take belong to the project too; 0: only those that it tracks'
    ),
    (
        'instruction_files', 'AGENTS.md', 'text', null, null, 0,
        'files with instructions for agents, the first one of these that a folder has: AGENTS.md, CLAUDE.md, GEMINI.md, '
        || '.cursorrules, .windsurfrules, .clinerules, .github/copilot-instructions.md; empty: none'
    ),
    (
        'instruction_chars', '16000', 'whole', 0, 200000, 1,
        'characters of the instructions of a project that a packet shows, and as many of all folders below it'
    ),
    (
        'reference_files', '*', 'text', null, null, 0,
        'globs over the files that instructions refer to, separated by commas, such as *.md, docs/*; empty: none'
    ),
    (
        'external_references', '0', 'whole', 0, 1, 1,
        '1: the addresses that instructions refer to are listed behind them, too'
    ),
    (
        'skill_folders',
        '.agents/skills,.claude/skills,.codex/skills,.gemini/skills,.opencode/skills,.github/skills,.cursor/skills',
        'text', null, null, 0, 'folders of a project that have skills, separated by commas; empty: none'
    ),
    (
        'skill_chars', '8000', 'whole', 0, 200000, 1,
        'characters of the descriptions of skills that a system message has; 0: no skills'
    ),
    ('max_plan_chars', '8000', 'whole', 200, 40000, 1, 'characters of a plan that a packet shows, at most an eighth of it'),
    ('kept_in_context', 'known://plan*', 'text', null, null, 0, 'a glob over paths that are never archived to make room'),
    ('lease_seconds', '30', 'whole', 1, null, 1, 'seconds after which a lease expires that its driver does not renew'),
    (
        'threads', null, 'text', null, null, 0,
        'behavioural threads of the engine that are in force, separated by commas; all: every one; empty: none'
    ),
    (
        'check', null, 'text', null, null, 0,
        'command line that runs after a turn with edits, such as make test; the model reads what failed; empty: none'
    ),
    (
        'commit', null, 'text', null, null, 0,
        'git commits of what a run edits: edit (each edit), prompt (each prompt that is done); empty: none'
    ),
    ('model_timeout', '300', 'number', 0.01, null, 1, 'seconds after which a model call is given up'),
    ('web_timeout', '30', 'number', 0.1, null, 1, 'seconds after which a page or a search is given up'),
    ('web_max_bytes', '5000000', 'whole', 1, null, 1, 'largest page that is read, in bytes, unpacked'),
    ('web_max_redirects', '5', 'whole', 0, 20, 1, 'redirects of a page that are followed'),
    ('web_fresh_seconds', '600', 'number', 0, null, 1, 'seconds for which a page is not asked for again'),
    ('web_hosts', null, 'text', null, null, 0, 'hosts whose pages may be read, such as *.example.org; empty: all'),
    (
        'search_engine', null, 'text', null, null, 0,
        'what searches: the address of a SearXNG, ddgs, or none; empty: ddgs where it is installed'
    ),
    ('search_results', '10', 'whole', 1, 20, 1, 'pages that a search lists where it names no number'),
    ('model_deadline', '600', 'number', 0.01, null, 1, 'seconds for which transient model errors are retried'),
    (
        'fallback_deadline', '30', 'number', 0, null, 1,
        'seconds for which transient errors of a model are retried before the next one of the prompt is asked'
    ),
    ('output_attempts', '3', 'whole', 1, null, 1, 'answers of a prompt that are held against its schema'),
    ('accept_attempts', '2', 'whole', 1, null, 1, 'results of a prompt that are checked; the last one is kept'),
    ('accept_timeout', '600', 'number', 0.01, null, 1, 'seconds after which a command that checks a result is stopped'),
    ('judge_fail', 'open', 'text', null, null, 1, 'what a check that itself fails counts as: open (accepted) or closed'),
    ('judge_chars', '24000', 'whole', 200, null, 1, 'characters of a result and its changes that a judge reads'),
    ('judge_model', null, 'text', null, null, 0, 'alias of the model that judges results; empty: that of the run');

-- The settings that the file of a project may change although nobody has confirmed that: they shape what the model reads.
-- All others choose a model or an address, loosen a limit, or open something, and a project may come from anybody.
create view _harmless_settings (name) as
values
    ('budget_ceiling'),
    ('chars_per_token'),
    ('condense_ratio'),
    ('context_length'),
    ('delegated_condense_ratio'),
    ('kept_in_context'),
    ('max_entry_tokens'),
    ('persona'),
    ('prompt_figures'),
    ('temperature'),
    ('time_stamps');
