-- Offer of threads: the setting that puts threads into force.
-- spec: @modules @threads

-- seeds

insert into module_offers (module, kind, name) values
    ('threads', 'setting', 'threads')
on conflict do nothing;
