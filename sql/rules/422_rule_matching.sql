-- Rule matching: the rules that match a prompt, found once for a loop and stored, so that they can be explained.
-- All words are looked for in one pass. A domain is called up by a word or a file of its own, kept away by a word
-- that excludes it, and all but those that are always on by a word that excludes all; star-commands count whatever is
-- excluded. 423 has the doors.
-- spec: @rule_domains @rule_brackets @rule_explanation

-- tables

-- What was selected for a prompt, one row a loop that has rules.
create table if not exists rule_selections (
    id integer primary key,
    -- null: the prompt is only explained ('engine rules explain'), in a transaction that is rolled back
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
    -- in characters of rules: what its packets have room for, what they show, and what all active domains have
    room integer not null,
    chars integer not null default 0,
    all_chars integer not null default 0,
    -- the tag around the section in packets, one that no text in the section closes
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
    -- the domain or the star-command that it is about; null: all of them
    name text,
    word text,
    -- the file that matched a glob, which then is the word
    path text,
    -- the domain whose rules are meant; null: none of one domain
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

-- How many prompts a run has taken up, with those of the runs that it was forked from, and the tokens of its last packet.
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
            when exists (select 1 from _rule_hits as h where h.domain_id = c.domain_id and h.kind = 'exclude')
                then 'excluded'
            when exists (select 1 from _rule_hits as h where h.domain_id = c.domain_id) then 'matched'
            else 'available'
        end as kind
    from _rule_candidates as c
    where not c.always_on and not exists (select 1 from _rule_hits as h where h.domain_id = 0)
    -- a limit keeps SQLite from looking the kind up anew for each hit
    limit -1
) as v
left join _rule_hits as h on h.domain_id = v.domain_id and (h.kind = 'exclude') = (v.kind = 'excluded');
