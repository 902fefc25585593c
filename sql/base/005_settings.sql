-- Settings: what holds for the whole file, each with a default that a person may replace.
-- The defaults stand in a view, so that a setting can be given its default again. Above them are layers: what a user
-- says in a file of his own, what the project says, and what was said of this file, which wins. `settings` holds the value
-- that is in force. A loop's own configuration takes precedence over it.
-- spec: @settings @configuration

-- tables

-- The settings with the values that are in force.
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

-- What people said of settings, above the defaults.
create table if not exists setting_layers (
    name text not null constraint setting_layers_name references settings (name) on delete cascade,
    layer text not null constraint setting_layers_layer check (layer in ('user', 'project', 'file')),
    value text,
    -- the file that says so, with its line; null: this one
    source text,
    -- 1: this user has confirmed a value of the project
    confirmed integer not null default 0 constraint setting_layers_confirmed_flag check (confirmed in (0, 1)),
    constraint setting_layers_once primary key (name, layer)
) strict, without rowid;

-- views

-- The settings as they are seeded.
create view _setting_defaults (name, value, kind, least, most, needed, meaning) as
values
    ('budget_ceiling', '0.9', 'number', 0.1, 1, 1, 'share of the context window that a packet may fill'),
    ('context_length', '32768', 'whole', 256, null, 1, 'context window of a model that names none, in tokens'),
    ('chars_per_token', '2', 'number', 0.25, 8, 1, 'characters a token before a provider has reported usage'),
    ('max_entry_tokens', '512', 'whole', 1, null, 1, 'largest body of a known:// entry, in tokens'),
    ('max_rule_tokens', '4000', 'whole', 0, null, 1, 'tokens of rules in a packet, at most a quarter of the ceiling'),
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
    ('process_timeout', '45', 'number', 0.01, null, 1, 'seconds after which a process is stopped'),
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
    ('max_plan_chars', '8000', 'whole', 200, 40000, 1, 'characters of a plan that a packet shows, at most an eighth of it'),
    ('kept_in_context', 'known://plan*', 'text', null, null, 0, 'a glob over paths that are never archived to make room'),
    ('lease_seconds', '30', 'whole', 1, null, 1, 'seconds after which a lease expires that its driver does not renew'),
    (
        'threads', null, 'text', null, null, 0,
        'behavioural threads of the engine that are in force, separated by commas; all: every one; empty: none'
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
    ('temperature');

-- The layers that count, with their rank: the highest one of a setting wins.
create view _counting_layers as
select l.name, l.layer, l.value, l.source, case l.layer when 'file' then 3 when 'project' then 2 else 1 end as rank
from setting_layers as l
where l.layer <> 'project' or l.confirmed or l.name in (select h.name from _harmless_settings as h);

-- What the value of each setting has to be, and which layer says so.
create view _setting_outcomes as
select
    s.name,
    coalesce(l.layer, 'default') as origin,
    -- what a plugin seeded has no default here
    case when l.layer is not null then l.value when d.name is not null then d.value else s.value end as value,
    l.source,
    d.value as "default"
from settings as s
left join _setting_defaults as d on d.name = s.name
left join _counting_layers as l
    on l.name = s.name and l.rank = (select max(k.rank) from _counting_layers as k where k.name = s.name);

create view setting_list as
-- The settings with value, default, kind, bounds and meaning: select * from setting_list. 'is_set' is 1 where the value
-- is not the default; 'origin' is where it comes from: default, user, project or file; 'source' is the file and line that
-- say so.
select
    s.name, s.value, o."default", s.value is not o."default" as is_set, o.origin, o.source,
    s.kind, s.least, s.most, s.needed, s.meaning
from settings as s
join _setting_outcomes as o on o.name = s.name
order by s.name;

create view unconfirmed_settings as
-- What the project says of settings and does not count, because nobody confirmed it: select * from unconfirmed_settings.
select l.name, l.value, l.source
from setting_layers as l
where l.layer = 'project' and not l.confirmed and l.name not in (select h.name from _harmless_settings as h)
order by l.name;

create view _outer_layers as
-- The layers that come from outside of this file, as one text, by which is seen whether they have changed.
select coalesce(json_group_array(json_array(name, layer, value, source, confirmed)), '[]') as layers
from (
    select name, layer, value, source, confirmed
    from setting_layers
    where layer <> 'file'
    order by name, layer
);

-- seeds

insert into settings (name, value, kind, least, most, needed, meaning)
select name, value, kind, least, most, needed, meaning
from _setting_defaults
where true
on conflict (name) do update set
    kind = excluded.kind, least = excluded.least, most = excluded.most, needed = excluded.needed, meaning = excluded.meaning;

-- a default that another build has changed
update settings
set value = (select o.value from _setting_outcomes as o where o.name = settings.name)
where name in (select d.name from _setting_defaults as d)
    and value is not (select o.value from _setting_outcomes as o where o.name = settings.name);

-- doors

create view set_layer as
-- Say what a setting is to be in a layer: insert into set_layer (name, layer, value, source, confirmed).
select name, layer, value, source, confirmed from setting_layers;

create view unset_layer as
-- Say nothing of a setting any more in a layer, or in none where 'name' is null: insert into unset_layer (name, layer).
select name, layer from setting_layers;

-- triggers

-- Keep what is said, and put what follows from it in force.
create trigger set_layer__keep
instead of insert on set_layer
begin
    select fail(404, 'setting ' || quote(new.name) || ': there is none of that name; ''engine config'' lists them')
    where not exists (select 1 from settings as s where s.name = new.name);
    select fail(400, 'setting ' || new.name || ': comes with a plugin and is set for a file only')
    where new.layer <> 'file' and not exists (select 1 from _setting_defaults as d where d.name = new.name);
    insert into _check_setting (name, value) values (new.name, nullif(new.value, ''));
    -- a user's default may name a persona that other files have
    select fail(
        404, 'setting persona: there is no persona ' || quote(new.value) || '; there are '
        || (select group_concat(p.name, ', ') from personas as p)
    )
    where new.name = 'persona' and new.layer = 'file' and new.value <> ''
        and new.value not in (select p.name from personas as p);
    insert into setting_layers (name, layer, value, source, confirmed)
    values (new.name, new.layer, nullif(new.value, ''), new.source, coalesce(new.confirmed, 0))
    on conflict (name, layer) do update set
        value = excluded.value, source = excluded.source, confirmed = excluded.confirmed;
    update settings
    set value = (select o.value from _setting_outcomes as o where o.name = new.name)
    where name = new.name and value is not (select o.value from _setting_outcomes as o where o.name = new.name);
end;

-- Forget what was said, and put what follows from that in force.
create trigger unset_layer__forget
instead of insert on unset_layer
begin
    delete from setting_layers
    where layer = new.layer and name = coalesce(new.name, name);
    update settings
    set value = (select o.value from _setting_outcomes as o where o.name = settings.name)
    where name = coalesce(new.name, name)
        and name in (select o.name from _setting_outcomes as o where o.value is not settings.value);
end;

-- What an app or a person writes into `settings` is said of this file.
create trigger settings__keep_layer
after update of value on settings
when new.value is not (select o.value from _setting_outcomes as o where o.name = new.name)
begin
    insert into setting_layers (name, layer, value)
    values (new.name, 'file', new.value)
    on conflict (name, layer) do update set value = excluded.value, source = null;
end;

create trigger settings__guard_value
before update of value on settings
begin
    insert into _check_setting (name, value) values (new.name, new.value);
end;

create view _check_setting as
select name, value from settings;

-- Refuse an empty value of a needed setting, a value of another kind, and a number out of its bounds.
create trigger _check_setting__refuse
instead of insert on _check_setting
begin
    select fail(400, 'setting ' || s.name || ': is needed; it was ' || quote(s.value))
    from settings as s
    where s.name = new.name and s.needed and coalesce(trim(new.value), '') = '';
    select fail(400, 'setting ' || s.name || ': ' || value_error(new.value, s.kind, s.least, s.most))
    from settings as s
    where s.name = new.name and value_error(nullif(new.value, ''), s.kind, s.least, s.most) is not null;
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
    select fail(400, 'setting core_tools: ' || quote(new.value) || ' are no names of tools, separated by commas')
    where new.name = 'core_tools' and new.value glob '*[^a-zA-Z0-9_, -]*';
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
