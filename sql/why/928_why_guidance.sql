-- Why guidance: why a rule, a skill or an AGENTS.md was loaded for a prompt, or was not.
-- spec: @why

-- views

-- The selection of rules that each run is asked about: the latest one of a prompt.
create view _asked_selections as
select s.run_id, s.id as selection_id, l.sequence as loop
from rule_selections as s
join loops as l on l.id = s.loop_id
where s.id = (select max(o.id) from rule_selections as o where o.run_id = s.run_id and o.loop_id is not null);

-- The domains of rules, by the folder of each run.
create view _asked_domains as
select r.id as run_id, r.alias as run, d.name, d.id as domain_id, d.is_active, d.always_on
from runs as r
cross join _project_rule_sets as p on p.project_id = r.project_id
join rule_domains as d on d.rule_set_id = p.rule_set_id;

-- What people call rules, skills and instructions by.
create view _guidance_names as
select run, name, 'rule' as topic, name as subject
from _asked_domains
union all
select d.run, u.path, 'rule', d.name
from _asked_domains as d
join rule_list as u on u.domain_id = d.domain_id
union all
select r.alias, s.name, 'skill', s.name
from runs as r
cross join run_scopes as o on o.run_id = r.id
join _skills as s on s.scope = o.scope
union all
select r.alias, 'skill://' || s.name, 'skill', s.name
from runs as r
cross join run_scopes as o on o.run_id = r.id
join _skills as s on s.scope = o.scope
union all
select r.alias, f.path, 'instructions', f.path
from runs as r
join _instruction_files as f on f.project_id = r.project_id;

-- The turns of each run whose system message has a skill or the instructions of the folder.
create view _told_layers as
select r.alias as run, t.sequence as turn, k.layer, k.source
from packets as p
join turns as t on t.id = p.turn_id
join runs as r on r.id = t.run_id
cross join json_each(p.parts) as s
cross join chunk_lists as l on l.id = s.value
cross join json_each(l.chunks) as j
cross join chunks as k
    on k.id between case j.type when 'array' then j.value ->> 0 else j.value end
    and case j.type when 'array' then j.value ->> 1 else j.value end
where p.role = 'system' and k.layer in ('skills', 'project');

create view guidance_reasons as
-- Why a rule, a skill or an AGENTS.md (topic 'rule', 'skill' or 'instructions') was loaded for a run or was not: select
-- says, source, key from guidance_reasons where run = 'demo' and subject = 'testing' order by place.
select
    d.run, 'rule' as topic, d.name as subject, 10 as place,
    case f.kind
        when 'always_on' then 'It is loaded for every prompt (always on).'
        when 'matched' then 'Prompt ' || s.loop || ' loaded it: '
            || case
                when f.path is null then 'it has the word ' || f.word
                else 'the file ' || f.path || ' matches ' || f.word
            end || '.'
        when 'excluded' then 'Prompt ' || s.loop || ' did not load it, because it has the exclude word ' || f.word || '.'
        else 'Prompt ' || s.loop || ' did not load it, because none of its words match.'
    end as says,
    'rule_matches' as source,
    json_object('run', d.run, 'loop', s.loop, 'found', f.kind, 'domain', f.name) as key
from _asked_domains as d
join _asked_selections as s on s.run_id = d.run_id
join rule_findings as f on f.selection_id = s.selection_id and f.name = d.name and f.kind <> 'star_command'
union all
select
    d.run, 'rule', d.name, 11,
    'Prompt ' || s.loop || ' has the exclude word ' || f.word || ', so only always-on rules are loaded.',
    'rule_matches', json_object('run', d.run, 'loop', s.loop, 'found', f.kind)
