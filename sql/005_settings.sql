-- Settings: what holds for the whole file, each with a default that a person may replace.
-- The defaults stand in a view, so that a setting can be given its default again. A loop's own configuration takes
-- precedence over a setting.
-- spec: @settings

-- tables

-- The settings with their values.
create table if not exists settings (
    name text primary key,
    value text,
    -- what a value may be: text, a whole number or a number
    kind text not null default 'text' constraint settings_kind check (kind in ('text', 'whole', 'number')),
    -- the bounds of a number; null: none
    least real,
    most real,
    -- 1: must not be empty
    needed integer not null default 0 constraint settings_needed_flag check (needed in (0, 1)),
    meaning text not null
) strict, without rowid;

-- views

-- The settings as they are seeded.
create view _setting_defaults (name, value, kind, least, most, needed, meaning) as
values
    ('budget_ceiling', '0.9', 'number', 0.1, 1, 1, 'share of the context window that a packet may fill'),
    ('context_length', '32768', 'whole', 256, null, 1, 'context window of a model that names none, in tokens'),
    ('chars_per_token', '2', 'number', 0.25, 8, 1, 'characters a token before a provider has reported usage'),
    ('max_entry_tokens', '512', 'whole', 1, null, 1, 'largest body of a known:// entry, in tokens'),
    ('max_loop_turns', '99', 'whole', 1, null, 1, 'turns after which a loop is stopped'),
    ('max_loop_seconds', null, 'number', 0, null, 0, 'seconds after which a loop is stopped; empty or 0: none'),
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
    ('max_repeated_commands', '2', 'whole', 0, null, 1, 'times that one command line runs in a loop; 0: any number'),
    ('temperature', '0.1', 'number', 0, 2, 1, 'sampling temperature of a run that names none'),
    ('model', null, 'text', null, null, 0, 'alias of the model of a run that names none'),
    ('persona', 'default', 'text', null, null, 0, 'persona of a run that names none'),
    (
        'prompt_figures', '0', 'whole', 0, 1, 1,
        '1: the <prompt> carries token figures, at the price of the prefix cache'
    ),
    ('process_timeout', '45', 'number', 0.01, null, 1, 'seconds after which a process is stopped'),
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
    ('process_output_bytes', '1000000', 'whole', 0, null, 1, 'bytes of one output channel that are kept'),
    ('file_max_bytes', '1000000', 'whole', 0, null, 1, 'size above which a file is listed but not read'),
    ('scan_max_files', '20000', 'whole', 0, null, 1, 'files of a project above which a scan is refused'),
    (
        'untracked_files', '1', 'whole', 0, 1, 1,
        '1: files that git does not track and would take belong to the project too; 0: only those that it tracks'
    ),
    (
        'instruction_files', 'AGENTS.md', 'text', null, null, 0,
        'files with instructions for agents, the first one of these that a folder has: AGENTS.md, CLAUDE.md, GEMINI.md, '
        || '.cursorrules; empty: none'
    ),
    (
        'instruction_chars', '16000', 'whole', 0, 200000, 1,
        'characters of the instructions of a project that a packet shows, and as many of all folders below it'
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
    ('kept_in_context', 'known://plan*', 'text', null, null, 0, 'a glob over paths that are never archived to make room'),
    ('lease_seconds', '30', 'whole', 1, null, 1, 'seconds after which a lease expires that its driver does not renew'),
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
    ('model_deadline', '600', 'number', 0.01, null, 1, 'seconds for which transient model errors are retried');

create view setting_list as
-- The settings with value, default, kind, bounds and meaning: select * from setting_list. 'is_set' is 1 where the value
-- is not the default.
select
    s.name, s.value, d.value as "default", s.value is not d.value as is_set, s.kind, s.least, s.most, s.needed, s.meaning
from settings as s
left join _setting_defaults as d on d.name = s.name
order by s.name;

-- seeds

insert into settings (name, value, kind, least, most, needed, meaning)
select name, value, kind, least, most, needed, meaning
from _setting_defaults
where true
on conflict (name) do update set
    kind = excluded.kind, least = excluded.least, most = excluded.most, needed = excluded.needed, meaning = excluded.meaning;

-- triggers

-- Refuse an empty value of a needed setting, a value of another kind, and a number out of its bounds.
create trigger settings__guard_value
before update of value on settings
begin
    select fail(400, 'setting ' || new.name || ': is needed; it was ' || quote(old.value))
    where new.needed and coalesce(trim(new.value), '') = '';
    select fail(400, 'setting ' || new.name || ': ' || value_error(new.value, new.kind, new.least, new.most))
    where value_error(nullif(new.value, ''), new.kind, new.least, new.most) is not null;
    select fail(
        400,
        'setting sandbox: ' || quote(new.value) || ' is none of auto, require, or the name of a sandbox'
        || case new.value when 'off' then '; off is said by a prompt, or by ENGINE_SANDBOX in the environment' else '' end
    )
    where new.name = 'sandbox' and (new.value = 'off' or new.value glob '*[^a-z0-9_-]*');
    select fail(
        400,
        'setting instruction_files: ' || quote(n.value)
        || ' is none of AGENTS.md, CLAUDE.md, GEMINI.md and .cursorrules, separated by commas'
    )
    from json_each(case
            when new.name = 'instruction_files' and trim(coalesce(new.value, '')) <> ''
                then '[' || replace(json_quote(replace(replace(new.value, '\', '?'), '"', '?')), ',', '","') || ']'
            else '[]'
        end) as n
    where trim(n.value) not in ('AGENTS.md', 'CLAUDE.md', 'GEMINI.md', '.cursorrules');
    select fail(400, 'setting skill_folders: ' || quote(new.value) || ' are no folders below the root, separated by commas')
    where new.name = 'skill_folders'
        and (
            new.value glob '*[^a-zA-Z0-9_., /-]*'
            or ',' || replace(new.value, ' ', '') || ',' glob '*,/*'
            or instr('/' || replace(replace(new.value, ' ', ''), ',', '/') || '/', '/../')
            or instr('/' || replace(lower(replace(new.value, ' ', '')), ',', '/') || '/', '/.git/')
            or instr('/' || replace(lower(replace(new.value, ' ', '')), ',', '/') || '/', '/.engine/')
        );
end;
