-- Values of settings: they hold for the whole file, and a person may replace each default.
-- A value can come from several layers. Later layers win: the default (004), the user's config.toml, the project's
-- engine.toml, this file, the environment of the process. `settings` has the value that counts. An option of a prompt
-- counts before the setting.
-- spec: @settings @configuration

-- tables

-- The settings with the values that are in force.
create table if not exists settings (
    name text primary key,
    value text,
    -- what a value may be: text, a whole number or a number
    kind text not null default 'text' constraint settings_kind check (kind in ('text', 'whole', 'number')),
    -- the bounds of a number; null: none
    least real,
    most real,
    -- 1: must not be empty
    needed integer not null default 0 constraint settings_needed_flag check (needed in (0, 1)),
    meaning text not null
) strict, without rowid;

-- What people said of settings, above the defaults.
create table if not exists setting_layers (
    name text not null constraint setting_layers_name references settings (name) on delete cascade,
    layer text not null constraint setting_layers_layer check (layer in ('user', 'project', 'file', 'env')),
    value text,
    -- the file that says so, with its line, or the variable; null: this file
    source text,
    -- 1: this user has confirmed a value of the project
    confirmed integer not null default 0 constraint setting_layers_confirmed_flag check (confirmed in (0, 1)),
    constraint setting_layers_once primary key (name, layer)
) strict, without rowid;

-- views

-- The layers that count, with their rank: the highest one of a setting wins.
create view _counting_layers as
select
    l.name, l.layer, l.value, l.source,
    case l.layer when 'env' then 4 when 'file' then 3 when 'project' then 2 else 1 end as rank
from setting_layers as l
where l.layer <> 'project' or l.confirmed or l.name in (select h.name from _harmless_settings as h);

-- What the value of each setting has to be, and which layer says so.
create view _setting_outcomes as
select
    s.name,
    coalesce(l.layer, 'default') as origin,
    case
        when l.layer is not null then l.value
        when d.name is not null then d.value
        when m.key is not null then nullif(m.value, '')
        else s.value
    end as value,
    l.source,
    case when d.name is not null then d.value else nullif(m.value, '') end as "default"
from settings as s
left join _setting_defaults as d on d.name = s.name
-- the default of a plugin's setting
left join engine_meta as m on m.key = 'default of ' || s.name
left join _counting_layers as l
    on l.name = s.name and l.rank = (select max(k.rank) from _counting_layers as k where k.name = s.name);

create view setting_list as
-- The settings with value, default, kind, bounds and meaning: select * from setting_list. 'is_set' is 1 where the value
-- is not the default; 'origin' is where it comes from: default, user, project, file or env; 'source' is the file and line,
-- or the variable of the environment, that say so.
select
    s.name, s.value, o."default", s.value is not o."default" as is_set, o.origin, o.source,
    s.kind, s.least, s.most, s.needed, s.meaning
from settings as s
join _setting_outcomes as o on o.name = s.name
order by s.name;

create view unconfirmed_settings as
-- What the project says of settings and does not count, because nobody confirmed it: select * from unconfirmed_settings.
select l.name, l.value, l.source
from setting_layers as l
where l.layer = 'project' and not l.confirmed and l.name not in (select h.name from _harmless_settings as h)
order by l.name;

create view _outer_layers as
-- The layers that come from outside of this file, as one text, by which is seen whether they have changed.
select coalesce(json_group_array(json_array(name, layer, value, source, confirmed)), '[]') as layers
from (
    select name, layer, value, source, confirmed
    from setting_layers
    where layer <> 'file'
    order by name, layer
);

-- seeds

insert into settings (name, value, kind, least, most, needed, meaning)
select name, value, kind, least, most, needed, meaning
from _setting_defaults
where true
on conflict (name) do update set
    kind = excluded.kind, least = excluded.least, most = excluded.most, needed = excluded.needed, meaning = excluded.meaning;

-- a default that another build has changed
update settings
set value = (select o.value from _setting_outcomes as o where o.name = settings.name)
where name in (select d.name from _setting_defaults as d)
    and value is not (select o.value from _setting_outcomes as o where o.name = settings.name);

-- doors

create view _set_layer as
-- Say what a setting is to be in a layer: insert into _set_layer (name, layer, value, source, confirmed).
select name, layer, value, source, confirmed from setting_layers;

