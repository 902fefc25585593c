-- Settings: their defaults, kinds, bounds and meanings, and which settings a project may change.
-- The defaults are rows of a view. 005 stores the values that people set instead.
-- spec: @settings @configuration

-- views

-- The settings as they are seeded.
create view _setting_defaults (name, value, kind, least, most, needed, meaning) as
values
    (
        'budget_ceiling', '0.9', 'number', 0.1, 1, 1,
        'share of the context window that a packet may fill; this limit is called the ceiling'
    ),
    ('context_length', '32768', 'whole', 256, null, 1, 'context window in tokens, for a model whose window is unknown'),
    ('chars_per_token', '2', 'number', 0.25, 8, 1, 'characters per token, until a provider has reported the real number'),
    ('max_entry_tokens', '512', 'whole', 1, null, 1, 'largest text of a known:// entry, in tokens'),
    (
        'max_rule_tokens', '4000', 'whole', 0, null, 1,
        'most tokens of rules in a packet; never more than a quarter of the ceiling'
    ),
    (
        'manifest_tokens', '8000', 'whole', 200, null, 1,
        'most tokens of a list of files, never more than a quarter of the ceiling; a longer list names folders'
    ),
    ('max_loop_turns', '99', 'whole', 1, null, 1, 'turns after which a prompt is stopped'),
    ('max_loop_seconds', null, 'number', 0, null, 0, 'seconds after which a prompt is stopped; empty or 0: no limit'),
    ('max_loop_cost', null, 'number', 0, null, 0, 'most dollars that a prompt and its child runs may cost; empty: any'),
    ('max_loop_tokens', null, 'whole', 0, null, 0, 'most tokens that a prompt and its child runs may use; empty: any'),
    ('max_loop_calls', null, 'whole', 0, null, 0, 'most calls of models of a prompt and its child runs; empty: any'),
    ('max_day_cost', null, 'number', 0, null, 0, 'most dollars that all runs of the file may cost per UTC day; empty: any'),
    ('max_day_tokens', null, 'whole', 0, null, 0, 'most tokens that all runs of the file may use per UTC day; empty: any'),
    ('max_day_calls', null, 'whole', 0, null, 0, 'most calls of models of all runs of the file per UTC day; empty: any'),
    ('max_file_cost', null, 'number', 0, null, 0, 'most dollars that all runs of the file may cost; empty: any'),
    ('max_file_tokens', null, 'whole', 0, null, 0, 'most tokens that all runs of the file may use; empty: any'),
    ('max_file_calls', null, 'whole', 0, null, 0, 'most calls of models of all runs of the file; empty: any'),
    (
        'condense_ratio', null, 'number', 0, 1, 0,
        'summarize old tool results if a packet fills more than this share of the ceiling; empty or 0: never'
    ),
    (
        'delegated_condense_ratio', '0.75', 'number', 0, 1, 0,
        'condense_ratio of child runs; empty: the same as for all runs'
    ),
    (
        'tokenizer', null, 'text', null, null, 0,
        'how tokens are counted: local, tiktoken, tiktoken:ENCODING, tokenizers:FILE or none; empty: chosen by the model'
    ),
    (
        'max_commands', '99', 'whole', 1, null, 1,
        'most commands of one answer that are carried out; the others are dropped'
    ),
    ('max_strikes', '3', 'whole', 1, null, 1, 'turns with errors in a row after which a prompt is stopped'),
    ('min_cycles', '3', 'whole', 2, null, 1, 'number of repetitions that counts as a cycle'),
    ('max_cycle_period', '4', 'whole', 0, 8, 1, 'longest cycle that is detected, in turns; 0: no detection'),
    (
        'end_without_update', '0', 'whole', 0, 1, 1,
        '1: an answer ends the prompt if its commands return nothing to read, even without <update>'
    ),
    (
        'require_acceptance', '0', 'whole', 0, 1, 1,
        '1: the model may delegate only with accept or accept_command, which check the result'
    ),
    (
        'max_repeated_commands', '2', 'whole', 0, null, 1,
        'how often the same command line may run for one prompt; 0: any number'
    ),
    (
        'archive_idle_days', null, 'number', 0.01, null, 0,
        'days without activity after which a run is hidden from lists; a new prompt shows it again; empty: never'
    ),
    (
        'retention_days', null, 'number', 0.01, null, 0,
        'days without activity after which a run and its child runs are removed for good; empty: never'
    ),
    ('auto_titles', '1', 'whole', 0, 1, 1, '1: a run without a title is listed with the start of its first prompt'),
    (
        'max_history', null, 'whole', 0, null, 0,
        'number of earlier prompts whose log is shown in packets; older logs are archived; empty: all prompts'
    ),
    (
        'temperature', '0.1', 'number', 0, 2, 0,
        'sampling temperature of runs that set none; empty: no temperature is sent'
    ),
    (
        'model_options', null, 'text', null, null, 0,
        'settings of every model, as a JSON object: top_p, top_k, max_output, stop, seed, service_tier, extra_body'
    ),
    ('model', null, 'text', null, null, 0, 'alias of the model of runs that choose none'),
    ('openai_model', null, 'text', null, null, 0, 'default model of openai; empty: gpt-5-mini'),
    ('anthropic_model', null, 'text', null, null, 0, 'default model of anthropic; empty: claude-sonnet-4-5'),
    ('google_model', null, 'text', null, null, 0, 'default model of google; empty: gemini-2.5-flash'),
    ('openrouter_model', null, 'text', null, null, 0, 'default model of openrouter; empty: openai/gpt-5-mini'),
    ('xai_model', null, 'text', null, null, 0, 'default model of xai; empty: grok-4'),
    ('cerebras_model', null, 'text', null, null, 0, 'default model of cerebras; empty: gpt-oss-120b'),
    ('ollama_model', null, 'text', null, null, 0, 'default model of ollama; empty: none'),
    (
        'openrouter_referer', null, 'text', null, null, 0,
        'address of your app, sent to OpenRouter as HTTP-Referer; empty: nothing is sent'
    ),
    (
        'openrouter_title', null, 'text', null, null, 0,
        'name of your app, sent to OpenRouter as X-Title; empty: nothing is sent'
    ),
    (
        'effort', null, 'text', null, null, 0,
        'how hard a model thinks, if the run and the alias set no effort: none, minimal, low, medium, high, xhigh, max'
    ),
    ('persona', 'default', 'text', null, null, 0, 'persona of runs that choose none'),
    ('demo', '0', 'whole', 0, 1, 1, '1: hide names and parts of paths on the screen; only you can set it, not a project'),
    (
        'notify', 'bell', 'text', null, null, 1,
        'how you hear of proposals and of long prompts that ended: off, bell, osc9, or a command; only you can set it'
    ),
    (
        'demo_names', null, 'text', null, null, 0,
        'names that demo mode hides, separated by commas; only you can set it, not a project'
    ),
    (
        'prompt_figures', '0', 'whole', 0, 1, 1,
        '1: show token counts in <prompt>; the prefix cache of the provider then works less often'
    ),
    (
        'time_stamps', '0', 'whole', 0, 2, 1,
        '1: <budget> shows when the turn began; 2: to the second, and the number of the turn and of all turns'
    ),
    (
        'narrow_above', '60', 'whole', 1, 100000, 1,
        'if apps and MCP servers offer more tools than this, a prompt sees the 20 best ones and the core tools'
    ),
    (
        'narrow_tools', '0', 'whole', 0, 100, 1,
        'number of tools a prompt sees besides the core tools, those that fit it best; 0: all'
    ),
    (
        'core_tools', 'get,set,think,env,sh,update', 'text', null, null, 1,
        'tools that every prompt sees, separated by commas, even if narrow_tools hides other tools'
    ),
    ('answer_cache', '0', 'whole', 0, 1, 1, '1: reuse the cached answer of a nearly equal prompt in the same packet'),
    (
        'cache_similarity', '0.85', 'number', 0.5, 1, 1,
        'how similar two prompts must be to share a cached answer, as a cosine'
    ),
    ('cache_seconds', '86400', 'number', 0, null, 1, 'seconds after which a cached answer is no longer used'),
    ('cache_answers', '1000', 'whole', 0, 100000, 1, 'number of cached answers; the oldest is removed first'),
    ('process_timeout', '45', 'number', 1, 600, 1, 'seconds after which a shell command is stopped'),
    ('job_timeout', '3600', 'number', 0.01, null, 1, 'seconds after which a background command is stopped'),
    (
        'workflow_folders', '.agents/workflows', 'text', null, null, 0,
        'folders of a project with workflows, separated by commas; empty: none'
    ),
    (
        'workflow_result_chars', '20000', 'whole', 100, 1000000, 1,
        'most characters of the result of a step that later steps read'
    ),
    ('max_jobs', '4', 'whole', 0, 64, 1, 'most background commands of one run at the same time; 0: none'),
    ('max_depth', '0', 'whole', 0, 8, 1, 'how many levels deep a run may delegate; 0: it may not delegate'),
    ('max_children', '32', 'whole', 1, null, 1, 'most child runs of one prompt; deeper levels do not count'),
    (
        'max_tree_turns', '500', 'whole', 1, null, 1,
        'turns of all child runs of a prompt, together, after which they are stopped'
    ),
    (
        'max_tree_seconds', null, 'number', 0, null, 0,
        'seconds after which the child runs of a prompt are stopped; empty or 0: no limit'
    ),
    ('max_parallel_children', '8', 'whole', 1, 64, 1, 'most child runs of one run that work at the same time'),
    (
        'sandbox', 'auto', 'text', null, null, 1,
        'sandbox of shell commands: auto, require (no command runs without a sandbox), or the name of a sandbox'
    ),
    (
        'sandbox_home',
        '.gitconfig,.config/git,.local/bin,.local/lib,.local/share/uv,.cargo/bin,.cargo/registry,.rustup,.nvm,.pyenv,.asdf,'
        || '.volta,.bun/bin,.deno/bin,.sdkman,go,.m2/repository',
        'text', null, null, 0, 'names in your home folder that commands in a sandbox may read, separated by commas'
    ),
    ('sandbox_memory', '4096', 'whole', 0, null, 1, 'most megabytes of memory of a process in a sandbox; 0: any'),
    ('sandbox_processes', '1024', 'whole', 0, null, 1, 'most processes of a command in a sandbox; 0: any'),
    (
        'sandbox_file_size', '1024', 'whole', 0, null, 1,
        'largest file that a command in a sandbox may write, in megabytes; 0: any'
    ),
    (
        'process_output_bytes', '1000000', 'whole', 0, null, 1,
        'most bytes that are stored of each output of a command; the middle of a longer output is dropped'
    ),
    ('file_max_bytes', '1000000', 'whole', 0, null, 1, 'size in bytes above which a file is listed but not read'),
    (
        'picture_max_bytes', '3750000', 'whole', 0, null, 1,
        'size in bytes above which a picture is not sent; 0: no picture is sent'
    ),
    ('picture_max_side', '8000', 'whole', 1, null, 1, 'width or height in pixels above which a picture is not sent'),
    ('packet_max_pictures', '20', 'whole', 0, null, 1, 'most pictures in one packet; the newest are sent'),
    ('packet_picture_bytes', '15000000', 'whole', 0, null, 1, 'most bytes of all pictures in one packet'),
    ('line_anchors', '0', 'whole', 0, 1, 1, '1: show an anchor before each line of a file, which edits may name'),
    ('scan_max_files', '20000', 'whole', 0, null, 1, 'most files of a project; a larger project is refused'),
    (
        'untracked_files', '1', 'whole', 0, 1, 1,
        '1: runs also see files that git does not track and does not ignore; 0: only tracked files'
    ),
    (
        'instruction_files', 'AGENTS.md', 'text', null, null, 0,
        'file with instructions for agents; a folder''s first file of these counts: AGENTS.md, CLAUDE.md, GEMINI.md, '
        || '.cursorrules, .windsurfrules, .clinerules, .github/copilot-instructions.md; empty: none'
    ),
    (
        'instruction_chars', '16000', 'whole', 0, 200000, 1,
        'most characters of the project''s instructions in a packet, and of the instructions of all subfolders'
    ),
    (
        'reference_files', '*', 'text', null, null, 0,
        'files that instructions may refer to, as patterns separated by commas, such as *.md, docs/*; empty: none'
    ),
    ('external_references', '0', 'whole', 0, 1, 1, '1: list the web addresses that instructions refer to, too'),
    (
        'skill_folders',
        '.agents/skills,.claude/skills,.codex/skills,.gemini/skills,.opencode/skills,.github/skills,.cursor/skills',
        'text', null, null, 0, 'folders of a project with skills, separated by commas; empty: none'
    ),
    (
        'skill_chars', '8000', 'whole', 0, 200000, 1,
        'most characters of skill descriptions in a system message; 0: no skills'
    ),
    (
        'max_plan_chars', '8000', 'whole', 200, 40000, 1,
        'most characters of a plan in a packet; never more than an eighth of the packet'
    ),
    (
        'kept_in_context', 'known://plan*', 'text', null, null, 0,
        'entries that are never archived to make room, as a pattern over paths'
    ),
    (
        'lease_seconds', '30', 'whole', 1, null, 1,
        'seconds after which another process may continue a run whose process does not answer'
    ),
    (
        'threads', null, 'text', null, null, 0,
        'built-in threads that are on, separated by commas; all: every one; empty: none'
    ),
    (
        'check', null, 'text', null, null, 0,
        'command line that runs after a turn with edits, such as make test; the model reads its failures; empty: none'
    ),
    (
        'commit', null, 'text', null, null, 0,
        'git commits of the edits of a run: edit (after each edit), prompt (after each prompt that is done); empty: none'
    ),
    ('model_timeout', '300', 'number', 0.01, null, 1, 'seconds after which a call of a model is given up'),
    ('web_timeout', '30', 'number', 0.1, null, 1, 'seconds after which a web page or a search is given up'),
    ('web_max_bytes', '5000000', 'whole', 1, null, 1, 'largest web page that is read, in bytes, unpacked'),
    ('web_max_redirects', '5', 'whole', 0, 20, 1, 'most redirects that are followed for a web page'),
    (
        'web_fresh_seconds', '600', 'number', 0, null, 1,
        'seconds during which a stored web page is used again, without asking its server'
    ),
    ('web_hosts', null, 'text', null, null, 0, 'hosts whose web pages may be read, such as *.example.org; empty: all'),
    (
        'search_engine', null, 'text', null, null, 0,
        'the web search: the address of a SearXNG, ddgs, or none; empty: ddgs if it is installed'
    ),
    ('search_results', '10', 'whole', 1, 20, 1, 'how many pages a web search lists, if the model gives no number'),
    (
        'model_deadline', '600', 'number', 0.01, null, 1,
        'seconds during which a failed call of a model is tried again, if the failure may pass'
    ),
    (
        'fallback_deadline', '30', 'number', 0, null, 1,
        'seconds during which a failed call is tried again, before the next model of the prompt is asked'
    ),
    ('output_attempts', '3', 'whole', 1, null, 1, 'how often the model may try to match the schema of its answer'),
    ('accept_attempts', '2', 'whole', 1, null, 1, 'how many results of a prompt are checked; the last result is kept'),
    ('accept_timeout', '600', 'number', 0.01, null, 1, 'seconds after which a command that checks a result is stopped'),
    ('judge_fail', 'open', 'text', null, null, 1, 'if the check itself fails: open accepts the result, closed does not'),
    ('judge_chars', '24000', 'whole', 200, null, 1, 'most characters of a result and its changes that a judge reads'),
    ('judge_model', null, 'text', null, null, 0, 'alias of the model that judges results; empty: the model of the run');

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
