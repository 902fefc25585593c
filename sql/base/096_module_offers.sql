-- Offers of modules: the rows that a file has of a module before the module is installed.
-- The files 099 of modules are run in every file. They have the tools, schemes and options that somebody may name
-- before the module is installed, and rows that say when to install it. A driver asks _wanted_modules; reading
-- installs nothing.
-- spec: @modules

-- tables

create table if not exists module_offers (
    module text not null,
    -- setting: one that is not at its default, option: of a prompt, scheme: of an entry, file: a pattern of paths in a
    -- project, tools: a setting that says above how many tools of an app and of servers it is needed
    kind text not null constraint module_offers_kind check (kind in ('setting', 'option', 'scheme', 'file', 'tools')),
    name text not null,
    primary key (module, kind, name)
) strict, without rowid;

-- views

-- The modules that each run needs and its file lacks.
create view _wanted_modules as
select r.alias as run, o.module
from runs as r
cross join module_offers as o
where o.module not in (select name from engine_modules)
    and case o.kind
        when 'setting'
            then exists (select 1 from setting_layers as s where s.name = o.name and s.value <> '')
        when 'option'
            then exists (
                select 1
                from loops as l
                where l.run_id = r.id and l.status = 102 and json_extract(l.config, '$.' || o.name) is not null
            )
            or exists (
                select 1
                from loops as l
                where l.run_id = r.id and l.status = 100 and json_extract(l.config, '$.' || o.name) is not null
            )
        when 'scheme'
            then exists (
                select 1
                from entries as e
                where e.scope = 'run:' || r.id and e.path >= o.name || '://' and e.path < o.name || ':/0'
            )
        when 'tools'
            then exists (
                select 1
                from leases as l
                where l.run_id = r.id
                    and (select count(*) from json_each(l.tools))
                    > (select cast(s.value as integer) from settings as s where s.name = o.name)
            )
    end;
