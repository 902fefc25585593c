-- Offer of typed answers: the options of a prompt for an answer that matches a schema.
-- spec: @modules @typed_answers

-- seeds

insert into run_options (name, scope, kind, least, most, meaning) values
    ('output', 'loop', 'schema', null, null, 'the schema of the answer, as a JSON Schema'),
    ('output_attempts', 'loop', 'whole', 1, null, 'how often the model may try to match that schema')
on conflict (name) do update set
    scope = excluded.scope, kind = excluded.kind, least = excluded.least, most = excluded.most, meaning = excluded.meaning;

insert into module_offers (module, kind, name) values
    ('typed_answers', 'option', 'output')
on conflict do nothing;
