-- Offer of threads: the settings that put threads into force.
-- spec: @modules @threads

-- seeds

insert into module_offers (module, kind, name) values
    ('threads', 'setting', 'check'),
    ('threads', 'setting', 'threads')
on conflict do nothing;