from _asked_domains as d
join _asked_selections as s on s.run_id = d.run_id
join rule_findings as f on f.selection_id = s.selection_id and f.kind = 'global_exclude'
union all
select
    d.run, 'rule', d.name, 20,
    'The domain ' || d.name || ' is ' || case when d.is_active then 'switched on' else 'switched off' end
    || case
        when d.always_on then ' and loaded for every prompt'
        else coalesce(', for the words ' || q.recall, '') || coalesce(' and the files ' || q.paths, '')
    end
    || case
        when not exists (select 1 from rule_selections as s where s.run_id = d.run_id and s.loop_id is not null)
            then '. No prompt of the run has loaded rules yet.'
        else '.'
    end,
    'rule_domain_list', json_object('domain_id', d.domain_id)
from _asked_domains as d
join rule_domain_list as q on q.domain_id = d.domain_id
union all
select
    d.run, 'rule', d.name, 21, 'In this run it is switched ' || case when o.is_on then 'on.' else 'off.' end,
    'rule_overrides', json_object('run_id', o.run_id, 'kind', o.kind, 'name', o.name)
from _asked_domains as d
join rule_overrides as o on o.run_id = d.run_id and o.kind = 'domain' and o.name = d.name
union all
-- skills
select
    r.alias, 'skill', s.name, 10,
    case
        when s.problem is not null then 'The model does not see it: ' || s.problem || '.'
        when s.origin = 'found' then 'It was found in the folder, at ' || s.source || '.'
        else s.added_by || ' added it, from ' || s.source || '.'
    end,
    'skills', json_object('name', s.name, 'source', s.source)
from runs as r
cross join run_scopes as o on o.run_id = r.id
join _skills as s on s.scope = o.scope
union all
select
    t.run, 'skill', t.source, 20,
    'The system message names it on ' || count(*) || case count(*) when 1 then ' turn' else ' turns' end
        || ', most recently on turn '
    || max(t.turn) || '. The model can read its text at skill://' || t.source || '.',
    'prompt_layers', json_object('run', t.run, 'turn', max(t.turn), 'layer', 'skills', 'source', t.source)
from _told_layers as t
where t.layer = 'skills'
group by t.run, t.source
union all
select
    r.alias, 'skill', s.name, 30, 'No system message of the run names it.', 'run_overview', json_object('run', r.alias)
from runs as r
cross join run_scopes as o on o.run_id = r.id
join _skills as s on s.scope = o.scope
where not exists (select 1 from _told_layers as t where t.run = r.alias and t.layer = 'skills' and t.source = s.name)
union all
-- instructions
select
    r.alias, 'instructions', f.path, 10,
    'It is the file with instructions for '
    || case f.folder when '' then 'the whole folder' else f.folder end
    || ', by the setting instruction_files: ' || s.value || '.',
    'setting_list', json_object('name', s.name)
from runs as r
join _instruction_files as f on f.project_id = r.project_id
join settings as s on s.name = 'instruction_files'
union all
select
    t.run, 'instructions', t.source, 20,
    'The system message has it on ' || count(*) || case count(*) when 1 then ' turn' else ' turns' end
        || ', most recently on turn '
    || max(t.turn) || '.',
    'prompt_layers', json_object('run', t.run, 'turn', max(t.turn), 'layer', t.layer, 'source', t.source)
from _told_layers as t
where t.layer = 'project'
group by t.run, t.source
union all
select
    r.alias, 'instructions', f.path, 30,
    case
        when f.folder = '' then 'No system message of the run has it.'
        else 'It is shown if a command of the prompt names ' || f.folder || ', or if a file of this folder is visible.'
    end,
    'instruction_files', json_object('path', f.path)
from runs as r
join _instruction_files as f on f.project_id = r.project_id
where f.folder <> ''
    or not exists (
        select 1 from _told_layers as t where t.run = r.alias and t.layer = 'project' and t.source = f.path
    )
union all
select
    r.alias, 'instructions', f.path, 40,
    'Prompt ' || l.sequence || ' has the option no_repo, so no file of the folder is read.',
    'loop_list', json_object('run', r.alias, 'loop', l.sequence)
from runs as r
join _instruction_files as f on f.project_id = r.project_id
join _asked_prompts as a on a.run_id = r.id
join loops as l on l.id = a.loop_id
join _loop_flags as g on g.loop_id = l.id and g.flag = 'no_repo';
