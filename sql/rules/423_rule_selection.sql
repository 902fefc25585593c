-- Rule selection: the rules of a loop are selected before its first packet, those of a prompt to be explained at once.
-- A driver asks _loops_without_rules and passes the turn on; what finds words and makes lines is compiled only where a file
-- has rules.
-- spec: @rule_explanation @rule_domains

-- views

-- Turns of a loop whose rules have not been selected, although its packets show some.
create view _loops_without_rules as
select t.id as turn_id
from turns as t
where exists (select 1 from rule_sets)
    and not exists (select 1 from rule_selections as s where s.loop_id = t.loop_id)
    and exists (
        select 1
        from runs as r
        join _project_rule_sets as p on p.project_id = r.project_id
        where r.id = t.run_id
    )
    and exists (
        select 1 from _turn_sections as s where s.turn_id = t.id and s.source in ('_packet_rules', '_packet_compact')
    );

-- The files that the rules of these turns were taken from.
create view _due_rule_sources as
select w.turn_id, o.rule_set_id, o.place, o.files, o.items, j.root as folder
from _loops_without_rules as w
join turns as t on t.id = w.turn_id
join runs as r on r.id = t.run_id
join _project_rule_sets as p on p.project_id = r.project_id
join rule_sets as s on s.id = p.rule_set_id
join rule_sources as o on o.rule_set_id = s.id
left join projects as j on j.id = s.project_id;

-- Tell what became of rules whose files were read again: insert into _tell_rules (turn_id, text, problem).
create view _tell_rules as
select id as turn_id, null as text, null as problem
from turns
where false;

create view _choose_rules as
-- Select the rules of a loop before its first packet: insert into _choose_rules (turn_id). It does nothing where the file
-- has no rules for that run, or where they were selected before.
select turn_id
from _loops_without_rules
where false;

-- Select the rules for a prompt: insert into _select_rules (loop_id, run_id, project_id, turn, prompt, prompts,
-- context_left, room). 'loop_id' is null for one that is only to be explained.
create view _select_rules as
select
    loop_id, run_id, project_id, turn, null as prompt, prompts, context_left, room
from rule_selections
where false;

-- Explain what a prompt would load: insert into _explain_rules (run_id, project_id, prompt), within a transaction that is
-- rolled back.
create view _explain_rules as
select run_id, project_id, null as prompt
from rule_selections
where false;

-- triggers

create trigger _tell_rules__tell
instead of insert on _tell_rules
begin
    insert into events (at, run_id, turn_id, kind, detail)
    select now(), run_id, id, 'rules.read', json_object('text', new.text, 'problem', new.problem)
    from turns
    where id = new.turn_id;
end;

