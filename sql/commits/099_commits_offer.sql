-- Offer of commits: the setting that makes git commits of edits.
-- spec: @modules @commits

-- seeds

insert into module_offers (module, kind, name) values
    ('commits', 'setting', 'commit')
on conflict do nothing;
