-- Offer of handoffs: the option of a prompt that says to whom its model may hand it over.
-- spec: @modules @handoffs

-- seeds

insert into run_options (name, scope, kind, least, most, meaning) values
    (
        'handoffs', 'loop', 'text', null, null,
        'the personas that may take over the prompt: a JSON array of objects with persona, when, model and tools'
    ),
    (
        'fallback_models', 'loop', 'text', null, null,
        'the models that are asked in turn if the model fails: a JSON array of names'
    )
on conflict (name) do update set
    scope = excluded.scope, kind = excluded.kind, least = excluded.least, most = excluded.most, meaning = excluded.meaning;

insert into module_offers (module, kind, name) values
    ('handoffs', 'option', 'handoffs'), ('handoffs', 'option', 'fallback_models')
on conflict do nothing;
