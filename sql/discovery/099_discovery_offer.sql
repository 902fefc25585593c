-- Offer of discovery: what narrows the tools that a model is told of.
-- spec: @modules @discovery

-- seeds

insert into module_offers (module, kind, name) values
    ('discovery', 'setting', 'narrow_tools'),
    ('discovery', 'option', 'narrow_tools'),
    ('discovery', 'tools', 'narrow_above')
on conflict do nothing;
