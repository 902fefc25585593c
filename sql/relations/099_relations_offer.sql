-- Offer of relations: the scheme of plans.
-- spec: @modules @plans

-- seeds

insert into categories (name, meaning) values
    ('plan', 'the current plan, shown in <plan>')
on conflict (name) do update set meaning = excluded.meaning;

insert into schemes (
    name, category, default_scope, default_visibility, writable_by, model_visible, searchable, gated, meaning
) values
    ('plan', 'plan', 'run', 'visible', '["model","plugin"]', 1, 0, 0, 'a plan, as a checklist')
on conflict (name) do nothing;

insert into module_offers (module, kind, name) values ('relations', 'scheme', 'plan')
on conflict do nothing;
