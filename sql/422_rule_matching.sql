-- Rule matching: what the prompt of a loop calls up, found once a loop and kept as rows, so that it can be explained.
-- All words are looked for in one pass. A domain is called up by a word or a file of its own, kept away by a word that
-- excludes it, and all but those that are always on by a word that excludes all; star-commands are found in any case.
-- spec: @rule_domains @rule_brackets @rule_explanation

-- tables

-- What was selected for a prompt, one row a loop that has rules.
create table if not exists rule_selections (
    id integer primary key,
    -- null: of a prompt that is only to be explained, within a transaction that is rolled back
    loop_id integer constraint rule_selections_loop references loops (id) on delete cascade,
    run_id integer constraint rule_selections_run references runs (id) on delete cascade,
    project_id integer not null constraint rule_selections_project references projects (id),
    -- the first turn of the loop
    turn integer,
    -- how many prompts the run has had, this one included, and how much of its context was left, in percent
    prompts integer not null,
    context_left integer not null,
    -- the set whose brackets hold
    rule_set_id integer not null,
    -- null: brackets are off
    bracket text constraint rule_selections_bracket references brackets (name),
    basis text not null,
    devmode integer not null,
    -- characters of rules that its packets have room for; that they show; and of all active domains
    room integer not null,
    chars integer not null default 0,
    all_chars integer not null default 0,
    -- the tag of the section, which no text in it closes
    tag text not null default 'rules'
) strict;

create unique index if not exists idx_rule_selections_loop on rule_selections (loop_id) where loop_id is not null;

create index if not exists idx_rule_selections_run on rule_selections (run_id);

-- Why something was loaded or not: a row for each word that was found, or one without a word.
create table if not exists rule_findings (
    selection_id integer not null
        constraint rule_findings_selection references rule_selections (id) on delete cascade,
    ordinal integer not null,
    kind text not null constraint rule_findings_kind check (
        kind in ('always_on', 'matched', 'excluded', 'global_exclude', 'available', 'star_command')
    ),
    -- of the domain or the star-command; null: of all
    name text,
    word text,
    -- the file that matched a glob, which then is the word
    path text,
    -- where its rules stand
    domain_id integer,
    primary key (selection_id, ordinal)
) strict, without rowid;

-- The domains that count for the prompt that is being looked at.
create table if not exists _rule_candidates (
    domain_id integer primary key,
    name text not null,
    always_on integer not null
) strict;

-- The keywords found in it; those that exclude all have the domain 0.
create table if not exists _rule_hits (
    domain_id integer not null,
    kind text not null,
    keyword_id integer not null,
    word text not null,
    path text,
    primary key (domain_id, kind, keyword_id)
) strict, without rowid;

-- views

-- How many prompts a run has taken up, those of the runs that it was forked from included, and the tokens of its last packet.
create view _run_prompts as
select
    r.id as run_id,
    (
        with recursive line (run_id, before) as (
            select r.id, r.next_turn
            union all
            select p.parent_run_id, min(p.forked_at, n.before)
            from line as n
            join runs as p on p.id = n.run_id
            where p.forked_at is not null
        )
        select json_array(count(distinct t.loop_id), (max(t.sequence << 32 | t.context_tokens)) & 4294967295)
        from line as n
        cross join turns as t on t.run_id = n.run_id and t.sequence < n.before
    ) as counted
from runs as r;

-- The set whose brackets hold in a project: its own before that of all; devmode is on where one of both says so.
create view _leading_rule_sets as
select
    p.project_id,
    s.id as rule_set_id,
    s.brackets,
    s.bracket_basis,
    (
        select max(o.devmode)
        from _project_rule_sets as q
        join rule_sets as o on o.id = q.rule_set_id
        where q.project_id = p.project_id
    ) as devmode
from _project_rule_sets as p
join rule_sets as s on s.id = p.rule_set_id
where not p.is_global
    or not exists (select 1 from _project_rule_sets as o where o.project_id = p.project_id and not o.is_global);

-- The domains that count for a selection: one of the project's set stands for one of the same name in the set of all.
create view _selection_domains as
select
    s.id as selection_id,
    d.id as domain_id,
    d.name,
    d.always_on,
    d.file,
    coalesce(o.is_on, d.is_active) as is_active