create view _unset_layer as
-- Say nothing of a setting any more in a layer, or in none where 'name' is null: insert into _unset_layer (name, layer).
select name, layer from setting_layers;

-- triggers

-- Keep what is said, and put what follows from it in force.
create trigger _set_layer__keep
instead of insert on _set_layer
begin
    select fail(404, 'setting ' || quote(new.name) || ': not found; ''engine config --all'' lists the settings')
    where not exists (select 1 from settings as s where s.name = new.name);
    select fail(400, 'setting ' || new.name || ': can be set only for your user: engine config --user ' || new.name || '=…')
    where new.name in ('demo', 'demo_names', 'notify') and new.layer not in ('user', 'env');
    select fail(
        400, 'setting ' || new.name || ': is a setting of a plugin, so it can be set only in the database; leave '
            || 'out --user and --project'
    )
    where new.layer not in ('file', 'env') and not exists (select 1 from _setting_defaults as d where d.name = new.name);
    insert into _check_setting (name, value) values (new.name, nullif(new.value, ''));
    -- a user's default may name a persona that other files have
    select fail(
        404, 'setting persona: ' || quote(new.value) || ' not found; the personas are '
        || (select group_concat(p.name, ', ') from personas as p)
    )
    where new.name = 'persona' and new.layer = 'file' and new.value <> ''
        and new.value not in (select p.name from personas as p);
    insert into setting_layers (name, layer, value, source, confirmed)
    values (new.name, new.layer, nullif(new.value, ''), new.source, coalesce(new.confirmed, 0))
    on conflict (name, layer) do update set
        value = excluded.value, source = excluded.source, confirmed = excluded.confirmed;
    update settings
    set value = (select o.value from _setting_outcomes as o where o.name = new.name)
    where name = new.name and value is not (select o.value from _setting_outcomes as o where o.name = new.name);
end;

-- Forget what was said, and put what follows from that in force.
create trigger _unset_layer__forget
instead of insert on _unset_layer
begin
    select fail(400, 'layer ' || quote(new.layer) || ': use user, project, file or env')
    where coalesce(new.layer, '') not in ('user', 'project', 'file', 'env');
    select fail(404, 'setting ' || quote(new.name) || ': not found; ''engine config --all'' lists the settings')
    where new.name is not null
        and new.name not in (select s.name from settings as s)
        and new.name not in (select l.name from setting_layers as l);
    delete from setting_layers
    where layer = new.layer and name = coalesce(new.name, name);
    update settings
    set value = (select o.value from _setting_outcomes as o where o.name = settings.name)
    where name = coalesce(new.name, name)
        and name in (select o.name from _setting_outcomes as o where o.value is not settings.value);
end;

-- What an app or a person writes into `settings` is said of this file.
create trigger settings__keep_layer
after update of value on settings
when new.value is not (select o.value from _setting_outcomes as o where o.name = new.name)
begin
    insert into setting_layers (name, layer, value)
    values (new.name, 'file', new.value)
    on conflict (name, layer) do update set value = excluded.value, source = null;
    -- a variable of the environment holds all the same
    update settings
    set value = (select o.value from _setting_outcomes as o where o.name = new.name)
    where name = new.name and value is not (select o.value from _setting_outcomes as o where o.name = new.name);
end;

-- A value that changes is an event, so that it is known which value a turn had. 'origin' is the layer that says the new one.
create trigger settings__record_change
after update of value on settings
when new.value is not old.value
begin
    insert into events (at, kind, detail)
    select
        -- a stock tool has no now()
        cast((julianday('now') - 2440587.5) * 86400000.0 as integer), 'setting.changed',
        json_object(
            'name', new.name, 'from', old.value, 'to', new.value,
            'origin', (select o.origin from _setting_outcomes as o where o.name = new.name)
        );
end;

