-- Offer of discovery: the settings that limit the tools that a model sees.
-- spec: @modules @discovery

-- seeds

insert into module_offers (module, kind, name) values
    ('discovery', 'setting', 'narrow_tools'),
    ('discovery', 'option', 'narrow_tools'),
    ('discovery', 'tools', 'narrow_above')
on conflict do nothing;
