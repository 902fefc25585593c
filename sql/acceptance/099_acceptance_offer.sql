-- Offer of acceptance: the options of a prompt that have its result checked.
-- spec: @modules @acceptance

-- seeds

insert into run_options (name, scope, kind, least, most, meaning, needs_folder) values
    ('accept', 'loop', 'text', null, null, 'criteria for the result, checked by a judge', 0),
    ('accept_command', 'loop', 'text', null, 100000, 'a command line that accepts the result if it exits with 0', 1),
    ('accept_attempts', 'loop', 'whole', 1, null, 'how many results are checked; the last result is kept', 0),
    ('accept_model', 'loop', 'text', null, null, 'alias of the model that judges results', 0)
on conflict (name) do update set
    scope = excluded.scope, kind = excluded.kind, least = excluded.least, most = excluded.most, meaning = excluded.meaning,
    needs_folder = excluded.needs_folder;

insert into module_offers (module, kind, name) values
    ('acceptance', 'option', 'accept'),
    ('acceptance', 'option', 'accept_command')
on conflict do nothing;
