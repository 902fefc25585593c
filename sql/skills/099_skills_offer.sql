-- Offer of skills: the files that hold them.
-- spec: @modules @skills

-- seeds

insert into module_offers (module, kind, name) values
    ('skills', 'file', '*SKILL.md'),
    ('skills', 'setting', 'skill_folders')
on conflict do nothing;
