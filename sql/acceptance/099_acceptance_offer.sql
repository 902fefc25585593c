-- Offer of acceptance: the options of a prompt that ask for a verification of its result.
-- spec: @modules @acceptance

-- seeds

insert into run_options (name, scope, kind, least, most, meaning, needs_folder) values
    ('accept', 'loop', 'text', null, null, 'what its result has to fulfil; a judge says whether it does', 0),
    ('accept_command', 'loop', 'text', null, 100000, 'a command line that accepts its result by the exit code 0', 1),
    ('accept_attempts', 'loop', 'whole', 1, null, 'results that are checked; the last one is kept', 0),
    ('accept_model', 'loop', 'text', null, null, 'alias of the model that judges', 0)
on conflict (name) do update set
    scope = excluded.scope, kind = excluded.kind, least = excluded.least, most = excluded.most, meaning = excluded.meaning,
    needs_folder = excluded.needs_folder;

insert into module_offers (module, kind, name) values
    ('acceptance', 'option', 'accept'),
    ('acceptance', 'option', 'accept_command')
on conflict do nothing;