from rule_selections as s
join _project_rule_sets as p on p.project_id = s.project_id
join rule_domains as d on d.rule_set_id = p.rule_set_id
left join rule_overrides as o on o.run_id = s.run_id and o.kind = 'domain' and o.name = d.name
where not p.is_global
    or not exists (
        select 1
        from _project_rule_sets as q
        join rule_domains as e on e.rule_set_id = q.rule_set_id and e.name = d.name
        where q.project_id = s.project_id and not q.is_global
    );

-- The star-commands that count for a selection, in the same way.
create view _selection_star_commands as
select s.id as selection_id, c.id as star_command_id, c.name, c.description
from rule_selections as s
join _project_rule_sets as p on p.project_id = s.project_id
join rule_sets as r on r.id = p.rule_set_id and r.star_commands
join star_commands as c on c.rule_set_id = r.id
where not p.is_global
    or not exists (
        select 1
        from _project_rule_sets as q
        join star_commands as e on e.rule_set_id = q.rule_set_id and e.name = c.name
        where q.project_id = s.project_id and not q.is_global
    );

-- What the words that were found mean for the candidates, in the order of 'part' and 'place'.
create view _domain_findings as
select 1 as part, keyword_id as place, 'global_exclude' as kind, null as name, word, path, null as domain_id
from _rule_hits
where domain_id = 0
union all
select 2, domain_id << 32, 'always_on', name, null, null, domain_id
from _rule_candidates
where always_on
union all
select
    case v.kind when 'matched' then 3 when 'excluded' then 4 else 5 end,
    v.domain_id << 32 | coalesce(h.keyword_id, 0),
    v.kind, v.name, h.word, h.path, v.domain_id
from (
    select
        c.domain_id,
        c.name,
        case
            when exists (select 1 from _rule_hits as h where h.domain_id = c.domain_id and h.kind = 'exclude') then 'excluded'
            when exists (select 1 from _rule_hits as h where h.domain_id = c.domain_id) then 'matched'
            else 'available'
        end as kind
    from _rule_candidates as c
    where not c.always_on and not exists (select 1 from _rule_hits as h where h.domain_id = 0)
) as v
left join _rule_hits as h on h.domain_id = v.domain_id and (h.kind = 'exclude') = (v.kind = 'excluded');

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
    and exists (select 1 from _turn_sections as s where s.turn_id = t.id and s.source = '_packet_rules');

create view select_rules as
-- Select the rules of a loop before its first packet: insert into select_rules (turn_id). It does nothing where the file
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

create view rule_matches as
-- Why rules were loaded for a prompt or not, a row for each word: select * from rule_matches where run = 'demo'. 'found' is
-- always_on, matched, excluded, global_exclude, available or star_command; 'word' is what called it up, 'excluded_by' what
-- kept it away, 'path' the file that a glob matched.
select
    r.alias as run,
    l.sequence as loop,
    s.turn,
    s.prompts,
    s.bracket,
    f.kind as found,
    case when f.kind <> 'star_command' then f.name end as domain,
    case when f.kind = 'star_command' then f.name end as star_command,
    case when f.kind not in ('excluded', 'global_exclude') then f.word end as word,
    case when f.kind in ('excluded', 'global_exclude') then f.word end as excluded_by,
    f.path
from rule_selections as s
join runs as r on r.id = s.run_id
join loops as l on l.id = s.loop_id
join rule_findings as f on f.selection_id = s.id
order by r.alias, l.sequence, f.ordinal;

create view rule_loads as
-- What the rules of each prompt cost and saved, in tokens a packet: those that its packets show, and those of active
-- domains that they need not.
select
    r.alias as run,
    l.sequence as loop,
    s.turn,
    s.bracket,
    (
        select count(distinct f.name)
        from rule_findings as f
        where f.selection_id = s.id and f.kind in ('always_on', 'matched')
    ) as domains,
    (select count(*) from rule_findings as f where f.selection_id = s.id and f.kind = 'star_command') as star_commands,
    (select count(*) from turns as t where t.loop_id = l.id) as turns,
    cast(s.chars / l.chars_per_token + 0.5 as integer) as tokens,
    cast(max(s.all_chars - s.chars, 0) / l.chars_per_token + 0.5 as integer) as saved_tokens
from rule_selections as s
join runs as r on r.id = s.run_id
join loops as l on l.id = s.loop_id
order by r.alias, l.sequence;

-- triggers

-- The bracket and the words first, then what they mean; 424 makes the lines of the section.
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
create trigger select_rules__select
instead of insert on select_rules
begin
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
