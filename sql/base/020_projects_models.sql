-- Projects and models: the folder that a run works in, and the language model that it asks.
-- The runs of a project share its files; a project without a root has none. A run names a model by its alias; the
-- model's actual name chooses the adapter.
-- spec: @projects @file_constraints @models_table

-- tables

-- The folders in which runs work.
create table if not exists projects (
    id integer primary key,
    name text not null constraint projects_name_unique unique,
    -- the folder; null: the project has no files
    root text constraint projects_root_unique unique,
    created_at integer not null,
    -- by which absolute paths the root is known, as JSON for path_locate; null: by 'root' alone
    root_names text constraint projects_root_names_json check (root_names is null or json_valid(root_names))
) strict;

-- What a person says of a project's files: which belong to it although git does not track them, which do not belong to
-- it, and which are never written.
create table if not exists file_constraints (
    id integer primary key,
    project_id integer not null
        constraint file_constraints_project references projects (id) on delete cascade,
    -- a path, or a pattern that paths are matched with
    pattern text not null constraint file_constraints_pattern_not_empty check (trim(pattern) <> ''),
    -- add: belongs even where git does not track it; readonly: belongs and is never written; ignore: does not belong
    rule text not null constraint file_constraints_rule check (rule in ('add', 'readonly', 'ignore')),
    created_at integer not null,
    constraint file_constraints_once unique (project_id, pattern)
) strict;

-- The models that runs can name.
create table if not exists models (
    id integer primary key,
    alias text not null constraint models_alias_unique unique
        constraint models_alias_not_empty check (trim(alias) <> ''),
    -- provider/name, scripted:FILE, replay:DB#RUN or local
    actual text not null constraint models_actual_not_empty check (trim(actual) <> ''),
    -- in tokens; null: that of the run, or the setting context_length
    context_length integer
        constraint models_context_length_range check (context_length is null or context_length >= 256),
    -- the longest answer that its provider allows, in tokens; null: unknown
    max_output integer constraint models_max_output_range check (max_output is null or max_output >= 1),
    -- full: the packet has all sections; compact: a short packet for small local models
    profile text not null default 'full' constraint models_profile check (profile in ('full', 'compact')),
    -- xml: the model writes commands as markup in its text; native: it calls tools through its provider's API
    tool_calling text not null default 'xml' constraint models_tool_calling check (tool_calling in ('xml', 'native')),
    -- who added the row
    origin text not null default 'client'
        constraint models_origin check (origin in ('client', 'environment', 'built-in')),
    created_at integer not null,
    -- 1: it sees pictures, 0: it does not; null: as its name says (seeing_models)
    images integer constraint models_images_flag check (images in (0, 1)),
    -- how hard it thinks where its run does not say; null: as the setting effort says
    effort text constraint models_effort
        check (effort in ('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'))
) strict;

-- seeds

insert into models (alias, actual, context_length, profile, origin, created_at) values
    ('local', 'local', 4096, 'compact', 'built-in', 0)
on conflict (alias) do nothing;

-- Patterns that were stored as they were typed; one that is there already stays alone.
update or ignore file_constraints
set pattern = path_normalize(pattern)
where pattern <> path_normalize(pattern);

-- views

-- The names of each project's root, as path_locate takes them; null for a project without a root.
create view _project_roots as
select
    id as project_id,
    coalesce(root_names, case when root is not null then json_object('names', json_array(root)) end) as roots
from projects;

-- The same for each run.
create view _run_roots as
select
    r.id as run_id,
    r.alias as run,
    p.roots
from runs as r
join _project_roots as p on p.project_id = r.project_id;