-- What a plugin seeds is the default of its setting, with its kind and bounds, at each rebuild anew: this runs too where its
-- row is there.
create trigger settings__keep_default
before insert on settings
when not exists (select 1 from _setting_defaults as d where d.name = new.name)
begin
    -- in a file of a build that kept no defaults: what is not the default may have been set
    insert into setting_layers (name, layer, value)
    select s.name, 'file', s.value
    from settings as s
    where s.name = new.name and s.value is not new.value
        and not exists (select 1 from engine_meta as m where m.key = 'default of ' || new.name)
        and not exists (select 1 from setting_layers as l where l.name = new.name and l.layer = 'file');
    insert into engine_meta (key, value)
    values ('default of ' || new.name, coalesce(new.value, ''))
    on conflict (key) do update set value = excluded.value;
    -- first: another default is checked against them
    update settings
    set kind = new.kind, least = new.least, most = new.most, needed = new.needed, meaning = new.meaning
    where name = new.name;
    update settings
    set value = (select o.value from _setting_outcomes as o where o.name = new.name)
    where name = new.name and value is not (select o.value from _setting_outcomes as o where o.name = new.name);
end;

create trigger settings__guard_value
before update of value on settings
begin
    insert into _check_setting (name, value) values (new.name, new.value);
end;

create view _check_setting as
select name, value from settings;

-- Refuse an empty value of a needed setting, a value of another kind, and a number out of its bounds.
create trigger _check_setting__refuse
instead of insert on _check_setting
begin
    select fail(400, 'setting ' || s.name || ': cannot be empty; it stays at ' || quote(s.value))
    from settings as s
    where s.name = new.name and s.needed and coalesce(trim(new.value), '') = '';
    select fail(400, 'setting ' || s.name || ': ' || value_error(new.value, s.kind, s.least, s.most))
    from settings as s
    where s.name = new.name and value_error(nullif(new.value, ''), s.kind, s.least, s.most) is not null;
    select fail(400, 'setting effort: ' || value_error(new.value, 'effort', null, null))
    where new.name = 'effort' and value_error(nullif(new.value, ''), 'effort', null, null) is not null;
    select fail(400, 'setting model_options: ' || value_error(new.value, 'options', null, null))
    where new.name = 'model_options' and value_error(nullif(new.value, ''), 'options', null, null) is not null;
    select fail(
        400,
        'setting sandbox: ' || quote(new.value) || ': use auto, require, or the name of a sandbox'
        || case new.value when 'off' then '; to turn the sandbox off, use --sandbox off for one prompt, or '
        || 'ENGINE_SANDBOX=off' else '' end
    )
    where new.name = 'sandbox' and (new.value = 'off' or new.value glob '*[^a-z0-9_-]*');
    select fail(
        400,
        'setting instruction_files: ' || quote(n.value)
        || ': use AGENTS.md, CLAUDE.md, GEMINI.md, .cursorrules, .windsurfrules, .clinerules or '
        || '.github/copilot-instructions.md, separated by commas'
    )
    from json_each(case
            when new.name = 'instruction_files' and trim(coalesce(new.value, '')) <> ''
                then '[' || replace(json_quote(replace(replace(new.value, '\', '?'), '"', '?')), ',', '","') || ']'
            else '[]'
        end) as n
    where trim(n.value) not in (
        'AGENTS.md', 'CLAUDE.md', 'GEMINI.md', '.cursorrules', '.windsurfrules', '.clinerules',
        '.github/copilot-instructions.md'
    );
    select fail(400, 'setting commit: ' || quote(new.value) || ': use edit, prompt, or nothing')
    where new.name = 'commit' and coalesce(new.value, '') not in ('', 'edit', 'prompt');
    select fail(400, 'setting core_tools: ' || quote(new.value) || ': give names of tools, separated by commas')
    where new.name = 'core_tools' and new.value glob '*[^a-zA-Z0-9_, -]*';
    select fail(400, 'setting skill_folders: ' || quote(new.value)
        || ': give folders inside the working folder, separated by commas')
    where new.name = 'skill_folders'
        and (
            new.value glob '*[^a-zA-Z0-9_., /-]*'
            or ',' || replace(new.value, ' ', '') || ',' glob '*,/*'
            or instr('/' || replace(replace(new.value, ' ', ''), ',', '/') || '/', '/../')
            or instr('/' || replace(lower(replace(new.value, ' ', '')), ',', '/') || '/', '/.git/')
            or instr('/' || replace(lower(replace(new.value, ' ', '')), ',', '/') || '/', '/.engine/')
        );
end;