-- The bracket and the words first, then what they mean; 426 makes the lines of the section.
create trigger _select_rules__select
instead of insert on _select_rules
begin
    insert into rule_selections (
        loop_id, run_id, project_id, turn, prompts, context_left, rule_set_id, bracket, basis, devmode, room
    )
    select
        new.loop_id, new.run_id, new.project_id, new.turn, new.prompts, new.context_left, s.rule_set_id,
        case
            when s.brackets then (
                select b.bracket
                from bracket_list as b
                where b.rule_set_id = s.rule_set_id
                    and case s.bracket_basis
                        when 'prompts' then new.prompts > b.after_prompts
                        else new.context_left < b.below_percent
                    end
                order by b.ordinal desc
                limit 1
            )
        end,
        s.bracket_basis,
        coalesce((select is_on from rule_overrides where run_id = new.run_id and kind = 'devmode'), s.devmode),
        new.room
    from _leading_rule_sets as s
    where s.project_id = new.project_id;
    insert into _rule_candidates (domain_id, name, always_on)
    select domain_id, name, always_on
    from _selection_domains
    where selection_id = (select max(id) from rule_selections) and is_active;
    insert or ignore into _rule_hits (domain_id, kind, keyword_id, word)
    select coalesce(k.domain_id, 0), k.kind, k.id, k.word
    from (select 0 as is_whole union all select 1) as w
    cross join json_each(
        keywords_find(
            new.prompt,
            (
                select group_concat(a.word, char(10))
                from _project_rule_sets as p
                cross join rule_keywords as a on a.rule_set_id = p.rule_set_id and a.is_whole = w.is_whole
                where p.project_id = new.project_id
            ),
            w.is_whole
        )
    ) as f
    cross join _project_rule_sets as p on p.project_id = new.project_id
    cross join rule_keywords as k indexed by idx_rule_keywords_found
        on k.rule_set_id = p.rule_set_id and k.is_whole = w.is_whole and k.word = f.value and k.kind <> 'path';
    insert into _rule_hits (domain_id, kind, keyword_id, word, path)
    select k.domain_id, k.kind, k.id, k.word, min(n.path)
    from _rule_candidates as c
    cross join rule_keywords as k on k.domain_id = c.domain_id and k.kind = 'path'
    cross join (
        select value as path
        from json_each(paths_named(new.prompt))
        union
        select e.path
        from run_views as v
        join entries as e on e.id = v.entry_id and e.kind = 'file'
        where v.run_id = new.run_id and v.visibility = 'visible'
    ) as n
    -- a glob without a folder is one over names
    where pattern_match(
            k.word,
            case
                when instr(k.word, '/') then n.path
                else substr(n.path, length(rtrim(n.path, replace(n.path, '/', ''))) + 1)
            end
        )
    group by k.id;
    insert into rule_findings (selection_id, ordinal, kind, name, word, path, domain_id)
    select
        (select max(id) from rule_selections), row_number() over (order by part, place),
        kind, name, word, path, domain_id
    from _domain_findings;
    insert into rule_findings (selection_id, ordinal, kind, name, word)
    select c.selection_id, 100000 + j.key, 'star_command', c.name, '*' || c.name
    from json_each(
        star_commands(
            new.prompt,
            (
                select min(s.strict_stars)
                from _project_rule_sets as p
                join rule_sets as s on s.id = p.rule_set_id
                where p.project_id = new.project_id
            )
        )
    ) as j
    join _selection_star_commands as c on c.name = j.value
    where c.selection_id = (select max(id) from rule_selections);
    insert into _lay_rules (selection_id)
    select max(id)
    from rule_selections;
    delete from _rule_hits;
    delete from _rule_candidates;
end;

-- The room is what the setting gives, at most a quarter of the ceiling.
create trigger _choose_rules__select
instead of insert on _choose_rules
begin
    select fail(404, 'turn ' || quote(new.turn_id) || ': not found; see the view _next_steps')
    where not exists (select 1 from turns where id = new.turn_id);
    insert into _select_rules (loop_id, run_id, project_id, turn, prompt, prompts, context_left, room)
    select
        l.id, r.id, r.project_id, t.sequence, l.prompt,
        n.counted ->> 0,
        max(100 - 100 * coalesce(n.counted ->> 1, 0) / c.context_size, 0),
        cast(
            min((select cast(value as integer) from settings where name = 'max_rule_tokens'), c.ceiling / 4)
            * l.chars_per_token as integer
        )
    from _loops_without_rules as w
    join turns as t on t.id = w.turn_id
    join loops as l on l.id = t.loop_id
    join runs as r on r.id = t.run_id
    join _run_prompts as n on n.run_id = r.id
    join _loop_ceilings as c on c.loop_id = l.id
    where w.turn_id = new.turn_id;
end;

-- It is the next prompt of its run, or the first of one.
create trigger _explain_rules__explain
instead of insert on _explain_rules
begin
    insert into _select_rules (run_id, project_id, prompt, prompts, context_left, room)
    select
        new.run_id, new.project_id, new.prompt,
        coalesce((select n.counted ->> 0 from _run_prompts as n where n.run_id = new.run_id), 0) + 1,
        max(
            100 - 100 * coalesce((select n.counted ->> 1 from _run_prompts as n where n.run_id = new.run_id), 0)
            / (select cast(value as integer) from settings where name = 'context_length'),
            0
        ),
        (select cast(value as integer) * 2 from settings where name = 'max_rule_tokens');
end;
