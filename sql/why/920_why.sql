-- Why: explains what a run did, saw and cost. Each reason is a sentence and the row behind it.
-- 'engine why' and db.why lay these views out. Asking takes nothing in: they are read as temporary views over the
-- file as it is. Each file of this folder has the reasons of one kind of thing.
-- needs: acceptance, handoffs, instructions, rules, skills, threads, workflows
-- spec: @why

-- views

-- The prompt that a run is asked about: the active one, else the one that ended last, else the first in line.
create view _asked_prompts as
select
    r.id as run_id,
    r.alias as run,
    (
        select l.id
        from loops as l
        where l.run_id = r.id
        order by l.status = 102 desc, l.status = 100, case l.status when 100 then l.sequence else -l.sequence end
        limit 1
    ) as loop_id
from runs as r;

-- The settings as each turn had them: an option of its prompt, else what the first change after its packet has replaced,
-- else what holds now. 'origin' is null where no event tells it; 'source' and 'key' name a row that says the value.
create view _turn_settings as
select
    t.id as turn_id,
    s.name,
    case
        when f.value is not null then cast(f.value as text)
        when c.id is not null then c.detail ->> '$.from'
        else s.value
    end as value,
    case
        when f.value is not null then 'prompt'
        when c.id is null then s.origin
        else (
            select b.detail ->> '$.origin'
            from events as b
            where b.kind = 'setting.changed' and b.id <= t.seen_at and b.detail ->> '$.name' = s.name
            order by b.id desc
            limit 1
        )
    end as origin,
    f.value is null and c.id is not null as is_past,
    c.id as event_id,
    s.meaning,
    case
        when f.value is not null then 'loop_list' when c.id is not null then 'event_list' else 'setting_list'
    end as source,
    case
        when f.value is not null then json_object('run', r.alias, 'loop', l.sequence)
        when c.id is not null then json_object('id', c.id)
        else json_object('name', s.name)
    end as key
from turns as t
join loops as l on l.id = t.loop_id
join runs as r on r.id = t.run_id
cross join setting_list as s
left join json_each(l.config) as f on f.key = case s.name
    when 'max_loop_turns' then 'max_turns'
    when 'max_loop_seconds' then 'max_seconds'
    when 'condense_ratio' then 'condense_ratio'
    when 'sandbox' then 'sandbox'
end
left join events as c on c.id = (
    select min(k.id)
    from events as k
    where k.kind = 'setting.changed' and k.id > t.seen_at and k.detail ->> '$.name' = s.name
);

-- A setting of a turn in words.
create view _setting_words as
select
    turn_id, name, source, key, meaning,
    'The setting ' || name || case is_past when 1 then ' was ' else ' is ' end || coalesce(value, 'empty')
    || coalesce(
        ', from: ' || case origin
            when 'default' then 'the default of the engine'
            when 'prompt' then 'an option of the prompt'
            when 'user' then 'your user'
            when 'project' then 'the project'
            when 'file' then 'this database'
            when 'env' then 'the environment'
            else origin
        end, ''
    ) || '.' as words
from _turn_settings;

-- What each name asks about, but for the numbers of commands.
create view _reason_names as
select a.run, '' as name, 1 as place, 'run' as topic, '' as subject
from _asked_prompts as a
union all
select a.run, '', 2, 'prompt', cast(l.sequence as text)
from _asked_prompts as a
join loops as l on l.id = a.loop_id
union all
select run, cast(turn as text), 3, 'turn', cast(turn as text)
from past_turns
union all
select r.alias, 'prompt ' || l.sequence, 4, 'prompt', cast(l.sequence as text)
from loops as l
join runs as r on r.id = l.run_id
union all
select run, log_path, 5, 'command', subject
from _asked_commands
where log_path is not null
union all
-- by what a command was about: the latest one
select run, target, 6, 'command', cast(max(command_id) as text)
from _asked_commands
where target is not null
group by run, target
union all
select run, path, 7, 'entry', path
from _asked_entries
union all
select r.alias, f.path, 8, 'file', f.path
from runs as r
cross join file_stats as f on f.project_id = r.project_id
union all
select r.alias, s.name, 9, 'setting', s.name
from runs as r
cross join settings as s
union all
select r.alias, o.name, 9, 'setting', o.name
from runs as r
cross join run_options as o
where o.name not in (select name from settings)
union all
select r.alias, k.column1, 10, k.column1, ''
from runs as r
cross join (values ('model'), ('cost')) as k
union all
select run, name, 11, topic, subject
from _guidance_names;

create view reason_subjects as
-- What can be asked about a run, by name: a turn ('3'), a prompt ('prompt 2'), a command by the path of its record or by
-- what it was about, an entry, a file, a setting or option, 'model', 'cost', a rule, a skill: select view, topic, subject
-- from reason_subjects where run = 'demo' and name = 'notes.md' order by place. The name '' is the run itself. 'title' says
-- what it is, and 'view' has the reasons: select says, source, key from turn_reasons where run = 'demo' and topic = 'turn'
-- and subject = '3' order by place. 'past_view' has the reasons as of each turn, with the column 'turn'.
select
    run, name, place, topic, subject,
    case topic
        when 'run' then 'the run ' || run
        when 'command' then (
            select 'the command ' || w.words || coalesce(' on turn ' || t.sequence, '')
            from _command_words as w
            join commands as c on c.id = w.command_id
            left join turns as t on t.id = c.turn_id
            where w.command_id = cast(subject as integer)
        )
        when 'model' then 'the model of ' || run
        when 'cost' then 'the cost of ' || run
        when 'instructions' then 'the instructions in ' || subject
        else 'the ' || topic || ' ' || subject
    end as title,
    case topic
        when 'entry' then 'past_entry_reasons'
        when 'setting' then 'past_choice_reasons'
        when 'model' then 'past_choice_reasons'
    end as past_view,
    case
        when topic in ('run', 'prompt') then 'prompt_reasons'
        when topic in ('setting', 'model') then 'choice_reasons'
        when topic in ('rule', 'skill', 'instructions') then 'guidance_reasons'
        else topic || '_reasons'
    end as view
from (
    select *
    from _reason_names
    union all
    select run, 'command ' || subject, 5, 'command', subject
    from _asked_commands
);
