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
    -- by which absolute paths the root is known, and which names of files have several spellings, as JSON for path_locate,
    -- or null: by 'root' alone
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
    -- provider/name, http://HOST/v1#name, scripted:FILE, replay:DB#RUN or local
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
        constraint models_origin check (origin in ('client', 'user', 'environment', 'built-in')),
    created_at integer not null,
    -- 1: it sees pictures, 0: it does not; null: as its name says (_seeing_models)
    images integer constraint models_images_flag check (images in (0, 1)),
    -- how hard it thinks where its run does not say; null: as the setting effort says
    effort text constraint models_effort
        check (effort in ('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
    -- what a person says that its tokens cost, in US dollars per million; null: as its provider or the price list says
    price_input real constraint models_price_input_range check (price_input between 0 and 1e6),
    price_output real constraint models_price_output_range check (price_output between 0 and 1e6),
    -- of tokens that the provider had in its cache; null: as much as all others
    price_cached real constraint models_price_cached_range check (price_cached between 0 and 1e6),
    -- settings of the model, as a JSON object: top_p, stop, seed and so on; null: none
    options text,
    constraint models_price_both check ((price_input is null) = (price_output is null)),
    constraint models_price_of_cached check (price_cached is null or price_input is not null)
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

create view _provider_models as
-- Which providers have a model, by its name: select provider from _provider_models where 'gpt-4o' glob pattern. 'prefix' is
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

create view model_prices as
-- What a person says that models cost, in US dollars per million tokens: select * from model_prices. 'model' is an alias, or
-- the name of the model that it stands for, which has the price of its first alias with one.
select alias as model, price_input, price_output, coalesce(price_cached, price_input) as price_cached
from models
where price_input is not null
union all
select m.actual, m.price_input, m.price_output, coalesce(m.price_cached, m.price_input)
from models as m
where m.price_input is not null
    and m.actual not in (select alias from models)
    and m.alias = (select min(o.alias) from models as o where o.actual = m.actual and o.price_input is not null);

create view _seeing_models as
-- Which models of providers see pictures, by their names: select 1 from _seeing_models where lower('openai/gpt-4o') glob
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
-- The model of each provider for a person who names none, or only the provider: select model from provider_defaults. The
-- setting openai_model says that of openai, and so on; 'is_set' is 1 where somebody said it.
select
    column1 as provider,
    case substr(coalesce(s.value, column2), 1, length(column1) + 1) when column1 || '/' then '' else column1 || '/' end
    || coalesce(s.value, column2) as model,
    s.value is not null as is_set
from (values
    ('openai', 'gpt-5-mini'),
    ('anthropic', 'claude-sonnet-4-5'),
    ('google', 'gemini-2.5-flash'),
    ('openrouter', 'openai/gpt-5-mini'),
    ('xai', 'grok-4'),
    ('cerebras', 'gpt-oss-120b'),
    ('ollama', null)
)
left join settings as s on s.name = column1 || '_model'
where coalesce(s.value, column2) is not null;

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

create trigger models__guard_options
before insert on models
when value_error(new.options, 'options', null, null) is not null
begin
    select fail(400, 'model ' || quote(new.alias) || ': options ' || value_error(new.options, 'options', null, null));
end;

create trigger models__guard_changed_options
before update of options on models
when value_error(new.options, 'options', null, null) is not null
begin
    select fail(400, 'model ' || quote(new.alias) || ': options ' || value_error(new.options, 'options', null, null));
end;

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
