-- Offer of typed answers: the options of a prompt that ask for an answer of a form.
-- spec: @modules @typed_answers

-- seeds

insert into run_options (name, scope, kind, least, most, meaning) values
    ('output', 'loop', 'schema', null, null, 'the form of its answer, as a JSON Schema'),
    ('output_attempts', 'loop', 'whole', 1, null, 'answers that are held against that schema')
on conflict (name) do update set
    scope = excluded.scope, kind = excluded.kind, least = excluded.least, most = excluded.most, meaning = excluded.meaning;

insert into module_offers (module, kind, name) values
    ('typed_answers', 'option', 'output')
on conflict do nothing;