create view provider_models as
-- Which providers have a model, by its name: select provider from provider_models where 'gpt-4o' glob pattern. 'prefix' is
-- what stands before the name there; 'is_maker' is 1 for the provider that makes the model.
select column1 as pattern, column2 as provider, column3 as prefix, column4 as is_maker
from (values
    ('gpt-[0-9]*', 'openai', 'openai/', 1),
    ('gpt-[0-9]*', 'openrouter', 'openrouter/openai/', 0),
    ('chatgpt-*', 'openai', 'openai/', 1),
    ('o[0-9]*', 'openai', 'openai/', 1),
    ('o[0-9]*', 'openrouter', 'openrouter/openai/', 0),
    ('ft:*', 'openai', 'openai/', 1),
    ('gpt-oss-*', 'cerebras', 'cerebras/', 0),
    ('gpt-oss-*', 'openrouter', 'openrouter/openai/', 0),
    ('claude-*', 'anthropic', 'anthropic/', 1),
    ('claude-*', 'openrouter', 'openrouter/anthropic/', 0),
    ('gemini-*', 'google', 'google/', 1),
    ('gemini-*', 'openrouter', 'openrouter/google/', 0),
    ('gemma-*', 'google', 'google/', 1),
    ('gemma-*', 'openrouter', 'openrouter/google/', 0),
    ('grok-*', 'xai', 'xai/', 1),
    ('grok-*', 'openrouter', 'openrouter/x-ai/', 0),
    ('llama*-[0-9]*b', 'cerebras', 'cerebras/', 0),
    ('*:[0-9]*', 'ollama', 'ollama/', 1),
    ('*:latest', 'ollama', 'ollama/', 1)
);

create view seeing_models as
-- Which models of providers see pictures, by their names: select 1 from seeing_models where lower('openai/gpt-4o') glob
-- pattern.
select '*/' || column1 as pattern
from (values
    ('gpt-4o*'), ('gpt-4.1*'), ('gpt-4-turbo*'), ('gpt-[5-9]*'), ('chatgpt-4o*'), ('o1'), ('o1-20*'),
    ('o1-pro*'), ('o3'), ('o3-20*'), ('o3-pro*'), ('o4-*'), ('claude-*'), ('gemini-*'),
    ('gemma-3*'), ('gemma3*'), ('gemma-4*'), ('gemma4*'), ('grok-4*'), ('grok-*-vision*'),
    ('llama-4*'), ('llama4*'), ('*llama*vision*'), ('llava*'), ('pixtral*'), ('mistral-small-3*'), ('mistral-small3*'),
    ('qwen*-vl*'), ('qwen*vl:*'), ('minicpm-v*'), ('moondream*'), ('granite*-vision*')
);

create view provider_defaults as
-- The model of each provider for a person who has a key and names none: select model from provider_defaults.
select column1 as provider, column2 as model
from (values
    ('openai', 'openai/gpt-5-mini'),
    ('anthropic', 'anthropic/claude-sonnet-4-5'),
    ('google', 'google/gemini-2.5-flash'),
    ('openrouter', 'openrouter/openai/gpt-5-mini'),
    ('xai', 'xai/grok-4'),
    ('cerebras', 'cerebras/gpt-oss-120b')
);

create view model_choices as
-- The model that a prompt gets where it names none: that of its run, else the setting 'model'. The row whose run is
-- null is that of a run that does not exist yet.
select r.alias as run, coalesce(r.model, s.value) as model
from runs as r
join settings as s on s.name = 'model'
union all
select null, value
from settings
where name = 'model';

-- triggers

-- A pattern is stored as the paths that it is matched with are written; as './a' it would match no file.
create trigger file_constraints__normalize_pattern
after insert on file_constraints
when new.pattern <> path_locate(new.pattern, (select roots from _project_roots where project_id = new.project_id))
begin
    update file_constraints
    set pattern = path_locate(new.pattern, (select roots from _project_roots where project_id = new.project_id))
    where id = new.id;
end;

create trigger file_constraints__normalize_changed_pattern
after update of pattern on file_constraints
when new.pattern <> path_locate(new.pattern, (select roots from _project_roots where project_id = new.project_id))
begin
    update file_constraints
    set pattern = path_locate(new.pattern, (select roots from _project_roots where project_id = new.project_id))
    where id = new.id;
end;
