-- Offer of bounds: the options of a prompt and the settings that say what may be spent.
-- spec: @modules @bounds

-- seeds

insert into run_options (name, scope, kind, least, most, meaning) values
    ('max_cost', 'loop', 'number', 0, null, 'US dollars after which it is stopped, the runs below it included'),
    ('max_tokens', 'loop', 'whole', 0, null, 'tokens after which it is stopped, the runs below it included'),
    ('max_calls', 'loop', 'whole', 0, null, 'calls of models after which it is stopped, the runs below it included')
on conflict (name) do update set
    scope = excluded.scope, kind = excluded.kind, least = excluded.least, most = excluded.most, meaning = excluded.meaning;

insert into module_offers (module, kind, name) values
    ('bounds', 'option', 'max_cost'), ('bounds', 'option', 'max_tokens'), ('bounds', 'option', 'max_calls'),
    ('bounds', 'setting', 'max_loop_cost'), ('bounds', 'setting', 'max_loop_tokens'),
    ('bounds', 'setting', 'max_loop_calls'),
    ('bounds', 'setting', 'max_day_cost'), ('bounds', 'setting', 'max_day_tokens'), ('bounds', 'setting', 'max_day_calls'),
    ('bounds', 'setting', 'max_file_cost'), ('bounds', 'setting', 'max_file_tokens'), ('bounds', 'setting', 'max_file_calls')
on conflict do nothing;
