-- Offer of instructions: the files that hold them.
-- spec: @modules @agents

-- seeds

insert into module_offers (module, kind, name) values
    ('instructions', 'file', '*AGENTS.md'),
    ('instructions', 'setting', 'instruction_files')
on conflict do nothing;
