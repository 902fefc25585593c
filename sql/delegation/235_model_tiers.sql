-- Model tiers: which models may delegate to which, and which model carries out clear steps.
-- A model delegates only to its own tier or a lower one (236), so that a cheap run cannot become an expensive one. A
-- model that no pattern fits has no tier: it delegates to itself and to aliases without a tier, and only models of
-- tier 1 and models without a tier delegate to it.
-- spec: @model_tiers

-- tables

-- How able, and how dear, models are: 1 the most. The longest pattern that fits the lower case of its name counts.
create table if not exists model_tiers (
    -- a GLOB
    pattern text not null,
    -- how hard it thinks, as its run or its alias says, or its name ends: -high, :high; '': any
    effort text not null default '',
    tier integer not null constraint model_tiers_tier check (tier between 1 and 9),
    primary key (pattern, effort)
) strict, without rowid;

-- The model that does what the models that fit a pattern give to execute; without a row that is the model itself.
create table if not exists executor_models (
    -- a GLOB over the lower case of its name; the longest one that fits counts
    pattern text primary key,
    -- an alias, or provider/name
    model text not null constraint executor_models_model_not_empty check (trim(model) <> '')
) strict, without rowid;

-- seeds

insert or ignore into model_tiers (pattern, effort, tier) values
    ('*opus*', '', 1),
    ('*sonnet*', '', 2),
    ('*haiku*', '', 3),
    ('*gpt-5*', '', 1),
    ('*gpt-5*-mini*', '', 3),
    ('*gpt-5*-nano*', '', 4),
    ('*gpt-4.1*', '', 2),
    ('*gpt-4.1*-mini*', '', 3),
    ('*gpt-4.1*-nano*', '', 4),
    ('*gpt-4o*', '', 2),
    ('*gpt-4o*-mini*', '', 3),
    ('*gemini*-pro*', '', 1),
    ('*gemini*-flash*', '', 3),
    ('*gemini*-flash-lite*', '', 4),
    ('*gpt-5*-codex*', 'xhigh', 1),
    ('*gpt-5*-codex*', 'high', 2),
    ('*gpt-5*-codex*', 'medium', 3),
    ('*gpt-5*-codex*', 'low', 4);

insert or ignore into executor_models (pattern, model) values
    ('anthropic/claude-*', 'anthropic/claude-haiku-4-5'),
    ('openrouter/anthropic/claude-*', 'openrouter/anthropic/claude-haiku-4.5');

-- The tier of the model behind each alias; null: no pattern fits its name.
create view _alias_tiers__delegation as
select
    a.name,
    a.actual,
    (
        select k.tier
        from model_tiers as k
        where case
                when instr(k.pattern, '/') then lower(a.actual)
                else substr(lower(a.actual), length(rtrim(a.actual, replace(a.actual, '/', ''))) + 1)
            end
            glob lower(k.pattern || case when k.effort in ('', a.effort) then '' else '[-:@]' || k.effort end)
        order by length(k.pattern) + length(k.effort) desc, k.tier
        limit 1
    ) as tier
from (
    select alias as name, actual, coalesce(effort, '') as effort
    from models
    union
    select model, model, '' from runs where model not in (select alias from models)
) as a;
